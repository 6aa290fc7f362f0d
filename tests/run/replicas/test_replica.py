"""A replica's side, in this process: batches, media that is broken, rows, and answers that cannot be sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Pictures

from polymeter.core.acting.tools import Call
from polymeter.core.content import Image
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.format import OpenContext
from polymeter.core.media.showing import ImageRule, Showing, VideoRule
from polymeter.core.model import BatchModel, ModelSpec, ModelTraits
from polymeter.core.names.registries import MODELS
from polymeter.core.options import RunOptions
from polymeter.core.request import Origin, Output, Response
from polymeter.run.dispatch.replicas.hosts import Computed, Work
from polymeter.run.dispatch.replicas.planning import _setup
from polymeter.run.dispatch.replicas.replica import ModelReplica, ReplicaSetup, packed_answers, portable_error, unsent
from polymeter.run.dispatch.replicas.wire import packed, unpacked
from polymeter.run.schedule.running_samples import MODEL_ROLE
from tests.helpers.tasks import ListTask, ask, docs


class Narrow(BatchModel):
    """Computes three requests at a time and no more."""

    calls: list[tuple[list[str], int | None]]
    is_closed = False

    def __init__(self, name: str = "") -> None:
        self.traits = ModelTraits(family="narrow")
        self.calls = []

    @property
    def identity(self) -> dict[str, Any]:
        return {"backend": "narrow"}

    def load(self) -> None:
        if self.planned_batch_size == 13:
            raise RuntimeError("no luck")

    def respond(self, requests: list[Any]) -> list[Response]:
        self.calls.append(([request.text for request in requests], self.at_once))
        if len(requests) > 3:
            raise MemoryError
        return [Response.of_text(request.text.upper()) for request in requests]


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReplicaSetup:
    monkeypatch.setattr(MODELS, "_users", dict(MODELS._users))
    MODELS.register("narrow", Narrow, place="here")
    return ReplicaSetup(
        ModelSpec("narrow"), (), {"shut": "it is far away"}, OpenContext(), RunOptions(), tmp_path / "fetched"
    )


@pytest.fixture
def replica(setup: ReplicaSetup) -> Iterator[ModelReplica]:
    made = ModelReplica(setup)
    yield made
    made.close()


def work(*texts: str, batch_size: int | None, **more: Any) -> Work:
    return Work(7, [[ask(text)] for text in texts], batch_size, **more)


def test_a_lease_is_computed_batch_by_batch_in_order(replica: ModelReplica) -> None:
    replica.load()
    computed = replica.compute(work(*"abcde", batch_size=2, at_once=2))
    assert computed.lease == 7
    assert [response.text for response in computed.responses if response] == list("ABCDE")
    assert [n for n, _ in computed.timings] == [2, 2, 1]
    assert replica._model.calls == [(["a", "b"], 2), (["c", "d"], 2), (["e"], 2)]


def test_memory_that_runs_out_is_told_and_the_rest_left_for_later(replica: ModelReplica) -> None:
    computed = replica.compute(work(*"abcdefgh", batch_size=4))
    assert (computed.did_not_fit, list(computed.responses)) == (4, [None] * 8)
    assert len(replica._model.calls) == 1, "the second batch would not have fit either"


def test_broken_media_is_its_requests_failure_alone(replica: ModelReplica) -> None:
    broken = ask("seen", image=Image(b"no image"))
    computed = replica.compute(Work(1, [[ask("a")], [broken], [ask("b")]], 3))
    first, second, third = computed.responses
    assert (first.text, third.text) == ("A", "B")
    assert second.error.kind == "data"
    assert "Cannot read the image" in second.error.message


def test_rows_of_tasks_that_cannot_be_opened_here_are_refused_with_the_reason(replica: ModelReplica) -> None:
    rows = replica._model.rows
    assert rows(Origin("unknown", "0")) is None
    with pytest.raises(PlanError, match="A replica cannot open task 'shut': it is far away"):
        rows(Origin("shut", "0"))


def test_a_model_that_cannot_be_loaded_says_where(setup: ReplicaSetup) -> None:
    luckless = ReplicaSetup(setup.model, (), {}, setup.context, RunOptions(batch_size=13), setup.fetched)
    replica = ModelReplica(luckless)
    with pytest.raises(PlanError, match="Loading the model raised RuntimeError: no luck"):
        replica.load()
    replica.close()


def test_one_request_that_cannot_be_sent_does_not_hold_up_its_neighbours() -> None:
    odd = ask("odd", extra={"hook": lambda text: text})
    found = unsent(Work(1, [[ask("a")], [odd]]))
    assert found[0] is None, "asked again without the other"
    assert "cannot be sent to another process" in found[1].error.message


def test_one_answer_that_cannot_be_sent_is_an_error_and_no_other() -> None:
    odd = Response((Output("x", calls=(Call("1", "f", {"call": lambda: 1}, ""),)),))
    data, beside = packed_answers(Computed(3, [Response.of_text("a"), odd, None], [(2, 0.5)], 4))
    computed = unpacked(data, [bytes(piece) for piece in beside])
    assert (computed.lease, computed.timings, computed.did_not_fit) == (3, [(2, 0.5)], 4)
    assert computed.responses[0] == Response.of_text("a")
    assert "The model's answer cannot be sent to the run" in computed.responses[1].error.message
    assert computed.responses[2] is None


def test_errors_cross_with_all_that_they_say() -> None:
    error = portable_error(ModelError("It failed.", kind="transient", where="a.py:3", hint="Try.", retry_after_s=2.0))
    data, _ = packed_answers(Computed(0, []))
    assert unpacked(data).responses == []
    import pickle

    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.retry_after_s) == (str(error), "transient", 2.0)
    assert "KeyError" in str(portable_error(KeyError("x")))


def test_rules_cross_and_what_was_shown_comes_back(tmp_path: Path) -> None:
    setup = ReplicaSetup(ModelSpec("mock"), (), {}, OpenContext(), RunOptions(), tmp_path / "fetched")
    replica = ModelReplica(setup)
    replica.load()
    wide = Image(Pictures.new("RGB", (40, 20)), rule=ImageRule(max_side=10))
    both = (ask("text"), ask("seen", image=wide))
    data, beside = packed(Work(1, [[one] for one in both]))
    computed = replica.compute(unpacked(data, [bytes(piece) for piece in beside]))
    replica.close()
    data, beside = packed_answers(computed)
    none, (record,) = unpacked(data, [bytes(piece) for piece in beside]).shown
    assert none == ()
    assert record is not None
    assert (record.rule, record.sent["width"]) == ({"max_side": 10}, 10)
    assert wide.sent is None, "it was another process's"


def test_a_replica_knows_of_tasks_with_videos_that_state_no_rule(tmp_path: Path) -> None:
    tasks = [ListTask(docs(1), name=name).as_task() for name in ("stated", "unstated", "text")]
    ruled, plain, text = (replace(task, spec=replace(task.spec, file=Path(__file__))) for task in tasks)
    seeing = replace(ruled.needs, modalities=frozenset({"text", "video"}))
    rule = Showing(video=VideoRule(frames=64))
    opened = [replace(ruled, needs=seeing, showing=rule), replace(plain, needs=seeing), text]
    plan: Any = SimpleNamespace(
        model=Narrow(), model_spec=ModelSpec("mock"), options=RunOptions(), opened=opened, context=OpenContext()
    )
    assert _setup(plan, MODEL_ROLE, plan.model, tmp_path).showings == (rule, Showing())
