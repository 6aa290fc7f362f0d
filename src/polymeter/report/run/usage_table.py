"""The usage of a run's requests, as a table of roles, models and counts, for the HTML report and the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.usage import MODEL_ROLE, USAGE_BY_ROLE, ModelUsage, usage_of_document
from polymeter.report.formatting import count, one_line

UNKNOWN = "unknown"
_HEADINGS = {
    "input": "Input tokens",
    "cached_read": "read from cache",
    "cached_write": "written to cache",
    "output": "Output tokens",
    "reasoning": "of these reasoning",
    "images_sent": "Images sent",
    "images_made": "Images made",
    "audio_s": "Audio sent, s",
    "requests": "Requests",
    "failed": "Failed tries",
}
_ONLY_SOME = ("images_sent", "images_made", "audio_s")
"""Counts that are 0 in most runs."""


@dataclass(frozen=True, slots=True)
class UsageTable:
    """The table: the headings of its counts, and for each role and model the cells."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


def usage_table(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> UsageTable | None:
    """The usage of a run; ``None`` if it kept none by role.

    Args:
        manifest: Content of ``run.json``.
        results: Content of ``results.json``, which a run that has not ended keeps up to date.
    """
    usage = _usage(manifest, results)
    shown = [name for name in _HEADINGS if name not in _ONLY_SOME or any(getattr(own, name) for own in usage.values())]
    rows = [
        (one_line(role), one_line(model), tuple(counted(own, name) for name in shown))
        for (role, model), own in usage.items()
    ]
    return UsageTable(tuple(_HEADINGS[name] for name in shown), tuple(rows)) if rows else None


def counted(usage: ModelUsage, name: str) -> str:
    """A count as text: if some requests do not report it, it is a lower bound."""
    value = getattr(usage, name)
    if value is None:
        return UNKNOWN
    return f"{'≥ ' if usage.unknown.get(name) else ''}{value:,}"


def token_facts(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, str]:
    """The tokens of prompts and answers: of the model, and of each further role. For a run without usage by role, those
    of all roles together.
    """
    usage = _usage(manifest, results)
    if not usage:
        old = manifest.get("usage") or {}
        return {"Tokens": told} if (told := _tokens(old.get("input_tokens"), old.get("output_tokens"))) else {}
    by_role: dict[str, ModelUsage] = {}
    for (role, _), own in usage.items():
        by_role[role] = by_role.get(role, ModelUsage()) + own
    facts = {
        "Tokens" if role == MODEL_ROLE else f"Tokens of {role}": _tokens(own.prompt, own.output)
        for role, own in by_role.items()
    }
    return {label: told for label, told in facts.items() if told}


def role_summary(role: str, model: str, usage: ModelUsage) -> str:
    """The usage of one model in a sentence's part: ``judge openai:m: 40 requests, 1,200 tokens in, 300 out``."""
    tokens = _tokens(usage.prompt, usage.output).replace(" ", " tokens ", 1)
    return f"{one_line(role)} {one_line(model)}: {count(usage.requests, 'request')}, {tokens or 'tokens unknown'}"


def _usage(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> dict[tuple[str, str], ModelUsage]:
    return usage_of_document(results.get(USAGE_BY_ROLE) or manifest.get(USAGE_BY_ROLE))


def _tokens(sent: int | None, answered: int | None) -> str:
    return ", ".join(f"{n:,} {direction}" for direction, n in (("in", sent), ("out", answered)) if n)
