"""``ulmeval.api.gpt``: the wrapper of OpenAI's API, which benchmarks use as their judge.

The run decides which model answers (``--judge``), so its questions are scheduled, journaled, cached and retried like
any request. It sees images at full size, also images pasted into a text as data URLs.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import replace
from pathlib import Path
from typing import Any

from polymeter.core.content import Given, Image, Part, Text
from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import current_role_client, guest_context, has_role, note_scorer, refuse_verdict
from polymeter.core.media.sources import from_data_url
from polymeter.core.request import Generate, Message, Request
from polymeter.guests.loggers import guest_logger
from polymeter.interop.ulmeval.models.base import BaseAPI
from polymeter.interop.ulmeval.shim.ulmeval.api._direct import DirectRoleClient
from polymeter.interop.ulmeval.shim.ulmeval.smp.ulm import encode_image_to_base64
from polymeter.judge import ROLE
from polymeter.judge.forms import AROUND
from polymeter.judge.reply import CUT_OFF, is_cut_off
from polymeter.judge.verdict import read_yes_no
from polymeter.tasks.table.items import as_items, as_messages

__all__ = ["APIBASES", "GPT4V", "OpenAIWrapper"]

APIBASES = {"OFFICIAL": "https://api.openai.com/v1/chat/completions"}

_LOG = guest_logger("judge")
_USED = ("temperature", "max_tokens", "max_new_tokens", "top_p")
_SETTINGS = frozenset(
    {
        "frequency_penalty",
        "min_p",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "seed",
        "top_k",
    }
)
_QUESTIONED = "mPLUG, which answers questions about images"
_YES_OR_NO = re.compile(r"\b(?:yes|no)\b", re.IGNORECASE)
_MOST_WORDS = 3
_PASTED = re.compile(r"data:image/[\w.+-]+;base64,\s*[A-Za-z0-9+/=]{64,}")


class OpenAIWrapper(BaseAPI):
    """The run's judge.

    Args:
        model: Not used in a run; in a script (``polymeter python``) the name of the model.
        retry: Not used: the run repeats transient failures.
        key: Not used and not stored.
        verbose: Not used.
        system_prompt: Text before every question.
        temperature: 0 is greedy.
        timeout: Not used.
        api_base: Not used in a run; in a script the address of the endpoint.
        max_tokens: Maximum number of tokens of an answer.
        img_size: Longest side of the images that the judge sees, in pixels; -1: full size. Default: full size.
        img_detail: At parity how closely the judge looks at images, by default ``low``; else not used.
        use_azure: Not used.
        **kwargs: Further generation settings; others are ignored.
    """

    def __init__(  # noqa: PLR0917  (the signature that benchmarks are written against)
        self,
        model: str | None = "gpt-3.5-turbo-0613",
        retry: int = 5,
        key: str | None = None,
        verbose: bool = False,
        system_prompt: str | None = None,
        temperature: float = 0,
        timeout: float = 300,
        api_base: str | None = None,
        max_tokens: int = 2048,
        img_size: int | None = None,
        img_detail: str | None = None,
        use_azure: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(1, system_prompt=system_prompt, verbose=verbose, **kwargs)
        self.model = model
        self.api_base = api_base
        self.temperature = temperature
        self.max_tokens = max_tokens
        self._is_as_there = guest_context().parity.on("judge-image-size")
        self.img_size = (512 if self._is_as_there else -1) if img_size is None else img_size
        self.img_detail = (img_detail or "low") if self._is_as_there else "high"
        self.timeout = timeout
        self._made_in = copy_context()

    def __getstate__(self) -> dict[str, Any]:
        """The state without the context, which no other process can use."""
        return {name: value for name, value in self.__dict__.items() if name != "_made_in"}

    def generate(self, message: Any, dataset: str | None = None, num_generations: int = 1, **kwargs: Any) -> Any:
        """The judge's answer. If the judge could not answer, or its answer ended inside its reasoning, it is
        ``fail_msg``, and the sample being scored has no score, whatever the benchmark makes of that text.

        Args:
            message: A text, an item, a list of texts, or a list of items. An item may have a ``role``; one with a role
                needs no ``type``.
            dataset: Not used.
            num_generations: Not used: a judge answers once.
            **kwargs: ``temperature``, ``max_tokens``, and further settings.

        Raises:
            PlanError: if the run has no judge.
            DataError: if the message has another form, or an image of it cannot be read.
        """
        code, answer, _ = self.generate_inner(message, **{**self.default_kwargs, **kwargs})
        return answer if code == 0 else self.fail_msg

    def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
        """``(0, answer, response)``, or ``(1, fail_msg, reason)``. See ``generate``."""
        made_in: Context | None = self.__dict__.get("_made_in")
        if made_in is not None and not has_role(ROLE):
            # A thread that the benchmark started itself knows no run: that of the code that made the judge counts.
            return made_in.copy().run(self._ask, inputs, **kwargs)
        return self._ask(inputs, **kwargs)

    def _ask(self, inputs: Any, **kwargs: Any) -> tuple[int, Any, Any]:
        request, client = Request(self._messages(inputs), self._settings(kwargs)), current_role_client()
        if isinstance(client, DirectRoleClient):
            response = client.respond(str(self.model), self.api_base, request)
        else:
            response = client(ROLE, request)
        answer = (response.outputs[0].text or "").strip() if response.outputs else ""
        is_whole = response.error is None and not is_cut_off(response)
        if is_whole and answer:
            return 0, answer, response
        # The run has recorded the error, and drops it if the same question is answered later.
        if response.error is not None:
            return 1, self.fail_msg, response.error.message
        why = "The judge said nothing." if is_whole else CUT_OFF
        refuse_verdict(why)
        return 1, self.fail_msg, "it said nothing" if is_whole else why

    def vqa(self, image: Any, question: str) -> str:
        """One word about an image, in lower case: a judge in place of mPLUG, which benchmarks use for such questions.

        Args:
            image: A PIL image, or the path of one.
            question: The question.
        """
        note_scorer(ROLE, _QUESTIONED)
        part = Image(image) if hasattr(image, "size") else Image(Path(image))
        text = Text(f"{question}\nAnswer with one word; yes or no, where that answers it.")
        code, answer, _ = self.generate_inner(Message("user", (part, text)))
        return _one_word(str(answer)) if code == 0 else str(answer)

    def chat(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """The judge's answer to a conversation: turns with ``role`` and ``content``."""
        return self.generate([*messages], **kwargs)

    def working(self) -> bool:
        """Always true: whether the run has a judge shows at the first question."""
        return True

    def _messages(self, message: Any) -> tuple[Message, ...]:
        if isinstance(message, Message):
            return (message,)
        parts = message if isinstance(message, list) else [message]
        parts = [item for part in parts for item in _items_of_turn(part)]
        plain = [{"type": "text", **item} if isinstance(item, dict) and "role" in item else item for item in parts]
        items = as_items(plain if isinstance(message, list) or len(plain) > 1 else plain[0])
        first = [item for item in items if item.get("role") == "system"]
        if self.system_prompt and not any(item["value"] == self.system_prompt for item in first):
            first.insert(0, {"type": "text", "value": self.system_prompt, "role": "system"})
        if first:
            text = "\n".join(item["value"] for item in first)
            first = [{"type": "text", "value": text, "role": "system"}]
        turns = as_messages([*first, *(item for item in items if item.get("role") != "system")])
        return tuple(replace(turn, parts=tuple(self._seen(turn.parts))) for turn in turns)

    def _seen(self, parts: Sequence[Part]) -> Iterator[Part]:
        for part in parts:
            if isinstance(part, Text):
                is_sent = guest_context().parity.on("pasted-image-as-text")
                yield from [part] if is_sent else _unpasted(part.text)
            elif isinstance(part, Image):
                image = self._at_size(part) if self.img_size > 0 else part
                item = {"type": "image", "detail": self.img_detail}
                yield Image(image.source, image.key, given=Given(item=item)) if self._is_as_there else image
            else:
                yield part

    def _at_size(self, image: Image) -> Image:
        opened = image.open()
        if self._is_as_there:
            data = encode_image_to_base64(opened.copy(), target_size=self.img_size)
            return Image(base64.b64decode(data))
        if max(opened.size) <= self.img_size:
            return image
        smaller = opened.copy()
        smaller.thumbnail((self.img_size, self.img_size))
        return Image(smaller)

    def _settings(self, options: Mapping[str, Any]) -> Generate:
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens, **options}
        settings.setdefault("max_new_tokens", settings["max_tokens"])
        extra = {name: value for name, value in settings.items() if name in _SETTINGS}
        unused = sorted(set(settings) - {*extra, *_USED})
        if unused:
            _LOG.info("Settings of a judge that mean nothing to it: %s.", ", ".join(unused))
        return Generate(settings["max_new_tokens"], settings["temperature"], settings.get("top_p"), extra=extra)


class GPT4V(OpenAIWrapper):
    """The run's judge."""


def _one_word(answer: str) -> str:
    """The word that answers a question about an image: yes or no where the judge says either, else a short answer as it
    stands. Anything else is not an answer, and the sample being scored has no score.
    """
    try:
        return "yes" if read_yes_no(answer) else "no"
    except UnscoredError as error:
        words = answer.strip(AROUND + ".").lower()
        if _YES_OR_NO.search(answer) or len(words.split()) > _MOST_WORDS:
            refuse_verdict(str(error))
        return words


def _unpasted(text: str) -> Iterator[Part]:
    """The parts of a text with the images that are pasted into it as data URLs."""
    start = 0
    for match in _PASTED.finditer(text):
        if text[start : match.start()].strip():
            yield Text(text[start : match.start()])
        yield Image(from_data_url(re.sub(r"\s", "", match[0])))
        start = match.end()
    if start == 0 or text[start:].strip():
        yield Text(text[start:])


def _items_of_turn(part: Any) -> list[Any]:
    """The items of a turn with ``role`` and ``content``; a part of another form unchanged."""
    if not isinstance(part, dict) or "content" not in part:
        return [part]
    return [{**item, "role": part["role"]} for item in as_items(part["content"])]
