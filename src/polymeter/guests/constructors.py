"""What the constructors of foreign model wrappers take: checked by signature before anything is constructed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Container, Mapping
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

_WHERE = "--model-args"


def check_arguments(cls: type, arguments: Mapping[str, Any], supplied: Container[str] = ()) -> None:
    """Refuse arguments that a wrapper's constructor does not take, and ones that it needs and are not given.

    Args:
        cls: The wrapper's class.
        arguments: What the user gives.
        supplied: Names of arguments that are given without the user.

    Raises:
        PlanError: Which; the nearest known argument is named.
    """
    named, takes_any = parameters(cls)
    for name in arguments:
        if name not in named and not takes_any:
            known = ", ".join(named) or "none"
            hint = did_you_mean(name, named, n=1) or f"It takes: {known}."
            raise PlanError(f"Wrapper {cls.__name__!r} has no argument {name!r}.", where=_WHERE, hint=hint)
    for name, parameter in named.items():
        is_own = name in inspect.signature(cls).parameters
        if is_own and parameter.default is parameter.empty and name not in arguments and name not in supplied:
            raise PlanError(
                f"Wrapper {cls.__name__!r} needs {name!r}.", where=_WHERE, hint=f"Give it with --model-args {name}=…"
            )


def parameters(cls: type) -> tuple[dict[str, inspect.Parameter], bool]:
    """The parameters that a wrapper's constructor names, with those of its bases for as long as each hands on what it
    does not know itself; and whether anything else is taken too. A constructor that begins with ``assert kwargs == {}``
    takes nothing else.
    """
    named: dict[str, inspect.Parameter] = {}
    takes_any = False
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        if base is object or (base.__module__.startswith("polymeter.") and not own):
            break
        rest = next((parameter.name for parameter in own if parameter.kind is parameter.VAR_KEYWORD), "")
        takes_any = bool(rest) and not _refuses(vars(base)["__init__"], rest)
        for parameter in own:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                named.setdefault(parameter.name, parameter)
        if not takes_any:
            break
    return named, takes_any


def plain(value: Any) -> Any:
    """An argument as it counts for identity; an object that is no plain data counts by its type."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    is_plain = value is None or isinstance(value, (str, bool, int, float))
    return value if is_plain else f"{type(value).__module__}.{type(value).__qualname__}"


def _refuses(constructor: Any, rest: str) -> bool:
    """Whether a constructor asserts that ``**rest`` is empty, as most wrappers do."""
    try:
        source = inspect.getsource(constructor)
    except (OSError, TypeError):
        return False
    empty = rf"assert\s*\(?\s*(?:{rest}\s*==\s*(?:\{{\}}|dict\(\))|not\s+{rest}\b|len\({rest}\)\s*==\s*0)"
    return re.search(empty, source) is not None
