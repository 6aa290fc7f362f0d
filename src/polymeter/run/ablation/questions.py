"""The question of a sample in its prompt, and prompts without it.

A question is the text of a column of the row that has a usual name, where the prompt shows it word by word. The options
must stay: they are known from the row or from the request, and are looked for in the rest of the prompt.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import DataError
from polymeter.core.request import Loglikelihood, Message, Request
from polymeter.core.rows import QUESTION_COLUMNS
from polymeter.core.task import Sample, Task
from polymeter.core.text.phrases import in_words

_OPTION_COLUMNS = ("options", "choices")
_LETTERED = re.compile(r"(?:^|[\s(\[,;])A ?[).:\]].+?[\s(\[,;]B ?[).:\]]", re.DOTALL)
"""Options behind their letters, on lines of their own or, as in MMStar, in one sentence."""
_LABEL = re.compile(r"\W*[A-Ja-j1-9]\W*")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """The place of a question in a request.

    Attributes:
        message: The number of the message.
        part: The number of its part.
        start: The first character of the question in the text of that part.
        text: The question.
    """

    message: int
    part: int
    start: int
    text: str


def question_columns(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the columns of a row that may hold its question, each with its text, the likeliest first."""
    plain = {str(name).strip().casefold(): (str(name), value) for name, value in row.items()}
    found = (plain[name] for name in QUESTION_COLUMNS if name in plain)
    return [(name, value.strip()) for name, value in found if isinstance(value, str) and value.strip()]


def find_question(request: Request, row: Mapping[str, Any]) -> AskedQuestion | None:
    """Return the place of a row's question in a request: the last one, as examples stand before it. ``None``: no text
    of the user holds it.
    """
    for _, question in question_columns(row):
        for number in reversed(range(len(request.messages))):
            message = request.messages[number]
            if message.role != "user":
                continue
            for place in reversed(range(len(message.parts))):
                part = message.parts[place]
                start = part.text.rfind(question) if isinstance(part, Text) else -1
                if start >= 0:
                    return AskedQuestion(number, place, start, question)
    return None


def without_question(task: Task, sample: Sample, request: Request) -> tuple[Message, ...] | None:
    """Return the messages of a request without the question of a sample; ``None`` if they do not hold it.

    Raises:
        DataError: if its options go with the question, or nothing is left.
    """
    found = find_question(request, sample.doc)
    if found is None:
        return None
    message = request.messages[found.message]
    text = message.parts[found.part].text  # type: ignore[union-attr]
    before, after = text[: found.start], text[found.start + len(found.text) :]
    rest = before + after if before.strip() else after.lstrip()
    kept = (Text(rest),) if rest.strip() else ()
    parts = (*message.parts[: found.part], *kept, *message.parts[found.part + 1 :])
    changed = (Message(message.role, parts),) if parts else ()
    messages = (*request.messages[: found.message], *changed, *request.messages[found.message + 1 :])
    asked = request.parameters.continuations if isinstance(request.parameters, Loglikelihood) else ()
    if not (asked or any(one.role == "user" for one in messages)):
        raise DataError("Nothing of the prompt is left without the question.")
    if _holds_options(found.text, [*_options_of(task, sample)], " ".join([*(one.text for one in messages), *asked])):
        raise DataError("The text of the question also holds its options.")
    return messages or (Message("user", (Text(""),)),)


def no_question(sample: Sample) -> DataError:
    """Return the error for a sample whose prompt does not show its question."""
    columns = question_columns(sample.doc)
    if not columns:
        return DataError(f"Its rows have no column with a usual name of questions: {in_words(QUESTION_COLUMNS, 'or')}.")
    return DataError(f"The prompt does not show the text of the column {columns[0][0]!r} word by word.")


def _holds_options(question: str, options: Sequence[str], rest: str) -> bool:
    """Return whether options are part of a question and of nothing else. Bare letters say nothing about that; then
    letters in front of options in the question do.
    """
    in_words_of_their_own = [option for option in options if not _LABEL.fullmatch(option)]
    if not in_words_of_their_own:
        return _LETTERED.search(question) is not None
    return any(option in question and option not in rest for option in in_words_of_their_own)


def options_of_row(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that columns with usual names hold: a list or a mapping, or one column for each letter."""
    plain = {str(name).strip().casefold(): value for name, value in row.items()}
    listed = next(
        (plain[name] for name in _OPTION_COLUMNS if isinstance(plain.get(name), (list, tuple, Mapping))), None
    )
    if isinstance(listed, Mapping):
        listed = [*listed.values()]
    if listed is None:
        listed = [row[letter] for letter in string.ascii_uppercase[:10] if row.get(letter) is not None]
    yield from (text for option in listed if (text := str(option).strip()))


def _options_of(task: Task, sample: Sample) -> Iterator[str]:
    """Yield the texts to choose from, as the task or the row states them."""
    known = task.row_functions.choices(sample.index) if task.row_functions.choices is not None else None
    if isinstance(known, (list, tuple)):
        yield from (text for option in known if (text := str(option).strip()))
    else:
        yield from options_of_row(sample.doc)
