"""The parts of a run: its first start, and every time that it is resumed or scored again.

``run.json`` keeps a record of each under ``sessions``, from its beginning, so that a part that was killed is known too.
Rows of the journal name the part that wrote them.

The record of a part also holds the addresses of its endpoints, so an answer's row leads to the address that gave it.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from polymeter.core.errors import PlanError, count
from polymeter.core.media.shown_images import MEDIA_VERSION
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE, SESSION_DISPATCHERS
from polymeter.core.records.rates import RATES
from polymeter.core.records.usage import USAGE_VERSION
from polymeter.reading import READING_VERSION
from polymeter.run.dispatch.endpoint.balancing import shares
from polymeter.run.finish.scoring_code import scoring_code
from polymeter.run.plan.plan import Plan
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, Session
from polymeter.store.reading.reused import REUSE

UNFINISHED = "unfinished"
"""The status of a part whose process ended before it could write how."""
ANSWER_KEYS = "answer_keys"
"""The version of the keys by which other runs find the answers of a part; parts of old versions have none."""
KEYS_VERSION = 1
_UNKNOWN = "an unrecorded address"
_ID_BITS = 48


def new_part(plan: Plan, software: Mapping[str, Any], command: str, kind: str) -> dict[str, Any]:
    """The record of a part that begins.

    Args:
        plan: What it runs.
        software: Versions and commit, as ``provenance.software`` gives them.
        command: What the user typed; empty if it was not the command line.
        kind: ``run``, ``resume`` or ``score``.
    """
    return {
        "id": f"{uuid4().int >> (128 - _ID_BITS):012x}",
        "kind": kind,
        "command": command,
        "started": now(),
        "ended": None,
        "seconds": None,
        "status": "running",
        **software,
        "code": scoring_code(),
        "rules": rules(),
        "usage_version": USAGE_VERSION,
        **({"caps": plan.budget.caps.document()} if plan.budget is not None else {}),
        ANSWER_KEYS: KEYS_VERSION,
        "host": platform.node(),
        "process": os.getpid(),
        "endpoints": addresses(plan),
        **({} if plan.reuse is None else {REUSE: plan.reuse.document()}),
    }


def as_part(record: Mapping[str, Any]) -> Session:
    """Return the record of a part in the journal."""
    facts = {
        name: record[name]
        for name in ("kind", "started", "polymeter", "host", "endpoints", "rules", "usage_version", ANSWER_KEYS)
    }
    if "caps" in record:  # its tries are reservations in the journal
        facts["caps"] = record["caps"]
    facts |= {name: record[name] for name in (RATES,) if name in record}
    return Session(int(record["id"], 16), record["code"], facts)


def rules() -> dict[str, int]:
    """The versions of the rules by which answers are read and media is sent."""
    return {"reading": READING_VERSION, "media": MEDIA_VERSION}


def rules_of(record: Mapping[str, Any]) -> dict[str, int]:
    """The versions of the rules of a part; 1 for those of parts that recorded none."""
    return {name: int((record.get("rules") or {}).get(name, 1)) for name in rules()}


def reads_anew(manifest: Mapping[str, Any]) -> str:
    """Return the note on a run with parts of versions that read answers by other rules; empty if it has none.

    Args:
        manifest: The manifest, with the part that begins.
    """
    versions = sorted({rules_of(record)["reading"] for record in _all_records(manifest)})
    if len(versions) == 1:
        return ""
    return (
        f"Parts of this run read answers by different rules ({_versions_in_words(versions)}): all stored answers are "
        f"read again by version {READING_VERSION}, and none is asked for again."
    )


def mixed_media(journal: Journal, manifest: Mapping[str, Any], tasks: Sequence[str]) -> str:
    """Return the note on a run whose model was sent media by different rules; empty if it was not.

    Args:
        journal: Its journal.
        manifest: The manifest.
        tasks: Its tasks with media.
    """
    if len({rules_of(record)["media"] for record in _all_records(manifest)}) == 1:
        return ""
    versions = {part.id: rules_of(part.facts)["media"] for part in journal.parts().values()}
    samples: dict[int, set[tuple[str, int]]] = {}
    for task in tasks:
        for sample, role, part in journal.answering_parts(task):
            if role == "model":
                samples.setdefault(versions.get(part, 1) if part else 1, set()).add((task, sample))
    if len(samples) < 2:
        return ""
    told = " and ".join(
        f"{count(len(found), 'sample')} by version {number}" for number, found in sorted(samples.items())
    )
    return f"The model was sent media by different rules: {told}. A run of one version has one form of each image."


def _all_records(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records of all parts, of the run that it was scored from as well."""
    source = manifest.get("scored_from") or {}
    return [*(source.get("sessions") or ()), *(manifest.get("sessions") or ())]


def _versions_in_words(versions: Sequence[int]) -> str:
    return " and ".join(f"version {number}" for number in versions)


def addresses(plan: Plan) -> dict[str, str]:
    """For each role, the address of the endpoint that is asked; a model on this machine has none."""
    models = {"model": plan.model, **plan.roles}
    found = {role: shown_address(model.address or "") for role, model in models.items()}
    return {role: address for role, address in sorted(found.items()) if address}


def shown_address(address: str) -> str:
    """An address without anything that may be a credential: user info, query and fragment. Several, separated by
    commas, stay several.
    """
    if "," in address:
        return ",".join(filter(None, map(shown_address, address.split(","))))
    parts = urlsplit(address.strip())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/") if parts.netloc else ""


def earlier(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of the parts so far. One that still says *running* was killed, for its process no longer holds the
    folder's lock.
    """
    records: Sequence[dict[str, Any]] = manifest.get("sessions") or ()
    return [{**record, "status": UNFINISHED} if record["status"] == "running" else record for record in records]


def addresses_before(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """For each role, the addresses of the endpoints that earlier parts asked, in order and each once."""
    source = manifest.get("scored_from") or {}
    replaced = {
        role
        for role, model in (source.get("roles") or {}).items()
        if model != (manifest["roles"].get(role) or {}).get("fingerprint")
    }
    records = [*(source.get("sessions") or ()), *(manifest.get("sessions") or ())]
    n_of_source = len(source.get("sessions") or ())
    found: dict[str, list[str]] = {}
    for number, record in enumerate(records):
        for role, address in (record.get("endpoints") or {}).items():
            # Another judge at another address is another model, and its verdicts are not mixed with the old one's.
            is_of_other = number < n_of_source and role in replaced
            if not is_of_other and address not in found.setdefault(role, []):
                found[role].append(address)
    if not records or "endpoints" not in records[0] or records[0].get("kind") == "resume":
        # It was begun by a version that recorded no addresses: what its arguments say is all that is known.
        entries = {"model": manifest["model"], **manifest["roles"]}
        for role, entry in entries.items():
            first = shown_address(str(((entry.get("spec") or {}).get("args") or {}).get("base_url") or ""))
            if first:
                found[role] = list(dict.fromkeys([first, *found.get(role, [])]))
    return found


def moved(manifest: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Return the notes on endpoints that differ from those of earlier parts, one sentence for each role."""
    before = addresses_before(manifest)
    for role, address in addresses(plan).items():
        known = before.get(role, [])
        if known and address not in known:
            yield f"The {_who(role)} is now asked at {address}; earlier answers are from {' and '.join(known)}."


def is_by_this_code(manifest: Mapping[str, Any]) -> bool:
    """Return whether all parts of a run so far made prompts and scores with the code of this Polymeter."""
    codes = [record.get("code") for record in manifest.get("sessions") or ()]
    return bool(codes) and set(codes) == {scoring_code()}


def check_unchanged(manifest: Mapping[str, Any], plan: Plan, changed: Sequence[str], folder: RunFolder) -> None:
    """Refuse to resume a run whose answers or scores would be made differently than before.

    Raises:
        PlanError: if an endpoint, Polymeter's code or the sources of a task changed.
    """
    reasons = [*moved(manifest, plan)]
    if not is_by_this_code(manifest):
        reasons.append("This Polymeter makes prompts or scores with other code than an earlier part.")
    reasons += [f"The sources of task {name!r} changed." for name in changed]
    if reasons:
        raise PlanError(
            f"--strict-resume does not resume this run: {' '.join(reasons)}",
            where=str(folder.path),
            hint="Restore the earlier state, or omit --strict-resume: the results then report the mixture.",
        )


def answers_by_address(
    journal: Journal, manifest: Mapping[str, Any], tasks: Sequence[str]
) -> dict[str, dict[str, int]]:
    """For each role that was asked at several addresses, the number of samples that each answered."""
    before = addresses_before(manifest)
    roles = {role for role, known in before.items() if len(known) > 1}
    if not roles:
        return {}
    address_of = part_addresses(journal, manifest)
    counted: dict[str, Counter[str]] = {}
    for task in tasks:
        answered = {(sample, role, address_of(role, part)) for sample, role, part in journal.answering_parts(task)}
        for _, role, address in answered:
            if role in roles:
                counted.setdefault(role, Counter())[address] += 1
    return {role: dict(sorted(found.items())) for role, found in sorted(counted.items()) if len(found) > 1}


def part_addresses(journal: Journal, manifest: Mapping[str, Any]) -> Any:
    """``(role, part) → address``: where the answers of a part come from."""
    parts = journal.parts()
    first = {role: known[0] for role, known in addresses_before(manifest).items()}

    def address_of(role: str, part: int | None) -> str:
        if part in parts:
            return str(parts[part].facts["endpoints"].get(role, _UNKNOWN))
        return first.get(role, _UNKNOWN)  # a row of a version that recorded no parts, which are the first of a run

    return address_of


def requests_by_address(
    manifest: Mapping[str, Any], now_running: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the work of each address, for each role whose model had several at a time, in all parts of the run:
    requests answered, tries failed, share of the answers.

    Args:
        manifest: The manifest, with the records of earlier parts.
        now_running: The records of the dispatchers of the current part, by role.
    """
    records = [record.get(SESSION_DISPATCHERS) or {} for record in manifest.get("sessions") or ()]
    summed: dict[str, dict[str, Counter[str]]] = {}
    for dispatchers in (*records, now_running):
        for role, dispatcher in dispatchers.items():
            for one in dispatcher.get("addresses", ()) if role != OWN_PROMPT_ROLE else ():
                counts = summed.setdefault(role, {}).setdefault(one["address"], Counter())
                counts.update({name: one[name] for name in ("requests", "failures")})
    return {
        role: {
            address: {**counts, "share": share}
            for (address, counts), share in zip(
                by_address.items(), shares([counts["requests"] for counts in by_address.values()]), strict=True
            )
        }
        for role, by_address in summed.items()
    }


def notes(
    by_address: Mapping[str, Mapping[str, int]],
    manifest: Mapping[str, Any],
    balanced: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> list[str]:
    """Return the notes on the run's parts for the results: answers from several endpoints, and damage to the journal.

    Args:
        by_address: From ``answers_by_address``: endpoints of different parts.
        manifest: The manifest.
        balanced: From ``requests_by_address``: addresses that were asked at the same time.
    """
    told = []
    for role, addresses_of in balanced.items():
        shown = ", ".join(
            f"{one['share']:.1%} from {address} ({one['requests']:,} answered"
            + (f", {one['failures']:,} failed)" if one["failures"] else ")")
            for address, one in addresses_of.items()
        )
        told.append(f"The {_who(role)} was asked at {len(addresses_of)} addresses: {shown}.")
    for role, counts in by_address.items():
        where = ", ".join(f"{address} ({count(n, 'sample')})" for address, n in counts.items())
        told.append(
            f"The answers of the {_who(role)} come from {len(counts)} endpoints: {where}. samples/*.jsonl names the "
            "endpoint of each answer."
        )
    told += filter(None, [reads_anew(manifest)])
    damages = [record["damage"] for record in manifest.get("sessions") or () if record.get("damage")]
    told += [f"The journal was damaged ({damage}); missing answers were asked for again." for damage in damages]
    return told


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _who(role: str) -> str:
    return "model" if role == "model" else f"model in the role {role!r}"
