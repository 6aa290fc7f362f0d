"""What a prompt function may return, and what the model is shown."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage

import polymeter
from polymeter import Audio, Image, Message, Text
from tests.tasks.python.kit import Recorder, results_of, shown, written

_ROWS = [{"q": "a?", "answer": "ok"}]


def _asked(prompt: Any, *, rows: Any = _ROWS, **fields: Any) -> list[polymeter.Request]:
    model = Recorder()
    task = polymeter.PythonTask(prompt, rows=rows, reference="answer", name="t", **fields)
    assert polymeter.evaluate(model, tasks=task).n_failed == 0
    return model.requests


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PILImage.new("RGB", (6, 4), "red").save("dot.png")


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("{q} {answer}", ["a? ok"]),
        (lambda row: row["q"], ["a?"]),
        (lambda row: Text("a"), ["a"]),
        (lambda row: [Image("dot.png"), row["q"]], ["image", "a?"]),
        (lambda row: ["before", Path("dot.png"), "between", Path("dot.png").resolve(), "after"],
         ["before", "image", "between", "image", "after"]),
        (lambda row: [PILImage.new("RGB", (3, 3)), "a"], ["image", "a"]),
        (lambda row: [Path("dot.png").read_bytes(), "a"], ["image", "a"]),
        (lambda row: [{"type": "image", "url": "dot.png"}, {"type": "text", "text": "a"}], ["image", "a"]),
        (lambda row: (None, "a"), ["a"]),
        (lambda row: "a path such as dot.png", ["a path such as dot.png"]),
        (lambda row: "dot.png", ["dot.png"]),
    ],
)  # fmt: skip
def test_it_is_shown_in_order(prompt: Any, parts: list[str]) -> None:
    (request,) = _asked(prompt)
    assert [message.role for message in request.messages] == ["user"]
    assert shown(request) == parts
    for image in request.images():
        assert image.size() in ((6, 4), (3, 3))


@pytest.mark.parametrize(
    "prompt",
    [
        lambda row: [Message("system", (Text("s"),)), Message("user", (Image("dot.png"), Text("q")))],
        lambda row: [{"role": "system", "content": "s"}, {"role": "user", "content": [Image("dot.png"), "q"]}],
        lambda row: [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "image", "url": "dot.png"}, {"type": "text", "text": "q"}]},
        ],
    ],
)
def test_messages_are_sent_as_they_are(prompt: Any) -> None:
    (request,) = _asked(prompt, system="not this")
    assert [message.role for message in request.messages] == ["system", "user"]
    assert shown(request) == ["s", "image", "q"]


def test_the_runs_system_prompt_replaces_the_tasks() -> None:
    task = polymeter.PythonTask("{q}", rows=_ROWS, reference="answer", name="t", system="Be brief.")
    model = Recorder()
    polymeter.evaluate(model, tasks=task)
    polymeter.evaluate(model, tasks=task, system_prompt="Be long.")
    assert [shown(request)[0] for request in model.requests] == ["Be brief.", "Be long."]


def test_relative_paths_begin_in_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    there.mkdir()
    PILImage.new("RGB", (9, 9), "blue").save(there / "dot.png")
    source = """
        import polymeter
        @polymeter.task(rows=[{"image": "dot.png", "answer": "ok"}], reference="answer")
        def t(row):
            return [polymeter.Image(row["image"]), "?"]
    """
    model = Recorder()
    polymeter.evaluate(model, tasks=written(there, source))
    assert [image.size() for image in model.requests[0].images()] == [(9, 9)]


def test_rows_may_hold_images_sounds_and_lists_of_them() -> None:
    rows = [
        {"image": PILImage.new("RGB", (5, 5)), "more": [Image("dot.png"), Image("dot.png")], "answer": "ok",
         "sound": Audio("beep.wav")}
    ]  # fmt: skip
    (request,) = _asked(lambda row: [row["image"], *row["more"], "how many?"], rows=rows)
    assert shown(request) == ["image", "image", "image", "how many?"]


def test_each_function_gets_a_row_of_its_own() -> None:
    def spoil(row: polymeter.Row) -> str:
        row["items"].append("more")
        row["answer"] = "gone"
        return str(len(row.pop("items")))

    @polymeter.scorer
    def intact(answer: str, row: polymeter.Row) -> bool:
        return row == {"items": ["a"], "answer": "ok"}

    task = polymeter.PythonTask(spoil, rows=[{"items": ["a"], "answer": "ok"}], scorers=intact)
    model = Recorder()
    assert results_of(polymeter.evaluate(model, tasks=task), "spoil") == {"intact": 1.0}
    assert shown(model.requests[0]) == ["2"]


def test_settings_are_those_of_the_task_and_greedy_unless_said_otherwise() -> None:
    (plain,) = _asked("{q}")
    assert plain.parameters.temperature == 0
    (warm,) = _asked("{q}", generation={"max_new_tokens": 7, "temperature": 0.5, "stop": "\n"})
    assert (warm.parameters.max_new_tokens, warm.parameters.temperature, warm.parameters.stop) == (7, 0.5, ("\n",))
    repeats = _asked("{q}", repeats=3)
    assert [request.parameters.temperature for request in repeats] == [None] * 3
    assert len({request.parameters.seed for request in repeats}) == 3


def test_what_a_prompt_draws_is_the_same_in_every_run() -> None:
    def drawn(row: polymeter.Row) -> str:
        import random

        return str(random.random())

    rows = [{"answer": "ok"}, {"answer": "ok"}]
    first, second = _asked(drawn, rows=rows), _asked(drawn, rows=rows)
    assert [shown(request) for request in first] == [shown(request) for request in second]
    assert shown(first[0]) != shown(first[1])


def test_a_prompt_of_an_answer_that_failed_costs_its_sample_alone() -> None:
    count = itertools.count()

    def sometimes(row: polymeter.Row) -> str:
        if row["n"] == 1:
            raise ValueError(f"row {next(count)}")
        return "?"

    task = polymeter.PythonTask(sometimes, rows=[{"n": n, "answer": "ok"} for n in range(4)], reference="answer")
    run = polymeter.evaluate(Recorder(), tasks=task)
    assert (run.n_failed, results_of(run, "sometimes")) == (1, {"exact_match": 1.0})
