"""Kinds of benchmarks that a table can be, by its columns."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from polymeter.core.errors import DataError

IMAGE_COLUMNS = ("image", "image_path")
OPTION_COLUMNS = tuple(string.ascii_uppercase)
RULES = (
    "'question', the options 'A', 'B', … and 'answer' make multiple choice; 'question' and 'answer' make questions "
    "with open answers; 'image' or 'image_path' and 'prompt' make image editing; 'prompt' alone makes text-to-image."
)

_HERE = __name__.rpartition(".")[0]
_CLASSES = {
    "MCQ": ("multiple_choice.datasets", "TextMCQDataset", "CustomMCQDataset"),
    "VQA": ("questions.datasets", "TextQADataset", "CustomVQADataset"),
    "T2I": ("images.datasets", "TextToImageDataset", "TextToImageDataset"),
    "IT2I": ("images.datasets", "ImageEditingDataset", "ImageEditingDataset"),
}
_KNOWN = ("index", "question", "answer", "prompt", "hint", "category", *IMAGE_COLUMNS)
_NEAR = 0.7
_SHOWN = 12


def type_of(columns: Collection[str]) -> str | None:
    """Return the kind of benchmark of a table with these columns.

    Returns:
        ``MCQ``, ``VQA``, ``IT2I`` (image editing), ``T2I``, or ``None`` if no rule fits.
    """
    if {"question", "answer"} <= set(columns):
        return "MCQ" if {"A", "B"} <= set(columns) else "VQA"
    if "prompt" not in columns:
        return None
    return "IT2I" if _has_image(columns) else "T2I"


def class_for(columns: Sequence[str]) -> type[Any]:
    """Choose the dataset class for a table.

    Args:
        columns: The names of its columns.

    Raises:
        DataError: if no rule fits; the message names the missing columns, and its hint the rules.
    """
    kind = type_of(columns)
    if kind is None:
        raise DataError(why_not(columns), hint=RULES)
    module, without_image, with_image = _CLASSES[kind]
    name = with_image if _has_image(columns) else without_image
    cls: type[Any] = getattr(import_module(f"{_HERE}.{module}"), name)
    return cls


def why_not(columns: Sequence[str]) -> str:
    """Return the reason why no rule fits."""
    misspelt = "".join(f" {sentence}" for sentence in misspelt_columns(columns))
    if "question" in columns:
        kind = "options" if {"A", "B"} & set(columns) else "a question"
        return f"This table has {kind} and no column 'answer', so the right answers are unknown.{misspelt}"
    shown = ", ".join(columns[:_SHOWN])
    return f"The columns of this table make no benchmark: {shown}{', …' if len(columns) > _SHOWN else ''}.{misspelt}"


def misspelt_columns(columns: Collection[str]) -> Iterator[str]:
    """A sentence for each column whose name is nearly that of one that the rules know and that is missing."""
    missing = [name for name in _KNOWN if name not in columns]
    for name in columns:
        near = get_close_matches(name.strip().lower(), missing, n=1, cutoff=_NEAR) if name not in _KNOWN else []
        if near:
            yield f"Rename {name!r} to {near[0]!r}?"


def _has_image(columns: Collection[str]) -> bool:
    return any(name in columns for name in IMAGE_COLUMNS)
