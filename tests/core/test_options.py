"""Options: each one is identity or runtime, and a wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field, ValidationError

from polymeter.core.errors import PlanError
from polymeter.core.options import Options, RunOptions, mark_of
from tests.helpers.options import OTHER_VALUES

NAMES = list(RunOptions.model_fields)
MARKS = {name: mark_of(RunOptions, name) for name in NAMES}


def test_every_option_is_marked_identity_or_runtime() -> None:
    undecided = [name for name, mark in MARKS.items() if mark not in ("identity", "runtime")]
    assert not undecided, (
        f"Decide for {undecided}: declare it with identity(…) if it can change an output, else with runtime(…)."
    )


def test_an_unmarked_option_is_seen() -> None:
    class Careless(Options):
        new: int = Field(0)

    assert mark_of(Careless, "new") is None


def test_every_option_has_an_example() -> None:
    assert set(OTHER_VALUES) == set(NAMES), "Add another value of the new option to tests/helpers/options.py."
    defaults = RunOptions()
    assert [name for name in NAMES if getattr(defaults, name) == OTHER_VALUES[name]] == []


@pytest.mark.parametrize("name", [name for name in NAMES if MARKS[name] == "identity"])
def test_an_identity_option_changes_the_identity(name: str) -> None:
    assert RunOptions.make({name: OTHER_VALUES[name]}).identity() != RunOptions().identity()


@pytest.mark.parametrize("name", [name for name in NAMES if MARKS[name] == "runtime"])
def test_a_runtime_option_does_not(name: str) -> None:
    assert RunOptions.make({name: OTHER_VALUES[name]}).identity() == RunOptions().identity()


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(PlanError) as caught:
        RunOptions.make({"batchsize": 3}, where="polymeter.evaluate")
    assert "no option 'batchsize'" in caught.value.what
    assert "'batch_size'" in caught.value.hint
    assert caught.value.where == "polymeter.evaluate"


def test_an_option_like_no_other_lists_them_all() -> None:
    with pytest.raises(PlanError) as caught:
        RunOptions.make({"xyzzy": 3})
    assert all(name in caught.value.hint for name in NAMES)


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", 0), ("limit", -1), ("offset", -1), ("seed", "x"), ("batch_size", 0), ("concurrency", 0), ("media", "x")],
)
def test_a_wrong_value_is_named_with_its_option(name: str, value: Any) -> None:
    with pytest.raises(PlanError, match=f"Option '{name}'.*(got|, not) {value!r}"):
        RunOptions.make({name: value})


def test_options_are_frozen() -> None:
    with pytest.raises(ValidationError):
        RunOptions().seed = 3  # type: ignore[misc]
