"""What a model was shown, in words, on the terminal and on both pages of a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Audio, Image, Video
from polymeter.core.text.codec import parse_json
from polymeter.report.content import RunMedia
from polymeter.report.run.extract import sample_data
from polymeter.report.run.sample import sample_text
from polymeter.report.shown_text import shown_facts, shown_in_sample, shown_lines
from polymeter.report.table import footnotes
from polymeter.store.shown_media import SHOWN_MEDIA, write_shown
from tests.helpers.showing import Shows
from tests.helpers.shown import html, made
from tests.report.synthetic import exchange, sample

VIDEO = (
    "video clips/a.mp4: 8 of 240 frames (rule cut, 64 were asked for, the header says 250), 1920×1080 → 640×360, "
    "30 fps, 8.0 s, JPEG, 1.2 MB; sound: none; digest video000…"
)
IMAGE = "image b.png: 1920×1080 → 640×360, PNG → JPEG, 81.0 kB; digest image000…"
AUDIO = "audio sounds/a.wav: 44,100 → 16,000 Hz, 2 → 1 channel, 3.5 s, as samples; digest audio000…"


@pytest.fixture
def stored() -> dict[str, Any]:
    shows = Shows(8, wanted=64)
    records = [write_shown(shows.record(medium)) for medium in (Video(""), Image(""), Audio(""))]
    asked = exchange(None, "What happens?", "a")
    notes = ({"video": {"source": "x"}}, {"image": {"name": "b.png"}}, {"audio": {}})
    asked["request"]["messages"][-1]["parts"] = [*notes, {"text": "What happens?"}]
    asked["response"][SHOWN_MEDIA] = [digest for digest, _ in records]
    return sample(0, exchanges=[asked], **{SHOWN_MEDIA: {digest: parse_json(body) for digest, body in records}})


def test_a_medium_is_a_line_with_what_was_sent(stored: dict[str, Any]) -> None:
    assert [one.line for one in shown_in_sample(stored)] == [VIDEO, IMAGE, AUDIO]
    assert f"── shown\n{VIDEO}\n{IMAGE}\n{AUDIO}\n" in sample_text("task", stored, Path("media"))


def test_all_facts_are_on_the_page_of_a_sample(stored: dict[str, Any], tmp_path: Path) -> None:
    media = RunMedia(tmp_path, lambda name: name)
    assert [one.kind for one in made(media, stored)["shown"].data] == ["video", "image", "audio"]
    page = html(media, stored)
    assert "<summary>Image shown as 1920×1080 → 640×360, PNG → JPEG, 81.0 kB</summary>" in page
    assert "<dt>Times</dt><dd>0.00, 1.00, 2.00, 3.00, 4.00, 5.00, 6.00, 7.00 s</dd>" in page
    of_report = sample_data(stored, 0, None)["shown"]
    assert [title for title, _ in of_report] == [one.title for one in shown_in_sample(stored)]
    assert ["Numbers", "0, 30, 60, 90, 120, 150, 180, 210"] in of_report[0][1]


def test_media_of_one_kind_are_numbered() -> None:
    record = {"modality": "image", "before": {"width": 64, "height": 64}, "sent": {"width": 64, "height": 64}}
    of_rounds = {SHOWN_MEDIA: {"a": record, "b": {**record, "modality": "audio"}, "c": record}}
    titles = [one.title.partition(" shown")[0] for one in shown_in_sample(of_rounds)]
    assert titles == ["Image 1", "Audio", "Image 2"]


def test_nothing_is_added_where_nothing_is_recorded(tmp_path: Path) -> None:
    plain = sample(0, exchanges=[exchange(None, "Q", "a")])
    assert "shown" not in made(RunMedia(tmp_path, str), plain)
    assert "shown" not in sample_data(plain, 0, None)
    assert "shown" not in sample_text("task", plain, Path("media"))


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"modality": "video", "sent": {"frames": 1}, "by": "the wrapper"}, "1 frame, chosen by the wrapper"),
        (
            {"modality": "video", "sent": {"frames": 2, "sound": {"rate": 16_000, "channels": 1, "seconds": 2.0}}},
            "2 frames; sound: 16,000 Hz, 1 channel, 2.0 s",
        ),
        ({"modality": "image", "before": {"width": 8, "height": 6}, "sent": {"width": 8, "height": 6}}, "8×6"),
        (
            {"modality": "video", "sent": {"frames": 2, "subtitles": {"show": "whole", "cues": 1}}},
            "2 frames, 1 subtitle (whole); sound: none",
        ),
        ({"modality": "audio", "sent": {"seconds": 90.0, "pieces": 3, "format": "mp3"}}, "90.0 s, MP3, 3 pieces"),
        ({"modality": "video", "sent": 3, "before": "x", "numbers": "y", "rule": [1], "notes": 4}, "sound: none"),
        ({}, ""),
    ],
)
def test_what_is_unknown_is_left_out(record: dict[str, Any], expected: str) -> None:
    assert shown_facts(record).brief == expected


def test_a_medium_of_a_row_is_named_by_its_place() -> None:
    record = {"modality": "image", "source": f"{'c' * 32}:{'9' * 12}:3:photo"}
    assert shown_facts(record).line == "image 'photo' of row 3: "
    assert shown_facts(record, "a.png").source == "a.png"


def test_tasks_are_summed() -> None:
    shown = {
        "video": {"n": 40, "n_fewer": 12, "n_unsubtitled": 2, "frames": {"min": 3, "max": 64}},
        "image": {"n": 3, "n_scaled": 2, "width": {"min": 64, "max": 640}, "height": {"min": 48, "max": 48}},
    }
    results = {"tasks": {"t": {"alias": "T", "n_samples": 0, "shown": shown}, "text": {"n_samples": 0}}}
    assert shown_lines(results) == [
        "T: 3 images, 64–640 × 48 px, 2 scaled; 40 videos, frames: 3–64 (12 videos had fewer), 2 without subtitles"
    ]
    assert "T: 12 of 40 videos were shown with fewer frames than asked for." in footnotes(results)
    assert "T: 2 of 40 videos have no subtitles and were shown without." in footnotes(results)
