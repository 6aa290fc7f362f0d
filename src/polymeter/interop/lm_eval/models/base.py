"""The base classes of models written for lm-eval, and the registry of their names.

This module owns what authors of such models import; the other modules of the package run the models.
"""

from __future__ import annotations

import abc
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from polymeter.guests.wrappers import Wrapper, registering
from polymeter.interop.lm_eval.models.arguments import simple_parse_args_string
from polymeter.interop.lm_family.models.base import CacheHook, FamilyModel, RegisteredNames, given

Self = TypeVar("Self", bound="LM")


class CachingLM:
    """A model whose answers lm-eval would keep in a database. Here it is the model: the journal keeps them."""

    def __init__(self, lm: LM, cache_db: str) -> None:
        self.lm, self.cache_db = lm, cache_db
        lm.set_cache_hook(self.get_cache_hook())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lm, name)

    def get_cache_hook(self) -> CacheHook:
        """A hook that keeps nothing."""
        return CacheHook(self)


def hash_args(attr: str, args: Iterable[Any]) -> str:
    """The key of a request in lm-eval's cache."""
    return hashlib.sha256(json.dumps([attr, *args]).encode()).hexdigest()


class LM(FamilyModel):
    """A language model as lm-eval calls it."""

    MULTIMODAL = False
    _device: Any = None

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """For each request, the sum of the continuation's log-probabilities and whether greedy decoding gives it."""
        raise NotImplementedError(f"{type(self).__name__} gives no log-likelihoods.")

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        """For each request, the log-probability of a whole text of any length."""
        raise NotImplementedError(f"{type(self).__name__} gives no log-likelihoods of whole texts.")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """The answer to each request."""
        raise NotImplementedError(f"{type(self).__name__} generates no text.")

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        """A conversation as the text that the model continues."""
        raise NotImplementedError(f"{type(self).__name__} has no apply_chat_template.")

    @classmethod
    def create_from_arg_string(
        cls: type[Self], arg_string: str, additional_config: Mapping[str, Any] | None = None
    ) -> Self:
        """An instance from ``name=value,…`` and further settings; settings that are ``None`` are left out."""
        return cls(**simple_parse_args_string(arg_string), **given(additional_config))

    @classmethod
    def create_from_arg_obj(
        cls: type[Self], arg_dict: Mapping[str, Any], additional_config: Mapping[str, Any] | None = None
    ) -> Self:
        """An instance from arguments and further settings; settings that are ``None`` are left out."""
        return cls(**arg_dict, **given(additional_config))

    @property
    def device(self) -> Any:
        """The device of the model."""
        return self._device

    def all_gather(self, tensor: Any) -> Any:
        """The tensor of this process, which is the only one."""
        return tensor

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """The objects of all processes: of this one."""
        return [obj]

    def barrier(self) -> None:
        """Wait for the other processes; none exist."""
        return None

    @property
    def tokenizer_name(self) -> str:
        """The name of the tokenizer. lm-eval distinguishes caches of prompts by it."""
        raise NotImplementedError(f"{type(self).__name__} has no tokenizer_name.")

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """The text of the chat template; empty without one."""
        return ""


class TemplateLM(LM):
    """A model that gives tokens: it encodes, and scores encoded pairs."""

    tokenizer: Any = None
    backend = "causal"

    @property
    @abc.abstractmethod
    def eot_token_id(self) -> int:
        """The token that ends a text."""

    @property
    def prefix_token_id(self) -> int:
        """The token that stands before a text without a context."""
        return self.eot_token_id

    @abc.abstractmethod
    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **kwargs: Any) -> list[int]:
        """The tokens of a text."""

    @abc.abstractmethod
    def _loglikelihood_tokens(
        self, requests: list[tuple[tuple[str, str], list[int], list[int]]], **kwargs: Any
    ) -> list[tuple[float, bool]]:
        """The log-probability of the second list of tokens after the first, for each request."""

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The tokens of a context and of what follows it. White space at the end of the context belongs to what
        follows, because tokens of words begin with it.
        """
        assert context, "a context is not empty here"
        bare = context.rstrip()
        continuation, context = context[len(bare) :] + continuation, bare
        before = self.tok_encode(context)
        if self.backend != "causal":
            return before, self.tok_encode(continuation, add_special_tokens=False)
        return before, self.tok_encode(context + continuation)[len(before) :]

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """For each request, the sum of the continuation's log-probabilities and whether greedy decoding gives it."""
        encoded = []
        for context, continuation in (request.args for request in requests):
            if context == "":
                after = self.tok_encode(continuation, add_special_tokens=False)
                starts_itself = after[0] == self.prefix_token_id
                pair = (after[:1], after[1:]) if starts_itself else ([self.prefix_token_id], after)
            else:
                pair = self._encode_pair(context, continuation)
            encoded.append(((context, continuation), *pair))
        return self._loglikelihood_tokens(encoded, disable_tqdm=disable_tqdm)

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """The text of the tokenizer's chat template, of several the named one; ``None`` if none is asked for or exists;
        empty without a tokenizer.

        Raises:
            ValueError: if it has several, and not the one that is named.
        """
        if self.tokenizer is None:
            return ""
        if chat_template is False or chat_template is None:
            return None
        template = getattr(self.tokenizer, "chat_template", None)
        if not isinstance(template, Mapping):
            return template
        name = chat_template if isinstance(chat_template, str) else "default"
        if name not in template:
            raise ValueError(f"The tokenizer has no chat template {name!r}; it has {', '.join(sorted(template))}.")
        return str(template[name])


class LmNames(RegisteredNames[type[LM]]):
    """Subclasses of ``LM`` by their names."""

    kind = "LM"


LM_MODELS = LmNames()
"""The models registered in this process, by name."""


def get_model(model_name: str) -> type[LM]:
    """The model of a name.

    Raises:
        PlanError: if none is registered under it.
    """
    return LM_MODELS.get(model_name)


def register_model(*names: str) -> Callable[[Wrapper], Wrapper]:
    """Register a model under one or more names.

    Raises:
        TypeError: if what is registered is not a subclass of ``LM``.
    """
    return registering(LM, LM_MODELS.add, names)
