"""Making a wrapper: calls its constructor as lmms-eval does, and sets what lmms-eval's evaluator sets on it."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, boundary, did_you_mean
from polymeter.core.names.registry import missing_package
from polymeter.guests.wrappers import parameters
from polymeter.interop.lm_family.models.base import CacheHook
from polymeter.interop.lmms_eval.models.base import lmms

BATCH_SIZE = "batch_size"
_CONCURRENCY = ("num_concurrent", "num_cpus")  # what lmms-eval's wrappers of endpoints call it
_DEFAULT_CONCURRENCY = 16


def own_concurrency(cls: type[lmms], arguments: Mapping[str, Any]) -> int:
    """Return the number of requests that a wrapper runs at once by itself, by its constructor's arguments; 0 if none of
    them sets it.
    """
    named, _ = parameters(cls)
    for name in _CONCURRENCY:
        if name in named:
            value = arguments.get(name, named[name].default)
            return value if isinstance(value, int) and value > 0 else _DEFAULT_CONCURRENCY
    return 0


def make_wrapper(cls: type[lmms], arguments: Mapping[str, Any], batch_size: int) -> lmms:
    """Construct a wrapper as lmms-eval does, with the attributes that lmms-eval's evaluator sets.

    Args:
        cls: The class.
        arguments: The user's arguments; a batch size among them wins.
        batch_size: Passed to constructors that take one.

    Raises:
        PlanError: if the constructor raised; the hint names the batch size if the wrapper refuses it.
    """
    named, takes_any = parameters(cls)
    with_size = dict(arguments)
    if BATCH_SIZE in named or takes_any:
        with_size.setdefault(BATCH_SIZE, batch_size)
    try:
        with boundary(PlanError, f"Making the wrapper {cls.__name__!r}"):
            try:
                wrapper = _construct(cls, with_size)
            except ModuleNotFoundError as error:
                raise missing_package(error.name or "?", f"the wrapper {cls.__name__!r}") from error
    except PlanError as error:
        cause = error.__cause__
        if cause is None or isinstance(cause, ModuleNotFoundError):
            raise
        raise _explained(error, cause, with_size, cls) from cause
    return equipped(wrapper)


def equipped(wrapper: lmms) -> lmms:
    """The wrapper, with the attributes that lmms-eval's evaluator sets unless the wrapper has set them itself."""
    for name, value in (("_rank", 0), ("_world_size", 1)):
        if not hasattr(wrapper, name):
            setattr(wrapper, name, value)
    if not hasattr(wrapper, "cache_hook"):
        wrapper.cache_hook = CacheHook(None)
    if not isinstance(getattr(wrapper, "task_dict", None), dict):
        wrapper.task_dict = {}
    if not hasattr(wrapper, "accelerator"):
        wrapper.accelerator = LocalAccelerator()  # type: ignore[attr-defined]
    return wrapper


def _construct(cls: type[lmms], arguments: Mapping[str, Any]) -> lmms:
    default = vars(lmms)["create_from_arg_string"].__func__
    if getattr(cls.create_from_arg_string, "__func__", None) is default:
        return cls(**arguments)
    # An author's create_from_arg_string gets the string and the configuration that lmms-eval passes it.
    config = {name: value for name, value in arguments.items() if name in (BATCH_SIZE, "device")}
    text = ",".join(f"{name}={value}" for name, value in arguments.items() if name not in config)
    return cls.create_from_arg_string(text, {"max_batch_size": None, "device": None, **config})


def _explained(error: PlanError, cause: BaseException, arguments: Mapping[str, Any], cls: type[lmms]) -> PlanError:
    code = _line_at(error.where)
    what = error.what
    if isinstance(cause, AssertionError) and not str(cause) and code:
        what = f"Making the wrapper {cls.__name__!r} failed at: {code}"
    size = arguments.get(BATCH_SIZE)
    if isinstance(size, int) and size > 1 and "batch" in f"{cause} {code}".lower():
        hint = _smaller(size)
    else:
        named, _ = parameters(cls)
        unknown = [name for name in arguments if name not in named and name != BATCH_SIZE]
        hint = did_you_mean(unknown[0], named) if unknown else ""
    return PlanError(what, where=error.where, hint=hint)


def batch_hint(error: PolymeterError, size: int) -> str:
    """Return a hint if a wrapper refuses its batch size only at the first request; empty if it failed otherwise."""
    cause = error.__cause__
    is_refusal = isinstance(cause, (AssertionError, NotImplementedError, ValueError))
    return _smaller(size) if is_refusal and size > 1 and "batch" in f"{cause} {_line_at(error.where)}".lower() else ""


def _smaller(size: int) -> str:
    return f"It refuses batches of {size}: run it with --batch-size 1."


def _line_at(where: str) -> str:
    """The code at ``file:line``."""
    file, _, line = where.rpartition(":")
    return linecache.getline(file, int(line)).strip() if line.isdecimal() else ""


class LocalAccelerator:
    """The ``Accelerator`` of a process that works alone, for wrappers that make none. Attributes that are not defined
    here come from a real one, made at first use.
    """

    process_index = local_process_index = 0
    num_processes = 1
    is_main_process = is_local_main_process = is_last_process = True

    def wait_for_everyone(self) -> None:
        """Return at once: there is no other process."""

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print: this is the main process."""
        print(*args, **kwargs)  # noqa: T201

    def gather(self, tensor: Any) -> Any:
        """The tensor of this process, which is the only one."""
        return tensor

    def unwrap_model(self, model: Any, *_: Any, **__: Any) -> Any:
        """The model itself: it is not wrapped."""
        return model

    @property
    def device(self) -> Any:
        """The device for models: the first GPU, else the CPU."""
        import torch

        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            from accelerate import Accelerator
        except ModuleNotFoundError as error:
            raise missing_package("accelerate", f"a wrapper that uses accelerator.{name}") from error
        real = vars(self).setdefault("_real", Accelerator())
        return getattr(real, name)
