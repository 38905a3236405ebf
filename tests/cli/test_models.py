"""Models at the command line: listed, added, chosen, pulled, proved; nothing half done."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.project_support import Terminal, validate
from conftest_types import Run
from model_server import serving
from tiny_gguf import write_tiny_bert

# Random weights that happen to pass the golden pair as the profiles below feed them.
EMBEDDER_SEED, RERANKER_SEED, PULLED_SEED = 1, 5, 0
PULLED = "mxbai-embed-large-v1"  # no digest and no size are known of it


@dataclass(frozen=True)
class Desk:
    """A project, a configuration directory and a home of its own, and the program in them."""

    run: Callable[..., Any]
    root: Path
    config: Path
    home: Path
    env: dict[str, str]


@pytest.fixture
def desk(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> Desk:
    program, root = own_memcli
    own = {"MEMCLI_CONFIG": str(tmp_path / "config"), "MEMCLI_THREADS": "1"}

    def run(*arguments: str, **more: Any) -> Any:
        return program(*arguments, **{**more, "env": {**own, **more.get("env", {})}})

    env = {**built_project[1], "HOME": str(tmp_path), **own}
    env["MEMCLI_HOME"] = str(tmp_path / "central")
    return Desk(run, root, tmp_path / "config", tmp_path / "central", env)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "tiny.gguf", head=False, seed=EMBEDDER_SEED)


@pytest.fixture
def judge(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "judge.gguf", seed=RERANKER_SEED)


@pytest.fixture
def pullable(tmp_path: Path) -> bytes:
    path = write_tiny_bert(tmp_path / "served.gguf", head=False, seed=PULLED_SEED)
    return path.read_bytes()


def listed(desk: Desk, name: str, **env: str) -> Any:
    done = desk.run("models", "list", "--json", env=env)
    assert done.status == 0, done.err
    validate(done.document)
    return next(each for each in done.document["models"] if each["name"] == name)


# list


def test_the_list_shows_role_size_digest_licence_and_what_is_used(desk: Desk) -> None:
    bundled = listed(desk, "bundled")
    assert bundled["role"] == "embed"
    assert bundled["size"] > 40_000_000
    assert bundled["licence"] == "MIT"
    assert bundled["in_use"] == [
        {"job": "embedder", "setting": "models.embedder", "origin": "default"}
    ]
    assert listed(desk, "late_interaction")["in_use"][0]["job"] == "reranker"
    assert listed(desk, "bge-m3")["installed"] is False
    unknown = listed(desk, PULLED)
    assert unknown["sha256"] is unknown["size"] is None
    text = desk.run("models", "list").out
    assert f"{PULLED}\tembed\tnot installed\tunknown" in text
    assert "embedder (default)" in text


def test_listing_and_choosing_load_no_numpy_and_no_llama_cpp(desk: Desk) -> None:
    for arguments in (("models", "list"), ("models", "use", "bundled")):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "memcli", *arguments],
            capture_output=True,
            text=True,
            env=desk.env,
            cwd=desk.root,
        )
        loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.split("\n")}
        assert not loaded & {"numpy", "llama_cpp", "sqlite_utils"}


def test_models_are_managed_outside_of_any_project_too(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("models", "list", cwd=tmp_path, env={"HOME": str(tmp_path)}).status == 0


# add and use


def test_a_head_answers_with_its_own_model_until_the_next_build_and_vectors_stay_cached(
    desk: Desk, tiny: Path
) -> None:
    question = ("activate", "how do I roll back a bad deploy?", "--json")
    added = desk.run("models", "add", "tiny", str(tiny), "--json")
    assert added.status == 0, added.err
    validate(added.document)
    assert added.document["model"]["role"] == "embed"
    before = desk.run(*question).document

    chosen = desk.run("models", "use", "tiny", "--json")
    validate(chosen.document)
    assert chosen.document["next_command"] == "memcli index build"
    assert listed(desk, "tiny")["in_use"][0]["origin"] == "user config.toml"
    status = desk.run("status", "--json").document
    assert status["index"]["behind"] is True
    # The head was built with the bundled model, and is asked with it.
    assert desk.run(*question).document["fragments"] == before["fragments"]

    built = desk.run("index", "build", "--json").document
    assert built["created"] is True
    assert built["embedded"] == built["units"]
    answer = desk.run(*question)
    assert answer.status == 0, answer.err
    run = desk.run("runs", "show", "last", "--json").document["run"]
    assert run["models"]["embedder"]["profile"] == "tiny"
    assert run["models"]["embedder"]["device"] == "cpu"
    assert run["models"]["embedder"]["gpu_layers"] == 0
    assert desk.run("status", "--json").document["index"]["behind"] is False

    assert desk.run("models", "use", "bundled").status == 0
    # Still the tiny model's head; its vectors and the bundled ones are both kept.
    assert desk.run(*question).document["revision_id"] == run["revision_id"]
    again = desk.run("index", "build", "--force", "--json").document
    assert (again["embedded"], again["reused"]) == (0, again["units"])
    assert desk.run(*question).document["fragments"] == before["fragments"]


def test_a_head_keeps_answering_after_its_profile_was_changed_or_renamed(
    desk: Desk, tiny: Path
) -> None:
    """The file is known by its digest and fed as the index was built (F16)."""

    def scores() -> list[tuple[str, Any]]:
        # Not the relevance: its calibration is that of the profile as it is now.
        fragments = desk.run("activate", "roll back", "--json").document["fragments"]
        return [(each["unit_key"], each["scores"]) for each in fragments]

    assert desk.run("models", "add", "one", str(tiny)).status == 0
    assert desk.run("models", "use", "one").status == 0
    assert desk.run("index", "build").status == 0
    first = scores()
    assert first
    replaced = desk.run("models", "add", "one", str(tiny), "--query-prefix", "query: ", "--yes")
    assert replaced.status == 0, replaced.err
    assert desk.run("status", "--json").document["index"]["behind"] is True
    assert scores() == first
    (desk.config / "models" / "one.toml").rename(desk.config / "models" / "two.toml")
    assert desk.run("models", "use", "two").status == 0
    assert scores() == first


def test_an_added_reranker_is_used_at_once(desk: Desk, judge: Path) -> None:
    added = desk.run(
        "models", "add", "judge", str(judge), "--pair-form", "single_separator", "--json"
    )
    assert added.status == 0, added.err
    validate(added.document)
    assert added.document["model"]["relevance"]["width"] == 1
    chosen = desk.run("models", "use", "judge", "--json").document
    assert chosen["setting"] == "models.reranker"
    assert chosen["next_command"] is None
    assert desk.run("activate", "roll back").status == 0
    models = desk.run("runs", "show", "last", "--json").document["run"]["models"]
    assert models["reranker"]["profile"] == "judge"
    assert models["reranker"]["kind"] == "cross_encoder"


def test_a_file_that_cannot_do_the_job_leaves_nothing_behind(
    desk: Desk, tiny: Path, judge: Path
) -> None:
    """F14."""
    for name, file, role in (("a", tiny, "rerank"), ("b", judge, "embed")):
        done = desk.run("models", "add", name, str(file), "--role", role, "--copy", "--json")
        assert done.status == 3
        assert done.error["code"] == "model_unsuitable"
        assert file.name in done.error["message"]
    assert desk.run("models", "add", "c", "nowhere.gguf", "--json").status == 3
    assert desk.run("models", "add", "bundled", str(tiny), "--json").status == 2
    assert desk.run("models", "add", str(tiny), "tiny", "--json").status == 2
    assert not (desk.config / "models").exists()
    assert not (desk.home / "models").exists()


def test_a_name_is_given_away_a_second_time_only_with_consent(desk: Desk, tiny: Path) -> None:
    assert desk.run("models", "add", "tiny", str(tiny)).status == 0
    profile = desk.config / "models" / "tiny.toml"
    before = profile.read_bytes()
    refused = desk.run("models", "add", "tiny", str(tiny), "--json")
    assert refused.status == 5
    assert refused.error["code"] == "model_exists"
    assert "--yes" in refused.error["hint"]

    command = ["models", "add", "tiny", str(tiny), "--query-prefix", "q: "]
    asked = Terminal.memcli(command, desk.root, desk.env)
    asked.wait_for("Replace it? [y/N]")
    asked.type("n\n")
    assert asked.status() == 1
    assert profile.read_bytes() == before
    agreed = Terminal.memcli(command, desk.root, desk.env)
    agreed.wait_for("Replace it? [y/N]")
    agreed.type("y\n")
    assert agreed.status() == 0
    assert b'query_prefix = "q: "' in profile.read_bytes()


def test_a_copy_makes_the_original_dispensable(desk: Desk, tiny: Path) -> None:
    assert desk.run("models", "add", "tiny", str(tiny), "--copy").status == 0
    tiny.unlink()
    assert desk.run("models", "verify", "tiny").status == 0
    copy = desk.home / "models" / "tiny.gguf"
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_choice_changes_one_value_and_says_when_something_else_wins(
    desk: Desk, tiny: Path
) -> None:
    assert desk.run("models", "add", "tiny", str(tiny)).status == 0
    file = desk.config / "config.toml"
    file.write_text('# mine\n[models]\nthreads = 1 # few\nembedder = "bundled"\n\n[limits]\n')
    done = desk.run("models", "use", "tiny", env={"MEMCLI_EMBEDDER": "bundled"})
    assert done.status == 0
    assert "models.embedder = tiny (was bundled)" in done.out
    assert "environment MEMCLI_EMBEDDER" in done.err
    assert "index build" not in done.err
    expected = '# mine\n[models]\nthreads = 1 # few\nembedder = "tiny"\n\n[limits]\n'
    assert file.read_text() == expected
    assert file.stat().st_mode & 0o777 == 0o600
    assert "already" in desk.run("models", "use", "tiny").out


def test_a_project_file_gets_names_only_and_never_through_a_link_to_elsewhere(
    desk: Desk, tiny: Path, tmp_path: Path
) -> None:
    """F23."""
    assert desk.run("models", "add", "tiny", str(tiny)).status == 0
    done = desk.run("models", "use", "tiny", "--in-project", "--json")
    assert done.status == 0, done.err
    project_file = desk.root / "memcli.toml"
    assert project_file.read_text() == 'id = "small"\n\n[models]\nembedder = "tiny"\n'
    assert done.document["in_force"] == {"value": "tiny", "origin": "project memcli.toml"}
    assert desk.run("models", "use", str(tiny), "--in-project").status == 2
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text("")
    project_file.unlink()
    project_file.symlink_to(elsewhere)
    refused = desk.run("models", "use", "tiny", "--in-project", "--json")
    assert refused.status == 2
    assert elsewhere.read_text() == ""


def test_unknown_uninstalled_and_unfitting_choices_are_refused_by_name(desk: Desk) -> None:
    unknown = desk.run("models", "use", "bundeld", "--json")
    assert (unknown.status, unknown.error["code"]) == (2, "model_unknown")
    assert "bundled" in unknown.error["hint"]
    absent = desk.run("models", "use", "bge-m3", "--json")
    assert (absent.status, absent.error["code"]) == (3, "model_not_ready")
    assert "models pull bge-m3" in absent.error["hint"]
    other = desk.run("models", "use", "bundled", "--role", "rerank", "--json")
    assert (other.status, other.error["code"]) == (2, "usage")
    assert not (desk.config / "config.toml").exists()


def test_a_broken_profile_is_shown_and_stops_nothing_else(desk: Desk) -> None:
    folder = desk.config / "models"
    folder.mkdir(parents=True)
    (folder / "bad.toml").write_text("role = 1\n")
    assert "role" in listed(desk, "bad")["problem"]
    assert desk.run("activate", "roll back").status == 0
    assert desk.run("models", "use", "bad", "--json").error["code"] == "configuration_invalid"
    named = desk.run("index", "build", "--embedder", "bad", "--json")
    assert (named.status, named.error["code"]) == (3, "model_not_ready")
    assert "bad.toml" in named.error["message"]
    assert desk.run("models", "verify", "bad").status == 1


# pull


def test_a_pull_survives_a_bad_network_and_is_repeated_for_nothing(
    desk: Desk, pullable: bytes
) -> None:
    """F6, F28: cut at half, a sign-in page, then the right bytes; one line where nobody watches."""
    with serving(pullable, "cut", "page", "good") as served:
        pull = ("models", "pull", PULLED, "--url", served.url)
        cut = desk.run(*pull, "--json")
        assert cut.status == 1
        assert '"download_failed"' in cut.err
        assert f"{len(pullable) // 2} of {len(pullable)} bytes are kept" in cut.err
        page = desk.run(*pull)
        assert page.status == 1
        assert "no GGUF" in page.err
        assert listed(desk, PULLED)["installed"] is False

        done = desk.run(*pull, "--json")
        assert done.status == 0, done.err
        validate(done.document)
        assert done.document["downloaded"] is True
        assert done.document["model"]["query_prefix"].startswith("Represent this sentence")
        assert done.err.count("\n") < 20
        assert "\x1b" not in done.err
        assert [line for line in done.err.splitlines() if "downloading" in line] == [
            f"downloading {PULLED} (of unknown size)"
        ]

        again = desk.run(*pull, "--offline", "--json")
        assert again.status == 0
        assert again.document["downloaded"] is False
        assert len(served.requests) == 3
    row = listed(desk, PULLED)
    assert row["kind"] == "pulled"
    assert row["sha256"] == hashlib.sha256(pullable).hexdigest()
    assert row["licence"] == "Apache-2.0"
    file = desk.home / "models" / f"{PULLED}.gguf"
    assert file.read_bytes() == pullable
    assert file.stat().st_mode & 0o777 == 0o600
    assert desk.run("models", "use", PULLED).status == 0


def test_a_pull_offline_connects_to_nothing(desk: Desk, pullable: bytes) -> None:
    with serving(pullable) as served:
        pull = ("models", "pull", PULLED, "--url", served.url)
        for arguments, env in ((("--offline",), {}), ((), {"MEMCLI_OFFLINE": "1"})):
            done = desk.run(*pull, *arguments, "--json", env=env)
            assert done.status == 3
            assert done.error["code"] == "offline"
        assert not served.requests


def test_a_known_digest_is_demanded_and_one_given_replaces_it(desk: Desk, pullable: bytes) -> None:
    name = "nomic-embed-text-v1.5"
    with serving(pullable) as served:
        pull = ("models", "pull", name, "--url", served.url)
        wrong = desk.run(*pull, "--json")
        assert wrong.status == 1
        assert "146146432" in wrong.err
        other = desk.run(*pull, "--sha256", "0" * 64, "--json")
        assert other.status == 1
        assert "SHA-256" in other.err
        assert desk.run(*pull, "--sha256", "abc", "--json").status == 2
        assert not list((desk.home / "models").glob("*.gguf"))
        digest = hashlib.sha256(pullable).hexdigest()
        assert desk.run(*pull, "--sha256", digest).status == 0


def test_a_cut_file_that_the_server_calls_whole_is_not_kept(desk: Desk, pullable: bytes) -> None:
    with serving(pullable, "short", "good") as served:
        pull = ("models", "pull", PULLED, "--url", served.url)
        short = desk.run(*pull, "--json")
        assert short.status == 3
        assert "cut short" in short.err
        assert listed(desk, PULLED)["installed"] is False
        assert desk.run(*pull).status == 0


def test_a_terminal_shows_a_bar_while_it_downloads(desk: Desk, pullable: bytes) -> None:
    data = pullable + bytes(3_000_000)
    with serving(data) as served:
        env = {**desk.env, "TERM": "xterm-256color"}
        shown = Terminal.memcli(["models", "pull", PULLED, "--url", served.url], desk.root, env)
        assert shown.status() == 0
        assert f"{PULLED}, MB".encode() in shown.shown
        assert b"\x1b[" in shown.shown


def test_an_unknown_name_suggests_a_near_one_and_a_name_of_ones_own_is_not_overwritten(
    desk: Desk, tiny: Path, pullable: bytes
) -> None:
    unknown = desk.run("models", "pull", "bge-m4", "--json")
    assert (unknown.status, unknown.error["code"]) == (2, "model_unknown")
    assert "bge-m3" in unknown.error["hint"]
    assert desk.run("models", "add", PULLED, str(tiny)).status == 0
    with serving(pullable) as served:
        done = desk.run("models", "pull", PULLED, "--url", served.url, "--json")
        assert (done.status, done.error["code"]) == (5, "model_exists")
        assert not served.requests


# verify


def test_verify_proves_every_model_and_ends_with_1_where_one_is_broken(
    desk: Desk, tiny: Path, judge: Path
) -> None:
    for name, file in (("tiny", tiny), ("judge", judge)):
        assert desk.run("models", "add", name, str(file)).status == 0
    good = desk.run("models", "verify", "--json")
    assert good.status == 0, good.err
    validate(good.document)
    assert [each["name"] for each in good.document["models"]] == ["bundled", "judge", "tiny"]
    assert "cpu" in good.document["device"]

    damaged = bytearray(tiny.read_bytes())
    damaged[-10] ^= 1
    tiny.write_bytes(damaged)
    judge.unlink()
    bad = desk.run("models", "verify", "--json")
    assert bad.status == 1
    validate(bad.document)
    errors = {each["name"]: each["error"] for each in bad.document["models"]}
    assert errors["bundled"] is None
    assert "another file" in errors["tiny"]["message"]
    assert errors["judge"]["code"] == "model_not_ready"
    assert listed(desk, "judge")["problem"]
    assert desk.run("models", "use", "judge", "--json").error["code"] == "model_not_ready"
    text = desk.run("models", "verify", "tiny")
    assert text.status == 1
    assert text.out.startswith("broken  tiny")
    assert desk.run("models", "verify", "bundled").out == "ok  bundled\n"


# devices


def test_a_required_gpu_that_is_not_there_stops_every_command_that_runs_a_model(
    desk: Desk, tiny: Path
) -> None:
    """F27."""
    if "no GPU support" not in desk.run("status", "--json").document["device"]:
        pytest.skip("this build of llama.cpp can use a GPU")
    for arguments in (
        ("models", "add", "tiny", str(tiny), "--gpu", "require"),
        ("models", "verify", "--gpu", "require"),
        ("index", "build", "--gpu", "require"),
    ):
        done = desk.run(*arguments, "--json")
        assert done.status == 3
        assert "GPU is required" in done.error["message"]
    unusable = desk.run("status", "--json", env={"MEMCLI_GPU": "require"})
    assert unusable.document["device"].startswith("unusable")
