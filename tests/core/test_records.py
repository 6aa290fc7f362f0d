"""Records that are made quickly are made as any dataclass."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from polymeter.core.records import quickly_made


@quickly_made
@dataclass(frozen=True, slots=True)
class Point:
    x: int
    names: list[str] = field(default_factory=list)
    y: int | None = None


def test_fields_are_given_by_place_by_name_or_by_default() -> None:
    assert Point(1) == Point(1, [], None) == Point(names=[], x=1)
    assert Point(1).names is not Point(1).names
    assert Point(1, ["a"], 2) == replace(Point(1, ["a"]), y=2)


def test_a_record_is_frozen_and_can_be_copied() -> None:
    point = Point(1, ["a"], 2)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(point)) == copy.copy(point) == point
    assert repr(point) == "Point(x=1, names=['a'], y=2)"


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}])
def test_wrong_arguments_are_refused_as_usual(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        Point(**arguments)  # type: ignore[arg-type]
