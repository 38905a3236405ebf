"""The text of a new ``memcli.toml``: the id, and every other setting as a commented default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memcli.configuration import OPTIONS, Option

_MEANING = {
    "models.embedder": "A profile's name. A model file can only be named in your own config.toml.",
    "models.reranker": "late_interaction is built in; else the profile of a cross-encoder.",
    "models.threads": "CPU threads; 0: as many as the machine has.",
    "models.gpu": "auto, off or require.",
    "index.token_vectors_mb": "What may be kept so that reranking costs no model time; 0: nothing.",
    "index.max_file_bytes": "A larger file is skipped, with a warning.",
    "limits.lexical": "Units recalled by names and words.",
    "limits.vector": "Units recalled by meaning.",
    "limits.fused": "Units kept after both were fused.",
    "limits.reranked": "Units that the reranker scores.",
    "limits.fragments": "Fragments in an answer.",
    "limits.per_resource": "Fragments from one note.",
    "limits.tokens": "Tokens in an answer, all fragments together.",
    "limits.deadline_seconds": "Seconds from opening the index to the answer.",
    "history.record": "Whether answers are recorded, with the notes that were searched.",
}
_TABLES = {
    "models": "The models. Changing the embedder makes a new revision at the next build.",
    "index": "What an index may hold.",
    "limits": "Limits of an answer. They can be lowered, not raised.",
    "history": "The history, which is kept outside the project.",
}


def project_file_text(project_id: str, suffixless: Sequence[str] = ()) -> str:
    """Valid TOML whatever of it is uncommented; ``suffixless`` are files that were found."""
    return "\n".join([*_lines(project_id, suffixless), ""])


def _lines(project_id: str, suffixless: Sequence[str]) -> Iterator[str]:
    yield "# What memcli reads in this project, and how. Lines after a # are defaults or examples."
    yield "# `memcli config show` tells what is in force and where each value comes from."
    yield ""
    yield "# The project's name in your history. It survives a move; clones share it on purpose."
    yield f'id = "{project_id}"'
    for table, meaning in _TABLES.items():
        yield ""
        yield f"# {meaning}"
        yield f"# [{table}]"
        for option in OPTIONS:
            owner, _, name = option.key.partition(".")
            if owner == table:
                yield f"# {name} = {_value(option)}  # {_MEANING[option.key]}"
    yield ""
    yield '# Where memory comes from. Without a source of scope "project" it is every .md,'
    yield "# .markdown, .mdx and .mdc file below this folder that git would not ignore."
    yield "# Patterns are those of .gitignore, relative to root."
    yield "# [[source]]"
    yield '# scope = "project"  # or "local": wins over project; "global": gives way to it'
    yield '# root = "."  # inside the project, unless your config.toml trusts it'
    include = ["*.md", *suffixless] if suffixless else ["docs/", "AGENTS.md"]
    yield f"# include = [{', '.join(_text(each) for each in include)}]"
    yield '# exclude = ["docs/archive/"]'
    yield '# kind = "note"  # for notes whose front matter names none'
    yield '# prefix = ""  # what stands before their paths in answers'


def _value(option: Option) -> str:
    default = option.default
    if isinstance(default, bool):
        return str(default).lower()
    return _text(default) if isinstance(default, str) else str(default)


def _text(value: str) -> str:
    return f'"{value}"'
