"""The models of one process: each loaded once, on first use, and the right one for a head."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memcli.errors import MemcliError, NotReady
from memcli.models.cross_encoder import CrossEncoder
from memcli.models.device_names import describe_device
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
        problems: Mapping[str, MemcliError] | None = None,
    ) -> None:
        """``problems`` are the profiles that cannot be read, each with its fault."""
        self._embedder = embedder
        self._reranker = reranker
        self._threads = threads
        self._gpu = gpu
        self._known = known
        self._problems = problems or {}
        self._guard = guard
        self._device: Device | None = None
        self._embedders: dict[ModelProfile, GgufEmbedder] = {}
        self._cross_encoder: CrossEncoder | None = None

    @property
    def device(self) -> Device:
        """Where models run; raises ``NotReady`` where a required GPU is missing."""
        if self._device is None:
            with self._guard():
                self._device = choose_device(self._gpu, self._threads)
        return self._device

    @property
    def device_description(self) -> str:
        """The device in one true line; raises as ``device``."""
        device = self.device
        with self._guard():
            return describe_device(device)

    @property
    def placement(self) -> Mapping[str, str | int]:
        """Where a Run's models ran. No hardware name: Runs are exported and shared."""
        layers = self.device.layers
        return {"device": self.device.name, "gpu_layers": "all" if layers < 0 else layers}

    @property
    def configured_embedder_name(self) -> str:
        """The profile name that a revision built now would carry."""
        return self._configured().name

    def configured_embedder(self, should_stop: ShouldStop = never) -> GgufEmbedder:
        """The embedder that new revisions are built with."""
        return self._load(self._configured(), should_stop)

    def _configured(self) -> ModelProfile:
        self._refuse_broken(self._embedder)
        return find_embedder(self._embedder, self._known)

    def _refuse_broken(self, name: str) -> None:
        if name in self._problems:
            raise NotReady(
                "model_not_ready",
                f"the profile of model {name} cannot be used: {self._problems[name].message}",
                f"Correct the file, or add the model again: `memcli models add {name} FILE --yes`.",
            )

    def builds_like(self, recipe: Mapping[str, Any]) -> bool:
        """Whether a build now would use the recipe's embedder, fed the same way.

        Reads no model. A file named by its path is taken to be what it was.
        """
        profile = self._configured()
        built_with = recipe["embedder"]
        if not profile.sha256:
            profile = replace(profile, sha256=built_with["sha256"])
        return _is_fed_as(profile, built_with)

    def embedder_of(self, recipe: Mapping[str, Any], should_stop: ShouldStop) -> GgufEmbedder:
        """The embedder that a revision was built with, whatever is configured by now.

        It is known by its digest and fed as the recipe says, also where its
        profile was changed or renamed since. Raises ``NotReady``
        ``model_not_ready`` where no file at hand is that model.
        """
        built_with = recipe["embedder"]
        faults = []
        for profile in self._candidates(built_with):
            try:
                embedder = self._load(profile, should_stop)
            except NotReady as error:
                faults.append(error)  # Another profile may have the file in another place.
                continue
            if embedder.embedding_revision == built_with["embedding_revision"]:
                return embedder
        if faults:
            raise faults[0]
        raise NotReady(
            "model_not_ready",
            f"the head was built with the embedder {built_with['profile']!r} "
            f"(SHA-256 {built_with['sha256'][:12]}...), which is not at hand",
            "Name it with --embedder, or run `memcli index build` with the present one.",
        )

    def _candidates(self, built_with: Mapping[str, Any]) -> list[ModelProfile]:
        """Every profile of that model, those that feed it as the recipe does first."""
        every = [BUNDLED_EMBEDDER, *self._known.values()]
        named = [each for each in every if each.role == "embed"]
        # The head may need another model than a configured one that cannot be found.
        with contextlib.suppress(NotReady):
            named.insert(0, self._configured())
        wanted = built_with["sha256"]
        same = [
            replace(each, sha256=wanted)
            for each in dict.fromkeys(named)
            if wanted == (each.sha256 or self._digest_of(each))
        ]
        alike = [each for each in same if _is_fed_as(each, built_with)]
        others = [_fed_as(each, built_with) for each in same if each not in alike]
        return list(dict.fromkeys([*alike, *others]))

    @staticmethod
    def _digest_of(profile: ModelProfile) -> str:
        try:
            return verified(profile).sha256
        except NotReady:
            return ""

    def reranker_for(self, embedder: GgufEmbedder, should_stop: ShouldStop) -> Reranker:
        """The configured reranker; the built-in one works over ``embedder``."""
        self._refuse_broken(self._reranker)
        profile = find_reranker(self._reranker, self._known)
        if profile is None:
            return LateInteraction(embedder)
        if self._cross_encoder is None:
            self._cross_encoder = load_cross_encoder(profile, self.device, self._guard, should_stop)
        return self._cross_encoder

    def _load(self, profile: ModelProfile, should_stop: ShouldStop) -> GgufEmbedder:
        if profile not in self._embedders:
            self._embedders[profile] = load_embedder(profile, self.device, self._guard, should_stop)
        return self._embedders[profile]

    def close(self) -> None:
        """Free every model."""
        for embedder in self._embedders.values():
            embedder.close()
        self._embedders.clear()
        if self._cross_encoder:
            self._cross_encoder.close()
            self._cross_encoder = None


# What of a recipe's embedder is the profile's; the rest is the code's own version.
_FEEDING = ("pooling", "max_tokens", "query_prefix", "passage_prefix")


def _is_fed_as(profile: ModelProfile, built_with: Mapping[str, Any]) -> bool:
    return all(built_with.get(name) == value for name, value in profile.description().items())


def _fed_as(profile: ModelProfile, built_with: Mapping[str, Any]) -> ModelProfile:
    """The same file, fed as it was when the revision was built."""
    feeding = {name: built_with[name] for name in _FEEDING}
    return replace(profile, name=built_with["profile"], **feeding)
