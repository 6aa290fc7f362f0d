"""Where a run's numbers come from, read from its manifest: the headline of the page, and every setting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.traffic import endpoints, histories
from polymeter.report.words import clean, clip, count, duration, moment, one_line

_MAX_DEPTH = 3
_VALUE_LENGTH = 600


@dataclass(frozen=True, slots=True)
class Headline:
    """The head of the page: the model, how the run ended, and its facts as pairs of label and value."""

    model: str
    is_stopped: bool
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the fold: pairs of label and value, or one text as it is."""

    title: str
    pairs: tuple[tuple[str, str], ...] = ()
    text: str = ""


def headline(manifest: Mapping[str, Any], results: Mapping[str, Any]) -> Headline:
    """The head of the page."""
    tasks: Mapping[str, Any] = results.get("tasks", {})
    planned, scored = (sum(int(task.get(key, 0)) for task in tasks.values()) for key in ("n_samples", "n_scored"))
    facts = [("Scored", count(planned, "sample") if scored == planned else f"{scored:,} of {planned:,} samples")]
    if manifest.get("started"):
        facts.append(("Started", moment(str(manifest["started"]))))
    if manifest.get("seconds") is not None:
        facts.append(("Took", duration(float(manifest["seconds"]))))
    usage = manifest.get("usage") or {}
    if usage.get("input_tokens") or usage.get("output_tokens"):
        known = {"in": usage.get("input_tokens"), "out": usage.get("output_tokens")}
        facts.append(("Tokens", ", ".join(f"{n:,} {way}" for way, n in known.items() if n)))
    if (manifest.get("cache") or {}).get("hits"):
        facts.append(("From cache", count(int(manifest["cache"]["hits"]), "answer")))
    facts += [
        ("Endpoint" if role == "model" else f"Endpoint of {role}", said) for role, said in endpoints(manifest).items()
    ]
    made_by = manifest.get("polymeter") or {}
    commit = f" ({clip(str(made_by['commit']), 10)})" if made_by.get("commit") else ""
    facts.append(("Polymeter", f"{made_by.get('version', '?')}{commit}"))
    model = (manifest.get("model") or {}).get("name") or results.get("model") or "?"
    return Headline(one_line(str(model)), results.get("status") == "stopped", tuple((k, one_line(v)) for k, v in facts))


def provenance(manifest: Mapping[str, Any]) -> list[Section]:
    """Everything that the manifest tells about where the numbers come from."""
    options = manifest.get("options") or {}
    sections = [
        Section("Command", text=clean(str(manifest.get("command") or ""))),
        _section("Model", (manifest.get("model") or {}).get("identity")),
        *(
            _section(f"Model in the role {one_line(str(role))}", _role(entry))
            for role, entry in (manifest.get("roles") or {}).items()
        ),
        _section("Settings that can change a number", options.get("identity")),
        _section("Settings that cannot", options.get("runtime")),
        *(_section(f"Task {one_line(str(task.get('name')))}", _rest(task)) for task in manifest.get("tasks") or ()),
        _section(
            "Include paths", {str(path.get("path")): _commit(path) for path in manifest.get("include_paths") or ()}
        ),
        Section("Requests in flight at a time", tuple(histories(manifest))),
        _section("Packages", manifest.get("packages")),
        _section("Hardware", manifest.get("hardware")),
    ]
    return [section for section in sections if section.pairs or section.text]


def _role(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**(entry.get("identity") or {}), "fingerprint": entry.get("fingerprint")}


def _rest(task: Mapping[str, Any]) -> dict[str, Any]:
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
