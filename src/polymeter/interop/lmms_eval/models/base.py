"""The base class of model wrappers written for lmms-eval, the types that such a wrapper returns, and the registry of
wrapper names.

This module owns what authors of wrappers import; the other modules of the package run the wrappers.
"""

from __future__ import annotations

import abc
import gc
import sys
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests.wrappers import Wrapper, registering
from polymeter.interop.lmms_eval.models.arguments import simple_parse_args_string

Self = TypeVar("Self", bound="lmms")


@dataclass
class TokenCounts:
    """Token counts of one answer; ``None`` where the backend does not report one."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def to_dict(self) -> dict[str, int]:
        """The counts that are known."""
        return {name: count for name, count in vars(self).items() if count is not None}


@dataclass
class GenerationResult:
    """One answer with its token counts."""

    text: str
    token_counts: TokenCounts | None = None


GenerationOutput = str | GenerationResult


def unwrap_generation_output(output: Any) -> tuple[Any, TokenCounts | None]:
    """Text and token counts of a wrapper's answer: text, a ``GenerationResult``, or a pair of text and counts.

    Anything else is returned unchanged. (lmms-eval turns it into text, which destroys log-likelihoods and lists of
    rounds.)
    """
    if isinstance(output, GenerationResult):
        return output.text, output.token_counts
    if isinstance(output, (tuple, list)) and len(output) == 2 and isinstance(output[0], str):
        text, counts = output
        if isinstance(counts, TokenCounts):
            return text, counts
        if isinstance(counts, Mapping):
            return text, TokenCounts(**{name: counts.get(name) for name in TokenCounts.__dataclass_fields__})
    return output, None


class CacheHook:
    """Takes each answer from a wrapper and does nothing with it: Polymeter journals every response itself."""

    def __init__(self, cachinglm: Any = None) -> None:
        self.dbdict: Any = None

    def add_partial(self, attr: str, req: Any, res: Any) -> None:
        """Called by wrappers for each answer."""


class lmms(abc.ABC):
    """A model wrapper. ``is_simple`` says whether its requests carry a text and media, or messages.

    No method is abstract: a wrapper supports the methods it overrides, which is known before the first request. The
    attributes that lmms-eval's constructor sets exist before a wrapper's own constructor runs, since many never call
    it.
    """

    is_simple: bool = True
    _rank: int
    _world_size: int
    cache_hook: CacheHook
    task_dict: dict[str, Any]

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        wrapper = super().__new__(cls)
        lmms.__init__(wrapper)
        return wrapper

    def __init__(self) -> None:
        self._rank, self._world_size = 0, 1
        self.cache_hook = CacheHook(None)
        self.task_dict = {}

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """For each request, the sum of the continuation's log-probabilities and whether greedy decoding produces it."""
        raise NotImplementedError(f"{type(self).__name__} gives no log-likelihoods.")

    def generate_until(self, requests: Sequence[Any]) -> list[GenerationOutput]:
        """The answer to each request."""
        raise NotImplementedError(f"{type(self).__name__} generates no text.")

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        """The answers of all rounds of each request, whose rounds the wrapper drives itself."""
        raise NotImplementedError(f"{type(self).__name__} drives no rounds.")

    def generate_visual_cot(self, requests: Sequence[Any]) -> list[GenerationOutput]:
        """The answer to each request, found with the help of an image that the model draws first."""
        raise NotImplementedError(f"{type(self).__name__} does not draw while it thinks.")

    @classmethod
    def create_from_arg_string(
        cls: type[Self], arg_string: str, additional_config: Mapping[str, Any] | None = None
    ) -> Self:
        """An instance from ``name=value,…`` and further settings; settings that are ``None`` are left out."""
        further = {name: value for name, value in (additional_config or {}).items() if value is not None}
        return cls(**simple_parse_args_string(arg_string), **further)

    @property
    def rank(self) -> int:
        """Number of this process among those that share the work."""
        return self._rank

    @property
    def world_size(self) -> int:
        """How many processes share the work."""
        return self._world_size

    def set_cache_hook(self, cache_hook: CacheHook) -> None:
        """Set the hook that each answer is passed to."""
        self.cache_hook = cache_hook

    def clean(self) -> None:
        """Drop every network that the wrapper holds, and free the memory that torch no longer needs."""
        torch = sys.modules.get("torch")
        if torch is None:
            return
        for name, value in list(vars(self).items()):
            if isinstance(value, torch.nn.Module):
                delattr(self, name)
        gc.collect()
        torch.cuda.empty_cache()

    @staticmethod
    def _resolve_system_prompt(value: str) -> str:
        """The prompt itself, or the text of the file that it names."""
        path = Path(value) if value and len(value) < 4096 and "\n" not in value else None
        return path.read_text(encoding="utf-8").strip() if path is not None and path.is_file() else value

    def _apply_system_prompt(self, messages: list[dict[str, Any]], system_prompt: str) -> list[dict[str, Any]]:
        """Put a prompt before the messages, or in place of the system message that they begin with."""
        if not system_prompt:
            return messages
        is_plain = any(isinstance(message.get("content"), str) for message in messages)
        content = system_prompt if is_plain else [{"type": "text", "text": system_prompt}]
        if messages and messages[0].get("role") == "system":
            messages[0]["content"] = content
        else:
            messages.insert(0, {"role": "system", "content": content})
        return messages


@dataclass(frozen=True)
class ModelManifest:
    """A model that an installed package provides (entry points of the group ``lmms_eval.models``).

    Attributes:
        model_id: Its name.
        simple_class_path: ``package.module.Class`` of the wrapper that takes a text and media.
        chat_class_path: The same for the wrapper that takes messages, which wins if both are there.
        aliases: Further names.
    """

    model_id: str
    simple_class_path: str | None = None
    chat_class_path: str | None = None
    aliases: tuple[str, ...] = ()


class WrapperNames:
    """Wrappers by the names that ``register_model`` gave them. A later wrapper takes a name over from an earlier one,
    because the file that a run names decides which of them it means.
    """

    def __init__(self) -> None:
        self._wrappers: dict[str, type[lmms]] = {}
        self._simple: dict[str, type[lmms]] = {}

    def add(self, name: str, cls: type[lmms]) -> None:
        """Give a wrapper a name."""
        self._wrappers[name] = cls
        if cls.is_simple:
            self._simple[name] = cls

    def get(self, name: str, *, force_simple: bool = False) -> type[lmms]:
        """The wrapper of a name; with ``force_simple`` one that takes a text and media, if there is one.

        Raises:
            PlanError: if there is none; the message suggests the nearest names.
        """
        if name not in self._wrappers:
            hint = did_you_mean(name, self._wrappers) or "Name the file that registers it with --model-path."
            raise PlanError(f"There is no lmms model {name!r}.", where="--model", hint=hint)
        return self._simple.get(name, self._wrappers[name]) if force_simple else self._wrappers[name]

    def __contains__(self, name: object) -> bool:
        return name in self._wrappers

    def __iter__(self) -> Iterator[str]:
        return iter(self._wrappers)

    def __len__(self) -> int:
        return len(self._wrappers)

    def __getitem__(self, name: str) -> type[lmms]:
        return self._wrappers[name]

    def __setitem__(self, name: str, cls: type[lmms]) -> None:
        self.add(name, cls)

    def __delitem__(self, name: str) -> None:
        """Remove a name; some wrappers' files do so before they register it again."""
        del self._wrappers[name]
        self._simple.pop(name, None)

    def keys(self) -> KeysView[str]:
        """All names."""
        return self._wrappers.keys()


LMMS_MODELS = WrapperNames()
"""The wrappers registered in this process, by name."""


def register_model(*names: str) -> Callable[[Wrapper], Wrapper]:
    """Register a wrapper under one or more names.

    Raises:
        TypeError: if what is registered is not a subclass of ``lmms``.
    """
    return registering(lmms, LMMS_MODELS.add, names)
