"""A file of named arrays for memory mapping: written in one step, verified when read.

Layout: magic, length and CRC-32 of a JSON header, the header, then each array at
a multiple of 64 bytes. The header names the revision and for every array its type,
shape, offset and checksum.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from memcli.locations import replacing

MAGIC = b"memcli7\n"
_PREFIX = struct.Struct("<8sII")
_ALIGNMENT = 64
_BLOCK_WORDS = 512

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PackedArrays:
    """An open file: its arrays, memory-mapped, and their checksums by name."""

    arrays: Mapping[str, Array]
    sums: Mapping[str, int]

    def is_intact(self, name: str) -> bool:
        """Whether the array has the checksum it was written with; reads all of it."""
        return checksum(self.arrays[name]) == self.sums[name]


def checksum(array: Array) -> int:
    """CRC-32 over the sums of 4 KiB blocks, each taken as little-endian uint64 words.

    Nearly as fast as memory. Sums alone would not tell two blocks that changed places.
    """
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = len(flat) // (8 * _BLOCK_WORDS)
    words = flat[: whole * 8 * _BLOCK_WORDS].view("<u8").reshape(whole, _BLOCK_WORDS)
    sums = np.add.reduce(words, axis=1, dtype=np.uint64).astype("<u8")
    return zlib.crc32(flat[words.nbytes :].data, zlib.crc32(sums.data))


def write_arrays(path: Path, revision_id: str, arrays: Mapping[str, Array]) -> None:
    """Replace ``path``: a reader sees the old file or the new one, and only its owner may."""
    little = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    header = _header(revision_id, little)
    with replacing(path) as stream:
        stream.write(_PREFIX.pack(MAGIC, len(header), zlib.crc32(header)))
        stream.write(header)
        for array in little.values():
            stream.write(bytes(-stream.tell() % _ALIGNMENT))
            stream.write(array.reshape(-1).view(np.uint8).data)


def _header(revision_id: str, arrays: Mapping[str, Array]) -> bytes:
    described = [
        {"name": name, "type": array.dtype.str, "shape": array.shape, "sum": checksum(array)}
        for name, array in arrays.items()
    ]
    return orjson.dumps({"revision": revision_id, "arrays": described})


def read_arrays(path: Path, revision_id: str) -> PackedArrays | None:
    """Map the arrays of ``path``; ``None`` where it is absent, damaged or of another revision.

    Only the header is verified here, and that the file is long enough.
    """
    if not path.is_file():  # a pipe would be waited for
        return None
    try:
        with path.open("rb") as stream:
            header = _read_header(stream.read(_PREFIX.size), stream.read(1 << 16))
            size = os.fstat(stream.fileno()).st_size
            if header is None or header["revision"] != revision_id:
                return None
            start = _PREFIX.size + header["bytes"]
            arrays: dict[str, Array] = {}
            for each in header["arrays"]:
                start += -start % _ALIGNMENT
                kind, shape = np.dtype(each["type"]), tuple(each["shape"])
                length = kind.itemsize * int(np.prod(shape, dtype=np.int64))
                if start + length > size:
                    return None
                arrays[each["name"]] = (
                    np.memmap(stream, dtype=kind, mode="r", offset=start, shape=shape)
                    if length
                    else np.empty(shape, dtype=kind)
                )
                start += length
    except OSError:
        # Derived data that cannot be read is the same as absent: it is rebuilt.
        return None
    return PackedArrays(arrays, {each["name"]: each["sum"] for each in header["arrays"]})


def _read_header(prefix: bytes, rest: bytes) -> dict[str, Any] | None:
    if len(prefix) < _PREFIX.size:
        return None
    magic, length, checksum = _PREFIX.unpack(prefix)
    header = rest[:length]
    if magic != MAGIC or len(header) < length or zlib.crc32(header) != checksum:
        return None
    parsed: dict[str, Any] = orjson.loads(header)
    return parsed | {"bytes": length}
