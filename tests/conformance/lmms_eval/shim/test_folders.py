"""Task folders that lean on lmms-eval's own helpers run as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.interop.lmms_eval import code_needs
from tests.conformance.lmms_eval.shim.kit import ROWS, folder_of, run
from tests.e2e.kit import polymeter
from tests.tasks.yaml.kit import write

SUBMITS = """
    import json
    from lmms_eval.tasks._task_utils.file_utils import generate_submission_file

    def process_results(doc, results):
        return {"submission": {"q": doc["q"], "answer": results[0]}}

    def submit(items, args):
        path = generate_submission_file("judged.json", args)
        with open(path, "w") as file:
            json.dump(items, file)
"""


def test_a_submission_lies_in_the_run_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tasks", SUBMITS, metric="submission", aggregation="!function utils.submit")
    found = run(folder, tmp_path / "run")
    written = found.folder.artifacts / "submissions" / "judged.json"
    assert json.loads(written.read_text())[1] == {"q": "question 1", "answer": "answer 1"}
    assert not (tmp_path / "submissions").exists()


OTHER = """
    def grade(text):
        return {"score": float(text == "answer 1")}

    def process_results(doc, results):
        return {"score": 0.0, "said": results[0]}
"""


def test_another_task_s_code_is_importable_from_any_include_path(tmp_path: Path) -> None:
    user = """
        from lmms_eval.tasks.graded.utils import grade

        def process_results(doc, results):
            from lmms_eval.tasks.graded import utils
            assert utils.grade is grade
            return grade(results[0])
    """
    folder_of(tmp_path / "theirs" / "graded", OTHER, name="graded")
    folder_of(tmp_path / "mine" / "own", user, name="own")
    for theirs in ("theirs", "theirs/graded"):
        paths = ("--include-path", theirs, "--include-path", "mine")
        model = ("--model", "mock", "--model-args", "answer='answer 1'")
        done = polymeter("run", *model, "--tasks", "own", *paths, "--output", f"out_{len(theirs)}", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1.0000" in done.stdout


def test_a_script_and_a_wrapper_import_a_task_s_code_from_an_include_path(tmp_path: Path) -> None:
    folder_of(tmp_path / "theirs" / "graded", OTHER, name="graded")
    wrapper = """
        from lmms_eval.api.model import lmms
        from lmms_eval.tasks.graded.utils import grade

        class Grades(lmms):
            def generate_until(self, requests):
                return [str(grade("answer 1")) for _ in requests]
    """
    script = """
        import importlib.util
        from lmms_eval.tasks.graded.utils import grade
        import lmms_eval.tasks.graded.utils as utils
        print(grade("answer 1"), utils.grade is grade)
        print(importlib.util.find_spec("lmms_eval.tasks.graded.utils") is not None)
    """
    write(tmp_path, {"grades.py": wrapper, "script.py": script})
    done = polymeter("python", "--include-path", "theirs", "script.py", cwd=tmp_path)
    assert done.stdout.splitlines() == ["{'score': 1.0} True", "True"], done.stderr
    model = ("--model", "lmms", "--model-path", "grades.py")
    done = polymeter("run", *model, "--tasks", "graded", "--include-path", "theirs", "--output", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "{'score': 1.0}" in (tmp_path / "out" / "samples" / "graded.jsonl").read_text()


def test_two_tasks_that_import_shared_helpers(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    choice = """
        from lmms_eval.tasks._task_utils.mcq_extract import extract_mcq_answer
        from lmms_eval.filters.extraction import ExtendedRegexFilter

        class Upper(ExtendedRegexFilter):
            def apply(self, resps, docs):
                return [[self.filter_ignores(resp) for resp in inst] for inst in resps]

        def process_results(doc, results):
            return {"score": float(extract_mcq_answer(results[0]) == "B")}
    """
    spoken = """
        from lmms_eval.tasks.asr_wer_utils import compute_wer
        from lmms_eval.tasks.choice.utils import process_results as other

        def process_results(doc, results):
            assert other.__module__ != "lmms_eval.tasks.choice.utils"
            return {"score": compute_wer([doc["a"]], [results[0]], "en")}
    """
    folder_of(root / "choice", choice, name="choice")
    folder_of(root / "spoken", spoken, name="spoken")
    found = run(root, tmp_path / "run", tasks=("choice", "spoken"), answer=lambda request: "The answer is (B).")
    assert found.exit_code == 0
    assert found.value("choice", "score") == 1.0
    assert found.value("spoken", "score") == 1.5


def test_what_the_include_path_brings_wins(tmp_path: Path) -> None:
    root = tmp_path / "tasks"
    write(root / "_task_utils", {"mcq_extract.py": "def extract_mcq_answer(text, choices=None):\n    return 'mine'\n"})
    code = """
        from lmms_eval.tasks._task_utils.mcq_extract import extract_mcq_answer

        def process_results(doc, results):
            return {"score": float(extract_mcq_answer(results[0]) == "mine")}
    """
    folder_of(root / "choice", code, name="choice")
    assert run(root, tmp_path / "run", tasks=("choice",)).value("choice", "score") == 1.0


def test_reasoning_tasks_ask_and_score_in_lmms_eval_s_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_needs, "find_spec", lambda package: package)  # no answer here is compared by it
    code = """
        from lmms_eval.tasks._task_utils import reasoning_utils

        def text(doc, lmms_eval_specific_kwargs=None):
            return doc["q"] + " "

        messages = reasoning_utils.make_reasoning_doc_to_messages(lambda doc: [], text)
        process_results = reasoning_utils.make_reasoning_process_results("mine", text, gt_key="a")
    """
    folder = folder_of(tmp_path / "tasks", code, metric="acc_score")
    yaml = folder / "judged.yaml"
    more = "  - metric: format_score\ndoc_to_messages: !function utils.messages\nreasoning_tags: none\n"
    yaml.write_text(yaml.read_text() + more)
    seen: list[str] = []

    def answer(request: object) -> str:
        seen.append(request.messages[0].text)  # type: ignore[attr-defined]
        number = request.messages[1].text[-1]  # type: ignore[attr-defined]
        return f"<analysis>hm</analysis><answer>answer {number}</answer>"

    found = run(folder, tmp_path / "run", answer=answer)
    assert found.value("judged", "acc_score") == 1.0
    assert found.value("judged", "format_score") == 1.0
    assert len(seen) == len(ROWS)
    assert "<analysis>" in seen[0]
