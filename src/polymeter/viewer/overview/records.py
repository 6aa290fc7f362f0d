"""The records of a run's manifest in the order of a reader's interest: what was measured, with which settings, on which
machine; then all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.protocol import protocol_facts
from polymeter.report.formatting import clean, clip, count, data_size, duration, moment, one_line
from polymeter.report.run.provenance import Section
from polymeter.viewer.overview.settings import settings_of

_HASH = re.compile(r"\b[0-9a-f]{16,}\b")
_SHOWN_OF_HASH = 10
_LONGEST = 200
_MOST_TASKS = 8
_GPU = "GPU"
_KEY_PACKAGES = ("torch", "transformers", "vllm", "sglang", "onnxruntime", "datasets", "numpy")
_ORDER = ("Model", "Task ", "Command", "Settings that can change", "Versions of", "Values as in", "Stop strings",
          "Run", "Hardware", "Packages")  # fmt: skip
"""The beginnings of the titles of sections in the order in which they stand; others follow unchanged."""


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """A record: its label, its value with long hashes cut, and the whole value if something was cut."""

    label: str
    value: str
    whole: str = ""
    is_code: bool = False


def record(label: str, value: Any, *, is_code: bool = False) -> ShownRecord:
    """Return a record with long hashes cut."""
    text = clean(str(value))
    shown = _HASH.sub(lambda found: f"{found[0][:_SHOWN_OF_HASH]}…", text)
    return ShownRecord(label, shown, "" if shown == text else text, is_code)


def measured(manifest: Mapping[str, Any]) -> list[ShownRecord]:
    """The model, the tasks and the data."""
    model = manifest.get("model") or {}
    identity = model.get("identity") or {}
    records = [record("Model", one_line(str(model.get("name") or "?")))]
    records += [
        record(name.capitalize(), identity[name]) for name in ("backend", "revision", "dtype") if identity.get(name)
    ]
    tasks = [*(manifest.get("tasks") or ())]
    for number, task in enumerate(tasks[:_MOST_TASKS]):
        records.append(record("" if number else "Task" if len(tasks) == 1 else "Tasks", _task(task)))
    if len(tasks) > _MOST_TASKS:
        records.append(record("", f"and {count(len(tasks) - _MOST_TASKS, 'more task')}"))
    records += [line for task in tasks[:_MOST_TASKS] if task.get("protocol") for line in _protocol(task)]
    return [*records, *_data(tasks)]


def settings(manifest: Mapping[str, Any]) -> list[ShownRecord]:
    """The command and the settings that shape answers."""
    return [record(one.label, one.value, is_code=one.is_code) for one in settings_of(manifest)]


def machine(manifest: Mapping[str, Any]) -> list[ShownRecord]:
    """When and where it ran, and with which versions."""
    return [*_times(manifest), *_hardware(manifest.get("hardware") or {}), *_versions(manifest)]


def in_order(sections: Sequence[Section]) -> list[tuple[str, str, list[ShownRecord]]]:
    """All sections in a reader's order: title, text and records."""

    def place(section: Section) -> int:
        found = (number for number, title in enumerate(_ORDER) if section.title.startswith(title))
        return next(found, len(_ORDER)) if section.title != "Settings that change no number" else len(_ORDER)

    ordered = sorted(sections, key=place)
    return [(one.title, one.text, [record(label, value) for label, value in one.pairs]) for one in ordered]


def _task(task: Mapping[str, Any]) -> str:
    name = one_line(str(task.get("name")))
    version = f", version {one_line(str(task['version']))}" if task.get("version") else ""
    n, rows = int(task.get("n_samples") or 0), int(task.get("n_rows") or 0)
    size = f"{n:,} of {count(rows, 'row')}" if rows > n else count(n, "sample")
    return f"{name}{version}: {size}"


def _protocol(task: Mapping[str, Any]) -> Iterator[ShownRecord]:
    """The facts of the protocol that a task states."""
    for label, fact in protocol_facts(task["protocol"]).items():
        yield record(label.capitalize(), clip(one_line(fact), _LONGEST))


def _data(tasks: Sequence[Mapping[str, Any]]) -> Iterator[ShownRecord]:
    sources = dict.fromkeys(_source(task.get("config") or {}) for task in tasks)
    shown = [source for source in sources if source]
    for number, source in enumerate(shown[:_MOST_TASKS]):
        yield record("" if number else "Data", source)
    digests = {str(task["dataset_fingerprint"]) for task in tasks if task.get("dataset_fingerprint")}
    if len(digests) == 1:
        yield record("Data digest", digests.pop())


def _source(config: Mapping[str, Any]) -> str:
    parts = [config.get(name) for name in ("dataset_path", "dataset_name", "test_split")]
    files = (
        (config.get("dataset_kwargs") or {}).get("data_files") if isinstance(config.get("dataset_kwargs"), dict) else ""
    )
    listed = ", ".join(map(str, files.values() if isinstance(files, dict) else [files])) if files else ""
    return clip(one_line(" · ".join(str(part) for part in (*parts, listed) if part)), _LONGEST)


def _times(manifest: Mapping[str, Any]) -> Iterator[ShownRecord]:
    for label in ("started", "ended"):
        if manifest.get(label):
            yield record(label.capitalize(), moment(str(manifest[label])))
    if manifest.get("seconds") is not None:
        yield record("Duration", duration(float(manifest["seconds"])))


def _hardware(hardware: Mapping[str, Any]) -> Iterator[ShownRecord]:
    hosts = dict.fromkeys((hardware.get("machine"), hardware.get("system")))
    if text := " · ".join(str(one) for one in hosts if one):
        yield record("Machine", text)
    if hardware.get("cores"):
        memory = f", {data_size(int(hardware['memory_bytes']))}" if hardware.get("memory_bytes") else ""
        yield record("Processor", f"{count(int(hardware['cores']), 'core')}{memory}")
    for name, value in hardware.items():
        if name not in ("machine", "system", "cores", "memory_bytes") and value:
            text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            yield record(_GPU if name in ("gpu", "gpus") else name.replace("_", " ").capitalize(), clip(text, _LONGEST))


def _versions(manifest: Mapping[str, Any]) -> Iterator[ShownRecord]:
    made_by = manifest.get("polymeter") or {}
    changed = " with local changes" if made_by.get("is_dirty") else ""
    commit = f" ({made_by['commit']})" if made_by.get("commit") else ""
    yield record("Polymeter", f"{made_by.get('version', '?')}{commit}{changed}")
    if manifest.get("python"):
        yield record("Python", manifest["python"])
    packages = manifest.get("packages") or {}
    if named := [f"{name} {packages[name]}" for name in _KEY_PACKAGES if packages.get(name)]:
        yield record("Packages", ", ".join(named))
