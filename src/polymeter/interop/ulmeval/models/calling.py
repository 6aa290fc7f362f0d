"""From a request to calls of a wrapper's hooks: the message, the benchmark's name, the settings that a hook names, and
the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError
from polymeter.core.repeats import seed_of
from polymeter.core.request import Generate, GenerateImage, Parameters, Request
from polymeter.formats.table.items import Item, items_of
from polymeter.guests.generators import dispatched, own_generators, torch_seeded
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
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

_WHY = "the wrapper's hooks have no such argument."


def results(wrapper: Any, repeats: Sequence[Request], folder: Path) -> Iterator[Any]:
    """What a wrapper gives for the repeats of one prompt: a result for each as it came, and read before the next one is
    made, which may be written into the same file.

    Each generation runs on generators that are seeded for it alone, so neither the order of requests nor what was
    answered before changes it. A batch hook, which makes all at once, is seeded with the first one's seed.

    Args:
        wrapper: The wrapper.
        repeats: What is asked: equal requests but for seed and number.
        folder: Where images that are no files are put.

    Raises:
        DataError: The message cannot be made.
        ModelError: The wrapper gave another number than was asked for, or says itself that it failed.
    """
    request, n = repeats[0], len(repeats)
    ask = request.parameters
    if not isinstance(ask, (Generate, GenerateImage)):
        raise ModelError(f"A ulm model gives images and text, not {ask.kind}.")
    items, dataset = items_of(request, folder), dataset_of(request)
    asks = own_hook(wrapper, "generate_inner") if getattr(wrapper, "is_api", False) else None
    if asks is not None and not _has_own_generate(wrapper):
        for _ in repeats:
            yield _from_endpoint(wrapper, asks, items, dataset, ask)
        return
    hook, makes_all = _hook_of(wrapper)
    settings = {name: value for name, value in settings_of(ask).items() if takes(hook, name)}
    if not makes_all:
        for one in repeats:
            with seeded(seed_of(one.parameters)):
                given = with_known(hook, _copied(items), settings, dataset=dataset)
            yield _single(hook, given)
        return
    with seeded(seed_of(ask)):
        given = with_known(hook, _copied(items), settings, dataset=dataset, num_generations=n)
    yield from checked_list(hook, _answer_of(hook, given), n)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Call a wrapper inside this. Generators are this thread's own: hooks of benchmarks draw from the process's at the
    same time.
    """
    with dispatched(), own_generators(seed % 2**32), torch_seeded(seed), without_gradients():
        yield


def settings_of(ask: Parameters) -> dict[str, Any]:
    """The settings of an ask that a hook may name: those of the field's names, a size as ``size``, ``width`` and
    ``height``.
    """
    if isinstance(ask, GenerateImage):
        size = ask.size
        told = {"size": size, "width": size and size[0], "height": size and size[1], **ask.extra}
    elif isinstance(ask, Generate):
        plain = {"max_new_tokens": ask.max_new_tokens, "temperature": ask.temperature, "top_p": ask.top_p}
        told = {**plain, **ask.extra}
    else:
        return {}
    return {name: value for name, value in told.items() if value is not None}


def ignored_settings(cls: type, ask: Parameters) -> Mapping[str, str]:
    """Settings of an ask that none of a wrapper's hooks names, each with the reason."""
    hooks = [getattr(cls, name) for name in _hook_names(cls)]
    settings = settings_of(ask)
    taken = {name for name in settings if any(takes(hook, name) for hook in hooks)}
    if taken & {"size", "width", "height"}:
        taken |= {"size", "width", "height"}
    left = [name for name in settings if name not in taken]
    if "size" in left:
        left = [name for name in left if name not in ("width", "height")]
    return dict.fromkeys(left, _WHY)


def dataset_of(request: Request) -> str | None:
    """The benchmark's name, as a wrapper's ``dataset`` has it."""
    origin = request.origin
    return None if origin is None else str(origin.metadata.get("dataset") or origin.task) or None


def _hook_names(cls: type) -> list[str]:
    names = ("batch_generate_inner", "batch_generation_inner", "generate_inner")
    return [name for name in names if is_written(cls, name)] or [name for name in ("generate",) if hasattr(cls, name)]


def _has_own_generate(wrapper: Any) -> bool:
    """Whether a subclass of our base classes replaces ``generate``, by which ULMEvalKit calls every wrapper."""
    return isinstance(wrapper, (BaseModel, BaseAPI)) and is_written(type(wrapper), "generate")


def _hook_of(wrapper: Any) -> tuple[Callable[..., Any], bool]:
    """The hook that answers, and whether it makes all generations at once."""
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
    wrapper: Any, hook: Callable[..., Any], items: list[Item], dataset: str | None, ask: Generate | GenerateImage
) -> Any:
    settings = {name: value for name, value in settings_of(ask).items() if takes(hook, name)}
    kwargs = {**getattr(wrapper, "default_kwargs", {}), **settings}
    code, answer, log = tried(wrapper, hook, items, kwargs, dataset=dataset)
    if code == 0:
        return _single(hook, answer)
    if isinstance(log, PolymeterError):
        raise log
    raise _coded_error(hook, code, answer, log)


def _single(hook: Callable[..., Any], given: Any) -> Any:
    """One result; a list of one counts as well."""
    answer = _answer_of(hook, given)
    if isinstance(answer, (list, tuple)):
        return checked_list(hook, answer, 1)[0]
    return answer


def _answer_of(hook: Callable[..., Any], given: Any) -> Any:
    """A result without its code.

    Raises:
        ModelError: The code says that there is none.
    """
    if not is_coded(given):
        return given
    code, answer, log = given
    if code != 0:
        raise _coded_error(hook, code, answer, log)
    return answer


def _coded_error(hook: Callable[..., Any], code: Any, answer: Any, log: Any) -> ModelError:
    told = " ".join(str(getattr(log, "text", log) or answer or "").split())[:300]
    name = getattr(hook, "__name__", "generate_inner")
    return ModelError(f"{name} failed with the code {code}{f': {told}' if told else '.'}")


def _copied(items: list[Item]) -> list[Item]:
    return [dict(item) for item in items]
