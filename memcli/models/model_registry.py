"""Well-known GGUF models that ``models pull`` can fetch, and how each of them must be fed.

Pooling, prefixes and licences are those of the model cards. A size or digest
stands here only where independent publications of it agree; elsewhere it is
absent and shown as unknown, never guessed. ``url`` names a fixed commit where
one is known, so that the file behind it cannot change.
"""

from __future__ import annotations

from dataclasses import dataclass

from memcli.errors import InvalidInput
from memcli.models.profile import PairForm, Pooling, Role

_HUB = "https://huggingface.co/"
# BGE and mxbai give only the query an instruction.
_PASSAGE_SEARCH = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One model that can be pulled; ``size`` in bytes, ``sha256`` lower-case hex, or unknown."""

    name: str
    role: Role
    url: str
    licence: str
    about: str
    pooling: Pooling
    size: int | None = None
    sha256: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    pair_form: PairForm = "file"

    @property
    def file_name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


REGISTRY: tuple[RegistryEntry, ...] = (
    RegistryEntry(
        name="bge-small-en-v1.5",
        role="embed",
        url=f"{_HUB}CompendiumLabs/bge-small-en-v1.5-gguf/resolve/"
        "d32f8c040ea3b516330eeb75b72bcc2d3a780ab7/bge-small-en-v1.5-q8_0.gguf",
        licence="MIT",
        about="English, 33M parameters, 384 dimensions",
        pooling="cls",
        size=36_806_944,
        sha256="ec38e8da142596baa913124ae50550de284b6916bf59577ef2f0cb9660c2f514",
        query_prefix=_PASSAGE_SEARCH,
    ),
    RegistryEntry(
        name="nomic-embed-text-v1.5",
        role="embed",
        url=f"{_HUB}nomic-ai/nomic-embed-text-v1.5-GGUF/resolve/"
        "0188c9bf409793f810680a5a431e7b899c46104c/nomic-embed-text-v1.5.Q8_0.gguf",
        licence="Apache-2.0",
        about="English, 137M parameters, 768 dimensions",
        pooling="mean",
        size=146_146_432,
        sha256="3e24342164b3d94991ba9692fdc0dd08e3fd7362e0aacc396a9a5c54a544c3b7",
        query_prefix="search_query: ",
        passage_prefix="search_document: ",
    ),
    RegistryEntry(
        name="mxbai-embed-large-v1",
        role="embed",
        url=f"{_HUB}mixedbread-ai/mxbai-embed-large-v1/resolve/main/gguf/"
        "mxbai-embed-large-v1-f16.gguf",
        licence="Apache-2.0",
        about="English, 335M parameters, 1024 dimensions",
        pooling="cls",
        query_prefix=_PASSAGE_SEARCH,
    ),
    RegistryEntry(
        name="bge-m3",
        role="embed",
        url=f"{_HUB}ggml-org/bge-m3-Q8_0-GGUF/resolve/"
        "9eba04c5d75ba5a1595e45de734d36bef4e5cb98/bge-m3-q8_0.gguf",
        licence="MIT",
        about="more than 100 languages, 568M parameters, 1024 dimensions",
        pooling="cls",
        size=634_553_760,
        sha256="aa473d51f451a22f0fcf39ba3330c14bed38a385712b1113440f69df4047a173",
    ),
    RegistryEntry(
        name="jina-reranker-v1-tiny-en",
        role="rerank",
        url=f"{_HUB}gpustack/jina-reranker-v1-tiny-en-GGUF/resolve/"
        "34fdafe5a08b64246bcbfdbf0b8a23f818baf8e3/jina-reranker-v1-tiny-en-Q8_0.gguf",
        licence="Apache-2.0",
        about="English, 33M parameters",
        pooling="rank",
        sha256="0defc1f8a1f4dd22183124a2a25a97765603e5a9e42258046c9b2c8a26d1f553",
        pair_form="double_separator",
    ),
    RegistryEntry(
        name="jina-reranker-v2-base-multilingual",
        role="rerank",
        url=f"{_HUB}gpustack/jina-reranker-v2-base-multilingual-GGUF/resolve/main/"
        "jina-reranker-v2-base-multilingual-Q8_0.gguf",
        licence="CC-BY-NC-4.0",
        about="multilingual, 278M parameters, not for commercial use",
        pooling="rank",
        pair_form="double_separator",
    ),
    RegistryEntry(
        name="bge-reranker-v2-m3",
        role="rerank",
        url=f"{_HUB}gpustack/bge-reranker-v2-m3-GGUF/resolve/"
        "3093af03b1a635e67b084b1d8c03c5f5e020fd05/bge-reranker-v2-m3-Q8_0.gguf",
        licence="Apache-2.0",
        about="multilingual, 568M parameters",
        pooling="rank",
        size=635_676_416,
        sha256="a43c7c9b11a4c1517e5bf95151960e1621d1b72f7a493364b01e386cf1aaa1d3",
        pair_form="double_separator",
    ),
    RegistryEntry(
        name="qwen3-reranker-0.6b",
        role="rerank",
        url=f"{_HUB}ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/resolve/"
        "a02f48bb4f057028298c21fa033da2b30d7742d5/qwen3-reranker-0.6b-q8_0.gguf",
        licence="Apache-2.0",
        about="multilingual, 596M parameters, slow without a GPU",
        pooling="rank",
        size=639_153_184,
        sha256="22c9979ce4fbcdc5acdc310c6641c32797eff1aa980b8f7a2db8a8ea23429a48",
    ),
)


def find_entry(name: str) -> RegistryEntry:
    """The entry called ``name``. Raises ``InvalidInput`` ``model_unknown`` with near names."""
    for entry in REGISTRY:
        if entry.name == name:
            return entry
    raise unknown_model(name, [entry.name for entry in REGISTRY], "that can be pulled")


def unknown_model(name: str, choices: list[str], what: str = "") -> InvalidInput:
    """The error for a name that nothing has, with the nearest ones."""
    import difflib

    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return InvalidInput(
        "model_unknown",
        " ".join(f"there is no model called {name!r} {what}".split()),
        f"Did you mean: {', '.join(near)}?" if near else "See `memcli models list`.",
    )
