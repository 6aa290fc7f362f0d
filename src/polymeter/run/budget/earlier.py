"""Spending of the earlier parts of a run: their reservations, and for parts without a cap the usage of their answers.

Tries of such parts that failed are not counted, because nothing states what they cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.records.usage import ModelUsage
from polymeter.run.budget.amounts import Amount, picodollars
from polymeter.run.budget.caps import MAX_COST, MAX_TOKENS, Caps
from polymeter.run.budget.ledger import CLOCK, Spent
from polymeter.run.budget.worst_case import Tariff
from polymeter.store.checksums import checksum
from polymeter.store.database import connect
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.usage import usage_of_journal
from polymeter.store.schema import RESERVATIONS, upgrade

_BEFORE_ANY_PART = 0
PREFLIGHT = "preflight"
"""The role of reservations for the small requests before a run."""


def spent_before(
    folder: RunFolder, caps: Caps, tariffs: Mapping[str, Tariff], machine_rate: float, *, is_restart: bool = False
) -> Spent:
    """Add up what the run in a folder has spent.

    Args:
        folder: The run folder; there may be no run yet.
        caps: The caps.
        tariffs: What the requests in each role cost.
        machine_rate: Picodollars of one second on this machine.
        is_restart: Whether what the folder holds is thrown away.

    Raises:
        PlanError: if the cost of an earlier part is unknown.
        JournalError: if the journal cannot be read.
    """
    spent = Spent()
    if is_restart or not folder.journal.exists():
        return spent
    manifest = folder.read_manifest() if folder.is_begun() else {}
    upgrade(folder.journal)
    by_cap = _parts(manifest)
    with closing(Journal(folder.journal)) as journal:
        for part, role, state, tokens, cost, ms in journal.reservations():
            if part in by_cap["without tokens"]:  # the tokens of its answers are counted instead
                tokens = 0
            if role == CLOCK:
                spent.machine += cost
                spent.seconds += ms / 1000
            elif state == "spent":
                spent.stated += Amount(tokens, cost)
            elif state == "reserved":
                spent.worst += Amount(tokens, cost)
        for session in manifest.get("sessions") or ():
            if "caps" not in session:
                seconds = session.get("seconds") or 0.0
                spent.seconds += seconds
                spent.machine += int(seconds * machine_rate)
        if caps.counts_requests:
            spent.stated += _of_answers(journal, manifest, caps, tariffs)
    return spent


def _parts(manifest: Mapping[str, Any]) -> dict[str, set[int]]:
    """The parts of a run that counted no cost, and those that did not count the tokens of all roles."""
    found: dict[str, set[int]] = {"without cost": set(), "without tokens": set()}
    for session in manifest.get("sessions") or ():
        for name in ("cost", "tokens"):
            if name not in (session.get("caps") or {}):
                found[f"without {name}"].add(int(session["id"], 16))
    return found


def _of_answers(journal: Journal, manifest: Mapping[str, Any], caps: Caps, tariffs: Mapping[str, Tariff]) -> Amount:
    """Add up the cost of the answers of parts that reserved nothing."""
    parts = _parts(manifest)
    cost = tokens = 0
    if caps.cost is not None and parts["without cost"]:
        for (role, name), usage in usage_of_journal(journal, manifest, parts["without cost"]).items():
            cost += _cost(role, name, usage, tariffs)
    if caps.tokens is not None and parts["without tokens"]:
        for (role, name), usage in usage_of_journal(journal, manifest, parts["without tokens"]).items():
            if role in tariffs and usage.requests:
                _require_known(role, name, usage, MAX_TOKENS)
                tokens += (usage.prompt or 0) + (usage.output or 0)
    return Amount(tokens, cost)


def _cost(role: str, name: str, usage: ModelUsage, tariffs: Mapping[str, Tariff]) -> int:
    tariff = tariffs.get(role)
    if tariff is None or tariff.rates is None or not usage.requests:
        return 0
    high = usage.cost.high if usage.cost.high is not None else tariff.rates.cost_of(usage).high
    if high is None:
        _require_known(role, name, usage, MAX_COST)
        raise _unknown(role, name, usage.requests, MAX_COST)
    return picodollars(high)


def _require_known(role: str, name: str, usage: ModelUsage, flag: str) -> None:
    n_unknown = max(usage.unknown.get("input", 0), usage.unknown.get("output", 0))
    if n_unknown:
        raise _unknown(role, name, n_unknown, flag)


def _unknown(role: str, name: str, n_answers: int, flag: str) -> PlanError:
    return PlanError(
        f"An earlier part of this run had no cap, and {n_answers:,} answers of {name} (the {role}) state no tokens, so "
        "what they cost is unknown.",
        where=flag,
        hint="Cap a run from its beginning, or continue it without this cap.",
    )


def reserve_preflight(folder: RunFolder, amount: Amount) -> None:
    """Journal the small requests before a run, which is not begun yet: they count as spent.

    Raises:
        JournalError: if the journal cannot be written.
    """
    upgrade(folder.journal)
    with closing(connect(folder.journal)) as db, db:
        found = db.execute(
            "SELECT coalesce(max(number), 0) + 1 FROM reservations WHERE part=?", (_BEFORE_ANY_PART,)
        ).fetchone()
        row = (_BEFORE_ANY_PART, found[0], PREFLIGHT, "reserved", amount.tokens, amount.cost, 0)
        db.execute(f"INSERT INTO {RESERVATIONS} VALUES (?,?,?,?,?,?,?,?)", (*row, checksum(row)))
