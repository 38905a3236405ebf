"""Gitignore patterns asked about one path at a time, as git itself asks them."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Sequence

DIRECTORY_GROUP = "ps_d"
# As long as the longest path; what is longer is passed over as no pattern.
LONGEST_PATTERN = 4096
# How pathspec writes a "*" and a "/**" in the midst of a pattern.
STAR = "[^/]*"
LEVELS = "(?:/.+)?"
TOKEN = re.compile(r"\\.|\[\^/\]|(\[\^?\]?(?:\\.|[^\]\\])*\])", re.DOTALL)
REPEATED_STAR = re.compile(rf"(?:{re.escape(STAR)})+")
BRACKET = re.compile(r"\[[!^]?\]?(?:\[:[a-z]+:\]|[^\]])*\]")
POSIX_CLASS = re.compile(r"\[:([a-z]+):\]")
POSIX_MEMBERS = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-.0-~",
    "lower": "a-z",
    "print": " -.0-~",
    "punct": "!-.:-@[-`{-~",
    "space": " \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _compiled(lines: Sequence[str]) -> list[tuple[re.Pattern[str] | None, bool | None]]:
    """The regular expression of each line and whether it ignores; ``None`` for no pattern."""
    # Loaded when there is something to match: the freshness check mostly has nothing.
    from pathspec import GitIgnoreSpec

    with warnings.catch_warnings():
        # "[[]" is a fine pattern for git; Python only wonders what it may mean one day.
        warnings.simplefilter("ignore", FutureWarning)
        spec = GitIgnoreSpec.from_lines([_for_pathspec(line) for line in lines])
    return [(_bounded(pattern.regex), pattern.include) for pattern in spec.patterns]


def _bounded(regex: re.Pattern[str] | None) -> re.Pattern[str] | None:
    """The same expression in a form that does not try every way to share a path out to its stars.

    Of several stars (or ``**``) all but the last may take the least that lets
    what follows match: whatever the others can do with less, they can with more.
    """
    if regex is None:
        return None
    # Git's brackets match no slash, whatever stands in them.
    text = TOKEN.sub(lambda it: f"(?!/){it[0]}" if it[1] else it[0], regex.pattern)
    if max(text.count(STAR), text.count(LEVELS)) < 2:
        return regex if text == regex.pattern else re.compile(text, regex.flags)
    names = (f"least{number}" for number in itertools.count())

    def settled(expression: str) -> str:
        name = next(names)
        return f"(?=(?P<{name}>{expression}))(?P={name})"

    first, *others = (_least_stars(part, settled) for part in text.split(LEVELS))
    inner = (settled(f"(?:/.+?)??{part}(?=/)") for part in others[:-1])
    last = (LEVELS + part for part in others[-1:])
    return re.compile("".join((first, *inner, *last)), regex.flags)


def _least_stars(expression: str, settled: Callable[[str], str]) -> str:
    first, *others = re.split(REPEATED_STAR, expression)
    inner = (settled(f"{STAR}?{part}") for part in others[:-1])
    return "".join((first, *inner, *(STAR + part for part in others[-1:])))


def _for_pathspec(line: str) -> str:
    """Rewrite what pathspec reads otherwise than git, when asked about one level at a time.

    Git strips trailing spaces only; ``a/**`` does not name ``a`` itself and
    ``a/**/`` no file in it; POSIX classes are allowed in brackets.
    """
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    if backslashes % 2 and kept != line:
        return f"{kept} "
    if kept[-1:].isspace() and not backslashes % 2:
        kept = f"{kept[:-1]}[{kept[-1]}]"
    if kept.endswith("/**"):
        kept = f"{kept}/*"
    elif re.search(r"(?:^!?|/)\*\*/$", kept):
        kept = f"{kept}*/"
    if "[:" in kept:
        kept = BRACKET.sub(lambda it: POSIX_CLASS.sub(_class_members, it[0]), kept)
    return kept


def _class_members(found: re.Match[str]) -> str:
    return POSIX_MEMBERS.get(found[1], "")


class Patterns:
    """The patterns of one file or setting, in git's own sense: the last match decides.

    A pattern is asked about a path itself, never about what lies below one that
    it names: a walk goes level by level and does not enter what is ignored.
    """

    __slots__ = ("_rules", "source")

    def __init__(self, lines: Iterable[str], source: str) -> None:
        self.source = source
        self._rules = list(reversed(_rules(lines)))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def _deciding(self, path: str) -> _Rule | None:
        for rule in self._rules:
            if rule.names(path):
                return rule
        return None

    def decide(self, path: str) -> bool | None:
        """``True`` ignored, ``False`` re-included, ``None`` not named; directories end in /."""
        rule = self._deciding(path)
        return None if rule is None else rule.ignores

    def covers(self, path: str) -> bool:
        """Whether a file, or else its nearest directory that is named at all, is taken in."""
        while path:
            decision = self.decide(path)
            if decision is not None:
                return decision
            path = path[: path.rstrip("/").rfind("/") + 1]
        return False

    def rule(self, path: str) -> str:
        """The deciding pattern with its file and line, for a person."""
        rule = self._deciding(path)
        return self.source if rule is None else f"{self.source}:{rule.number}: {rule.text}"


class _Rule:
    """One pattern as pathspec's regular expression.

    That has the group ``ps_d`` for a ``/`` after a directory that the pattern
    names. Where it stands before the end of a path, only an ancestor was meant.
    """

    __slots__ = ("_group", "_is_anchored", "_search", "ignores", "number", "text")

    def __init__(self, regex: re.Pattern[str], ignores: bool, number: int, text: str) -> None:
        self._search = regex.search
        self._group = DIRECTORY_GROUP if DIRECTORY_GROUP in regex.groupindex else None
        self._is_anchored = regex.pattern.startswith("^")
        self.ignores = ignores
        self.number = number
        self.text = text.strip()

    def names(self, path: str) -> bool:
        found = self._search(path)
        if found is None or self._group is None:
            return found is not None
        if not self._is_anchored:
            # "*/" is any "/" at all.
            return path.endswith("/")
        end = found.end(self._group)
        return end < 0 or end == len(path)


def _rules(lines: Iterable[str]) -> list[_Rule]:
    numbered = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip(" ") and not line.startswith("#") and len(line) <= LONGEST_PATTERN
    ]
    try:
        patterns = _compiled([line for _, line in numbered])
    except ValueError:
        # Git passes over a pattern that means nothing; one must not lose the others.
        numbered = [(number, line) for number, line in numbered if is_pattern(line)]
        patterns = _compiled([line for _, line in numbered])
    return [
        _Rule(regex, bool(include), number, line)
        for (number, line), (regex, include) in zip(numbered, patterns, strict=True)
        if regex is not None
    ]


def is_pattern(line: str) -> bool:
    """Whether git would understand ``line`` as a pattern."""
    if len(line) > LONGEST_PATTERN:
        return False
    try:
        _compiled([line])
    except ValueError:
        return False
    return True
