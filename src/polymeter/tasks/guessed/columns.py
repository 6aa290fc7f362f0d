"""The usual names of columns, and the role that each gives a column.

Capitals and blanks around a name do not count. Of several names for one thing the first one listed here counts.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from polymeter.core.content import Modality
from polymeter.core.text.phrases import in_words

Role = Literal["prompt", "target", "options", "media"]
PROMPTS = ("question", "prompt", "text", "query", "input")
TARGETS = ("answer", "target", "label", "reference", "solution", "answers", "targets", "labels", "references")
OPTIONS = ("options", "choices")
MEDIA: Mapping[str, Modality | None] = MappingProxyType(
    {
        "image": "image",
        "image_path": "image",
        "images": "image",
        "audio": "audio",
        "audio_path": "audio",
        "video": "video",
        "video_path": "video",
        "file_name": None,
    }
)
"""Columns with media, or with paths of media, and their kind; ``None``: the ending of a path shows it."""
_LETTERED = ("{}", "option_{}", "choice_{}")
"""The names of a column that holds one option, by its letter."""
_FEWEST_OPTIONS = 2
_USUAL: Mapping[Role, str] = MappingProxyType(
    {
        "prompt": in_words(PROMPTS, "or"),
        "target": in_words(TARGETS[:5], "or"),
        "options": "options or choices (a list), or A, B, C, …",
        "media": in_words(MEDIA, "or"),
    }
)


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """Columns of a table by what they are for, under the names that the table gives them.

    Attributes:
        prompt: The column with the prompt; empty if the table has none.
        target: The column with the reference; empty if it has none.
        options: The column with lists of options; empty if it has none.
        lettered: The columns with one option each, in order.
        media: The columns with media.
        unused: Further columns with usual names.
    """

    prompt: str = ""
    target: str = ""
    options: str = ""
    lettered: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def roles_of(columns: Sequence[str]) -> ColumnRoles:
    """Return the roles of the columns of a table, by their names."""
    prompts, targets, options = (_named(names, columns) for names in (PROMPTS, TARGETS, OPTIONS))
    lettered = () if options else _lettered(columns)
    return ColumnRoles(
        _first(prompts),
        _first(targets),
        _first(options),
        lettered,
        tuple(_named(MEDIA, columns)),
        (*prompts[1:], *targets[1:], *options[1:]),
    )


def has_usual_columns(columns: Sequence[str]) -> bool:
    """Check if a table has a column for the prompt and one for the reference answer, by their names."""
    roles = roles_of(columns)
    return bool(roles.prompt and roles.target)


def usual_names(*roles: Role) -> str:
    """Return the usual names of columns with some roles, for a message."""
    return "; ".join(f"for the {_noun(role)}: {_USUAL[role]}" for role in roles)


def modality_of_column(name: str) -> Modality | None:
    """Return the kind of media that a column has by its name."""
    return MEDIA.get(_plain(name))


def _noun(role: Role) -> str:
    return role if role != "target" else "reference answer"


def _first(names: Sequence[str]) -> str:
    return names[0] if names else ""


def _plain(name: str) -> str:
    return name.strip().casefold()


def _named(usual: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that have one of the usual names, in the order of these names."""
    return [column for name in usual for column in columns if _plain(column) == name]


def _lettered(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of options A, B, … up to the first missing letter; nothing if there are fewer than two.

    Single letters must be capitals: columns ``a`` and ``b`` often hold numbers.
    """
    for form in _LETTERED:
        found: list[str] = []
        for letter in string.ascii_uppercase:
            names = [column for column in columns if _is_option(column.strip(), form, letter)]
            if not names:
                break
            found.append(names[0])
        if len(found) >= _FEWEST_OPTIONS:
            return tuple(found)
    return ()


def _is_option(column: str, form: str, letter: str) -> bool:
    return column == letter if form == _LETTERED[0] else column.casefold() == form.format(letter).casefold()
