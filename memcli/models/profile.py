"""A model's profile: its file, its role, how it must be fed, and what its scores mean."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memcli.errors import InvalidInput, NotReady

Role = Literal["embed", "rerank"]
Pooling = Literal["mean", "cls", "last", "rank", "file"]
PairForm = Literal["single_separator", "double_separator", "file"]

DATA_DIRECTORY = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Relevance:
    """Calibration of a raw score: relevance = 1 / (1 + exp(-(score - middle(n)) / width)).

    Applied exactly once. ``floor`` is the relevance below which a candidate is
    not returned. With ``middle`` 0 and ``width`` 1 it is the logistic of a logit.

    A score that is a mean over the query's tokens falls with the query's length,
    for a long question says much that no single passage does. So
    middle(n) = middle - min(length_cap, length_slope * ln(n / length_free)) for
    n > ``length_free`` words; a slope of 0 leaves the length out. Words, not
    tokens: a hash of 64 digits has many tokens and asks nothing.
    """

    middle: float
    width: float
    floor: float
    length_slope: float = 0.0
    length_free: int = 6
    length_cap: float = 0.0

    def of(self, score: float, query_words: int) -> float:
        """The relevance, 0 to 1, of a raw score for a query of so many words.

        To a query without a word (``...``) nothing is relevant.
        """
        if query_words == 0:
            return 0.0
        longer = math.log(max(query_words, self.length_free) / self.length_free)
        middle = self.middle - min(self.length_cap, self.length_slope * longer)
        exponent = -(score - middle) / self.width
        return 1.0 / (1.0 + math.exp(min(exponent, 700.0)))


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """How llama.cpp is to run one GGUF file.

    ``max_tokens`` counts the whole input, special tokens included; 0 leaves it,
    as ``file`` leaves pooling and pair form, to the file's own metadata.
    ``sha256`` is empty only for a file named by its path, until it has been read.
    ``late_interaction`` calibrates the built-in reranker over this embedder.
    """

    name: str
    role: Role
    file: Path
    sha256: str
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""
    pair_form: PairForm = "file"
    max_tokens: int = 0
    relevance: Relevance = Relevance(0.0, 1.0, 0.0)
    late_interaction: Relevance | None = None
    bundled: bool = False

    def description(self) -> Mapping[str, Any]:
        """What a recipe and a Run record: everything that shapes outputs, no path."""
        fed: dict[str, Any] = {
            "profile": self.name,
            "sha256": self.sha256,
            "role": self.role,
            "pooling": self.pooling,
            "max_tokens": self.max_tokens,
        }
        if self.role == "embed":
            return fed | {"query_prefix": self.query_prefix, "passage_prefix": self.passage_prefix}
        return fed | {"pair_form": self.pair_form}


# Calibrated over developers' questions and questions on other topics;
# benchmarks/calibrate_floor.py prints the curve that these numbers were read from.
BUNDLED_LATE_INTERACTION = Relevance(
    middle=0.8175, width=0.018, floor=0.5, length_slope=0.05, length_free=6, length_cap=0.04
)

BUNDLED_EMBEDDER = ModelProfile(
    name="bundled",
    role="embed",
    file=DATA_DIRECTORY / "memcli-embed-e5-small-q4_0.gguf",
    sha256="45bb189808413b047ca8233273d8357268d12b766415454f89a5c438d2584b1d",
    pooling="mean",
    query_prefix="query: ",
    passage_prefix="passage: ",
    max_tokens=512,
    late_interaction=BUNDLED_LATE_INTERACTION,
    bundled=True,
)

LATE_INTERACTION = "late_interaction"


def find_embedder(name: str, known: Mapping[str, ModelProfile]) -> ModelProfile:
    """The profile called ``name``: bundled, one of ``known``, or a ``.gguf`` path."""
    return _find(name, "embed", {BUNDLED_EMBEDDER.name: BUNDLED_EMBEDDER, **known})


def find_reranker(name: str, known: Mapping[str, ModelProfile]) -> ModelProfile | None:
    """The cross-encoder called ``name``; ``None`` for the built-in late interaction."""
    return None if name == LATE_INTERACTION else _find(name, "rerank", known)


def _find(name: str, role: Role, profiles: Mapping[str, ModelProfile]) -> ModelProfile:
    if name in profiles:
        found = profiles[name]
        if found.role != role:
            raise InvalidInput(
                "configuration_invalid",
                f"model {name!r} has the role {found.role}, not {role}",
                "Choose a model of the right role.",
            )
        return found
    if name.lower().endswith(".gguf"):
        file = Path(name).expanduser().absolute()
        return ModelProfile(
            name=file.stem,
            role=role,
            file=file,
            sha256="",
            pooling="rank" if role == "rerank" else "file",
        )
    choices = sorted(each for each, profile in profiles.items() if profile.role == role)
    extra = [LATE_INTERACTION] if role == "rerank" else []
    raise NotReady(
        "model_not_ready",
        f"there is no {'embedder' if role == 'embed' else 'reranker'} called {name!r}",
        f"Known: {', '.join(extra + choices)}; or give the path of a .gguf file.",
    )


def verified(profile: ModelProfile) -> ModelProfile:
    """The profile with its file's digest, which must be the one it names.

    Reads the whole file: 25 ms for the bundled one, and the only way to know
    that the weights are those the vectors were made with. Raises ``NotReady``
    ``model_unsuitable`` on another digest, ``model_not_ready`` without the file.
    """
    try:
        digest = file_digest(profile.file)
    except OSError as error:
        raise NotReady(
            "model_not_ready",
            f"model {profile.name}: {profile.file} cannot be read: {error.strerror or error}",
            "Reinstall memcli for the bundled model; otherwise check the path.",
        ) from error
    if profile.sha256 and digest != profile.sha256:
        raise NotReady(
            "model_unsuitable",
            f"model {profile.name}: {profile.file.name} is damaged or another file "
            f"(SHA-256 {digest[:12]}..., expected {profile.sha256[:12]}...)",
            "Reinstall memcli for the bundled model; otherwise add the file again.",
        )
    return replace(profile, sha256=digest)


def file_digest(file: Path) -> str:
    """Lower-case hex SHA-256 of a whole file; raises ``OSError``."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
