"""Hyperlinks in a terminal (OSC 8), where the terminal is known to make links of them.

The sequence: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from memcli.cli.display import Display

# Set by a terminal that follows links, whatever it calls itself in TERM.
_MARKS = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM", "GHOSTTY_RESOURCES_DIR")
_PROGRAMS = frozenset(
    {"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "mintty", "zed"}
)
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
# GNOME Terminal and its like since VTE 0.50.
_FIRST_VTE = 5000
_SWITCHED_OFF = ("", "0", "false", "no")


def knows_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal that ``environ`` describes makes links of OSC 8.

    Some of those that do not know it print the address, so an unknown one
    gets none. ``FORCE_HYPERLINK`` (0 or 1) decides for it, as for other
    programs; ``MEMCLI_NO_LINKS`` says no to memcli alone.
    """
    if environ.get("MEMCLI_NO_LINKS", "").lower() not in _SWITCHED_OFF:
        return False
    term = environ.get("TERM", "")
    if term == "dumb":
        return False
    if (forced := environ.get("FORCE_HYPERLINK")) is not None:
        return forced.lower() not in _SWITCHED_OFF
    vte = environ.get("VTE_VERSION", "")
    return (
        term.startswith(_TERMS)
        or environ.get("TERM_PROGRAM") in _PROGRAMS
        or (vte.isdigit() and int(vte) >= _FIRST_VTE)
        or any(environ.get(mark) for mark in _MARKS)
    )


def shows_links(display: Display) -> bool:
    """Whether results of this command carry links: stdout is a terminal that knows them."""
    environment = display.environment
    return environment.stdout_is_terminal and not display.json and knows_links(environment.environ)


def linked(display: Display, text: str, file: Path | None) -> str:
    """``text``, already safe and styled, as a link to ``file`` where links are shown."""
    if file is None or not shows_links(display):
        return text
    return f"\x1b]8;;{address(file)}\x1b\\{text}\x1b]8;;\x1b\\"


def address(file: Path, host: str | None = None) -> str:
    """``file://host/path``, every byte but plain ASCII escaped: nothing in it ends the sequence.

    The host tells a terminal that shows another machine's files that they are not its own.
    """
    # The bytes of the path as on disk, which need not be UTF-8.
    path = quote(os.fsencode(file.absolute()), safe="/")
    name = quote(socket.gethostname() if host is None else host, safe="")
    return f"file://{name}{path if path.startswith('/') else '/' + path}"
