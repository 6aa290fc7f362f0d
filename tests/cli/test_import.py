"""``polymeter import``: what it prints and refuses, and what other commands do with an imported run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.kit import Typing

pytestmark = pytest.mark.needs_system("lm_eval")

ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests" / "interop" / "lm_eval" / "logs"
TASKS = ROOT / "conformance" / "logs" / "made_tasks"
ANSWER = "leasmanuEMcemanuuicman"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(LOG, tmp_path / "log")
    shutil.copytree(TASKS, tmp_path / "tasks")
    return Typing(tmp_path, capsys)


def imported(typing: Typing) -> None:
    assert typing("import log --output theirs").code == 0


def run_own(typing: Typing, task: str = "sums.yaml") -> None:
    for name in ("sums.jsonl", task):
        if not (typing.folder / name).exists():
            shutil.copy(typing.folder / "tasks" / name, typing.folder / name)
    typing.write({"answers.json": json.dumps({"0": "2", "1": ANSWER, "2": ANSWER, "3": ANSWER})})
    words = f"run --model mock --model-args answers=answers.json --tasks {task} -q --output own"
    assert typing(words).code == 0


def test_it_shows_the_numbers_and_where_they_come_from(typing: Typing) -> None:
    done = typing("import log --output theirs")
    assert done.code == 0
    assert "Imported from lm-eval 0.4.13: its values as it states them, intervals from its samples." in done.out
    assert "report   theirs/report.html" in done.out
    assert "Imported from" in (typing.folder / "theirs" / "report.html").read_text()


def test_a_place_below_runs_is_found(typing: Typing) -> None:
    for _ in range(2):
        assert typing("import log").code == 0
    assert sorted(path.name for path in (typing.folder / "runs").iterdir()) == [
        "lm_eval-tiny-5_tasks",
        "lm_eval-tiny-5_tasks-2",
    ]


def test_the_same_log_gives_the_same_bytes(typing: Typing) -> None:
    for name in ("first", "second"):
        assert typing(f"import log --output {name}").code == 0
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        for folder in (typing.folder / "first", typing.folder / "second")
    )
    assert {path.name for path in one} > {"journal.db", "run.json", "results.json", "report.html", "plants.jsonl"}
    assert one == two


@pytest.mark.parametrize("command", ["resume theirs", "score theirs", "rerun theirs"])
def test_what_needs_the_task_or_the_model_is_refused(typing: Typing, command: str) -> None:
    imported(typing)
    done = typing(command)
    assert done.code == 2
    assert "This run was imported from lm-eval 0.4.13. It cannot be resumed, scored or run again" in done.err


def test_show_report_and_verify(typing: Typing) -> None:
    imported(typing)
    shown = typing("show theirs")
    assert "status   complete, imported from lm-eval 0.4.13" in shown.out
    sample = typing("show theirs --task plants --sample 3")
    assert sample.code == 0
    assert "Which colour has a dandelion?" in sample.out
    (typing.folder / "theirs" / "report.html").unlink()
    assert typing("report theirs").code == 0
    assert (typing.folder / "theirs" / "report.html").exists()
    verified = typing("verify theirs")
    assert (verified.code, "nothing is wrong" in verified.out) == (0, True)


def test_verify_finds_a_changed_number(typing: Typing) -> None:
    imported(typing)
    path = typing.folder / "theirs" / "results.json"
    path.write_text(path.read_text().replace('"value": 0.3,', '"value": 0.4,'))
    done = typing("verify theirs")
    assert done.code == 1
    assert "task 'plants' differs from its rows reduced again" in done.out


def test_compare_with_a_run_of_ones_own(typing: Typing) -> None:
    imported(typing)
    run_own(typing)
    done = typing("compare theirs own --json")
    assert done.code == 0
    found = json.loads(done.out)["others"][0]
    (first,) = [score for score in found["scores"] if score["filter"] == "first"]
    assert (first["n"], first["wins"], first["losses"]) == (4, 1, 0)
    assert first["difference"] == 0.25
    assert any("theirs was imported from lm-eval 0.4.13." in warning for warning in found["warnings"])
    assert not any("prompts" in warning or "differ" in warning for warning in found["warnings"])


@pytest.mark.parametrize(
    ("before", "after", "kind", "told"),
    [
        ('doc_to_text: "What is', 'doc_to_text: "How much is', "prompts", "4 of 4 samples were sent different prompts"),
        ("metadata: {version: 3}", "metadata: {version: 4}", "task", "version 3 and 4"),
    ],
)
def test_what_the_log_says_otherwise_is_refused(typing: Typing, before: str, after: str, kind: str, told: str) -> None:
    imported(typing)
    text = (TASKS / "sums.yaml").read_text()
    assert before in text
    typing.write({"sums.yaml": text.replace(before, after)})
    run_own(typing)
    refused = typing("compare theirs own")
    assert refused.code == 2
    assert told in refused.err
    assert typing(f"compare theirs own --allow {kind}").code == 0


def test_another_row_under_the_same_id_is_refused(typing: Typing) -> None:
    imported(typing)
    rows = (TASKS / "sums.jsonl").read_text().replace('"answer": "8"', '"answer": "9"')
    typing.write({"sums.jsonl": rows})
    run_own(typing)
    done = typing("compare theirs own")
    assert (done.code, "sums: 1 of 4 rows differ under the same id, first 3" in done.err) == (2, True)


def test_white_space_and_messages_do_not_make_prompts_different(typing: Typing) -> None:
    path = next((typing.folder / "log").glob("samples_sums_*"))
    path.write_text(path.read_text().replace('"What is 1 + 1?"', '"What is 1 + 1? \\n"'))
    imported(typing)
    run_own(typing)
    assert typing("compare theirs own").code == 0


def test_two_imports_are_not_said_to_be_the_same_model(typing: Typing) -> None:
    imported(typing)
    assert typing("import log --output again").code == 0
    done = typing("compare theirs again")
    assert done.code == 0
    assert "same model" not in done.out + done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("import nowhere", "There is no log at nowhere."),
        ("import tasks", "No tool is known whose log lies at tasks."),
        ("import log --from lm-evil", "Did you mean 'lm-eval'"),
        pytest.param(
            "import log --from lmms-eval",
            "There are no results of lmms-eval in log.",
            marks=pytest.mark.needs_system("lmms_eval"),
        ),
        ("import log --output tasks", "tasks already exists."),
    ],
)
def test_mistakes(typing: Typing, words: str, told: str) -> None:
    done = typing(words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.needs_system("lmms_eval")
def test_a_folder_with_logs_of_two_tools_needs_a_name(typing: Typing) -> None:
    shutil.copytree(ROOT / "tests" / "interop" / "lmms_eval" / "logs", typing.folder / "both")
    shutil.copytree(typing.folder / "log", typing.folder / "both", dirs_exist_ok=True)
    done = typing("import both")
    assert (done.code, "Say which with --from." in done.err) == (2, True)
    assert typing("import both --from lmms-eval --output theirs").code == 0
