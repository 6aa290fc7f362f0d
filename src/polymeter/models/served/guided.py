"""Guided choices: an answer that can only be one of some texts. Every server has its own setting for it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

GUIDED = "guided_choice"
"""The setting of a request that lists the texts."""

_NEW_NAMES = (0, 11)
"""The version of vLLM from which guidance is called ``structured_outputs``; the older names were removed in 0.12."""


def as_guided(choices: Sequence[str], version: str) -> dict[str, Any]:
    """Fields as vLLM calls them."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < _NEW_NAMES:
        return {"guided_choice": list(choices)}
    return {"structured_outputs": {"choice": list(choices)}}


def as_regex(choices: Sequence[str], version: str) -> dict[str, Any]:
    """SGLang's fields: a regular expression of alternatives."""
    return {"regex": f"({'|'.join(map(re.escape, choices))})"}


def as_grammar(choices: Sequence[str], version: str) -> dict[str, Any]:
    """llama.cpp's fields: a grammar in its own form (GBNF) of literals, whose escapes are those of JSON."""
    return {"grammar": f"root ::= {' | '.join(json.dumps(choice, ensure_ascii=False) for choice in choices)}"}
