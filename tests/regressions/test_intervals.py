"""What an interval promises, looked at from the command line."""

from __future__ import annotations

import json
import math
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import pytest

from tests.regressions.scored_tasks import group, result_of, run, task


def test_the_interval_of_a_group_stays_in_range_has_width_and_names_its_method(tmp_path: Path) -> None:
    names = []
    for number in range(3):
        names.append(f"part{number}")
        task(tmp_path, names[-1], [1.0] * (20 - (number == 2)) + [0.0] * (number == 2))
    group(tmp_path, names)
    found = result_of(run(tmp_path, "--include-path", ".", "--tasks", "all")[1], "all")
    low, high = found["interval"]
    assert 0 <= low < 0.95 < found["value"] < high <= 1
    assert found["ci_method"] == "score"


def test_a_group_of_perfect_members_is_not_certain(tmp_path: Path) -> None:
    for name in ("one", "two"):
        task(tmp_path, name, [1.0] * 20)
    group(tmp_path, ["one", "two"])
    low, high = result_of(run(tmp_path, "--include-path", ".", "--tasks", "all")[1], "all")["interval"]
    assert high == 1
    assert 0.85 < low < 0.97


def test_the_interval_of_a_mean_does_not_leave_the_range_of_its_metric(tmp_path: Path) -> None:
    task(tmp_path, "near", [1.0] * 23 + [0.4, 0.7], metric="anls")
    low, high = result_of(run(tmp_path, "--tasks", "near.yaml")[1], "near")["interval"]
    assert 0 < low < 0.964 < high <= 1


def test_too_few_samples_have_no_interval_and_the_report_says_why(tmp_path: Path) -> None:
    task(tmp_path, "few", [1.0, 0.0] * 5)
    found = result_of(run(tmp_path, "--tasks", "few.yaml")[1], "few")
    assert found["interval"] is None
    assert found["no_interval"] == "fewer than 20 samples"
    assert found["stderr"] is not None
    assert "fewer than 20 samples" in (tmp_path / "run" / "report.html").read_text()


def test_equal_values_without_a_range_have_no_interval_of_no_width(tmp_path: Path) -> None:
    task(tmp_path, "same", [7.0] * 40, metric="rating")
    found = result_of(run(tmp_path, "--tasks", "same.yaml")[1], "same")
    assert found["interval"] is None
    assert "all values are equal" in found["no_interval"]


def test_the_interval_of_a_skewed_mean_reaches_further_to_the_long_side(tmp_path: Path) -> None:
    task(tmp_path, "skewed", [float(1.4**i) for i in range(20)], metric="cost")
    found = result_of(run(tmp_path, "--tasks", "skewed.yaml")[1], "skewed")
    low, high = found["interval"]
    assert high - found["value"] > 1.3 * (found["value"] - low)


def test_group_intervals_of_near_certain_members_cover_the_truth(tmp_path: Path) -> None:
    """Three members of 20 samples that succeed with probability 0.98: all outcomes that have some weight."""
    names = [f"m{failures}{copy}" for failures in range(4) for copy in "abc"]
    for name in names:
        failures = int(name[1])
        task(tmp_path, name, [0.0] * failures + [1.0] * (20 - failures))
    outcomes = list(combinations_with_replacement(range(4), 3))
    for outcome in outcomes:
        members = [f"m{failures}{'abc'[place]}" for place, failures in enumerate(outcome)]
        group(tmp_path, members, name="g" + "".join(map(str, outcome)))
    _, results = run(tmp_path, "--include-path", ".", "--tasks", "g*")
    chance = [math.comb(20, k) * 0.02**k * 0.98 ** (20 - k) for k in range(4)]
    covered = 0.0
    for outcome in outcomes:
        found = result_of(results, "g" + "".join(map(str, outcome)))
        low, high = found["interval"]
        assert 0 <= low <= found["value"] <= high <= 1
        assert high > low
        n_orders = len(set(permutations(outcome)))
        covered += (low <= 0.98 <= high) * n_orders * math.prod(chance[failures] for failures in outcome)
    assert covered >= 0.9


def test_anls_paper_compares_texts_with_single_spaces(tmp_path: Path) -> None:
    rows = [{"say": "a", "want": "New   York\tCity"}]
    (tmp_path / "city.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "city.yaml").write_text(
        "task: city\ndataset_path: json\ndataset_kwargs: {data_files: {test: city.jsonl}}\ntest_split: test\n"
        'doc_to_text: "{{say}}"\ndoc_to_target: want\ngeneration_kwargs: {max_new_tokens: 8}\n'
        "metric_list: [{metric: anls}, {metric: anls_paper}]\n"
    )
    _, results = run(tmp_path, "--tasks", "city.yaml", "--model-args", "answer=new york citx ")
    values = {item["metric"]: item["value"] for item in results["tasks"]["city"]["results"]}
    assert abs(values["anls_paper"] - (1 - 1 / 13)) < 1e-9
    assert values["anls"] != values["anls_paper"]


@pytest.mark.control
@pytest.mark.parametrize("n", [20, 50, 1000])
def test_intervals_at_the_ends_of_the_range_stay_inside_and_have_a_width(tmp_path: Path, n: int) -> None:
    shares = {"none": [0.0] * n, "all": [1.0] * n, "one": [1.0] + [0.0] * (n - 1), "rest": [0.0] + [1.0] * (n - 1)}
    shares["tiny"] = [1e-12] * (n // 2) + [0.0] * (n - n // 2)
    shares["near"] = [1 - 1e-12] * (n // 2) + [1.0] * (n - n // 2)
    for name, values in shares.items():
        task(tmp_path, f"{name}x", values)
        clusters = [{"picture": i // 2} for i in range(n)]
        task(tmp_path, f"{name}y", values, more="cluster_key: picture\n", columns=clusters)
    names = [f"{name}{kind}" for name in shares for kind in "xy"]
    _, results = run(tmp_path, "--include-path", ".", "--tasks", ",".join(names))
    for name in results["tasks"]:
        found = result_of(results, name)
        low, high = found["interval"]
        assert 0 <= low <= found["value"] <= high <= 1, name
        assert high > low, name


@pytest.mark.control
def test_means_of_very_large_or_small_numbers_have_an_interval_with_a_width(tmp_path: Path) -> None:
    for name, scale in (("huge", 1e150), ("small", 1e-150)):
        task(tmp_path, name, [scale * (i % 7) for i in range(40)], metric="cost")
    _, results = run(tmp_path, "--include-path", ".", "--tasks", "huge,small")
    for name in ("huge", "small"):
        found = result_of(results, name)
        if found["interval"] is None:
            assert found["no_interval"]
            continue
        low, high = found["interval"]
        assert math.isfinite(low)
        assert math.isfinite(high)
        assert low < found["value"] < high


def test_skewed_values_in_a_few_large_clusters_have_no_interval_and_the_reason(tmp_path: Path) -> None:
    sizes = [60, 30, 20, 15, 12, 10, 8, 7, 6, 6, 5, 5]
    labels = [cluster for cluster, size in enumerate(sizes) for _ in range(size)]
    values = [float(1.05**i) for i in range(len(labels))]
    task(
        tmp_path,
        "few",
        values,
        metric="cost",
        more="cluster_key: picture\n",
        columns=[{"picture": label} for label in labels],
    )
    found = result_of(run(tmp_path, "--tasks", "few.yaml")[1], "few")
    assert found["interval"] is None
    assert "a few clusters hold most samples" in found["no_interval"]
    assert found["stderr"] > 0


def test_the_interval_of_unequal_clusters_is_longer_than_that_of_equal_ones(tmp_path: Path) -> None:
    """Twelve clusters of which one holds a third: 2.2 errors, as for twelve equal ones are too few."""
    sizes = [60, 30, 20, 15, 12, 10, 8, 7, 6, 6, 5, 5]
    effects = [2.0, -1.0, 1.5, -2.0, 0.5, 1.0, -1.5, 0.3, -0.4, 1.2, -1.1, 0.2]
    values, columns = [], []
    for cluster, (size, effect) in enumerate(zip(sizes, effects, strict=True)):
        values += [effect + ((i * 7) % 5 - 2) / 2 for i in range(size)]
        columns += [{"picture": cluster}] * size
    task(tmp_path, "uneven", values, metric="rating", more="cluster_key: picture\n", columns=columns)
    found = result_of(run(tmp_path, "--tasks", "uneven.yaml")[1], "uneven")
    low, high = found["interval"]
    half = (high - low) / 2
    assert half / found["stderr"] > 2.4
