"""What the constructor of a dataset class takes besides the dataset's name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

_GIVEN = "dataset"


def check_arguments(found: type, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that no constructor of a class names. ``**kwargs`` that only swallow take none.

    Args:
        found: The class.
        arguments: What the user gives.

    Raises:
        PlanError: Which; the nearest known argument is named.
    """
    known = _named(found) if arguments else []
    for name in arguments:
        if name not in known:
            hint = did_you_mean(name, known, n=1) or f"It takes: {', '.join(known) or 'none'}."
            raise PlanError(f"The dataset class {found.__name__} has no argument {name!r}.", hint=hint)


def _named(found: type) -> list[str]:
    """Names of the arguments of a constructor, and of those of its bases for as long as each hands on what it does not
    know itself.
    """
    names: dict[str, None] = {}
    for base in found.__mro__:
        if base is object or "__init__" not in vars(base):
            continue
        own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        names.update(
            dict.fromkeys(one.name for one in own if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
        )
        if not any(one.kind is one.VAR_KEYWORD for one in own):
            break
    names.pop(_GIVEN, None)
    return list(names)
