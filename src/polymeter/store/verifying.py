"""Checks of a run folder without the benchmark's code: media against the hashes in their names, and the files of
samples against the rows of the journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.media.sources import digest
from polymeter.store.exports.export import AddressOf, sample_file, sample_lines
from polymeter.store.folder import CHECKSUMS, N_SESSIONS, RunFolder, content_digest
from polymeter.store.journal import Journal
from polymeter.store.media import media_path, shows

REPORT_CHECKSUM = "\n<!-- checksum of all before: "
"""The text before the digest at the end of a report."""
_NOT_COMPARED = frozenset({"n_nondeterministic", "failures", "n_failure_kinds"})
_OF_CHANGED_ITEMS = ("item_errors", "stderr", "interval", "stderr_method", "ci_method", "no_interval")
"""Keys of results that versions without ``item_errors`` could not compute for items that an aggregation changed."""
_BY_SOURCE = (".preview.jpg",)
"""Endings of files whose names are hashes of their sources: the only possible check is to decode them.
"""


def report_end(checksum: str) -> str:
    """The end of a report."""
    return f"{REPORT_CHECKSUM}{checksum} -->\n"


def is_manifest_changed(folder: RunFolder) -> bool | None:
    """Return whether ``run.json`` was changed; ``None`` if an older version without checksums wrote it last."""
    manifest, sums = _with_checksums(folder)
    if sums is None:
        return None
    is_table = isinstance(sums, dict)
    return not is_table or sums.get(folder.manifest.name) != content_digest([manifest, sums.get(N_SESSIONS)])


def changed_files(folder: RunFolder, *, is_complete: bool) -> Iterator[str]:
    """Report files that were changed, by the checksums in ``run.json`` and the one at the end of the report; one
    sentence for each. Files without a checksum are not reported, nor are those of a running run.
    """
    sums = _with_checksums(folder)[1] or {}
    files = {name: written for name, written in sums.items() if name not in (folder.manifest.name, N_SESSIONS)}
    there = folder.digests(files) if is_complete else {}
    for name, written in files.items() if is_complete else ():
        if name not in there:
            yield f"{name} is missing."
        elif there[name] != written:
            yield f"{name} was changed after it was written: its checksum differs."
    if folder.report.is_file():
        text, mark, written = folder.report.read_bytes().rpartition(REPORT_CHECKSUM.encode())
        if mark and REPORT_CHECKSUM.encode() + written != report_end(digest(text)).encode():
            yield f"{folder.report.name} was changed after it was written: its checksum differs."
        elif sums and not mark:
            yield f"{folder.report.name} has no checksum at its end."


def _with_checksums(folder: RunFolder) -> tuple[dict[str, Any], Any]:
    """The manifest, and the checksums in it; ``None`` for those that a version without checksums kept unchanged."""
    manifest = json.loads(folder.manifest.read_bytes())
    sums, sessions = manifest.pop(CHECKSUMS, None), manifest.get("sessions")
    n_known = sums.get(N_SESSIONS) if isinstance(sums, dict) else None
    is_kept = isinstance(n_known, int) and isinstance(sessions, list) and len(sessions) > n_known
    return manifest, None if is_kept and isinstance(sessions[-1], dict) else sums


def damaged_media(folder: RunFolder) -> Iterator[str]:
    """Report media files whose content does not match their name, one sentence for each."""
    for path in sorted(folder.media.rglob("*")):
        if not path.is_file() or path.name.startswith("."):
            continue
        name, _, ending = path.name.partition(".")
        if path.name.endswith(_BY_SOURCE):
            if shows(path) is None:
                yield f"media/{path.parent.name}/{path.name} cannot be decoded."
        elif name != digest(path.read_bytes()) and not (ending == "png" and name == shows(path)):
            yield f"media/{path.parent.name}/{path.name} does not match its name: the hash differs."


def missing_media(folder: RunFolder, journal: Journal, task: str) -> Iterator[str]:
    """Report missing media files that answers of a task refer to, one sentence for each."""
    for sample, _, _, _, response in journal.exchanges(task):
        if '"images"' not in response:
            continue
        for output in json.loads(response)["outputs"]:
            for name in output.get("images", ()):
                if not media_path(folder.media, name).is_file():
                    yield f"Task {task!r}, row {sample}: the image media/{name[:2]}/{name} of an answer is missing."


def differing_samples(folder: RunFolder, journal: Journal, task: str, address_of: AddressOf | None) -> Iterator[str]:
    """Report the first place where ``samples/<task>.jsonl`` differs from the rows of the journal, in one sentence."""
    path = sample_file(folder, task)
    if not path.is_file():
        yield f"samples/{path.name} is missing."
        return
    try:
        with path.open(encoding="utf-8") as file:
            for number, (written, line) in enumerate(
                zip_longest(file, sample_lines(journal, task, address_of, is_strict=True)), start=1
            ):
                if line is None or written is None or written.rstrip("\n") != _as_written(line):
                    yield f"samples/{path.name}, line {number}, differs from the rows of the journal."
                    return
    except (UnicodeDecodeError, PolymeterError, ValueError, KeyError) as error:
        yield f"samples/{path.name} cannot be compared with the rows of the journal: {error}"


def differing_results(written: Mapping[str, Any], again: Mapping[str, Any], left_out: frozenset[str]) -> Iterator[str]:
    """Report differences of ``results.json`` from the rows reduced again, one sentence for each task and group.

    Args:
        written: The results in the run folder.
        again: The results of the rows.
        left_out: Tasks that cannot be compared; groups that contain them are left out too.
    """
    for kind in ("tasks", "groups"):
        for name in [*written[kind], *(name for name in again[kind] if name not in written[kind])]:
            if name in left_out or left_out & {*written[kind].get(name, {}).get("members", ())}:
                continue
            one, other = (_comparable(results[kind].get(name)) for results in (written, again))
            _leave_out_newer(one, other)
            if not _equal(one, other):
                yield f"results.json: {kind[:-1]} {name!r} differs from its rows reduced again: {_first(one, other)}."


def _as_written(line: str) -> str:
    return line.encode("utf-8", "backslashreplace").decode()


def _comparable(entry: Mapping[str, Any] | None) -> Any:
    """Return an entry as plain data. The number of nondeterministic samples is not a fact of the rows, and the messages
    of failures follow from them.
    """
    if entry is None:
        return None
    return json.loads(json.dumps({key: value for key, value in entry.items() if key not in _NOT_COMPARED}))


def _leave_out_newer(one: Any, other: Any) -> None:
    """Remove from results the entries that the version of the first ones could not compute."""
    for before, now in zip((one or {}).get("results") or (), (other or {}).get("results", ()), strict=False):
        if isinstance(before, dict) and "item_errors" in now and "item_errors" not in before:
            for name in _OF_CHANGED_ITEMS:
                before.pop(name, None)
                now.pop(name, None)
    counted = (one or {}).get("truncation"), (other or {}).get("truncation")
    if counted[0] is None and other:
        other.pop("truncation", None)
    for kinds in filter(None, counted):
        for kind in kinds.values():
            if isinstance(kind, dict):
                kind.pop("advice", None)  # words, which a version may change


def _first(one: Any, other: Any, where: str = "") -> str:
    """The first place where two entries differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if not _equal(one.get(key), other.get(key)):
                return _first(one.get(key), other.get(key), f"{where}.{key}" if where else str(key))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            if not _equal(first, second):
                return _first(first, second, f"{where}[{place}]")
    return f"{where or 'it'} is {json.dumps(one)[:80]}, and {json.dumps(other)[:80]} by the rows"


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; NaN equals itself."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
