"""Which addresses are public, and that each place on the way to a file is connected to as it was checked."""

from __future__ import annotations

import io
import socket
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Video
from polymeter.core.errors import DataError
from polymeter.data.fetching import addresses
from polymeter.data.fetching.addresses import is_public
from polymeter.data.fetching.fetch import download, fetch_named_by_data
from polymeter.data.video import frames
from tests.helpers.file_server import Reply, serve

PUBLIC = ["8.8.8.8", "1.1.1.1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700:4700::1111"]
PRIVATE = [
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("100.100.100.200", "224.0.0.1", "239.1.1.1", "255.255.255.255", "168.63.129.16", "192.0.0.192", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "fec0::1"),
    *("::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "::127.0.0.1", "no address", ""),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.fixture(autouse=True)
def one_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 stands for a public address, and the rest of 127.0.0.0/8 for what is not."""
    real = addresses.is_public
    monkeypatch.setattr(addresses, "is_public", lambda text: text == "127.0.0.1" or real(text))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("polymeter.data.fetching.fetch._WAIT_S", 0)


def fetched(url: str) -> bytes:
    buffer = io.BytesIO()
    fetch_named_by_data(url, buffer, max_bytes=100)
    return buffer.getvalue()


def test_redirects_are_followed_as_long_as_each_place_is_public() -> None:
    with serve({"/b": Reply(b"here")}) as server:
        server.replies["/a"] = Reply(status=302, headers={"Location": "/b", "Set-Cookie": "a=b"})
        assert fetched(f"{server.url}/a") == b"here"
        port = server.url.rpartition(":")[2]
        for place in (
            f"http://127.0.0.2:{port}/b",
            f"http://localhost.localdomain@127.0.0.1:{port}/b",
            "file:///etc/passwd",
        ):
            server.replies["/a"] = Reply(status=302, headers={"Location": place})
            with pytest.raises(DataError, match=r"not a public address|user name|not an http"):
                fetched(f"{server.url}/a")
        server.replies["/a"] = Reply(status=302, headers={"Location": "/a"})
        with pytest.raises(DataError, match="redirected more than"):
            fetched(f"{server.url}/a")
        assert server.asked["/b"] == 1


def test_a_name_is_resolved_once_and_connected_to_as_it_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    real, answers = socket.getaddrinfo, iter(["127.0.0.1", "127.0.0.2"])

    def rebinding(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        return real(next(answers) if host == "rebinding.example" else host, port, *args, **kwargs)

    with serve({"/a": Reply(b"here")}) as server:
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        port = server.url.rpartition(":")[2]
        assert fetched(f"http://rebinding.example:{port}/a") == b"here"
        with pytest.raises(DataError, match=r"127\.0\.0\.2, which is not a public address"):
            fetched(f"http://rebinding.example:{port}/a")


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port)) for place in ("127.0.0.1", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    with pytest.raises(DataError, match=r"10\.0\.0\.1, which is not a public address"):
        fetched("http://two.example/a")


def test_what_code_names_is_its_authors_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "is_public", lambda text: False)
    with serve({"/b": Reply(b"table")}) as server:
        assert download(f"{server.url}/b", tmp_path / "t.tsv", md5=None).read_bytes() == b"table"


def test_the_size_is_bounded() -> None:
    with serve({"/b": Reply(b"x" * 101)}) as server, pytest.raises(DataError, match="at most 100 are accepted"):
        fetched(f"{server.url}/b")


def test_a_video_at_a_private_address_and_one_behind_a_playlist_are_not_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("av")
    with serve({"/v.mp4": Reply(b"x"), "/x.ts": Reply(b"x")}) as server:
        with pytest.raises(DataError, match="not a public address"):
            frames(Video(server.url.replace("127.0.0.1", "127.0.0.2") + "/v.mp4"), n=1)
        playlist = tmp_path / "list.m3u8"
        playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{server.url}/x.ts\n#EXT-X-ENDLIST\n")
        for source in (playlist, playlist.read_bytes()):
            with pytest.raises(DataError):
                frames(Video(source), n=1)
        assert not server.asked
