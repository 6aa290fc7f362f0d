"""A prompt that is made already: its list of choices is found in the text, and written in another order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polymeter.core.settings.choice_orders import Order, in_order
from polymeter.reading.choices import option_labels

_BETWEEN = r"[\s,;|/]*"
_MARKS = r"[)\].:、．：]*\s*"


def relisted(text: str, choices: Sequence[str], order: Order) -> str | None:
    """Return a text whose list of choices is in an order; ``None`` if it has no such list. The letters or numbers
    before the choices stay at their places. Of several such lists the last one is that of the question, behind its
    examples.
    """
    match = None
    for match in _list_of(choices).finditer(text):  # noqa: B007  (the last one)
        pass
    if match is None:
        return None
    parts, end = [], 0
    for number, choice in enumerate(in_order(choices, order), 1):
        parts += [text[end : match.start(number)], choice]
        end = match.end(number)
    return "".join([*parts, text[end:]])


def _list_of(choices: Sequence[str]) -> re.Pattern[str]:
    labels = option_labels(len(choices))
    entries = [
        rf"(?:[(\[]?\b(?:{label}|{number}){_MARKS}|[-*•]\s*)({re.escape(choice)})"
        for number, (label, choice) in enumerate(zip(labels, choices, strict=True), 1)
    ]
    return re.compile(_BETWEEN.join(entries))
