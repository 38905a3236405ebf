"""A local HTTP server with one file, that can be told to misbehave in every way a real one does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = b"<!doctype html><title>Sign in to this network</title>" * 20


@dataclass
class Served:
    """``behaviours`` are used one a request, the last one for all later requests.

    ``cut`` sends half of what it announced, ``short`` announces half of the file,
    ``long`` announces more than there is, ``page`` answers 200 with HTML, ``whole``
    ignores Range, ``refuse`` answers 416, ``elsewhere`` resumes at a wrong place,
    ``missing`` answers 404, ``silent`` never answers, ``down`` redirects to plain
    ftp, ``redirect`` to itself; ``good`` does as asked.
    """

    data: bytes
    behaviours: Sequence[str] = ("good",)
    etag: str = '"first"'
    url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def next_behaviour(self) -> str:
        return self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]


@contextmanager
def serving(data: bytes, *behaviours: str) -> Iterator[Served]:
    """Serve ``data`` on 127.0.0.1 until the block ends."""
    served = Served(data, behaviours or ("good",))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.requests.append(dict(self.headers.items()))
            _answer(self, served, served.next_behaviour())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_address[1]}/model.gguf"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.done.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(handler: BaseHTTPRequestHandler, served: Served, behaviour: str) -> None:
    if behaviour == "silent":
        served.done.wait(30)
    elif behaviour == "missing":
        handler.send_error(404)
    elif behaviour in _FIXED:
        status, body, headers = _FIXED[behaviour]
        _send(handler, status, body, headers)
    elif behaviour == "redirect":
        _send(handler, 302, b"", {"Location": served.url + "?there"})
    else:
        _send_file(handler, served, behaviour)


_FIXED = {
    "page": (200, PAGE, {"Content-Type": "text/html; charset=utf-8"}),
    "refuse": (416, b"", {"Content-Range": "bytes */1"}),
    "down": (302, b"", {"Location": "ftp://127.0.0.1/model.gguf"}),
}


def _send_file(handler: BaseHTTPRequestHandler, served: Served, behaviour: str) -> None:
    total = len(served.data)
    start = _start(handler, served) if behaviour != "whole" else 0
    headers = {"ETag": served.etag, "Content-Type": "application/octet-stream"}
    if start:
        first = start + (behaviour == "elsewhere")
        headers["Content-Range"] = f"bytes {first}-{total - 1}/{total}"
    body = served.data[start:]
    half = body[: len(body) // 2]
    sent = half if behaviour in ("cut", "short") else body
    announced = {"short": len(half), "long": len(body) + 1000}.get(behaviour, len(body))
    _send(handler, 206 if start else 200, sent, headers, announced)


def _start(handler: BaseHTTPRequestHandler, served: Served) -> int:
    asked = handler.headers.get("Range", "")
    if not asked.startswith("bytes="):
        return 0
    unchanged = handler.headers.get("If-Range", served.etag) == served.etag
    return int(asked[6:].partition("-")[0]) if unchanged else 0


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str],
    announced: int | None = None,
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body) if announced is None else announced))
    handler.end_headers()
    handler.wfile.write(body)
    handler.close_connection = True
