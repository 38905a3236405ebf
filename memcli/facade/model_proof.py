"""Verify the models that are here: the bundled one, the user's own, and those named by path."""

from __future__ import annotations

from collections.abc import Callable

from memcli.configuration import Configuration
from memcli.errors import NotReady
from memcli.facade.model_listing import list_models
from memcli.facade.model_views import ModelRow, ModelVerdict, ModelVerification
from memcli.models.device_names import describe_device
from memcli.models.devices import Device
from memcli.models.model_registry import unknown_model
from memcli.models.native_library import OutputGuard
from memcli.models.profile import ModelProfile, find_embedder, find_reranker
from memcli.models.profile_store import ProfileStore
from memcli.models.verifying import verify_models


def verify(
    configuration: Configuration,
    store: ProfileStore,
    device: Device,
    name: str | None,
    *,
    clock: Callable[[], float],
    guard: OutputGuard,
    on_model: Callable[[str], None],
) -> ModelVerification:
    """See ``ModelAccess.verify_models``."""
    rows = {
        row.name: row
        for row in list_models(configuration, store).models
        if row.kind not in ("pullable", "built_in")
    }
    if name is not None:
        rows = _only(name, rows, configuration, store)
    held = store.load()
    usable = [row for row in rows.values() if row.kind != "broken"]
    broken = [row for row in rows.values() if row.kind == "broken"]
    verdicts = verify_models(
        [_profile(row) for row in usable],
        {row.name: held.problems[row.name] for row in broken if row.name in held.problems},
        device,
        clock=clock,
        guard=guard,
        on_model=on_model,
    )
    found = tuple(
        ModelVerdict(row, each.error, each.seconds)
        for row, each in zip([*usable, *broken], verdicts, strict=False)
    )
    with guard():
        return ModelVerification(found, describe_device(device))


def _only(
    name: str, rows: dict[str, ModelRow], configuration: Configuration, store: ProfileStore
) -> dict[str, ModelRow]:
    if name in rows:
        return {name: rows[name]}
    every = {row.name: row.kind for row in list_models(configuration, store).models}
    if every.get(name) == "pullable":
        raise NotReady(
            "model_not_ready",
            f"{name} is not installed",
            f"Run `memcli models pull {name}` first.",
        )
    if every.get(name) == "built_in":
        return {"bundled": rows["bundled"]}
    raise unknown_model(name, list(rows))


def _profile(row: ModelRow) -> ModelProfile:
    if row.profile:
        return row.profile
    find = find_embedder if row.role == "embed" else find_reranker
    found = find(row.name, {})
    assert found is not None
    return found
