"""Mistakes in benchmarks in Python are reported with their place and what to do, and nothing is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import polymeter
from tests.tasks.python.kit import Recorder, written

_HEAD = "import polymeter\nfrom polymeter import Image\nROWS = [{'q': 'a?', 'answer': 'b', 'options': ['b', 'c']}]\n"

_MISTAKES = {
    "unknown reference": (
        "@polymeter.task(rows=ROWS, reference='anwser')\ndef t(row): return row['q']",
        ("reference of task 't' names the column 'anwser'", "Did you mean 'answer'?", "bench.py:4"),
    ),
    "unknown metric": (
        "@polymeter.task(rows=ROWS, reference='answer', scorers='exact_mach')\ndef t(row): return row['q']",
        ("'exact_mach'", "Did you mean 'exact_match'?", "bench.py:4"),
    ),
    "unknown argument of a metric": (
        "@polymeter.task(rows=ROWS, reference='answer', scorers={'metric': 'anls', 'treshold': 1})\n"
        "def t(row): return row['q']",
        ("does not accept 'treshold'", "Did you mean 'threshold'", "bench.py:4"),
    ),
    "a metric of images": (
        "@polymeter.task(rows=ROWS, reference='answer', scorers='psnr')\ndef t(row): return row['q']",
        ("'psnr' cannot be computed", "@polymeter.scorer", "bench.py:4"),
    ),
    "no rows": (
        "@polymeter.task(rows=[], reference='answer')\ndef t(row): return row['q']",
        ("Task 't' has no rows.", "rows=", "bench.py:4"),
    ),
    "a row that is not a dictionary": (
        "@polymeter.task(rows=['a', 'b'], reference='answer')\ndef t(row): return row['q']",
        ("Row 0 of task 't' is a str", "{'question': …", "bench.py:4"),
    ),
    "rows of the wrong kind": (
        "@polymeter.task(rows=5, reference='answer')\ndef t(row): return row['q']",
        ("are a int", "a list of dictionaries", "bench.py:4"),
    ),
    "a file that is missing": (
        "@polymeter.task(rows='rowz.jsonl', reference='answer')\ndef t(row): return row['q']",
        ("do not exist: 'rowz.jsonl'", "Did you mean 'rows.jsonl'?", "bench.py:4"),
    ),
    "a function of rows that fails": (
        "def load():\n    return [][1]\n@polymeter.task(rows=load, reference='answer')\ndef t(row): return row['q']",
        ("The function that returns the rows of task 't' raised IndexError", "bench.py:5"),
    ),
    "no reference": (
        "@polymeter.task(rows=ROWS, scorers='exact_match')\ndef t(row): return row['q']",
        ("needs a reference", "reference='COLUMN'", "bench.py:4"),
    ),
    "no scorer": (
        "@polymeter.task(rows=ROWS)\ndef t(row): return row['q']",
        ("has no scorer for its answers", "@polymeter.scorer", "bench.py:4"),
    ),
    "no scorer of images": (
        "@polymeter.task(rows=ROWS, output='image', reference='answer')\ndef t(row): return row['q']",
        ("has no scorer for its answers", "bench.py:4"),
    ),
    "references that are all empty": (
        "@polymeter.task(rows=[{'q': 'a', 'answer': None}], reference='answer')\ndef t(row): return row['q']",
        ("is empty in every row", "has the answers", "bench.py:4"),
    ),
    "a prompt that returns nothing": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): row['q']",
        ("is empty: its function returned None", "Return a text", "bench.py:4"),
    ),
    "an empty prompt": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return ' '",
        ("returned an empty prompt", "bench.py:4"),
    ),
    "a prompt that is a number": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return 5",
        ("holds 5, which is not text", "str(5)", "bench.py:4"),
    ),
    "a prompt of an unknown kind": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return [object(), 'text']",
        ("holds a object", "Return a text, media", "bench.py:4"),
    ),
    "a path as text": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return ['dot.png', 'What is it?']",
        ("shows the path 'dot.png' as text", "polymeter.Image(…)", "bench.py:4"),
    ),
    "a column that the prompt misspells": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return row['answr']",
        ("raised KeyError: 'answr'", "Did you mean 'answer'?", "bench.py:5"),
    ),
    "a prompt that raises": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row):\n    return 1 / 0",
        ("The prompt of task 't' raised ZeroDivisionError", "bench.py:6"),
    ),
    "a generator that raises": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row):\n    yield row['qq']",
        ("raised KeyError: 'qq'", "The rows have: q, answer, options.", "bench.py:6"),
    ),
    "a column that a text misspells": (
        "t = polymeter.PythonTask('{question}?', name='t', rows=ROWS, reference='answer')",
        ("names the column 'question'", "They have: q, answer, options.", "bench.py:4"),
    ),
    "braces that do not match": (
        "t = polymeter.PythonTask('{q', name='t', rows=ROWS, reference='answer')",
        ("cannot be read", "{{ or }}", "bench.py:4"),
    ),
    "a reference that names no choice": (
        "@polymeter.task(rows=ROWS, reference=lambda row: 'x y', choices='options')\ndef t(row): return row['q']",
        ("'x y', names none of the 2 choices", "the index of a choice", "bench.py:4"),
    ),
    "choices that are not a list": (
        "@polymeter.task(rows=ROWS, reference='answer', choices='q')\ndef t(row): return row['q']",
        ("must be a list of texts, not 'a?'", "bench.py:4"),
    ),
    "choices and a function": (
        "@polymeter.scorer\ndef s(answer): return 1\n"
        "@polymeter.task(rows=ROWS, reference='answer', choices='options', scorers=s)\ndef t(row): return row['q']",
        ("is a function, but the task has choices", "acc_norm", "bench.py:6"),
    ),
    "choices and repeats": (
        "@polymeter.task(rows=ROWS, reference='answer', choices='options', repeats=2)\ndef t(row): return row['q']",
        ("cannot have repeats", "bench.py:4"),
    ),
    "an unknown way over repeats": (
        "@polymeter.task(rows=ROWS, reference='answer', repeats=2, over_repeats='avg')\ndef t(row): return row['q']",
        ("unknown way 'avg'", "pass@K", "bench.py:4"),
    ),
    "too few repeats": (
        "@polymeter.task(rows=ROWS, reference='answer', repeats=2, over_repeats='pass@3')\ndef t(row): return row['q']",
        ("needs at least 3 repeats", "repeats=3", "bench.py:4"),
    ),
    "repeats of a metric over all samples": (
        "@polymeter.task(rows=ROWS, reference='answer', repeats=2, scorers='bleu')\ndef t(row): return row['q']",
        ("'bleu' of task 't' compares all samples at once", "bench.py:4"),
    ),
    "a parameter that scorers do not get": (
        "@polymeter.scorer\ndef s(answer, target): return 1\n"
        "@polymeter.task(rows=ROWS, scorers=s)\ndef t(row): return row['q']",
        ("unknown parameter 'target'", "answer, reference, row, answers", "bench.py:4"),
    ),
    "a scorer that returns nothing": (
        "@polymeter.scorer\ndef s(answer):\n    answer == 'b'\n"
        "@polymeter.task(rows=ROWS, scorers=s)\ndef t(row): return row['q']",
        ("Scorer 's' of task 't' returns nothing", "Return a number", "bench.py:4"),
    ),
    "a scorer of the wrong kind": (
        "@polymeter.task(rows=ROWS, scorers=[5])\ndef t(row): return row['q']",
        ("A scorer of task 't' is a int", "{'metric': 'anls'}", "bench.py:4"),
    ),
    "two scorers of one name": (
        "@polymeter.task(rows=ROWS, reference='answer', scorers=['anls', 'anls'])\ndef t(row): return row['q']",
        ("two scorers called 'anls'", "name='…'", "bench.py:4"),
    ),
    "an unknown aggregation": (
        "@polymeter.scorer(aggregation='medain')\ndef s(answer): return 1\n"
        "@polymeter.task(rows=ROWS, scorers=s)\ndef t(row): return row['q']",
        ("'medain'", "Did you mean 'median'", "bench.py:6"),
    ),
    "a misspelt setting": (
        "@polymeter.task(rows=ROWS, reference='answer', generation={'temprature': 1})\ndef t(row): return row['q']",
        ("the generation setting 'temprature'", "Did you mean 'temperature'?", "bench.py:4"),
    ),
    "an id that is there twice": (
        "@polymeter.task(rows=[*ROWS, *ROWS], reference='answer', id='q')\ndef t(row): return row['q']",
        ("is 'a?' in rows 0 and 1", "id=", "bench.py:4"),
    ),
    "an unknown subset": (
        "@polymeter.task(rows=ROWS, reference='answer', subset='part')\ndef t(row): return row['q']",
        ("subset of task 't' names the column 'part'", "bench.py:4"),
    ),
    "an unknown field": (
        "@polymeter.task(rows=ROWS, reference='answer', scorer='anls')\ndef t(row): return row['q']",
        ("has no field 'scorer'", "Did you mean 'scorers'?", "bench.py:4"),
    ),
    "a decorator without rows": (
        "@polymeter.task\ndef t(row): return row['q']",
        ("needs the rows", "@polymeter.task(rows=…)", "bench.py:4"),
    ),
    "no field for rows": (
        "@polymeter.task(reference='answer')\ndef t(row): return row['q']",
        ("A task needs rows=", "bench.py:4"),
    ),
    "an unknown output": (
        "@polymeter.task(rows=ROWS, reference='answer', output='images')\ndef t(row): return row['q']",
        ("must be 'text' or 'image', not 'images'", "Did you mean 'image'?", "bench.py:4"),
    ),
    "a count that is none": (
        "@polymeter.task(rows=ROWS, reference='answer', repeats='3')\ndef t(row): return row['q']",
        ("repeats of task 't' must be a whole number of at least 1, not '3'", "bench.py:4"),
    ),
    "a name that cannot be typed": (
        "@polymeter.task(rows=ROWS, reference='answer', name='my task')\ndef t(row): return row['q']",
        ("'my task' cannot be the name of a task", "bench.py:4"),
    ),
    "two tasks of one name": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return row['q']\n"
        "@polymeter.task(rows=ROWS, reference='answer', name='t')\ndef u(row): return row['q']",
        ("defines the task 't' 2 times: lines 4 and 6", "a name of its own", "bench.py:6"),
    ),
    "a file without tasks": ("def t(row): return row['q']", ("defines no task", "@polymeter.task(rows=…)", "--tasks")),
    "a task that is deleted": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return row['q']\ndel t",
        ("defines no task 't'", "by a name of the module", "bench.py"),
    ),
    "a file that is not Python": ("@polymeter.task(rows=", ("not valid Python", "bench.py:4")),
    "a file that fails to load": (
        "import nowhere_at_all\n@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return row['q']",
        ("nowhere_at_all", "pip install", "bench.py:4"),
    ),
    "a file that runs itself": (
        "@polymeter.task(rows=ROWS, reference='answer')\ndef t(row): return row['q']\n"
        "polymeter.evaluate('mock', tasks=[t])",
        ("calls polymeter.evaluate itself", 'if __name__ == "__main__":', "bench.py"),
    ),
}


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_it_is_refused_before_anything_is_asked(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"q": "a?", "answer": "b"}\n')
    Image.new("RGB", (4, 4)).save(tmp_path / "dot.png")
    source, expected = _MISTAKES[mistake]
    file = written(tmp_path, _HEAD + source)
    model = Recorder()
    with pytest.raises(polymeter.PolymeterError) as caught:
        polymeter.evaluate(model, tasks=file)
    assert isinstance(caught.value, (polymeter.PlanError, polymeter.DataError))
    said = str(caught.value)
    assert [part for part in expected if part not in said] == [], said
    assert model.requests == []


def test_a_function_that_is_no_task_is_named() -> None:
    def capitals(row: polymeter.Row) -> str:
        return "?"

    with pytest.raises(polymeter.PlanError, match="capitals is a function and not a task") as caught:
        polymeter.evaluate(Recorder(), tasks=[capitals])  # type: ignore[list-item]
    assert "@polymeter.task(rows=…)" in caught.value.hint


def test_a_record_needs_a_name() -> None:
    with pytest.raises(polymeter.PlanError, match="needs a name") as caught:
        polymeter.PythonTask("{q}", rows=[{"q": "a"}], reference="q")
    assert caught.value.where.startswith(__file__)


def test_a_folder_without_the_files_that_its_table_names_is_refused_by_name(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "metadata.csv").write_text("file_name,word\nexit.png,EXIT\n", encoding="utf-8")
    code = "@polymeter.task(rows='photos', reference='word')\ndef t(row): return [row['image'], 'Read it.']"
    recorder = Recorder(lambda request: "EXIT")

    with pytest.raises(polymeter.PolymeterError) as caught:
        polymeter.evaluate(recorder, tasks=str(written(tmp_path, "import polymeter\n" + code)), output=tmp_path / "run")

    said = str(caught.value)
    assert "None of the files that photos/metadata.csv names exists" in said
    assert "under the names in the column 'file_name'" in said
    assert not recorder.requests
