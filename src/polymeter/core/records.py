"""Records: dataclasses with slots whose class is made quickly, and of which each is made quickly.

``dataclass`` here means what ``dataclasses.dataclass`` means, field for field. Two things cost less:

- *The class.* Python writes and compiles up to six methods for each one, half a millisecond, and a command imports some
  two hundred classes, most of which it never makes one of. Here comparison, hash, representation and the refusal to be
  changed are functions that all classes share, and the constructor is written when the first record is made.
- *Each record.* What Python writes for a frozen dataclass sets each field through ``object.__setattr__``, which looks
  it up by its name. To set it through its slot takes half as long, and samples make several records each.

A class that inherits from another dataclass is left to Python, and so is one without slots, which imports
``dataclasses`` itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")


class _Factory:
    """Stands in a signature for a default that is made anew for each record."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _dataclass(
    *, slots: bool, frozen: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    """What ``dataclass`` of this module is.

    Args:
        slots: Always true; written down because it is what a reader of the class knows from Python's.
        frozen: Whether a record cannot be changed.
        eq: Whether records are equal when their fields are, and hashed by them if they are frozen too.
        repr: Whether the class gets a representation.
        kw_only: Whether all fields are given by their names.

    Raises:
        TypeError: if ``slots`` is false, or a frozen class says itself how its fields are set.
    """
    if not slots:
        raise TypeError("A record has slots; import dataclass from dataclasses for a class without.")

    def made(cls: type[T]) -> type[T]:
        if any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:]):
            return dataclasses.dataclass(slots=True, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only)(cls)
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # Python would write down the signature, which takes as long as all the rest
        bare = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        record: Any = bare
        all_fields = fields(record)
        of_record = record.__dataclass_params__
        of_record.init, of_record.repr, of_record.eq, of_record.frozen = True, repr, eq, frozen
        if "__init__" not in vars(record):
            record.__init__ = _unwritten(record)
            record.__signature__ = _WritesFirst()
        if repr and "__repr__" not in vars(record):
            record.__repr__ = _representation(all_fields)
        if eq:
            _compare(record, all_fields, is_frozen=frozen)
        if frozen:
            _freeze(record, all_fields)
        return bare

    return made


# Type checkers know what Python's does, and it is the same.
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _unwritten(record: Any) -> Callable[..., None]:
    """A constructor that puts the written one in its place when it is called first."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _write(record)
        record.__init__(self, *args, **kwargs)

    __init__.__qualname__ = f"{record.__qualname__}.__init__"
    __init__.__module__ = record.__module__
    __init__.is_unwritten = True  # type: ignore[attr-defined]
    return __init__


def _write(record: Any) -> None:
    """Write the constructor of a class, unless another thread has."""
    if getattr(record.__init__, "is_unwritten", False):
        record.__init__ = _constructor(record)


class _WritesFirst:
    """The ``__signature__`` of a class: none, but whoever asks for it then finds the constructor written."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        for each in owner.__mro__:
            if isinstance(vars(each).get("__signature__"), _WritesFirst):
                _write(each)
        raise AttributeError("__signature__")


def _constructor(record: Any) -> Callable[..., None]:
    """The constructor of a class whose fields have slots."""
    is_frozen = record.__dataclass_params__.frozen
    names: dict[str, Any] = {"FACTORY": _FACTORY}
    given: list[str] = []
    by_name: list[str] = []
    steps: list[str] = []
    for each in fields(record):
        value = _value(each, names)
        if each.init:
            argument = (
                each.name if value == each.name and each.default is MISSING else f"{each.name}=default_{each.name}"
            )
            (by_name if each.kw_only else given).append(argument)
        if value:
            names[f"set_{each.name}"] = vars(record)[each.name].__set__
            steps.append(f" set_{each.name}(self, {value})" if is_frozen else f" self.{each.name} = {value}")
    if hasattr(record, "__post_init__"):
        steps.append(" self.__post_init__()")
    arguments = ", ".join(["self", *given, *(["*", *by_name] if by_name else [])])
    exec("\n".join([f"def __init__({arguments}):", *(steps or [" pass"])]), names)  # noqa: S102  (the text is ours, as Python's own would be Python's)
    made: Any = names["__init__"]
    made.__qualname__, made.__module__ = f"{record.__qualname__}.__init__", record.__module__
    made.__annotations__ = {each.name: each.type for each in fields(record) if each.init} | {"return": None}
    return made  # type: ignore[no-any-return]


def _value(field: Field[Any], names: dict[str, Any]) -> str:
    """What a constructor sets a field to, as text that uses ``names``; none for a field that it leaves alone."""
    name = field.name
    if field.default_factory is not MISSING:
        names[f"make_{name}"] = field.default_factory
        names[f"default_{name}"] = _FACTORY
        return f"make_{name}() if {name} is FACTORY else {name}" if field.init else f"make_{name}()"
    if field.default is not MISSING:
        names[f"default_{name}"] = field.default
        return name if field.init else f"default_{name}"
    return name if field.init else ""


def _representation(all_fields: tuple[Field[Any], ...]) -> Callable[[Any], str]:
    shown = [each.name for each in all_fields if each.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return __repr__


def _compare(record: Any, all_fields: tuple[Field[Any], ...], *, is_frozen: bool) -> None:
    """Give a class its comparison, and its hash: that of its fields if they never change, else none."""
    values = _values_of([each.name for each in all_fields if each.compare])
    if "__eq__" not in vars(record):

        def __eq__(self: Any, other: Any) -> Any:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        record.__eq__ = __eq__
    if vars(record).get("__hash__") is not None:
        return
    if not is_frozen:
        record.__hash__ = None
        return
    hashed = _values_of([each.name for each in all_fields if (each.compare if each.hash is None else each.hash)])

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    record.__hash__ = __hash__


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _freeze(record: Any, all_fields: tuple[Field[Any], ...]) -> None:
    """Let nothing of a class be changed, but what unpickling and copying restore."""
    names = tuple(each.name for each in all_fields)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is record or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(record, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is record or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(record, self).__delattr__(name)

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=False):
            object.__setattr__(self, name, value)

    for method in (__setattr__, __delattr__):
        if method.__name__ in vars(record):
            raise TypeError(f"{record.__qualname__} is frozen and has a {method.__name__} of its own.")
        setattr(record, method.__name__, method)
    for restore in (__getstate__, __setstate__):
        if restore.__name__ not in vars(record):
            setattr(record, restore.__name__, restore)
