"""The value of one sample as text, in every place that shows one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import polymeter
from polymeter.cli.main import build_app
from polymeter.core.names.registries import METRICS
from polymeter.report.sample_values import SHOWN_PARTS, sample_value
from tests.tasks.yaml.kit import task_text, write_rows


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("corpus_wer", [3.0, 4.0], "3 errors / 4 words"),
        ("corpus_wer,first", (1, 1), "1 error / 1 word"),
        ("corpus_cer", [0.0, 1200.0], "0 errors / 1,200 characters"),
        ("corpus_wer", 0.75, "0.7500"),
        ("corpus_wer", [0.5, 4.0], "[0.5, 4.0]"),
        ("corpus_wer", [1, 2, 3], "[1, 2, 3]"),
        ("word_perplexity", [-12.3, 4], "-12.300 / 4 words"),
        ("bits_per_byte", [-12.3, 17], "-12.300 / 17 bytes"),
        ("bleu", ["the cat", "a cat"], 'answer "a cat", reference "the cat"'),
        ("chrf", [["the cat", "that cat"], "a\ncat"], 'answer "a cat", 2 references'),
        ("mcc", [1, 0], "answer 0, reference 1"),
        ("f1", [1, 0], "answer 0, reference 1"),
        ("brier_score", [1, [0.25, 0.75]], "reference 1, probabilities 0.2500 0.7500"),
        ("acc_all", [True, {"label": 1}], "answer true"),
        ("bypass", [-1.5, True], "-1.5000, greedy"),
        ("bypass", ["a", "b"], '["a", "b"]'),
        ("tokens_per_success", [1250.0, 1.0], "1,250 tokens, success 1"),
        ("tokens_per_success", [float("nan"), 1.0], "[NaN, 1.0]"),
        ("own", [3.0, 4.0], "[3.0, 4.0]"),
        ("exact_match", None, "–"),
    ],
)
def test_the_parts_of_a_value_have_names(metric: str, value: Any, text: str) -> None:
    assert sample_value(metric, value) == text


def test_every_metric_whose_value_has_parts_is_known() -> None:
    metrics = {name: METRICS.get(name) for name in METRICS}
    pairs = {name for name, one in metrics.items() if one.of_sets is None and " and " in " ".join(one.values.values())}
    assert "corpus_wer" in pairs
    assert pairs <= set(SHOWN_PARTS)


def test_report_and_command_show_a_value_in_the_same_words(tmp_path: Path) -> None:
    rows = [{"q": f"Say {i}.", "a": "one two three four"} for i in range(2)]
    write_rows(tmp_path, rows)
    (tmp_path / "t.yaml").write_text(task_text("metric_list: [corpus_wer]\n"))
    folder = tmp_path / "run"
    arguments = {"answer": "four"}
    polymeter.evaluate("mock", ["t"], model_args=arguments, include_paths=[tmp_path], output=folder)
    said = "3 errors / 4 words"
    assert said in (folder / "report.html").read_text()
    assert f"corpus_wer = {said}" in CliRunner().invoke(build_app(), ["show", str(folder), "--sample", "0"]).stdout
