"""Utilities that adapters of 1.x import, with values seen from the wheel 1.14.1."""

import asyncio
import base64
import datetime
import hashlib
import io
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState
from polymeter.interop.evalscope.v1.utils import code_blocks, files, images, packages, threads, uris
from polymeter.interop.evalscope.v1.utils.fetching import check_nltk_data, download_url, file_sha256
from polymeter.interop.evalscope.v1.utils.json_schema import json_schema
from polymeter.interop.evalscope.v1.utils.openai_messages import chat_messages_from_openai
from polymeter.interop.evalscope.v1.utils.reviews import ReviewResult
from polymeter.interop.evalscope.v1.utils.secret_values import get_secret_value, secretize_auth_headers
from polymeter.interop.evalscope.v1.utils.yes_no import extract_verdict

FENCED = "Sure:\n```python\nimport os\n\ndef f(x):\n    return x\n\nassert f(1)\n```\nand\n```cpp\nint main() {}\n```"


@dataclass
class Shape:
    """A shape."""

    sides: int
    made: datetime.datetime = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize(
    ("text", "verdict", "small"),
    [
        ("Yes, it is.", "YES", "YES"),
        ("NO", "NO", "NO"),
        ("Yes or No", None, None),
        ("I know nothing", None, None),
        ("yes.", None, "YES"),
        ("there is no evidence", None, None),
    ],
)
def test_a_verdict_is_one_word(text: str, verdict: str | None, small: str | None) -> None:
    assert extract_verdict(text) == verdict
    assert extract_verdict(text, allow_lowercase_exact=True) == small


@pytest.mark.parametrize(
    ("name", "safe"),
    [("Hello/World?.txt", "Hello_World_.txt"), ("", "untitled"), ("..a..", "a"), ("é ü/ß", "e_u"), ("a b\tc", "a_b_c")],
)
def test_a_text_becomes_a_name_of_a_file(name: str, safe: str) -> None:
    assert files.safe_filename(name) == safe


def test_a_long_name_keeps_its_ending() -> None:
    assert files.safe_filename("a" * 300 + ".jsonl", 10) == "aaaa.jsonl"


def test_values_become_what_json_holds() -> None:
    value = {"a": np.float32(1.5), "b": [np.int64(2), (np.bool_(True),)], "c": np.arange(2), "e": Path("/x")}
    plain = files.convert_normal_types({**value, "d": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)})
    assert plain == {"a": 1.5, "b": [2, (True,)], "c": [0, 1], "e": "/x", "d": "2020-01-01T00:00:00+00:00"}
    assert json.dumps(plain)


def test_records_are_written_and_read(tmp_path: Path) -> None:
    writer = files.JsonlWriter(str(tmp_path / "deep" / "a.jsonl"))
    writer.write({"a": "ü"})
    assert files.jsonl_to_list(tmp_path / "deep" / "a.jsonl") == [{"a": "ü"}]
    writer.close()
    writer.close()
    broken = tmp_path / "b.jsonl"
    broken.write_text('\ufeff{"a": 1}\n\n{bad\n[1]\n', encoding="utf-8")
    assert files.jsonl_to_list(broken, skip_invalid=True) == [{"a": 1}]
    with pytest.raises(json.JSONDecodeError):
        files.jsonl_to_list(broken)
    assert files.are_paths_same(str(broken), f"{tmp_path}/deep/../b.jsonl")
    assert files.current_time().tzinfo is None


@pytest.mark.parametrize(
    ("size", "n"), [(None, None), ("", None), (5.5, 5), ("12", 12), ("5MB", 5 * 2**20), ("1.5 gb", 3 * 2**29)]
)
def test_a_size_is_a_number_of_bytes(size: Any, n: int | None) -> None:
    assert images.parse_size(size) == n


@pytest.mark.parametrize("size", [0, -1, "0", "x", "5 xb"])
def test_what_is_no_size_is_refused(size: Any) -> None:
    with pytest.raises(ValueError, match="size"):
        images.parse_size(size)


def encoded(kind: str, size: tuple[int, int] = (20, 20)) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, format=kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "webp", "bmp", "tiff"])
def test_bytes_are_named_by_what_they_are(kind: str) -> None:
    text = images.bytes_to_base64(encoded(kind), add_header=True, guess_mimetype=True)
    assert text.startswith(f"data:image/{kind};base64,")


def test_bytes_are_named_by_what_is_said() -> None:
    assert images.bytes_to_base64(b"ab") == "YWI="
    assert (
        images.bytes_to_base64(b"ab", format="wav", content_type="audio", add_header=True)
        == "data:audio/wav;base64,YWI="
    )
    sound = images.bytes_to_base64(b"RIFF$\0\0\0WAVEfmt ", add_header=True, guess_mimetype=True)
    assert sound.startswith("data:audio/x-wav;")
    unknown = images.bytes_to_base64(b"ab", add_header=True, guess_mimetype=True)
    assert unknown == "data:image/png;base64,YWI="


def test_images_above_a_limit_shrink() -> None:
    large = encoded("png", (300, 300))
    assert images.compress_image_to_limit(large) == (large, "png")
    smaller, kind = images.compress_image_to_limit(large, 20_000)
    assert (kind, Image.open(io.BytesIO(smaller)).format) == ("jpeg", "JPEG")
    assert len(smaller) < len(large) / 4
    assert images.compress_image_to_limit(b"no image", 3) == (b"no image", "png")


def test_images_become_jpeg_or_png() -> None:
    for kind, found in (("png", "PNG"), ("jpeg", "JPEG"), ("webp", "JPEG")):
        text, named = images.convert_image_base64_format(base64.b64encode(encoded(kind)).decode())
        assert named == found
        assert images.base64_to_PIL(f"data:image/x;base64,{text}").format == found
    text = images.PIL_to_base64(Image.new("RGB", (1, 1)), format="PNG", add_header=True)
    assert text.startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize(
    ("place", "video", "audio"),
    [
        ("data:video/quicktime;base64,AA", "mov", "mp3"),
        ("data:audio/x-wav;base64,AA", "mp4", "wav"),
        ("http://x.y/a.AVI?b=1#c", "avi", "mp3"),
        ("/a/b.mpga", "mp4", "mp3"),
        (None, "mp4", "mp3"),
    ],
)
def test_the_format_of_a_medium_is_in_its_name(place: str | None, video: str, audio: str) -> None:
    assert (uris.guess_video_format(place), uris.guess_audio_format(place)) == (video, audio)


def test_data_uris_hold_files(tmp_path: Path) -> None:
    file = tmp_path / "a.mp4"
    file.write_bytes(b"ab")
    uri = uris.video_as_data_uri(str(file))
    assert uri == "data:video/mp4;base64,YWI="
    assert uris.file_as_data(uri) == (b"ab", "video/mp4")
    assert uris.file_as_data_uri(uri) == uri
    assert (uris.data_uri_to_base64(uri), uris.is_data_uri("x"), uris.is_http_url("https://x")) == ("YWI=", False, True)
    assert [uris.sanitize_endpoint(url) for url in ("https://u:p@X.y:80/a", "x y", None)] == ["x.y:80", None, None]


@pytest.mark.parametrize(
    ("settings", "code", "kind"),
    [
        ({"language": "python"}, "import os\n\ndef f(x):\n    return x\n\nassert f(1)\n\nint main() {}", "fenced"),
        (
            {"language": "python", "first_block_only": True, "remove_asserts": True},
            "import os\n\ndef f(x):\n    return x\n",
            "fenced",
        ),
        ({"language": "cpp", "code_block_idx": 1}, "", "fenced"),
        ({"language": "cpp", "code_block_idx": 7}, "", "fenced"),
    ],
)
def test_code_is_found_in_fences(settings: dict[str, Any], code: str, kind: str) -> None:
    assert code_blocks.extract_code_from_freeform_completion(FENCED, **settings) == (code, kind)


def test_code_is_found_without_fences() -> None:
    extract = code_blocks.extract_code_from_freeform_completion
    assert extract("```python\nx = 1", "python") == ("x = 1", "incomplete_fenced")
    assert extract("Here:\n\ndef f():\n    return 1\nbye", "python") == ("def f():\n    return 1\n", "heuristic")
    assert extract("nothing", "python") == ("", "empty")
    java = "```java\npublic class Main {\n int f() {}\n}\n```"
    assert extract(java, "java", declaration="import a;")[0] == "import a;\nclass Solution {\n int f() {}\n}"
    assert code_blocks.default_extract_helper(FENCED, "cpp") == "int main() {}"
    assert code_blocks.END_TOKENS["lua"] == ["\nend"]
    assert "import numpy as np" in code_blocks.IMPORT_HELPER["python"]


def test_a_missing_package_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert packages.check_import("json")
    assert not packages.check_import(["json", "no_such_module.x"], ["json", "no-such"], feature_name="This")
    assert "no_such_module.x" in caplog.text
    assert "no-such" in caplog.text
    with pytest.raises(ImportError, match=r"evalscope\[some\]"):
        packages.check_import("no_such_module", extra="some", raise_error=True)
    assert not packages.is_module_installed("no_such_module")


def test_documentation_may_miss_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_DOC", "1")
    assert packages.is_build_doc()
    assert not packages.check_import("no_such_module", raise_error=True)


def test_a_function_runs_once_and_one_thread_is_in_it() -> None:
    calls: list[int] = []

    @threads.run_once
    def once(value: int) -> int:
        calls.append(value)
        return value

    assert (once(1), once(2), calls) == (1, 1, [1])

    class Counter:
        inside = most = 0

        @threads.thread_safe
        def count(self) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.inside -= 1

    counter = Counter()
    started = [threading.Thread(target=counter.count) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert counter.most == 1


def test_a_call_is_tried_again() -> None:
    calls: list[int] = []

    def fail(until: int) -> int:
        calls.append(1)
        if len(calls) < until:
            raise KeyError(len(calls))
        return len(calls)

    assert threads.retry_call(fail, 3) == 3
    with pytest.raises(KeyError):
        threads.retry_call(fail, 9, no_retry_exceptions=(KeyError,))
    assert len(calls) == 4

    async def later(until: int) -> int:
        return fail(until)

    assert asyncio.run(threads.async_retry_call(later, 6)) == 6


def test_items_are_worked_on_in_threads_with_the_settings_of_the_run() -> None:
    failed: list[int] = []

    def work(item: int) -> str:
        if item == 2:
            raise ValueError(item)
        return f"{guest_context().data['x']}{item}"

    with guest_context_with(data={"x": "y"}):
        run = threads.run_in_threads_with_progress
        settings: dict[str, Any] = {"desc": "", "max_workers": 2, "on_error": lambda item, error: failed.append(item)}
        assert run([1, 2, 3], work, **settings) == ["y1", None, "y3"]
        assert run([1, 2, 3], work, skip_failed=True, **settings) == ["y1", "y3"]
        with pytest.raises(ValueError, match="2"):
            run([1, 2, 3], work, desc="", max_workers=1)
    assert failed == [2, 2]


def test_a_file_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"ab")
    assert file_sha256(str(file)) == hashlib.sha256(b"ab").hexdigest()
    download_url("https://example.invalid/a", str(file), sha256=file_sha256(str(file)))
    source = tmp_path / "source"
    source.write_bytes(b"cd")
    with pytest.raises(DataError, match="SHA-256"):
        download_url(source.as_uri(), str(tmp_path / "new" / "b"), sha256="0" * 64)
    assert not (tmp_path / "new" / "b").exists()
    download_url(source.as_uri(), str(file), force=True)
    assert file.read_bytes() == b"cd"
    check_nltk_data("nothing that adapters use")


def test_a_conversation_of_openais_form_is_read() -> None:
    parts = [{"type": "text", "text": "see"}, {"image_url": {"url": "u"}}, {"type": "video_url", "video_url": "v.mov"}]
    messages = chat_messages_from_openai(
        "m",
        [
            {"role": "developer", "content": "s"},
            {"role": "user", "content": parts},
            {
                "role": "assistant",
                "content": "<think>t</think> said",
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            },
            {"role": "tool", "content": "r", "tool_call_id": "1"},
            {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "why"},
        ],
    )
    system, user, answer, tool, refusal = (message.model_dump() for message in messages)
    assert (system["role"], system["content"]) == ("system", "s")
    assert [part["type"] for part in user["content"]] == ["text", "image", "video"]
    assert user["content"][2]["format"] == "mov"
    assert [part["type"] for part in answer["content"]] == ["reasoning", "text"]
    assert answer["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": 1}}
    assert tool["function"] == "f"
    assert refusal["content"][1]["refusal"] is True
    for wrong in ({"role": "odd", "content": ""}, {"role": "user", "content": [{"type": "odd"}]}):
        with pytest.raises(ValueError, match="odd"):
            chat_messages_from_openai("m", [wrong])


def test_a_review_of_an_earlier_run_is_read() -> None:
    line = {"index": 1, "target": " a ", "input": "hello", "sample_score": {"score": {"value": {"acc": 1}}}, "junk": 1}
    review = ReviewResult.from_cache_item(line)
    assert (review.target, review.messages_text) == (["a"], "**User**: hello")
    with pytest.raises(ValueError, match="empty list"):
        ReviewResult.from_cache_item({**line, "target": []})
    state = TaskState("m", Sample(input="q", target=["x", "x"], id=3))
    made = ReviewResult.from_score_state(SampleScore(score=Score(), sample_metadata={"k": 1}), state, False)
    assert (made.index, made.target, made.to_sample_score().sample_metadata) == (3, ["x"], None)


def test_secrets_are_not_shown() -> None:
    headers = secretize_auth_headers({"Authorization": "secret", "Other": "x"})
    assert "secret" not in repr(headers)
    assert get_secret_value({"a": [headers["Authorization"]]}) == {"a": ["secret"]}
    assert secretize_auth_headers(None) is None


def test_types_have_json_schemas() -> None:
    assert json_schema(list[int]).model_dump(exclude_none=True) == {"type": "array", "items": {"type": "integer"}}
    assert json_schema(int | None).model_dump(exclude_none=True) == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    schema = json_schema(Shape).model_dump(exclude_none=True)
    assert schema["required"] == ["sides"]
    assert schema["properties"]["made"] == {"type": "string", "format": "date-time"}
