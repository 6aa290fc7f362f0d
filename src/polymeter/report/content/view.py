"""One sample as the viewer receives it, and the blocks of its page.

Run folders hold data of other tools, too, so nothing here relies on the form of stored data: unexpected values are left
out, or shown as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.report.content.media import RunMedia

Place = Literal["asked", "wide", "side", "main", "below"]
MEASURED = "model"
"""The role of the model that is measured."""


_ANSWERING = ("assistant", "tool")


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a sample's page.

    Attributes:
        name: A word that is unique on the page, for links and styles.
        title: Its heading; empty if it needs none.
        template: The name of its partial, which sees the block as ``block``.
        data: The data of the partial.
        place: ``asked``: first, and what it was asked about is ``side``, beside the texts if there is room; ``wide``:
            between the question and the outcome, across the page; ``main``: the outcome; ``below``: all else.
        key: A word that distinguishes its ids from those of another sample on the same page.
    """

    name: str
    title: str
    template: str
    data: Any
    place: Place = "main"
    key: str = ""


@dataclass(frozen=True, slots=True)
class BlockView:
    """The data that blocks are made from.

    Attributes:
        task: The name of its task.
        sample: A line of ``samples/<task>.jsonl`` as a dictionary.
        media: The media of its run.
        results: The entry of its task in ``results.json``; empty before there is one.
        manifest: The content of ``run.json``.
        key: A word that distinguishes it from other samples on the same page; empty if there are none.
        extents: The least and greatest value of each metric among the task's samples, for metrics without a declared
            range; as far as they are known.
        is_headed: Whether the page's heading is the sample's ``heading``.
    """

    task: str
    sample: Mapping[str, Any]
    media: RunMedia
    results: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    extents: Mapping[str, Sequence[float]] = field(default_factory=dict)
    is_headed: bool = False

    def exchanges(self, *, is_judge: bool = False) -> list[Mapping[str, Any]]:
        """The exchanges with the model that is measured, or those with judges and other roles."""
        found = objects(self.sample.get("exchanges"))
        return [one for one in found if (one.get("role", MEASURED) == MEASURED) != is_judge]

    def outputs(self) -> Iterator[Mapping[str, Any]]:
        """The outputs of the model that is measured, in order."""
        for exchange in self.exchanges():
            yield from outputs_of(exchange)

    def first_messages(self) -> list[Mapping[str, Any]]:
        """The messages of the first request to the model that is measured."""
        return next((messages_of(exchange) for exchange in self.exchanges()), [])

    @property
    def target(self) -> str | None:
        """The target, as text; ``None``: nothing is stored."""
        return as_text(self.sample.get("target"))

    @property
    def answer(self) -> str | None:
        """The scored answer; if nothing was scored, the first text of the model. ``None``: it wrote none."""
        found = as_text(self.sample.get("answer"))
        if found is not None:
            return found
        return next((output["text"] for output in self.outputs() if isinstance(output.get("text"), str)), None)


def objects(values: Any) -> Iterator[Mapping[str, Any]]:
    """Those of some values that are dictionaries; none if it is not a list."""
    return (value for value in (values if isinstance(values, (list, tuple)) else ()) if isinstance(value, Mapping))


def entry(value: Any, name: str) -> Mapping[str, Any]:
    """The dictionary under a name of another; empty if there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def messages_of(exchange: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of a request; none if the request is not stored."""
    return [*objects(entry(exchange, "request").get("messages"))]


def question_at(messages: Sequence[Mapping[str, Any]]) -> int:
    """The place of the question among the messages of a request: the last that neither the model nor a tool wrote; -1:
    none.
    """
    return max((place for place, one in enumerate(messages) if one.get("role") not in _ANSWERING), default=-1)


def texts_of(message: Mapping[str, Any]) -> list[str]:
    """The texts of a message."""
    return [part["text"] for part in parts_of(message) if isinstance(part.get("text"), str)]


def parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message."""
    return [*objects(message.get("parts"))]


def outputs_of(exchange: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The outputs of a response."""
    return [*objects(entry(exchange, "response").get("outputs"))]


def media_of(messages: Sequence[Mapping[str, Any]], kind: str) -> Iterator[Mapping[str, Any]]:
    """Return the stored notes on the media of one kind in messages."""
    for message in messages:
        for part in parts_of(message):
            if kind in part:
                yield part[kind] if isinstance(part[kind], Mapping) else {"source": part[kind]}


def as_text(value: Any) -> str | None:
    """A stored value as text: itself, or JSON; ``None`` stays."""
    if value is None or isinstance(value, str):
        return value
    return as_json(value)


def as_json(value: Any) -> str:
    """A stored value as JSON to be read."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
