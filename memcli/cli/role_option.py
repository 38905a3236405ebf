"""The two jobs of a model, as the values of an option."""

from __future__ import annotations

from enum import Enum


class Role(str, Enum):
    """What a model is for."""

    EMBED = "embed"
    RERANK = "rerank"
