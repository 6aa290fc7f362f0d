"""The usage of a run's requests, as a table of roles, models and counts, for the HTML report and the viewer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.rates import RATES, Rates, at_tier
from polymeter.core.records.usage import (
    MACHINE,
    MODEL_ROLE,
    UNKNOWN_COST,
    USAGE_BY_ROLE,
    ModelUsage,
    UsageByRole,
    usage_of_document,
)
from polymeter.report.formatting import count, money, one_line

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
    "reused": "Answers of other runs",
    "reused_tokens": "tokens of these",
}
_ONLY_SOME = ("images_sent", "images_made", "audio_s", "reused", "reused_tokens")
"""Counts that are 0 in most runs."""


@dataclass(frozen=True, slots=True)
class UsageTable:
    """The table: the headings of its counts, for each role and model the cells, and the rates of its costs."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    rates: tuple[str, ...] = ()


def usage_table(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> UsageTable | None:
    """The usage of a run; ``None`` if it kept none by role.

    Args:
        manifest: Content of ``run.json``.
        results: Content of ``results.json``, which a run that has not ended keeps up to date.
    """
    usage = _usage(manifest, results)
    shown = [name for name in _HEADINGS if name not in _ONLY_SOME or any(getattr(own, name) for own in usage.values())]
    has_costs = shows_costs(manifest, usage)
    rows = [
        (
            one_line(role),
            one_line(model),
            (*(counted(own, name) for name in shown), *([money(own.cost)] if has_costs else [])),
        )
        for (role, model), own in usage.items()
    ]
    if not rows:
        return None
    headings = (*(_HEADINGS[name] for name in shown), *(["Cost"] if has_costs else []))
    return UsageTable(headings, tuple(rows), tuple(rate_lines(manifest, usage)) if has_costs else ())


def shows_costs(manifest: Mapping[str, Any], usage: UsageByRole) -> bool:
    """Return whether costs are shown: one is known, or a model is an endpoint, whose answers somebody pays for."""
    is_asked = any(session.get("endpoints") for session in manifest.get("sessions") or ())
    return is_asked or any(own.cost != UNKNOWN_COST for own in usage.values())


def cost_summary(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    """The cost of a run in one line, by role if it has several; empty if costs are not shown."""
    usage = _usage(manifest, results)
    if not shows_costs(manifest, usage) or not usage:
        return ""
    total = sum(usage.values(), ModelUsage()).cost
    if len(usage) == 1:
        return money(total)
    parts = [f"{one_line(role)} {one_line(model)} {money(own.cost)}" for (role, model), own in usage.items()]
    return f"{money(total)}: {', '.join(parts)}"


def rate_lines(manifest: Mapping[str, Any], usage: UsageByRole) -> Iterator[str]:
    """Yield for each model how its cost is known, a sentence each."""
    rates: dict[str, Rates] = {}
    machines: dict[str, Mapping[str, Any]] = {}
    for session in manifest.get("sessions") or ():
        for entry in (session.get(RATES) or {}).values():
            tiers = {tier: Rates.of_document(one) for tier, one in entry["tiers"].items()}
            rates[entry["name"]] = at_tier(tiers, "") or rates.get(entry["name"], Rates())
        for role in (session.get(MACHINE) or {}).get("roles", ())[:1]:
            machines[role] = session[MACHINE]
    for (role, model), own in usage.items():
        name = one_line(model)
        if own.stated:
            yield f"{name}: {'as' if own.stated == own.requests else 'in part as'} the provider states it."
        if role in machines:
            machine = machines[role]
            yield (
                f"{name}: the duration of the run on {count(math.ceil(machine['gpus']), 'GPU')}, at "
                f"${machine['gpu_hour']:g} an hour each; a machine without GPUs counts as one."
            )
        elif model in rates and own.stated < own.requests:
            of = rates[model]
            origin = f"{of.source} {of.version}".strip()
            prices = [(of.input, "prompts"), (of.cached_read, "cached prompts"), (of.output, "answers")]
            listed = ", ".join(f"${price:g} of {what}" for price, what in prices if price is not None)
            yield f"{name}: {listed.replace(' of ', ' for a million tokens of ', 1) or 'other prices'} ({origin})."


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
    cost = cost_summary(manifest, results)
    return {label: told for label, told in facts.items() if told} | ({"Cost": cost} if cost else {})


def role_summary(role: str, model: str, usage: ModelUsage) -> str:
    """The usage of one model in a sentence's part: ``judge openai:m: 40 requests, 1,200 tokens in, 300 out``."""
    tokens = _tokens(usage.prompt, usage.output).replace(" ", " tokens ", 1)
    spent = "" if usage.cost == UNKNOWN_COST else f", {money(usage.cost)}"
    return (
        f"{one_line(role)} {one_line(model)}: {count(usage.requests, 'request')}, {tokens or 'tokens unknown'}{spent}"
    )


def _usage(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> dict[tuple[str, str], ModelUsage]:
    return usage_of_document(results.get(USAGE_BY_ROLE) or manifest.get(USAGE_BY_ROLE))


def _tokens(sent: int | None, answered: int | None) -> str:
    return ", ".join(f"{n:,} {direction}" for direction, n in (("in", sent), ("out", answered)) if n)
