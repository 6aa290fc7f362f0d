"""The index of tasks, groups and tags, made without running any of their code.

Thousands of files are read with the C parser, each include once. The index is cached in one file under the cache
folder, by path, size and modification time of every file that was read. Files of other systems' dialects (``dialects``)
are listed here too, as entries of the formats that read them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from stat import S_ISREG
from typing import Any

from polymeter.core.errors import PlanError, Problem
from polymeter.core.names.catalog import Catalog, Entry, Root, named_with_protocol, protocol_name
from polymeter.core.names.parity import NO_PARITY
from polymeter.tasks.index_memory import IndexMemory, Record, Stamp, stamp_of
from polymeter.tasks.yaml.files.dialects import NAME, attached, broken, duplicate_problem, formats_by_folder, shown_by
from polymeter.tasks.yaml.files.reader import Resolved, YamlReader
from polymeter.tasks.yaml.task_code import PackageScanner, function_refs

_VERSION = 5
_SUFFIXES = (".yaml", ".yml")

# Keys that say that a file is about tasks. Other programs have some of the others (``task``, ``include``), too.
_TASK_FIELDS = (
    "dataset_path dataset_name dataset_kwargs training_split validation_split test_split fewshot_split "
    "fewshot_config num_fewshot output_type metric_list process_docs process_results doc_to_text doc_to_target "
    "doc_to_visual doc_to_messages doc_to_choice doc_to_image generation_kwargs filter_list task_alias group_alias "
    "tag aggregate_metric_list lmms_eval_specific_kwargs model_specific_generation_kwargs cluster_key full_docs"
)
_OF_TASKS = frozenset(_TASK_FIELDS.split())
_SHARED = frozenset(("task", "group", "include", "class", "metadata", "description", "batch_size", "repeats"))
_TASK_LINE = re.compile(rf"^(?:-[ \t]+)?(?:task|group|{'|'.join(sorted(_OF_TASKS))})[ \t]*:", re.MULTILINE)
_NEAR = 0.9


def index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All tasks and groups under the roots. A root is a folder or a single YAML file.

    What cannot be read becomes a ``Problem``; files with neither ``task`` nor ``group`` are templates and are left out.
    So are, in a folder, other people's YAML files that have nothing to do with tasks (settings of other programs); a
    file that is named itself is always meant.
    """
    catalog = Catalog(problems=list(broken()))
    memory = IndexMemory(cache_dir, roots, "task_index", _VERSION)
    reading = _Reading(memory)
    for root in roots:
        if not root.path.exists():
            catalog.problems.append(Problem(str(root.path), "There is no such file or folder."))
            continue
        first: dict[str, Path] = {}
        for file, name, record in reading.records(root, list(_files(root.path, catalog.problems))):
            if name != NAME and "name" in record and first.setdefault(record["name"], file) != file:
                catalog.problems.append(duplicate_problem(record["name"], file, first[record["name"]]))
            else:
                _add(catalog, file, record, root, name)
    memory.save()
    return catalog


class _Reading:
    """The records of files, each in its dialect, read or remembered."""

    def __init__(self, memory: IndexMemory) -> None:
        self._memory = memory
        self._scanner = PackageScanner()
        self._readers = {NAME: YamlReader()}
        self._describe: dict[str, Callable[[Resolved, Sequence[str]], Record]] = {NAME: describe}
        for dialect in attached():
            self._readers[dialect.format] = dialect.make_reader(NO_PARITY)
            self._describe[dialect.format] = dialect.describe

    def records(self, root: Root, files: Sequence[tuple[Path, Stamp]]) -> Iterator[tuple[Path, str, Record]]:
        """Each file with the format of its dialect and its record in it."""
        if not attached() or not (root.is_user or root.dialect):
            yield from ((file, NAME, self._record(file, stamp, NAME)) for file, stamp in files)
            return
        stated = {
            file: dialect.format
            for dialect in attached()
            for file, _ in files
            if root.dialect == dialect.name or dialect.holds(file)
        }
        natively = {file: self._record(file, stamp, NAME) for file, stamp in files if file not in stated}
        format_of = formats_by_folder(
            Path(os.path.abspath(root.path)),
            ((file, record.get("shows")) for file, record in natively.items() if not record.get("foreign")),
        )
        for file, stamp in files:
            name = stated.get(file) or format_of(file)
            yield file, name, natively[file] if name == NAME else self._record(file, stamp, name)

    def _record(self, file: Path, stamp: Stamp, name: str) -> Record:
        key = str(file) if name == NAME else f"{name}|{file}"
        record = self._memory.get(key, stamp)
        if record is not None:
            return record
        return self._memory.put(key, _read(file, stamp, self._readers[name], self._scanner, self._describe[name]))


def describe(resolved: Resolved, packages: Sequence[str]) -> Record:
    """The index's record of one file.

    Args:
        resolved: The file.
        packages: What its code needs.

    Raises:
        PlanError: if ``task``, ``group`` or ``tag`` have values that cannot be names.
    """
    values = resolved.values
    task, group = values.get("task"), values.get("group")
    if "class" in values or isinstance(task, (str, int)):
        if not isinstance(task, (str, int)):
            raise PlanError("A Python task needs a 'task' name.", where=resolved.where("class"))
        tags = _names(values.get("tag"), resolved, "tag") + _names(group, resolved, "group")
        stated = values.get("protocol")
        protocol = protocol_name(stated)
        return {
            "kind": "task",
            "name": named_with_protocol(str(task), stated),
            "alias": str(values.get("task_alias") or ""),
            "tags": list(dict.fromkeys(tags)),
            "about": about(values),
            "packages": list(packages),
            **({"protocol": protocol, "default": stated.get("default") is True} if protocol and stated else {}),
        }
    if isinstance(task, list):
        if not isinstance(group, str):
            raise PlanError("A list of tasks needs a 'group' name.", where=resolved.where("task"))
        members = [member_name(item) for item in task]
        return {
            "kind": "group",
            "name": group,
            "alias": str(values.get("group_alias") or ""),
            "tags": _names(values.get("tag"), resolved, "tag"),
            "about": about(values),
            "members": [name for name in members if name],
        }
    if task is not None:
        raise PlanError(f"'task' must be a name or a list, not {type(task).__name__}.", where=resolved.where("task"))
    return {"kind": "template"}


def about(values: Mapping[str, Any]) -> str:
    """The description of a task or group, and the data that it reads, for searching."""
    metadata = values.get("metadata")
    description = metadata.get("description") if isinstance(metadata, Mapping) else None
    named = (description, values.get("dataset_path"), values.get("dataset_name"))
    return " ".join(str(item) for item in named if isinstance(item, (str, int)))


def member_name(item: Any) -> str:
    """The name of a group's member, which may be written as a mapping; empty if it has none."""
    if isinstance(item, Mapping):
        task = item.get("task")
        return str(task if isinstance(task, (str, int)) else item.get("group") or "")
    return str(item)


def is_of_tasks(values: Mapping[str, Any]) -> bool:
    """Return whether a file's content is about a task, a group or what they have in common, judged by its keys.
    Settings of another program may have a key ``task`` among others that mean nothing here.
    """
    keys = {str(key) for key in values}
    if keys & _OF_TASKS or ("task" in keys and "include" in keys):
        return True
    unknown = keys - _SHARED
    if not unknown:
        return "task" in keys or "group" in keys
    is_misspelt = any(get_close_matches(key, _OF_TASKS, n=1, cutoff=_NEAR) for key in unknown)
    return "task" in keys and (is_misspelt or "class" in keys or any(True for _ in function_refs(dict(values))))


def _names(value: Any, resolved: Resolved, key: str) -> list[str]:
    names = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(name, (str, int)) for name in names):
        raise PlanError(f"{key!r} must be a name or a list of names.", where=resolved.where(key))
    return [str(name) for name in names]


def _read(
    file: Path,
    stamp: Stamp,
    reader: YamlReader,
    scanner: PackageScanner,
    describing: Callable[[Resolved, Sequence[str]], Record],
) -> Record:
    resolved: Resolved | None = None
    code: set[Path] = set()
    try:
        resolved = reader.read(file)
        code = {source for ref in function_refs(resolved.values) if (source := ref.source_file())}
        record = describing(resolved, scanner.packages(code))
        shows = shown_by(resolved.values, scanner.roots(code))
        if shows is None and not is_of_tasks(resolved.values):
            record["foreign"] = True
    except PlanError as error:
        message = f"{error.what} {error.hint}".strip()
        return {
            "kind": "problem",
            "foreign": not (_names_a_task(file) if resolved is None else is_of_tasks(resolved.values)),
            "where": error.where or str(file),
            "message": message,
            "stamp": stamp,
            "uncached": True,
            "shows": None if resolved is None else shown_by(resolved.values, scanner.roots(code)),
        }
    record |= {"stamp": stamp, "shows": shows}
    others = [*resolved.files[1:], *sorted(scanner.files(code))]
    # A file that is missing now existed a moment ago: the record is not kept, and the next listing is right.
    record["others"] = {str(other): stamp_of(other.stat()) for other in others if other.exists()}
    record["uncached"] = len(record["others"]) < len(set(others))
    return record


def _names_a_task(file: Path) -> bool:
    """Return whether the text of a file that cannot be parsed has a line with a task's key."""
    try:
        return _TASK_LINE.search(file.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return True


def _add(catalog: Catalog, file: Path, record: Record, root: Root, format_name: str) -> None:
    kind = record["kind"]
    if record.get("foreign") and root.path.is_dir():
        return
    if kind == "problem":
        catalog.problems.append(Problem(record["where"], record["message"]))
    elif kind == "template":
        if root.is_user:
            catalog.nameless.append(file)
    else:
        catalog.add(
            Entry(
                record["name"],
                kind,
                format_name,
                file,
                root.is_user,
                record["alias"],
                tuple(record["tags"]),
                tuple(record.get("members", ())),
                tuple(record.get("packages", ())),
                record.get("about", ""),
                protocol=record.get("protocol", ""),
                is_default=record.get("default", False),
            )
        )


def _files(root: Path, problems: list[Problem]) -> Iterator[tuple[Path, Stamp]]:
    """YAML files below a root in a stable order, with size and modification time. What cannot be looked at is a
    problem.
    """
    root = Path(os.path.abspath(root))
    if root.is_file():
        if root.suffix in _SUFFIXES:
            yield root, stamp_of(root.stat())
        return
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(folder, f"The folder cannot be read: {error.strerror or error}."))
            continue
        folders = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name.endswith(_SUFFIXES) and not is_folder:
                stamp = _stamp_of_file(entry, problems)
                if stamp is not None:
                    yield Path(entry.path), stamp
            elif is_folder and not entry.name.startswith((".", "__pycache__")):
                folders.append(entry.path)
        waiting.extend(reversed(folders))


def _stamp_of_file(entry: os.DirEntry[str], problems: list[Problem]) -> Stamp | None:
    """Size and modification time of a file; ``None`` for what is none, and with a problem for a link that leads
    nowhere.
    """
    try:
        stat = entry.stat()
    except OSError as error:
        why = "leads nowhere" if entry.is_symlink() else "cannot be read"
        problems.append(
            Problem(entry.path, f"This {'link' if entry.is_symlink() else 'file'} {why}: {error.strerror}.")
        )
        return None
    return stamp_of(stat) if S_ISREG(stat.st_mode) else None
