"""Every setting that has one value: its key, default, environment variable, flag and check."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from memcli.errors import shown

Value = str | int | float | bool

PROFILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


class Place(Enum):
    """Where a value was given. Only what comes with a project is not the user's own word."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    PROJECT = "project memcli.toml"
    USER = "user config.toml"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Option:
    """One setting. ``read`` turns a given value into a checked one.

    ``read`` takes a TOML value, a flag's value, or text from the environment,
    and raises ``ValueError`` with the end of a sentence ("must be ...").
    """

    key: str
    default: Value
    environment: str
    flag: str
    read: Callable[[object], Value]
    is_model: bool = False


def looks_like_path(name: str) -> bool:
    """Whether a model's name is meant as a file rather than as a profile."""
    return "/" in name or "\\" in name or name.startswith("~") or name.lower().endswith(".gguf")


def _model(value: object) -> Value:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be the name of a model profile or the path of a GGUF file")
    name = value.strip()
    if "\0" in name:
        raise ValueError("must not hold a null character")
    if not looks_like_path(name) and not PROFILE_NAME.fullmatch(name):
        raise ValueError(
            f"must be a profile name of letters, digits, '.', '_' and '-', not {shown(name)}"
        )
    return name


def _choice(*words: str) -> Callable[[object], Value]:
    def read(value: object) -> Value:
        if isinstance(value, str) and value.strip().lower() in words:
            return value.strip().lower()
        raise ValueError(f"must be one of {', '.join(words)}, not {shown(value)}")

    return read


def _integer(least: int, most: int, why_most: str = "") -> Callable[[object], Value]:
    def read(value: object) -> Value:
        number = value
        if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
            number = int(value)
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError(f"must be a whole number, not {shown(value)}")
        if number < least:
            raise ValueError(f"must be at least {least}, not {shown(number)}")
        if number > most:
            raise ValueError(f"must be at most {most}{why_most}, not {shown(number)}")
        return number

    return read


def _seconds(most: float, why_most: str) -> Callable[[object], Value]:
    def read(value: object) -> Value:
        number = value
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                number = None
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(f"must be a number of seconds, not {shown(value)}")
        # A whole number can be too large to be made a float, and is compared as it is.
        if number <= 0 or (isinstance(number, float) and not math.isfinite(number)):
            raise ValueError(f"must be above 0, not {shown(value)}")
        if number > most:
            raise ValueError(f"must be at most {most:g}{why_most}, not {shown(value)}")
        return float(number)

    return read


def _boolean(value: object) -> Value:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(f"must be true or false, not {shown(value)}")


LOWER_ONLY = " (a limit can be lowered, not raised)"


def _limit(name: str, most: int, flag: str) -> Option:
    read = _integer(1, most, LOWER_ONLY)
    return Option(f"limits.{name}", most, f"MEMCLI_LIMIT_{name.upper()}", flag, read)


OPTIONS: tuple[Option, ...] = (
    Option("models.embedder", "bundled", "MEMCLI_EMBEDDER", "--embedder", _model, is_model=True),
    Option(
        "models.reranker",
        "late_interaction",
        "MEMCLI_RERANKER",
        "--reranker",
        _model,
        is_model=True,
    ),
    Option("models.threads", 0, "MEMCLI_THREADS", "--threads", _integer(0, 1024)),
    Option("models.gpu", "auto", "MEMCLI_GPU", "--gpu", _choice("auto", "off", "require")),
    Option(
        "index.token_vectors_mb",
        512,
        "MEMCLI_TOKEN_VECTORS_MB",
        "--token-vectors-mb",
        _integer(0, 1 << 20),
    ),
    Option(
        "index.max_file_bytes",
        2 << 20,
        "MEMCLI_MAX_FILE_BYTES",
        "--max-file-bytes",
        _integer(1, 1 << 30),
    ),
    _limit("lexical", 60, "--max-lexical"),
    _limit("vector", 60, "--max-vector"),
    _limit("fused", 40, "--max-fused"),
    _limit("reranked", 24, "--max-reranked"),
    _limit("fragments", 12, "--max-fragments"),
    _limit("per_resource", 2, "--max-per-resource"),
    _limit("tokens", 2400, "--max-tokens"),
    Option(
        "limits.deadline_seconds",
        60.0,
        "MEMCLI_LIMIT_DEADLINE_SECONDS",
        "--deadline",
        _seconds(60.0, LOWER_ONLY),
    ),
    Option("history.record", True, "MEMCLI_RECORD", "--record", _boolean),
)

OPTION_BY_KEY = {option.key: option for option in OPTIONS}
