"""Where answers and scores come from stays known when a run has several parts.

Everything here goes through the command line or public names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.regressions.copies import N, command, here, run

__all__ = ["here"]

HALF_FAILS = "mode=gold,failure=permanent,failure_rate=0.5"


@pytest.fixture
def other_version(tmp_path: Path) -> Path:
    """A copy of Polymeter to change."""
    copied = tmp_path / "other" / "polymeter"
    shutil.copytree(
        Path(polymeter.__file__).parent,
        copied,
        ignore=shutil.ignore_patterns("*.parquet", "*.safetensors", "*.tsv"),
    )
    return copied


def changed(package: Path, file: str, old: str, new: str) -> Path:
    """The package with a text in one of its files replaced."""
    path = package / file
    text = path.read_text()
    assert old in text, f"{file} has no {old!r}"
    path.write_text(text.replace(old, new))
    return package


def value_of(here: Path, name: str = "run") -> float:
    results = json.loads((here / name / "results.json").read_text())
    return float(results["tasks"]["copies"]["results"][0]["value"])


def manifest_of(here: Path, name: str = "run") -> dict[str, Any]:
    read: dict[str, Any] = json.loads((here / name / "run.json").read_text())
    return read


def asked(here: Path) -> list[list[str]]:
    """The texts of the prompts that each sample rests on."""
    lines = (here / "run" / "samples" / "copies.jsonl").read_text().splitlines()
    exchanges = [json.loads(line)["exchanges"] for line in lines]
    return [[one["request"]["messages"][0]["parts"][0]["text"] for one in several] for several in exchanges]


def with_inverted_exact_match(package: Path) -> Path:
    """The package with an ``exact_match`` that gives 1 for 0 and 0 for 1."""
    return changed(
        package, "metrics/text.py", "score=exact_match,", "score=lambda *a, **b: 1.0 - exact_match(*a, **b),"
    )


# --- another version of Polymeter -------------------------------------------------------------------------------------


def test_scores_of_another_version_are_not_mixed_with_those_of_this_one(here: Path, other_version: Path) -> None:
    inverted = with_inverted_exact_match(other_version)
    first = run(here, "--model", "mock", "--model-args", HALF_FAILS, package=inverted)
    assert first.returncode == 1, first.stderr
    assert value_of(here) == 0.0, "the other version scores right answers with 0"
    second = run(here, "--model", "mock", "--model-args", "mode=gold")
    assert second.returncode == 0, second.stderr
    assert value_of(here) == 1.0, "all answers are right, and this version scores all of them"
    assert "scored again" in second.stderr or "run again over" in second.stderr
    lines = [json.loads(line) for line in (here / "run" / "samples" / "copies.jsonl").read_text().splitlines()]
    assert {line["scores"][0]["value"] for line in lines} == {1.0}


def test_a_completed_sample_is_asked_what_this_version_asks(here: Path, other_version: Path) -> None:
    text = 'layout % tuple(["" if (cell := doc[name]) is None else cell for name in names])'
    politer = changed(other_version, "tasks/yaml/prompts/templates.py", text, f'{text} + " please"')
    first = run(
        here, "--model", "mock", "--model-args", "mode=echo,failure=permanent,failure_rate=0.5", package=politer
    )
    assert first.returncode == 1, first.stderr
    assert {text.endswith(" please") for texts in asked(here) for text in texts} == {True}
    second = run(here, "--model", "mock", "--model-args", "mode=echo")
    assert second.returncode == 0, second.stderr
    assert asked(here) == [[f"Repeat: word{place}"] for place in range(N)]


def test_a_change_of_commands_and_reports_scores_nothing_again(here: Path, other_version: Path) -> None:
    for file in (other_version / "report" / "columns.py", other_version / "cli" / "resume.py"):
        file.write_text(file.read_text() + "\n# another version\n")
    assert run(here, "--model", "mock", "--model-args", HALF_FAILS, package=other_version).returncode == 1
    assert run(here, "--model", "mock", "--model-args", "mode=gold").returncode == 0
    codes = [part["code"] for part in manifest_of(here)["sessions"]]
    assert len(codes) == 2
    assert codes[0] == codes[1]
    assert manifest_of(here)["sessions"][1]["scored_again"] == 0


def test_the_manifest_keeps_every_part_of_a_run(here: Path, other_version: Path) -> None:
    changed(other_version, "__init__.py", '__version__ = "', '__version__ = "9')
    inverted = with_inverted_exact_match(other_version)
    assert run(here, "--model", "mock", "--model-args", HALF_FAILS, package=inverted).returncode == 1
    assert command("resume", "run", cwd=here).returncode == 1, "the run's own settings make half of them fail again"
    assert command("score", "run", "--output", "scored", cwd=here).returncode == 1
    parts = manifest_of(here)["sessions"]
    assert [part["kind"] for part in parts] == ["run", "resume"]
    assert [part["polymeter"]["version"] for part in parts] == [f"9{polymeter.__version__}", polymeter.__version__]
    assert parts[0]["code"] != parts[1]["code"]
    for part in parts:
        assert part["host"]
        assert part["started"] <= part["ended"]
        assert part["status"] == "complete"
    scored = manifest_of(here, "scored")
    assert [part["kind"] for part in scored["scored_from"]["sessions"]] == ["run", "resume"]
    assert [part["kind"] for part in scored["sessions"]] == ["score"]
    page = (here / "run" / "report.html").read_text()
    assert "Part 1 of 2" in page
    assert f"9{polymeter.__version__}" in page


def test_a_part_that_was_killed_is_a_part_too(here: Path) -> None:
    words = ["run", "--tasks", "copies.yaml", "--output", "run", "--model", "mock", "--batch-size", "1"]
    with subprocess.Popen(
        [sys.executable, "-m", "polymeter", *words, "--model-args", "mode=gold,delay_ms=500"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(Path(polymeter.__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "20 samples" in line:
                break
        process.kill()
    assert command(*words, "--model-args", "mode=gold", cwd=here).returncode == 0
    parts = manifest_of(here)["sessions"]
    assert [part["status"] for part in parts] == ["unfinished", "complete"]
    assert parts[0]["started"] <= parts[1]["started"]


# --- another endpoint -------------------------------------------------------------------------------------------------


def says(word: str) -> Any:
    """An endpoint's way to answer: every prompt with one word."""
    return lambda received: chat(word)


@contextmanager
def half_run(here: Path) -> Iterator[tuple[OpenAIStub, OpenAIStub]]:
    """A run of which one endpoint answered half, and another endpoint to go on at."""

    def half(received: Received) -> Any:
        odd = any(f'word{place}"' in received.raw.decode() for place in range(1, N, 2))
        return {"error": {"message": "no", "code": 400}} if odd else chat("right")

    with OpenAIStub(half) as one, OpenAIStub(says("left")) as other:
        first = run_at(here, one.base_url.replace("http://", "http://me:hunter2@"))
        assert first.returncode == 1, first.stderr
        yield one, other


def run_at(here: Path, base_url: str, *more: str) -> subprocess.CompletedProcess[str]:
    return run(here, "--model", "openai:m", "--base-url", base_url, "--max-retries", "0", *more, OPENAI_API_KEY="")


def test_answers_of_another_endpoint_are_told_in_table_report_and_manifest(here: Path) -> None:
    with half_run(here) as (one, other):
        second = run_at(here, other.base_url)
    assert second.returncode == 0, second.stderr
    for text in (second.stdout, (here / "run" / "report.html").read_text()):
        assert one.base_url in text
        assert other.base_url in text
    assert manifest_of(here)["answers_by_endpoint"] == {"model": {one.base_url: 10, other.base_url: 10}}
    lines = [json.loads(line) for line in (here / "run" / "samples" / "copies.jsonl").read_text().splitlines()]
    for line in lines:
        assert line["exchanges"][0]["endpoint"] == (other if line["index"] % 2 else one).base_url
    assert not [path for path in (here / "run").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()], (
        "an address is written without its password"
    )


def test_strict_resume_refuses_another_endpoint_and_asks_it_nothing(here: Path) -> None:
    with half_run(here) as (one, other):
        refused = run_at(here, other.base_url, "--strict-resume")
        assert refused.returncode == 2
        assert other.base_url in refused.stderr
        assert one.base_url in refused.stderr
        assert other.received == []
        assert run_at(here, one.base_url, "--strict-resume").returncode == 1, "the same endpoint may go on"


def test_strict_resume_refuses_other_scoring_code(here: Path, other_version: Path) -> None:
    inverted = with_inverted_exact_match(other_version)
    assert run(here, "--model", "mock", "--model-args", HALF_FAILS, package=inverted).returncode == 1
    refused = command("resume", "run", "--strict-resume", cwd=here)
    assert refused.returncode == 2
    assert "--strict-resume does not resume this run" in refused.stderr
    assert command("resume", "run", "--strict-resume", cwd=here, package=inverted).returncode == 1


# --- failed samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "n_asked"),
    [((), 10), (("--retry-errors",), 15), (("--no-retry-errors",), 0)],
    ids=["default", "yes", "no"],
)
def test_retry_errors_decides_which_failed_samples_are_asked_again(
    here: Path, flag: tuple[str, ...], n_asked: int
) -> None:
    """Ten of twenty samples failed, five were refused by the endpoint's filter, five have a score."""

    def respond(received: Received) -> Any:
        place = int(json.loads(received.raw)["messages"][0]["content"].removeprefix("Repeat: word"))
        if place < 10:
            return {"error": {"message": "no", "code": 400}}
        return {"error": {"message": "no", "code": "content_filter"}} if place < 15 else chat("right")

    with OpenAIStub(respond) as stub:
        assert run_at(here, stub.base_url).returncode == 1
        stub.respond = says("right")
        n_before = sum(b"Repeat" in one.raw for one in stub.received)
        resumed = command("resume", "run", *flag, cwd=here, OPENAI_API_KEY="")
        assert sum(b"Repeat" in one.raw for one in stub.received) - n_before == n_asked, resumed.stderr
    task = json.loads((here / "run" / "results.json").read_text())["tasks"]["copies"]
    assert task["n_scored"] == 5 + n_asked
    assert resumed.returncode == (0 if n_asked == 15 else 1)
