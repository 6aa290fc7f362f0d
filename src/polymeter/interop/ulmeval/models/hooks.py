"""The hooks of a wrapper written for ULMEvalKit: which of them its author wrote, and how they are called.

A wrapper has one or both of ``generate_inner(message, dataset=None)``, which returns one image, and
``batch_generate_inner(message, dataset, num_generations)``, which returns that many. ULMEvalKit's guide names the
second one ``batch_generation_inner``, while its code calls ``batch_generate_inner``; both names work.
"""

from __future__ import annotations

import inspect
import logging
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.guests.own_classes import definer, is_own_class

_LOG = logging.getLogger("polymeter")
BATCH_HOOKS = ("batch_generate_inner", "batch_generation_inner")
HOOKS = ("generate_inner", *BATCH_HOOKS)
_NONE: Mapping[str, Any] = MappingProxyType({})


def is_written(cls: type, name: str) -> bool:
    """Return whether a class has a method that does not come from our base classes."""
    owner = definer(cls, name)
    return owner is not None and not is_own_class(owner)


def own_hook(wrapper: Any, name: str) -> Callable[..., Any] | None:
    """A method that a wrapper's author wrote or set on the object; ``None`` if there is none."""
    if name in getattr(wrapper, "__dict__", {}) or is_written(type(wrapper), name):
        hook = getattr(wrapper, name, None)
        return hook if callable(hook) else None
    return None


def own_batch_hook(wrapper: Any) -> Callable[..., Any] | None:
    """The batch hook that a wrapper's author wrote, under either name."""
    return next((hook for name in BATCH_HOOKS if (hook := own_hook(wrapper, name)) is not None), None)


def with_known(function: Callable[..., Any], message: Any, extra: Mapping[str, Any] = _NONE, **known: Any) -> Any:
    """Call a hook with a message, and with those of the ``known`` arguments that it takes.

    Args:
        function: The hook.
        message: Its first argument.
        extra: Further arguments that it gets whether it names them or not.
        **known: ``dataset``, ``num_generations``, settings: passed by name if the hook names them or takes any
            keyword; otherwise by position, to required parameters that its author named differently.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        return function(message, **known, **extra)
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    names = {one.name for one in parameters}
    named = {name: value for name, value in known.items() if takes_any or name in names}
    unnamed = [value for name, value in known.items() if name not in named]
    unknown = [one for one in parameters if one.kind in by_position and one.name not in {**named, **extra}]
    required = [one for one in unknown if one.default is one.empty]
    positional = {one.name: value for one, value in zip(required, unnamed, strict=False)}
    return function(message, **positional, **named, **extra)


def tried(
    wrapper: Any, hook: Callable[..., Any], items: Any, kwargs: Mapping[str, Any], **known: Any
) -> tuple[int, Any, Any]:
    """Call the hook of an endpoint's wrapper until it succeeds or the wrapper's ``retry`` is reached.

    Returns:
        ``(code, answer, log)``. A success is the code 0 with an answer; the code of a failure is never 0.
    """
    code = -1
    answer = None
    log = None
    for number in range(max(int(getattr(wrapper, "retry", 1) or 1), 1)):
        if number:
            pause(wrapper)
        try:
            with boundary(ModelError, f"generate_inner of {type(wrapper).__name__}"):
                result = with_known(hook, [dict(item) for item in items], kwargs, **known)
                code, answer, log = result if is_coded(result) else (0, result, None)
        except PolymeterError as error:  # any error of its client may be transient
            code = -1
            answer = None
            log = error
        if code == 0 and answer is not None and not (isinstance(answer, str) and not answer):
            return code, answer, log
        if getattr(wrapper, "verbose", False):
            _LOG.info("%s, try %d: code %s, %s", type(wrapper).__name__, number + 1, code, log)
    return (code, answer, log) if code else (-1, answer, "it gave the code 0, and no answer")


def is_coded(result: Any) -> bool:
    """Return whether a result is ``(code, answer, log)``."""
    return isinstance(result, tuple) and len(result) == 3 and isinstance(result[0], int)


def pause(wrapper: Any) -> None:
    """Wait before another attempt: a random time, ``wait`` seconds on average. No seeded generator is used."""
    time.sleep(random.SystemRandom().random() * float(getattr(wrapper, "wait", 0) or 0) * 2)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a hook names an argument."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


@contextmanager
def without_gradients() -> Iterator[None]:
    """Switch torch's gradients off for a hook: ULMEvalKit does so, and its wrappers rely on it."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "no_grad"):
        yield
        return
    with torch.no_grad():
        yield


def checked_list(function: Callable[..., Any], results: Any, n: int) -> list[Any]:
    """The results of a batch hook as a list.

    Raises:
        ModelError: if they are not a list of ``n`` results.
    """
    name = getattr(function, "__name__", "generate")
    if not isinstance(results, (list, tuple)):
        raise ModelError(
            f"{name} gave {described(results)} where a list of {n} was asked for.", hint="Return one item for each."
        )
    if len(results) != n:
        wanted = f"{n} was" if n == 1 else f"{n} were"
        raise ModelError(f"{name} gave {len(results)} images where {wanted} asked for.", hint="Return one for each.")
    return list(results)


def described(value: Any) -> str:
    """A value, described for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {value[:80]!r}"
    kind = type(value).__name__
    article = "an" if kind[0] in "AEIOUaeiou" else "a"
    return f"{article} {kind} of {len(value)}" if isinstance(value, (list, tuple)) else f"{article} {kind}"
