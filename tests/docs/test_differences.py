"""What ``docs/differences.md`` says of Polymeter, where no other test says it already."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest

from polymeter import evaluate
from polymeter.core.errors import PlanError
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.task import GroupSpec, Result
from polymeter.models.mock import MockBatch
from polymeter.run.finish.groups import reduce_group

TASK = """\
task: t
dataset_path: json
dataset_kwargs:
  data_files: rows.jsonl
test_split: train
doc_to_text: "{{q}}"
doc_to_target: a
"""


def write(
    folder: Path, extra: str = "", rows: str = '{"q": "x", "a": "1"}\n{"q": "y", "a": "2"}\n', **files: str
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rows.jsonl").write_text(rows)
    (folder / "t.yaml").write_text(TASK + extra)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder / "t.yaml"


def run(task: Path, model: object = "mock", **options: object):
    return evaluate(model, str(task), output=task.parent / "run", **options)  # type: ignore[arg-type]


def asked(task: Path, **options: object) -> list[object]:
    """The requests that a task makes."""
    requests: list[object] = []
    run(task, MockBatch(lambda request: (requests.append(request), "1")[1]), **options)
    return requests


def test_the_median_is_of_sorted_values() -> None:
    assert AGGREGATIONS.get("median").aggregate([3, 1, 2]) == 2


def test_bypass_gives_999_under_both_names() -> None:
    for name in ("bypass", "by_pass"):
        assert AGGREGATIONS.get(METRICS.get(name).aggregation).aggregate(["anything"]) == 999


def test_several_targets_go_to_our_metrics_at_once_and_singly_to_others(tmp_path: Path) -> None:
    rows = '{"q": "x", "a": ["abcd", "ab"]}\n'
    own = "def count(references, predictions):\n    return float(len(references) == 1)\n"
    task = write(tmp_path, "metric_list:\n- metric: cer\n- metric: !function own.count\n", rows, own=own)
    result = run(task, model_args={"answer": "ab"})
    assert result.value("t", "cer") == 0.0
    assert result.value("t", "count") == 1.0


def test_numbers_as_targets_are_compared_as_text(tmp_path: Path) -> None:
    assert (
        run(write(tmp_path, rows='{"q": "x", "a": 7}\n'), model_args={"answer": "'7'"}).value("t", "exact_match") == 0.0
    )
    again = write(tmp_path / "b", rows='{"q": "x", "a": 7}\n')
    assert run(again, model_args={"answer": 7}).value("t", "exact_match") == 1.0


@pytest.mark.parametrize("key", ["until", "stop", "stop_sequences"])
def test_every_name_of_stop_strings_counts(tmp_path: Path, key: str) -> None:
    (request, _) = asked(write(tmp_path, f"generation_kwargs:\n  {key}: ['.']\n  max_tokens: 5\n"))
    assert (request.parameters.stop, request.parameters.max_new_tokens) == ((".",), 5)  # type: ignore[attr-defined]


def test_max_gen_toks_is_max_new_tokens(tmp_path: Path) -> None:
    (request, _) = asked(write(tmp_path, "generation_kwargs:\n  max_gen_toks: 9\n"))
    assert request.parameters.max_new_tokens == 9  # type: ignore[attr-defined]


def test_the_system_prompt_is_a_message_of_its_own(tmp_path: Path) -> None:
    (request, _) = asked(write(tmp_path), system_prompt="Be brief.")
    assert [(message.role, message.text) for message in request.messages] == [("system", "Be brief."), ("user", "x")]  # type: ignore[attr-defined]


def test_group_metrics_are_matched_exactly_by_name_and_filter() -> None:
    def result(metric: str, reading: str, value: float) -> Result:
        return Result(metric, reading, value, 4, (), 0.1, higher_is_better=True)

    results = {
        "a": [result("acc", "none", 0.5), result("acc_norm", "none", 0.9), result("acc", "strict", 0.1)],
        "b": [Result("acc", "none", 0.7, 12, (), 0.2, higher_is_better=True)],
    }
    wanted = {"metric": "acc", "weight_by_size": True, "filter_list": ("none",)}
    (found,) = reduce_group(GroupSpec("g", "", ("a", "b"), (wanted,)), results)
    assert found.value == pytest.approx((4 * 0.5 + 12 * 0.7) / 16)
    assert found.stderr == pytest.approx(((4 * 0.1) ** 2 + (12 * 0.2) ** 2) ** 0.5 / 16)
    (strict,) = reduce_group(GroupSpec("g", "", ("a", "b"), ({**wanted, "filter_list": ("strict",)},)), results)
    assert strict.value == 0.1


def test_examples_come_from_training_then_validation_and_never_from_what_is_measured(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no split to draw 1 examples from"):
        run(write(tmp_path, "num_fewshot: 1\n"))
    rows = {"train": "first", "validation": "second", "test": "third"}
    for split, word in rows.items():
        (tmp_path / f"{split}.jsonl").write_text(f'{{"q": "{word}", "a": "1"}}\n')
    files = "".join(f"    {split}: {split}.jsonl\n" for split in rows)
    head = TASK.replace("data_files: rows.jsonl", f"data_files:\n{files.rstrip()}").replace(
        "test_split: train", "test_split: test\nvalidation_split: validation"
    )
    for number, (extra, expected) in enumerate((("training_split: train\n", "first 1"), ("", "second 1"))):
        task = tmp_path / f"shots{number}.yaml"
        task.write_text(head.replace("task: t", f"task: s{number}") + extra + "num_fewshot: 1\n")
        (request,) = asked(task, is_restart=number > 0)
        assert request.text == f"{expected}\n\nthird"  # type: ignore[attr-defined]


def test_fixed_examples_and_their_own_forms_count(tmp_path: Path) -> None:
    extra = (
        "num_fewshot: 1\nfewshot_config:\n  sampler: first_n\n  samples:\n  - {q: one, a: eins}\n"
        "  doc_to_text: 'Q {{q}}'\n  doc_to_target: 'A {{a}}'\n"
    )
    (request, _) = asked(write(tmp_path, extra))
    assert request.text == "Q one A eins\n\nx"  # type: ignore[attr-defined]


def test_full_docs_gives_process_results_all_rows(tmp_path: Path) -> None:
    code = (
        "def score(doc, results, full_docs=None):\n"
        "    return {'n': len(full_docs), 'last': float(full_docs[-1]['q'] == 'y')}\n"
    )
    extra = "full_docs: true\nprocess_results: !function own.score\nmetric_list:\n- metric: n\n- metric: last\n"
    result = run(write(tmp_path, extra, own=code))
    assert (result.value("t", "n"), result.value("t", "last")) == (2.0, 1.0)


def test_a_key_written_twice_warns_and_the_later_one_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (request, _) = asked(write(tmp_path, "doc_to_text: 'later {{q}}'\n"))
    assert request.text == "later x"  # type: ignore[attr-defined]
    assert re.search(r"t\.yaml:8: the key 'doc_to_text' is written twice", caplog.text)


def test_a_function_that_raises_is_called_once_for_its_sample(tmp_path: Path) -> None:
    code = (
        "import pathlib\n\n"
        "def score(doc, results):\n"
        "    with open(pathlib.Path(__file__).parent / 'calls', 'a') as file:\n        file.write(doc['q'])\n"
        "    raise ValueError('no')\n"
    )
    extra = "process_results: !function own.score\nmetric_list:\n- metric: n\n"
    result = run(write(tmp_path, extra, own=code), score_workers=1)
    assert (tmp_path / "calls").read_text() == "xy"
    assert (result.n_failed, result.exit_code) == (2, 1)


def test_a_module_runs_once_and_its_environment_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "kept")
    code = (
        "import os, pathlib\n"
        "with open(pathlib.Path(__file__).parent / 'loads', 'a') as file:\n    file.write('x')\n"
        "os.environ['OURS'] = 'changed'\nseen = []\n\n"
        "def text(doc):\n    seen.append(doc['q'])\n    return doc['q']\n\n"
        "def score(doc, results):\n    return {'seen': float(doc['q'] in seen)}\n"
    )
    extra = "doc_to_text: !function own.text\nprocess_results: !function own.score\nmetric_list:\n- metric: seen\n"
    result = run(write(tmp_path, extra, own=code))
    assert (tmp_path / "loads").read_text() == "x"
    assert result.value("t", "seen") == 1.0
    assert os.environ["OURS"] == "kept"


def test_metadata_as_a_list_shows_its_version(tmp_path: Path) -> None:
    result = run(write(tmp_path, "metadata:\n- version: 2.5\n"))
    assert result.results["tasks"]["t"]["version"] == "2.5"


def test_clusters_are_a_column_and_hold_for_plain_numbers(tmp_path: Path) -> None:
    rows = "".join(f'{{"q": "{i}", "a": "{i // 4}", "c": {i // 4}}}\n' for i in range(12))
    alone = run(write(tmp_path / "a", rows=rows), model_args={"answer": 1}).result("t", "exact_match")
    clustered = run(write(tmp_path / "b", "cluster_key: c\n", rows), model_args={"answer": 1}).result(
        "t", "exact_match"
    )
    assert clustered.value == alone.value
    assert clustered.stderr > 1.5 * alone.stderr  # type: ignore[operator]


def test_each_repeat_has_a_seed_of_its_own(tmp_path: Path) -> None:
    requests = asked(write(tmp_path, "repeats: 3\n", rows='{"q": "x", "a": "1"}\n'))
    assert len({request.parameters.seed for request in requests}) == 3  # type: ignore[attr-defined]
