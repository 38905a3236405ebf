"""A file of named arrays for memory mapping: written in one step, verified when read.

Layout: magic, length and CRC-32 of a JSON header, the header, then each array at
a multiple of 64 bytes. The header names the revision and for every array its type,
shape, offset and the sum of its bytes taken as little-endian uint64 words.
"""

from __future__ import annotations

import os
import secrets
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from memcli.locations import FILE_MODE, sync_directory

MAGIC = b"memcli7\n"
_PREFIX = struct.Struct("<8sII")
_ALIGNMENT = 64

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PackedArrays:
    """An open file: its arrays, memory-mapped, and their checksums by name."""

    arrays: Mapping[str, Array]
    sums: Mapping[str, int]

    def is_intact(self, name: str) -> bool:
        """Whether the array has the checksum it was written with; reads all of it."""
        return word_sum(self.arrays[name]) == self.sums[name]


def word_sum(array: Array) -> int:
    """Sum modulo 2^64 of the bytes as uint64 words, the last one padded with zeros."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = len(flat) // 8 * 8
    total = int(np.add.reduce(flat[:whole].view("<u8"), dtype=np.uint64)) if whole else 0
    rest = int.from_bytes(flat[whole:].tobytes(), "little")
    return (total + rest) % 2**64


def write_arrays(path: Path, revision_id: str, arrays: Mapping[str, Array]) -> None:
    """Replace ``path``: a reader sees the old file or the new one, and only its owner may."""
    little = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    header = _header(revision_id, little)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            temporary.chmod(FILE_MODE)
            stream.write(_PREFIX.pack(MAGIC, len(header), zlib.crc32(header)))
            stream.write(header)
            for array in little.values():
                stream.write(bytes(-stream.tell() % _ALIGNMENT))
                stream.write(array.reshape(-1).view(np.uint8).data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def _header(revision_id: str, arrays: Mapping[str, Array]) -> bytes:
    described = [
        {"name": name, "type": array.dtype.str, "shape": array.shape, "sum": word_sum(array)}
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
