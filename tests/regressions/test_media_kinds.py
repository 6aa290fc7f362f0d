"""A medium is of the kind that its name or its content says; one of which neither says it is an error, not a video. A
video shows each of its frames once at most, however high the rate.
"""

from __future__ import annotations

import io
import wave
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter

_TASK = """\
task: media
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "?"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
_UTILS = """\
from pathlib import Path

HERE = Path(__file__).parent


def visual(doc):
    file = HERE / "FILE"
    return [VALUE]
"""


def image(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(buffer, kind)
    return buffer.getvalue()


def sound() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", "NONE"))
        file.writeframes(bytes(1600))
    return buffer.getvalue()


def sample(folder: Path, name: str, data: bytes, value: str) -> Any:
    """The only sample of a run whose row shows a medium."""
    (folder / name).write_bytes(data)
    (folder / "utils.py").write_text(_UTILS.replace("FILE", name).replace("VALUE", value))
    (folder / "rows.jsonl").write_text('{"a": "mock"}')
    (folder / "media.yaml").write_text(_TASK)
    run = polymeter.evaluate("mock", str(folder / "media.yaml"), output=folder / "run")
    (found,) = run.samples()
    return found


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("str(file)", "clip.xyz' is not an image, audio or video by its name or its content."),
        ("file.read_bytes()", "b'1 2 3' is not an image, audio or video by its name or its content."),
        ('{"path": str(file)}', "clip.xyz' is not an image, audio or video"),
        ('{"bytes": file.read_bytes(), "path": None}', "b'1 2 3' is not an image, audio or video"),
        ('{"type": "picture", "path": str(file)}', "must be image, audio or video, not 'picture'."),
        ('"https://example.org/clip.xyz"', "clip.xyz' is not an image, audio or video"),
    ],
)
def test_an_unknown_kind_is_an_error(value: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(polymeter.PlanError) as refused:
        sample(tmp_path, "clip.xyz", b"1 2 3", value)
    assert said in refused.value.what
    assert refused.value.where.endswith("media.yaml")
    assert "{'type': 'video', 'path': " in refused.value.hint or "'picture'" in said


@pytest.mark.parametrize("value", ["str(file)", "file.read_bytes()", '{"path": str(file)}'])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(image("PNG"), "image", id="png"),
        pytest.param(image("BMP"), "image", id="bmp"),
        pytest.param(image("TIFF"), "image", id="tiff"),
        pytest.param(sound(), "audio", id="wav"),
        pytest.param(b"\0\0\0\x18ftypmp42" + bytes(16), "video", id="mp4"),
    ],
)
def test_the_content_decides_where_the_name_does_not(value: str, data: bytes, kind: str, tmp_path: Path) -> None:
    found = sample(tmp_path, "medium", data, value)
    assert found.status == "ok", found.error
    (shown, _) = found.exchanges[0]["request"]["messages"][0]["parts"]
    assert list(shown) == [kind]


def test_a_rate_above_the_clips_own_repeats_no_frame(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    from polymeter.data.video import frames, timed_frames

    with av.open(str(tmp_path / "clip.mp4"), "w") as file:
        stream = file.add_stream("mpeg4", rate=10)
        stream.width, stream.height = 64, 48
        for level in range(20):
            picture = Image.new("RGB", (64, 48), (10 * level,) * 3)
            file.mux(stream.encode(av.VideoFrame.from_image(picture)))
        file.mux(stream.encode())
    clip = tmp_path / "clip.mp4"
    assert len(frames(clip, fps=30)) == 20
    assert len(frames(clip, fps=30, n=32)) == 20
    assert len(frames(clip, fps=30, n=8)) == 8
    assert [time for time, _ in timed_frames(clip, fps=40, start_s=1.5, end_s=1.8)] == [1.5, 1.6, 1.7]
    assert len(frames(clip, fps=5)) == 10
