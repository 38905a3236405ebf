"""Labelling sessions held at a real pseudo-terminal: what is shown, saved, and left behind."""

from __future__ import annotations

import os
import pty
import signal
import termios
from pathlib import Path

import pytest
from cli.case_support import CaseBench, Sitting
from evaluation.factory import corpus, trace

from memcli.cli.labelling.terminal import session_terminal
from memcli.errors import InvalidInput

LISTED = "n none matched"


@pytest.fixture
def bench(tmp_path: Path) -> CaseBench:
    return CaseBench(tmp_path)


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50)])
def test_a_case_is_labelled_from_the_query_to_the_saved_evidence(
    bench: CaseBench, columns: int, rows: int
) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id, columns=columns, rows=rows) as sitting:
        screen = sitting.until(LISTED)
        assert f"case {case_id} · draft · version 1" in screen[0]
        assert screen[1] == "query  how do we moor at night?"
        assert "Tie the bow line first." in sitting.text
        assert "rerank 1" in sitting.text
        sitting.press("\x1b[B ")
        sitting.until("1 marked, not saved")
        assert "Lights on after dusk." in sitting.text
        sitting.press("\r")
        sitting.until("fragment, lines 1-8 of 8")
        sitting.press("w\x1b[D")
        sitting.until(lambda one: "2 marked" in one.text and LISTED in one.text)
        sitting.press("s")
        assert sitting.finish() == 0
        assert f"saved case {case_id}: ready, version 2, 2 pieces" in sitting.printed
        assert "no other case is unresolved" in sitting.printed
    assert bench.spellings(case_id) == ["resource:docs/night", "unit:docs/night#root~0.0"]


def test_evidence_that_no_stage_found_is_found_by_searching_the_frozen_corpus(
    bench: CaseBench,
) -> None:
    notes = corpus(**{"docs/hidden": "# Hidden\n\nIn a storm the warp is doubled.\n"})
    seen = tuple(each for each in trace(notes) if each.resource_id != "docs/hidden")
    case_id = bench.draft(searched=notes, candidates=seen)
    with bench.sitting("case", "next") as sitting:
        sitting.until(LISTED)
        sitting.press("/doubled warp\r")
        sitting.until("1 note: 'doubled warp'")
        assert "In a storm the warp is doubled." in sitting.text
        sitting.press(" s")
        assert sitting.finish() == 0
    assert bench.spellings(case_id) == ["resource:docs/hidden"]
    recall = bench.run("report", case_id, "--json").document["variants"]["b4_reranked"]
    assert recall["recall_at_20"] == 0


def test_after_saving_the_next_unresolved_case_opens_and_skipped_ones_stay_drafts(
    bench: CaseBench,
) -> None:
    first, second, third = (bench.draft(query) for query in ("one?", "two?", "three?"))
    with bench.sitting("case", "next") as sitting:
        sitting.until("query  one?")
        sitting.press(" s")
        sitting.until("query  two?")
        assert "2 unresolved" in sitting.screen[0]
        sitting.press(">")
        sitting.until("query  three?")
        sitting.press("nn")
        assert sitting.finish() == 0
        assert f"{first}: ready, version 2, 1 piece" in sitting.printed
        assert f"{third}: needs_evidence, version 2, 0 pieces" in sitting.printed
    assert [bench.held(each).case.status for each in (first, second, third)] == [
        "ready", "draft", "needs_evidence",
    ]  # fmt: skip


def before_and_after(sitting: Sitting, *, end: str) -> int:
    """End the session and check that the terminal is as it was found."""
    sitting.until(LISTED)
    raw = sitting.settings()
    assert not raw[3] & termios.ECHO
    sitting.press(end)
    status = sitting.finish()
    after = sitting.settings()
    assert after[3] & termios.ECHO
    assert after[3] & termios.ICANON
    assert after[3] & termios.ISIG
    assert after[1] & termios.OPOST
    for undone in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?7h", b"\x1b[?2004l"):
        assert undone in sitting.shown
    return status


@pytest.mark.parametrize(("keys", "status"), [(" w\x03", 130), (" qq", 0), ("/typing\x03", 130)])
def test_ctrl_c_and_quitting_leave_the_case_and_the_terminal_as_they_were(
    bench: CaseBench, keys: str, status: int
) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id) as sitting:
        assert before_and_after(sitting, end=keys) == status
        assert f"nothing was saved; case {case_id} is as it was" in sitting.printed
        assert "Traceback" not in sitting.printed
    held = bench.held(case_id)
    assert (held.case.status, held.case.version, held.evidence) == ("draft", 1, ())


def test_ctrl_c_in_a_later_case_keeps_what_was_saved_before_it(bench: CaseBench) -> None:
    first, second = bench.draft("one?"), bench.draft("two?")
    with bench.sitting("case", "next") as sitting:
        sitting.until("query  one?")
        sitting.press(" s")
        sitting.until("query  two?")
        sitting.press(" \x03")
        assert sitting.finish() == 130
        assert f"saved case {first}" in sitting.printed
    assert bench.held(first).case.status == "ready"
    assert bench.held(second).case.version == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(bench: CaseBench, number: signal.Signals) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id) as sitting:
        sitting.until(LISTED)
        sitting.press(" ")
        sitting.until("not saved")
        os.kill(sitting.process, number)
        assert sitting.finish() == 130
        assert sitting.settings()[3] & termios.ECHO
        assert b"\x1b[?1049l" in sitting.shown
    assert bench.held(case_id).case.version == 1


def test_a_fault_inside_the_session_gives_the_terminal_back_before_it_is_reported(
    bench: CaseBench,
) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id) as sitting:
        sitting.until(LISTED)
        (bench.store.home / "local.db").write_bytes(b"no database any more, quite damaged" * 200)
        for each in bench.store.home.glob("local.db-*"):
            each.unlink()
        sitting.press(" s")
        sitting.until("not saved: ")
        sitting.press("qq")
        assert sitting.finish() == 0
        assert sitting.settings()[3] & termios.ECHO


def test_an_exception_of_any_kind_gives_the_terminal_back() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as terminal:
        before = termios.tcgetattr(terminal)
        with pytest.raises(ZeroDivisionError), session_terminal(terminal, terminal):
            raise ZeroDivisionError(termios.tcgetattr(terminal) != before)
        assert termios.tcgetattr(terminal) == before
    shown = b""
    while b"\x1b[?1049l" not in shown:
        shown += os.read(ours, 4096)
    assert shown.startswith(b"\x1b[?1049h")
    os.close(ours)


def test_what_is_no_terminal_is_refused(tmp_path: Path) -> None:
    with (
        (tmp_path / "file").open("w+b") as file,
        pytest.raises(InvalidInput, match="no terminal"),
        session_terminal(file, file),
    ):
        pass


def test_the_second_of_two_sessions_meets_a_conflict_and_reloads_with_its_marks(
    bench: CaseBench,
) -> None:
    case_id = bench.draft()
    with (
        bench.sitting("case", "resolve", case_id) as one,
        bench.sitting("case", "resolve", case_id) as two,
    ):
        one.until(LISTED)
        two.until(LISTED)
        two.press(" \x1b[B")
        two.until("1 marked")
        one.press("ws")
        assert one.finish() == 0
        two.press("s")
        two.until("Somebody saved version 2 (ready)")
        assert "only they have (1)" in two.text
        assert "resource:docs/moor" in two.text
        assert "unit:docs/moor#root~0.0" in two.text
        two.press("m")
        two.until("at version 2 now, your marks kept")
        assert "1 marked, not saved" in two.screen[0]
        two.press("s")
        assert two.finish() == 0
        assert f"saved case {case_id}: ready, version 3, 1 piece" in two.printed
    assert bench.spellings(case_id) == ["unit:docs/moor#root~0.0"]


def test_a_case_deleted_meanwhile_is_said_and_the_session_goes_on(bench: CaseBench) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id) as sitting:
        sitting.until(LISTED)
        assert bench.run("case", "delete", case_id, "--yes").status == 0
        sitting.press(" s")
        sitting.until("not saved: no case is named")
        sitting.press("qq")
        assert sitting.finish() == 0


def test_a_new_size_is_drawn_at_once(bench: CaseBench) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id) as sitting:
        sitting.until(LISTED)
        sitting.resize(200, 50)
        sitting.until(lambda one: len(one.screen) == 50)
        assert "│" in sitting.text
        sitting.resize(40, 12)
        sitting.until(lambda one: len(one.screen) == 12)
        sitting.press("q")
        assert sitting.finish() == 0


def test_ctrl_z_suspends_with_the_terminal_given_back_and_goes_on_where_it_was(
    bench: CaseBench,
) -> None:
    case_id = bench.draft()
    script = f"set -m; MEMCLI case resolve {case_id}; echo stopped $?; read; fg; echo ended $?"
    with bench.sitting(script=script) as sitting:
        sitting.until(LISTED)
        sitting.press(" ")
        sitting.until("1 marked")
        sitting.press("\x1a")
        sitting.until(lambda one: f"stopped {128 + signal.SIGTSTP}" in one.printed)
        assert sitting.settings()[3] & termios.ECHO
        sitting.shown = b""
        sitting.press("\n")
        sitting.until("1 marked, not saved")
        assert not sitting.settings()[3] & termios.ECHO
        sitting.press("s")
        assert sitting.finish() == 0
        assert "ended 0" in sitting.printed
    assert bench.held(case_id).case.status == "ready"


def test_no_colour_means_no_colour_here_too_and_the_cursor_is_still_seen(
    bench: CaseBench,
) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id, env={"NO_COLOR": "1"}) as sitting:
        sitting.until(LISTED)
        assert b"\x1b[7m" not in sitting.shown
        assert any(line.startswith(">[") for line in sitting.screen)
        sitting.press("q")
        sitting.finish()
    with bench.sitting("case", "resolve", case_id) as sitting:
        sitting.until(LISTED)
        assert b"\x1b[7m" in sitting.shown
        sitting.press("q")
        sitting.finish()


@pytest.mark.parametrize(
    ("more", "env"), [(("--json",), {}), (("--no-input",), {}), ((), {"TERM": "dumb"})]
)
def test_no_session_where_it_was_refused_or_cannot_be_drawn(
    bench: CaseBench, more: tuple[str, ...], env: dict[str, str]
) -> None:
    case_id = bench.draft()
    with bench.sitting("case", "resolve", case_id, *more, env=env) as sitting:
        assert sitting.finish() == 2
        assert b"--evidence" in sitting.shown
        assert b"\x1b[?1049h" not in sitting.shown
