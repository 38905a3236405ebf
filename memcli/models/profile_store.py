"""The user's own model profiles: one TOML file each under ``<config directory>/models``.

They lie with the user's configuration and never in a project: a project can
only name a profile, so no clone decides which file llama.cpp is given.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from memcli.configuration.options import PROFILE_NAME, looks_like_path
from memcli.configuration.toml_editing import toml_text
from memcli.configuration.toml_tables import checked_table, invalid, read_toml, refuse_unknown
from memcli.errors import Failure, InvalidInput, MemcliError, shown
from memcli.locations import private_directory, write_private
from memcli.models.profile import (
    BUNDLED_EMBEDDER,
    LATE_INTERACTION,
    ModelProfile,
    PairForm,
    Pooling,
    Relevance,
    Role,
)

RESERVED_NAMES = frozenset({BUNDLED_EMBEDDER.name, LATE_INTERACTION})
SUFFIX = ".toml"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_CHOICES = {
    "role": ("embed", "rerank"),
    "pooling": ("mean", "cls", "last", "rank"),
    "pair_form": ("single_separator", "double_separator", "file"),
}
_KEYS = (
    "role", "file", "sha256", "size", "pooling", "query_prefix", "passage_prefix", "pair_form",
    "max_tokens", "licence", "source", "added_at", "relevance", "late_interaction",
)  # fmt: skip
_LENGTH_KEYS = ("length_slope", "length_free", "length_cap")
_RELEVANCE_KEYS = ("middle", "width", "floor", *_LENGTH_KEYS)
_HEADING = """\
# A model profile of memcli; the file's name is the profile's name.
# Prefixes, pooling and limits shape every vector: after a change, `memcli index build`.
"""


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A profile with what only its file knows: size in bytes, origin, licence, when it was added.

    ``source`` is the address it was pulled from, empty for a file of the user's.
    """

    profile: ModelProfile
    size: int
    added_at: str
    licence: str = ""
    source: str = ""

    @property
    def is_in_place(self) -> bool:
        """Whether a file of the recorded size is there; only ``verify`` reads all of it."""
        try:
            return self.profile.file.stat().st_size == self.size
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class StoredProfiles:
    """Every profile by name, and the files that hold none, each with what is wrong."""

    profiles: Mapping[str, StoredProfile]
    problems: Mapping[str, MemcliError]

    @property
    def known(self) -> dict[str, ModelProfile]:
        """What the model shelf looks names up in."""
        return {name: stored.profile for name, stored in self.profiles.items()}


class ProfileStore:
    """Reads and writes the profiles of one configuration directory."""

    def __init__(self, config_directory: Path) -> None:
        self.directory = config_directory / "models"

    def path_of(self, name: str) -> Path:
        return self.directory / f"{name}{SUFFIX}"

    def load(self) -> StoredProfiles:
        """All profiles. A broken file is a problem of its own name and stops no other."""
        profiles: dict[str, StoredProfile] = {}
        problems: dict[str, MemcliError] = {}
        for path in self._files():
            name = path.name.removesuffix(SUFFIX)
            try:
                check_name(name)
                profiles[name] = _parsed(path, name)
            except MemcliError as error:
                problems[name] = error
        return StoredProfiles(profiles, problems)

    def write(self, stored: StoredProfile) -> Path:
        """Keep ``stored`` under its name, in one step, 0600. Raises ``Failure`` if it cannot be."""
        check_name(stored.profile.name)
        path = self.path_of(stored.profile.name)
        try:
            private_directory(self.directory)
            write_private(path, _as_toml(stored).encode())
        except OSError as error:
            raise Failure(
                "file_unwritable", f"{path} cannot be written: {error.strerror or error}"
            ) from error
        return path

    def _files(self) -> list[Path]:
        try:
            entries = sorted(self.directory.iterdir())
        except OSError:
            return []
        return [each for each in entries if each.suffix == SUFFIX and each.name[0] != "."]


def check_name(name: str) -> None:
    """Raise ``InvalidInput`` ``model_name_invalid`` for a name that no profile can have."""
    if name in RESERVED_NAMES:
        raise InvalidInput(
            "model_name_invalid",
            f"{name!r} is the name of a built-in model",
            "Choose another name.",
        )
    if looks_like_path(name) or not PROFILE_NAME.fullmatch(name):
        raise InvalidInput(
            "model_name_invalid",
            f"{name!r} cannot name a model: letters, digits, '.', '_' and '-', not ending in .gguf",
            "The order is `memcli models add NAME FILE.gguf`.",
        )


def _parsed(path: Path, name: str) -> StoredProfile:
    table = read_toml(path)
    if table is None:
        raise invalid(path, "is gone")
    refuse_unknown(path, "", table, _KEYS)
    role, file = _text(path, table, "role"), _text(path, table, "file")
    if not os.path.isabs(file) or "\0" in file:
        raise invalid(path, f"file must be an absolute path, not {shown(file)}")
    digest = _text(path, table, "sha256")
    if not _DIGEST.fullmatch(digest):
        raise invalid(path, "sha256 must be 64 lower-case hexadecimal digits")
    # `_text` has held what is cast here against the choices of the type.
    profile = ModelProfile(
        name=name,
        role=cast(Role, role),
        file=Path(file),
        sha256=digest,
        pooling=cast(Pooling, _text(path, table, "pooling")),
        query_prefix=_text(path, table, "query_prefix", ""),
        passage_prefix=_text(path, table, "passage_prefix", ""),
        pair_form=cast(PairForm, _text(path, table, "pair_form", "file")),
        max_tokens=_whole(path, table, "max_tokens"),
        relevance=_relevance(path, table, "relevance") or Relevance(0.0, 1.0, 0.0),
        late_interaction=_relevance(path, table, "late_interaction"),
    )
    if (role == "rerank") != (profile.pooling == "rank"):
        raise invalid(path, f"a model of role {role} cannot have pooling {profile.pooling!r}")
    return StoredProfile(
        profile=profile,
        size=_whole(path, table, "size"),
        added_at=_text(path, table, "added_at", ""),
        licence=_text(path, table, "licence", ""),
        source=_text(path, table, "source", ""),
    )


def _text(path: Path, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if value is None:
        raise invalid(path, f"{key} is missing")
    if not isinstance(value, str):
        raise invalid(path, f"{key} must be a text, not {shown(value)}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise invalid(path, f"{key} must be one of {', '.join(_CHOICES[key])}, not {shown(value)}")
    return value


def _whole(path: Path, table: Mapping[str, Any], key: str) -> int:
    value = table.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise invalid(path, f"{key} must be a whole number from 0, not {shown(value)}")
    return value


def _relevance(path: Path, table: Mapping[str, Any], key: str) -> Relevance | None:
    if key not in table:
        return None
    values = checked_table(path, key, table[key])
    refuse_unknown(path, f"{key}.", values, _RELEVANCE_KEYS)
    for name in _RELEVANCE_KEYS:
        value = values.get(name, 8 if name in _LENGTH_KEYS else None)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not abs(value) <= sys.float_info.max:
            raise invalid(path, f"{key}.{name} must be a number")
    length_free = values.get("length_free", 6)
    found = Relevance(
        middle=float(values["middle"]),
        width=float(values["width"]),
        floor=float(values["floor"]),
        length_slope=float(values.get("length_slope", 0.0)),
        length_free=int(length_free),
        length_cap=float(values.get("length_cap", 0.0)),
    )
    if found.width <= 0 or not 0 <= found.floor <= 1 or found.length_free < 1:
        raise invalid(
            path, f"{key} needs a width above 0, a floor from 0 to 1 and a length_free from 1"
        )
    return found


def _as_toml(stored: StoredProfile) -> str:
    profile = stored.profile
    lines = [
        _pair("role", profile.role),
        _pair("file", str(profile.file)),
        _pair("sha256", profile.sha256),
        f"size = {stored.size}",
        _pair("pooling", profile.pooling),
    ]
    if profile.role == "embed":
        lines += [
            _pair("query_prefix", profile.query_prefix),
            _pair("passage_prefix", profile.passage_prefix),
        ]
    else:
        lines.append(_pair("pair_form", profile.pair_form))
    lines.append(f"max_tokens = {profile.max_tokens}  # 0: as many as the file says")
    for name in ("licence", "source", "added_at"):
        if value := getattr(stored, name):
            lines.append(_pair(name, value))
    if profile.role == "rerank":
        lines += _calibration("relevance", profile.relevance)
    elif profile.late_interaction:
        lines += _calibration("late_interaction", profile.late_interaction)
    return _HEADING + "\n" + "\n".join(lines) + "\n"


def _calibration(name: str, value: Relevance) -> list[str]:
    keys = [each for each in _RELEVANCE_KEYS if value.length_slope or each not in _LENGTH_KEYS]
    return [
        "",
        "# relevance = 1 / (1 + exp(-(score - middle) / width)); below floor nothing is returned",
        f"[{name}]",
        *(f"{each} = {getattr(value, each)!r}" for each in keys),
    ]


def _pair(key: str, text: str) -> str:
    return f"{key} = {toml_text(text)}"
