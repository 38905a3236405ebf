"""Hashes: what enters them, and that times and places do not."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memcli.configuration import resolve_configuration
from memcli.memory.hashing import body_sha256, effective_hash, resource_hash
from memcli.memory.resource import EffectiveMemory, Scope
from memcli.memory.synthesis import effective_memory

Write = Callable[..., Path]
Memory = Callable[[], EffectiveMemory]

FIELDS: dict[str, Any] = {
    "resource_id": "i",
    "scope": Scope.PROJECT,
    "kind": "note",
    "path": "a.md",
    "title": "标题",
    "description": "",
    "body": "text\n",
}


def test_the_canonical_forms_are_fixed() -> None:
    document = (
        '{"body":"text\\n","description":"","id":"i","kind":"note","path":"a.md",'
        '"scope":"project","title":"标题"}'
    )
    expected = hashlib.sha256(document.encode()).hexdigest()
    assert resource_hash(**FIELDS) == expected
    listed = hashlib.sha256(f'[["i","{expected}"]]'.encode()).hexdigest()
    assert effective_hash([("i", expected)]) == listed
    assert body_sha256("é\n") == hashlib.sha256(b"\xc3\xa9\n").hexdigest()


def test_every_field_of_a_resource_enters_its_hash() -> None:
    hashes = {resource_hash(**FIELDS)}
    for name in FIELDS:
        value = Scope.LOCAL if name == "scope" else "other"
        hashes.add(resource_hash(**{**FIELDS, name: value}))
    assert len(hashes) == len(FIELDS) + 1


def test_the_order_of_resources_enters_the_effective_hash() -> None:
    assert effective_hash([("a", "1"), ("b", "2")]) != effective_hash([("b", "2"), ("a", "1")])


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**40), st.integers(0, 0o777))
def test_file_times_and_rights_enter_no_hash(
    root: Path, environ: Mapping[str, str], time: int, mode: int
) -> None:
    (root / "a.md").write_text("# A\n")
    configuration = resolve_configuration(root, environ, {})
    before = effective_memory(configuration, environ)
    os.utime(root / "a.md", (time, time))
    (root / "a.md").chmod(mode | 0o600)
    after = effective_memory(configuration, environ)
    assert after.effective_hash == before.effective_hash
    assert after.resources == before.resources


def test_the_same_project_elsewhere_has_the_same_hash(
    tmp_path: Path, root: Path, write: Write, environ: Mapping[str, str]
) -> None:
    write("docs/a.md", "---\ndescription: d\n---\n# A\n")
    write("b.md", "text\n")
    elsewhere = tmp_path / "else" / "where"
    shutil.copytree(root, elsewhere)
    one, two = (
        effective_memory(resolve_configuration(place, environ, {}), environ)
        for place in (root, elsewhere)
    )
    assert one.effective_hash == two.effective_hash


def test_line_ends_and_marks_enter_no_hash(write: Write, memory: Memory) -> None:
    write("a.md", "# A\n\ntext\n")
    before = memory().effective_hash
    write("a.md", b"\xef\xbb\xbf# A\r\n\r\ntext\r\n")
    assert memory().effective_hash == before
    write("a.md", "# A\n\ntext \n")
    assert memory().effective_hash != before
