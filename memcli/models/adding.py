"""From a GGUF file to a profile: header, role, load, golden pair, calibration, in that order."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from memcli.errors import Failure, InvalidInput, NotReady
from memcli.locations import private_directory, replacing
from memcli.models.calibration import (
    Calibration,
    calibrate_late_interaction,
    calibrate_reranker,
)
from memcli.models.devices import Device
from memcli.models.gguf_header import GgufHeader, read_header
from memcli.models.loaded_model import LONGEST_INPUT, ShouldStop, never
from memcli.models.loading import load_cross_encoder, load_embedder
from memcli.models.native_library import OutputGuard
from memcli.models.profile import ModelProfile, PairForm, Pooling, Role

# A query of 128 tokens, some metadata and a sentence: less is of no use.
LEAST_TOKENS = 64
# The longest unit with its metadata; a model that reads less cuts texts.
UNIT_TOKENS = 512
_FILE_POOLING: dict[int, Pooling] = {1: "mean", 2: "cls", 3: "last"}
# Families by a part of the name in their file, with what their cards ask for.
_PREFIXES_BY_FAMILY = (
    ("e5-", "query: ", "passage: "),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
    ("arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of a new model; ``None`` and empty leave it to the file's own header."""

    name: str
    file: Path
    role: Role | None = None
    pooling: Pooling | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    pair_form: PairForm | None = None
    max_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A profile that has done the job once, how well, and what its user should know."""

    profile: ModelProfile
    size: int
    calibration: Calibration
    remarks: tuple[str, ...]

    @property
    def answered(self) -> int:
        """Built-in questions whose answer came first: by vectors, or by the reranker's score."""
        nearest = self.calibration.nearest
        return self.calibration.right if nearest is None else nearest


def check_model(
    wanted: Wanted,
    device: Device,
    guard: OutputGuard = contextlib.nullcontext,
    should_stop: ShouldStop = never,
) -> CheckedModel:
    """Load the file as ``wanted`` says and let it prove itself.

    Raises ``NotReady`` ``model_not_ready`` (no such file) or ``model_unsuitable``
    with the reason by name; ``InvalidInput`` ``usage`` for options that the
    role does not have.
    """
    header = read_header(wanted.file)
    role = wanted.role or guessed_role(header)
    _refuse_foreign_options(wanted, role)
    draft = _draft(wanted, header, role)
    if role == "embed":
        embedder = load_embedder(draft, device, guard, should_stop)
        try:
            calibration = calibrate_late_interaction(embedder, should_stop)
            profile = replace(embedder.profile, late_interaction=calibration.relevance)
        finally:
            embedder.close()
    else:
        reranker = load_cross_encoder(draft, device, guard, should_stop)
        try:
            calibration = calibrate_reranker(reranker, header.architecture, should_stop)
            digest = str(reranker.description["sha256"])
            profile = replace(draft, sha256=digest, relevance=calibration.relevance)
        finally:
            reranker.close()
    return CheckedModel(profile, header.size, calibration, _remarks(wanted, header, calibration))


def guessed_role(header: GgufHeader) -> Role:
    """A classification head makes a reranker; without one it can only embed."""
    return "rerank" if header.has_classification_head else "embed"


def copy_model(file: Path, target: Path, digest: str) -> None:
    """Copy a checked file to ``target``, 0600, in one step, and only if it still has ``digest``.

    Raises ``Failure`` ``file_unwritable``, or ``model_changed`` where the file
    is no longer the one that was checked.
    """
    copied = hashlib.sha256()
    try:
        private_directory(target.parent)
        with replacing(target) as copy, file.open("rb") as original:
            while part := original.read(1 << 20):
                copied.update(part)
                copy.write(part)
            if copied.hexdigest() != digest:
                raise Failure("model_changed", f"{file} changed while it was being added")
    except OSError as error:
        raise Failure(
            "file_unwritable",
            f"{file.name} cannot be copied to {target}: {error.strerror or error}",
            "Check permissions and free space, or add it without --copy.",
        ) from error


def _refuse_foreign_options(wanted: Wanted, role: Role) -> None:
    given = {
        "--query-prefix": wanted.query_prefix is not None,
        "--passage-prefix": wanted.passage_prefix is not None,
        "--pooling": wanted.pooling not in (None, "rank"),
    }
    if role == "embed":
        given = {"--pair-form": wanted.pair_form is not None}
    for option, is_given in given.items():
        if is_given:
            kind = "an embedder" if role == "embed" else "a reranker"
            raise InvalidInput(
                "usage",
                f"{option} means nothing for {kind}, and {wanted.file.name} is added as one",
                "Leave it out, or say --role.",
            )
    if wanted.max_tokens and wanted.max_tokens < LEAST_TOKENS:
        raise InvalidInput("usage", f"--max-tokens must be at least {LEAST_TOKENS}")


def _draft(wanted: Wanted, header: GgufHeader, role: Role) -> ModelProfile:
    pooling: Pooling = "rank"
    if role == "embed":
        found = wanted.pooling or _FILE_POOLING.get(header.pooling or 0)
        if found is None and not (header.has_classification_head or header.is_truncated):
            raise NotReady(
                "model_unsuitable",
                f"{wanted.file.name} ({header.architecture or 'no architecture'}) does not say "
                "how its token outputs become one vector: it may be no embedding model",
                "If it is one, give --pooling mean, cls or last, as its model card says.",
            )
        pooling = found or "mean"
    return ModelProfile(
        name=wanted.name,
        role=role,
        file=wanted.file,
        sha256="",
        pooling=pooling,
        query_prefix=wanted.query_prefix or "",
        passage_prefix=wanted.passage_prefix or "",
        pair_form=wanted.pair_form or "file",
        max_tokens=wanted.max_tokens,
    )


def _remarks(wanted: Wanted, header: GgufHeader, calibration: Calibration) -> tuple[str, ...]:
    remarks = []
    of = f"of {calibration.pairs} built-in questions"
    if calibration.nearest is not None:
        if calibration.nearest < 0.75 * calibration.pairs:
            remarks.append(
                f"its vectors put the answer first for only {calibration.nearest} {of}: check "
                "pooling and prefixes (the questions are English)"
            )
        if not calibration.tells_answers:
            remarks.append(
                f"late interaction over it puts the answer first for only {calibration.right} "
                f"{of}: its relevance floor is 0, so nothing is dropped; a reranker may help"
            )
        if wanted.query_prefix is None and wanted.passage_prefix is None:
            remarks += _missing_prefixes(wanted.file, header)
    elif not calibration.tells_answers:
        remarks.append(
            f"it prefers the answer for only {calibration.right} {of}: its relevance floor is 0, "
            "so nothing is dropped (the questions are English)"
        )
    pooled = _FILE_POOLING.get(header.pooling or 0)
    if wanted.pooling and pooled and wanted.pooling != pooled:
        remarks.append(f"the file itself says pooling {pooled}, not {wanted.pooling}")
    return (*remarks, *_limits(wanted, header))


def _limits(wanted: Wanted, header: GgufHeader) -> list[str]:
    trained = header.metadata.get(f"{header.architecture}.context_length")
    limits = [each for each in (wanted.max_tokens, trained, LONGEST_INPUT) if isinstance(each, int)]
    most = min(each for each in limits if each > 0)
    remarks = []
    if wanted.max_tokens > most:
        remarks.append(f"it reads at most {most} tokens, whatever --max-tokens says")
    if most < UNIT_TOKENS:
        remarks.append(f"it reads at most {most} tokens: the ends of long units will be cut")
    return remarks


def _missing_prefixes(file: Path, header: GgufHeader) -> list[str]:
    names = (file.name, str(header.metadata.get("general.name", "")))
    text = " ".join(names).lower().replace("_", "-").replace(" ", "-")
    for family, query, passage in _PREFIXES_BY_FAMILY:
        if family in text:
            return [
                f"models of the family {family.strip('-')} are usually fed with "
                f"--query-prefix {query!r} --passage-prefix {passage!r}; none was given"
            ]
    return []
