"""What is settled before anything is spent: endpoints that cannot be asked, settings that cannot be honoured."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.model import AsyncModel, ModelTraits
from polymeter.core.request import Generate, Parameters, Request, Response
from polymeter.models.mock import MockBatch
from tests.helpers.tasks import ListTask, run_tasks


class Endpoint(AsyncModel):
    def __init__(self, refusal: Exception | None = None) -> None:
        self.traits = ModelTraits("endpoint", requests={"generate": True}, modalities={"text": True, "image": True})
        self.n_preflights = self.n_requests = 0
        self._refusal = refusal

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "endpoint"}

    async def preflight(self) -> None:
        self.n_preflights += 1
        await asyncio.sleep(0)
        if self._refusal is not None:
            raise self._refusal

    async def respond(self, request: Request) -> Response:
        self.n_requests += 1
        return Response.of_text("x")


def broken_task(folder: Path) -> Path:
    """A task whose data does not exist: opening it is an error of its own."""
    file = folder / "broken.yaml"
    file.write_text("task: broken\ndataset_path: nowhere/at_all\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n")
    return file


def test_an_endpoint_is_asked_once_and_before_any_dataset_is_opened(tmp_path: Path) -> None:
    endpoint = Endpoint(PlanError("The key is not taken.", hint="Set X_KEY."))
    with pytest.raises(PlanError, match=r"The key is not taken\. Set X_KEY\."):
        polymeter.evaluate(endpoint, [str(broken_task(tmp_path))], roles={"judge": endpoint}, output=tmp_path / "run")
    assert (endpoint.n_preflights, endpoint.n_requests) == (1, 0)


class Patient(Endpoint):
    """Answers the question before the run only once something else is done."""

    def __init__(self) -> None:
        super().__init__()
        self.is_done = threading.Event()

    async def preflight(self) -> None:
        await super().preflight()
        assert await asyncio.to_thread(self.is_done.wait, 10)


def test_imports_do_not_wait_for_the_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Patient()
    monkeypatch.setattr("polymeter.api.running.get_report_ready", endpoint.is_done.set)
    polymeter.evaluate(endpoint, ["demo"], limit=2, output=tmp_path / "run")
    assert endpoint.n_preflights == 1
    assert endpoint.n_requests > 0


def test_what_an_endpoint_raises_of_its_own_is_one_clear_error(tmp_path: Path) -> None:
    endpoint = Endpoint(OSError("no route"))
    with pytest.raises(PlanError, match="Asking the endpoint before the run raised OSError: no route"):
        polymeter.evaluate(endpoint, ["demo"], limit=1, output=tmp_path / "run")


def test_an_endpoint_is_not_asked_ahead_of_a_run_whose_answers_are_all_known(tmp_path: Path) -> None:
    endpoint, gone = Endpoint(), Endpoint(PlanError("It is gone."))
    first = polymeter.evaluate(endpoint, ["demo"], limit=2, output=tmp_path / "run")
    again = polymeter.evaluate(gone, ["demo"], limit=2, output=tmp_path / "run")
    assert (gone.n_preflights, gone.n_requests) == (0, 0)
    assert again.results == first.results


def test_a_judge_is_not_asked_ahead_of_a_scoring_whose_verdicts_are_all_known(tmp_path: Path) -> None:
    judge, gone = Endpoint(), Endpoint(PlanError("It is gone."))
    polymeter.evaluate("mock", ["demo"], limit=2, output=tmp_path / "run")
    polymeter.score(tmp_path / "run", roles={"judge": judge}, output=tmp_path / "scored")
    polymeter.score(tmp_path / "run", roles={"judge": gone}, output=tmp_path / "scored")
    assert (judge.n_preflights, gone.n_preflights) == (1, 0)


def test_an_endpoint_is_asked_ahead_of_a_run_that_lacks_an_answer(tmp_path: Path) -> None:
    class Silent(Endpoint):
        async def respond(self, request: Request) -> Response:
            raise ValueError("no answer")

    polymeter.evaluate(Silent(), ["demo"], limit=2, max_retries=0, output=tmp_path / "run")
    with pytest.raises(PlanError, match=r"It is gone\."):
        polymeter.evaluate(Endpoint(PlanError("It is gone.")), ["demo"], limit=2, output=tmp_path / "run")


def test_a_running_event_loop_is_no_obstacle(tmp_path: Path) -> None:
    endpoint = Endpoint()

    async def in_a_notebook() -> str:
        return str(polymeter.evaluate(endpoint, ["demo"], limit=1, output=tmp_path / "run").status)

    assert asyncio.run(in_a_notebook()) == "complete"
    assert endpoint.n_preflights == 1


class Deaf(MockBatch):
    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        return (
            {"num_beams": "it has no beams."}
            if isinstance(parameters, Generate) and "num_beams" in parameters.extra
            else {}
        )


def test_a_setting_that_cannot_be_honoured_is_told_and_reported(tmp_path: Path, capsys: Any) -> None:
    result = polymeter.evaluate(
        Deaf(lambda request: "x"), ["demo_full"], limit=1, generation={"num_beams": 4}, output=tmp_path / "run"
    )
    told = [note for note in result.results["notes"] if "num_beams" in note]
    assert len(told) == 1
    assert told[0].startswith("Model 'Deaf' cannot honour 'num_beams', which 6 tasks set (demo_")
    assert told[0].endswith(", …): it has no beams.")


class Deafer(MockBatch):
    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        return dict.fromkeys(("temperature", "do_sample", "max_new_tokens"), "it takes none.")


def test_settings_that_are_not_honoured_for_one_reason_are_told_in_one_sentence(tmp_path: Path) -> None:
    result = polymeter.evaluate(Deafer(lambda request: "x"), ["demo_signs"], limit=1, output=tmp_path / "run")
    told = [note for note in result.results["notes"] if "honour" in note]
    settings = "'do_sample', 'max_new_tokens' and 'temperature'"
    assert told == [f"Model 'Deafer' cannot honour {settings}, which task 'demo_signs' sets: it takes none."]


def test_nothing_is_told_of_settings_that_nobody_set(tmp_path: Path) -> None:
    outcome = run_tasks([ListTask([{"question": "q", "answer": "x"}])], Deaf(lambda request: "x"), tmp_path / "run")
    assert outcome.results["notes"] == []


def test_a_run_that_was_killed_before_its_journal_had_tables_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    polymeter.evaluate(Endpoint(), ["demo_receipts"], limit=1, output=run)
    manifest = json.loads((run / "run.json").read_text())
    manifest["status"] = "running"
    del manifest["sessions"][-1]["ended"]
    (run / "run.json").write_text(json.dumps(manifest))
    for file in run.glob("journal.db*"):
        file.unlink()
    with closing(sqlite3.connect(run / "journal.db")) as journal:
        journal.execute("PRAGMA journal_mode=WAL")
    endpoint = Endpoint()
    again = polymeter.evaluate(endpoint, ["demo_receipts"], limit=1, output=run)
    assert again.exit_code == 0
    assert endpoint.n_requests == 1
