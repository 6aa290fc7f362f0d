"""Whole runs whose answers rest on less than was asked or written: counted, kept, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, resume, score
from polymeter.api import open_run
from polymeter.api.verifying import verify
from polymeter.cli.main import main
from polymeter.core.request import Output, Response
from polymeter.models.mock import MockBatch
from polymeter.report import footnotes
from tests.helpers.openai_stub import OpenAIStub, chat, failure

LONG = "word " * 600


def table(folder: Path, n: int = 4) -> str:
    rows = [f"{place}\t{LONG if place == 3 else ''}question{place}\tParis" for place in range(n)]
    (folder / "t.tsv").write_text("\n".join(["index\tquestion\tanswer", *rows]) + "\n")
    return str(folder / "t.tsv")


def respond(received: Any) -> Any:
    """One answer of each kind, but for images."""
    asked = received.raw.decode()
    said = chat("Paris")
    if "question1" in asked:
        said["choices"][0]["finish_reason"] = "length"
    if "question2" in asked:
        said = chat("", reasoning_content="hm")
    if "question3" in asked:
        said["usage"]["prompt_tokens"] = 300
    return said


EXPECTED = {"length": 1, "empty": 1, "prompt": 1}


def counts(results: dict[str, Any]) -> dict[str, int]:
    cut = results["tasks"]["t"].get("truncation", {})
    return {kind: one["n"] for kind, one in cut.items() if kind != "n_answers"}


@pytest.fixture
def stub():
    with OpenAIStub(respond) as server:
        yield server


def endpoint(stub: OpenAIStub) -> dict[str, Any]:
    return {"base_url": stub.base_url}


def test_an_endpoint_run_counts_each_kind(tmp_path: Path, stub: OpenAIStub) -> None:
    run = evaluate("openai:m", table(tmp_path), model_args=endpoint(stub), output=tmp_path / "run")
    assert counts(run.results) == EXPECTED
    notes = footnotes(run.results)
    assert [note for note in notes if note.startswith("WARNING: ")] == [
        "WARNING: t: 1 of 4 answers ended at the token limit (25.0 %): raise --gen-kwargs max_new_tokens=N.",
        "WARNING: t: 1 of 4 answers is empty after the reasoning (25.0 %): raise --gen-kwargs max_new_tokens=N if they "
        "ended at the limit.",
        next(
            note for note in notes if "1 of 4 answers rests on a truncated prompt (25.0 %): raise the context" in note
        ),
    ]


def test_stored_answers_keep_their_counts(tmp_path: Path, stub: OpenAIStub) -> None:
    evaluate("openai:m", table(tmp_path), model_args=endpoint(stub), output=tmp_path / "run")
    again = score(tmp_path / "run", output=tmp_path / "again")
    assert counts(again.results) == EXPECTED
    assert again.results["tasks"]["t"]["truncation"] == open_run(tmp_path / "run").results["tasks"]["t"]["truncation"]


def test_a_resumed_run_keeps_the_counts_of_both_sittings(tmp_path: Path) -> None:
    is_down = [True]

    def first_half(received: Any) -> Any:
        if is_down[0] and "question3" in received.raw.decode():
            return failure("no", 400)
        return respond(received)

    with OpenAIStub(first_half) as stub:
        run = evaluate("openai:m", table(tmp_path), model_args=endpoint(stub), output=tmp_path / "run")
        assert counts(run.results) == {"length": 1, "empty": 1}
        is_down[0] = False
        assert counts(resume(tmp_path / "run").results) == EXPECTED


def test_a_run_without_truncation_says_nothing(tmp_path: Path) -> None:
    run = evaluate("mock", table(tmp_path), model_args={"answer": "Paris"}, output=tmp_path / "run")
    assert "truncation" not in run.results["tasks"]["t"]
    assert not any("answers" in note for note in footnotes(run.results))


def test_an_older_run_without_counts_is_read(tmp_path: Path, stub: OpenAIStub) -> None:
    run = evaluate("openai:m", table(tmp_path), model_args=endpoint(stub), output=tmp_path / "run")
    path = run.folder.results
    document = json.loads(path.read_text())
    del document["tasks"]["t"]["truncation"]
    path.write_text(json.dumps(document))
    notes = footnotes(open_run(tmp_path / "run").results)
    assert "t: 1 answer ended at the token limit: raise --gen-kwargs max_new_tokens=N." in notes
    assert not any("prompt" in note or "WARNING" in note for note in notes)


def test_a_run_of_either_kind_verifies(tmp_path: Path, stub: OpenAIStub) -> None:
    run = evaluate("openai:m", table(tmp_path), model_args=endpoint(stub), output=tmp_path / "run")
    assert not verify(tmp_path / "run").problems
    document = json.loads(run.folder.results.read_text())
    document["tasks"]["t"]["truncation"]["length"] |= {"n": 3}
    run.folder.results.write_text(json.dumps(document))
    assert any("truncation.length.n is 3, and 1 by the rows" in one for one in verify(tmp_path / "run").problems)
    del document["tasks"]["t"]["truncation"]
    run.folder.results.write_text(json.dumps(document))
    assert not any("truncation" in one for one in verify(tmp_path / "run").problems)


def test_what_a_model_states_is_journaled_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(request: Any) -> Response:
        return Response((Output("Paris", finish_reason="stop", cut={"images": "raise --model-args max_pixels=N"}),))

    run = evaluate(MockBatch(answer), table(tmp_path, 1), output=tmp_path / "run")
    assert counts(run.results) == {"images": 1}
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "1 of 1 answer rests on images that the processor scaled down (100.0 %): raise --model-args max_p" in told
    assert main(["show", str(tmp_path / "run"), "--sample", "0"]) == 0
    assert "→ the processor scaled images down" in capsys.readouterr().out
    again = score(tmp_path / "run", output=tmp_path / "again")
    assert counts(again.results) == {"images": 1}


def test_warnings_go_beside_the_json_document(
    tmp_path: Path, stub: OpenAIStub, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--model", "openai:m", "--model-args", f"base_url={stub.base_url}", "--tasks", table(tmp_path)]
    assert main([*words, "--output", str(tmp_path / "run"), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["results"]["tasks"]["t"]["truncation"]["length"]["is_warning"] is True
    assert "WARNING: t: 1 of 4 answers ended at the token limit (25.0 %)" in told.err
