"""Files of benchmarks on the command line: listed without being run, chosen by name, checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from polymeter.cli.main import main
from tests.tasks.python.kit import Recorder, written

_SOURCE = """
    from pathlib import Path

    import polymeter
    from polymeter import PythonTask as Record, task as benchmark

    Path("executed").touch()
    ROWS = [{"q": "a?", "answer": "b"}, {"q": "c?", "answer": "d"}]


    @benchmark(rows=ROWS, reference="answer", tags=["letters"], version="2")
    def first(row):
        \"\"\"The next letter.\"\"\"
        return row["q"]


    def prompt(row):
        \"\"\"Its docstring.\"\"\"
        return row["q"]


    second = Record("{q}!", name="second", rows=ROWS, reference="answer")
    third = polymeter.PythonTask(prompt, rows="rows.jsonl", reference="answer", choices=["b", "d"])
    fourth = benchmark(rows=ROWS, reference="answer", name="fourth")(prompt)

    if __name__ == "__main__":
        polymeter.evaluate("mock", tasks=[first])
"""
_COMPUTED = """
    import polymeter

    TASKS = [
        polymeter.PythonTask(f"{{q}} in {language}", name=f"in_{language}", rows=[{"q": "a", "answer": "b"}],
                             reference="answer")
        for language in ("english", "german")
    ]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [{"q": f"{number}?", "answer": "bdb"[number]} for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    return printed.out + printed.err


def test_listing_and_checking_by_text_run_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, _SOURCE)
    assert main(["tasks", "bench.py"]) == 0
    listed = _said(capsys)
    assert "first   yours, 2 samples, ? → text" in listed
    assert "The next letter." in listed
    assert "second  yours, 2 samples" in listed
    assert "prompt  yours, 3 samples, ? → log-likelihoods" in listed
    assert "Its docstring." in listed
    assert "4 tasks; tags: letters" in listed
    assert main(["tasks", "bench.py::first"]) == 0
    assert "reference    answer" in _said(capsys)
    assert main(["tasks", "--include-path", ".", "--tag", "letters"]) == 0
    assert "first" in _said(capsys)
    assert main(["check", "bench.py", "--rows", "0"]) == 0
    assert "no problems found" in _said(capsys)
    assert not Path("executed").exists()


def test_a_file_its_tasks_and_one_of_them_are_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, _SOURCE)
    run = ["run", "--model", "mock", "--model-args", "mode=gold"]
    for pattern, names in (
        ("bench.py", ["first", "second", "prompt", "fourth"]),
        ("bench.py::second", ["second"]),
        ("./bench.py::first,bench.py::second", ["first", "second"]),
    ):
        assert main([*run, "--tasks", pattern, "--output", "run", "--restart"]) == 0
        results = json.loads(Path("run", "results.json").read_text())
        assert list(results["tasks"]) == names
        assert all(task["results"][0]["value"] == 1 for task in results["tasks"].values())
    assert main([*run, "--tasks", "letters", "--include-path", ".", "--output", "tagged"]) == 0
    manifest = json.loads(Path("tagged", "run.json").read_text())
    assert [(task["name"], task["version"]) for task in manifest["tasks"]] == [("first", "2")]
    assert main([*run, "--tasks", "bench.py::frist"]) == 2
    assert "Did you mean 'first'?" in _said(capsys)


def test_references_get_full_marks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, _SOURCE)
    assert main(["check", "bench.py", "--run-gold", "--prompts", "1"]) == 0
    said = _said(capsys)
    assert "no problems found" in said
    assert "exact_match = 1.0000: full marks" in said
    assert "acc = 1.0000: full marks" in said
    assert "── first, sample 0\n[user]\na?" in said


def test_computed_names_are_found_by_running_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, _COMPUTED)
    run = ["run", "--model", "mock", "--model-args", "mode=gold"]
    assert main([*run, "--tasks", "bench.py", "--output", "both"]) == 0
    assert list(json.loads(Path("both", "results.json").read_text())["tasks"]) == ["in_english", "in_german"]
    assert main([*run, "--tasks", "bench.py::in_german", "--output", "one"]) == 0
    assert list(json.loads(Path("one", "results.json").read_text())["tasks"]) == ["in_german"]
    assert main(["resume", "one"]) == 0
    assert main([*run, "--tasks", "bench.py::in_dutch", "--output", "none"]) == 2
    assert "defines no task 'in_dutch'" in _said(capsys)
    assert main(["tasks", "--include-path", "."]) == 0
    assert "bench.py:4: The name of this task is computed, so it cannot be listed." in _said(capsys)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "import polymeter\n@polymeter.task(rows=[], scorer='a')\ndef t(row): ...",
            "bench.py:2: A task has no field 'scorer'.",
        ),
        ("import polymeter\n@polymeter.task(rows=", "bench.py:2: This is not valid Python"),
        (
            "import polymeter\n@polymeter.task(rows=[{'answer': 1}], reference='anser')\ndef t(row): return 'a'",
            "bench.py:2: reference of task 't' names the column 'anser', which its rows do not have. "
            "Did you mean 'answer'?",
        ),
    ],
)
def test_a_check_names_the_line(source: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, source)
    assert main(["check", "bench.py"]) == 2
    printed = _said(capsys)
    assert said in printed
    assert "1 problem found." in printed


def test_a_folder_of_scripts_is_no_folder_of_benchmarks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, "def (", "broken.py")
    written(folder, "import polymeter\n\ndef task(row):\n    return polymeter.Text('a')\n", "script.py")
    written(folder, _SOURCE)
    assert main(["tasks", "first", "--include-path", "."]) == 0
    assert "yours, 2 samples" in _said(capsys)


def test_neighbours_of_a_file_count_as_its_sources(folder: Path) -> None:
    written(folder, "WORD = 'please'\n", "words.py")
    source = """
        import polymeter
        from words import WORD

        @polymeter.task(rows=[{"q": "a", "answer": "b"}], reference="answer")
        def polite(row):
            return f"{row['q']}, {WORD}"
    """
    written(folder, source)
    assert main(["run", "--model", "mock", "--tasks", "bench.py", "--output", "one"]) == 0
    written(folder, "WORD = 'now'\n", "words.py")
    assert main(["run", "--model", "mock", "--tasks", "bench.py", "--output", "two"]) == 0
    tasks = [json.loads(Path(run, "run.json").read_text())["tasks"][0] for run in ("one", "two")]
    assert {Path(file).name for file in tasks[0]["sources"]} == {"bench.py", "words.py"}
    assert tasks[0]["source_hash"] != tasks[1]["source_hash"]


def test_a_task_has_no_form_as_yaml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(folder, _SOURCE)
    assert main(["tasks", "first", "--include-path", ".", "--yaml"]) == 2
    assert "Share its files: bench.py." in _said(capsys)


def test_equal_prompts_are_a_warning_unless_more_rounds_follow(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "import polymeter\n@polymeter.task(rows='rows.jsonl', reference='answer')\n"
    written(folder, f"{head}def plain(row):\n    return 'Which letter?'\n", "plain.py")
    written(folder, f"{head}def rounds(row):\n    answer = yield 'Which letter?'\n    return answer\n", "rounds.py")
    assert main(["check", "plain.py", "--strict"]) == 2
    said = "".join(capsys.readouterr())
    assert "The prompt is the same in all 3 samples looked at: 'Which letter?'." in said
    assert "Name a column in it, such as row['question']." in said
    assert main(["check", "rounds.py", "--strict"]) == 0, _said(capsys)


def test_hooks_run_at_once_if_their_author_allows_it(folder: Path) -> None:
    written(
        folder,
        """
        import threading

        import polymeter

        BOTH = threading.Barrier(2, timeout=20)


        @polymeter.scorer
        def met(answer: str) -> bool:
            BOTH.wait()
            return True


        @polymeter.task(rows=[{"q": "a"}, {"q": "b"}], scorers=met, thread_safe=True)
        def together(row):
            return row["q"]
        """,
    )
    assert polymeter.evaluate(Recorder(), tasks="bench.py").n_failed == 0


def test_its_run_is_shown_compared_and_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(
        folder,
        """
        import polymeter


        @polymeter.scorer
        def form(answer: str, reference: str) -> dict[str, bool]:
            return {"right": answer == reference, "short": len(answer) < 3}


        @polymeter.task(rows="rows.jsonl", reference="answer", scorers=form)
        def bench(row):
            return row["q"]
        """,
    )
    for name, answer in (("one", "b"), ("two", "d")):
        polymeter.evaluate("mock", tasks="bench.py", model_args={"answer": answer}, output=name)
    capsys.readouterr()
    assert main(["show", "one"]) == 0
    assert "form/right" in _said(capsys)
    assert main(["compare", "one", "two", "--metric", "form/right"]) == 0
    assert "McNemar" in _said(capsys)
    assert main(["export", "one", "--to", "csv", "--output", "table"]) == 0
    [table] = Path("table").glob("*.csv")
    assert "form/short" in table.read_text().splitlines()[0]
    assert "form/right" in Path("one", "report.html").read_text()
