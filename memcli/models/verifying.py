"""Prove every installed model again: its digest, its header, one load and the golden pair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memcli.errors import MemcliError
from memcli.models.devices import Device
from memcli.models.golden_pair import check_embedder
from memcli.models.loaded_model import ShouldStop, never
from memcli.models.loading import load_cross_encoder, load_embedder
from memcli.models.native_library import OutputGuard
from memcli.models.profile import ModelProfile


@dataclass(frozen=True, slots=True)
class Verdict:
    """One model: ``error`` is ``None`` where it is whole and does its job.

    ``profile`` is ``None`` where not even its profile can be read.
    """

    name: str
    profile: ModelProfile | None
    error: MemcliError | None
    seconds: float


def verify_models(
    profiles: Iterable[ModelProfile],
    problems: Mapping[str, MemcliError],
    device: Device,
    *,
    clock: Callable[[], float],
    guard: OutputGuard = contextlib.nullcontext,
    should_stop: ShouldStop = never,
    on_model: Callable[[str], None] = lambda name: None,
) -> Iterator[Verdict]:
    """One verdict a model, each loaded and freed by itself; ``problems`` are broken profiles."""
    for profile in profiles:
        on_model(profile.name)
        started = clock()
        error: MemcliError | None = None
        try:
            _prove(profile, device, guard, should_stop)
        except MemcliError as fault:
            error = fault
        yield Verdict(profile.name, profile, error, clock() - started)
    for name, problem in problems.items():
        yield Verdict(name, None, problem, 0.0)


def _prove(
    profile: ModelProfile, device: Device, guard: OutputGuard, should_stop: ShouldStop
) -> None:
    if profile.role == "rerank":
        load_cross_encoder(profile, device, guard, should_stop).close()
        return
    embedder = load_embedder(profile, device, guard, should_stop)
    with contextlib.closing(embedder):
        # Loading trusts the built-in one's digest; here it has to show that it works.
        check_embedder(embedder, profile.name)
