"""Token vectors at 4 bits a number and one scale a token: what late interaction compares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memcli.index.embedding import Float32

Codes = npt.NDArray[np.uint8]

LARGEST_CODE = 7
_BIAS = 8


def encode_token_vectors(vectors: Float32) -> tuple[Codes, Float32]:
    """float32 [T, D] → uint8 [T, ceil(D / 2)] and float32 [T].

    A number is a code in -7..7 times its token's scale. Codes are the numbers
    over a seventh of the row's largest, rounded; the scale gives the row its
    length back. Two codes a byte, plus 8, the first in the low half; an odd
    dimension is padded with a zero.
    """
    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.shape[1] % 2:
        vectors = np.pad(vectors, ((0, 0), (0, 1)))
    step = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True) / LARGEST_CODE
    codes = np.rint(np.divide(vectors, step, out=np.zeros_like(vectors), where=step > 0))
    lengths = np.linalg.norm(codes, axis=1)
    scales = np.divide(
        np.linalg.norm(vectors, axis=1), lengths, out=np.zeros_like(lengths), where=lengths > 0
    )
    biased = (codes + _BIAS).astype(np.uint8)
    return biased[:, 0::2] | (biased[:, 1::2] << 4), scales.astype(np.float32)


def decode_token_vectors(codes: Codes, scales: Float32, dimension: int | None = None) -> Float32:
    """uint8 [T, ceil(D / 2)] and float32 [T] → float32 [T, D]; ``dimension`` if D is odd."""
    codes = np.asarray(codes)
    vectors = np.empty((codes.shape[0], codes.shape[1] * 2), dtype=np.float32)
    vectors[:, 0::2] = codes & 0x0F
    vectors[:, 1::2] = codes >> 4
    vectors -= _BIAS
    vectors *= np.asarray(scales)[:, None]
    return vectors if dimension is None else vectors[:, :dimension]
