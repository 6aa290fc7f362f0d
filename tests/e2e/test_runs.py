"""Whole runs from the command line: a first benchmark, a killed run, an interrupted one, a broken picture."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import capitals, polymeter, sealed, start, wait_for_samples

SLOW = ("--model", "mock", "--model-args", "answer=Paris,delay_ms=20,batch_size=4")


def test_ten_lines_of_yaml_over_a_csv_run_from_an_include_path(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    assert len((folder / "capitals.yaml").read_text().splitlines()) <= 10
    done = polymeter(
        *("run", "--model", "mock", "--model-args", "answer=Paris", "--tasks", "capitals", "--include-path", "mine"),
        *("--output", "runs/first"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "capitals" in done.stdout
    assert "0.3333" in done.stdout
    run = tmp_path / "runs" / "first"
    assert {"run.json", "journal.db", "results.json", "report.html", "samples"} <= {path.name for path in run.iterdir()}
    rows = [json.loads(line) for line in (run / "samples" / "capitals.jsonl").read_text().splitlines()]
    assert [row["target"] for row in rows] == ["Paris", "Tokyo", "Lima"]
    assert rows[1]["exchanges"][0]["request"]["messages"][0]["parts"] == [{"text": "What is the capital of Japan 1?"}]


def test_the_gold_answer_scores_full_marks_and_an_empty_one_none(tmp_path: Path) -> None:
    capitals(tmp_path / "mine")
    for mode, expected in (("gold", 1.0), ("empty", 0.0)):
        done = polymeter(
            *("run", "--model", "mock", "--model-args", f"mode={mode}", "--tasks", "mine/capitals.yaml", "-o", mode),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        results = json.loads((tmp_path / mode / "results.json").read_text())
        assert results["tasks"]["capitals"]["results"][0]["value"] == expected


def test_a_flattened_task_loads_again_from_another_folder(tmp_path: Path) -> None:
    flat = polymeter("tasks", "demo_receipt_total", "--yaml", cwd=tmp_path)
    assert flat.returncode == 0, flat.stderr
    (tmp_path / "shared.yaml").write_text(flat.stdout.replace("task: demo_receipt_total", "task: shared"))
    gold = ("--model", "mock", "--model-args", "mode=gold")
    done = polymeter("run", *gold, "--tasks", "shared.yaml", "-o", "shared", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "shared" / "results.json").read_text())
    assert {result["value"] for result in results["tasks"]["shared"]["results"]} == {1.0}


def test_kill_minus_nine_then_resume_gives_the_same_results(tmp_path: Path) -> None:
    capitals(tmp_path / "mine", 600)
    words = ("run", *SLOW, "--tasks", "mine/capitals.yaml", "--quiet")
    process = start(*words, "--output", "killed", cwd=tmp_path)
    wait_for_samples(tmp_path / "killed" / "journal.db", 20, process)
    process.kill()
    process.communicate()
    before = sealed(tmp_path / "killed" / "journal.db")
    assert 20 <= len(before) < 600
    assert not (tmp_path / "killed" / "results.json").exists()
    resumed = polymeter("resume", "killed", "--quiet", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    whole = polymeter(*words, "--output", "whole", cwd=tmp_path)
    assert whole.returncode == 0
    assert (tmp_path / "killed" / "results.json").read_bytes() == (tmp_path / "whole" / "results.json").read_bytes()
    after = sealed(tmp_path / "killed" / "journal.db")
    assert all(after[index] == body for index, body in before.items()), "a finished sample was asked again"
    manifest = json.loads((tmp_path / "killed" / "run.json").read_text())
    assert manifest["status"] == "complete"


def test_ctrl_c_seals_the_journal_and_prints_how_to_resume(tmp_path: Path) -> None:
    capitals(tmp_path / "mine", 600)
    process = start("run", *SLOW, "--tasks", "mine/capitals.yaml", "--output", "stopped", cwd=tmp_path)
    wait_for_samples(tmp_path / "stopped" / "journal.db", 10, process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "polymeter resume stopped" in stdout + stderr
    assert json.loads((tmp_path / "stopped" / "run.json").read_text())["status"] == "interrupted"
    resumed = polymeter("resume", "stopped", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr


def test_resume_of_a_finished_run_prints_its_table_again(tmp_path: Path) -> None:
    capitals(tmp_path / "mine")
    first = polymeter("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "done", cwd=tmp_path)
    again = polymeter("resume", "done", cwd=tmp_path)
    assert again.returncode == 0
    assert "capitals" in again.stdout
    assert first.returncode == 0


def test_a_corrupt_image_is_an_error_of_its_sample_and_the_run_goes_on(tmp_path: Path) -> None:
    image_task(tmp_path / "pictures", corrupt=2)
    done = polymeter("run", "--model", "mock", "--tasks", "pictures/pictures.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["tasks"]["pictures"]["statuses"] == {"ok": 4, "error": 1}
    rows = [json.loads(line) for line in (tmp_path / "run" / "samples" / "pictures.jsonl").read_text().splitlines()]
    assert rows[2]["status"] == "error"
    assert "image" in rows[2]["error"]["message"].lower()
    assert "1 of" in done.stdout or "1 error" in done.stdout or "error" in done.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "data:image/" in page


@pytest.mark.parametrize("command", [["--help"], ["tasks"], ["models"]])
def test_light_commands_import_nothing_heavy(command: list[str]) -> None:
    code = (
        "import sys\n"
        "from polymeter.cli.main import main\n"
        f"sys.argv = ['polymeter', *{command!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'transformers', 'datasets', 'pandas', 'onnxruntime'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


READING = ("demo_receipts", "demo_receipt_total", "demo_signs", "demo_tables", "demo_page", "demo_scripts")


def test_the_ocr_model_reads_the_demo(tmp_path: Path) -> None:
    done = polymeter("run", "--model", "ocr", "--tasks", "demo_full", "--limit", "2", "-o", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "demo" / "results.json").read_text())
    assert list(results["tasks"]) == list(READING)
    assert all(task["n_scored"] == 2 for task in results["tasks"].values())
    assert results["groups"]["demo_full"]["results"][0]["value"] > 0.3


def test_the_demo_is_short_and_has_enough_samples_for_an_interval(tmp_path: Path) -> None:
    done = polymeter("run", "--model", "mock", "--tasks", "demo", "-o", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "demo" / "results.json").read_text())
    n_samples = {name: task["n_samples"] for name, task in results["tasks"].items()}
    assert n_samples == {"demo_receipts": 24, "demo_receipt_total": 24, "demo_signs": 48}
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"{sum(n_samples.values())} questions" in readme, "the README states their number"


def image_task(folder: Path, *, corrupt: int) -> None:
    """Five pictures in a parquet file, one of them broken."""
    import datasets
    from PIL import Image

    folder.mkdir(parents=True)
    pictures = []
    for number in range(5):
        buffer = io.BytesIO()
        Image.new("RGB", (64, 48), (40 * number, 90, 120)).save(buffer, format="PNG")
        data = buffer.getvalue()
        pictures.append({"bytes": b"not a picture" if number == corrupt else data, "path": None})
    rows = {"image": pictures, "answer": ["mock"] * 5}
    features = datasets.Features({"image": datasets.Image(decode=False), "answer": datasets.Value("string")})
    table = datasets.Dataset.from_dict(rows, features=features).cast_column("image", datasets.Image())
    table.to_parquet(os.fspath(folder / "pictures.parquet"))
    (folder / "pictures.yaml").write_text(
        "task: pictures\ndataset_path: parquet\ndataset_kwargs: {data_files: {test: pictures.parquet}}\n"
        "test_split: test\ndoc_to_visual: image\ndoc_to_text: What is this?\ndoc_to_target: answer\n"
        "metric_list: [{metric: exact_match}]\n"
    )


def test_the_gold_answer_of_a_task_with_choices_is_the_choice(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("q,a\nfirst,1\nsecond,0\n")
    (tmp_path / "yes.yaml").write_text(
        "task: yes_no\ndataset_path: csv\ndataset_kwargs: {data_files: {test: q.csv}}\ntest_split: test\n"
        "doc_to_text: q\ndoc_to_target: a\ndoc_to_choice: ['no', 'yes']\nmetric_list: [{metric: exact_match}]\n"
    )
    done = polymeter("check", "yes.yaml", "--run-gold", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
