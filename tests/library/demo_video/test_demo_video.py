"""The order of words in clips: how answers are read, and a real result that needs several frames."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from polymeter.api import evaluate
from polymeter.library.demo_video.utils import process_order, process_words

DOC = {
    "words": "RIVER GARDEN LADDER",
    "choices": ["GARDEN, RIVER, LADDER", "RIVER, GARDEN, LADDER", "LADDER, RIVER, GARDEN", "LADDER, GARDEN, RIVER"],
    "letter": "B",
}


@pytest.mark.parametrize(
    "answer", ["B", "B. RIVER, GARDEN, LADDER", "river, garden, ladder", "RIVER\n\nGARDEN\n\nGARDEN LADDER"]
)
def test_the_right_order_is_read_from_a_letter_a_text_or_a_transcript(answer: str) -> None:
    assert process_order(DOC, [answer]) == {"acc": 1.0}


@pytest.mark.parametrize("answer", ["", "A", "GARDEN\nRIVER\nLADDER", "RIVER\nGARDEN", "RIVER GARDEN LADDER RIVER"])
def test_other_answers_are_wrong(answer: str) -> None:
    assert process_order(DOC, [answer]) == {"acc": 0.0}


def test_words_are_counted_in_order() -> None:
    assert process_words(DOC, ["River, garden,\nladder."]) == {"corpus_wer": (0, 3), "exact_match": 1.0}
    assert process_words(DOC, ["RIVER\n\nLADDER"]) == {"corpus_wer": (1, 3), "exact_match": 0.0}


@pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("rapidocr", "onnxruntime", "av")),
    reason="the extras [ocr] and [video] are not installed",
)
def test_a_model_that_reads_frames_needs_more_than_one(tmp_path: Path) -> None:
    def accuracy(n_frames: int) -> float:
        run = evaluate(
            "ocr",
            "demo_video_order",
            output=tmp_path / str(n_frames),
            limit=5,
            model_args={"video_frames": n_frames, "n_threads": 1},
        )
        assert (run.status, run.n_failed) == ("complete", 0)
        return run.result("demo_video_order", "acc").value

    assert accuracy(1) == 0.0, "one frame shows no order"
    assert accuracy(8) > 0.5
