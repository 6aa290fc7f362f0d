"""The draw of a pilot, and prompts that are made before the run: neither changes what the run asks."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.model import ModelTraits
from polymeter.models.mock import MockBatch
from polymeter.run.pilot.drawing import draw
from tests.helpers.tasks import ListTask, answer_of, docs, run_tasks


def drawn_prompt(row: dict[str, Any]) -> str:
    """Draw from the global generator, as task code does."""
    return f"{row['n']}: {random.random()} {random.choice('abc') * random.randint(1, 50)}"


def task(n: int = 30, **settings: Any) -> polymeter.PythonTask:
    rows = [{"n": n} for n in range(n)]
    return polymeter.PythonTask(drawn_prompt, name="drawn", rows=rows, reference="n", scorers="exact_match", **settings)


def echo() -> MockBatch:
    return MockBatch(lambda request: request.text, identity={"backend": "echo"})


def samples(folder: Path) -> list[Any]:
    lines = (folder / "samples" / "drawn.jsonl").read_text().splitlines()
    return [json.loads(line)["answer"] for line in lines]


def test_a_draw_is_random_and_a_larger_one_contains_it() -> None:
    small, large = draw("a", range(10, 500), 20, 0), draw("a", range(10, 500), 60, 0)
    assert len(small) == 20
    assert set(small) <= set(large)
    assert small == sorted(small)
    assert small != list(range(small[0], small[0] + 20))
    assert draw("b", range(10, 500), 20, 0) != small != draw("a", range(10, 500), 20, 1)


def test_a_draw_of_more_than_all_is_all() -> None:
    assert draw("a", range(3, 8), 100, 0) == [3, 4, 5, 6, 7]


def test_every_sample_is_drawn_equally_often() -> None:
    counts = [0] * 20
    for seed in range(400):
        for index in draw("a", range(20), 5, seed):
            counts[index] += 1
    assert min(counts) > 60
    assert max(counts) < 140


def test_a_pilot_and_the_prompts_of_an_estimate_change_no_prompt_of_the_run(tmp_path: Path) -> None:
    plain, piloted, resumed = tmp_path / "plain", tmp_path / "piloted", tmp_path / "resumed"
    polymeter.evaluate(echo(), [task()], output=plain)
    polymeter.estimate_cost(echo(), [task()])
    polymeter.evaluate(echo(), [task()], output=piloted, pilot=7)
    polymeter.estimate_cost(echo(), [task()], output=resumed, pilot=7)
    polymeter.evaluate(echo(), [task()], output=resumed)
    assert samples(plain) == samples(piloted) == samples(resumed)


def test_prompts_are_counted_as_the_run_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = echo()
    model.text_tokens = len  # type: ignore[method-assign, assignment]
    counted = polymeter.estimate_cost(model, [task()]).total["input_tokens"].expected
    polymeter.evaluate(echo(), [task()], output=tmp_path / "run")
    around = polymeter.estimate_cost(model, [task()], limit=1).total["input_tokens"].expected
    texts = [len(answer) for answer in samples(tmp_path / "run")]
    assert counted is not None
    assert around is not None
    assert counted - sum(texts) == pytest.approx(30 * (around - texts[0]))


def test_a_wrapper_shows_what_it_needs_in_a_pilot_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    requests = {"generate": True, "loglikelihood": True, "generate_image": False}
    wrapper = MockBatch(lambda request: "one", ModelTraits("mock", requests=requests, is_foreign=True))
    before = polymeter.estimate_cost(wrapper, [task()])
    assert before.total["requests"].expected is None
    assert before.tasks[0].basis == "Unknown without a pilot or an earlier run"
    assert any("the wrapper of the model makes its prompts" in note for note in before.notes)
    after = polymeter.estimate_cost(wrapper, [task()], output=tmp_path / "run", pilot=5)
    assert after.total["requests"].expected == 30


def test_repeats_count_in_prompts_and_in_a_pilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    repeated = task(n=12, repeats=3)
    assert polymeter.estimate_cost(echo(), [repeated]).total["requests"].expected == 36
    piloted = polymeter.estimate_cost(echo(), [repeated], repeats=2, pilot=4, output=tmp_path / "run")
    assert piloted.total["requests"].expected == 72


def test_a_run_that_nobody_estimates_has_no_pilot(tmp_path: Path) -> None:
    """As one that is run again with the options of another one."""
    model = MockBatch(answer_of, batch_size=4)
    outcome = run_tasks([ListTask(docs(20))], model, tmp_path / "run", pilot=5)
    assert outcome.status == "complete"
    assert sum(model.batches) == 20
