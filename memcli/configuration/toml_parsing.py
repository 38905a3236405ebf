"""TOML text as a table, in bounded time, and with one error for whatever is wrong with it."""

from __future__ import annotations

import re
import sys
from typing import Any

# The reader takes the square of a dotted key's parts: a long one would hang it.
MOST_KEY_PARTS = 64

_QUOTED_OR_COMMENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|\'[^\']*\'|#.*')
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MOST_KEY_PARTS}}}")


class TomlError(ValueError):
    """The text is no TOML, or more of it than can be read; the message says what is wrong."""


def parse_toml(text: str) -> dict[str, Any]:
    """The top-level table. Raises ``TomlError``."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if number := _line_of_long_key(text):
        message = f"a key has more than {MOST_KEY_PARTS} parts (at line {number}, column 1)"
        raise TomlError(message)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TomlError("it is nested too deeply") from error
    except ValueError as error:
        # A TOMLDecodeError, or what Python says of a number with thousands of digits.
        is_syntax = isinstance(error, tomllib.TOMLDecodeError)
        raise TomlError(str(error) if is_syntax else "a number has too many digits") from error


def _line_of_long_key(text: str) -> int:
    """The first line with a dotted key of too many parts, 0 where there is none."""
    if text.count(".") < MOST_KEY_PARTS:
        return 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") >= MOST_KEY_PARTS:
            bare = _QUOTED_OR_COMMENT.sub("q", line)
            if _LONG_KEY.search(bare):
                return number
    return 0
