"""A truncated, exchanged or captive download is never taken for the model (F28)."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest
from model_server import Served, serving

from memcli.errors import Conflict, Failure, InvalidInput, MemcliError
from memcli.models.downloading import Download, download

DATA = b"GGUF" + bytes(range(256)) * 3000
DIGEST = hashlib.sha256(DATA).hexdigest()


def fetch(
    served: Served, folder: Path, *, sha256: str = DIGEST, size: int | None = len(DATA)
) -> str:
    return download(Download(served.url, folder / "m.gguf", size, sha256), timeout=5)


def failure(served: Served, folder: Path, *, sha256: str = DIGEST, size: int | None = None) -> str:
    with pytest.raises(Failure) as caught:
        fetch(served, folder, sha256=sha256, size=size)
    assert caught.value.code == "download_failed"
    assert not (folder / "m.gguf").exists()
    return f"{caught.value.message} {caught.value.hint}"


def left(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name != "m.gguf.lock")


def test_a_good_server_gives_the_file_and_nothing_else_stays(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    target = tmp_path / "new" / "m.gguf"
    with serving(DATA) as served:
        digest = download(
            Download(served.url, target, len(DATA), DIGEST),
            lambda present, total: told.append((present, total)),
        )
    assert digest == DIGEST
    assert target.read_bytes() == DATA
    assert left(target.parent) == ["m.gguf"]
    assert told[-1] == (len(DATA), len(DATA))
    assert [present for present, _ in told] == sorted(present for present, _ in told)


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        with serving(DATA, "cut", "good") as served:
            folder = tmp_path / "models"
            failure(served, folder)
            for each in folder.iterdir():
                assert stat.S_IMODE(each.stat().st_mode) == 0o600, each
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            fetch(served, folder)
            assert stat.S_IMODE((folder / "m.gguf").stat().st_mode) == 0o600
    finally:
        os.umask(old_mask)


def test_a_cut_download_says_what_is_kept_and_goes_on_from_there(tmp_path: Path) -> None:
    with serving(DATA, "cut", "good") as served:
        message = failure(served, tmp_path)
        assert f"{len(DATA) // 2} of {len(DATA)} bytes are kept" in message
        fetch(served, tmp_path)
        assert served.requests[1]["Range"] == f"bytes={len(DATA) // 2}-"
        assert served.requests[1]["If-Range"] == served.etag
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_several_cuts_in_a_row_are_resumed_each_time(tmp_path: Path) -> None:
    with serving(DATA, "cut", "cut", "cut", "good") as served:
        for _ in range(3):
            failure(served, tmp_path)
        fetch(served, tmp_path)
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_another_file_by_then_is_fetched_anew_and_not_glued_to_the_old_part(
    tmp_path: Path,
) -> None:
    with serving(DATA, "cut", "good") as served:
        failure(served, tmp_path)
        served.data, served.etag = b"GGUF" + DATA[:4:-1], '"second"'
        wanted = hashlib.sha256(served.data).hexdigest()
        fetch(served, tmp_path, sha256=wanted, size=None)
        assert (tmp_path / "m.gguf").read_bytes() == served.data


def test_a_server_that_ignores_range_is_read_from_the_beginning(tmp_path: Path) -> None:
    with serving(DATA, "cut", "whole") as served:
        failure(served, tmp_path)
        fetch(served, tmp_path)
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_a_refused_range_begins_again(tmp_path: Path) -> None:
    with serving(DATA, "cut", "refuse", "good") as served:
        failure(served, tmp_path)
        fetch(served, tmp_path)
        assert "Range" not in served.requests[-1]
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_a_server_that_resumes_elsewhere_is_not_believed(tmp_path: Path) -> None:
    with serving(DATA, "cut", "elsewhere", "good") as served:
        failure(served, tmp_path)
        assert "another place" in failure(served, tmp_path)
        fetch(served, tmp_path)
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_a_sign_in_page_is_refused_and_leaves_what_is_kept_alone(tmp_path: Path) -> None:
    with serving(DATA, "page") as served:
        assert "page (text/html)" in failure(served, tmp_path)
        assert left(tmp_path) == []
    with serving(DATA, "cut", "page", "good") as served:
        failure(served, tmp_path)
        kept = (tmp_path / "m.gguf.part").read_bytes()
        assert "no GGUF" in failure(served, tmp_path)
        assert (tmp_path / "m.gguf.part").read_bytes() == kept
        fetch(served, tmp_path)
    assert (tmp_path / "m.gguf").read_bytes() == DATA


def test_a_length_that_is_not_the_known_one_is_refused_at_once(tmp_path: Path) -> None:
    for behaviour in ("short", "long"):
        with serving(DATA, behaviour) as served:
            message = failure(served, tmp_path, size=len(DATA))
            assert f"the file has {len(DATA)}" in message
            assert left(tmp_path) == []


def test_a_length_that_is_a_lie_is_found_by_what_comes_or_by_the_digest(tmp_path: Path) -> None:
    with serving(DATA, "long") as served:
        assert f"{len(DATA)} of {len(DATA) + 1000} bytes are kept" in failure(served, tmp_path)
    with serving(DATA, "short") as served:
        assert "SHA-256" in failure(served, tmp_path / "other")
        assert left(tmp_path / "other") == []


def test_wrong_bytes_of_the_right_length_are_deleted(tmp_path: Path) -> None:
    with serving(DATA[:-5] + b"wrong") as served:
        assert "SHA-256" in failure(served, tmp_path, size=len(DATA))
    assert left(tmp_path) == []


def test_without_a_known_digest_only_the_form_is_checked(tmp_path: Path) -> None:
    with serving(DATA, "cut", "good") as served:
        failure(served, tmp_path, sha256="")
        assert fetch(served, tmp_path, sha256="", size=None) == DIGEST


def test_a_part_without_validator_is_resumed_only_where_the_digest_will_tell(
    tmp_path: Path,
) -> None:
    with serving(DATA, "cut", "good") as served:
        served.etag = 'W/"weak"'
        failure(served, tmp_path / "a", sha256="")
        fetch(served, tmp_path / "a", sha256="", size=None)
        assert "Range" not in served.requests[-1]
    with serving(DATA, "cut", "good") as served:
        served.etag = 'W/"weak"'
        failure(served, tmp_path / "b")
        fetch(served, tmp_path / "b")
        assert "Range" in served.requests[-1]


def test_a_complete_part_is_finished_without_a_request(tmp_path: Path) -> None:
    with serving(DATA, "cut", "good") as served:
        failure(served, tmp_path)
        (tmp_path / "m.gguf.part").write_bytes(DATA)
        fetch(served, tmp_path)
        assert len(served.requests) == 1


def test_a_garbled_note_or_part_begins_again(tmp_path: Path) -> None:
    for spoil in (b"{", b'{"url": 1}', b"[]"):
        with serving(DATA, "cut", "good") as served:
            failure(served, tmp_path)
            (tmp_path / "m.gguf.part.json").write_bytes(spoil)
            fetch(served, tmp_path)
        assert (tmp_path / "m.gguf").read_bytes() == DATA
        (tmp_path / "m.gguf").unlink()


def test_missing_files_and_silent_servers_are_named(tmp_path: Path) -> None:
    with serving(DATA, "missing") as served:
        message = failure(served, tmp_path)
        assert "404" in message
        assert "--url" in message
    with serving(DATA, "silent") as served:
        wanted = Download(served.url, tmp_path / "m.gguf")
        with pytest.raises(Failure, match="does not answer"):
            download(wanted, timeout=0.2)
    with pytest.raises(Failure, match="refused") as caught:
        download(Download("http://127.0.0.1:9/m.gguf", tmp_path / "m.gguf"), timeout=5)
    assert caught.value.code == "download_failed"


def test_redirects_are_followed_within_http_only(tmp_path: Path) -> None:
    with serving(DATA, "redirect", "good") as served:
        fetch(served, tmp_path)
    (tmp_path / "m.gguf").unlink()
    with serving(DATA, "down") as served:
        failure(served, tmp_path)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://a/b", "models/x.gguf", "http:///x"])
def test_only_web_addresses_are_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput):
        download(Download(url, tmp_path / "m.gguf"))


def test_two_downloads_of_one_file_do_not_mix(tmp_path: Path) -> None:
    with serving(DATA, "good") as served:
        seen: list[MemcliError] = []

        def again(present: int, total: int) -> None:
            with pytest.raises(Conflict) as caught:
                fetch(served, tmp_path)
            seen.append(caught.value)

        download(Download(served.url, tmp_path / "m.gguf", len(DATA), DIGEST), again)
    assert seen[0].code == "busy"


def test_an_interrupted_download_is_resumed(tmp_path: Path) -> None:
    def interrupt(present: int, total: int) -> None:
        raise KeyboardInterrupt

    with serving(DATA) as served:
        wanted = Download(served.url, tmp_path / "m.gguf", len(DATA), DIGEST)
        with pytest.raises(KeyboardInterrupt):
            download(wanted, interrupt)
        assert not wanted.target.exists()
        download(wanted)
        assert "Range" in served.requests[1]
    assert wanted.target.read_bytes() == DATA
