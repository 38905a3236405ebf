"""BM25 from a derived inverted index: the numbers of FTS5's ``bm25()``, several times as fast.

FTS5 evaluates each trigram phrase twice and scores row by row, which takes about
3 microseconds a matching row, and nearly every row matches an English question.
Here a text is cut into pieces (runs of the characters that terms are made of). A
term cannot reach over the edge of a piece, so its occurrences in a unit are those
in the unit's pieces: find the pieces that contain the term, add up their postings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from memcli.index.embedding import Int32
from memcli.index.packed_arrays import read_arrays
from memcli.index.storage import IndexStorage
from memcli.index.text_folding import PIECE, trigram_fold

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

K1, B = 1.2, 0.75
"""FTS5's constants."""

_POSTINGS = ("documents", "weights")
_LEAST_IDF = 1e-6
_LONG_LIST = 4096
_MATCH = re.compile(r'"(?:[^"]|"")*"(?: OR "(?:[^"]|"")*")*')
_PHRASE = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True)
class Lexicon:
    """The inverted index of one revision, by unit ordinal.

    ``rowids`` int64 [N]; ``lengths`` int32 [N], trigrams of the four columns;
    ``vocabulary`` uint8, the folded pieces in UTF-8 between line feeds;
    ``starts`` int32 [V], where each begins; ``keys`` uint32 [K], the three-byte
    sequences of the vocabulary in order; ``key_pointers`` int64 [K + 1] into
    ``positions`` int32, where each occurs; ``pointers`` int64 [V + 1] into the
    postings ``documents`` int32 (ascending ordinals) and ``weights`` uint16 (the
    piece's count in each column times the column's weight); ``posting_sums``
    uint64 [V], by which the postings that a query reads are verified.
    """

    rowids: Int64
    lengths: Int32
    vocabulary: Bytes
    starts: Int32
    keys: npt.NDArray[np.uint32]
    key_pointers: Int64
    positions: Int32
    pointers: Int64
    documents: Int32
    weights: npt.NDArray[np.uint16]
    posting_sums: npt.NDArray[np.uint64]

    def scores(
        self, phrases: Sequence[str], check: Callable[[], None] = lambda: None
    ) -> Float64 | None:
        """float64 [N], 0 where nothing matches; ``None`` where FTS5 must answer.

        That is when a phrase has a character that pieces are not made of or
        less than three of them, or the postings are damaged.
        score = sum over phrases of idf * f (k1 + 1) / (f + k1 (1 - b + b D / avg D)),
        f weighted by column, idf = ln((N - n + 0.5) / (n + 0.5)) or 1e-6 if less,
        as in fts5_aux.c and in its order of operations. ``check`` is called
        before each phrase, and may raise to stop.
        """
        folded = [trigram_fold(phrase) for phrase in phrases]
        if not all(len(phrase) >= 3 and PIECE.fullmatch(phrase) for phrase in folded):
            return None
        total = np.zeros(len(self.rowids))
        for phrase in folded:
            check()
            frequencies = self._frequencies(phrase.encode())
            if frequencies is None:
                return None
            found = int(np.count_nonzero(frequencies))
            if found:
                idf = math.log((len(total) - found + 0.5) / (found + 0.5))
                saturated = frequencies * (K1 + 1.0) / (frequencies + self._length_norms)
                total += (idf if idf > 0 else _LEAST_IDF) * saturated
        return total

    @cached_property
    def _length_norms(self) -> Float64:
        lengths = self.lengths.astype(np.float64)
        norms: Float64 = K1 * (1 - B + B * lengths / (lengths.sum() / len(lengths)))
        return norms

    def _frequencies(self, term: bytes) -> Float64 | None:
        """float64 [N]: occurrences of ``term``, weighted by column; ``None`` if damaged."""
        pieces, times = self._pieces_with(term)
        counts = self.pointers[pieces + 1] - self.pointers[pieces]
        frequencies = np.zeros(len(self.rowids))
        found_sum = 0
        long = counts >= _LONG_LIST
        for piece, factor in zip(pieces[long].tolist(), times[long].tolist(), strict=True):
            at = slice(self.pointers[piece], self.pointers[piece + 1])
            documents, weights = self.documents[at], self.weights[at]
            found_sum += posting_sum(documents, weights)
            if not self._are_ordinals(documents):
                return None
            # Within one piece no document comes twice, so plain indexing adds right.
            frequencies[documents] += weights * np.float64(factor)
        pieces_short, counts_short = pieces[~long], counts[~long]
        if len(pieces_short):
            at_each = _ranges(self.pointers[pieces_short], counts_short)
            documents, weights = self.documents[at_each], self.weights[at_each]
            found_sum += posting_sum(documents, weights)
            if not self._are_ordinals(documents):
                return None
            factors = np.repeat(times[~long], counts_short)
            frequencies += np.bincount(documents, weights * factors, len(frequencies))
        expected = int(self.posting_sums[pieces].sum(dtype=np.uint64))
        return frequencies if found_sum % 2**64 == expected else None

    def _are_ordinals(self, documents: Int32) -> bool:
        return not len(documents) or (documents.min() >= 0 and documents.max() < len(self.rowids))

    def _pieces_with(self, term: bytes) -> tuple[Int64, Int64]:
        """Pieces that contain ``term``, ascending, and how often (overlaps count) each does."""
        spots = [self._spots(term[at : at + 3]) for at in range(len(term) - 2)]
        rarest = min(range(len(spots)), key=lambda at: len(spots[at]))
        found = spots[rarest].astype(np.int64) - rarest
        found = found[(found >= 0) & (found + len(term) <= len(self.vocabulary))]
        for at, byte in enumerate(term):
            found = found[self.vocabulary[found + at] == byte]
        pieces = np.searchsorted(self.starts, found, "right") - 1
        distinct, times = np.unique(pieces, return_counts=True)
        return distinct.astype(np.int64), times.astype(np.int64)

    def _spots(self, three: bytes) -> Int32:
        key = np.uint32(int.from_bytes(three, "big"))
        at = int(np.searchsorted(self.keys, key))
        if at == len(self.keys) or self.keys[at] != key:
            return self.positions[:0]
        return self.positions[self.key_pointers[at] : self.key_pointers[at + 1]]


def posting_sum(documents: Int32, weights: npt.NDArray[np.integer[Any]]) -> int:
    """What is stored of a piece's postings to verify them; additive over pieces.

    The product tells too that each document has its own weight still.
    """
    factors = weights.astype(np.int64) + 65_599
    return int(np.dot(documents.astype(np.int64), factors)) + int(weights.sum(dtype=np.int64))


def _ranges(starts: Int64, counts: Int64) -> Int64:
    """The numbers of all ranges [start, start + count), one after the other."""
    before = np.cumsum(counts) - counts
    ranges: Int64 = np.repeat(starts - before, counts) + np.arange(counts.sum())
    return ranges


def quoted_phrases(match: str) -> list[str] | None:
    """The phrases of an FTS5 expression that is quoted phrases joined by OR; else ``None``."""
    if not _MATCH.fullmatch(match):
        return None
    return [phrase.replace('""', '"') for phrase in _PHRASE.findall(match)]


def best_ordinals(scores: Float64, limit: int) -> Int64:
    """Ordinals of the ``limit`` best scores above 0, best first, equal scores by ordinal."""
    found = np.flatnonzero(scores)
    if len(found) > limit:
        least = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= least]
    return found[np.lexsort((found, -scores[found]))][:limit]


def read_lexicon(
    storage: IndexStorage, revision_id: str, unit_count: int, *, all_of_it: bool = False
) -> Lexicon | None:
    """Map a revision's lexicon; ``None`` where the file is absent or damaged.

    The postings, most of it, are verified here only with ``all_of_it``: a query
    verifies those that it reads.
    """
    packed = read_arrays(storage.lexicon(revision_id), revision_id)
    if packed is None or set(packed.arrays) != set(Lexicon.__dataclass_fields__):
        return None
    if packed.arrays["rowids"].shape != (unit_count,):
        return None
    verified = [name for name in packed.arrays if all_of_it or name not in _POSTINGS]
    if not all(packed.is_intact(name) for name in verified):
        return None
    # A plain array over the mapping: memmap's subclass costs on every operation.
    return Lexicon(**{name: np.asarray(array) for name, array in packed.arrays.items()})
