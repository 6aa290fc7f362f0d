"""Comparisons of run folders that are written by hand: scales, groups, judges, and what answers say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymeter
from polymeter.analysis.comparison.answers import divergences

METRIC = "acc"


def result(value: float, n: int, **more: Any) -> dict[str, Any]:
    return {
        "metric": METRIC, "filter": "none", "subset": [], "value": value, "n": n, "stderr": None, "interval": None,
        "stderr_method": "mean", "higher_is_better": True, "artifacts": [], **more,
    }  # fmt: skip


def write_run(
    folder: Path,
    tasks: dict[str, list[float | None]],
    *,
    scale: float = 1.0,
    groups: dict[str, tuple[list[str], bool]] | None = None,
    roles: dict[str, Any] | None = None,
    parity: str = "",
    model: str = "m",
) -> Path:
    """A run folder without a journal, of tasks with these values of samples."""
    (folder / "samples").mkdir(parents=True)
    groups = groups or {}
    means = {
        name: scale * math.fsum(v for v in own if v is not None) / sum(v is not None for v in own)
        for name, own in tasks.items()
    }
    sizes = {name: len(own) for name, own in tasks.items()}
    for group, (members, is_weighted) in groups.items():
        weights = [sizes[member] if is_weighted else 1 for member in members]
        means[group] = sum(w * means[m] for w, m in zip(weights, members, strict=True)) / sum(weights)
        sizes[group] = sum(sizes[member] for member in members)
    options = {"seed": 0, **({"parity": parity} if parity else {})}
    manifest = {
        "schema_version": 1, "status": "complete", "command": "", "model": {"spec": None, "identity": {}, "traits": {}},
        "roles": {}, "patterns": [],
        "tasks": [
            {"name": name, "version": "1", "config": {}, "source_hash": "h", "dataset_fingerprint": "f"}
            for name in tasks
        ],
        "selection": {
            "group_numbers": {
                name: {"aggregates": [{"metric": METRIC, "aggregation": "mean", "weight_by_size": is_weighted}]}
                for name, (_, is_weighted) in groups.items()
            }
        },
        "identity": {"model": model, "roles": roles or {}, "options": options},
        "options": {"identity": {"generation": {}}, "runtime": {"include_paths": []}},
        "seconds": 1.0, "usage": {"input_tokens": 0, "output_tokens": 0}, "n_failed": 0,
    }  # fmt: skip
    layout = [*(["group", name, 0] for name in groups), *(["task", name, 1] for name in tasks)]
    results = {
        "schema_version": 1, "status": "complete", "model": model, "layout": layout, "notes": [],
        "tasks": {
            name: {"alias": name, "n_samples": len(own), "results": [result(means[name], len(own))]}
            for name, own in tasks.items()
        },
        "groups": {
            name: {"alias": name, "version": "", "members": members, "results": [result(means[name], sizes[name])]}
            for name, (members, _) in groups.items()
        },
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(manifest))
    (folder / "results.json").write_text(json.dumps(results))
    for name, own in tasks.items():
        lines = [
            {
                "id": str(i), "index": i, "subset": [], "cluster": None, "status": "error" if value is None else "ok",
                "error": None, "target": None, "answer": "x", "explanation": None, "log": {}, "doc": {},
                "exchanges": [],
                "scores": [] if value is None else [{"metric": METRIC, "filter": "none", "value": value}],
            }
            for i, value in enumerate(own)
        ]  # fmt: skip
        (folder / "samples" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def values(n: int, share: float, seed: int) -> list[float | None]:
    return (np.random.default_rng(seed).random(n) < share).astype(float).tolist()


def test_percent_stays_percent(tmp_path: Path) -> None:
    tasks = [{"a": values(100, share, 1)} for share in (0.5, 0.8)]
    first, second = (write_run(tmp_path / str(i), own, scale=100.0, model=str(i)) for i, own in enumerate(tasks))
    (line,) = polymeter.compare(first, second).others[0].scores
    assert line.first == pytest.approx(100 * np.mean(tasks[0]["a"]))
    assert line.difference == pytest.approx(100 * (np.mean(tasks[1]["a"]) - np.mean(tasks[0]["a"])))
    assert line.interval is not None
    assert line.interval[1] - line.interval[0] > 1


@pytest.mark.parametrize("is_weighted", [True, False])
def test_groups_weigh_as_their_run_does(tmp_path: Path, is_weighted: bool) -> None:
    groups = {"g": (["a", "b"], is_weighted)}
    tasks = [{"a": values(60, share, 1), "b": values(240, share + 0.1, 2)} for share in (0.4, 0.7)]
    first, second = (write_run(tmp_path / str(i), own, groups=groups, model=str(i)) for i, own in enumerate(tasks))
    found = polymeter.compare(first, second).others[0].scores
    group = next(line for line in found if line.kind == "group")
    gaps = [np.mean(tasks[1][name]) - np.mean(tasks[0][name]) for name in ("a", "b")]
    assert group.difference == pytest.approx(np.average(gaps, weights=[60, 240] if is_weighted else None))
    assert group.n == 300
    assert group.first == pytest.approx(polymeter.open_run(first).value("g", METRIC))
    assert group.interval is not None
    assert group.interval[0] < group.difference < group.interval[1]
    assert group.p_value == pytest.approx(1e-4, abs=1e-3)


def test_a_group_may_be_over_all_tasks_below_it(tmp_path: Path) -> None:
    groups = {"inner": (["b", "c"], False), "g": (["a", "inner"], False)}
    tasks = [
        {name: values(60, share, seed) for name, seed in zip("abc", (1, 2, 3), strict=True)} for share in (0.3, 0.7)
    ]
    folders = [write_run(tmp_path / str(i), own, groups=groups, model=str(i)) for i, own in enumerate(tasks)]
    means = [float(np.mean([np.mean(column) for column in own.values()])) for own in tasks]
    for folder, mean in zip(folders, means, strict=True):
        run, found = (json.loads((folder / name).read_text()) for name in ("run.json", "results.json"))
        run["selection"]["group_numbers"]["g"]["aggregates"][0] |= {"over_tasks": True, "filter_list": []}
        found["groups"]["g"]["results"][0]["value"] = mean
        (folder / "run.json").write_text(json.dumps(run))
        (folder / "results.json").write_text(json.dumps(found))
    (group,) = [score for score in polymeter.compare(*folders).others[0].scores if score.name == "g"]
    assert (group.first, group.second) == (pytest.approx(means[0]), pytest.approx(means[1]))
    assert group.n == 180


def test_a_group_that_is_no_mean_is_not_compared(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / str(i), {"a": values(60, 0.5, i)}, groups={"g": (["a"], False)}, model=str(i))
        for i in (1, 2)
    ]
    for run in runs:
        content = json.loads((run / "results.json").read_text())
        content["groups"]["g"]["results"][0]["value"] = 0.123
        (run / "results.json").write_text(json.dumps(content))
    (one,) = polymeter.compare(*runs).others[0].not_compared
    assert "is not the mean" in one.why


def test_other_judges_and_parity_are_refused(tmp_path: Path) -> None:
    own = {"a": values(60, 0.5, 1)}
    first = write_run(tmp_path / "1", own, roles={"judge": {"model": "old"}}, model="1")
    second = write_run(tmp_path / "2", own, roles={"judge": {"model": "new"}}, model="2", parity="lmms-eval")
    with pytest.raises(polymeter.PlanError, match="different judges: judge: model old and new") as caught:
        polymeter.compare(first, second)
    assert "different systems" in caught.value.what
    assert "--allow judge,task" in caught.value.hint
    assert polymeter.compare(first, second, allow=["judge", "task"]).others[0].scores[0].difference == 0.0


def test_failures_are_left_out_and_told(tmp_path: Path) -> None:
    first = write_run(tmp_path / "1", {"a": [1.0, 0.0, 1.0, None] * 10}, model="1")
    second = write_run(tmp_path / "2", {"a": [1.0, None, 0.0, None] * 10}, model="2")
    (other,) = polymeter.compare(first, second).others
    (line,) = other.scores
    assert (line.n, line.first, line.second, line.n_only_first, line.n_only_second) == (20, 1.0, 0.5, 10, 0)
    assert line.n_neither == 10
    told = "10 samples have no score in 2 only and 10 samples have no score in either run: left out of both means."
    assert any(told in text for text in other.warnings)


def test_unpaired_runs_tell_of_failures_and_of_samples_that_are_the_same(tmp_path: Path) -> None:
    first = write_run(tmp_path / "1", {"a": [1.0, 0.0, 1.0, 0.0] * 10}, model="1")
    second = write_run(tmp_path / "2", {"a": [1.0, None, 0.0, 1.0] * 10}, model="2")
    (other,) = polymeter.compare(first, second, unpaired=True).others
    assert any(
        text.startswith("a: 10 of 40 samples have no score in 2: left out of its mean") for text in other.warnings
    )
    assert any("leave out --unpaired" in text for text in other.warnings)
    third = write_run(tmp_path / "3", {"a": [1.0, 0.0, 1.0] * 10}, model="3")
    assert not polymeter.compare(first, third, unpaired=True).others[0].warnings


@pytest.mark.parametrize("is_first", [True, False])
def test_a_value_of_0_is_in_percent_if_the_other_is(tmp_path: Path, is_first: bool) -> None:
    groups = {"g": (["a", "b"], False)}
    tasks = [{"a": [0.0] * 50, "b": values(50, 0.5, 1)}, {"a": values(50, 0.4, 2), "b": values(50, 0.6, 3)}]
    runs = [write_run(tmp_path / str(i), own, scale=100.0, groups=groups, model=str(i)) for i, own in enumerate(tasks)]
    found = polymeter.compare(*(runs if is_first else reversed(runs))).others[0]
    assert not found.not_compared
    lines = {line.name: line for line in found.scores}
    assert sorted((lines["a"].first, lines["a"].second)) == pytest.approx([0.0, 100 * np.mean(tasks[1]["a"])])
    assert abs(lines["g"].difference) == pytest.approx(abs(lines["a"].difference + lines["b"].difference) / 2)


def test_a_member_of_which_both_values_are_0_does_not_keep_its_group_from_being_compared(tmp_path: Path) -> None:
    groups = {"g": (["a", "b"], False)}
    runs = [
        write_run(
            tmp_path / str(i), {"a": [0.0] * 50, "b": values(50, 0.5, i)}, scale=100.0, groups=groups, model=str(i)
        )
        for i in (1, 2)
    ]
    found = polymeter.compare(*runs).others[0]
    lines = {line.name: line for line in found.scores}
    assert lines["g"].difference == pytest.approx(lines["b"].difference / 2)


def test_many_runs_are_one_family(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / str(i), {"a": values(200, 0.5, i), "b": values(200, 0.5 + i / 20, i)}, model=str(i))
        for i in range(4)
    ]
    found = polymeter.compare(*runs)
    lines = [line for other in found.others for line in other.scores]
    assert {line.family for line in lines} == {6}
    assert all(line.p_corrected >= line.p_value for line in lines if line.p_corrected and line.p_value)


def test_divergence_is_scipys() -> None:
    from scipy.spatial.distance import jensenshannon

    generator = np.random.default_rng(3)
    first, second = np.log(generator.dirichlet([0.7] * 4, (2, 1_000)) + 1e-12)
    expected = [jensenshannon(np.exp(p), np.exp(q), base=2) ** 2 for p, q in zip(first, second, strict=True)]
    assert divergences(first, second) == pytest.approx(expected, abs=1e-9)
    assert divergences(np.array([[0.0, -900.0]]), np.array([[-900.0, 0.0]])) == pytest.approx([1.0])


def test_it_shows_itself_in_a_session_in_a_few_lines(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / str(i), {"a": values(2_000, 0.5 + i / 50, i)}, model=str(i)) for i in (1, 2)]
    compared, power = polymeter.compare(*runs), polymeter.power(*runs)
    for found in (compared, power):
        assert len(repr(found)) < 2_000
        assert "\x1b" not in repr(found)
    assert "a: " in repr(compared)
    assert "2,000 pairs of samples show a difference of" in repr(power)
    assert len(repr(compared.first)) < 500


@pytest.mark.parametrize("most", [-0.1, math.nan])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, most: float) -> None:
    runs = [write_run(tmp_path / str(i), {"a": values(30, 0.5, i)}, model=str(i)) for i in (1, 2)]
    with pytest.raises(ValueError, match="0 or more"):
        polymeter.compare(*runs).regressions(most)
