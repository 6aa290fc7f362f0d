"""What a run keeps of media for people to look at: pictures, strips of videos, small sounds."""

import base64
import io
import json
import threading
import wave

import pytest
from PIL import Image as pil

from polymeter import evaluate
from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.request import Generate, Message, Request
from polymeter.run.dispatch.prefetch import Prefetcher, Previews
from polymeter.store.exports.export import read_samples
from polymeter.store.media import AUDIO_BYTES, MediaStore, read_media

av = pytest.importorskip("av")


def sound(n_bytes):
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(n_bytes))
    return buffer.getvalue()


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "clip.mp4"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for level in range(20):
            file.mux(stream.encode(av.VideoFrame.from_image(pil.new("RGB", (64, 48), (level * 12,) * 3))))
        file.mux(stream.encode())
    return str(path)


@pytest.fixture
def store(tmp_path):
    return MediaStore(tmp_path / "media")


def test_a_video_leaves_a_strip(store, clip):
    video = Video(clip)
    assert store.describe(video) == {"source": clip}
    Previews(store, store.folder / "fetched").look(video)
    note = store.describe(video)
    assert {key: note[key] for key in ("source", "width", "height", "duration_s")} == {
        "source": clip,
        "width": 64,
        "height": 48,
        "duration_s": 2.0,
    }
    data, mime = read_media(store.folder, note["file"])
    assert mime == "image/jpeg"
    assert pil.open(io.BytesIO(data)).height == 160


def test_a_video_is_looked_at_once_in_a_run(store, clip, monkeypatch):
    from polymeter.data import video_strip as module

    looks = []
    look = module.strip
    monkeypatch.setattr(module, "strip", lambda video: (looks.append(video), look(video))[1])
    previews = Previews(store, store.folder / "fetched")
    videos = [Video(clip), Video(clip), Video(clip, start_s=1.0)]
    for video in videos:
        previews.look(video)
    assert len(looks) == 2
    assert videos[0].note == videos[1].note != videos[2].note


def test_a_video_that_cannot_be_shown_fails_no_request(store, tmp_path):
    prefetcher = Prefetcher(store, 1, store.folder / "fetched")
    parts = (Video(str(tmp_path / "none.mp4")), Audio(str(tmp_path / "none.wav")), Video(b"broken"), Text("?"))
    done = []
    request = Request((Message("user", parts),), Generate())
    event = threading.Event()
    prefetcher.prepare([request], lambda failures: (done.extend(failures), event.set()))
    assert event.wait(10)
    prefetcher.close()
    assert done == [None]
    assert [store.describe(part).get("file") for part in parts[:3]] == [None] * 3


def test_small_sounds_are_kept_as_they_are(store, tmp_path):
    small, large = sound(2000), sound(AUDIO_BYTES)
    (tmp_path / "a.wav").write_bytes(small)
    (tmp_path / "b.wav").write_bytes(large)
    previews = Previews(store, store.folder / "fetched")
    kept, left = Audio(str(tmp_path / "a.wav")), Audio(str(tmp_path / "b.wav"))
    array = Audio({"array": [0.0], "sampling_rate": 8000}, key="row 1")
    for audio in (kept, left, array):
        previews.look(audio)
    assert read_media(store.folder, store.describe(kept)["file"]) == (small, "audio/wav")
    assert store.describe(left) == {"source": str(tmp_path / "b.wav")}
    assert store.describe(array) == {"source": "row 1"}


def test_nothing_is_done_where_previews_are_off_or_content_is_elsewhere(tmp_path, clip):
    previews = Previews(MediaStore(tmp_path / "media", keeps_previews=False), tmp_path)
    assert not previews.is_wanted(Video(clip))
    assert not previews.is_wanted(Audio(sound(10)))
    assert previews.is_wanted(Image(clip))
    assert not Previews(MediaStore(tmp_path / "media"), tmp_path).is_wanted(Video("https://example.org/a.mp4"))


def test_media_by_data_url():
    buffer = io.BytesIO()
    pil.new("RGB", (3, 2)).save(buffer, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    assert Image(url).open().size == (3, 2)
    assert Image(url).encoded() == (buffer.getvalue(), "image/png")
    assert Image(url).content_hash() == Image(buffer.getvalue()).content_hash()


def test_a_run_over_videos_and_sounds_keeps_what_was_shown(tmp_path, clip):
    (tmp_path / "a.wav").write_bytes(sound(100))
    rows = [{"q": "?", "file": clip}, {"q": "!", "file": clip}, {"q": "?", "file": str(tmp_path / "a.wav")}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.yaml").write_text(
        "task: t\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_visual: file\ndoc_to_text: q\ndoc_to_target: q\n"
    )
    result = evaluate("mock", str(tmp_path / "t.yaml"), model_args={"answer": "?"}, output=tmp_path / "run")
    assert result.value("t", "exact_match") == pytest.approx(2 / 3)
    shown = [
        sample["exchanges"][0]["request"]["messages"][-1]["parts"][0] for sample in read_samples(result.folder, "t")
    ]
    assert [*map(list, shown)] == [["video"], ["video"], ["audio"]]
    assert shown[0]["video"] == shown[1]["video"]
    assert all((result.folder.media / name[:2] / name).is_file() for part in shown for name in [_file(part)])


def _file(part):
    (note,) = part.values()
    return note["file"]
