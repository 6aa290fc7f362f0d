"""Numbers that are not finite never make a file that is no JSON; half a character costs one row and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import capitals, polymeter

ROWS = [("France", "Paris"), ("Japan", "Tokyo"), ("Peru", "Lima")]
HALF = b"\xed\xa0\x80"
YAML = """\
task: {name}
dataset_path: {kind}
dataset_kwargs: {{data_files: {{test: {file}}}{more}}}
test_split: test
doc_to_text: "{{{{country}}}}"
doc_to_target: capital
generation_kwargs: {{max_new_tokens: 8}}
metric_list: [{{metric: exact_match}}]
"""
UNSCORABLE = """\
task: odd
dataset_path: json
dataset_kwargs: {data_files: {test: odd.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
generation_kwargs: {max_new_tokens: 8}
process_results: !function utils.score
metric_list:
  - {metric: fine, aggregation: mean, higher_is_better: true}
  - {metric: broken, aggregation: !function utils.nothing, higher_is_better: true}
  - {metric: endless, aggregation: !function utils.endless, higher_is_better: true}
metadata: {version: 1.0, weight: .nan}
"""
UTILS = """\
def score(doc, results):
    return {"fine": 1.0, "broken": float("nan"), "endless": float("inf"), "log": float("-inf")}


def nothing(values):
    return float("nan")


def endless(values):
    return float("inf")
"""


def strict(text: str) -> Any:
    """JSON as every other reader reads it: without the bare words that Python alone knows."""

    def refuse(word: str) -> None:
        raise AssertionError(f"a bare {word}: {text[:2000]}")

    return json.loads(text, parse_constant=refuse)


def check_files(folder: Path) -> int:
    """Every JSON file below a folder is JSON; returns how many there are."""
    files = [path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.is_file()]
    for path in files:
        text = path.read_text(encoding="utf-8")
        for document in text.splitlines() if path.suffix == ".jsonl" else [text]:
            strict(document)
    return len(files)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working directory with a task whose numbers are not finite."""
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "odd.yaml").write_text(UNSCORABLE)
    (tasks / "utils.py").write_text(UTILS)
    rows = [{"q": "x", "a": "x", "extra": float("nan")}, {"q": "y", "a": "y", "extra": 1.0}]
    (tasks / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows).replace("NaN", "null"))
    return tmp_path


def test_no_file_of_a_run_holds_a_bare_nan_or_infinity_and_resume_reads_them_back(place: Path) -> None:
    words = ("run", "-m", "mock", "--tasks", "odd", "--include-path", "tasks", "-o", "run")
    first = polymeter(*words, cwd=place)
    assert first.returncode == 0, first.stderr
    assert check_files(place / "run") >= 3
    values = {
        result["metric"]: result["value"]
        for result in strict((place / "run" / "results.json").read_text())["tasks"]["odd"]["results"]
    }
    assert values == {"fine": 1.0, "broken": "NaN", "endless": "Infinity"}
    again = polymeter("resume", "run", cwd=place)
    table = [line for line in first.stdout.splitlines() if "broken" in line or "endless" in line]
    assert len(table) == 2
    assert table == [line for line in again.stdout.splitlines() if "broken" in line or "endless" in line]


def test_results_of_an_earlier_version_with_bare_nan_are_still_read(place: Path) -> None:
    words = ("run", "-m", "mock", "--tasks", "odd", "--include-path", "tasks", "-o", "run")
    first = polymeter(*words, cwd=place)
    results = place / "run" / "results.json"
    text = results.read_text().replace('"NaN"', "NaN").replace('"Infinity"', "Infinity")
    results.write_text(text)
    again = polymeter("resume", "run", cwd=place)
    assert again.returncode == 0, again.stderr
    assert [line for line in first.stdout.splitlines() if "broken" in line] == [
        line for line in again.stdout.splitlines() if "broken" in line
    ]
    check_files(place / "run" / "samples")


@pytest.mark.needs_system("lmms_eval")
def test_lmms_eval_files_hold_no_bare_nan_or_infinity(place: Path) -> None:
    words = ("lmms-eval", "--model", "mock", "--tasks", "odd", "--include_path", "tasks", "--log_samples")
    result = polymeter(*words, "--output_path", "out", cwd=place)
    assert result.returncode == 0, result.stderr
    assert check_files(place / "out") >= 4


@pytest.mark.control
def test_json_on_the_terminal_holds_no_bare_nan(place: Path) -> None:
    words = ("run", "-m", "mock", "--tasks", "odd", "--include-path", "tasks")
    for name in ("one", "two"):
        assert polymeter(*words, "-o", name, cwd=place).returncode == 0
    strict(polymeter("agree", "one", "two", "--json", cwd=place).stdout)


def damaged(tasks: Path, kind: str) -> None:
    """A task of three rows, of which the second is damaged."""
    tasks.mkdir()
    name, more = "odd", ""
    if kind == "escape":
        file, builder = "rows.jsonl", "json"
        lines = [
            json.dumps({"country": country + ("\ud800" if country == "Japan" else ""), "capital": capital}).encode()
            for country, capital in ROWS
        ]
    else:
        separator, builder, file = {
            "jsonl": (b"", "json", "rows.jsonl"),
            "csv": (b",", "csv", "rows.csv"),
            "tsv": (b"\t", "csv", "rows.tsv"),
        }[kind]
        more = ', sep: "\\t"' if kind == "tsv" else ""
        cells = [(c.encode() + (HALF if c == "Japan" else b""), a.encode()) for c, a in ROWS]
        if builder == "json":
            lines = [b'{"country": "' + country + b'", "capital": "' + capital + b'"}' for country, capital in cells]
        else:
            lines = [separator.join(pair) for pair in [(b"country", b"capital"), *cells]]
    (tasks / file).write_bytes(b"\n".join(lines) + b"\n")
    (tasks / "odd.yaml").write_text(YAML.format(name=name, kind=builder, file=file, more=more))


def samples(run: Path) -> list[dict[str, Any]]:
    (file,) = (run / "samples").glob("*.jsonl")
    return [strict(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("jsonl", "rows.jsonl is not UTF-8: line 2 has the byte 0x"),
        ("csv", "rows.csv is not UTF-8: line 3 has the byte 0x"),
        ("tsv", "rows.tsv is not UTF-8: line 3 has the byte 0x"),
    ],
)
def test_a_file_with_bytes_of_another_encoding_is_refused_whole(tmp_path: Path, kind: str, what: str) -> None:
    damaged(tmp_path / "tasks", kind)
    words = ("run", "-m", "mock", "--tasks", "odd", "--include-path", "tasks", "-o", "run")
    result = polymeter(*words, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert what in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_row_with_half_a_character_fails_alone_with_its_file_and_line(tmp_path: Path) -> None:
    damaged(tmp_path / "tasks", "escape")
    words = ("run", "-m", "mock", "--tasks", "odd", "--include-path", "tasks", "-o", "run")
    result = polymeter(*words, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert [sample["status"] for sample in samples(tmp_path / "run")] == ["ok", "error", "ok"]
    error = samples(tmp_path / "run")[1]["error"]
    assert "rows.jsonl:2" in error["message"]
    assert "Unicode" in error["message"]
    (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_table_with_half_a_character_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    rows = [b"%d\tIs it %d?%s\tYes\tNo\tA" % (n, n, HALF if n == 1 else b"") for n in range(3)]
    table = b"\n".join([b"index\tquestion\tA\tB\tanswer", *rows]) + b"\n"
    (tmp_path / "tasks" / "Quiz.tsv").write_bytes(table)
    words = ("run", "-m", "mock", "-a", "answer=A", "--tasks", "Quiz", "--include-path", "tasks", "-o", "run")
    result = polymeter(*words, cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert "Quiz.tsv is not UTF-8: line 3 has the byte 0x" in result.stderr
    assert "Quiz.tsv:3" in result.stderr


@pytest.mark.control
def test_half_characters_in_answers_reach_the_journal_the_samples_the_report_and_the_terminal(tmp_path: Path) -> None:
    capitals(tmp_path / "tasks")
    (tmp_path / "answers.json").write_text(json.dumps({"0": "Par\ud800is", "1": "\udfff", "2": "Lima"}))
    words = ("run", "-m", "mock", "-a", "answers=answers.json", "--tasks", "capitals", "--include-path", "tasks")
    result = polymeter(*words, "-o", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [sample["answer"] for sample in samples(tmp_path / "run")] == ["Par\ud800is", "\udfff", "Lima"]
    (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert polymeter("score", "run", cwd=tmp_path).returncode == 0


def test_a_terminal_that_cannot_show_a_character_gets_its_escape(tmp_path: Path) -> None:
    capitals(tmp_path / "tasks")
    yaml = tmp_path / "tasks" / "capitals.yaml"
    yaml.write_text(yaml.read_text() + 'task_alias: "首都"\n', encoding="utf-8")
    words = ("run", "-m", "mock", "--tasks", "capitals", "--include-path", "tasks")
    result = polymeter(*words, "-o", "run", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert result.returncode == 0, result.stderr
    assert "scored   3 samples" in result.stdout
