"""Bad input: exit 2, with what is wrong, where, and the nearest right thing, before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import FIRST_YAML, capitals, polymeter

CASES: dict[str, tuple[str, list[str]]] = {
    "unknown yaml key": (FIRST_YAML + "doc_to_txt: x\n", ["doc_to_txt", "doc_to_text", "capitals.yaml:10"]),
    "unknown metric": (
        FIRST_YAML.replace("metric: exact_match", "metric: exact_mach"),
        ["exact_mach", "exact_match", "capitals.yaml:8"],
    ),
    "unknown aggregation": (
        FIRST_YAML.replace("{metric: exact_match}", "{metric: exact_match, aggregation: maen}"),
        ["maen", "mean", "capitals.yaml:8"],
    ),
    "missing column in a template": (
        FIRST_YAML.replace("{{country}}", "{{contry}}"),
        ["contry", "country", "capital", "capitals.yaml"],
    ),
    "missing data file": (FIRST_YAML.replace("capitals.csv", "captals.csv"), ["captals.csv"]),
    "unknown split": (FIRST_YAML.replace("test_split: test", "test_split: tset"), ["tset", "test"]),
    "broken yaml": (FIRST_YAML + "  x: [\n", ["capitals.yaml:"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_yaml(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    (capitals(tmp_path / "mine") / "capitals.yaml").write_text(text)
    done = polymeter(
        "run", "--model", "mock", "--tasks", "capitals", "--include-path", "mine", "-o", "run", cwd=tmp_path
    )
    assert done.returncode == 2, done.stdout + done.stderr
    for fragment in expected:
        assert fragment in done.stderr, f"{fragment!r} not in {done.stderr}"
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--model", "mock", "--tasks", "demo_recepts"], ["demo_recepts", "demo_receipts"]),
        (["run", "--model", "ocrr", "--tasks", "demo"], ["ocrr", "ocr"]),
        (["run", "--modle", "ocr", "--tasks", "demo"], ["--modle", "--model"]),
        (["run", "--model", "mock", "--model-args", "anwser=x", "--tasks", "demo"], ["anwser", "answer"]),
        (["run", "--model", "mock", "--tasks", "demo", "--include-path", "nowhere"], ["nowhere"]),
        (["run", "--model", "mock", "--tasks", "demo", "--limit", "0"], ["limit"]),
        (["resume", "nowhere"], ["nowhere"]),
        (["tasks", "demo_recepts"], ["demo_recepts", "demo_receipts"]),
    ],
)
def test_bad_words(tmp_path: Path, words: list[str], expected: list[str]) -> None:
    done = polymeter(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    for fragment in expected:
        assert fragment in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_task_that_asks_what_the_model_cannot_do_is_refused_at_planning(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    text = FIRST_YAML.replace(
        "test_split: test", "test_split: test\noutput_type: multiple_choice\ndoc_to_choice: ['Paris', 'Lima', 'Tokyo']"
    )
    (folder / "capitals.yaml").write_text(text.replace("exact_match", "acc"))
    done = polymeter("run", "--model", "ocr", "--tasks", "mine/capitals.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "loglikelihood" in done.stderr
    assert "ocr" in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_empty_dataset_is_named(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "capitals.csv").write_text("country,capital\n")
    done = polymeter("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "capitals" in done.stderr


def test_a_hub_dataset_offline_says_how_to_use_local_files(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "capitals.yaml").write_text(
        FIRST_YAML.replace("dataset_path: csv", "dataset_path: someone/capitals").replace(
            "dataset_kwargs: {data_files: {test: capitals.csv}}\n", ""
        )
    )
    done = polymeter("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "--data" in done.stderr
    again = polymeter(
        *("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "run"),
        *("--data", "someone/capitals=mine/capitals.csv"),
        cwd=tmp_path,
    )
    assert again.returncode == 0, again.stderr


def test_two_user_files_with_one_name_are_both_named(tmp_path: Path) -> None:
    capitals(tmp_path / "a")
    capitals(tmp_path / "b")
    done = polymeter(
        "run", "--model", "mock", "--tasks", "capitals", "--include-path", "a", "--include-path", "b", cwd=tmp_path
    )
    assert done.returncode == 2
    assert str(tmp_path / "a" / "capitals.yaml") in done.stderr
    assert str(tmp_path / "b" / "capitals.yaml") in done.stderr


def test_a_users_task_wins_over_a_built_in_one_and_the_report_says_so(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "capitals.yaml").write_text(FIRST_YAML.replace("task: capitals", "task: demo_signs"))
    done = polymeter(
        "run", "--model", "mock", "--tasks", "demo_signs", "--include-path", "mine", "-o", "run", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "in place of the built-in" in done.stdout
    assert "in place of the built-in" in (tmp_path / "run" / "results.json").read_text()


def test_a_settings_file_serves_local_data_to_every_entry_point(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "capitals.yaml").write_text(
        FIRST_YAML.replace("dataset_path: csv", "dataset_path: someone/capitals").replace(
            "dataset_kwargs: {data_files: {test: capitals.csv}}", "dataset_kwargs: {token: true}"
        )
    )
    (tmp_path / "polymeter.yaml").write_text("data:\n  someone/capitals: mine/capitals.csv\ninclude_paths: [mine]\n")
    done = polymeter("run", "--model", "mock", "--tasks", "capitals", "-o", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "someone/capitals" in (tmp_path / "run" / "run.json").read_text()
    (tmp_path / "polymeter.yaml").write_text("dta: {}\n")
    done = polymeter("run", "--model", "mock", "--tasks", "capitals", cwd=tmp_path)
    assert done.returncode == 2
    assert "'data'" in done.stderr


@pytest.mark.needs_system("lmms_eval")
def test_a_users_metric_wins_over_a_built_in_one_and_the_report_says_so(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "metrics.py").write_text(
        "from lmms_eval.api.registry import register_metric\n\n\n"
        '@register_metric(metric="exact_match", higher_is_better=True, output_type="generate_until",'
        ' aggregation="mean")\n'
        "def mine(references, predictions, **kwargs):\n    return 0.25\n"
    )
    done = polymeter("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0.2500" in done.stdout
    assert "your metric 'exact_match' in place of the built-in one" in done.stdout


def test_a_users_model_wins_over_a_built_in_one_and_the_report_says_so(tmp_path: Path) -> None:
    capitals(tmp_path / "mine")
    (tmp_path / "model.py").write_text(
        "import polymeter\nfrom polymeter.models.mock import MockBatch\n\n\n"
        '@polymeter.register_model("ocr")\ndef make():\n    return MockBatch(lambda request: "Paris")\n'
    )
    words = ("--import", "model.py", "--model", "ocr", "--tasks", "mine/capitals.yaml")
    done = polymeter("run", *words, "-o", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "in place of the built-in one" in done.stdout


@pytest.mark.needs_system("lmms_eval")
def test_a_module_of_the_stand_in_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = capitals(tmp_path / "mine")
    (folder / "utils.py").write_text("from lmms_eval.no_such import thing\n\n\ndef text(doc):\n    return ''\n")
    (folder / "capitals.yaml").write_text(FIRST_YAML + "process_results: !function utils.text\n")
    done = polymeter("run", "--model", "mock", "--tasks", "mine/capitals.yaml", "-o", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "lmms_eval.no_such" in done.stderr
    assert "pip install lmms_eval" not in done.stderr
