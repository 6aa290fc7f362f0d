"""Which tasks are played, and what becomes of those that cannot be."""

from __future__ import annotations

import pytest

from polymeter.catalog.playing import list_plays, play
from polymeter.data.source import is_of_hub
from tests.e2e.kit import capitals

OWN = "process_results: !function {}.score\nmetric_list: [{{metric: right, aggregation: mean}}]\n"


@pytest.fixture
def home(tmp_path):
    return capitals(tmp_path / "tasks", 4)


def variant(home, name, more="", **replaced):
    text = (home / "capitals.yaml").read_text().replace("task: capitals", f"task: {name}")
    for key, value in replaced.items():
        lines = text.splitlines(keepends=True)
        text = "".join(f"{key}: {value}\n" if line.startswith(f"{key}:") else line for line in lines)
    (home / f"{name}.yaml").write_text(text.replace("metric_list: [{metric: exact_match}]\n", "") + more)


def test_tasks_are_sorted_by_what_their_files_say(home):
    (home / "hooks.py").write_text("def score(doc, results):\n    return {'right': 1.0}\n")
    variant(home, "coded", OWN.format("hooks"))
    variant(home, "far", dataset_path="example/far")
    variant(home, "faulty", "nonsense: 1\n")
    plays = list_plays(home, broken=[home / "faulty.yaml"])
    assert [spec.name for spec in plays.specs] == ["capitals", "coded"]
    assert (plays.elsewhere, plays.left_out) == (("far",), ())
    assert plays.code == (home / "hooks.py",)
    assert [spec.name for spec in list_plays(home, data={"example/far": str(home / "capitals.csv")}).specs][-1] == "far"


def test_no_more_are_played_than_are_wanted(home):
    for number in range(4):
        variant(home, f"task_{number}")
    plays = list_plays(home, most=2)
    assert (len(plays.specs), plays.left_out) == (2, ("task_1", "task_2", "task_3"))
    assert len(list_plays(home, most=None).specs) == 5


def test_a_task_that_fails_does_not_end_the_others(home):
    (home / "hooks.py").write_text("raise ValueError('not today')\n")
    variant(home, "broken", OWN.format("hooks"))
    variant(home, "misspelt", doc_to_target="captial")
    played = {one.task: one for one in play(list_plays(home), rows=2)}
    assert (played["capitals"].n_rows, played["capitals"].findings) == (2, ())
    assert "not today" in played["broken"].skipped
    assert played["misspelt"].problem.where == f"{home / 'misspelt.yaml'}:6"


@pytest.mark.parametrize(
    ("name", "is_far"),
    [
        ("csv", False),
        ("here", False),
        ("./gone", False),
        ("/gone/away", False),
        ("data/rows.csv", True),
        ("owner/name", True),
        ("gsm8k", True),
        ("owner/given", False),
        ("owner/of_config", False),
        ("owner/cached", False),
        ("cached", False),
    ],
)
def test_a_name_shows_whether_a_dataset_is_on_this_machine(tmp_path, monkeypatch, name, is_far):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    for place in ("here", "hub/datasets--owner--cached", "datasets/cached"):
        (tmp_path / place).mkdir(parents=True)
    assert is_of_hub(name, tmp_path, {"owner/given": "x", "owner/of_config:en": "y"}) is is_far
