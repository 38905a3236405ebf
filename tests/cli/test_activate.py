"""``memcli activate`` as a process: answers, formats, states, many queries, odd input."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from conftest_types import Run


def paths(document: dict[str, Any]) -> list[str]:
    return [each["path"] for each in document["fragments"]]


def test_text_answer_has_place_score_tokens_budget_and_a_hint_to_the_trace(memcli: Run) -> None:
    done = memcli("activate", "how do I roll back a bad deploy?")
    assert done.status == 0
    first = done.out.splitlines()[0]
    assert first.startswith("1. docs/rollback.md:1 ")
    assert re.search(r"score [01]\.\d\d, \d+ tokens", first)

    assert "of 12 fragments" in done.out
    assert "of 2400 tokens" in done.out
    assert "memcli runs show" in done.err


def test_json_is_one_document_on_stdout_whatever_llama_cpp_says(memcli: Run) -> None:
    """F5: stdout is only JSON."""
    done = memcli("activate", "how do I roll back a bad deploy?", "--json")
    assert done.status == 0
    assert done.err == ""
    document = done.document
    assert document["schema"] == "memcli.activate.v1"
    assert document["chain"] == "agent_activation.v2"
    assert paths(document)[0] == "docs/rollback.md"
    assert set(document) == {
        "schema", "run_id", "project_id", "query", "chain", "revision_id", "effective_hash",
        "fragments", "remove", "state", "budget", "lexical", "timings_us", "notices",
    }  # fmt: skip
    assert set(document["timings_us"]) == {
        "open", "load", "lexical", "embed", "vector", "fusion", "rerank", "assembly",
        "record", "total",
    }  # fmt: skip
    fragment = document["fragments"][0]
    assert fragment["action"] == "add"
    assert fragment["final_rank"] == 1
    assert fragment["text"].startswith("# Rolling back")
    assert fragment["locator"] == {
        "start_line": 1, "end_line": 3, "start_char": 0, "end_char": len(fragment["text"]),
    }  # fmt: skip


def test_explain_shows_every_candidate_with_its_reason(memcli: Run) -> None:
    done = memcli("activate", "how do I roll back a bad deploy?", "--explain", "--json")
    candidates = done.document["candidates"]
    assert len(candidates) >= 6
    for each in candidates:
        assert (each["final_rank"] is None) == (each["exclusion_reason"] is not None)
    text = memcli("activate", "how do I roll back a bad deploy?", "--explain")
    assert "below_relevance" in text.out
    assert "relevance floor" in text.out


def test_markdown_and_xml_are_only_what_a_prompt_takes(memcli: Run) -> None:
    markdown = memcli("activate", "how do I roll back a bad deploy?", "--format", "markdown")
    assert markdown.out.startswith("## docs/rollback.md:1-3\n\n```markdown\n# Rolling back")
    xml = memcli("activate", "how do I roll back a bad deploy?", "--format", "xml")
    from xml.etree import ElementTree

    memory = ElementTree.fromstring(xml.out)
    assert memory.tag == "memory"
    assert memory[0].attrib["path"] == "docs/rollback.md"


def test_query_comes_from_standard_input_with_a_dash(memcli: Run) -> None:
    done = memcli("activate", "-", "--json", given=b"who carries the pager?\n")
    assert paths(done.document)[0] == "docs/oncall.md"


def test_gibberish_and_foreign_questions_give_an_empty_answer_and_exit_0(memcli: Run) -> None:
    """F15: relevance floor on the reranker's score."""
    for query in ("zzqx plugh", "best hiking trails in the alps", "!!! ???", "...", "*"):
        done = memcli("activate", query, "--json")
        assert done.status == 0
        assert done.document["fragments"] == []
    assert memcli("activate", "zzqx plugh").out.startswith("No fragments")


def test_fail_empty_turns_an_empty_answer_into_status_1(memcli: Run) -> None:
    done = memcli("activate", "zzqx plugh", "--fail-empty")
    assert done.status == 1
    assert "empty_answer" in done.err
    assert memcli("activate", "roll back a deploy", "--fail-empty").status == 0


@pytest.mark.parametrize(
    "query",
    ["C++", "what's", "docker-compose", "a:b", "*", '"', "NEAR(", "(((", "^a", "AND OR NOT", "''"],
)
def test_punctuation_in_a_query_is_text_and_never_syntax(memcli: Run, query: str) -> None:
    """F11."""
    assert memcli("activate", query, "--json").status == 0


def test_option_like_query_after_a_double_dash(memcli: Run) -> None:
    """F11."""
    done = memcli("activate", "--json", "--", "--help")
    assert done.status == 0
    assert done.document["query"] == "--help"


def test_ten_kilobytes_are_a_query_and_it_says_that_the_models_read_its_start(memcli: Run) -> None:
    """F11."""
    done = memcli("activate", "-", "--json", given=b"roll back the bad deploy " * 400)
    assert done.status == 0
    assert "query_shortened" in [each["code"] for each in done.document["notices"]]


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_a_blank_query_is_invalid_and_leaves_no_run(memcli: Run, query: str) -> None:
    done = memcli("activate", query, "--json")
    assert done.status == 2
    assert done.error["code"] == "invalid_query"
    assert done.error["hint"]


def test_chinese_substring_of_four_and_of_two_characters_are_found(memcli: Run) -> None:
    """F7: never zero hits without a stated reason."""
    for query in ("数据库迁", "部署"):
        document = memcli("activate", query, "--json", "--explain").document
        hits = [each["path"] for each in document["candidates"] if each["bm25_rank"]]
        assert hits == ["docs/部署.md"]


def test_short_words_alone_are_scanned_for_and_beside_longer_ones_skipped(memcli: Run) -> None:
    """F8, F9: the rule is per term, and what was skipped is named."""
    alone = memcli("activate", "ok", "--json", "--explain").document
    assert alone["lexical"] == {"terms": [], "skipped": ["ok"]}
    hits = [each["path"] for each in alone["candidates"] if each["bm25_rank"]]
    assert hits == ["docs/quick.md"]
    beside = memcli("activate", "quick ok", "--json").document
    assert beside["lexical"] == {"terms": ["quick"], "skipped": ["ok"]}
    four = memcli("activate", "ok at on by", "--json", "--explain").document
    assert four["lexical"]["skipped"] == ["ok", "at", "on", "by"]
    assert any(each["bm25_rank"] for each in four["candidates"])


def test_second_turn_with_the_state_reuses_and_an_edit_replaces(
    own_memcli: tuple[Run, Path], tmp_path: Path
) -> None:
    """F34."""
    run, root = own_memcli
    state = tmp_path / "state.json"
    query = "how do I roll back a bad deploy?"
    first = run("activate", query, "--json", "--state-out", str(state)).document
    assert {each["action"] for each in first["fragments"]} == {"add"}
    assert orjson.loads(state.read_bytes()) == first["state"]
    assert state.stat().st_mode & 0o777 == 0o600

    second = run("activate", query, "--json", "--state", str(state)).document
    assert [each["action"] for each in second["fragments"]] == ["reuse"] * len(first["fragments"])
    assert all("text" not in each for each in second["fragments"])
    assert second["budget"] == first["budget"]

    note = root / "docs/rollback.md"
    note.write_text(note.read_text().replace("six minutes", "seven minutes"))
    assert run("index", "build").status == 0
    third = run("activate", query, "--json", "--state", str(state)).document
    actions = {each["path"]: each["action"] for each in third["fragments"]}
    assert actions["docs/rollback.md"] == "replace"

    note.unlink()
    assert run("index", "build").status == 0
    fourth = run("activate", query, "--json", "--state", "-", given=orjson.dumps(first)).document
    assert "docs/rollback.md#root~0.0" in fourth["remove"]


@pytest.mark.parametrize("state", [b"", b"{}", b"[]", b"nonsense", b'{"schema": "other"}'])
def test_garbled_state_is_refused_with_status_2(memcli: Run, state: bytes) -> None:
    """F34."""
    done = memcli("activate", "roll back", "--json", "--state", "-", given=state)
    assert done.status == 2
    assert done.error["code"] == "invalid_activation_state"
    assert done.out == ""


def test_many_queries_as_ndjson_answer_line_by_line_with_models_loaded_once(memcli: Run) -> None:
    lines = [b'{"query": "roll back a deploy"}', b'"who carries the pager"', b"broken", b'{"q": 1}']
    done = memcli("activate", "--queries", "-", given=b"\n".join(lines))
    documents = [orjson.loads(line) for line in done.out.splitlines()]
    assert [each.get("query") for each in documents] == [
        "roll back a deploy", "who carries the pager", None, None,
    ]  # fmt: skip
    assert [each["line"] for each in documents if "error" in each] == [3, 4]
    assert done.status == 1
    assert documents[1]["timings_us"]["load"] < documents[0]["timings_us"]["load"] / 5


def test_query_and_queries_exclude_each_other(memcli: Run) -> None:
    assert memcli("activate").status == 2
    assert memcli("activate", "a query", "--queries", "-").status == 2


def test_without_an_index_it_says_so_and_how_to_make_one(tmp_path: Path, memcli: Run) -> None:
    (tmp_path / "memcli.toml").touch()
    done = memcli("activate", "anything", "--json", cwd=tmp_path)
    assert done.status == 3
    assert done.error["code"] == "index_not_ready"
    assert "memcli index build" in done.error["hint"]


def test_build_option_indexes_first(own_memcli: tuple[Run, Path]) -> None:
    run, root = own_memcli
    (root / "docs/new.md").write_text("# Coffee\n\nThe coffee machine is descaled on Fridays.\n")
    query = "when is the coffee machine descaled"
    stale = run("activate", query, "--json").document
    assert "docs/new.md" not in paths(stale)
    assert [each["code"] for each in stale["notices"]] == ["memory_changed"]
    fresh = run("activate", query, "--json", "--build").document
    assert paths(fresh)[0] == "docs/new.md"
    assert fresh["notices"] == []
