"""A seeded part of the soak's hostile input, and every fault that the whole of it has found.

The whole is ``python benchmarks/soak.py --only input``.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from soaking.fuzz_inputs import fixture_document, sealed

from memcli.configuration import resolve_configuration
from memcli.errors import MemcliError, shown
from memcli.evaluation.evidence import parse_resolution
from memcli.evaluation.fixture_reader import read_fixture
from memcli.index.text_folding import nfc
from memcli.memory.front_matter import split_front_matter
from memcli.memory.patterns import Patterns
from memcli.memory.title import first_heading, parsed_first_heading
from memcli.models.profile_store import ProfileStore
from memcli.retrieval.delta import parse_state
from memcli.retrieval.query_terms import LONGEST_TERM, MOST_CHARACTERS, parse_query

TARGETS = {"front matter", "chunker", "query", "state", "fixture", "configuration", "resolution"}
ROOT = Path(__file__).parent.parent.parent


def hostile(*arguments: str) -> Any:
    """Run ``hostile_program.py``; the time is a guard against a stuck suite, not a measure."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "hostile_program.py"), *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_every_shape_and_some_hundred_cases_of_each_reader_end_well() -> None:
    found = hostile("soak", "2100", "0.004")
    assert found["faults"] == []
    assert {name: found["tried"][name] for name in TARGETS} == dict.fromkeys(TARGETS, 300)
    assert all(found["tried"][f"{name} shapes"] > 10 for name in TARGETS)


def test_what_once_hung_or_swelled_does_not_any_more() -> None:
    names = (
        "front matter: a heading with a gap",
        "front matter: a rule that is none",
        "front matter: lazy lines under nested quotes",
        "front matter: YAML: spaces in a description",
        "front matter: TOML: a dotted key",
        "front matter: TOML: a dotted table",
        "configuration: a dotted key",
        "configuration: a dotted table",
        "configuration: a deep root",
        "configuration: forty stars",
        "configuration: stars",
        "query: two kinds of marks",
        "query: one word",
    )
    found = hostile("shapes", *names)
    assert found["faults"] == []
    assert sum(found["tried"].values()) == len(names)


def test_the_soak_tells_of_a_reader_that_hangs_swells_dies_or_errs() -> None:
    found = hostile("bad")
    assert {trial: kind for kind, trial, _ in found["faults"]} == {
        "hang": "a hang",
        "swell": "a crash (MemoryError)",
        "die": "a process lost",
        "wait": "a process lost",
        "recurse": "a crash (RecursionError)",
        "mistake": "a wrong result",
    }
    assert sum(found["tried"].values()) == 7


# What was found, each by the smallest input that shows it


def refusal(root: Path, text: str) -> MemcliError:
    (root / "memcli.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MemcliError) as caught:
        resolve_configuration(root, {"MEMCLI_CONFIG": str(root / "config")}, {})
    assert caught.value.code == "configuration_invalid"
    assert len(caught.value.message) < 1000
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "id = " + "9" * 5000,
        "id = 0x" + "f" * 5000,
        "limits.tokens = 0x" + "f" * 5000,
        "limits.deadline_seconds = " + "9" * 4000,
        "limits.deadline_seconds = 0x" + "f" * 5000,
        "id = [0x" + "f" * 5000 + "]",
        "id." + "a." * 60 + "a = " + "[" * 100 + "]" * 100,
        "[[source]]\nroot = [" + "{a = " * 50 + "1" + "}" * 50 + "]",
    ],
)
def test_a_number_or_a_nesting_beyond_measure_is_no_configuration(
    tmp_path: Path, text: str
) -> None:
    refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        'id = "' + "a" * 9000 + '"',
        "a" * 9000 + " = 1",
        "[limits]\n" + "a" * 9000 + " = 1",
        '[[source]]\nroot = "' + "a/" * 4000 + '"',
        '[[source]]\nkind = "' + "a" * 9000 + '"',
        'models.gpu = "' + "a" * 9000 + '"',
        'models.embedder = "' + "é" * 9000 + '"',
    ],
)
def test_a_refused_value_is_shown_in_part(tmp_path: Path, text: str) -> None:
    refusal(tmp_path, text)


def test_a_key_of_too_many_parts_is_refused_with_its_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, f'id = "x"\n{"a." * 64}a = 1\n')
    assert "memcli.toml:2:1: a key has more than 64 parts" in error.message
    dots = "a." * 100
    for fine in (f"id = 'x' # {dots}\n", f"[[source]]\nexclude = [\"{dots}\", '{dots}']\n"):
        (tmp_path / "memcli.toml").write_text(fine)
        resolve_configuration(tmp_path, {"MEMCLI_CONFIG": str(tmp_path / "config")}, {})


def test_a_profile_with_a_null_in_its_file_or_an_endless_number_is_a_problem(
    tmp_path: Path,
) -> None:
    store = ProfileStore(tmp_path)
    store.directory.mkdir()
    start = f'role = "rerank"\npooling = "rank"\nsha256 = "{"0" * 64}"\n'
    (store.directory / "a.toml").write_text(f'{start}file = "/m\\u0000.gguf"\n')
    numbers = f"middle = 0x{'f' * 400}\nwidth = 1\nfloor = 0"
    (store.directory / "b.toml").write_text(f'{start}file = "/m.gguf"\n[relevance]\n{numbers}\n')
    assert set(store.load().problems) == {"a", "b"}


def test_a_toml_number_too_long_for_decimal_digits_is_no_text() -> None:
    front = split_front_matter(f"+++\ntitle = 'T'\nid = 0x{'f' * 5000}\n+++\nbody")
    assert (front.title, front.resource_id, front.body) == ("T", None, "body")
    assert [kind for kind, _ in front.warnings] == ["front_matter_value_ignored"]


def test_lines_of_a_value_become_one_with_single_spaces() -> None:
    front = split_front_matter('---\ndescription: "a  b \\n\\n  c\\n"\n---\n')
    assert front.description == "a  b c"


@pytest.mark.parametrize(
    ("body", "heading"),
    [
        ("# One ##", "One"),
        ("# One \t## \t", "One"),
        ("# One#", "One#"),
        ("# #", None),
        ("# \\#", "\\#"),
        ("# # #", "#"),
        ("* * *\n# One", "One"),
        ("- - -\n# One", "One"),
        ("_ _ *\n# One", "One"),
        ("** *\n===", None),
        ("a\n---", "a"),
    ],
)
def test_closing_marks_and_rules_are_read_as_the_parser_reads_them(
    body: str, heading: str | None
) -> None:
    assert first_heading(body) == heading
    assert parsed_first_heading(body) == heading


@pytest.mark.parametrize("place", ["chain", "version", "project_id"])
def test_a_state_nested_as_deep_as_json_goes_is_refused(place: str) -> None:
    state: dict[str, Any] = {"schema": "memcli.activation_state.v1", "units": []}
    state |= {"chain": "agent_activation.v2", "version": 1, "project_id": "p"}
    deep = b"[" * 1020 + b"]" * 1020
    data = orjson.dumps({**state, place: "@"}).replace(b'"@"', deep)
    with pytest.raises(MemcliError) as caught:
        parse_state(data, "p")
    assert caught.value.code == "invalid_activation_state"


@pytest.mark.parametrize(
    "evidence",
    [
        r'"resource:\ud800"',
        r'{"resource_id": "\udfff"}',
        r'{"resource_id": "a", "unit_key": "\ud800"}',
    ],
)
def test_half_a_surrogate_pair_is_no_evidence(evidence: str) -> None:
    data = f'{{"expected_version": 1, "evidence": [{evidence}]}}'.encode()
    with pytest.raises(MemcliError) as caught:
        parse_resolution(data)
    assert caught.value.code == "invalid_resolution"
    caught.value.message.encode("utf-8")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"expected_version": %s}' % (b"9" * 5000), "a number has too many digits"),
    ],
)
def test_a_resolution_beyond_measure_is_refused_in_our_own_words(data: bytes, why: str) -> None:
    with pytest.raises(MemcliError, match=why):
        parse_resolution(data)


def test_a_fixture_with_numbers_that_no_report_can_hold_is_refused() -> None:
    document = fixture_document()
    spoils: tuple[Callable[[Any], object], ...] = (
        lambda case: case["run"]["timings_us"].update(lexical=2**62),
        lambda case: case["run"]["timings_us"].update(lexical=-1),
        lambda case: case.update(version=0),
        lambda case: case["candidates"][0].update(bm25_rank=0),
    )
    for spoil in spoils:
        spoilt = copy.deepcopy(document)
        spoil(spoilt["cases"][0])
        with pytest.raises(MemcliError, match="is not of its kind"):
            read_fixture(sealed(spoilt))
    document["excluded"][0]["status"] = "pending"
    with pytest.raises(MemcliError, match="is not of its kind"):
        read_fixture(sealed(document))


def test_long_words_and_many_words_are_searched_in_bounded_part() -> None:
    assert parse_query("a" * 9000).terms == ("a" * LONGEST_TERM,)
    words = [f"word{number:06}" for number in range(20_000)]
    terms = parse_query(" ".join(words)).terms
    assert sum(map(len, terms)) <= MOST_CHARACTERS
    assert (terms[0], terms[-1]) == (words[0], words[-1])


def test_a_flood_of_combining_marks_is_parted_and_usual_text_is_not() -> None:
    assert nfc("cafe\u0301 한국 ก็") == "café 한국 ก็"
    flood = nfc("a" + "\u0301\u0323" * 1000)
    assert flood.count("\u034f") == 66
    assert nfc(flood) == flood


@pytest.mark.parametrize(
    ("pattern", "path", "named"),
    [
        ("x[!a]y", "x/y", False),
        ("x[!a]y", "xby", True),
        ("z[--0]w", "z/w", False),
        ("*a*b*c", "xaxbxc", True),
        ("*a*b*c", "xbxaxc", False),
        ("a/**/b/**/c", "a/b/x/b/y/c", True),
        ("a/**/b/**/c", "a/x/c", False),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "ab", False),
    ],
)
def test_patterns_of_several_stars_and_brackets_are_gits(
    pattern: str, path: str, named: bool
) -> None:
    assert (Patterns([pattern], "").decide(path) is True) is named


def test_what_cannot_be_written_out_is_still_shown() -> None:
    assert shown(16**5000) == "a value too large to be shown"
    assert len(shown("a" * 5000)) == 120
