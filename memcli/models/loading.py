"""From a profile to a model that works: digest, header, load, golden pair, in that order."""

from __future__ import annotations

import contextlib

from memcli.models.cross_encoder import CrossEncoder
from memcli.models.devices import Device
from memcli.models.embedder import GgufEmbedder
from memcli.models.golden_pair import check_embedder, check_reranker
from memcli.models.loaded_model import LoadedModel, ShouldStop, never
from memcli.models.native_library import OutputGuard
from memcli.models.profile import ModelProfile, verified


def load_embedder(
    profile: ModelProfile,
    device: Device,
    guard: OutputGuard = contextlib.nullcontext,
    should_stop: ShouldStop = never,
) -> GgufEmbedder:
    """Load an embedding model, or raise ``NotReady`` saying by name why it cannot serve.

    The bundled file's digest is proof enough; any other must pass the golden pair.
    """
    embedder = GgufEmbedder(LoadedModel(verified(profile), device, guard, should_stop))
    if not profile.bundled:
        try:
            check_embedder(embedder, profile.name)
        except BaseException:
            embedder.close()
            raise
    return embedder


def load_cross_encoder(
    profile: ModelProfile,
    device: Device,
    guard: OutputGuard = contextlib.nullcontext,
    should_stop: ShouldStop = never,
) -> CrossEncoder:
    """Load a reranker, or raise ``NotReady`` saying by name why it cannot serve."""
    reranker = CrossEncoder(LoadedModel(verified(profile), device, guard, should_stop))
    try:
        check_reranker(reranker, profile.name)
    except BaseException:
        reranker.close()
        raise
    return reranker
