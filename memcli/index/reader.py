"""Read one complete revision, the head's, inside one read transaction and without any DDL."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from memcli.index import identity_recall, short_words
from memcli.index.connection import open_to_read
from memcli.index.embedding import Float32, Int32, PassageInput
from memcli.index.faults import deadline_passed, index_damaged, reading_faults
from memcli.index.fts import BM25
from memcli.index.lexicon import Lexicon, best_ordinals, quoted_phrases, read_lexicon
from memcli.index.readiness import nothing_ready
from memcli.index.recipe import input_hash
from memcli.index.resource_names import read_names
from memcli.index.revisions import (
    READY,
    RevisionInfo,
    all_revisions,
    find_revision,
    read_head,
)
from memcli.index.row_digests import unsigned
from memcli.index.schema import check_version
from memcli.index.storage import IndexStorage
from memcli.index.stored import IdentityHit, LexicalHit, ManifestEntry, StoredUnit
from memcli.index.stored_rows import HASHES, MANIFEST, UNITS, entry_of, require, unit_of
from memcli.index.token_store import stored_token_vectors
from memcli.index.vectors import read_vectors, stored_vectors
from memcli.interrupts import called_by_sqlite

__all__ = [
    "IdentityHit",
    "LexicalHit",
    "ManifestEntry",
    "RevisionReader",
    "StoredUnit",
    "open_head",
]

MOST_LEXICAL = 60
_STEPS_BETWEEN_CHECKS = 20_000
_MOST_PARAMETERS = 500

_ROWIDS = """
    SELECT ordinal, unit_rowid FROM search_units WHERE revision_id = ? AND ordinal IN ({})
"""
_ORDINALS = """
    SELECT unit_rowid, ordinal FROM search_units WHERE revision_id = ? AND unit_rowid IN ({})
"""
_BM25 = f"""
    SELECT rowid, -{BM25} AS score FROM search_units_fts
    WHERE search_units_fts MATCH ? ORDER BY score DESC
"""


class RevisionReader:
    """The head's revision for as long as its read transaction lasts.

    It is also the token corpus that late interaction reads. Every method raises
    ``NotReady`` ``index_damaged`` where the file is not what a build wrote, and
    ``Failure`` ``activation_deadline`` when the interrupt check says stop.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        storage: IndexStorage,
        revision: RevisionInfo,
        interrupt_check: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connection = connection
        self._interrupt_check = interrupt_check
        self._storage = storage
        self.revision = revision
        self._vectors: Float32 | None = None
        self._lexicon: Lexicon | None = None
        self._lexicon_read = False
        self._frequencies: tuple[Int32, Int32] | None = None
        self._placed: dict[int, int] = {}

    @property
    def resource_count(self) -> int:
        return self.revision.resource_count

    @property
    def unit_count(self) -> int:
        return self.revision.unit_count

    def lift_deadline(self) -> None:
        """Stop asking the interrupt check: what follows is outside the activation's deadline."""
        self._connection.set_progress_handler(None, 0)

    def _check(self) -> None:
        if self._interrupt_check():
            raise deadline_passed()

    def identity_hits(
        self, folded_query: str, prefix_limit: int, limit: int = MOST_LEXICAL
    ) -> list[IdentityHit]:
        """Units of the resources that ``folded_query`` names; see ``identity_recall``.

        From the derived file where there is one, else from the database: the same hits.
        """
        revision_id = self.revision.revision_id
        if (names := read_names(self._storage, revision_id)) is not None:
            hits = names.hits(folded_query, prefix_limit, limit)
            rowids = self.rowids_of_ordinals([ordinal for ordinal, _ in hits])
            return [IdentityHit(rowid, hit[1]) for rowid, hit in zip(rowids, hits, strict=True)]
        with self._faults():
            return identity_recall.identity_hits(
                self._connection, revision_id, folded_query, prefix_limit, limit
            )

    def bm25(self, match: str, limit: int) -> list[LexicalHit]:
        """The ``limit`` best units for an FTS5 expression; score = -bm25(), ties by unit order.

        Answered from the lexicon where that can, else by FTS5: the same numbers.
        """
        phrases = quoted_phrases(match)
        lexicon = self.lexicon()
        scores = lexicon.scores(phrases, self._check) if lexicon is not None and phrases else None
        if lexicon is None or scores is None:
            return self.fts_bm25(match, limit)
        ordinals = best_ordinals(scores, limit)
        rowids = lexicon.rowids[ordinals].tolist()
        return [
            LexicalHit(rowid, score)
            for rowid, score in zip(rowids, scores[ordinals].tolist(), strict=True)
        ]

    def fts_bm25(self, match: str, limit: int) -> list[LexicalHit]:
        """The same from FTS5 itself, which reads and scores every matching row."""
        hits: list[LexicalHit] = []
        with self._faults():
            for rowid, score in self._connection.execute(_BM25, (match,)):
                if len(hits) >= limit and score < hits[-1].score:
                    break
                hits.append(LexicalHit(rowid, score))
        ordinals = dict(self._in_chunks(_ORDINALS, [hit.unit_rowid for hit in hits]))
        if len(ordinals) < len(hits):
            raise index_damaged("the full-text table holds units that the head has not")
        hits.sort(key=lambda hit: (-hit.score, ordinals[hit.unit_rowid]))
        return hits[:limit]

    def scan_words(self, words: Sequence[str], limit: int) -> list[int]:
        """Rowids of units that hold words too short for BM25; see ``short_words``."""
        with self._faults():
            return short_words.scan_words(self._connection, self.revision.revision_id, words, limit)

    def lexicon(self) -> Lexicon | None:
        """The lexicon, mapped; ``None`` where it is absent or damaged."""
        if not self._lexicon_read:
            self._lexicon = read_lexicon(self._storage, self.revision.revision_id, self.unit_count)
            self._lexicon_read = True
        return self._lexicon

    def vectors(self) -> Float32:
        """float32 [N, D], row i is the vector of the unit with ordinal i; not to be written."""
        if self._vectors is None:
            revision, dimension = self.revision.revision_id, self.revision.dimension
            self._vectors = read_vectors(self._storage, revision, self.unit_count, dimension)
        if self._vectors is None:
            with self._faults():
                self._vectors = stored_vectors(self._connection, revision, dimension)
            if len(self._vectors) != self.unit_count:
                raise index_damaged(f"revision {revision} lacks some of its units")
        return self._vectors

    def rowids_of_ordinals(self, ordinals: Sequence[int]) -> list[int]:
        """Unit rowids in the order of ``ordinals``."""
        found = dict(self._in_chunks(_ROWIDS, ordinals))
        rowids = [self._expected(found.get(ordinal), "a unit") for ordinal in ordinals]
        # The answer is out of an index; the rows will tell whether it was right.
        self._placed.update(zip(rowids, ordinals, strict=True))
        return rowids

    def units(self, rowids: Sequence[int]) -> dict[int, StoredUnit]:
        """Units by rowid; all of them exist, or the index is damaged."""
        found = {row[0]: unit_of(row) for row in self._in_chunks(UNITS, rowids)}
        if found.keys() != set(rowids):
            raise index_damaged(f"revision {self.revision.revision_id} lacks some of its units")
        for rowid, unit in found.items():
            if unit.ordinal != self._placed.get(rowid, unit.ordinal):
                raise index_damaged(f"{unit.unit_key} is in another place than was indexed")
        return found

    def units_of_resource(self, resource_id: str) -> list[StoredUnit]:
        """All units of one resource in their order; none if the revision has no such id."""
        rows = self._rows(
            "SELECT unit_rowid FROM search_units WHERE revision_id = ? AND resource_id = ?",
            (self.revision.revision_id, resource_id),
        )
        units = self.units([rowid for (rowid,) in rows])
        return sorted(units.values(), key=lambda unit: unit.position)

    def keys_present(self, unit_keys: Sequence[str]) -> dict[str, str]:
        """Content hash by unit key, for those keys that the revision has."""
        return {
            key: content_hash
            for key, content_hash, whole in self._in_chunks(HASHES, unit_keys)
            if require(whole, key)
        }

    def manifest(self) -> Iterator[ManifestEntry]:
        """All resources in order, without bodies."""
        for row in self._rows(f"{MANIFEST} ORDER BY ordinal", (self.revision.revision_id,)):
            yield entry_of(row)

    def resource(self, resource_id: str) -> ManifestEntry | None:
        """One resource without its body; ``None`` if the revision has none of this id."""
        rows = self._rows(
            f"{MANIFEST} AND resource_id = ?", (self.revision.revision_id, resource_id)
        )
        return entry_of(rows[0]) if rows else None

    def body(self, resource_id: str) -> str | None:
        """The indexed body of a resource; ``None`` if the revision has none of this id."""
        rows = self._rows(
            "SELECT body, body_sha256 IS text_sha256(body) FROM search_resources"
            " WHERE revision_id = ? AND resource_id = ?",
            (self.revision.revision_id, resource_id),
        )
        body: str | None = rows[0][0] if rows and require(rows[0][1], resource_id) else None
        return body

    def document_frequencies(self, token_ids: Int32) -> Int32:
        """For each id, how many of the revision's units hold it."""
        if self._frequencies is None:
            self._frequencies = self._read_frequencies()
        known, counts = self._frequencies
        if not len(known):
            return np.zeros(len(token_ids), dtype=np.int32)
        at = np.minimum(np.searchsorted(known, token_ids), len(known) - 1)
        return np.where(known[at] == token_ids, counts[at], 0).astype(np.int32)

    def _read_frequencies(self) -> tuple[Int32, Int32]:
        rows = self._rows(
            "SELECT document_frequencies FROM search_revisions WHERE revision_id = ?",
            (self.revision.revision_id,),
        )
        blob = self._expected(unsigned(rows[0][0]) if rows else None, "its token counts")
        both = np.frombuffer(blob, dtype="<i4").reshape(2, -1)
        return both[0], both[1]

    def stored_token_vectors(self, passages: Sequence[PassageInput]) -> list[Float32 | None]:
        """float32 [T, D] for each passage whose token vectors were kept; else ``None``."""
        hashes = [input_hash(passage) for passage in passages]
        found = stored_token_vectors(
            self._storage.token_vectors, self.revision.embedding_revision, hashes
        )
        return [found.get(each) for each in hashes]

    def _expected(self, value: Any, what: str) -> Any:
        if value is None:
            raise index_damaged(f"revision {self.revision.revision_id} lacks {what}")
        return value

    def _in_chunks(self, statement: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        distinct = list(dict.fromkeys(values))
        for start in range(0, len(distinct), _MOST_PARAMETERS):
            chunk = distinct[start : start + _MOST_PARAMETERS]
            marks = ", ".join("?" * len(chunk))
            yield from self._rows(statement.format(marks), (self.revision.revision_id, *chunk))

    def _rows(self, statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._faults():
            return self._connection.execute(statement, parameters).fetchall()

    def _faults(self) -> contextlib.AbstractContextManager[None]:
        return reading_faults(self._storage.database)


@contextlib.contextmanager
def open_head(
    storage: IndexStorage, interrupt_check: Callable[[], bool] | None = None
) -> Iterator[RevisionReader]:
    """Open the head's revision; ``interrupt_check`` is asked while SQLite works.

    Raises ``NotReady`` ``index_not_ready``, ``index_preparing``,
    ``index_build_failed``, ``index_damaged``; ``Failure`` ``store_too_new``.
    """
    if not storage.database.exists():
        raise nothing_ready(storage, [])
    with reading_faults(storage.database):
        connection = open_to_read(storage.database)
    with contextlib.closing(connection):
        with reading_faults(storage.database):
            check_version(connection)
            if interrupt_check is not None:
                stop = called_by_sqlite(lambda: interrupt_check())
                connection.set_progress_handler(stop, _STEPS_BETWEEN_CHECKS)
            connection.execute("BEGIN")
            revision = _head_revision(connection, storage)
            check = interrupt_check or (lambda: False)
            reader = RevisionReader(connection, storage, revision, check)
        yield reader


def _head_revision(connection: sqlite3.Connection, storage: IndexStorage) -> RevisionInfo:
    head = read_head(connection).head
    if head is None:
        raise nothing_ready(storage, all_revisions(connection))
    revision = find_revision(connection, head)
    if revision is None or revision.status != READY:
        raise index_damaged(f"the head names revision {head}, which is not ready")
    return revision
