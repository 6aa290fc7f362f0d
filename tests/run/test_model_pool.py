"""Models that stay loaded from run to run, and when they are let go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.media.showing import Showing, VideoRule
from polymeter.core.model import BatchModel, ModelSpec, ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Request, Response
from polymeter.run.plan import model_pool as keeping
from polymeter.run.plan.model_pool import ModelPool, PooledModel
from polymeter.run.plan.models import make_model

SPEC, OTHER = ModelSpec("noted", "a"), ModelSpec("noted", "b")


class Noted(BatchModel):
    """Notes what is done with it."""

    def __init__(self, log: list[str], *, breaks: bool = False) -> None:
        self.traits = ModelTraits(family="noted")
        self.opened_sources = (Path("words.txt"),)
        self._log, self._breaks = log, breaks

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"name": "noted"}

    def load(self) -> None:
        self._log.append(f"load {self.planned_batch_size}")
        if self._breaks:
            raise MemoryError("full")

    def respond(self, requests: list[Request]) -> list[Response]:
        return [Response() for _ in requests]

    def close(self) -> None:
        self._log.append("close")
        if self._breaks:
            raise OSError("stuck")


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def keeper(log: list[str], monkeypatch: pytest.MonkeyPatch) -> ModelPool:
    def make(spec: ModelSpec, weights: Mapping[str, str]) -> BatchModel:
        log.append(f"make {spec.name}")
        return Noted(log, breaks=spec.name == "broken")

    monkeypatch.setattr(keeping, "make_model", make)
    return ModelPool({})


def lent(keeper: ModelPool, spec: ModelSpec = SPEC) -> PooledModel:
    model = keeper.lend(spec)
    assert isinstance(model, PooledModel)
    return model


def test_a_model_is_made_loaded_and_closed_once(keeper: ModelPool, log: list[str]) -> None:
    assert keeper.identity(SPEC) == {"name": "noted"}
    for _ in range(3):
        model = lent(keeper)
        model.planned_batch_size = 4
        model.load()
        model.close()
    assert model.made_from == SPEC
    assert model.opened_sources == (Path("words.txt"),)  # a run that continues checks them
    keeper.close()
    keeper.close()
    assert log == ["make a", "load 4", "close"]


def test_only_what_is_still_needed_stays(keeper: ModelPool, log: list[str]) -> None:
    for spec in (SPEC, OTHER):
        model = lent(keeper, spec)
        model.load()
        model.close()
    keeper.close(but=[OTHER])
    assert log[-1] == "close"
    assert lent(keeper, OTHER) is model
    assert log.count("close") == 1


def test_one_that_a_run_left_busy_is_not_lent_again_and_not_freed_under_it(keeper: ModelPool, log: list[str]) -> None:
    busy = lent(keeper)
    busy.load()
    again = lent(keeper)
    assert again is not busy
    assert "close" not in log
    busy.close()
    assert log == ["make a", "load None", "make a", "close"]
    keeper.close()
    assert log.count("close") == 2


def test_one_that_failed_to_load_is_closed_by_its_run_and_made_anew(
    keeper: ModelPool, log: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    broken = ModelSpec("noted", "broken")
    model = lent(keeper, broken)
    with pytest.raises(MemoryError):
        model.load()
    with pytest.raises(OSError, match="stuck"):
        model.close()
    assert log == ["make broken", "load None", "close"]
    assert lent(keeper, broken) is not model
    keeper.close()
    assert log[-2:] == ["make broken", "close"]
    assert "Closing the model raised OSError: stuck" in caplog.text


def test_it_has_the_parity_and_the_tags_of_its_run(keeper: ModelPool, log: list[str]) -> None:
    model = lent(keeper)
    model.parity, model.reasoning_tags = parity_with("lmms-eval"), (("<a>", "</a>"),)
    model.load()
    inner = model._model
    assert (inner.parity, inner.reasoning_tags) == (model.parity, model.reasoning_tags)
    model.parity = parity_with("evalscope")
    model.respond([])
    assert inner.parity.system == "evalscope"


def test_an_endpoint_is_lent_as_its_spec() -> None:
    spec = ModelSpec("openai", "gpt-4o", {"base_url": "http://127.0.0.1:9/v1"})
    keeper = ModelPool({})
    assert keeper.identity(spec)
    assert keeper.lend(spec) is spec
    keeper.close()


def test_what_cannot_be_made_is_told_when_it_is_asked_for() -> None:
    with pytest.raises(PlanError, match="no argument 'shde'"):
        ModelPool({}).identity(ModelSpec("mock", "", {"shde": 1}))


def test_a_run_with_a_lent_model_is_the_run_of_its_spec(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("index\tquestion\tanswer\n0\tsay mock\tmock\n")
    spec, keeper = ModelSpec("mock"), ModelPool({})
    told: dict[str, Any] = {"tasks": [str(tmp_path / "words.tsv")], "output": tmp_path / "run"}
    first = polymeter.evaluate(keeper.lend(spec), **told)
    keeper.close()
    manifest = first.folder.read_manifest()
    assert (manifest["model"]["name"], manifest["model"]["spec"]["backend"]) == ("mock", "mock")
    assert manifest["model"]["identity"] == make_model(spec, {}).identity
    assert polymeter.evaluate("mock", **told).folder.read_manifest()["cache"]["hits"] == 0
    assert polymeter.resume(tmp_path / "run").results == first.results


class Showy(Noted):
    """A wrapper whose constructor takes the number of frames, which is known when it is loaded."""

    def __init__(self, log: list[str]) -> None:
        super().__init__(log)
        self._frames: int | None = None

    def plan_showing(self, showings: Sequence[Showing]) -> None:
        self._frames = next((one.video.frames for one in showings if one.video is not None), None)

    @property
    def own_showing(self) -> Mapping[str, Any]:
        return {} if self._frames is None else {"frames": self._frames}

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        return {"video.fps": "it has no such argument"}

    def load(self) -> None:
        self._log.append(f"load for {self._frames}")


def test_the_rules_for_media_reach_a_model_that_stays(log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "make_model", lambda spec, weights: Showy(log))
    keeper = ModelPool({})
    for frames in (4, 4, 8):
        model = lent(keeper)
        model.plan_showing([Showing(video=VideoRule(frames=frames))])
        assert model.unfollowed(Showing()) == {"video.fps": "it has no such argument"}
        assert model.own_showing == {"frames": frames}
        model.load()
        assert model.own_showing == {"frames": frames}
        model.close()
    keeper.close()
    assert log == ["load for 4", "close", "load for 8", "close"]


def test_everything_that_planning_asks_a_model_is_passed_on() -> None:
    asked_elsewhere = {"made_from", "opened_sources", "address", "traits", "rows", "parity", "reasoning_tags"}
    names = {name for base in BatchModel.__mro__ for name in vars(base) if not name.startswith("_")}
    assert names - asked_elsewhere - {"batch_hint", "planned_batch_size", "at_once"} <= set(vars(PooledModel))
