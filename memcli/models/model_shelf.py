"""The models of one process: each loaded once, on first use, and the right one for a head."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from memcli.errors import NotReady
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.devices import Device, choose_device
from memcli.models.embedder import GgufEmbedder
from memcli.models.late_interaction import LateInteraction
from memcli.models.loaded_model import ShouldStop, never
from memcli.models.loading import load_cross_encoder, load_embedder
from memcli.models.native_library import OutputGuard
from memcli.models.profile import (
    BUNDLED_EMBEDDER,
    ModelProfile,
    find_embedder,
    find_reranker,
    verified,
)
from memcli.models.reranker import Reranker


class ModelShelf:
    """Loads by name from ``known`` profiles; frees everything in ``close``."""

    def __init__(
        self,
        *,
        embedder: str,
        reranker: str,
        threads: int,
        gpu: str,
        known: Mapping[str, ModelProfile],
        guard: OutputGuard,
    ) -> None:
        self._embedder = embedder
        self._reranker = reranker
        self._threads = threads
        self._gpu = gpu
        self._known = known
        self._guard = guard
        self._device: Device | None = None
        self._embedders: dict[str, GgufEmbedder] = {}
        self._cross_encoder: CrossEncoder | None = None

    @property
    def device(self) -> Device:
        """Where models run; raises ``NotReady`` where a required GPU is missing."""
        if self._device is None:
            with self._guard():
                self._device = choose_device(self._gpu, self._threads)
        return self._device

    @property
    def configured_embedder_name(self) -> str:
        """The profile name that a revision built now would carry."""
        return find_embedder(self._embedder, self._known).name

    def configured_embedder(self, should_stop: ShouldStop = never) -> GgufEmbedder:
        """The embedder that new revisions are built with."""
        return self._load(find_embedder(self._embedder, self._known), should_stop)

    def embedder_of(self, recipe: Mapping[str, Any], should_stop: ShouldStop) -> GgufEmbedder:
        """The embedder that a revision was built with, whatever is configured by now.

        Raises ``NotReady`` ``model_not_ready`` where no known profile is that model.
        """
        built_with = recipe["embedder"]
        for profile in self._candidates(built_with):
            embedder = self._load(profile, should_stop)
            if embedder.embedding_revision == built_with["embedding_revision"]:
                return embedder
        raise NotReady(
            "model_not_ready",
            f"the head was built with the embedder {built_with['profile']!r} "
            f"(SHA-256 {built_with['sha256'][:12]}...), which is not at hand",
            "Name it with --embedder, or run `memcli index build` with the present one.",
        )

    def _candidates(self, built_with: Mapping[str, Any]) -> list[ModelProfile]:
        every = [BUNDLED_EMBEDDER, *self._known.values()]
        named = [each for each in every if each.role == "embed"]
        # The head may need another model than a configured one that cannot be found.
        with contextlib.suppress(NotReady):
            named.insert(0, find_embedder(self._embedder, self._known))
        wanted = built_with["sha256"]
        return [each for each in named if wanted == (each.sha256 or verified(each).sha256)]

    def reranker_for(self, embedder: GgufEmbedder, should_stop: ShouldStop) -> Reranker:
        """The configured reranker; the built-in one works over ``embedder``."""
        profile = find_reranker(self._reranker, self._known)
        if profile is None:
            return LateInteraction(embedder)
        if self._cross_encoder is None:
            self._cross_encoder = load_cross_encoder(profile, self.device, self._guard, should_stop)
        return self._cross_encoder

    def _load(self, profile: ModelProfile, should_stop: ShouldStop) -> GgufEmbedder:
        key = f"{profile.name}\0{profile.file}"
        if key not in self._embedders:
            self._embedders[key] = load_embedder(profile, self.device, self._guard, should_stop)
        return self._embedders[key]

    def close(self) -> None:
        """Free every model."""
        for embedder in self._embedders.values():
            embedder.close()
        self._embedders.clear()
        if self._cross_encoder:
            self._cross_encoder.close()
            self._cross_encoder = None
