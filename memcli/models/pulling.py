"""Pull a well-known model: fetch its file, let it prove itself, keep its profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memcli.errors import InvalidInput, MemcliError, NotReady
from memcli.models.adding import CheckedModel, Wanted
from memcli.models.downloading import Download, Progress, download
from memcli.models.model_registry import RegistryEntry
from memcli.models.profile import file_digest
from memcli.models.profile_store import ProfileStore, StoredProfile

_DIGEST = re.compile(r"[0-9a-f]{64}")

Check = Callable[[Wanted], CheckedModel]


@dataclass(frozen=True, slots=True)
class PullPlan:
    """What is pulled from where to where; ``sha256`` is empty where no digest is known."""

    entry: RegistryEntry
    target: Path
    url: str
    sha256: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Pulled:
    """The stored profile; ``downloaded`` is false where the file was there already.

    ``checked`` is ``None`` where the profile was there too.
    """

    stored: StoredProfile
    downloaded: bool
    checked: CheckedModel | None


def plan_pull(
    entry: RegistryEntry, directory: Path, *, url: str | None = None, sha256: str | None = None
) -> PullPlan:
    """What to fetch. A digest of the caller's replaces the known one, and with it the size.

    Raises ``InvalidInput`` ``usage`` for what is no digest.
    """
    expected, size = entry.sha256, entry.size
    if sha256 is not None:
        expected, size = sha256.strip().lower(), None
        if not _DIGEST.fullmatch(expected):
            raise InvalidInput("usage", f"{sha256!r} is no SHA-256 (64 hexadecimal digits)")
        if expected == entry.sha256:
            size = entry.size
    return PullPlan(entry, directory / f"{entry.name}.gguf", url or entry.url, expected, size)


def pull_model(
    plan: PullPlan,
    store: ProfileStore,
    check: Check,
    *,
    offline: bool,
    now: Callable[[], datetime],
    environ: Mapping[str, str],
    progress: Progress,
    on_download: Callable[[int | None], None],
    on_check: Callable[[], None],
) -> Pulled:
    """Fetch, check and store. Touches the network only where the file is not there.

    ``on_download`` is called with the size before the first connection,
    ``on_check`` before the model is loaded. Raises
    ``NotReady`` ``offline``, ``model_unsuitable``; what ``download`` raises.
    """
    held = store.load().profiles.get(plan.entry.name)
    if held and held.profile.file == plan.target and _is_whole(plan, held.profile.sha256):
        return Pulled(held, downloaded=False, checked=None)
    fetched = not (plan.sha256 and _is_whole(plan, plan.sha256))
    if fetched:
        if offline:
            raise NotReady(
                "offline",
                f"{plan.entry.name} is not on this machine, and memcli is to stay offline",
                "Leave out --offline and MEMCLI_OFFLINE, or fetch the file by other means and use "
                "`memcli models add`.",
            )
        on_download(plan.size)
        wanted = Download(plan.url, plan.target, plan.size, plan.sha256)
        download(wanted, progress, environ=environ)
    on_check()
    checked = _proved(plan, check)
    stored = StoredProfile(
        profile=checked.profile,
        size=checked.size,
        added_at=now().isoformat(timespec="seconds"),
        licence=plan.entry.licence,
        source=plan.url,
    )
    store.write(stored)
    return Pulled(stored, fetched, checked)


def _proved(plan: PullPlan, check: Check) -> CheckedModel:
    entry = plan.entry
    try:
        return check(
            Wanted(
                name=entry.name,
                file=plan.target,
                role=entry.role,
                pooling=entry.pooling,
                query_prefix=entry.query_prefix if entry.role == "embed" else None,
                passage_prefix=entry.passage_prefix if entry.role == "embed" else None,
                pair_form=entry.pair_form if entry.role == "rerank" else None,
            )
        )
    except MemcliError as error:
        if error.code != "model_unsuitable":
            raise
        if not plan.sha256:
            # Nobody can say that the file is the published one: the next attempt begins afresh.
            plan.target.unlink(missing_ok=True)
            raise NotReady(
                error.code,
                f"{error.message}; no digest is known for it, so the download is deleted",
                "Run the command again, or name another source with --url.",
            ) from error
        raise NotReady(
            error.code,
            f"{error.message}; the file is the published one and is kept as {plan.target}",
            "A newer llama-cpp-python may run it.",
        ) from error


def _is_whole(plan: PullPlan, digest: str) -> bool:
    """Whether the target is there with this digest, and no other one is asked for."""
    if plan.sha256 and plan.sha256 != digest:
        return False
    try:
        return file_digest(plan.target) == digest
    except OSError:
        return False
