"""Retrieval sets with human judgements: read one, write it as a project, index it, run it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memcli.facade import Memcli, Surroundings
from memcli.retrieval.activation import Activation, Candidate

SETS = ("med", "cisi", "ray-docs-dev", "cmrc2018-dev")


@dataclass(frozen=True, slots=True)
class EvalSet:
    """``queries`` by id, ``relevant`` document ids by query id."""

    name: str
    folder: Path
    queries: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]]


def read_set(evals: Path, name: str) -> EvalSet:
    """Read ``queries.jsonl`` and ``qrels.tsv`` of one set."""
    folder = evals / name
    queries = {row["qid"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    return EvalSet(
        name, folder, queries, {query: frozenset(found) for query, found in relevant.items()}
    )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def write_project(chosen: EvalSet, root: Path) -> Path:
    """One markdown file a document: front matter title and description, body = text."""
    root.mkdir(parents=True, exist_ok=True)
    for row in _rows(chosen.folder / "corpus.jsonl"):
        front = [f"title: {json.dumps(row['title'], ensure_ascii=False)}"]
        if row.get("description"):
            front.append(f"description: {json.dumps(row['description'], ensure_ascii=False)}")
        text = "\n".join(["---", *front, "---", row["text"], ""])
        path = root / f"{row['id']}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return root


def opened(root: Path, home: Path, **flags: object) -> Memcli:
    """The facade over a project, with all of memcli's own files below ``home``; no history."""
    environ = {
        **os.environ,
        "MEMCLI_HOME": str(home / "home"),
        "MEMCLI_CONFIG": str(home / "config"),
    }
    return Memcli.open(
        root,
        project=root,
        allow_broad=True,
        flags={"history.record": False, **flags},
        surroundings=Surroundings(environ=environ),
    )


def rankings(activation: Activation) -> dict[str, list[str]]:
    """The four rankings at document level: a document stands where its best unit does."""
    every = activation.candidates
    lexical = sorted(
        (each for each in every if each.exact_rank or each.bm25_rank),
        key=lambda each: (0, each.exact_rank) if each.exact_rank else (1, each.bm25_rank or 0),
    )
    dense = sorted((each for each in every if each.vector_rank), key=lambda c: c.vector_rank or 0)
    hybrid = sorted(every, key=lambda each: each.rrf_rank)
    reranked = sorted((e for e in every if e.rerank_rank), key=lambda c: c.rerank_rank or 0)
    return {
        "b1": _documents(lexical),
        "b2": _documents(dense),
        "b3": _documents(hybrid),
        "b4": _documents(reranked),
    }


def _documents(candidates: Sequence[Candidate]) -> list[str]:
    return list(dict.fromkeys(each.path.removesuffix(".md") for each in candidates))
