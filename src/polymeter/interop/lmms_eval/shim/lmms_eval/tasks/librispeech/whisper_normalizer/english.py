"""Stand-in for ``…whisper_normalizer.english``: numbers, spellings and contractions of English.

The normalizer is Whisper's own: its list of spellings is data that comes with the package ``whisper-normalizer`` (or
``openai-whisper``), which is looked for when a normalizer is made.
"""

from __future__ import annotations

import importlib
from typing import Any

_PLACES = ("whisper_normalizer.english", "whisper.normalizers.english")


def EnglishTextNormalizer() -> Any:
    """Whisper's normalizer of English: a function of texts.

    Raises:
        ModuleNotFoundError: Neither package is installed.
    """
    return _whispers("EnglishTextNormalizer")


def EnglishNumberNormalizer() -> Any:
    """Whisper's normalizer of English numbers."""
    return _whispers("EnglishNumberNormalizer")


def EnglishSpellingNormalizer() -> Any:
    """Whisper's normalizer of British spellings."""
    return _whispers("EnglishSpellingNormalizer")


def _whispers(name: str) -> Any:
    for place in _PLACES:
        try:
            return getattr(importlib.import_module(place), name)()
        except ModuleNotFoundError as error:
            if not place.startswith(str(error.name)):
                raise
    raise ModuleNotFoundError(
        "Normalizing English needs Whisper's normalizer: pip install whisper-normalizer", name="whisper_normalizer"
    )
