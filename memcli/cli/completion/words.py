"""``memcli completion words KIND [BEGINNING]``: what a shell asks at a key press. Fast and silent.

Whatever is wrong, there is nothing to complete then: a message in the middle of
somebody's command line would help nobody.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence


def print_words(arguments: Sequence[str]) -> int:
    """Print one word a line, a tab and what it is behind it; always status 0.

    ``arguments``: ``[-C DIR] KIND [BEGINNING]``.
    """
    try:
        text = "".join(_lines(list(arguments)))
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    # Any fault at all: see above. MEMCLI_DEBUG=1 shows it.
    except Exception:
        import os

        if os.environ.get("MEMCLI_DEBUG") == "1":
            raise
    except KeyboardInterrupt:
        pass
    return 0


def _lines(arguments: list[str]) -> Iterator[str]:
    import os
    from pathlib import Path

    from memcli.cli.safe_text import clipped, safe_line
    from memcli.facade.completing import known_words

    project: Path | None = None
    while arguments[:1] and arguments[0] in ("-C", "--project"):
        project = Path(arguments[1]).expanduser() if arguments[1] else None
        del arguments[:2]
    kind, beginning = (*arguments, "")[:2]
    for word, about in known_words(Path.cwd(), project, os.environ, kind, beginning):
        if word.isprintable():
            yield f"{word}\t{clipped(safe_line(about), 60)}\n"
