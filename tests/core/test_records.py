"""Records are dataclasses: whatever Python's dataclass does, ours does too, and its class is made without compiling."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, Generic, TypeVar

import pytest

from polymeter.core import records
from polymeter.core.records import dataclass

T = TypeVar("T")
Way = Callable[[type], type]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    names: list[str] = field(default_factory=list)
    y: int | None = None


@dataclass(slots=True)
class Tally:
    """Counts something."""

    n: int = 0
    seen: set[int] = field(default_factory=set, repr=False, compare=False)
    double: int = field(init=False)
    unset: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.n


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Named:
    name: str
    value: float = 1.5


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    held: T


@dataclass(frozen=True, slots=True)
class Wider(Point):
    z: int = 3


@dataclass(frozen=True, slots=True, repr=False)
class Own:
    a: int
    b: int = field(default=0, hash=False)

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.a == other.a


def test_fields_are_given_by_place_by_name_or_by_default() -> None:
    assert Point(1) == Point(1, [], None) == Point(names=[], x=1)
    assert Point(1).names is not Point(1).names
    assert Point(1, ["a"], 2) == replace(Point(1, ["a"]), y=2)
    assert Named(name="a").value == 1.5


def test_a_record_is_frozen_and_can_be_copied() -> None:
    point = Point(1, ["a"], 2)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError, match="'other'"):
        point.other = 2  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(point)) == copy.copy(point) == copy.deepcopy(point) == point
    assert repr(point) == "Point(x=1, names=['a'], y=2)"
    assert repr(Held(Held(1))) == "Held(held=Held(held=1))"


def test_a_record_that_holds_itself_is_printed() -> None:
    point = Point(1)
    point.names.append(point)  # type: ignore[arg-type]
    assert repr(point) == "Point(x=1, names=[...], y=None)"


def test_a_record_can_change_where_it_is_not_frozen() -> None:
    tally = Tally(2)
    assert tally.double == 4
    tally.n, tally.unset = 3, 1
    assert tally == pickle.loads(pickle.dumps(tally)) != Tally(3)
    assert repr(tally) == "Tally(n=3, double=4)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)
    with pytest.raises(AttributeError):
        tally.other = 1  # type: ignore[attr-defined]


def test_hashes_and_comparisons_are_those_of_the_fields() -> None:
    assert hash(Held("a")) == hash(("a",))
    assert hash(Own(1, 2)) == hash(Own(1, 3)) == hash((1,))
    assert Own(1, 2) == Own(1, 3)
    assert repr(Own(1)) == "own"
    assert Named(name="a") != Named(name="a")
    assert Held(1) != Point(1)
    assert Held(1).__eq__(1) is NotImplemented


@pytest.mark.parametrize("arguments", [{}, {"x": 1, "z": 2}])
def test_wrong_arguments_are_refused_as_usual(arguments: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\)"):
        Point(**arguments)  # type: ignore[arg-type]


def test_a_record_that_inherits_one_is_a_dataclass_too() -> None:
    wider = Wider(1, ["a"], 2, 4)
    assert (wider.x, wider.z) == (1, 4)
    assert wider == replace(Wider(1, ["a"], 2), z=4) == pickle.loads(pickle.dumps(wider))
    with pytest.raises(FrozenInstanceError):
        wider.x = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Loose", (Point,), {"__annotations__": {"w": int}}))


def test_a_class_that_is_no_dataclass_may_inherit_a_record() -> None:
    class Child(Held[int]):
        def __init__(self) -> None:
            super().__init__(5)

    assert Child().held == 5
    assert list(inspect.signature(Child).parameters) == []


def test_what_describes_the_class_is_as_in_python() -> None:
    for ours, options in [
        (Point, {"frozen": True}),
        (Tally, {}),
        (Named, {"frozen": True, "kw_only": True, "eq": False}),
    ]:
        python = dataclasses.dataclass(slots=True, **options)(_bare(ours))  # type: ignore[call-overload]
        assert str(inspect.signature(ours)) == str(inspect.signature(python))
        assert str(inspect.signature(ours.__init__)) == str(inspect.signature(python.__init__))
        assert ours.__match_args__ == python.__match_args__  # type: ignore[attr-defined]
        assert repr(ours.__dataclass_params__) == repr(python.__dataclass_params__)  # type: ignore[attr-defined]
        assert [each.name for each in dataclasses.fields(ours)] == [each.name for each in dataclasses.fields(python)]
    assert Tally.__doc__ == "Counts something."
    assert Point.__doc__ == "Point"


def test_a_constructor_is_written_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    real = records._constructor

    def noting(record: Any) -> Callable[..., None]:
        written.append(record.__name__)
        return real(record)

    monkeypatch.setattr(records, "_constructor", noting)
    made: list[Any] = [_record(f"Lazy{i}") for i in range(2)]
    assert written == []
    assert (made[0](1).x, made[0](x=2).x) == (1, 2)
    assert str(inspect.signature(made[1])) == "(x: int) -> None"
    assert written == ["Lazy0", "Lazy1"]
    with pytest.raises(AttributeError):
        _ = made[0](1).__signature__


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="has slots"):
        records._dataclass(slots=False)
    with pytest.raises(TypeError, match="__setattr__ of its own"):
        records._dataclass(slots=True, frozen=True)(type("Set", (), {"__setattr__": object.__setattr__}))


def _record(name: str) -> type:
    return records._dataclass(slots=True, frozen=True)(type(name, (), {"__annotations__": {"x": int}}))


def _bare(record: Any) -> type:
    """The class that a record was made of."""
    names: dict[str, Any] = {"__annotations__": record.__annotations__, "__doc__": "x"}
    for each in dataclasses.fields(record):
        if each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING or not each.init:
            names[each.name] = field(
                **{
                    key: getattr(each, key)
                    for key in ("default", "default_factory", "init", "repr", "hash", "compare")
                    if getattr(each, key) is not dataclasses.MISSING
                }
            )
    return type(record.__name__, (), names)
