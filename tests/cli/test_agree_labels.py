"""``polymeter agree --labels``: labels in a file, and a judge's mean corrected by them."""

import json
import random
from pathlib import Path

import pytest

from polymeter.api import agree
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.stats import corrected_mean
from tests.cli.kit import Typing

RIGHT = [random.Random(i).random() < 0.5 for i in range(200)]
SAID = [right or random.Random(-i).random() < 0.3 for i, right in enumerate(RIGHT, 1)]
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture
def type_in(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> Typing:
    """A run of 200 samples, of which the scoring calls more right than are."""
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    rows = [json.dumps({"question": f"{i}?", "answer": "yes"}) for i in range(200)]
    answers = json.dumps({str(i): "yes" if said else "no" for i, said in enumerate(SAID)})
    typing.write({"rows.jsonl": "\n".join(rows), "answers.json": answers})
    for name in ("one", "two"):
        typing.write({f"{name}.yaml": TASK.format(name=name)})
    assert main(["run", "-m", "mock", "-a", "answers=answers.json", "-t", "one.yaml", "-o", "run", "-q"]) == 0
    return typing


def csv_of(ids: range, extra: str = "") -> str:
    return "id,label\n" + "".join(f"{i},{'right' if RIGHT[i] else 'wrong'}\n" for i in ids) + extra


def test_the_mean_is_corrected(type_in: Typing) -> None:
    type_in.write({"labels.csv": csv_of(range(0, 200, 4))})
    found = json.loads(type_in("agree run --labels labels.csv --json").out)["corrected"]
    labels, judge = [float(right) for right in RIGHT], [float(said) for said in SAID]
    others = [score for i, score in enumerate(judge) if i % 4]
    expected = corrected_mean(labels[::4], judge[::4], others)
    (one,) = found
    assert (one["n_labelled"], one["n_unlabelled"], one["labels"]) == (50, 150, "labels.csv")
    assert one["corrected"]["value"] == expected.value
    assert tuple(one["corrected"]["interval"]) == expected.interval
    assert one["judge_bias"] == pytest.approx((sum(judge[::4]) - sum(labels[::4])) / 50)
    assert one["labelled"]["value"] == sum(labels[::4]) / 50
    assert one["judge"]["value"] == sum(judge) / 200
    shown = " ".join(type_in("agree run --labels labels.csv").out.split())
    assert f"one exact_match none run 50 200 {one['labelled']['value']:.3f}" in shown
    assert "They hold if the labelled samples were chosen at random." in shown


def test_labels_that_were_chosen_are_noticed(type_in: Typing) -> None:
    doubtful = [i for i in range(200) if SAID[i]][:60]
    type_in.write({"labels.csv": csv_of(doubtful)})
    assert "If they were not selected at random, the corrected mean is wrong." in type_in(
        "agree run --labels labels.csv"
    ).out.replace("\n", " ")


def test_labels_of_all_samples_need_no_correction(type_in: Typing) -> None:
    lines = "".join(json.dumps({"id": i, "label": int(RIGHT[i])}) + "\n\n" for i in range(200))
    type_in.write({"labels.jsonl": lines})
    document = json.loads(type_in("agree run --labels labels.jsonl --json").out)
    assert "corrected" not in document
    assert document["compared"][0]["n"] == 200
    assert document["compared"][0]["second"] == "labels.jsonl"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.csv", "id;label\n1;1\n", "'id' is missing here."),
        ("l.csv", "id,label\n1,perhaps\n", "The label has the value 'perhaps'"),
        ("l.csv", csv_of(range(3), "2,right\n"), "Sample '2' has two labels."),
        ("l.csv", "id,label\n999,1\n", "Task 'one' has no sample '999' that ended."),
        ("l.csv", "id,label,task\n1,1,ones\n", "The run has no task 'ones'."),
        ("l.csv", "id,label\n1,\n", "The file contains no labels."),
        ("l.csv", 'id,label\n1,"2\n', "The file of labels is broken"),
        ("l.jsonl", "[1, 2]\n", "This line is not a JSON object."),
        ("l.txt", "1 1\n", "must be .csv, .tsv or .jsonl"),
        ("l.csv", b"id,label\n\xff,1\n", "is not UTF-8"),
    ],
)
def test_a_file_that_is_none_is_refused(type_in: Typing, name: str, content: str | bytes, message: str) -> None:
    type_in.write({name: content})
    done = type_in(f"agree run --labels {name}")
    assert done.code == 2
    assert message in done.err
    assert name in done.err


def test_several_tasks_need_their_names(type_in: Typing, tmp_path: Path) -> None:
    assert main(["run", "-m", "mock", "-a", "answers=answers.json", "-t", "one.yaml,two.yaml", "-o", "both", "-q"]) == 0
    type_in.write(
        {"short.csv": csv_of(range(30)), "long.csv": "id,label,task\n" + "".join(f"{i},1,two\n" for i in range(30))}
    )
    assert "The run has 2 tasks, and this label names none." in type_in("agree both --labels short.csv").err
    report = agree(tmp_path / "both", labels=tmp_path / "long.csv")
    assert [one.task for one in report.corrected] == ["two"]
    with pytest.raises(PlanError, match="from a column or from a file"):
        agree(tmp_path / "both", labels=tmp_path / "long.csv", column="answer")
    with pytest.raises(PlanError, match="The file of labels does not exist"):
        agree(tmp_path / "both", labels=tmp_path / "none.csv")
