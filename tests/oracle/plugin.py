"""A pytest plug-in that notes what every test leaves behind: run folders, and what foreign wrappers were called with.

It looks at files alone: a run folder is a folder with a ``run.json`` and a ``journal.db``. Nodes are named by the
test file's name without its folder, so that files may move. ``POLYMETER_ORACLE_PART`` names the file that the record
goes to, ``POLYMETER_ORACLE_DUMP`` a folder for the texts behind the digests.

A change that is meant to change no number is compared with the record, and with run folders of an earlier version
(``old_runs``).
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import hooks
from tests.oracle.old_runs import digest, journal, without_intervals

ROOT = Path(__file__).parents[2]
SHARED = "fixtures"


class Recorder:
    """Notes runs and calls by node.

    Args:
        part: Where the record goes.
        base: The folder below which tests write.
        file: The name of the test file, by which nodes are known.
    """

    def __init__(self, part: Path, base: Path, file: str) -> None:
        self._part, self._base, self._file = part, base, file
        self._record: dict[str, dict[str, str]] = defaultdict(dict)
        self._calls: dict[str, list[str]] = defaultdict(list)
        self._known: set[Path] = set()
        self._shared: set[Path] = set()
        self._node = ""

    def note_call(self, kind: str, text: str) -> None:
        """A call of a wrapper; several threads make them in any order."""
        self._calls[kind].append(self._plain(text))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._calls.clear()
        self._node = self._name(item.nodeid.partition("::")[2])
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            own = getattr(item, "funcargs", {}).get("tmp_path")
            inside = self._base.iterdir() if self._base.exists() else ()
            there = {path for path in inside if path.is_dir() and not path.is_symlink()}
            self._shared |= there - self._known - {own}
            self._known |= there
            if own is not None:
                self._note_runs(self._node, own)
            for kind, lines in self._calls.items():
                self._put(self._node, f"{kind} calls ({len(lines)})", "\n".join(sorted(lines)))

    def pytest_sessionfinish(self) -> None:
        for folder in sorted(self._shared):
            self._note_runs(self._name(SHARED), folder, folder.name)
        self._part.write_text(json.dumps(self._record, sort_keys=True, indent=1), encoding="utf-8")

    def _name(self, rest: str) -> str:
        return self._plain(f"{self._file}::{rest}")

    def _note_runs(self, node: str, folder: Path, prefix: str = "") -> None:
        found: dict[str, list[dict[str, str]]] = defaultdict(list)
        for run in _run_folders(folder):
            place = "/".join(filter(None, (prefix, run.relative_to(folder).as_posix())))
            found[_SHORT_DIGEST.sub("_<digest>", _STAMP.sub("<time>", place))].append(self._texts(run))
        for place, runs in found.items():
            for number, texts in enumerate(sorted(runs, key=lambda one: sorted(one.items()))):
                where = place if number == 0 else f"{place}#{number + 1}"
                for label, text in texts.items():
                    self._put(node, f"{where}: {label}", text)

    def _texts(self, run: Path) -> dict[str, str]:
        """The texts of a run by label. What identifies (hashes of sources, of models, of requests) stands apart from
        what was asked, answered and computed.
        """
        manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
        file = run / "results.json"
        results = without_intervals("results", file.read_text(encoding="utf-8")) if file.exists() else "none"
        tables, keys = _tables(run / "journal.db")
        tasks = [
            [task.get(name) for name in ("name", "source_hash", "score_digest", "dataset_fingerprint")]
            for task in manifest.get("tasks", ())
        ]
        samples = sorted((run / "samples").glob("*.jsonl"))
        artifacts = sorted(path for path in (run / "artifacts").rglob("*") if path.is_file())
        found = {
            "results": re.sub(r'( *"source_hash": )"\w*"', r'\1""', results),
            "samples": "\n".join(f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in samples),
            "journal": tables,
            "identity": "\n".join([json.dumps(tasks), json.dumps(manifest.get("identity")), keys]),
            "artifacts": "\n".join(f"{path.relative_to(run)} {self._artifact(path)}" for path in artifacts),
        }
        return {label: self._plain(text) for label, text in found.items() if text}

    def _artifact(self, path: Path) -> str:
        if path.suffix not in (".json", ".jsonl", ".csv", ".tsv", ".txt"):
            return ""
        return digest(self._plain(path.read_text(encoding="utf-8", errors="replace")).encode())

    def _put(self, node: str, label: str, text: str) -> None:
        short = digest(text.encode(errors="backslashreplace"))
        self._record[node][label] = short
        folder = os.environ.get("POLYMETER_ORACLE_DUMP")
        if folder:
            name = re.sub(r"[^\w.-]+", "_", f"{node}--{label}")
            file = Path(folder) / f"{name[:180]}-{digest((node + label).encode())[:6]}.txt"
            file.write_text(f"{node}\n{label}\n{text}\n", encoding="utf-8", errors="backslashreplace")

    def _plain(self, text: str) -> str:
        """A text without what differs from run to run, from machine to machine, and from place to place in the tree."""
        for place, name in ((self._base, "{TMP}"), (Path(sys.prefix), "{PYTHON}"), (ROOT, "{REPO}")):
            text = text.replace(str(place), name)
        for pattern, new in _VARYING:
            text = pattern.sub(new, text)
        return text


_STAMP = re.compile(r"\d{8}[-_]\d{6}(-\d+)?|T\d{8}_G\w+")
_SHORT_DIGEST = re.compile(r"_[0-9a-f]{8}(?![0-9a-z])")
_TEMPORARY = re.escape(tempfile.gettempdir())
_VARYING = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (r'(\\*"(?:latency_ms|latency)\\*": ?)[0-9.e-]+', r"\g<1>0"),
        (r',\\*"(?:content_key|served)\\*":\\*"[^"\\]*\\*"', ""),
        (rf"{_TEMPORARY}/polymeter-tests-\w+", "{CACHE}"),
        (rf"{_TEMPORARY}/(polymeter-[a-z]+-|tmp)\w+", "{TEMPORARY}"),
        (r"\{REPO\}/src/polymeter/(?!library)[\w/.]*\.py(:\d+)?", "{SOURCE}"),
        (r"\{REPO\}/tests/[\w/]*?(\w+\.\w+)(:\d+)?", r"{TEST}/\1"),
        (r"(127\.0\.0\.1|localhost):\d+", r"\1:{PORT}"),
        (r"0x[0-9a-f]{6,}", "{ADDRESS}"),
        (r"run_[0-9a-f]{8}_[0-9a-f]{8}", "run_{DIGESTS}"),
        (_STAMP.pattern, "{STAMP}"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+\d\d:\d\d|Z)?", "{TIME}"),
    )
)


def _run_folders(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        if "run.json" in files and any(name.endswith(".db") for name in files):
            yield Path(place)


def _tables(path: Path) -> tuple[str, str]:
    """What a journal holds, and what identifies it. Models are numbered, since their fingerprints rest on versions."""
    if not path.exists():
        return "", ""
    try:
        rows: Mapping[str, list[list[Any]]] = {
            label.removeprefix("journal "): [json.loads(line) for line in lines] for label, lines in journal(path)
        }
    except sqlite3.DatabaseError:
        return "unreadable", ""
    bodies = dict(rows["requests"])
    models = {model: number for number, model in enumerate(sorted({row[3] for row in rows["responses"]}))}
    several = len({(row[2], row[3]) for row in rows["responses"]}) > len({row[2] for row in rows["responses"]})
    asked = [
        [task, sample, role, occurrence, turn, bodies.get(key), body]
        for task, sample, role, _, key, occurrence, turn, body in rows["responses"]
    ]
    lines = [
        *sorted(map(json.dumps, asked)),
        *(json.dumps(row[:-1]) for row in rows["ends"]),
        *(json.dumps([task, sample, is_exact, body]) for task, sample, _, is_exact, body in rows["scores"]),
    ]
    keys = [
        *(json.dumps([*row[:3], models[row[3]] if several else 0, row[4]]) for row in rows["responses"]),
        *(json.dumps([row[0], row[1], row[-1]]) for row in rows["ends"]),
        *(json.dumps(row[:3]) for row in rows["scores"]),
    ]
    return "\n".join(lines), "\n".join(sorted(keys))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record; there must be a folder for temporary files that is the same each time."""
    base = config.getoption("basetemp")
    assert base, "the oracle needs --basetemp"
    place = Path(base).resolve()
    recorder = Recorder(Path(os.environ["POLYMETER_ORACLE_PART"]), place, os.environ["POLYMETER_ORACLE_FILE"])
    hooks.install(recorder.note_call)
    config.pluginmanager.register(recorder, "polymeter-oracle")
