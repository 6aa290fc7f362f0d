"""Calls of a wrapper's hooks from requests: the message, the benchmark's name, the settings that a hook names, and the
seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError
from polymeter.core.request import Generate, GenerateImage, Origin, Parameters, Request
from polymeter.core.settings.repeats import seed_of
from polymeter.guests.generators import dispatched, own_generators, torch_seeded
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.chatting import chat_answer, is_chat
from polymeter.interop.ulmeval.models.hooks import (
    checked_list,
    is_coded,
    is_written,
    own_batch_hook,
    own_hook,
    takes,
    tried,
    with_known,
    without_gradients,
)
from polymeter.tasks.table.items import Item, items_of

_REASON = "the wrapper's hooks have no such argument."


def results(wrapper: Any, repeats: Sequence[Request], folder: Path, one_seed: int | None = None) -> Iterator[Any]:
    """A wrapper's results for the repeats of one prompt. Each must be consumed before the next one is made, which a
    wrapper may write into the same file.

    Each generation has its own seeded generators, so neither the order of requests nor earlier answers change it. A
    batch hook, which makes all results at once, gets the first request's seed.

    Args:
        wrapper: The wrapper.
        repeats: Requests that differ only in seed and repeat number.
        folder: The folder for images that are not files yet.
        one_seed: The seed of every prompt, from which all of its generations draw one after the other, as there;
            ``None``: that of each request.

    Raises:
        DataError: if the message cannot be made.
        ModelError: if the wrapper returned another number of results, or reports a failure.
    """
    request, n = repeats[0], len(repeats)
    parameters = request.parameters
    if not isinstance(parameters, (Generate, GenerateImage)):
        raise ModelError(f"A ulm model gives images and text, not {parameters.kind}.")
    items, dataset = items_of(request, folder), dataset_of(request)
    if is_chat(wrapper, request):
        for one in repeats:
            with seeded(seed_of(one.parameters)):
                yield chat_answer(wrapper, _copied(items), dataset)
        return
    endpoint_hook = own_hook(wrapper, "generate_inner") if getattr(wrapper, "is_api", False) else None
    if endpoint_hook is not None and not _has_own_generate(wrapper):
        for _ in repeats:
            yield _from_endpoint(wrapper, endpoint_hook, items, dataset, parameters)
        return
    hook, makes_all = _hook_of(wrapper)
    settings = {name: value for name, value in settings_of(parameters).items() if takes(hook, name)}
    if not makes_all and one_seed is not None:
        with seeded(one_seed):
            made = [_single(hook, with_known(hook, _copied(items), settings, dataset=dataset)) for _ in repeats]
        yield from made
        return
    if not makes_all:
        for one in repeats:
            with seeded(seed_of(one.parameters)):
                result = with_known(hook, _copied(items), settings, dataset=dataset)
            yield _single(hook, result)
        return
    with seeded(seed_of(parameters) if one_seed is None else one_seed):
        result = with_known(hook, _copied(items), settings, dataset=dataset, num_generations=n)
    yield from checked_list(hook, _answer_of(hook, result), n)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the generators for a call of a wrapper. They are this thread's own, because hooks of benchmarks draw from
    the process's generators at the same time.
    """
    with dispatched(), own_generators(seed % 2**32), torch_seeded(seed), without_gradients():
        yield


def settings_of(parameters: Parameters) -> dict[str, Any]:
    """The settings that a hook may name, under the field's names; a size as ``size``, ``width`` and ``height``."""
    if isinstance(parameters, GenerateImage):
        size = parameters.size
        settings = {"size": size, "width": size and size[0], "height": size and size[1], **parameters.extra}
    elif isinstance(parameters, Generate):
        sampling = {name: getattr(parameters, name) for name in ("max_new_tokens", "temperature", "top_p")}
        settings = {**sampling, **parameters.extra}
    else:
        return {}
    return {name: value for name, value in settings.items() if value is not None}


def ignored_settings(cls: type, parameters: Parameters) -> Mapping[str, str]:
    """Settings that none of a wrapper's hooks names, each with the reason."""
    hooks = [getattr(cls, name) for name in _hook_names(cls)]
    settings = settings_of(parameters)
    taken = {name for name in settings if any(takes(hook, name) for hook in hooks)}
    if taken & {"size", "width", "height"}:
        taken |= {"size", "width", "height"}
    ignored = [name for name in settings if name not in taken]
    if "size" in ignored:
        ignored = [name for name in ignored if name not in ("width", "height")]
    return dict.fromkeys(ignored, _REASON)


def dataset_of(request: Request) -> str | None:
    """The benchmark's name, as a wrapper gets it as ``dataset``."""
    origin = request.origin
    return None if origin is None else dataset_named(origin) or None


def dataset_named(origin: Origin) -> str:
    """The same of the origin of a request."""
    return str(origin.metadata.get("dataset") or origin.task)


def _hook_names(cls: type) -> list[str]:
    names = ("batch_generate_inner", "batch_generation_inner", "generate_inner")
    return [name for name in names if is_written(cls, name)] or [name for name in ("generate",) if hasattr(cls, name)]


def _has_own_generate(wrapper: Any) -> bool:
    """Return whether a subclass of our base classes overrides ``generate``, through which ULMEvalKit calls every
    wrapper.
    """
    return isinstance(wrapper, (BaseModel, BaseAPI)) and is_written(type(wrapper), "generate")


def _hook_of(wrapper: Any) -> tuple[Callable[..., Any], bool]:
    """The hook to call, and whether it makes all generations at once."""
    if not _has_own_generate(wrapper):
        batch = own_batch_hook(wrapper)
        if batch is not None:
            return batch, True
        single = own_hook(wrapper, "generate_inner")
        if single is not None:
            return single, False
    generate = getattr(wrapper, "generate", None)
    if not callable(generate) or (isinstance(wrapper, (BaseModel, BaseAPI)) and not _has_own_generate(wrapper)):
        raise ModelError(
            f"{type(wrapper).__name__} has neither generate_inner nor batch_generate_inner.", hint="Write one of them."
        )
    return generate, takes(generate, "num_generations")


def _from_endpoint(
    wrapper: Any, hook: Callable[..., Any], items: list[Item], dataset: str | None, parameters: Generate | GenerateImage
) -> Any:
    settings = {name: value for name, value in settings_of(parameters).items() if takes(hook, name)}
    kwargs = {**getattr(wrapper, "default_kwargs", {}), **settings}
    code, answer, log = tried(wrapper, hook, items, kwargs, dataset=dataset)
    if code == 0:
        return _single(hook, answer)
    if isinstance(log, PolymeterError):
        raise log
    raise _coded_error(hook, code, answer, log)


def _single(hook: Callable[..., Any], result: Any) -> Any:
    """One result, which may be in a list of one."""
    answer = _answer_of(hook, result)
    if isinstance(answer, (list, tuple)):
        return checked_list(hook, answer, 1)[0]
    return answer


def _answer_of(hook: Callable[..., Any], result: Any) -> Any:
    """A result without its code.

    Raises:
        ModelError: if the code is that of a failure.
    """
    if not is_coded(result):
        return result
    code, answer, log = result
    if code != 0:
        raise _coded_error(hook, code, answer, log)
    return answer


def _coded_error(hook: Callable[..., Any], code: Any, answer: Any, log: Any) -> ModelError:
    detail = " ".join(str(getattr(log, "text", log) or answer or "").split())[:300]
    name = getattr(hook, "__name__", "generate_inner")
    return ModelError(f"{name} failed with the code {code}{f': {detail}' if detail else '.'}")


def _copied(items: list[Item]) -> list[Item]:
    return [dict(item) for item in items]
