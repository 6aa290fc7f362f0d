"""The facts that a page shows about a benchmark, uniform for all formats. Runs none of its code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.catalog.pages.judging import JudgeNeed, judge_need
from polymeter.core.errors import PolymeterError
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.systems import told_system
from polymeter.core.task import TaskSpec
from polymeter.run.plan import selection

_ABSOLUTE = re.compile(r"(?<![\w.:/~\\-])/(?:[^\s/'\"`<>|:,()\[\]]+/)+([^\s/'\"`<>|:,()\[\]]+)")
_PATH = re.compile(r"/(?:[^/\n]+/)+[^/\n]*")
_LIBRARY = "polymeter/library"
_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is known only when the benchmark's code runs. ``source`` is the expression in the code."""

    source: str


Value = str | Unknown


@dataclass(frozen=True, slots=True)
class Facts:
    """One benchmark or group.

    Attributes:
        entry: Its entry in the index.
        place: Its file, without the folders of this machine.
        title: The name to show.
        description: Its author's description; empty if there is none.
        tags: Its tags.
        dataset: Where its records come from: an id, a folder or a file format.
        subsets: Parts of the dataset that are reported separately.
        splits: The use of each split, and its name.
        outputs: Output types, as the format calls them.
        requests: The kinds of requests to the model, as ``polymeter.core`` calls them.
        metrics: Names, with an arrow for the better direction if that is given.
        few_shot: The number of few-shot examples.
        settings: Further settings, each as text.
        prompts: What its prompts are made of: the field and its text.
        judge: Whether it needs a judge; also ``no`` if that is unknown.
        problem: Why it cannot be used; empty if it can.
    """

    entry: Entry
    place: str
    title: str
    description: Value = ""
    tags: tuple[Value, ...] = ()
    dataset: Value = ""
    subsets: tuple[Value, ...] = ()
    splits: tuple[tuple[str, Value], ...] = ()
    outputs: tuple[Value, ...] = ()
    requests: tuple[str, ...] = ()
    metrics: tuple[Value, ...] = ()
    few_shot: Value = "0"
    settings: tuple[tuple[str, Value], ...] = ()
    prompts: tuple[tuple[str, Value], ...] = ()
    judge: JudgeNeed = "no"
    problem: str = ""


_KINDS: Mapping[str, str] = {
    "generate_until": "generate",
    "loglikelihood": "loglikelihood",
    "multiple_choice": "loglikelihood",
    "generate_image": "generate_image",
}
"""The kind of request behind each output type that formats have in common."""


class Hider:
    """Removes this machine's folders from texts, so that a page is the same on every machine.

    Args:
        libraries: The folders of benchmarks that come with Polymeter.
        include_paths: The user's folders and files.
    """

    def __init__(self, libraries: Iterable[Path], include_paths: Iterable[Path]) -> None:
        roots = [told_system(path)[1].resolve() for path in include_paths]
        labels = {str(root.parent if root.is_file() else root): "" for root in roots}
        labels |= {str(folder): f"{_LIBRARY}/" for folder in libraries}
        # The deepest folder first, so that one inside another is replaced by its own label.
        self._labels = sorted(labels.items(), key=lambda item: (-len(item[0]), item[0]))

    def hide(self, text: str) -> str:
        """A message with paths relative to the known folders; of any other path only the last name is left."""
        return _ABSOLUTE.sub(r"…/\1", self._from_folders(text))

    def hide_in(self, value: Any) -> Any:
        """A configuration value with the paths in its texts changed in the same way."""
        if isinstance(value, Mapping):
            return {key: self.hide_in(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hide_in(item) for item in value]
        if not isinstance(value, str):
            return value
        text = self._from_folders(value)
        return f"…/{Path(text).name}" if _PATH.fullmatch(text) else text

    def _from_folders(self, text: str) -> str:
        for folder, label in self._labels:
            text = text.replace(f"{folder}/", label)
        return text


@dataclass(slots=True)
class FactReader:
    """Reads the facts of entries of one catalog.

    Attributes:
        catalog: All benchmarks.
        hider: Removes this machine's folders from texts.
        specs: The spec of each task that was read without a problem.
    """

    catalog: Catalog
    hider: Hider
    specs: dict[str, TaskSpec] = field(default_factory=dict)

    def read(self, entry: Entry) -> Facts:
        """The facts of one entry. An error in it becomes its ``problem``."""
        place = self.hider.hide(str(entry.file))
        title = entry.alias or entry.name
        try:
            self.catalog.get(entry.name)
            benchmark_format = selection.format_of(entry)
            written = {key: value for key, value, _ in benchmark_format.describe(entry, self.catalog)}
            if entry.kind == "group" and not entry.members:  # its members are known only when its code runs
                return Facts(entry, place, title, tags=entry.tags)
            loaded = benchmark_format.load(entry, self.catalog)
        except PolymeterError as error:
            return Facts(entry, place, title, tags=entry.tags, problem=self.problem_of(error))
        if entry.kind == "group":
            return Facts(entry, place, title, tags=entry.tags)
        spec = self.specs[entry.name] = loaded.tasks[0]
        return self._of_task(entry, place, spec, _WrittenTask(written, spec.config))

    def problem_of(self, error: PolymeterError) -> str:
        """An error with its place and hint as one text, without the folders of this machine."""
        where = f"{error.where}: " if error.where else ""
        return self.hider.hide(f"{where}{error.what} {error.hint}".strip())

    def _of_task(self, entry: Entry, place: str, spec: TaskSpec, written: _WrittenTask) -> Facts:
        keys = selection.format_of(entry).page_keys
        outputs = next((values for key in keys.outputs if (values := written.several(key))), ())
        outputs = outputs or ((keys.default_output,) if keys.default_output else ())
        kinds = {**_KINDS, **keys.kinds}
        requests = dict.fromkeys(kinds[name] for name in outputs if isinstance(name, str) and name in kinds)
        return Facts(
            entry,
            place,
            next(
                (str(title) for key in keys.title if isinstance(title := written.one(key), str) and title), entry.name
            ),
            description=written.one(keys.description) or self._metadata_description(written),
            tags=written.several(keys.tags) or entry.tags,
            dataset=self._setting(written, keys.dataset),
            subsets=written.several(keys.subsets),
            splits=tuple((key, written.one(key)) for key in keys.splits if written.one(key)),
            outputs=outputs,
            requests=tuple(requests),
            metrics=_metrics(written, outputs),
            few_shot=written.one(keys.few_shot) or "0",
            settings=tuple((key, self._setting(written, key)) for key in keys.settings if written.one(key)),
            prompts=tuple((key, written.one(key)) for key in keys.prompts if written.one(key)),
            judge=judge_need(entry.name, spec.config, spec.sources),
        )

    def _metadata_description(self, written: _WrittenTask) -> Value:
        metadata = written.raw("metadata")
        description = metadata.get("description", "") if isinstance(metadata, Mapping) else ""
        return description if isinstance(description, str) else ""

    def _setting(self, written: _WrittenTask, key: str) -> Value:
        value = written.one(key)
        return value if isinstance(value, Unknown) else _fact_text(self.hider.hide_in(written.raw(key)))


@dataclass(frozen=True, slots=True)
class _WrittenTask:
    """A configuration as authors write it (``values``), and as far as it is known without running code (``known``)."""

    values: Mapping[str, Any]
    known: Mapping[str, Any]

    def raw(self, key: str) -> Any:
        """The value, unchanged."""
        return self.values.get(key)

    def one(self, key: str) -> Value:
        """A value as one text; empty if there is none."""
        value = self.values.get(key)
        if self._is_unknown(key):
            return Unknown(str(value))
        return _fact_text(value)

    def several(self, key: str) -> tuple[Value, ...]:
        """A list, or a single value in place of one."""
        value = self.values.get(key)
        if self._is_unknown(key):
            return (Unknown(str(value)),)
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_fact_text(item) for item in items if item not in (None, ""))

    def _is_unknown(self, key: str) -> bool:
        return self.known.get(key) == _UNKNOWN and key in self.values


def _metrics(written: _WrittenTask, outputs: Sequence[Value]) -> tuple[Value, ...]:
    items = written.raw("metric_list")
    if items is None and not written.raw("process_results"):
        from polymeter.metrics.defaults import DEFAULT_METRICS

        return tuple(name for output in outputs for name in DEFAULT_METRICS.get(str(output), ()))
    if isinstance(items, Mapping):
        items = [items]
    if not isinstance(items, (list, tuple)):
        return written.several("metric_list")
    return tuple(_metric(item) for item in items)


def _metric(item: Any) -> str:
    if not isinstance(item, Mapping):
        return _fact_text(item)
    is_higher_better = item.get("higher_is_better")
    arrow = {True: " ↑", False: " ↓"}.get(is_higher_better, "") if isinstance(is_higher_better, bool) else ""
    return f"{_fact_text(item.get('metric', _UNKNOWN))}{arrow}"


def _fact_text(value: Any) -> str:
    if value in (None, "") or (isinstance(value, (Mapping, list, tuple)) and not value):
        return ""
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def all_members(entry: Entry, catalog: Catalog) -> Iterable[Entry]:
    """All entries below a group, at any depth; a tag among the members stands for its tasks."""
    tags = catalog.tags()
    members: dict[str, Entry] = {}
    pending = list(entry.members)
    while pending:
        name = pending.pop(0)
        member = catalog.entries.get(name)
        if member is None:
            pending.extend(task for task in tags.get(name, ()) if task not in members)
        elif name not in members and name != entry.name:
            members[name] = member
            pending.extend(member.members)
    return members.values()
