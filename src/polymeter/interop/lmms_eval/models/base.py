"""The base class of model wrappers written for lmms-eval, the types that such a wrapper returns, and the registry of
wrapper names.

This module owns what authors of wrappers import; the other modules of the package run the wrappers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from polymeter.guests.wrappers import Wrapper, registering
from polymeter.interop.lm_family.models.base import FamilyModel, RegisteredNames, given
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


class lmms(FamilyModel):
    """A model wrapper. Requests of a simple one (``is_simple``) carry a text and media, those of others messages."""

    is_simple: bool = True
    task_dict: dict[str, Any]

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        wrapper = super().__new__(cls)
        wrapper.task_dict = {}
        return wrapper

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """For each request, the sum of the continuation's log-probabilities and whether greedy decoding produces it."""
        raise NotImplementedError(f"{type(self).__name__} gives no log-likelihoods.")

    def generate_until(self, requests: Sequence[Any]) -> list[GenerationOutput]:
        """The answer to each request."""
        raise NotImplementedError(f"{type(self).__name__} generates no text.")

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        """The answers of all rounds of each request. The wrapper drives the rounds itself."""
        raise NotImplementedError(f"{type(self).__name__} drives no rounds.")

    def generate_visual_cot(self, requests: Sequence[Any]) -> list[GenerationOutput]:
        """The answer to each request, found with the help of an image that the model draws first."""
        raise NotImplementedError(f"{type(self).__name__} does not draw while it thinks.")

    @classmethod
    def create_from_arg_string(
        cls: type[Self], arg_string: str, additional_config: Mapping[str, Any] | None = None
    ) -> Self:
        """An instance from ``name=value,…`` and further settings; settings that are ``None`` are left out."""
        return cls(**simple_parse_args_string(arg_string), **given(additional_config))

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
        chat_class_path: The same for the wrapper that takes messages, which wins if both exist.
        aliases: Further names.
    """

    model_id: str
    simple_class_path: str | None = None
    chat_class_path: str | None = None
    aliases: tuple[str, ...] = ()


class WrapperNames(RegisteredNames[type[lmms]]):
    """Wrappers by their names. A name can stand for two: one that takes messages, and one for a text and media."""

    kind = "lmms model"

    def __init__(self) -> None:
        super().__init__()
        self._simple: dict[str, type[lmms]] = {}

    def add(self, name: str, cls: type[lmms]) -> None:
        super().add(name, cls)
        if cls.is_simple:
            self._simple[name] = cls

    def get(self, name: str, *, force_simple: bool = False) -> type[lmms]:
        """The wrapper of a name; with ``force_simple`` one that takes a text and media, if there is one.

        Raises:
            PlanError: if there is none; the message suggests the nearest names.
        """
        latest = super().get(name)
        return self._simple.get(name, latest) if force_simple else latest

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._simple.pop(name, None)


LMMS_MODELS = WrapperNames()
"""The wrappers registered in this process, by name."""


def register_model(*names: str) -> Callable[[Wrapper], Wrapper]:
    """Register a wrapper under one or more names.

    Raises:
        TypeError: if what is registered is not a subclass of ``lmms``.
    """
    return registering(lmms, LMMS_MODELS.add, names)
