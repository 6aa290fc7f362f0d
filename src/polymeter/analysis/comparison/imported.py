"""Comparison of runs that were imported from another tool's log. Facts that are missing in the log are unknown, not
different.

Prompts are compared by their text, since tools split the same text into messages in different ways. Rows are compared
by the columns that both have, and settings by the names that both give.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.report.formatting import listing
from polymeter.store.exports.imported import IMPORTED, imported_from

if TYPE_CHECKING:
    from polymeter.analysis.comparison.runs import ComparedRun

_SHARED_SETTINGS = ("kind", "max_new_tokens", "temperature", "top_p", "stop")
_DEFINING = ("version", "num_fewshot")


def is_imported(*runs: ComparedRun) -> bool:
    """Check whether one of several runs was imported."""
    return any(IMPORTED in run.manifest for run in runs)


def told_of_import(run: ComparedRun) -> Iterator[str]:
    """Yield what the reader must know about an imported run, besides differences."""
    if IMPORTED not in run.manifest:
        return
    unknown = ["the task's sources", "the fingerprint of its data", "the judge", "settings outside of requests"]
    source = imported_from(run.manifest)
    yield f"{run.name} was imported from {source}. Its log does not contain {listing(unknown)}: not checked."


def definition(entry: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a task in one run, as far as both runs contain it."""
    return {
        name: str(entry[name])
        for name in _DEFINING
        if entry.get(name) not in (None, "") and beside.get(name) not in (None, "")
    }


def shared_columns(one: str | None, two: str | None) -> tuple[str, str] | None:
    """Return two rows as texts, of the columns that both have, or ``None`` if a run does not contain its row. Tables of
    other tools do not distinguish the number ``7`` and the text.
    """
    if one in (None, "null") or two in (None, "null"):
        return None
    if one == two:
        return str(one), str(two)
    rows = [json.loads(text or "null") for text in (one, two)]
    if not all(isinstance(row, dict) for row in rows):
        return None
    shared = [name for name in rows[0] if name in rows[1]]
    first, second = (json.dumps({name: _as_text(row[name]) for name in shared}, ensure_ascii=False) for row in rows)
    return first, second


def _as_text(cell: Any) -> Any:
    """Return a cell in the form of a table without types: a number is the text that it is read from, and an empty text
    is ``None``.
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return str(cell)
    return None if cell == "" else cell


def prompt_text(request: Any) -> str:
    """Return the text of a prompt, then its choices, without white space, because tools separate the parts in different
    ways. Return an empty text if the prompt is unknown.
    """
    messages = (request or {}).get("messages") or ()
    texts = [str(part["text"]) for message in messages for part in message["parts"] if "text" in part]
    return "".join("".join(texts).split())


def is_prompt_alike(one: Any, two: Any, *, is_rendered: bool) -> bool | None:
    """Check whether two requests show the same prompt, by their texts; ``None``: one of them is unknown.

    Args:
        one: A request, as data.
        two: The other request.
        is_rendered: Whether one is in a chat template, so that the texts of the other must occur in it in order.
    """
    texts = [prompt_text(request) for request in (one, two)]
    choices = [(request or {}).get("ask", {}).get("continuations") for request in (one, two)]
    if not all(texts) or any(request is None for request in (one, two)):
        return None
    if all(choices) and choices[0] != choices[1]:
        return False
    if texts[0] == texts[1]:
        return True
    return is_rendered and (_occurs(one, texts[1]) or _occurs(two, texts[0]))


def is_rendered(run: ComparedRun) -> bool:
    """Check whether a log contains prompts in the model's chat template."""
    settings = (run.manifest.get(IMPORTED) or {}).get("settings") or {}
    return bool(settings.get("chat_template") or settings.get("apply_chat_template"))


def known_settings(request: Any, beside: Any) -> dict[str, Any]:
    """Return the settings of a request that both requests name, without the seeds of repeats."""
    asks = [(one or {}).get("ask") or {} for one in (request, beside)]
    return {name: asks[0][name] for name in _SHARED_SETTINGS if name in asks[0] and name in asks[1]}


def _occurs(request: Any, text: str) -> bool:
    """Check whether the messages of a request occur in a text, in order."""
    place = 0
    for message in request["messages"]:
        for part in message["parts"]:
            own = "".join(str(part.get("text", "")).split())
            place = text.find(own, place)
            if place < 0:
                return False
            place += len(own)
    return True
