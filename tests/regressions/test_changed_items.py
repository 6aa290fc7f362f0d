"""Items that a task's own aggregation changes: lmms-eval states the standard error of what is left of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.regressions.copies import command

TASK = """\
task: changed
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
process_results: !function own.scored
metric_list: [{metric: found, aggregation: !function own.aggregated, higher_is_better: true}]
"""
SCORED = """\
def scored(doc, results):
    return {"found": {"said": results[0], "wanted": doc["a"], "video": doc["q"]}}
"""
WRITES = """\
def aggregated(items):
    for item in items:
        item["score"] = int(item["said"] == item["wanted"])
    return %s
"""
OF_FOUR = (1 / 12) ** 0.5
"""The standard error of the mean of 1, 0, 0 and 1."""
CASES = [
    pytest.param((), WRITES % "sum(item['score'] for item in items)", OF_FOUR, id="it writes scores into the items"),
    pytest.param(
        ("--parity", "lmms-eval"),
        WRITES % "max(item['score'] for item in [items.pop() for _ in items[:2]])",
        0.5,
        id="and takes some of them out",
    ),
    pytest.param(
        ("--parity", "lmms-eval"),
        "def aggregated(items):\n    items[:] = [int(item['said'] == item['wanted']) for item in items]\n"
        "    return sum(items)\n",
        OF_FOUR,
        id="it puts numbers in their place",
    ),
]


def stated(folder: Path, code: str, *words: str, more: str = "") -> dict[str, Any]:
    """The numbers of the task in lmms-eval's file of results."""
    (folder / "changed.yaml").write_text(TASK + more)
    (folder / "own.py").write_text(f"{SCORED}\n\n{code}")
    # The mock answers 0, so the first and the last row are right.
    (folder / "rows.jsonl").write_text(
        "".join(f'{{"q": "{q}", "a": "{a}"}}\n' for q, a in zip("abca", "0110", strict=True))
    )
    asked = ("--model", "mock", "--model_args", "answer=0", "--tasks", "changed", "--include_path", ".")
    done = command("lmms-eval", *asked, "--output_path", "out", *words, cwd=folder, HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("out/**/*_results.json")
    numbers: dict[str, Any] = json.loads(file.read_text())["results"]["changed"]
    return numbers


@pytest.mark.parametrize(("words", "code", "error"), CASES)
def test_the_standard_error_is_that_of_the_changed_items(
    words: tuple[str, ...], code: str, error: float, tmp_path: Path
) -> None:
    numbers = stated(tmp_path, code, *words)
    assert numbers["found_stderr_clt,none"] == pytest.approx(error, abs=1e-12)
    assert numbers["found_stderr,none"] == "N/A"


def test_a_function_that_returns_the_mean_of_scores_that_it_writes_has_their_error(tmp_path: Path) -> None:
    numbers = stated(tmp_path, WRITES % "sum(item['score'] for item in items) / len(items)")
    assert numbers["found,none"] == 0.5
    assert numbers["found_stderr,none"] == pytest.approx(OF_FOUR, abs=1e-12)


def test_clusters_are_found_in_the_changed_items(tmp_path: Path) -> None:
    numbers = stated(tmp_path, WRITES % "sum(item['score'] for item in items)", more="cluster_key: video\n")
    # Of the clusters a, b and c the sums of deviations are 1, -0.5 and -0.5: sqrt(1 / 3 + 1.5) / 4.
    assert numbers["found_stderr_clustered,none"] == pytest.approx((1 / 3 + 1.5) ** 0.5 / 4, abs=1e-12)


@pytest.mark.parametrize("score", ["numpy.int64(right)", "numpy.float32(right)", "numpy.bool_(right)", "right"])
def test_numbers_and_clusters_may_be_those_of_numpy(tmp_path: Path, score: str) -> None:
    code = (
        "import numpy\n\n\ndef aggregated(items):\n    for item in items:\n"
        "        right = int(item['said'] == item['wanted'])\n"
        f"        item['score'], item['video'] = {score}, numpy.int64(ord(item['video']))\n"
        "    return float(sum(item['score'] for item in items))\n"
    )
    numbers = stated(tmp_path, code, more="cluster_key: video\n")
    assert numbers["found,none"] == 2
    assert numbers["found_stderr_clt,none"] == pytest.approx(OF_FOUR, abs=1e-12)
    assert numbers["found_stderr_clustered,none"] == pytest.approx((1 / 3 + 1.5) ** 0.5 / 4, abs=1e-12)


@pytest.mark.parametrize(("divided", "value"), [("", 2), (" / len(items)", 0.5)], ids=["a sum", "the mean"])
def test_a_run_that_an_earlier_version_made_without_these_errors_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, divided: str, value: float
) -> None:
    stated(tmp_path, WRITES % f"sum(item['score'] for item in items){divided}")
    monkeypatch.chdir(tmp_path)
    made = polymeter.evaluate("mock", "changed", model_args={"answer": "0"}, include_paths=".", output="run")
    (result,) = made.results["tasks"]["changed"]["results"]
    assert result["item_errors"] == [pytest.approx(OF_FOUR), None]
    assert polymeter.verify("run").is_sound

    def write(**changes: Any) -> None:
        """What an earlier version wrote: no checksums, and results without what it did not state."""
        results = json.loads(json.dumps(made.results))
        (own,) = results["tasks"]["changed"]["results"]
        del own["item_errors"]
        own.update(changes)
        (tmp_path / "run" / "results.json").write_text(json.dumps(results))
        manifest = {name: value for name, value in manifest_of_run.items() if name != "checksums"}
        (tmp_path / "run" / "run.json").write_text(json.dumps(manifest))

    manifest_of_run = json.loads((tmp_path / "run" / "run.json").read_text())
    write()
    assert polymeter.verify("run").problems == ()
    write(
        stderr=None, interval=None, stderr_method=None, no_interval="the uncertainty of this aggregation is not known"
    )
    assert polymeter.verify("run").problems == ()
    write(value=3)
    assert f"value is 3, and {value} by the rows" in polymeter.verify("run").problems[0]
    write(item_errors=[0.5, None])
    assert "item_errors[0] is 0.5" in polymeter.verify("run").problems[0]


@pytest.mark.control
def test_a_function_that_changes_no_number_leaves_the_error_as_it_is(tmp_path: Path) -> None:
    code = "def aggregated(items):\n    items.sort(key=str)\n    return len(items)\n"
    assert stated(tmp_path, code)["found_stderr_clt,none"] == "N/A"
