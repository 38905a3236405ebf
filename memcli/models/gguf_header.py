"""Read a GGUF file's header: enough to refuse a wrong or truncated file before llama.cpp sees it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3).
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memcli.errors import NotReady

MAGIC = b"GGUF"
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f",
    7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_ENTRIES = 1_000_000
# Arrays (vocabularies) are stepped over; only short ones are kept.
_LONGEST_KEPT_ARRAY = 64


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Metadata (long arrays left out), tensor names, and the least size the file must have."""

    metadata: dict[str, Any]
    tensors: frozenset[str]
    least_size: int
    size: int

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    @property
    def pooling(self) -> int | None:
        """``<architecture>.pooling_type``: 0 none, 1 mean, 2 first, 3 last, 4 rank."""
        value = self.metadata.get(f"{self.architecture}.pooling_type")
        return value if isinstance(value, int) else None

    @property
    def has_classification_head(self) -> bool:
        return bool(self.tensors & {"cls.weight", "cls.output.weight"})

    @property
    def is_truncated(self) -> bool:
        return self.size < self.least_size


class _Cursor:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def scalar(self, form: str) -> Any:
        value = struct.unpack_from(form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def string(self) -> str:
        length = self.scalar("<Q")
        end = self.at + length
        if end > len(self.data):
            raise struct.error("a string runs past the end")
        text = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end
        return text

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self.array()
        return self.scalar(_SCALARS[kind])

    def array(self) -> list[Any] | None:
        kind, length = self.scalar("<I"), self.scalar("<Q")
        if kind in _SCALARS and length > _LONGEST_KEPT_ARRAY:
            self.at += length * struct.calcsize(_SCALARS[kind])
            if self.at > len(self.data):
                raise struct.error("an array runs past the end")
            return None
        if length > 64 * _MOST_ENTRIES:
            raise struct.error("an array is too long")
        if kind == _STRING and length > _LONGEST_KEPT_ARRAY:
            data, at, size = self.data, self.at, len(self.data)
            for _ in range(length):
                at += 8 + int.from_bytes(data[at : at + 8], "little")
                if at > size:
                    raise struct.error("a string runs past the end")
            self.at = at
            return None
        return [self.value(kind) for _ in range(length)]


def read_header(path: Path) -> GgufHeader:
    """Parse the header. Raises ``NotReady``: ``model_not_ready`` (no such file, unreadable)
    or ``model_unsuitable`` (not GGUF, or the header itself is cut or garbled)."""
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            if size < 24:
                raise _unsuitable(path, "is no GGUF file (it is too short)")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _parse(path, data, size)
    except OSError as error:
        raise NotReady(
            "model_not_ready",
            f"model file {path} cannot be read: {error.strerror or error}",
            "Check the path, or choose another model with --embedder or --reranker.",
        ) from error


def _parse(path: Path, data: mmap.mmap, size: int) -> GgufHeader:
    if data[:4] != MAGIC:
        raise _unsuitable(path, "is no GGUF file (wrong first bytes)")
    cursor = _Cursor(data)
    cursor.at = 4
    try:
        version, tensor_count, entry_count = (
            cursor.scalar("<I"), cursor.scalar("<Q"), cursor.scalar("<Q"),
        )  # fmt: skip
        if version not in (2, 3):
            raise _unsuitable(path, f"has GGUF version {version}; 2 and 3 are known")
        if tensor_count > _MOST_ENTRIES or entry_count > _MOST_ENTRIES:
            raise struct.error("impossible counts")
        metadata = {}
        for _ in range(entry_count):
            key = cursor.string()
            metadata[key] = cursor.value(cursor.scalar("<I"))
        names, furthest = set(), 0
        for _ in range(tensor_count):
            names.add(cursor.string())
            dimensions = cursor.scalar("<I")
            cursor.at += 8 * dimensions + 4
            furthest = max(furthest, cursor.scalar("<Q"))
    except (struct.error, KeyError, RecursionError, OverflowError, MemoryError) as error:
        raise _unsuitable(path, f"has a damaged GGUF header ({error})") from error
    alignment = metadata.get("general.alignment", 32)
    alignment = alignment if isinstance(alignment, int) and alignment > 0 else 32
    start = -(-cursor.at // alignment) * alignment
    return GgufHeader(metadata, frozenset(names), start + furthest + 1, size)


def _unsuitable(path: Path, what: str) -> NotReady:
    return NotReady(
        "model_unsuitable",
        f"model file {path.name} {what}",
        "Download or copy the file again, or choose another model.",
    )
