"""Bytes from a terminal as keys: characters, names for the special ones, pasted text."""

from __future__ import annotations

import re

from memcli.cli.labelling.events import Key, Paste

ESCAPE = b"\x1b"
PASTE_END = b"\x1b[201~"
CONTROL = {
    0x03: "ctrl-c",
    0x04: "ctrl-d",
    0x08: "backspace",
    0x09: "tab",
    0x0A: "enter",
    0x0C: "ctrl-l",
    0x0D: "enter",
    0x15: "ctrl-u",
    0x17: "ctrl-w",
    0x1A: "ctrl-z",
    0x7F: "backspace",
}
# CSI (ESC [) and SS3 (ESC O) sequences; modifiers are left out of account.
SEQUENCE = re.compile(rb"\x1b(?:\[([0-9;?<=>]*)[ -/]*([@-~])|O([ -~]))")
UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;?<=>]*[ -/]*|O)?\Z")
BY_FINAL = {
    b"A": "up",
    b"B": "down",
    b"C": "right",
    b"D": "left",
    b"F": "end",
    b"H": "home",
    b"M": "enter",
    b"Z": "backtab",
}
BY_NUMBER = {
    b"1": "home",
    b"3": "delete",
    b"4": "end",
    b"5": "pageup",
    b"6": "pagedown",
    b"7": "home",
    b"8": "end",
}


def decode(data: bytes) -> tuple[list[Key | Paste], bytes]:
    """The keys in ``data``, and the beginning of one that is not whole yet.

    That beginning may be a lone escape: only waiting tells whether it is the key.
    """
    keys: list[Key | Paste] = []
    at = 0
    while at < len(data):
        if data.startswith(ESCAPE, at):
            key, end = _sequence(data, at)
        else:
            key, end = _character(data, at)
        if end == at:
            break
        if key is not None:
            keys.append(key)
        at = end
    return keys, data[at:]


def _sequence(data: bytes, at: int) -> tuple[Key | Paste | None, int]:
    """A key and where it ends; ``at`` itself while it is not whole, no key where it has no name."""
    if found := SEQUENCE.match(data, at):
        number = found[1] or b""
        if found[2] == b"~" and number == b"200":
            return _pasted(data, at, found.end())
        names, value = (BY_NUMBER, number.split(b";")[0]) if found[2] == b"~" else (BY_FINAL, b"")
        name = names.get(value or found[2] or found[3])
        return (Key(name) if name else None), found.end()
    if UNFINISHED.match(data, at):
        return None, at
    if data.startswith(ESCAPE, at + 1):
        return Key("escape"), at + 1
    # Alt and a character: no key of ours; it must not be taken for the character.
    _, end = _character(data, at + 1)
    return None, max(end, at + 1) if end > at + 1 else at


def _pasted(data: bytes, start: int, at: int) -> tuple[Paste | None, int]:
    end = data.find(PASTE_END, at)
    if end < 0:
        return None, start
    return Paste(data[at:end].decode("utf-8", "replace")), end + len(PASTE_END)


def _character(data: bytes, at: int) -> tuple[Key | None, int]:
    first = data[at]
    if first < 0x20 or first == 0x7F:
        name = CONTROL.get(first)
        return (Key(name) if name else None), at + 1
    length = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    encoded = data[at : at + length]
    try:
        return Key(encoded.decode("utf-8")), at + length
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and at + len(encoded) == len(data):
            return None, at
        return None, at + max(1, error.end)
