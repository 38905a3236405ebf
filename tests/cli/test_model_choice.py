"""Which model answers: one resolver, and a head always answers with its own embedder (F16)."""

from __future__ import annotations

from pathlib import Path

from conftest_types import Run
from tiny_gguf import write_tiny_bert


def test_a_head_answers_with_the_embedder_it_was_built_with_or_says_what_is_missing(
    own_memcli: tuple[Run, Path], tmp_path: Path
) -> None:
    run, _ = own_memcli
    tiny = str(write_tiny_bert(tmp_path / "tiny.gguf", head=False))
    built = run("index", "build", "--embedder", tiny, "--json")
    assert built.status == 0, built.err
    assert built.document["created"] is True

    missing = run("activate", "roll back", "--json")
    assert missing.status == 3
    assert missing.error["code"] == "model_not_ready"
    assert "tiny" in missing.error["message"]

    for arguments, extra in (
        (("--embedder", tiny), {}),
        ((), {"MEMCLI_EMBEDDER": tiny}),
    ):
        answered = run("activate", "roll back", "--json", "--explain", *arguments, env=extra)
        assert answered.status == 0, answered.err
        assert answered.document["candidates"]

    assert run("head", "swap", "--previous").status == 0
    back = run(
        "activate", "how do I roll back a bad deploy?", "--json", env={"MEMCLI_EMBEDDER": tiny}
    )
    assert back.document["fragments"][0]["path"] == "docs/rollback.md"


def test_flag_beats_environment_beats_project_beats_user_file(
    own_memcli: tuple[Run, Path], built_project: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    run, root = own_memcli
    config = tmp_path / "config"
    config.mkdir()
    (config / "config.toml").write_text("[models]\nthreads = 4\n")
    env = {"MEMCLI_CONFIG": str(config)}

    def threads(*arguments: str, **extra: str) -> tuple[int, str]:
        document = run("status", "--json", *arguments, env={**env, **extra}).document
        found = next(e for e in document["settings"] if e["key"] == "models.threads")
        return found["value"], found["origin"]

    assert threads() == (4, "user config.toml")
    (root / "memcli.toml").write_text('id = "small"\n[models]\nthreads = 3\n')
    assert threads() == (3, "project memcli.toml")
    assert threads(MEMCLI_THREADS="2") == (2, "environment MEMCLI_THREADS")


def test_a_project_file_cannot_name_a_model_by_path_nor_read_outside(
    own_memcli: tuple[Run, Path], tmp_path: Path
) -> None:
    """F23."""
    run, root = own_memcli
    (root / "memcli.toml").write_text('[models]\nreranker = "/tmp/evil.gguf"\n')
    done = run("activate", "roll back", "--json")
    assert done.status == 2
    assert done.error["code"] == "configuration_invalid"
    (root / "memcli.toml").write_text('[[source]]\nscope = "project"\nroot = "../.."\n')
    done = run("status", "--json")
    assert done.status == 2
    assert done.error["code"] == "source_outside_project"
    (root / "memcli.toml").write_text('[models]\nembeder = "bundled"\n')
    done = run("status", "--json")
    assert done.status == 2
    assert "embedder" in done.error["hint"] + done.error["message"]


def test_a_limit_of_the_design_may_be_lowered_and_never_raised(
    own_memcli: tuple[Run, Path],
) -> None:
    run, root = own_memcli
    (root / "memcli.toml").write_text('id = "small"\n[limits]\nfragments = 1\n')
    answered = run("activate", "how do I roll back a bad deploy?", "--json").document
    assert answered["budget"]["max_fragments"] == 1
    assert len(answered["fragments"]) == 1
    (root / "memcli.toml").write_text("[limits]\nfragments = 13\n")
    done = run("activate", "roll back", "--json")
    assert done.status == 2
    assert "fragments" in done.error["message"]
