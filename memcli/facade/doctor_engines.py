"""What ``doctor`` finds about Python, SQLite, llama.cpp and the models."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from memcli import __version__
from memcli.errors import MemcliError
from memcli.facade.findings import BROKEN, OK, WARN, Finding
from memcli.index.inspection import trigram_fault

if TYPE_CHECKING:
    from memcli.facade.workspace import Memcli
    from memcli.index.revisions import RevisionInfo

REINSTALL_NATIVE = (
    "python -m pip install --force-reinstall --no-cache-dir --no-binary=:all: --no-deps"
    " llama-cpp-python"
)
GPU_BUILD = (
    "CMAKE_ARGS=-DGGML_CUDA=on python -m pip install --force-reinstall --no-cache-dir --no-deps"
    " llama-cpp-python"
)


def engine_findings() -> Iterator[Finding]:
    """Versions and abilities, tried and not looked up."""
    yield Finding(
        "program",
        "memcli",
        OK,
        f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}",
    )
    fault = trigram_fault()
    if fault is None:
        yield Finding(
            "program", "sqlite", OK, f"{sqlite3.sqlite_version} with FTS5 and its trigram tokenizer"
        )
    else:
        yield Finding(
            "program",
            "sqlite",
            BROKEN,
            f"{sqlite3.sqlite_version} has no usable FTS5 trigram tokenizer: {fault}",
            "Install memcli under a Python whose SQLite is 3.34 or newer and has FTS5.",
        )
    yield _native_finding()


def _native_finding() -> Finding:
    try:
        from memcli.models.native_library import native, system_information

        features = _features(system_information())
        offload = bool(native().llama_supports_gpu_offload())
    # A library that does not load fails in as many ways as there are linkers.
    except Exception as fault:
        message = f"it cannot be loaded: {fault}"
        return Finding("program", "llama.cpp", BROKEN, message, REINSTALL_NATIVE)
    gpu = "with GPU offload" if offload else "for the CPU only"
    build = f"llama-cpp-python {version('llama-cpp-python')}, built {gpu} ({features})"
    return Finding("program", "llama.cpp", OK, build)


def _features(line: str) -> str:
    """The processor features that are switched on, from llama.cpp's own line."""
    parts = (part.strip() for part in line.replace(":", "|").split("|"))
    switched_on = [part.partition(" =")[0] for part in parts if part.endswith("= 1")]
    return ", ".join(switched_on) or "no processor features"


def model_findings(memcli: Memcli, heads: Sequence[RevisionInfo]) -> Iterator[Finding]:
    """The device, then every model that a query or a build would use, loaded for real.

    ``heads`` holds the index's head, where it has one.
    """
    from memcli.models.profile import BUNDLED_EMBEDDER, verified

    configuration = memcli.configuration
    try:
        device = memcli.shelf.device
    except MemcliError as error:
        yield Finding("models", "device", BROKEN, error.message, GPU_BUILD)
        return
    asked = f"gpu = {configuration.gpu}, {configuration.origin('models.gpu')}"
    yield Finding("models", "device", OK, f"{device.name}, {device.threads} threads ({asked})")
    try:
        digest = verified(BUNDLED_EMBEDDER).sha256
        yield Finding("models", "bundled", OK, f"SHA-256 {digest}, as released")
    except MemcliError as error:
        repair = "python -m pip install --force-reinstall --no-deps memcli"
        yield Finding("models", "bundled", BROKEN, error.message, repair)
    yield from _configured(memcli)
    yield from _profiles(memcli)
    for head in heads:
        yield from _head_embedder(memcli, head)


def _profiles(memcli: Memcli) -> Iterator[Finding]:
    """The user's own profiles, used here or not; `models verify` proves them one by one."""
    for name, error in memcli.broken_profiles.items():
        repair = error.hint or f"memcli models add {name} FILE.gguf"
        yield Finding("models", f"profile {name}", WARN, error.message, repair)
    for name, stored in memcli.profile_store.load().profiles.items():
        file = stored.profile.file
        if stored.is_in_place:
            yield Finding("models", f"profile {name}", OK, f"{stored.profile.role}, {file}")
        else:
            message = f"{file} is not the file that was added"
            yield Finding(
                "models", f"profile {name}", WARN, message, f"memcli models verify {name}"
            )


def _configured(memcli: Memcli) -> Iterator[Finding]:
    configuration = memcli.configuration
    try:
        embedder = memcli.shelf.configured_embedder()
    except MemcliError as error:
        yield Finding("models", "embedder", BROKEN, error.message, error.hint)
        return
    yield Finding(
        "models",
        "embedder",
        OK,
        _model_text(embedder.description, configuration.origin("models.embedder")),
    )
    try:
        reranker = memcli.shelf.reranker_for(embedder, lambda: False)
    except MemcliError as error:
        yield Finding("models", "reranker", BROKEN, error.message, error.hint)
    else:
        origin = configuration.origin("models.reranker")
        yield Finding("models", "reranker", OK, _model_text(reranker.description, origin))


def _head_embedder(memcli: Memcli, head: RevisionInfo) -> Iterator[Finding]:
    """The head answers with the embedder it was built with, which need not be the configured."""
    if head.recipe["embedder"]["profile"] == memcli.shelf.configured_embedder_name:
        return
    try:
        embedder = memcli.shelf.embedder_of(head.recipe, lambda: False)
    except MemcliError as error:
        yield Finding("models", "head's embedder", BROKEN, error.message, "memcli index build")
        return
    yield Finding(
        "models",
        "head's embedder",
        WARN,
        f"the head still answers with {_model_text(embedder.description, 'its recipe')}",
        "memcli index build",
    )


def _model_text(description: Mapping[str, Any], origin: str) -> str:
    over = f" over {description['over']}" if "over" in description else ""
    digest = description.get("sha256")
    known_by = f", SHA-256 {digest}" if digest else ""
    return f"{description.get('profile', description.get('kind'))}{over}{known_by} ({origin})"
