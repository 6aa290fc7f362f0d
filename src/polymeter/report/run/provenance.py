"""The provenance of a run, read from its manifest: the headline of the HTML report, every setting, and the traffic at
its endpoints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.names.stable_names import OWN_PROMPT_ROLE, SESSION_DISPATCHERS
from polymeter.core.records.usage import Cost
from polymeter.report.formatting import clean, clip, count, duration, moment, money, one_line
from polymeter.report.run.replicas import replica_lines, replica_summary
from polymeter.report.run.usage_table import token_facts
from polymeter.store.exports.imported import IMPORTED, imported_from

_MAX_DEPTH = 3
_MARKS = {"stopped": "Stopped before its end", "partial": "Partial: the run has not ended"}
_EARLY = {"stopped": "Partial: the run was stopped", "failed": "Partial: the run failed"}
_VALUE_LENGTH = 600
_INCIDENTS = (("rate_limits", "rate limit"), ("failures", "transient failure"), ("timeouts", "timeout"))
_REASONS = {
    "told": "set by the user",
    "start": "at the start",
    "saturated": "raised: all were in use",
    "slow start": "raised: all were in use",
    "rate limits": "lowered after rate limits",
    "failures": "lowered after failures",
    "no faster": "lowered: more were not faster",
}

_CAP_NAMES = {"cost": "costs", "tokens": "tokens", "seconds": "time"}
_CAPPED: Mapping[str, Callable[[float], str]] = {
    "cost": lambda dollars: money(Cost(dollars, dollars)),
    "tokens": lambda tokens: f"{tokens:,}",
    "seconds": duration,
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The head of the report: the model, its facts as pairs of label and value, and a mark of a run that did not end;
    empty if it did.
    """

    model: str
    mark: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the provenance: pairs of label and value, or one text shown verbatim."""

    title: str
    pairs: tuple[tuple[str, str], ...] = ()
    text: str = ""


def headline(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> Headline:
    """The head of the report."""
    tasks: Mapping[str, Any] = results.get("tasks", {})
    planned, scored = (sum(int(task.get(key, 0)) for task in tasks.values()) for key in ("n_samples", "n_scored"))
    source = imported_from(manifest)
    facts = [("Imported from", source)] if source else []
    facts += [("Scored", f"{scored:,} of {count(planned, 'sample')}")]
    n_rows = sum(int(task.get("n_rows") or 0) for task in manifest.get("tasks") or ())
    if n_rows > planned:
        facts.append(("Of the data", f"{planned:,} of {count(n_rows, 'row')}"))
    if manifest.get("started"):
        facts.append(("Started", moment(str(manifest["started"]))))
    if manifest.get("seconds") is not None:
        facts.append(("Duration", duration(float(manifest["seconds"]))))
    if ablation := ((manifest.get("identity") or {}).get("options") or {}).get("ablation"):
        facts.append(("Ablation", str(ablation)))
    if results.get("parity"):
        facts.append(("Parity", str(results["parity"])))
    facts += token_facts(manifest, results).items()
    facts += caps(manifest)
    if (manifest.get("cache") or {}).get("hits"):
        facts.append(("From cache", count(int(manifest["cache"]["hits"]), "answer")))
    facts += [
        ("Endpoint" if role == "model" else f"Endpoint of {role}", summary)
        for role, summary in endpoints(manifest).items()
    ]
    if replicas := replica_summary(manifest):
        facts.append(("Replicas", replicas))
    made_by = manifest.get("polymeter") or {}
    commit = f" ({clip(str(made_by['commit']), 10)})" if made_by.get("commit") else ""
    facts.append(("Polymeter", f"{made_by.get('version', '?')}{commit}"))
    model = (manifest.get("model") or {}).get("name") or results.get("model") or "?"
    mark = _EARLY.get(str(results.get("run_status"))) or _MARKS.get(str(results.get("status")), "")
    return Headline(one_line(str(model)), mark, tuple((k, one_line(v)) for k, v in facts))


def caps(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The caps of a run, each with what was spent of it. A part of that is an upper bound, if answers did not state
    it.
    """
    budget = manifest.get("budget") or {}
    spent = budget.get("spent") or {}
    for name, cap in (budget.get("caps") or {}).items():
        words, own = _CAPPED.get(name), spent.get(name)
        if words is not None and own is not None:
            unknown = spent.get(f"{name}_unknown")
            bound = f", of which up to {words(unknown)} were not stated" if unknown else ""
            yield f"Cap on {_CAP_NAMES[name]}", f"{words(own)} of {words(cap)}{bound}"


def provenance(manifest: Mapping[str, Any]) -> list[Section]:
    """Everything that the manifest records about the origin of the numbers; empty sections are left out."""
    options = manifest.get("options") or {}
    sections = [
        Section("Command", text=clean(str(manifest.get("command") or ""))),
        _section("Run", _run(manifest)),
        *_parts(manifest),
        _section("Model", (manifest.get("model") or {}).get("identity")),
        *(
            _section(f"Model in the role {one_line(str(role))}", _role(entry))
            for role, entry in (manifest.get("roles") or {}).items()
        ),
        _section("Log of another tool", _imported(manifest.get(IMPORTED))),
        _section("Values as in another system (parity)", manifest.get("parity")),
        _section("Versions of the rules: how answers are read, how media is sent", manifest.get("rules")),
        _section("Stop strings are sent to the model's server", manifest.get("sends_stops")),
        _section("Settings that can change a number", options.get("identity")),
        _section("Settings that change no number", options.get("runtime")),
        *(_section(f"Task {one_line(str(task.get('name')))}", _facts(task)) for task in manifest.get("tasks") or ()),
        _section(
            "Include paths", {str(path.get("path")): _commit(path) for path in manifest.get("include_paths") or ()}
        ),
        Section("Requests in flight over time", tuple(histories(manifest))),
        Section("Replicas of the model", tuple(replica_lines(manifest))),
        *(
            _section(f"Samples of the role {one_line(str(role))} by endpoint", counts)
            for role, counts in (manifest.get("answers_by_endpoint") or {}).items()
        ),
        *(
            _section(f"Addresses of the role {one_line(str(role))}", dict(map(_address, addresses.items())))
            for role, addresses in (manifest.get("requests_by_address") or {}).items()
        ),
        Section("Servers that the run started", tuple(_servers(manifest))),
        _section("Packages", manifest.get("packages")),
        _section("Hardware", manifest.get("hardware")),
    ]
    return [section for section in sections if section.pairs or section.text]


def _run(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The time of the run, and the software that ran it."""
    made_by = manifest.get("polymeter") or {}
    seconds = manifest.get("seconds")
    return {
        "status": manifest.get("status"),
        **{name: moment(str(manifest[name])) for name in ("started", "ended") if manifest.get(name)},
        "took": None if seconds is None else duration(float(seconds)),
        "Polymeter": " ".join(str(made_by[name]) for name in ("version", "commit") if made_by.get(name)),
    }


def _imported(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The log of an imported run, from its manifest."""
    if not found:
        return None
    files = {str(file.get("name")): file.get("digest") for file in found.get("files", ())}
    head = {"tool": found.get("title"), "version": found.get("version")}
    return {**head, "files": files, "settings": found.get("settings")}


def endpoints(manifest: Mapping[str, Any]) -> dict[str, str]:
    """For the model and each judge that is an endpoint, one line that sums up all parts of the run."""
    summaries = {}
    for role, records in _by_role(manifest).items():
        most = max(int(record.get("most_in_flight", 0)) for record in records)
        facts = [f"at most {count(most, 'request')} in flight"]
        for name, noun in _INCIDENTS:
            total = sum(int(record.get(name, 0)) for record in records)
            facts += [count(total, noun)] if total else []
        paused_s = sum(float(record.get("paused_s", 0)) for record in records)
        facts += [f"paused for {duration(paused_s)} at the endpoint's request"] if paused_s else []
        facts += [
            f"{float(one['share']):.0%} from {clean(str(address))}"
            for address, one in ((manifest.get("requests_by_address") or {}).get(role) or {}).items()
        ]
        summaries[role] = ", ".join(facts)
    return summaries


def histories(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The changes of the limit on requests in flight in each part of the run: pairs of a label and lines of text."""
    for role, records in _by_role(manifest).items():
        for number, record in enumerate(records, 1):
            part = f", part {number}" if len(records) > 1 else ""
            lines = [
                f"{seconds:.1f} s: {limit} ({_REASONS.get(reason, reason)})"
                for seconds, limit, reason in record.get("history", ())
            ]
            yield f"{role}{part}", "\n".join(lines)


def _address(item: tuple[str, Mapping[str, Any]]) -> tuple[str, str]:
    """An address of a model, and its share of the answers."""
    address, one = item
    failed = f", {int(one['failures']):,} failed" if one["failures"] else ""
    return address, f"{float(one['share']):.1%}, {count(int(one['requests']), 'request')} answered{failed}"


def _servers(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The servers that the run started: pairs of a label, and program, version, GPUs and arguments in lines."""
    for number, session in enumerate(manifest.get("sessions") or (), 1):
        for role, dispatcher in (session.get(SESSION_DISPATCHERS) or {}).items():
            for place, server in enumerate(dispatcher.get("servers", ()) if role != OWN_PROMPT_ROLE else (), 1):
                lines = [f"{name}: {_shown(value)}" for name, value in server.items() if value]
                yield clean(f"{role}, part {number}, server {place}"), clean("\n".join(lines))


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _parts(manifest: Mapping[str, Any]) -> list[Section]:
    """The parts of a run that has several, in order: first those of the run whose answers were scored again."""
    before = (manifest.get("scored_from") or {}).get("sessions") or ()
    records = [*before, *(manifest.get("sessions") or ())]
    if len(records) < 2:
        return []
    return [_section(f"Part {number} of {len(records)}", _part(record)) for number, record in enumerate(records, 1)]


def _part(record: Mapping[str, Any]) -> dict[str, Any]:
    made_by = record.get("polymeter") or {}
    return {
        "kind": record.get("kind"),
        "status": record.get("status"),
        "started": record.get("started"),
        "ended": record.get("ended"),
        "host": record.get("host"),
        "Polymeter": " ".join(str(made_by[name]) for name in ("version", "commit") if made_by.get(name)),
        "scoring code": record.get("code"),
        "endpoints": record.get("endpoints"),
        "samples of other code run again": record.get("scored_again") or None,
        "damage to the journal": record.get("damage"),
    }


def _role(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**(entry.get("identity") or {}), "fingerprint": entry.get("fingerprint")}


def _facts(task: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in task.items() if key not in ("name", "config")}


def _commit(path: Mapping[str, Any]) -> str:
    return str(path.get("commit") or "not in git") + (" with local changes" if path.get("is_dirty") else "")


def _section(title: str, values: Any) -> Section:
    return Section(title, tuple(_flat("", values, _MAX_DEPTH)) if isinstance(values, Mapping) else ())


def _flat(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value and depth:
        for key, item in value.items():
            yield from _flat(f"{prefix} · {key}" if prefix else str(key), item, depth - 1)
        return
    if value in (None, "", [], {}, ()):
        return
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    yield one_line(prefix.replace("_", " ")), clip(clean(text), _VALUE_LENGTH)


def _by_role(manifest: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    records: dict[str, list[Mapping[str, Any]]] = {}
    for session in manifest.get("sessions") or ():
        for role, dispatcher in (session.get(SESSION_DISPATCHERS) or {}).items():
            # A dispatcher without this record served a model on this machine. A model's own prompts are asked of its
            # wrapper, not of the endpoint.
            if dispatcher.get("concurrency") and role != OWN_PROMPT_ROLE:
                records.setdefault(role, []).append(dispatcher["concurrency"])
    return records
