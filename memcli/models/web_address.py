"""Open a web address: HTTP and HTTPS only, through the user's proxies, never back to plain text."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import urlsplit

from memcli.errors import InvalidInput


def host_of(url: str) -> str:
    """Host and port, without what may be a password before them."""
    return urlsplit(url).netloc.rpartition("@")[2]


def check_address(url: str) -> None:
    """Raise ``InvalidInput`` ``usage`` for anything but an http or https address."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise InvalidInput(
            "usage", f"{url!r} is no http or https address", "Give --url https://..."
        )


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects are followed, but never from an encrypted connection to a plain one."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise urllib.error.URLError("it redirects to an unencrypted address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def web_opener(environ: Mapping[str, str]) -> urllib.request.OpenerDirector:
    """Only HTTP and HTTPS, through the proxies that the environment names."""
    proxies = {}
    for scheme in ("http", "https"):
        name = f"{scheme}_proxy"
        if address := environ.get(name) or environ.get(name.upper()):
            proxies[scheme] = address
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        _SafeRedirects(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener
