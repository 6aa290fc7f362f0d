"""Single files from URLs: verified after the download, bounded, whole or not at all."""

import gzip
import hashlib
import io
import logging
import os
from threading import Thread

import httpx
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context_with
from polymeter.data.fetching import fetch
from polymeter.data.fetching.fetch import download, fetched_image, md5_of, size_of
from tests.helpers.file_server import Reply, serve

TABLE = b"index\tprompt\n1\ta cat\n"
MD5 = hashlib.md5(TABLE).hexdigest()
OTHER = "0" * 32


@pytest.fixture(autouse=True)
def online(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.setattr(fetch, "_WAIT_S", 0)


@pytest.fixture
def server():
    with serve({"/t.tsv": Reply(TABLE)}) as running:
        yield running


def encoded(kind="PNG", size=(6, 4)):
    buffer = io.BytesIO()
    pil.new("RGB", size, (10, 20, 30)).save(buffer, kind)
    return buffer.getvalue()


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_fetched_and_verified(server, tmp_path):
    target = tmp_path / "deep" / "t.tsv"
    assert download(f"{server.url}/t.tsv", target, md5=MD5.upper()) == target
    assert target.read_bytes() == TABLE
    assert files(tmp_path) == ["t.tsv"]


def test_a_wrong_md5_after_the_download_leaves_nothing(server, tmp_path):
    with pytest.raises(DataError, match=rf"has MD5 {MD5}, not {OTHER}; it was deleted"):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=OTHER)
    assert files(tmp_path) == []


def test_a_wrong_md5_leaves_the_former_file_as_it_was(server, tmp_path):
    (tmp_path / "t.tsv").write_text("mine")
    with pytest.raises(DataError, match="not " + OTHER):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=OTHER)
    assert (tmp_path / "t.tsv").read_text() == "mine"
    assert files(tmp_path) == ["t.tsv"]


def test_what_is_there_with_the_right_md5_is_not_fetched(server, tmp_path):
    (tmp_path / "t.tsv").write_bytes(TABLE)
    download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=MD5)
    assert not server.asked


@pytest.mark.parametrize("promised", [None, -1])
def test_a_file_that_is_too_large_is_refused_however_it_comes(server, tmp_path, promised):
    server.replies["/t.tsv"] = Reply(b"x" * 5000, promised=promised)
    with pytest.raises(DataError, match=r"t\.tsv gives \d+ bytes or more; at most 4000 are accepted"):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=MD5, max_bytes=4000)
    assert files(tmp_path) == []


def test_a_file_that_is_cut_off_is_an_error_after_a_second_try(server, tmp_path):
    server.replies["/t.tsv"] = Reply(TABLE, promised=len(TABLE) + 10)
    with pytest.raises(DataError, match=r"Fetching http.*raised RemoteProtocolError"):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None)
    assert server.asked["/t.tsv"] == 2
    assert files(tmp_path) == []


LARGE = bytes(range(256)) * 12_000  # about 3 MB
LARGE_MD5 = hashlib.md5(LARGE).hexdigest()


def broken_off(server, target, md5, **headers):
    """A download of ``LARGE`` that got two thirds of it in two attempts."""
    server.replies["/t.tsv"] = Reply(LARGE, headers=headers, has_ranges=True, cut_after=1_300_000)
    with pytest.raises(DataError, match="RemoteProtocolError"):
        download(f"{server.url}/t.tsv", target, md5=md5)
    server.replies["/t.tsv"] = Reply(LARGE, headers=headers, has_ranges=True)
    server.starts.clear()


@pytest.mark.parametrize(
    ("md5", "headers"),
    [(LARGE_MD5, {}), (None, {"ETag": '"one"'}), (None, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})],
)
def test_a_large_download_that_broke_off_goes_on(server, tmp_path, md5, headers):
    target = tmp_path / "t.tsv"
    broken_off(server, target, md5, **headers)
    assert files(tmp_path) == [".t.tsv.part", ".t.tsv.part.json"]
    told = []
    with guest_context_with(bytes_arrived=told.append):
        assert download(f"{server.url}/t.tsv", target, md5=md5).read_bytes() == LARGE
    assert server.starts == [2 << 20]
    assert sum(told) == len(LARGE)
    assert files(tmp_path) == ["t.tsv"]


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"one"'}])
def test_without_anything_that_tells_two_files_apart_a_download_begins_again(server, tmp_path, headers):
    broken_off(server, tmp_path / "t.tsv", None, **headers)
    assert files(tmp_path) == []
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None).read_bytes() == LARGE
    assert server.starts == [0]


def test_halves_of_two_files_are_never_put_together(server, tmp_path):
    broken_off(server, tmp_path / "t.tsv", None, ETag='"one"')
    other = LARGE[::-1]
    server.replies["/t.tsv"] = Reply(other, headers={"ETag": '"two"'}, has_ranges=True)
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None).read_bytes() == other


def test_with_an_md5_a_wrong_beginning_is_thrown_away_and_the_file_fetched_whole(server, tmp_path):
    target, other = tmp_path / "t.tsv", b"x" + LARGE[1:]
    broken_off(server, target, hashlib.md5(other).hexdigest())
    server.replies["/t.tsv"] = Reply(other, has_ranges=True)
    assert download(f"{server.url}/t.tsv", target, md5=hashlib.md5(other).hexdigest()).read_bytes() == other
    assert server.starts == [2 << 20, 0]
    assert files(tmp_path) == ["t.tsv"]


def test_what_was_kept_of_another_address_or_md5_is_not_used(server, tmp_path):
    target = tmp_path / "t.tsv"
    broken_off(server, target, LARGE_MD5)
    assert download(f"{server.url}/t.tsv", target, md5=None).read_bytes() == LARGE
    assert server.starts == [0]


def test_a_beginning_that_is_longer_than_the_file_is_thrown_away(server, tmp_path):
    target = tmp_path / "t.tsv"
    broken_off(server, target, None, ETag='"one"')
    short = LARGE[:1000]
    server.replies["/t.tsv"] = Reply(short, headers={"ETag": '"one"'}, has_ranges=True)
    assert download(f"{server.url}/t.tsv", target, md5=None).read_bytes() == short


@pytest.mark.parametrize(
    ("sends", "tag"),
    [
        ((2 << 20, len(LARGE) - 1), '"two"'),  # If-Range was not understood
        ((2 << 20, (2 << 20) + 9_999), '"one"'),  # a part of what was asked for
        ((100, len(LARGE) - 1), '"one"'),  # from another byte on
    ],
)
def test_a_rest_that_is_not_the_rest_is_not_taken(server, tmp_path, sends, tag):
    broken_off(server, tmp_path / "t.tsv", None, ETag='"one"')
    other = LARGE[::-1]
    server.replies["/t.tsv"] = Reply(other, headers={"ETag": tag}, has_ranges=True, sends=sends)
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None).read_bytes() == other
    assert server.starts == [2 << 20, 0]


def test_a_second_try_does_not_go_on_where_nothing_tells_that_the_file_is_the_same(server, tmp_path):
    other = LARGE[::-1]
    replies = iter([Reply(LARGE, has_ranges=True, cut_after=1_300_000), Reply(other, has_ranges=True)])
    server.replies["/t.tsv"] = lambda: next(replies)
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None).read_bytes() == other
    assert server.starts == [0, 0]


def test_with_an_md5_a_file_that_changed_between_two_tries_is_fetched_whole(server, tmp_path):
    other = b"x" + LARGE[1:]
    replies = iter([Reply(LARGE, has_ranges=True, cut_after=1_300_000), *[Reply(other, has_ranges=True)] * 2])
    server.replies["/t.tsv"] = lambda: next(replies)
    md5 = hashlib.md5(other).hexdigest()
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=md5).read_bytes() == other


def test_nothing_is_kept_of_what_comes_compressed(server, tmp_path):
    packed = gzip.compress(os.urandom(3_000_000))
    headers = {"Content-Encoding": "gzip", "ETag": '"one"'}
    server.replies["/t.tsv"] = Reply(packed, headers=headers, has_ranges=True, cut_after=2_000_000)
    with pytest.raises(DataError):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None)
    assert files(tmp_path) == []
    server.replies["/t.tsv"] = Reply(packed, headers=headers, has_ranges=True)
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=None).read_bytes() == gzip.decompress(packed)


def test_nothing_is_kept_of_a_file_that_is_too_large(server, tmp_path):
    server.replies["/t.tsv"] = Reply(LARGE, promised=-1)
    with pytest.raises(DataError, match=r"at most \d+ are accepted"):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=LARGE_MD5, max_bytes=2_500_000)
    assert files(tmp_path) == []


def test_the_size_of_a_file_is_what_its_server_says(server, tmp_path):
    assert size_of(f"{server.url}/t.tsv") == len(TABLE)
    server.replies["/t.tsv"] = Reply(TABLE, promised=-1)
    assert size_of(f"{server.url}/t.tsv") is None
    for has_ranges in (True, False):
        server.replies["/t.tsv"] = Reply(TABLE, refuses_head=True, has_ranges=has_ranges)
        assert size_of(f"{server.url}/t.tsv") == len(TABLE)
    server.replies["/t.tsv"] = Reply(status=503)
    assert size_of(f"{server.url}/t.tsv") is None
    with guest_context_with(is_offline=True):
        assert size_of(f"{server.url}/no.tsv") is None
    with pytest.raises(DataError, match=r"/no\.tsv answers 404"):
        size_of(f"{server.url}/no.tsv")
    (tmp_path / "t.tsv").write_bytes(TABLE)
    assert size_of((tmp_path / "t.tsv").as_uri()) == len(TABLE)


def test_a_failing_server_is_asked_again(server, tmp_path):
    replies = iter([Reply(status=503), Reply(TABLE)])
    server.replies["/t.tsv"] = lambda: next(replies)
    assert download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=MD5).read_bytes() == TABLE


def test_a_refusal_is_final(server, tmp_path):
    with pytest.raises(DataError, match=r"/no\.tsv answers 404 Not Found"):
        download(f"{server.url}/no.tsv", tmp_path / "t.tsv", md5=None)
    assert server.asked["/no.tsv"] == 1
    assert files(tmp_path) == []


def test_no_token_is_in_a_message_or_log(server, tmp_path, caplog):
    url = f"{server.url.replace('//', '//user:hunter2@')}/no.tsv?token=hunter2"
    with caplog.at_level(logging.DEBUG, "polymeter"), pytest.raises(DataError, match=r"answers 404") as raised:
        download(url, tmp_path / "t.tsv", md5=None)
    assert "hunter2" not in str(raised.value) + caplog.text


def test_redirects_are_followed(server, tmp_path):
    server.replies["/old"] = Reply(status=302, headers={"Location": "/t.tsv"})
    assert download(f"{server.url}/old", tmp_path / "t.tsv", md5=MD5).read_bytes() == TABLE


@pytest.mark.parametrize("hops", [["https://a/1", "http://b/2", "https://c/3"], ["https://a/1", "http://b/2"]])
def test_no_step_of_a_way_that_begins_verified_may_be_unverified(hops):
    *passed, last = [httpx.Response(200, request=httpx.Request("GET", url)) for url in hops]
    last.history = passed
    with pytest.raises(DataError, match=r"https://a/1 leads to b over plain http"):
        fetch._check_tls("https://a/1", last)
    last.history, last.request = passed[:1], httpx.Request("GET", "https://c/3")
    fetch._check_tls("https://a/1", last)


def test_plain_http_warns_only_without_an_md5(server, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "polymeter"):
        download(f"{server.url}/t.tsv", tmp_path / "a", md5=MD5)
        assert "its content is not verified" not in caplog.text
        download(f"{server.url}/t.tsv", tmp_path / "b", md5=None)
    assert "not fetched over TLS and has no MD5" in caplog.text


def test_a_file_url_is_copied_also_offline(tmp_path):
    source = tmp_path / "a b.tsv"
    source.write_bytes(TABLE)
    target = tmp_path / "there" / "t.tsv"
    assert download(source.as_uri(), target, md5=MD5, is_offline=True).read_bytes() == TABLE
    with pytest.raises(DataError, match="there is no such file"):
        download((tmp_path / "no").as_uri(), tmp_path / "n", md5=MD5)
    with pytest.raises(DataError, match=r"on another machine \(host\)"):
        download("file://host/x", tmp_path / "n", md5=MD5)
    with pytest.raises(DataError, match="at most 10 are accepted"):
        download(source.as_uri(), tmp_path / "n", md5=MD5, max_bytes=10)


def test_offline_refuses_by_option_and_by_environment(server, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="not fetched: the run is offline"):
        download(f"{server.url}/t.tsv", tmp_path / "t.tsv", md5=MD5, is_offline=True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="not fetched: the run is offline"):
        fetched_image(f"{server.url}/t.png", tmp_path)
    assert not server.asked


@pytest.mark.parametrize("url", ["ftp://x/y", "t.tsv", "javascript:1"])
def test_other_addresses_are_refused(url, tmp_path):
    with pytest.raises(DataError, match="only https, http and file addresses"):
        download(url, tmp_path / "t", md5=None)


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Fetching http://127\.0\.0\.1:9/x raised ConnectError"):
        download("http://127.0.0.1:9/x", tmp_path / "t", md5=None)


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"Putting http.* at .*file/t\.tsv raised"):
        download(f"{server.url}/t.tsv", tmp_path / "file" / "t.tsv", md5=MD5)


def test_a_file_that_many_want_is_fetched_once(server, tmp_path):
    wanting = [
        Thread(target=download, args=(f"{server.url}/t.tsv", tmp_path / "t.tsv"), kwargs={"md5": MD5}) for _ in range(6)
    ]
    for thread in wanting:
        thread.start()
    for thread in wanting:
        thread.join()
    assert md5_of(tmp_path / "t.tsv") == MD5
    assert files(tmp_path) == ["t.tsv"]
    assert server.asked["/t.tsv"] <= 2


@pytest.mark.parametrize(("kind", "suffix"), [("PNG", ".png"), ("JPEG", ".jpg"), ("WEBP", ".webp")])
def test_an_image_is_fetched_once_and_kept_as_it_is(server, tmp_path, kind, suffix):
    data = encoded(kind)
    server.replies["/i?size=1"] = Reply(data)
    first = fetched_image(f"{server.url}/i?size=1", tmp_path)
    assert fetched_image(f"{server.url}/i?size=1", tmp_path, is_offline=True) == first
    assert (first.read_bytes(), first.suffix) == (data, suffix)
    assert server.asked["/i?size=1"] == 1


@pytest.mark.parametrize("body", [b"<html>not here</html>", encoded()[:45], b""])
def test_what_is_no_image_is_refused_and_not_kept(server, tmp_path, body):
    server.replies["/i.png"] = Reply(body)
    with pytest.raises(DataError, match=r"Decoding what http.*/i\.png gives as an image"):
        fetched_image(f"{server.url}/i.png", tmp_path)
    assert files(tmp_path) == []


def test_an_image_is_bounded(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_IMAGE_BYTES", 50)
    server.replies["/i.png"] = Reply(encoded(size=(200, 200)))
    with pytest.raises(DataError, match="at most 50 are accepted"):
        fetched_image(f"{server.url}/i.png", tmp_path)


def test_only_http_addresses_name_images(tmp_path):
    with pytest.raises(DataError, match="is not an address that an image can be fetched from"):
        fetched_image("file:///etc/passwd", tmp_path)
