"""Spoken digits: how answers are read, and a real result."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from polymeter.api import evaluate
from polymeter.library.demo_audio.utils import process_digits, read_digits


@pytest.mark.parametrize("answer", ["4 0 2", "402", "Four, zero, two.", "four oh two", "4-0-2\n"])
def test_digits_are_the_same_however_they_are_written(answer: str) -> None:
    assert read_digits(answer) == "4 0 2"
    assert process_digits({"digits": "4 0 2"}, [answer]) == {"corpus_wer": (0, 3), "exact_match": 1.0}


def test_other_words_and_missing_digits_are_errors() -> None:
    assert process_digits({"digits": "4 0 2"}, ["for 0 2"]) == {"corpus_wer": (1, 3), "exact_match": 0.0}
    assert process_digits({"digits": "4 0 2"}, [""]) == {"corpus_wer": (3, 3), "exact_match": 0.0}


@pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("pocketsphinx", "soundfile")),
    reason="the extra [speech] is not installed",
)
def test_a_recogniser_has_a_real_result(tmp_path: Path) -> None:
    run = evaluate("pocketsphinx:digits", "demo_audio", output=tmp_path / "run", limit=12)
    assert (run.status, run.n_failed) == ("complete", 0)
    assert run.result("demo_audio", "corpus_wer").value < 0.5, "digits by chance are wrong nine times in ten"
