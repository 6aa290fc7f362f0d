"""Trying benchmarks out: first prompts, and gold answers through the real scoring."""

from __future__ import annotations

import pytest

from polymeter.catalog.trying import check_references, first_prompts, open_named, tasks_in
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from tests.e2e.kit import capitals

LIAR = """\
task: liar
include: capitals.yaml
process_results: !function utils.never
metric_list: [{metric: score, aggregation: mean, higher_is_better: true}, {metric: sum, aggregation: sum}]
"""


@pytest.fixture
def home(tmp_path):
    return capitals(tmp_path / "tasks", 4)


def test_the_first_prompts_are_those_of_the_run(home):
    shown = list(first_prompts(home / "capitals.yaml", 2))
    assert [(prompt.task, prompt.sample) for prompt in shown] == [("capitals", "0"), ("capitals", "1")]
    assert shown[1].requests[0].text == "What is the capital of Japan 1?"
    assert shown[1].requests[0].parameters.max_new_tokens == 8


def test_gold_answers_score_full_marks(home):
    (found,) = check_references(home, limit=3)
    assert (found.n_samples, found.n_scored, found.is_fine) == (3, 3, True)
    assert [(result.metric, result.verdict) for result in found.results] == [("exact_match", "full")]


def test_a_task_whose_gold_scores_nothing_is_found(home):
    (home / "liar.yaml").write_text(LIAR)
    (home / "utils.py").write_text("def never(doc, results):\n    return {'score': 0.0, 'sum': 5.0}\n")
    found = {check.task: check for check in check_references(home)}
    assert found["capitals"].is_fine
    assert not found["liar"].is_fine
    assert [result.verdict for result in found["liar"].results] == ["short", "unknown"]


def test_a_task_that_cannot_be_scored_says_why(home):
    (home / "liar.yaml").write_text(LIAR)
    (home / "utils.py").write_text("def never(doc, results):\n    raise ValueError('no such thing')\n")
    found = {check.task: check for check in check_references(home)}["liar"]
    assert (found.n_scored, found.is_fine) == (0, False)
    assert "no such thing" in found.errors[0]


def test_a_task_that_cannot_be_opened_says_why(home):
    (home / "capitals.csv").unlink()
    (found,) = check_references(home)
    assert not found.is_fine
    assert "capitals.csv" in found.problem


def test_data_can_be_given(home, tmp_path):
    (tmp_path / "other.csv").write_text("country,capital\nItaly,Rome\n")
    (home / "capitals.yaml").write_text((home / "capitals.yaml").read_text().replace("csv\n", "org/data\n", 1))
    (task,) = open_named(["capitals"], [home], {"org/data": str(tmp_path / "other.csv")})
    assert task.samples[0].doc["country"] == "Italy"


def test_a_folder_without_tasks_is_refused(tmp_path):
    assert tasks_in(tmp_path) == []
    with pytest.raises(PlanError, match="There is no task in"):
        list(check_references(tmp_path))


def test_check_shows_prompts_and_gold(home, capsys):
    assert main(["check", str(home), "--prompts", "1", "--run-gold", "--limit", "2"]) == 0
    said = capsys.readouterr().out
    assert "What is the capital of France 0?" in said
    assert "→ generate(max_new_tokens=8, temperature=0.0)" in said
    assert "capitals: references of 2 samples, 2 scored\n  exact_match = 1.0000: full marks" in said


def test_check_ends_with_1_where_gold_falls_short(home, capsys):
    (home / "liar.yaml").write_text(LIAR)
    (home / "utils.py").write_text("def never(doc, results):\n    return {'score': 0.0, 'sum': 5.0}\n")
    assert main(["check", str(home), "--run-gold"]) == 1
    assert "NOT full marks" in capsys.readouterr().out


def test_tasks_marks_what_is_missing(home, capsys):
    (home / "liar.yaml").write_text(LIAR)
    (home / "utils.py").write_text("import no_such_package\n\ndef never(doc, results):\n    return {}\n")
    assert main(["tasks", "--include-path", str(home)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "needs no_such_package" in lines["liar"]
    assert "needs" not in lines["capitals"]
