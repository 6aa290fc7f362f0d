"""``polymeter power`` on runs of the mock model and from assumptions: what it says, refuses, and every form."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.stats import detectable_effect, needed_samples
from tests.cli.kit import Typing

N = 120
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: "What is {{{{question}}}}?"
doc_to_target: answer
metric_list: [{{metric: {metric}}}]
"""


def answers(share: float, seed: int) -> str:
    hard, luck = random.Random(0), random.Random(seed)
    return json.dumps({str(i): str(2 * i) if hard.random() + luck.gauss(0, 0.2) < share else "no" for i in range(N)})


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    rows = ({"question": f"{i} + {i}", "answer": str(2 * i)} for i in range(N))
    typing.write(
        {
            "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
            "sums.yaml": TASK.format(name="sums", metric="exact_match"),
            "one.json": answers(0.5, 1),
            "two.json": answers(0.6, 2),
        }
    )
    return typing


def run(typing: Typing, name: str, tasks: str = "sums.yaml") -> None:
    words = f"run --model mock --model-args answers={name}.json --tasks {tasks} -q -o {name}"
    assert typing(words).code in (0, 1)


def analysis(typing: Typing, words: str) -> dict:
    done = typing(f"power {words} --json")
    assert done.code == 0, done.said
    return json.loads(done.out)


def test_one_run_and_an_assumed_correlation(typing: Typing) -> None:
    run(typing, "one")
    document = analysis(typing, "one --difference 0.02,0.1 --correlation 0.3")
    (score,) = document["scores"]
    deviation = polymeter.open_run("one").result("sums", "exact_match").stderr * math.sqrt(N)
    assert score["std"] == pytest.approx(deviation)
    assumed = {"std_a": deviation, "std_b": deviation, "correlation": 0.3}
    assert score["detectable_paired"] == pytest.approx(detectable_effect(N, **assumed))
    assert score["detectable_unpaired"] == pytest.approx(detectable_effect(N, **{**assumed, "correlation": 0.0}))
    assert [own["difference"] for own in score["needed"]] == [0.02, 0.1]
    assert [own["paired"] for own in score["needed"]] == [needed_samples(own, **assumed) for own in (0.02, 0.1)]
    assert not score["is_measured"]
    assert score["repeats"] is None
    assert "have a correlation of 0.3" in typing("power one --correlation 0.3").out


def test_two_runs_measure_the_correlation(typing: Typing) -> None:
    for name in ("one", "two"):
        run(typing, name)
    (score,) = analysis(typing, "one two")["scores"]
    (line,) = polymeter.compare("one", "two").others[0].scores
    assert score["detectable_paired"] == pytest.approx(line.detectable)
    assert score["is_measured"]
    assert 0.3 < score["correlation"] < 1
    assert score["detectable_paired"] < score["detectable_unpaired"]
    assert "Standard deviation and correlation are those of one and two." in typing("power one two").out


def test_a_run_that_has_not_ended_says_so(typing: Typing) -> None:
    run(typing, "one")
    manifest = json.loads(Path("one/run.json").read_text())
    Path("one/run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    told = "one has not ended: its numbers may change."
    assert analysis(typing, "one")["unfinished"] == ["one"]
    assert told in typing("power one").out
    run(typing, "two")
    assert told in typing("agree one two").out


def test_more_power_takes_more_samples(typing: Typing) -> None:
    run(typing, "one")
    few, many = (analysis(typing, f"one --power {power}")["scores"][0] for power in (0.5, 0.95))
    assert few["detectable_paired"] < many["detectable_paired"]
    assert all(a["paired"] < b["paired"] for a, b in zip(few["needed"], many["needed"], strict=True))


def test_clusters_count(typing: Typing) -> None:
    shared = ({"question": f"{i} + {i}", "answer": str(2 * i), "text": i // 4} for i in range(N))
    typing.write(
        {
            "rows.jsonl": "".join(json.dumps(row) + "\n" for row in shared),
            "sums.yaml": TASK.format(name="sums", metric="exact_match") + "cluster_key: text\n",
            "one.json": json.dumps({str(i): str(2 * i) if i // 4 % 2 else "no" for i in range(N)}),
        }
    )
    run(typing, "one")
    (score,) = analysis(typing, "one")["scores"]
    assert score["n_clusters"] == N // 4
    assert score["design_effect"] == pytest.approx(4, rel=0.1)
    assert "samples lie in 30 clusters; that makes the variance" in typing("power one").out


def test_repeats_are_taken_apart(typing: Typing) -> None:
    typing.write(
        {
            "sums.yaml": TASK.format(name="sums", metric="exact_match").replace(
                "metric_list: [{metric: exact_match}]",
                "process_results: !function utils.share\nrepeats: 4\n"
                "filter_list: [{name: all, filter: [{function: take_first_k, k: 4}]}]\n"
                "metric_list: [{metric: share, aggregation: mean, higher_is_better: true}]",
            ),
            "utils.py": "def share(doc, results):\n    return {'share': int(doc['answer']) // 2 % 5 / 4}\n",
        }
    )
    run(typing, "one")
    (score,) = analysis(typing, "one")["scores"]
    found = score["repeats"]
    assert found["repeats"] == 4
    detected = [detected for _, detected in found["detectable"]]
    assert [n for n, _ in found["detectable"]] == [1, 4, 8, None]
    assert detected == sorted(detected, reverse=True)
    assert detected[1] == pytest.approx(score["detectable_paired"])
    assert "4 answers to each sample;" in typing("power one").out


def test_assumptions_alone(typing: Typing) -> None:
    document = analysis(typing, "--difference 0.02 --std 0.5 --correlation 0.5 --power 0.8 --alpha 0.05")
    assert document["needed"] == [{"difference": 0.02, "paired": 4906, "unpaired": 9812}]
    assert len(analysis(typing, "")["needed"]) > 2
    out = typing("power --difference 0.02 --std 0.5").out
    assert "A difference of 0.0200 needs 4,906 samples that both models answer, or 9,812 for each" in out
    (row,) = csv.DictReader(io.StringIO(typing("power --difference 0.02 --format csv").out))
    assert (row["std"], row["needed_paired"]) == ("0.5", "4906")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--correlation 1", "At 1 the two models would always agree."),
        ("--correlation -2", "at least -1"),
        ("--difference 0", "more than zero"),
        ("--difference two", "'two' is not a number."),
        ("--std 0", "more than zero"),
        ("--power 1", "between 0 and 1"),
        ("--metric f1", "Tasks and metrics can only be selected in a run."),
        ("one --std 0.4", "The standard deviation is computed from the run."),
        ("one two --correlation 0.4", "The correlation is computed from the two runs."),
        ("one two one", "one or two run folders"),
        ("one --tasks sum", "Did you mean 'sums'?"),
        ("one --metric f1", "They have exact_match."),
        ("nowhere", "nowhere"),
    ],
)
def test_what_cannot_be_is_refused(typing: Typing, words: str, says: str) -> None:
    for name in ("one", "two"):
        run(typing, name)
    done = typing(f"power {words}")
    assert done.code == 2
    assert says in done.err


def test_a_metric_that_is_no_mean_is_named(typing: Typing) -> None:
    typing.write({"sums.yaml": TASK.format(name="sums", metric="exact_match}, {metric: bleu")})
    run(typing, "one")
    document = analysis(typing, "one")
    assert [score["metric"] for score in document["scores"]] == ["exact_match"]
    (other,) = document["others"]
    assert other["metric"] == "bleu"
    assert "not a mean of values" in other["why"]
    done = typing("power one --metric bleu")
    assert done.code == 2
    assert "The power of one cannot be computed" in done.err


def test_too_few_samples_say_nothing(typing: Typing) -> None:
    assert typing("run --model mock --model-args answers=one.json --tasks sums.yaml -q -o few --limit 8").code == 0
    done = typing("power few")
    assert done.code == 2
    assert "fewer than 20 samples" in done.err


def test_every_form(typing: Typing) -> None:
    run(typing, "one")
    document = analysis(typing, "one")
    assert json.loads(json.dumps(polymeter.power("one").document())) == document
    assert typing("power one --format markdown").out.startswith("| task | metric | n | std |")
    assert "\\begin{tabular}{llrrrr}" in typing("power one --format latex").out
    table = [*csv.DictReader(io.StringIO(typing("power one --format csv").out))]
    assert [int(row["needed_paired"]) for row in table] == [own["paired"] for own in document["scores"][0]["needed"]]
    assert typing("power one --output page.html").code == 0
    page = (typing.folder / "page.html").read_text()
    assert "What could have been detected" in page
    assert f'class="right">{document["scores"][0]["needed"][0]["paired"]:,}</td>' in page
    with pytest.raises(PlanError, match="between 0 and 1"):
        polymeter.power("one", alpha=2)
