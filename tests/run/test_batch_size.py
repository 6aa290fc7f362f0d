"""Batch sizes: told, found by trying, and cut when memory runs out. No sample is lost or asked twice on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import ModelError, is_out_of_memory
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import Request, Response
from polymeter.run.dispatch.batch.size import BatchSizes, CommonScale
from polymeter.store.exports.export import read_samples
from tests.helpers.tasks import ListTask, run_tasks


def grown(seconds_of: Any, n_batches: int = 20) -> list[int]:
    """The sizes that ``auto`` tries on a model for which a batch of n takes ``seconds_of(n)``."""
    sizes = BatchSizes("auto", 1)
    tried = []
    for _ in range(n_batches):
        size = sizes.most("key", 10)
        assert size is not None
        tried.append(size)
        sizes.computed("key", size, seconds_of(size))
    return tried


def test_auto_grows_while_batches_make_the_model_faster() -> None:
    """Up to 16 requests take as long as one; from there on every request costs."""
    tried = grown(lambda n: max(1.0, n / 16))
    assert tried[:5] == [2, 2, 4, 8, 16]
    assert tried[-1] == 16


def test_auto_stays_small_where_batches_gain_nothing() -> None:
    assert grown(float)[-1] == 2


def test_one_slow_batch_does_not_end_the_growth() -> None:
    seconds = iter([1, 1, 1, 5, 1, 1, 1, 1, 1, 1])
    assert grown(lambda n: next(seconds), 8)[-1] >= 32


def test_a_told_size_never_grows() -> None:
    sizes = BatchSizes(8, 1)
    for _ in range(5):
        assert sizes.most("key", 10) == 8
        sizes.computed("key", 8, 1.0)


def test_what_did_not_fit_is_remembered_as_work() -> None:
    """Sixteen requests of length 100 do not fit: eight such may be tried, and sixteen of half the length."""
    sizes = BatchSizes(16, 1)
    assert sizes.did_not_fit("key", 16, 100) == 8
    assert sizes.most("key", 100) == 8
    assert sizes.most("key", 50) == 16
    assert sizes.most("key", 10_000) == 1
    assert sizes.most("other", 100) == 16, "another key has its own memory"


def test_memory_limits_everything_that_is_ready_too() -> None:
    sizes = BatchSizes(None, None)
    assert sizes.most("key", 100) is None
    sizes.did_not_fit("key", 40, 100)
    assert sizes.most("key", 100) == 20


def test_the_largest_size_of_several_copies_follows_each_of_them() -> None:
    common = CommonScale(2)
    assert common.scale == 2, "nothing is there yet"
    one, other = (BatchSizes("auto", 1, {"small": 1}, common) for _ in range(2))

    def compute(sizes: BatchSizes, seconds_of: Any) -> None:
        size = sizes.most("key", 10)
        assert size is not None
        sizes.computed("key", size, seconds_of(size))
        assert common.scale == max(one.scale or 0, other.scale or 0)

    for _ in range(4):
        compute(one, lambda n: 1.0)
    assert (one.scale, other.scale) == (16, 2)
    for _ in range(3):
        compute(one, lambda n: 99.0)
    assert (one.scale, common.scale) == (8, 8)
    assert other.most("small", 1) == 1
    assert (other.scale, common.scale) == (1, 8)
    BatchSizes(None, None, None, common)
    assert common.scale is None, "one that has no limit"


class Small(BatchModel):
    """Runs out of memory above ``fits`` requests at a time."""

    batch_hint = 1

    def __init__(self, fits: int, error: BaseException) -> None:
        self.traits = ModelTraits("small", requests={"generate": True}, modalities={"text": True})
        self.answered: Counter[str] = Counter()
        self.batches: list[int] = []
        self.n_relieved = self.n_refused = 0
        self._fits, self._error = fits, error

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "small"}

    def relieve(self) -> None:
        self.n_relieved += 1

    def respond(self, requests: list[Request]) -> list[Response]:
        if len(requests) > self._fits:
            self.n_refused += 1
            raise self._error
        self.batches.append(len(requests))
        self.answered.update(request.text for request in requests)
        return [Response.of_text("x") for _ in requests]


class OutOfMemoryError(RuntimeError):
    """Named like that of torch."""


ROWS = [{"question": f"q{number:03d}", "answer": "x"} for number in range(60)]


@pytest.mark.parametrize(
    "error",
    [
        ModelError("It does not fit.", kind="out_of_memory"),
        OutOfMemoryError("Tried to allocate 2 GiB."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ],
)
@pytest.mark.parametrize("batch_size", ["auto", 32])
def test_memory_that_runs_out_costs_no_sample(tmp_path: Path, error: BaseException, batch_size: Any) -> None:
    model = Small(fits=6, error=error)
    outcome = run_tasks([ListTask(ROWS)], model, tmp_path / "run", batch_size=batch_size)
    assert outcome.n_failed == 0
    assert max(model.batches) <= 6
    assert set(model.answered.values()) == {1}
    assert len(model.answered) == len(ROWS)
    assert model.n_relieved == model.n_refused
    assert model.n_refused or batch_size == "auto"  # which grows only as far as larger batches are seen to pay
    lane = outcome.folder.read_manifest()["sessions"][0]["lanes"]["model"]
    assert lane["batch_size"] == {"largest": max(model.batches), "ran_out_of_memory": model.n_refused > 0}


def test_a_request_that_does_not_fit_alone_is_its_samples_error(tmp_path: Path) -> None:
    model = Small(fits=0, error=ModelError("It does not fit.", kind="out_of_memory"))
    outcome = run_tasks([ListTask(ROWS[:3])], model, tmp_path / "run", batch_size=2)
    assert outcome.n_failed == 3
    errors = [row["error"] for row in read_samples(outcome.folder, "list")]
    assert {error["kind"] for error in errors} == {"out_of_memory"}


def test_what_is_no_shortage_of_memory() -> None:
    assert not is_out_of_memory(ValueError("out of range"))
    error = RuntimeError("x")
    error.__cause__ = MemoryError()
    assert is_out_of_memory(error)
