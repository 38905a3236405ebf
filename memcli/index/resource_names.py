"""The folded names of a revision's resources in a derived file, for identity recall.

The indexes of SQLite answer as fast, but nothing tells there that an entry is
missing; a derived file has a checksum.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from memcli.index.embedding import Int32
from memcli.index.lexicon import Bytes, Int64
from memcli.index.packed_arrays import Array, read_arrays
from memcli.index.storage import IndexStorage

# No byte of UTF-8 text: what stands before an id, a path and a title.
_ID, _PATH, _TITLE = b"\xff", b"\xfe", b"\xfd"
_ROWS = """
    SELECT folded_id, folded_path, folded_title, first_unit, unit_count FROM search_resources
    WHERE revision_id = ? AND unit_count > 0 ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class ResourceNames:
    """``name_text`` uint8: all names behind their marks, and the id's mark once more at the end;
    ``name_starts`` int64 [R], where each resource begins; ``first_units`` and ``unit_counts``
    int32 [R]. Resources without units are left out, the others are in their order.
    """

    name_text: Bytes
    name_starts: Int64
    first_units: Int32
    unit_counts: Int32

    def hits(self, query: str, prefix_limit: int, limit: int) -> list[tuple[int, int]]:
        """(unit ordinal, tier), as ``identity_recall`` gives them by rowid."""
        if not query:
            return []
        text, asked = self.name_text.tobytes(), query.encode()
        found: list[tuple[int, int]] = []
        passed: set[int] = set()
        for tier, patterns in (
            (1, [_ID + asked + _PATH]),
            (2, [_PATH + asked + _TITLE, _TITLE + asked + _ID]),
            (3, [_ID + asked, _PATH + asked, _TITLE + asked]),
        ):
            places = min(limit - len(found), prefix_limit if tier == 3 else limit)
            if places <= 0:
                break
            most = places + len(passed)
            named = {at for each in patterns for at in islice(self._named(text, each), most)}
            first = sorted(named - passed)[:places]
            passed |= named
            found += [(ordinal, tier) for ordinal in self._in_order(first)[:places]]
        return found

    def _named(self, text: bytes, pattern: bytes) -> Iterator[int]:
        """Resources in whose names ``pattern`` is, in order, each once."""
        last, at = -1, text.find(pattern)
        while at >= 0:
            resource = int(np.searchsorted(self.name_starts, at, "right")) - 1
            if resource != last:
                yield resource
            last, at = resource, text.find(pattern, at + 1)

    def _in_order(self, resources: list[int]) -> list[int]:
        """The units of these resources by their position, then by resource."""
        units = [
            (position, resource)
            for resource in resources
            for position in range(int(self.unit_counts[resource]))
        ]
        return [int(self.first_units[resource]) + position for position, resource in sorted(units)]


def name_arrays(connection: sqlite3.Connection, revision_id: str) -> dict[str, Array]:
    """The arrays of ``ResourceNames`` for a revision, by name."""
    parts: list[bytes] = []
    starts, first_units, unit_counts, length = [], [], [], 0
    for folded_id, path, title, first_unit, unit_count in connection.execute(_ROWS, (revision_id,)):
        starts.append(length)
        first_units.append(first_unit)
        unit_counts.append(unit_count)
        parts += [_ID, folded_id.encode(), _PATH, path.encode(), _TITLE, title.encode()]
        length += sum(map(len, parts[-6:]))
    parts.append(_ID)
    return {
        "name_text": np.frombuffer(b"".join(parts), dtype=np.uint8),
        "name_starts": np.array(starts, dtype=np.int64),
        "first_units": np.array(first_units, dtype=np.int32),
        "unit_counts": np.array(unit_counts, dtype=np.int32),
    }


def read_names(storage: IndexStorage, revision_id: str) -> ResourceNames | None:
    """The names, mapped; ``None`` where the file is absent, damaged or without them."""
    packed = read_arrays(storage.vectors(revision_id), revision_id)
    names = ResourceNames.__dataclass_fields__
    if packed is None or not names.keys() <= packed.arrays.keys():
        return None
    if not all(packed.is_intact(name) for name in names):
        return None
    return ResourceNames(*(np.asarray(packed.arrays[name]) for name in names))
