"""Words that complete a command line: ids of Runs and Cases, revisions, paths, projects, models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from memcli.facade.surroundings import Surroundings
from memcli.facade.workspace import Memcli
from memcli.history.store import HistoryStore

# Nobody reads a longer list, and a key press must not wait for it.
MOST_WORDS = 200
LONGEST_WAIT_SECONDS = 0.2

Words = Iterable[tuple[str, str]]


def known_words(
    start: Path,
    project: Path | None,
    environ: Mapping[str, str],
    kind: str,
    beginning: str,
) -> Iterator[tuple[str, str]]:
    """Words of one kind that begin so, each with a line about it; the likeliest first.

    Raises whatever opening the project and reading its stores raise.
    """
    surroundings = Surroundings(environ=environ)
    with Memcli.open(start, project=project, allow_broad=True, surroundings=surroundings) as memcli:
        count = 0
        for word, about in _KINDS[kind](memcli, beginning):
            if word.startswith(beginning):
                yield word, about
                count += 1
                if count == MOST_WORDS:
                    return


def _history(memcli: Memcli) -> HistoryStore:
    return HistoryStore(memcli.history.home, memcli.surroundings.now, LONGEST_WAIT_SECONDS)


def _runs(memcli: Memcli, beginning: str) -> Words:
    from memcli.history.runs import list_runs

    project_id = memcli.identity(settle=False).project_id
    runs = list_runs(_history(memcli), project_id=project_id, limit=5 * MOST_WORDS)
    if runs:
        yield "last", runs[0].query
    for run in runs:
        yield run.run_id, f"{run.status}: {run.query}"


def _cases(memcli: Memcli, beginning: str) -> Words:
    from memcli.evaluation.cases import list_cases

    project_id = memcli.identity(settle=False).project_id
    for case in reversed(list_cases(_history(memcli), project_id=project_id)):
        yield case.case_id, f"{case.status}: {case.query}"


def _revisions(memcli: Memcli, beginning: str) -> Words:
    listing = memcli.list_revisions()
    for each in listing.revisions:
        role = listing.role(each.revision_id)
        yield each.revision_id, f"{role or each.status}, {each.unit_count} units"


def _resources(memcli: Memcli, beginning: str) -> Words:
    from memcli.index.places import head_paths

    return head_paths(memcli.storage, beginning, MOST_WORDS)


def _projects(memcli: Memcli, beginning: str) -> Words:
    from memcli.history.projects import CentralRegistry

    for each in CentralRegistry(_history(memcli)).projects():
        yield each.project_id, f"{each.name}, {each.runs} runs"


def _embedders(memcli: Memcli, beginning: str) -> Words:
    yield "bundled", "comes with memcli"
    yield from _profiles(memcli, "embed")


def _rerankers(memcli: Memcli, beginning: str) -> Words:
    yield "late_interaction", "built in"
    yield from _profiles(memcli, "rerank")


def _models(memcli: Memcli, beginning: str) -> Words:
    yield from _embedders(memcli, beginning)
    yield from _rerankers(memcli, beginning)


def _profiles(memcli: Memcli, role: str) -> Words:
    for name, profile in sorted(memcli.known_profiles.items()):
        if profile.role == role:
            yield name, f"{role}, {profile.file.name}"


def _pullable(memcli: Memcli, beginning: str) -> Words:
    from memcli.models.model_registry import REGISTRY

    for each in REGISTRY:
        yield each.name, f"{each.role}, {each.licence}"


_KINDS: Mapping[str, Callable[[Memcli, str], Words]] = {
    "runs": _runs,
    "cases": _cases,
    "revisions": _revisions,
    "resources": _resources,
    "projects": _projects,
    "embedders": _embedders,
    "rerankers": _rerankers,
    "models": _models,
    "pullable": _pullable,
}
