"""Each call of a judge: its prompt with images, its verdict, the rule by which that was read, and the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.content.chat import MOST_EXCHANGES, Exchange, exchanges_of
from polymeter.report.content.view import Block, BlockView, entry
from polymeter.report.formatting import clip, count, number, one_line

ORDER = 50
_BY_JUDGE = "judges"
"""The key of a log that holds the values of each judge of a panel, by role and then by ``metric,filter``."""
_WITHOUT = "judges_without_verdict"
"""The key of a log for the reason why a judge gave no verdict, by role."""
_SHORT_FINGERPRINT = 12
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge with its calls.

    Attributes:
        role: Its role in the run.
        model: The model in that role; may be empty.
        values: Its values, as pairs of metric and text; only for a panel.
        failure: The reason why it gave no verdict; empty if it did.
        calls: Its calls, each with the rule by which its verdict was read; empty: by the task's own code.
        n_more: The number of further calls.
    """

    role: str
    model: str
    values: tuple[tuple[str, str], ...]
    failure: str
    calls: tuple[tuple[Exchange, str], ...]
    n_more: int


@dataclass(frozen=True, slots=True)
class ShownJudges:
    """The judges of a sample, and the rules that belong to no single call."""

    judges: tuple[Judge, ...]
    rules: tuple[str, ...]


def make(view: BlockView) -> Block | None:
    """All exchanges with roles other than the model's, by role; ``None``: it has none."""
    log = entry(view.sample, "log")
    by_judge, without = entry(log, _BY_JUDGE), entry(log, _WITHOUT)
    by_role: dict[str, list[Mapping[str, Any]]] = {}
    for exchange in view.exchanges(is_judge=True):
        by_role.setdefault(one_line(str(exchange.get("role"))), []).append(exchange)
    roles = [*dict.fromkeys([*by_role, *map(str, without)])]
    if not roles:
        return None
    n_calls = sum(map(len, by_role.values()))
    given = view.sample.get("judge_rules")
    rules = [one_line(str(rule or "")) for rule in given] if isinstance(given, list) else []
    # Rules are stored in the order of the calls, exchanges by role: of one judge both are in the same order.
    is_paired = len(by_role) == 1 and len(rules) == n_calls
    judges = []
    for role in roles:
        calls = by_role.get(role, [])
        shown = exchanges_of(calls[:MOST_EXCHANGES], view)
        read_by = rules if is_paired else [""] * len(calls)
        judges.append(
            Judge(
                role,
                _model(view, role, calls),
                _values(entry(by_judge, role)),
                one_line(str(without.get(role) or "")),
                tuple(zip(shown, read_by, strict=False)),
                max(len(calls) - MOST_EXCHANGES, 0),
            )
        )
    title = (
        f"{count(len(judges), 'judge')}, {count(n_calls, 'call')}" if len(judges) > 1 else count(n_calls, "judge call")
    )
    others = () if is_paired else tuple(dict.fromkeys(rule for rule in rules if rule))
    return Block("judges", title, "content/judges.html", ShownJudges(tuple(judges), others), "below")


def _values(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((one_line(str(name)).removesuffix(",none"), number(value)) for name, value in given.items())


def _model(view: BlockView, role: str, calls: list[Mapping[str, Any]]) -> str:
    """The model in a role as the run names it; else the start of its fingerprint."""
    named = entry(entry(view.results, "judges"), "models").get(role)
    named = named or entry(entry(view.manifest, "roles"), role).get("spec")
    fingerprint = next((call["model"] for call in calls if isinstance(call.get("model"), str)), "")
    if isinstance(named, Mapping):
        named = named.get("model") or named.get("name") or named.get("spec")
    found = clip(one_line(str(named or fingerprint[:_SHORT_FINGERPRINT])), _LONGEST_NAME)
    return "" if found == role else found
