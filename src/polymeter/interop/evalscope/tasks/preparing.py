"""What stands before and after the model: the shape of a prompt, and the filters that an answer goes through."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from polymeter.interop.evalscope.tasks.filters import Filter

Parse = Callable[..., Any]
_IS_FILTERED: ContextVar[int] = ContextVar("polymeter_filtered_for", default=0)


@dataclass
class PromptData:
    """What an adapter asks about one record.

    Attributes:
        data: The prompt, as a list of one text; for continuations, pairs of context and continuation.
        index: Position of the record within its subset.
        system_prompt: Put before the prompt.
        multi_choices: The choices of a question.
        id: The author's own identifier.
        messages: A whole conversation in place of the prompt, as an OpenAI endpoint takes it.
    """

    data: list[Any]
    index: int | str | None = 0
    system_prompt: str | None = None
    multi_choices: list[str] | None = None
    id: int | str | None = None
    messages: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """What is set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


def preprocess_decorator(parse: Parse) -> Parse:
    """Let answers go through the adapter's ``filters`` before they are parsed; no answer is an empty one.

    They are applied once for an answer, however many classes of an adapter's ancestry parse it in turn.
    """
    if getattr(parse, "applies_filters", False):
        return parse

    @wraps(parse)
    def parse_filtered(self: Any, result: Any, raw_input_d: Any = None, *args: Any, **kwargs: Any) -> Any:
        if result is None:
            result = ""
        if _IS_FILTERED.get() == id(self):
            return parse(self, result, raw_input_d, *args, **kwargs)
        with _filtering(self):
            return parse(self, apply_filters(self, result), raw_input_d, *args, **kwargs)

    parse_filtered.applies_filters = True  # type: ignore[attr-defined]
    return parse_filtered


def apply_filters(adapter: Any, result: Any) -> Any:
    """An answer after the filters of an adapter, in their order. Answers that are no text stay as they are."""
    for name, setting in (adapter.config_kwargs.get("filters") or {}).items():
        if isinstance(result, str):
            result = Filter.apply(name, result, setting)
    return result


def load_file_with_extension(file_path: str | list[str]) -> list[dict[str, Any]]:
    """Records of ``.json`` (a list), ``.jsonl`` and ``.txt`` files (one record ``{"text": …}``), one after another.

    Raises:
        FileNotFoundError: There is no such file.
    """
    records: list[dict[str, Any]] = []
    for place in [file_path] if isinstance(file_path, str) else file_path:
        file = Path(place)
        if not file.is_file():
            raise FileNotFoundError(f"There is no file {place}.")
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            records.extend(json.loads(text))
        elif file.suffix == ".jsonl":
            records.extend(json.loads(line) for line in text.split("\n") if line.strip())
        elif file.suffix == ".txt":
            records.append({"text": text})
    return records


@contextmanager
def _filtering(adapter: Any) -> Iterator[None]:
    token = _IS_FILTERED.set(id(adapter))
    try:
        yield
    finally:
        _IS_FILTERED.reset(token)
