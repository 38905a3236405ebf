"""Finds the bytes of an output that could act on a terminal and are none of memcli's own."""

from __future__ import annotations

import re

# What memcli may say to a terminal: the styles of its display and session, links to files,
# the labelling session's own screen, and the moves of the progress bar.
STYLES = rb"\x1b\[(?:0|1|2|7|3[1-6]|1;3[1-6])m"
LINKS = rb"\x1b\]8;;(?:file://[!-~]*)?\x1b\\"
SCREEN = rb"\x1b\[(?:\?(?:1049|25|7|2004)[hl]|2J|H|K|J)"
BAR = rb"\x1b\[(?:2K|1A|[34]8;[0-9;]+m|[0-9;]*m)|\r"
OWN = {
    "text": re.compile(b"|".join((STYLES, LINKS))),
    "session": re.compile(b"|".join((STYLES, LINKS, SCREEN))),
    "progress": re.compile(b"|".join((STYLES, LINKS, SCREEN, BAR))),
}
# All of C0 but tab and line feed, DEL, C1 (U+0080 to U+009F), and the marks that reorder text.
HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Stands behind every sequence that the tests hide in names and texts, and behind none of ours.
MARK = "Zq"


def harm_in(output: bytes, *, own: str = "") -> list[str]:
    """What is left of control sequences once memcli's own are taken away; nothing is well.

    ``own`` names what may be there: nothing for a pipe; ``text`` on a terminal,
    a ``session``, or a ``progress`` bar.
    """
    found = []
    rest = output
    if own:
        # A style of ours is followed by text of ours; one out of a note brings its mark along.
        taken = re.compile(b"(?:" + OWN[own].pattern + b")" + MARK.encode())
        found += [repr(each.group()) for each in taken.finditer(output)]
        rest = OWN[own].sub(b"", output)
    if own == "session":
        rest = rest.replace(b"\r\n", b"\n")
    text = rest.decode("utf-8", "surrogateescape")
    for each in HARMFUL.finditer(text):
        around = text[max(0, each.start() - 30) : each.end() + 30]
        found.append(repr(around.encode("utf-8", "surrogateescape")))
    return found
