"""Makes the lexicon of a revision, from its texts or from the lexicon of the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memcli.index.embedding import Int32
from memcli.index.fts import WEIGHTS, LexicalRow
from memcli.index.lexicon import Bytes, Int64, Lexicon
from memcli.index.packed_arrays import write_arrays
from memcli.index.storage import IndexStorage
from memcli.index.text_folding import PIECE, trigram_fold

_MOST_WEIGHT = np.iinfo(np.uint16).max
_MOST_BYTES = np.iinfo(np.int32).max
_SHORTEST_PHRASE = 3


@dataclass(frozen=True, slots=True)
class Postings:
    """Sorted by piece, then document; ``pieces`` index the vocabulary they belong to."""

    pieces: Int32
    documents: Int32
    weights: Int32


class _Vocabulary:
    """Numbers pieces in the order they are first seen."""

    def __init__(self, pieces: Sequence[str] = ()) -> None:
        self.number = {piece: at for at, piece in enumerate(pieces)}

    def of(self, piece: str) -> int:
        return self.number.setdefault(piece, len(self.number))


def lexicon_of(
    rowids: Int64, row_of: Callable[[int], LexicalRow], base: Lexicon | None
) -> Lexicon | None:
    """The lexicon of the units ``rowids``, in that order.

    What ``base`` holds of a rowid is taken from it, for rows of equal rowid are
    equal; ``row_of`` gives the others. ``None`` where a piece is repeated too
    often for its count to be stored: FTS5 answers then.
    """
    kept = _kept(rowids, base) if base is not None else np.full(len(rowids), -1)
    if base is None or not _is_ascending(kept[kept >= 0]):
        base, kept = None, np.full(len(rowids), -1)
    vocabulary = _Vocabulary(_pieces(base) if base else ())
    added = np.flatnonzero(kept < 0)
    rows = (row_of(int(rowids[at])) for at in added)
    new, new_lengths = _tokenised(rows, added.astype(np.int32), vocabulary)
    lengths = np.zeros(len(rowids), dtype=np.int32)
    lengths[added] = new_lengths
    if base is None:
        postings = new
    else:
        lengths[kept >= 0] = base.lengths[kept[kept >= 0]]
        postings = _merged(_carried(base, kept), new, len(rowids))
    if len(postings.weights) and postings.weights.max() > _MOST_WEIGHT:
        return None
    return _assembled(rowids, lengths, list(vocabulary.number), postings)


def write_lexicon(storage: IndexStorage, revision_id: str, lexicon: Lexicon) -> None:
    arrays = {name: getattr(lexicon, name) for name in Lexicon.__dataclass_fields__}
    write_arrays(storage.lexicon(revision_id), revision_id, arrays)


def _kept(rowids: Int64, base: Lexicon) -> Int64:
    """For each unit its ordinal in ``base``, or -1."""
    if not len(base.rowids):
        return np.full(len(rowids), -1)
    order = np.argsort(base.rowids)
    at = np.minimum(np.searchsorted(base.rowids, rowids, sorter=order), len(order) - 1)
    return np.where(base.rowids[order[at]] == rowids, order[at], -1)


def _is_ascending(ordinals: Int64) -> bool:
    return bool(np.all(np.diff(ordinals) > 0))


def _pieces(lexicon: Lexicon) -> list[str]:
    return lexicon.vocabulary.tobytes().decode().split("\n")[1:-1]


def _tokenised(
    rows: Iterable[LexicalRow], ordinals: Int32, vocabulary: _Vocabulary
) -> tuple[Postings, Int32]:
    pieces: list[Int32] = []
    weights: list[Int32] = []
    lengths: list[int] = []
    for row in rows:
        counts: Counter[str] = Counter()
        length = 0
        for column, weight in WEIGHTS.items():
            text = getattr(row, column)
            length += max(0, len(text) - 2)
            for piece, count in Counter(PIECE.findall(trigram_fold(text))).items():
                counts[piece] += weight * count
        long = {
            vocabulary.of(piece): count
            for piece, count in counts.items()
            if len(piece) >= _SHORTEST_PHRASE
        }
        pieces.append(np.fromiter(long.keys(), np.int32, len(long)))
        weights.append(np.fromiter(long.values(), np.int32, len(long)))
        lengths.append(length)
    documents = np.repeat(ordinals, [len(each) for each in pieces])
    return (
        _sorted(Postings(_joined(pieces), documents, _joined(weights))),
        np.array(lengths, dtype=np.int32),
    )


def _joined(arrays: list[Int32]) -> Int32:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int32)


def _sorted(postings: Postings) -> Postings:
    # Stable, and documents come in ascending order.
    order = np.argsort(postings.pieces, kind="stable")
    return Postings(postings.pieces[order], postings.documents[order], postings.weights[order])


def _carried(base: Lexicon, kept: Int64) -> Postings:
    """The postings of ``base`` under the new ordinals, without units that are gone."""
    now_at = np.full(len(base.rowids), -1, dtype=np.int32)
    now_at[kept[kept >= 0]] = np.flatnonzero(kept >= 0)
    documents = now_at[base.documents]
    stays = documents >= 0
    numbers = np.arange(len(base.starts), dtype=np.int32)
    pieces = np.repeat(numbers, np.diff(base.pointers))
    return Postings(pieces[stays], documents[stays], base.weights[stays].astype(np.int32))


def _merged(old: Postings, new: Postings, units: int) -> Postings:
    at = np.searchsorted(_places(old, units), _places(new, units))
    return Postings(
        np.insert(old.pieces, at, new.pieces),
        np.insert(old.documents, at, new.documents),
        np.insert(old.weights, at, new.weights),
    )


def _places(postings: Postings, units: int) -> Int64:
    places: Int64 = postings.pieces.astype(np.int64) * units + postings.documents
    return places


def _assembled(
    rowids: Int64, lengths: Int32, pieces: list[str], postings: Postings
) -> Lexicon | None:
    used = np.bincount(postings.pieces, minlength=len(pieces))
    in_use = [piece.encode() for piece, count in zip(pieces, used.tolist(), strict=True) if count]
    vocabulary = np.frombuffer(b"\n" + b"".join(each + b"\n" for each in in_use), dtype=np.uint8)
    if len(vocabulary) > _MOST_BYTES:
        return None
    sizes = np.fromiter((len(each) + 1 for each in in_use), np.int64, len(in_use))
    counts = used[used > 0]
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    keys, key_pointers, positions = _three_byte_index(vocabulary)
    return Lexicon(
        rowids=rowids,
        lengths=lengths,
        vocabulary=vocabulary,
        starts=(1 + np.cumsum(sizes) - sizes).astype(np.int32),
        keys=keys,
        key_pointers=key_pointers,
        positions=positions,
        pointers=pointers,
        documents=postings.documents.astype(np.int32),
        weights=postings.weights.astype(np.uint16),
        posting_sums=_posting_sums(postings, pointers),
    )


def _posting_sums(postings: Postings, pointers: Int64) -> npt.NDArray[np.uint64]:
    """As ``lexicon.posting_sum``, for each piece: none is empty, so no sum is either."""
    if len(pointers) == 1:
        return np.empty(0, dtype=np.uint64)
    weights = postings.weights.astype(np.int64)
    terms = postings.documents.astype(np.int64) * (weights + 65_599) + weights
    return np.add.reduceat(terms, pointers[:-1]).astype(np.uint64)


def _three_byte_index(vocabulary: Bytes) -> tuple[npt.NDArray[np.uint32], Int64, Int32]:
    wide = vocabulary.astype(np.uint32)
    three = (wide[:-2] << 16) | (wide[1:-1] << 8) | wide[2:]
    newline = vocabulary == ord("\n")
    inside = np.flatnonzero(~(newline[:-2] | newline[1:-1] | newline[2:]))
    order = inside[np.argsort(three[inside], kind="stable")]
    keys, counts = np.unique(three[order], return_counts=True)
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return keys, pointers, order.astype(np.int32)
