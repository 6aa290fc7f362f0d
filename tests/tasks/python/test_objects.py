"""Tasks that are given to ``evaluate`` as objects: the same run as by the file, continued from the command line where a
file holds them, and by the same call where none does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli.main import main
from tests.tasks.python.kit import Recorder, results_of, written

_SCRIPT = """
    import sys

    import polymeter


    @polymeter.scorer
    def near(answer, reference):
        return answer.strip() == reference


    @polymeter.task(rows=[{"q": "a?", "answer": "b"}, {"q": "c?", "answer": "mock"}], reference="answer", scorers=near)
    def letters(row):
        return row["q"]


    if __name__ == "__main__":
        run = polymeter.evaluate("mock", tasks=[letters], output=sys.argv[1])
        print(run.results["tasks"]["letters"]["results"][0]["value"])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _manifest(run: str) -> dict[str, Any]:
    return json.loads(Path(run, "run.json").read_text())  # type: ignore[no-any-return]


def _exchanges(run: str) -> list[Any]:
    lines = Path(run, "samples", "letters.jsonl").read_text().splitlines()
    return [[exchange["request"] for exchange in json.loads(line)["exchanges"]] for line in lines]


def test_a_script_and_the_command_line_make_the_same_run(folder: Path) -> None:
    written(folder, _SCRIPT)
    done = subprocess.run([sys.executable, "bench.py", "one"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0.5"
    assert main(["run", "--model", "mock", "--tasks", "bench.py", "--output", "two"]) == 0
    one, two = _manifest("one"), _manifest("two")
    assert one["patterns"] == [f"{folder / 'bench.py'}::letters"]
    for key in ("source_hash", "dataset_fingerprint", "score_digest", "version", "sources"):
        assert one["tasks"][0][key] == two["tasks"][0][key]
    assert one["identity"] == two["identity"]
    assert _exchanges("one") == _exchanges("two")
    # The command line finds the file again, and so does a process of its own.
    assert main(["resume", "one"]) == 0
    assert main(["run", "--model", "mock", "--tasks", "bench.py::letters", "--output", "one"]) == 0
    assert main(["score", "one", "--output", "scored"]) == 0


def test_the_object_of_an_imported_module_is_known_by_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, _SCRIPT, "letters_of_mine.py")
    monkeypatch.syspath_prepend(str(folder))
    import letters_of_mine  # type: ignore[import-not-found]

    run = polymeter.evaluate(Recorder(), tasks=[letters_of_mine.letters, "demo_signs"], limit=1, output="run")
    assert list(run.results["tasks"]) == ["letters", "demo_signs"]
    assert _manifest("run")["patterns"] == [f"{folder / 'letters_of_mine.py'}::letters", "demo_signs"]


def _made(word: str) -> polymeter.PythonTask:
    @polymeter.task(rows=[{"q": "a?", "answer": "ok"}, {"q": "c?", "answer": "d"}], reference="answer")
    def letters(row: polymeter.Row) -> str:
        return f"{row['q']} {word}"

    return letters


def test_an_object_that_no_file_holds_is_continued_by_the_same_object(capsys: pytest.CaptureFixture[str]) -> None:
    task, model = _made("please"), Recorder()
    polymeter.evaluate(model, tasks=task, output="run")
    assert len(model.requests) == 2
    polymeter.evaluate(model, tasks=task, output="run")
    assert polymeter.resume("run", tasks=[task], model=model).is_complete
    again = polymeter.score("run", tasks=[task], output="again")
    assert results_of(again, "letters") == {"exact_match": 0.5}
    assert len(model.requests) == 2, "what is done is not asked again"
    for command in (["resume", "run"], ["score", "run", "--output", "other"]):
        assert main(command) in (0, 2)
        capsys.readouterr()
    assert main(["score", "run", "--output", "other"]) == 2
    said = capsys.readouterr().err
    assert "Task 'letters' was given to a run as a Python object, and no file holds it." in said
    assert "with the same object: polymeter.evaluate, resume or score with tasks=[…]." in said


def test_another_prompt_is_another_question(folder: Path) -> None:
    first, second = Recorder(), Recorder()
    polymeter.evaluate(first, tasks=_made("please"), output="run")
    polymeter.evaluate(second, tasks=_made("now"), output="run")
    assert [request.text for request in second.requests] == ["a? now", "c? now"]
    hashes = [_manifest("run")["tasks"][0]["source_hash"]]
    polymeter.evaluate(Recorder(), tasks=_made("please"), output="other")
    assert _manifest("other")["tasks"][0]["source_hash"] not in hashes


def test_a_session_without_source_is_known_by_its_code() -> None:
    names: dict[str, Any] = {"polymeter": polymeter, "__name__": "__main__"}
    source = (
        "def letters(row): return row['q'] + {word!r}\n"
        "task = polymeter.PythonTask(letters, rows=[{{'q': 'a', 'r': 'b'}}], reference='r')"
    )
    hashes = []
    for word in ("x", "x", "y"):
        exec(source.format(word=word), names)
        polymeter.evaluate(Recorder(), tasks=names["task"], output=f"run{len(hashes)}")
        hashes.append(_manifest(f"run{len(hashes)}")["tasks"][0]["source_hash"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_two_objects_of_one_name_are_refused() -> None:
    with pytest.raises(polymeter.PlanError, match="Two tasks are called 'letters'"):
        polymeter.evaluate(Recorder(), tasks=[_made("a"), _made("b")])


def test_other_rows_are_another_task(folder: Path) -> None:
    polymeter.evaluate(Recorder(), tasks=_made("a"), output="run")
    other = polymeter.task(rows=[{"q": "e?", "answer": "f"}], reference="answer", name="letters")(lambda row: row["q"])
    with pytest.raises(polymeter.PlanError, match="The data of task 'letters' changed"):
        polymeter.evaluate(Recorder(), tasks=other, output="run")
