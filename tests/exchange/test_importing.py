"""What becomes of a log: rows, results and groups, from records that no tool has written."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.core.logs import (
    LoggedExchange,
    LoggedGroup,
    LoggedMessage,
    LoggedOutput,
    LoggedRun,
    LoggedSample,
    LoggedTask,
    LogReader,
    StatedResult,
    lines_by_row,
)
from polymeter.core.names.systems import System
from polymeter.exchange.importing import importing
from polymeter.exchange.importing.results import is_rounded

N = 40


def sample(index: int, value: float | None, **more: object) -> LoggedSample:
    message = LoggedMessage("user", (f"question {index}",))
    exchange = LoggedExchange((LoggedOutput(f"answer {index}", output_tokens=2),), (message,))
    scores = {("acc", "none"): value}
    return LoggedSample(str(index), index, {"n": index}, (exchange,), scores, **more)  # type: ignore[arg-type]


def task(name: str, values: list[float], stated: float | None = None, **more: object) -> LoggedTask:
    results = () if stated is None else (StatedResult("acc", "none", stated, stderr=0.5, **more),)  # type: ignore[arg-type]
    return LoggedTask(name, results, lambda: (sample(index, value) for index, value in enumerate(values)))


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports a log of some tasks and groups."""

    def read(*tasks: LoggedTask, groups: tuple[LoggedGroup, ...] = ()) -> polymeter.RunResult:
        logged = LoggedRun("Toy", "1.0", "toy/model", tasks, groups)
        reader = LogReader(lambda path: True, lambda path: logged, "a toy")
        system = System("toy", "Toy", "a toy")
        monkeypatch.setattr(importing, "reader_of", lambda path, name: (system, reader))
        return polymeter.import_log(tmp_path / "log", output=tmp_path / "run")

    return read


@pytest.mark.parametrize(
    ("stated", "decimals", "has_interval"),
    [
        (0.25, None, True),
        (25.0, None, True),
        (0.2500004, None, True),
        (0.3, 1, True),
        (0.3, None, False),
        (0.26, 2, False),
        (0.5, None, False),
    ],
)
def test_a_stated_value_has_an_interval_if_it_is_the_mean(
    read, stated: float, decimals: int, has_interval: bool
) -> None:
    result = read(task("sums", [1.0] * 10 + [0.0] * 30, stated, decimals=decimals)).result("sums", "acc")
    assert result.value == stated
    assert (result.interval is not None) == has_interval
    assert result.stderr == (pytest.approx((100 if stated == 25.0 else 1) * 0.0693, rel=0.01) if has_interval else 0.5)
    assert bool(result.no_interval) != has_interval


def test_rounding_is_half_of_the_last_place() -> None:
    assert is_rounded(33.3, 33.34, 100, 1)
    assert not is_rounded(33.3, 33.36, 100, 1)


def test_percent_with_an_interval_in_percent(read) -> None:
    result = read(task("sums", [1.0] * 10 + [0.0] * 30, 25.0)).result("sums", "acc")
    low, high = result.interval
    assert 10 < low < 25 < high < 45


def test_without_stated_results_means_are_taken(read) -> None:
    result = read(task("sums", [1.0] * 10 + [0.0] * 30)).result("sums", "acc")
    assert (result.value, result.n) == (0.25, N)
    assert result.interval is not None


def test_failures_have_no_score(read) -> None:
    def samples() -> Iterator[LoggedSample]:
        yield sample(0, 1.0)
        yield sample(1, 0.0, status="error", error="the server is gone")
        yield sample(2, float("nan"))
        yield sample(3, None)
        yield sample(4, 1.0)

    result = read(LoggedTask("sums", (StatedResult("acc", "none", 1.0),), samples))
    own = result.results["tasks"]["sums"]
    assert own["statuses"] == {"ok": 2, "error": 1, "unscored": 2}
    assert result.result("sums", "acc").n == 2
    assert {kind["message"] for kind in own["failures"]} == {"the server is gone", "the log has no score for it"}
    assert result.n_failed == 3


def test_subsets_and_clusters_count(read) -> None:
    def samples() -> Iterator[LoggedSample]:
        for index in range(N):
            subset, cluster = ("a" if index < 20 else "b",), str(index // 2)
            yield sample(index, float(index % 4 == 0), subset=subset, cluster=cluster)

    stated = (StatedResult("acc", "none", 0.25), StatedResult("acc", "none", 0.25, subset=("b",)))
    result = read(LoggedTask("sums", stated, samples))
    assert result.result("sums", "acc").stderr_method == "clustered"
    assert result.result("sums", "acc", subset=("b",)).n == 20


@pytest.mark.parametrize(
    ("stated", "weighs"), [(0.4, True), (0.5, False), (0.7, None)], ids=["weighted", "unweighted", "neither"]
)
def test_how_a_group_is_made_is_found_by_arithmetic(read, stated: float, weighs: bool | None) -> None:
    few, many = task("few", [1.0] * 15 + [0.0] * 5, 0.75), task("many", [1.0] * 10 + [0.0] * 30, 0.25)
    value = {True: 25 / 60, False: 0.5, None: stated}[weighs]
    group = LoggedGroup("both", ("few", "many"), (StatedResult("acc", "none", value),))
    result = read(few, many, groups=(group,))
    found = result.result("both", "acc")
    assert found.value == value
    assert (found.interval is not None) == (weighs is not None)
    manifest = json.loads((result.folder.path / "run.json").read_text())
    aggregates = manifest["selection"]["group_numbers"]["both"]["aggregates"]
    assert [one["weight_by_size"] for one in aggregates] == ([] if weighs is None else [weighs])
    assert [line[:2] for line in result.results["layout"]] == [["group", "both"], ["task", "few"], ["task", "many"]]


def test_a_sample_twice_is_refused_and_nothing_is_left(read, tmp_path: Path) -> None:
    twice = LoggedTask("sums", (), lambda: iter((sample(1, 1.0), sample(1, 0.0))))
    with pytest.raises(DataError, match=r"The log of task 'sums' has sample '1' twice."):
        read(twice)
    assert [*tmp_path.iterdir()] == []


def test_a_secret_in_the_settings_is_not_stored(read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = LoggedRun("Toy", "1", "m", (task("sums", [1.0]),), settings={"api_key": "sk-0123456789abcdef"})
    reader = LogReader(lambda path: True, lambda path: logged, "a toy")
    monkeypatch.setattr(importing, "reader_of", lambda path, name: (System("toy", "Toy", "a toy"), reader))
    polymeter.import_log(tmp_path / "log", output=tmp_path / "run")
    assert "sk-0123456789abcdef" not in (tmp_path / "run" / "run.json").read_text()


def test_lines_of_a_row_are_read_together_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with path.open("w") as file:
        for part in range(2):
            for row in range(2000):
                file.write(json.dumps({"row": row, "part": part, "text": "x" * 2000}) + "\n")
    tracemalloc.start()
    found = [(row, [line["part"] for _, line in lines]) for row, lines in lines_by_row(path, "row")]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [(row, [0, 1]) for row in range(2000)]
    assert peak < path.stat().st_size / 4


@pytest.mark.needs_system("lm_eval")
def test_a_run_of_unknown_time_is_not_exported(read, tmp_path: Path) -> None:
    read(task("sums", [1.0, 0.0]))
    with pytest.raises(PlanError, match="The time of this run is unknown"):
        polymeter.export(tmp_path / "run", "lm-eval")
