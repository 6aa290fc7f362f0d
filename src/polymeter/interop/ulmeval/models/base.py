"""The base classes of model wrappers written for ULMEvalKit: ``BaseModel``, and ``BaseAPI`` for endpoints.

``hooks`` owns which hooks a wrapper has and how they are called; the other modules of the package run wrappers in an
evaluation.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.guests.contain import seeded
from polymeter.guests.generators import has_own_generators, torch_seeded
from polymeter.guests.loggers import guest_logger
from polymeter.guests.own_classes import own_class
from polymeter.interop.ulmeval.models.hooks import (
    checked_list,
    own_batch_hook,
    pause,
    tried,
    with_known,
    without_gradients,
)
from polymeter.tasks.table.items import Item, as_items

_LOG = logging.getLogger("polymeter")
_SEED = 42
CHAT_FAILED = "Chat Mode: Failed with all possible conversation turns."


@own_class
class _Prompting:
    """Methods that both kinds of wrappers share: forms of messages, their own prompts, and the images of a benchmark's
    rows.
    """

    INTERLEAVE: bool = False
    allowed_types: list[str]
    dump_image_func: Callable[[Any], Any] | None = None

    def use_custom_prompt(self, dataset: str) -> bool:
        """Return whether ``build_prompt`` makes a benchmark's messages, in place of the benchmark itself."""
        return False

    def build_prompt(self, line: Any, dataset: str) -> Any:
        """The message of a benchmark's row (a ``pandas.Series``), if ``use_custom_prompt`` returns true."""
        raise NotImplementedError(f"{type(self).__name__} has no build_prompt.")

    def set_dump_image(self, dump_image_func: Callable[[Any], Any] | None) -> None:
        """Set the benchmark's function from a row to the paths of its images, which ``dump_image`` calls."""
        self.dump_image_func = dump_image_func

    def dump_image(self, line: Any, dataset: str | None = None) -> Any:
        """The paths of a row's images.

        Raises:
            ModelError: if no benchmark has set the function that writes them.
        """
        if self.dump_image_func is None:
            raise ModelError(
                f"{type(self).__name__} has no dump_image function.", hint="The benchmark sets it, or set_dump_image."
            )
        return self.dump_image_func(line)

    def check_content(self, msgs: Any) -> Literal["str", "dict", "liststr", "listdict", "unknown"]:
        """The form of a message."""
        if isinstance(msgs, str):
            return "str"
        if isinstance(msgs, Mapping):
            return "dict"
        if isinstance(msgs, list):
            kinds = {self.check_content(item) for item in msgs}
            if kinds <= {"str"}:
                return "liststr"
            if kinds <= {"dict"}:
                return "listdict"
        return "unknown"

    def preproc_content(self, inputs: Any) -> list[Item]:
        """A message in any form, as a new list of items. Its images are local files.

        Raises:
            DataError: if its form is unknown, or an image cannot be read.
        """
        return as_items(inputs, folder=_kept_images())

    def message_to_promptimg(self, message: list[Item], dataset: str | None = None) -> tuple[str, str | None]:
        """All texts, joined by line breaks, and the first image's path, for models that take at most one image."""
        if self.INTERLEAVE:
            raise ModelError(f"{type(self).__name__} takes interleaved messages: it needs no message_to_promptimg.")
        images = [item["value"] for item in message if item["type"] == "image"]
        if len(images) > 1:
            warnings.warn(f"{type(self).__name__} sees the first of {len(images)} images.", stacklevel=2)
        return "\n".join(item["value"] for item in message if item["type"] == "text"), images[0] if images else None

    def _items(self, message: Any) -> list[Item]:
        items = self.preproc_content(message)
        for item in items:
            if item["type"] not in self.allowed_types:
                raise ModelError(
                    f"{type(self).__name__} takes no {item['type']}.",
                    hint=f"It takes: {', '.join(self.allowed_types)}.",
                )
        return items

    def _turns(self, messages: list[Any]) -> list[dict[str, Any]]:
        for number, message in enumerate(messages):
            if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
                raise ModelError(f"Turn {number} of a chat needs a 'role' and a 'content'.")
        return [{**message, "content": self.preproc_content(message["content"])} for message in messages]


@own_class
class BaseModel(_Prompting):
    """A model in this process. A subclass has ``generate_inner``, or a batch hook under either of its names, or both.

    The attributes that the constructor sets are also class attributes, because many subclasses never call it.
    """

    INTERLEAVE = False
    allowed_types = ["text", "image"]  # noqa: RUF012  # as its authors read and replace it

    def __init__(self) -> None:
        self.dump_image_func = None

    def generate_inner(self, message: list[Item], dataset: str | None = None) -> Any:
        """One image (or text) for a message."""
        batch = own_batch_hook(self)
        if batch is None:
            raise NotImplementedError(f"{type(self).__name__} has neither generate_inner nor a batch hook.")
        return checked_list(batch, with_known(batch, message, dataset=dataset, num_generations=1), 1)[0]

    def batch_generate_inner(self, message: list[Item], dataset: str | None, num_generations: int) -> list[Any]:
        """``num_generations`` images, one after the other unless a subclass does better."""
        batch = own_batch_hook(self)
        if batch is not None:
            results = with_known(batch, message, dataset=dataset, num_generations=num_generations)
            return checked_list(batch, results, num_generations)
        return [with_known(self.generate_inner, message, dataset=dataset) for _ in range(num_generations)]

    def batch_generation_inner(self, msgs: list[Item], dataset: str | None, num_generations: int) -> list[Any]:
        """The same as ``batch_generate_inner``."""
        return self.batch_generate_inner(msgs, dataset, num_generations)

    def generate(self, message: Any, dataset: str | None = None, num_generations: int = 1) -> list[Any]:
        """Images (or texts) for a message in any form.

        Python's, NumPy's and torch's generators are seeded with the environment's ``SEED`` (default 42) for the call
        and restored afterwards; in a run they are already seeded for the sample. Relative paths start at the working
        directory.

        Args:
            message: A text, an item, a list of texts or a list of items.
            dataset: Name of the benchmark, for models that treat some differently.
            num_generations: The number of results.

        Returns:
            ``num_generations`` images (or texts).

        Raises:
            DataError: if the message's form is unknown, or an image cannot be read.
            ModelError: if the model does not take such content, or its hook returned another number of results.
        """
        items = self._items(message)
        with _seeded(), without_gradients():
            results = self.batch_generate_inner(items, dataset, num_generations)
        return checked_list(self.batch_generate_inner, results, num_generations)

    def chat(self, messages: list[dict[str, Any]], dataset: str | None = None) -> Any:
        """The answer of the subclass's ``chat_inner`` to a conversation (``role``, ``content``). If it raises, the
        oldest turns are dropped and it is called again.
        """
        turns = self._turns(messages)
        chat_inner = getattr(self, "chat_inner", None)
        if chat_inner is None:
            raise ModelError(f"{type(self).__name__} has no chat_inner.")
        while turns:
            try:
                with boundary(ModelError, f"chat_inner of {type(self).__name__}"):
                    return chat_inner(turns, dataset=dataset)
            except PolymeterError as error:  # the longest conversation it can take is not known in advance
                _LOG.info("%s", error)
                turns = _later(turns)
        return CHAT_FAILED


@own_class
class BaseAPI(_Prompting):
    """A model behind an endpoint that the subclass calls itself: its ``generate_inner`` returns ``(code, answer,
    log)``, where the code 0 is success.

    Args:
        retry: Maximum number of attempts for an answer.
        wait: Average wait before another attempt, in seconds.
        system_prompt: For the subclass to read.
        verbose: Whether to log failed attempts.
        fail_msg: What ``generate`` returns if all attempts fail.
        **kwargs: Passed to ``generate_inner`` with every message.
    """

    is_api = True
    INTERLEAVE = True
    allowed_types = ["text", "image", "video"]  # noqa: RUF012  # as above
    retry: int = 10
    wait: float = 1
    system_prompt: str | None = None
    verbose: bool = True
    fail_msg: str = "Failed to obtain answer via API."
    default_kwargs: Mapping[str, Any] = {}

    def __init__(
        self,
        retry: int = 10,
        wait: float = 1,
        system_prompt: str | None = None,
        verbose: bool = True,
        fail_msg: str = "Failed to obtain answer via API.",
        **kwargs: Any,
    ) -> None:
        self.retry = retry
        self.wait = wait
        self.system_prompt = system_prompt
        self.verbose = verbose
        self.fail_msg = fail_msg
        self.default_kwargs = kwargs
        self.logger = guest_logger("ChatAPI")

    def generate_inner(self, inputs: list[Item], **kwargs: Any) -> tuple[int, Any, Any]:
        """``(code, answer, log)`` for a message."""
        raise NotImplementedError(f"{type(self).__name__} has no generate_inner.")

    def generate(self, message: Any, dataset: str | None = None, num_generations: int = 1, **kwargs: Any) -> list[Any]:
        """Answers to a message in any form; ``fail_msg`` in place of one for which all attempts failed.

        Args:
            message: As for ``BaseModel.generate``.
            dataset: Name of the benchmark; passed to a ``generate_inner`` that names it.
            num_generations: The number of answers.
            **kwargs: Passed to ``generate_inner``.
        """
        items = self._items(message)
        answers = []
        for _ in range(num_generations):
            code, answer, _log = self.tried(items, dataset=dataset, **kwargs)
            answers.append(answer if code == 0 else self.fail_msg)
        return answers

    def tried(self, items: list[Item], dataset: str | None = None, **kwargs: Any) -> tuple[int, Any, Any]:
        """Call ``generate_inner`` until it succeeds or ``retry`` is reached, and return its result."""
        return tried(self, self.generate_inner, items, {**self.default_kwargs, **kwargs}, dataset=dataset)

    def working(self) -> bool:
        """Return whether it answers a greeting."""
        return self.generate("hello") != [self.fail_msg]

    def preprocess_message_with_role(self, message: list[Item]) -> list[Item]:
        """A message without its ``system`` items; their text is added to ``system_prompt`` unless it is there."""
        texts = [item["value"] for item in message if item.get("role") == "system"]
        prompt = "".join(f"{text}\n" for text in texts)
        if prompt and prompt not in (self.system_prompt or ""):
            self.system_prompt = prompt if self.system_prompt is None else f"{self.system_prompt}\n{prompt}"
        return [
            {name: value for name, value in item.items() if name != "role"}
            for item in message
            if item.get("role") != "system"
        ]

    def chat_inner(self, inputs: list[dict[str, Any]], **kwargs: Any) -> tuple[int, Any, Any]:
        """The result of ``generate_inner`` for a conversation. If it raises, the oldest turns are dropped and it is
        called again.
        """
        kwargs.pop("dataset", None)
        while inputs:
            try:
                with boundary(ModelError, f"generate_inner of {type(self).__name__}"):
                    return self.generate_inner(inputs, **kwargs)
            except PolymeterError as error:  # a conversation may be too long for it
                _LOG.info("%s", error)
                inputs = _later(inputs)
        return -1, f"{self.fail_msg}: Failed with all possible conversation turns.", None

    def chat(self, messages: list[dict[str, Any]], **kwargs: Any) -> Any:
        """The answer to a conversation (``role``, ``content``), or ``fail_msg``."""
        turns = self._turns(messages)
        for number in range(max(self.retry, 1)):
            if number:
                pause(self)
            code, answer, _ = self.chat_inner(turns, **{**self.default_kwargs, **kwargs})
            if code == 0 and answer not in (None, ""):
                return answer
        return self.fail_msg


def _later(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation without its oldest turn, beginning with a user's."""
    return next((turns[start:] for start in range(1, len(turns)) if turns[start]["role"] == "user"), [])


@contextmanager
def _seeded() -> Iterator[None]:
    if has_own_generators():
        yield
        return
    seed = environment_seed()
    with seeded(seed % 2**32), torch_seeded(seed):
        yield


def environment_seed() -> int:
    """The seed of every call of ``generate``: the environment's ``SEED``, else 42.

    Raises:
        ModelError: if it is not a number.
    """
    text = os.environ.get("SEED", "").strip()
    if not text:
        return _SEED
    try:
        return int(text)
    except ValueError:
        raise ModelError(
            f"The seed {text!r} is not a number.", where="SEED", hint="Write one, such as SEED=42."
        ) from None


def _kept_images() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("polymeter") / "images"
