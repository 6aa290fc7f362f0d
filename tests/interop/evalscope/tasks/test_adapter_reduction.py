"""From reviews to results and a report."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.core.task import ReduceContext, Score, ScoredRow
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.guest import OpenBenchmark, PromptedRecord
from polymeter.interop.evalscope.tasks.registration import BenchmarkMeta
from polymeter.interop.evalscope.tasks.scoring.reduction import ReportSlot, model_id_of, reduce_rows, show_report
from polymeter.interop.evalscope.tasks.scoring.reviews import REVIEW_KEY
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions, Mode


class Shown(DataAdapter):
    """Keeps what it is shown."""

    def get_gold_answer(self, input_d):
        return ""

    def match(self, gold, pred):
        return 0

    def post_process_report(self, report, **kwargs):
        self.shown = (report.score, Path(kwargs["report_path"]).name)


def reduced(tmp_path, results, slot):
    """The adapter after a reduction of what ``match`` gave for each record."""
    adapter = Shown("b", "d", "generation", ["x"], ["AverageAccuracy"])
    records = [PromptedRecord("x", index, {}, {}) for index in range(2)]
    mode = Mode("generation", "generate", "service")
    benchmark = OpenBenchmark("b", adapter, {}, mode, records, tmp_path, BenchmarkMeta("b", "d", Shown))
    rows = [
        ScoredRow(f"x/{i}", i, ("x",), None, "ok", None if result is None else Score({REVIEW_KEY: [result]}))
        for i, result in enumerate(results)
    ]
    context = ReduceContext(tmp_path / "out", args=SimpleNamespace(model="org/m"))
    numbers = reduce_rows(benchmark, AdapterRunOptions(), slot, rows, context)
    show_report(adapter, slot, numbers, tmp_path / "report.html")
    return adapter, numbers


def test_the_adapter_is_shown_the_report_that_was_written(tmp_path) -> None:
    adapter, (number,) = reduced(tmp_path, [1, 0], ReportSlot())
    assert (number.metric, number.value, number.n) == ("AverageAccuracy", 0.5, 2)
    assert number.artifacts == ("out/reports/m/b.json",)
    assert adapter.shown == (0.5, "m")


def test_where_nothing_is_scored_an_earlier_report_is_not_shown_again(tmp_path) -> None:
    slot = ReportSlot()
    reduced(tmp_path, [1, 1], slot)
    adapter, (number,) = reduced(tmp_path, [None, None], slot)
    assert (number.value, number.n) == (None, 0)
    assert not hasattr(adapter, "shown")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mock", "mock"),
        ("hf:Qwen/Qwen2.5-0.5B-Instruct", "Qwen2.5-0.5B-Instruct"),
        ("openai:llama3:8b", "llama3-8b"),
        ("hf:/weights/mine/", "mine"),
    ],
)
def test_a_models_name_in_reports_is_the_last_part_of_its_name(name, expected) -> None:
    assert model_id_of(SimpleNamespace(model_name=name)) == expected
