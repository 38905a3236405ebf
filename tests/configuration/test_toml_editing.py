"""One value is changed in a file that a person wrote; every other byte stays as it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memcli.configuration.toml_editing import set_value
from memcli.errors import InvalidInput

ODD = '''\
# my settings  [models]
note = """
[models]
embedder = "not this one"
"""

[[source]] # a list
scope = "global"
root = "~/notes" # = [models]
include = [
  "a.md", # embedder = "x"
  "b.md",
]

[models] # mine
threads = 2 # two
embedder = "old" # the small one
gpu = "off"

[limits]
tokens = 800
'''


def changed(tmp_path: Path, text: str, *, key: str = "embedder", value: str = "new") -> str:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())
    set_value(path, "models", key, value, private=True)
    return path.read_bytes().decode()


def test_only_the_value_changes_and_the_comments_stay(tmp_path: Path) -> None:
    assert changed(tmp_path, ODD) == ODD.replace('embedder = "old"', 'embedder = "new"')


def test_a_missing_key_is_added_below_its_neighbours(tmp_path: Path) -> None:
    expected = ODD.replace('gpu = "off"\n', 'gpu = "off"\nreranker = "new"\n')
    assert changed(tmp_path, ODD, key="reranker") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[models]\nembedder = "new"\n'),
        ("# nothing yet", '# nothing yet\n\n[models]\nembedder = "new"\n'),
        ("[models]", '[models]\nembedder = "new"\n'),
        ("[models]\n[limits]\n", '[models]\nembedder = "new"\n[limits]\n'),
        ("models.threads = 1\n", 'models.threads = 1\nmodels.embedder = "new"\n'),
        ("models.embedder = 'a'\n", 'models.embedder = "new"\n'),
        ('["models"]\n"embedder"="a"#b\n', '["models"]\n"embedder"="new"#b\n'),
        ("[models]\r\nthreads = 1\r\n", '[models]\r\nthreads = 1\r\nembedder = "new"\r\n'),
        ("\ufeff[models]\nembedder = 'a'", '\ufeff[models]\nembedder = "new"'),
        ("[limits]\ntokens = 1\n", '[limits]\ntokens = 1\n\n[models]\nembedder = "new"\n'),
        ('models = { embedder = "a" }\n', None),
    ],
)
def test_every_way_to_write_the_table_is_changed_in_its_own_way_or_refused(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(InvalidInput, match="cannot be changed safely"):
            changed(tmp_path, text)
        assert (tmp_path / "config.toml").read_text() == text
    else:
        assert changed(tmp_path, text) == expected


def test_a_broken_file_is_not_touched(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        changed(tmp_path, "[models\n")
    assert caught.value.code == "configuration_invalid"
    assert (tmp_path / "config.toml").read_text() == "[models\n"


def test_the_users_file_is_private_and_a_projects_keeps_its_mode(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        own = tmp_path / "new" / "config.toml"
        assert set_value(own, "models", "embedder", "a", private=True) is None
        shared = tmp_path / "memcli.toml"
        shared.write_text('id = "x"\n')
        shared.chmod(0o664)
        set_value(shared, "models", "embedder", "a", private=False)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(shared.stat().st_mode) == 0o664


def test_a_linked_file_is_changed_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("[models]\nembedder = 'a'\n")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    assert set_value(link, "models", "embedder", "b", private=True) == "a"
    assert link.is_symlink()
    assert real.read_text() == '[models]\nembedder = "b"\n'
