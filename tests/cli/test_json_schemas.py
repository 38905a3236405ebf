"""Every --json document is valid against its published JSON Schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from conftest_types import Run

PACKAGE = Path(__file__).parent.parent.parent / "memcli"
SCHEMAS = {path.stem: path for path in PACKAGE.glob("*/schemas/*.json")}


def validate(document: Any, name: str) -> None:
    schema = orjson.loads(SCHEMAS[name].read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memcli.activate.v1", ("activate", "roll back a deploy")),
        ("memcli.activate.v1", ("activate", "roll back a deploy", "--explain")),
        ("memcli.activate.v1", ("activate", "ok", "--explain")),
        ("memcli.activate.v1", ("activate", "zzqx plugh")),
        ("memcli.activate.v1", ("activate", "docs/rollback.md", "--explain")),
        ("memcli.index.build.v1", ("index", "build")),
        ("memcli.index.list.v1", ("index", "list")),
        ("memcli.head.show.v1", ("head", "show")),
        ("memcli.head.swap.v1", ("head", "swap")),
        ("memcli.memory.list.v1", ("memory", "list")),
        ("memcli.memory.show.v1", ("memory", "show", "docs/oncall.md")),
        ("memcli.memory.show.v1", ("memory", "show", "docs/oncall.md", "--units")),
        ("memcli.status.v1", ("status",)),
        ("memcli.why.v1", ("why", "who carries the pager", "docs/oncall.md")),
        ("memcli.why.v1", ("why", "who carries the pager", "nowhere.md")),
    ],
)
def test_every_json_document_is_valid_against_its_schema(
    memcli: Run, name: str, arguments: tuple[str, ...]
) -> None:
    done = memcli(*arguments, "--json")
    assert done.status == 0, done.err
    document = done.document
    assert document["schema"] == name
    validate(document, name)


def test_a_state_is_valid_against_its_schema(memcli: Run) -> None:
    state = memcli("activate", "roll back a deploy", "--json").document["state"]
    validate(state, state["schema"])


def test_an_error_is_valid_against_its_schema(memcli: Run) -> None:
    done = memcli("activate", " ", "--json")
    validate(orjson.loads(done.err), "memcli.error.v1")
