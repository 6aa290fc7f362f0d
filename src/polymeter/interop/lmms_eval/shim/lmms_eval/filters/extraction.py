"""Stand-in for ``lmms_eval.filters.extraction``: filters that find the answer in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polymeter.interop.lmms_eval.tasks import (
    ExtendedRegexFilter,
    MultiChoiceRegexFilter,
    RegexFilter,
    WhitespaceFilter,
)

__all__ = [
    "ExtendedRegexFilter",
    "MultiChoiceRegexFilter",
    "RegexFilter",
    "SimpleMultiChoiceRegexFilter",
    "WhitespaceFilter",
]

_OPTION = re.compile(r"\b([A-Z])\.\s+([^\n]*)")


class SimpleMultiChoiceRegexFilter(ExtendedRegexFilter):
    """The letter of the option, listed in the row's ``question`` as ``A. text``, that the first answer names; else that
    answer without punctuation. Written for AI2D and RealWorldQA.
    """

    def apply(self, resps: Any, docs: Any) -> Any:
        return [self._read(answers[0], doc) for answers, doc in zip(resps, docs, strict=False)]

    def _read(self, text: str, doc: Mapping[str, Any]) -> str:
        options = [option.strip() for _, option in _OPTION.findall(doc["question"])]
        letters = {option: chr(ord("A") + place) for place, option in enumerate(options)}
        plain = re.sub(r"[^\w\s]", "", text).strip()
        found = re.search("|".join(map(re.escape, options)), plain)
        return letters.get(found.group(), plain) if found else plain
