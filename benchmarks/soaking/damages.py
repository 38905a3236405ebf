"""The seeded ways in which a file is damaged: what a bad disk, a bad copy or a bad hand does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

PAGE = 4096
_MOST_DRAWS = 50


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else may come into a file's place: another file's content, or an older version."""

    foreign: bytes
    older: bytes | None = None


def flip_bit(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return _with(data, at, bytes([data[at] ^ 1 << random.randrange(8)]))


def flip_byte(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return _with(data, at, bytes([data[at] ^ random.randrange(1, 256)]))


def flip_run(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return _with(data, at, random.randbytes(min(random.randrange(2, 200), len(data) - at)))


def zero_page(data: bytes, random: Random) -> bytes:
    page = min(PAGE, max(1, len(data) // 4))
    at = random.randrange(-(-len(data) // page)) * page
    return _with(data, at, bytes(min(page, len(data) - at)))


def zero_range(data: bytes, random: Random) -> bytes:
    at = _place(data, random)
    return _with(data, at, bytes(min(random.randrange(1, 600), len(data) - at)))


def cut_byte(data: bytes, random: Random) -> bytes:
    return data[:-1]


def cut_page(data: bytes, random: Random) -> bytes:
    return data[: -min(PAGE, max(1, len(data) // 4))]


def cut_half(data: bytes, random: Random) -> bytes:
    return data[: len(data) // 2]


def cut_all(data: bytes, random: Random) -> bytes:
    return b""


def append_garbage(data: bytes, random: Random) -> bytes:
    return data + random.randbytes(random.choice((1, 100, PAGE)))


def overwrite_header(data: bytes, random: Random) -> bytes:
    return _with(data, 0, random.randbytes(min(random.choice((4, 16, 100)), len(data))))


def swap_pages(data: bytes, random: Random) -> bytes:
    page = min(PAGE, max(1, len(data) // 4))
    pages = [data[at : at + page] for at in range(0, len(data), page)]
    one, other = (random.randrange(len(pages)) for _ in range(2))
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


CHANGES: Mapping[str, Callable[[bytes, Random], bytes]] = {
    each.__name__: each
    for each in (
        flip_bit, flip_byte, flip_run, zero_page, zero_range, cut_byte, cut_page, cut_half,
        cut_all, append_garbage, overwrite_header, swap_pages,
    )
}  # fmt: skip
# A flipped byte is the damage that SQLite itself does not notice: it comes most often.
WAYS = (
    *("flip_bit", "flip_byte", "flip_run") * 3, *CHANGES, "zero_page", "zero_range", "swap_pages",
    "foreign_content", "older_version",
)  # fmt: skip


def damaged(way: str, data: bytes, around: Surroundings, random: Random) -> bytes:
    """``data`` after ``way``: always other bytes, unless there are no others to be had."""
    if way == "foreign_content":
        return around.foreign
    if way == "older_version":
        return data if around.older is None else around.older
    for _ in range(_MOST_DRAWS if data else 0):
        if (changed := CHANGES[way](data, random)) != data:
            return changed
    return data


def _place(data: bytes, random: Random) -> int:
    """A place in ``data``, three times in four one that holds something."""
    at = random.randrange(len(data))
    if random.random() < 0.25:
        return at
    return next((one for one in range(at, len(data)) if data[one]), at)


def _with(data: bytes, at: int, part: bytes) -> bytes:
    return data[:at] + part + data[at + len(part) :]
