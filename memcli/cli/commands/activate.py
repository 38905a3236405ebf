"""Answer a query with the few fragments of memory that belong in context.

\b
Examples:
  memcli activate "how do we roll back a deploy"
  memcli activate "how do we roll back a deploy" --open 1
  memcli activate "how do we roll back a deploy" --format markdown
  echo "who is on call" | memcli activate - --json
  memcli activate "next question" --state last.json --state-out last.json
  memcli activate --queries questions.ndjson > answers.ndjson

An answer may be empty: memory that says nothing about the query is left out.
`--explain` shows every candidate with its places, scores and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memcli.cli.model_options import GpuOption, RerankerOption, ThreadsOption, model_settings
from memcli.cli.options import Invocation
from memcli.errors import Failure, InvalidInput, MemcliError

if TYPE_CHECKING:
    from memcli.facade import Answer, Memcli


class Format(str, Enum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    XML = "xml"


def command(
    invocation: Invocation,
    query: Annotated[
        str | None, typer.Argument(help="The question; - reads it from standard input.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help="State of an earlier answer, or that answer: print the change."
        ),
    ] = None,
    state_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the new state here.")
    ] = None,
    build: Annotated[bool, typer.Option("--build", help="Build the index first.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every candidate and its reason.")
    ] = False,
    format_: Annotated[
        Format | None, typer.Option("--format", help="How to print. Default: text.")
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help='Many queries as NDJSON, {"query": ...} each; NDJSON out.'
        ),
    ] = None,
    open_: Annotated[
        int | None,
        typer.Option(
            "--open",
            metavar="N",
            min=1,
            help="Open fragment N at its line. [env: VISUAL, EDITOR]",
        ),
    ] = None,
    fail_empty: Annotated[
        bool, typer.Option("--fail-empty", help="Exit 1 when nothing is returned.")
    ] = False,
    no_record: Annotated[bool, typer.Option("--no-record", help="Store no Retrieval Run.")] = False,
    embedder: Annotated[
        str | None,
        typer.Option(help="Profile or .gguf for --build. [env: MEMCLI_EMBEDDER]"),
    ] = None,
    reranker: RerankerOption = None,
    threads: ThreadsOption = None,
    gpu: GpuOption = None,
) -> None:
    if (query is None) == (queries is None):
        raise InvalidInput(
            "usage",
            "give either a query or --queries",
            'Example: memcli activate "how do we deploy"',
        )
    if open_ is not None:
        from memcli.cli.opening import editor_of

        if queries is not None:
            raise InvalidInput("usage", "--open needs one query; --queries has many")
        editor_of(invocation.environment.environ)
    _format(invocation, format_)
    if queries is not None and (state or state_out or format_):
        raise InvalidInput(
            "usage",
            "--queries takes no --state, --state-out or --format: its answers are NDJSON",
            "Ask one query for those.",
        )
    memcli = invocation.open(
        **model_settings(embedder=embedder, reranker=reranker, threads=threads, gpu=gpu),
        **{"history.record": False if no_record else None},
    )
    with memcli:
        if build:
            _build(invocation, memcli)
        if queries is not None:
            _many(invocation, memcli, queries, explain, fail_empty)
            return
        if query == "-" and state == "-":
            raise InvalidInput("usage", "query and --state cannot both come from standard input")
        given = _query(invocation, query or "")
        before = _read(invocation, state) if state else None
        answer = memcli.activate_memory(given, state=before)
        _print(invocation, memcli, answer, _format(invocation, format_), explain)
        if state_out:
            memcli.write_state(answer, _resolved(invocation, state_out))
        _fail_if_empty(answer, fail_empty)
        if open_ is not None:
            _open(invocation, memcli, answer, open_)


def _open(invocation: Invocation, memcli: Memcli, answer: Answer, number: int) -> None:
    from memcli.cli.opening import open_fragment

    activation = answer.activation
    open_fragment(invocation, memcli, activation.revision_id, activation.fragments, number)


def _format(invocation: Invocation, asked: Format | None) -> Format:
    if invocation.options.json and asked not in (None, Format.JSON):
        raise InvalidInput("usage", f"--json and --format {asked.value} exclude each other")
    if asked is Format.JSON:
        invocation.display.json = True
    return asked or (Format.JSON if invocation.options.json else Format.TEXT)


def _build(invocation: Invocation, memcli: Memcli) -> None:
    with invocation.display.progress() as report:
        memcli.build_index(
            progress=report, on_wait=lambda holder: invocation.display.message(f"waiting: {holder}")
        )


def _query(invocation: Invocation, query: str) -> str:
    if query != "-":
        return query
    return invocation.environment.stdin.read().decode("utf-8", "replace").strip()


def _read(invocation: Invocation, name: str) -> bytes:
    if name == "-":
        return invocation.environment.stdin.read()
    path = _resolved(invocation, Path(name))
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            "file_unreadable", f"{path} cannot be read: {error.strerror or error}"
        ) from error


def _resolved(invocation: Invocation, path: Path) -> Path:
    return invocation.environment.working_directory / path.expanduser()


def _print(
    invocation: Invocation, memcli: Memcli, answer: Answer, form: Format, explain: bool
) -> None:
    from memcli.cli.answer_text import explained_lines, fragment_lines
    from memcli.retrieval.prompt import as_markdown, as_xml

    display = invocation.display
    if form is not Format.JSON:  # there they are in the document
        for notice in answer.activation.notices:
            display.message(f"note: {notice.message}")
    for warning in answer.warnings:
        display.warning(warning)
    if form is Format.JSON:
        display.document(answer.document(explain=explain))
        return
    if form is Format.MARKDOWN:
        display.corpus_text(as_markdown(answer.activation))
    elif form is Format.XML:
        display.corpus_text(as_xml(answer.activation))
    else:
        display.lines(fragment_lines(display, answer, _linked_files(invocation, memcli, answer)))
        if explain:
            display.lines(explained_lines(display, answer.activation))
        elif answer.run_id:
            display.hint(f"trace: memcli runs show {answer.run_id}")


def _linked_files(invocation: Invocation, memcli: Memcli, answer: Answer) -> dict[str, Path]:
    from memcli.cli.links import shows_links

    if not shows_links(invocation.display):
        return {}
    activation = answer.activation
    return memcli.files_of(
        activation.revision_id,
        [(each.resource_id, each.scope, each.path) for each in activation.fragments],
    )


def _fail_if_empty(answer: Answer, fail_empty: bool) -> None:
    if fail_empty and not answer.activation.fragments:
        raise Failure(
            "empty_answer",
            "the memory says nothing relevant enough about this query",
            "`--explain` shows what was considered.",
        )


def _many(
    invocation: Invocation, memcli: Memcli, source: str, explain: bool, fail_empty: bool
) -> None:
    """NDJSON in, NDJSON out, one line each and in order; a bad line gives an error line."""
    from memcli.cli.display import json_bytes

    empty = failed = 0
    warned: set[str] = set()

    def warn(warnings: tuple[str, ...]) -> None:
        for warning in warnings:
            if warning not in warned:
                invocation.display.warning(warning)
            warned.add(warning)

    for number, given in _query_lines(invocation, source):
        try:
            answer = memcli.activate_memory(given(), state=None)
            document = answer.document(explain=explain)
            warn(answer.warnings)
            empty += not answer.activation.fragments
        except MemcliError as error:
            failed += 1
            warn(error.warnings)
            document = {
                "schema": "memcli.activate.error.v1",
                "line": number,
                "error": {"code": error.code, "message": error.message, "hint": error.hint},
            }
        invocation.environment.stdout.write(json_bytes(document))
    if failed:
        raise Failure("queries_failed", f"{failed} of the queries failed", "Their lines say why.")
    if fail_empty and empty:
        raise Failure("empty_answer", f"{empty} of the queries had an empty answer")


def _query_lines(invocation: Invocation, source: str) -> Iterator[tuple[int, Callable[[], str]]]:
    import orjson

    def parsed(line: bytes) -> str:
        try:
            document: Any = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput("invalid_query", f"the line is no JSON ({error})") from error
        query = document.get("query") if isinstance(document, dict) else document
        if not isinstance(query, str):
            raise InvalidInput("invalid_query", 'the line is neither a string nor {"query": ...}')
        return query

    lines = (
        iter(invocation.environment.stdin.readline, b"")
        if source == "-"
        else iter(_read(invocation, source).splitlines())
    )
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, partial(parsed, line)
