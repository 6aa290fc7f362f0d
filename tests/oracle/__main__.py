"""Records what the suite's tests leave behind, or compares it with the record.

``python -m tests.oracle record|compare [-n N] [--dump FOLDER] [FILE …]`` runs each test file in a process of its own,
``N`` at a time, below a folder for temporary files that is the same each time. ``FILE`` is a name such as
``test_rounds.py``, with its folder where several files have that name.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ORACLE = Path(__file__).parent
TESTS = ORACLE.parent
RECORD = ORACLE / "record.json"
EXPECTED = ORACLE / "expected_differences.json"
SETTINGS = ORACLE / "settings.json"
Record = dict[str, dict[str, str]]


def main() -> int:
    """Do as told; the exit code is 1 where something differs or a file could not be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle")
    parser.add_argument("mode", choices=["record", "compare"])
    parser.add_argument("-n", type=int, default=2, help="processes at a time")
    parser.add_argument("--dump", type=Path, help="a folder for the texts behind the digests")
    parser.add_argument("files", nargs="*", help="names of test files; default: all that are recorded")
    told = parser.parse_args()
    settings = json.loads(SETTINGS.read_text(encoding="utf-8"))
    names = told.files or settings["files"]
    if told.dump:
        told.dump.mkdir(parents=True, exist_ok=True)
    found, problems = run_all(names, told.n, told.dump, settings["renamed"])
    excluded = settings["excluded"]
    found = {
        node: {label: text for label, text in labels.items() if not _is_listed(excluded, node, label)}
        for node, labels in found.items()
    }
    if told.mode == "record":
        before = _read(RECORD) if told.files else {}
        kept = {node: labels for node, labels in before.items() if node.partition("::")[0] not in names}
        write(RECORD, {node: labels for node, labels in {**kept, **found}.items() if labels})
    else:
        recorded = {node: labels for node, labels in _read(RECORD).items() if node.partition("::")[0] in names}
        recorded = with_new_names(recorded, settings["new_names"])
        by_reason = json.loads(EXPECTED.read_text(encoding="utf-8"))
        problems += differences(recorded, found, {name for names in by_reason.values() for name in names})
    print(*problems, f"{len(names)} files, {len(found)} nodes, {len(problems)} problems", sep="\n")
    return int(bool(problems))


def run_all(names: list[str], n: int, dump: Path | None, renamed: Mapping[str, str]) -> tuple[Record, list[str]]:
    """The record of some test files, and what went wrong."""
    base = Path(tempfile.gettempdir()) / f"polymeter-oracle-{os.getuid()}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    found: Record = {}
    problems: list[str] = []
    with ThreadPoolExecutor(n) as pool:
        for name, (part, problem) in zip(
            names, pool.map(lambda name: run_file(name, base, dump, renamed), names), strict=True
        ):
            found |= part
            problems += [f"{name}: {problem}"] if problem else []
    shutil.rmtree(base, ignore_errors=True)
    return found, problems


def run_file(name: str, base: Path, dump: Path | None, renamed: Mapping[str, str]) -> tuple[Record, str]:
    """The record of one test file, and what went wrong with it as a whole."""
    wanted = renamed.get(name, name)
    places = [path for path in TESTS.rglob(Path(wanted).name) if path.as_posix().endswith(f"/{wanted}")]
    places = [path for path in places if not {"guests", "oracle"} & {*path.relative_to(TESTS).parts}]
    if len(places) != 1:
        return {}, f"{len(places)} files have the name {wanted}"
    short = name.replace("/", "-").removesuffix(".py")
    part = base / f"{short}.json"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.oracle.plugin", "-p", "no:cacheprovider"]
    words += ["-n", "0", "--basetemp", str(base / short), "-m", "not browser", str(places[0])]
    told = {"POLYMETER_ORACLE_PART": str(part), "POLYMETER_ORACLE_FILE": name, "CI": "1", "HF_HUB_OFFLINE": "1"}
    told |= {"POLYMETER_ORACLE_DUMP": str(dump.resolve())} if dump else {}
    started = time.monotonic()
    done = subprocess.run(
        words, cwd=TESTS.parent, env={**os.environ, **told}, capture_output=True, text=True, check=False
    )
    print(f"{name:<40} {time.monotonic() - started:6.1f} s", file=sys.stderr, flush=True)
    shutil.rmtree(base / short, ignore_errors=True)
    if not part.exists():
        return {}, f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}"
    # Failures are the suite's business, not the oracle's; what they leave out is told as missing.
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print(f"  {line[:300]}", file=sys.stderr, flush=True)
    return json.loads(part.read_text(encoding="utf-8")), ""


def differences(recorded: Record, found: Record, expected: Collection[str]) -> list[str]:
    """What differs by node and label, but for what is listed as expected: a node, or ``node | label``.

    Tests that were not recorded are newer than the record, and there is nothing to compare them with.
    """
    problems = []
    for node, before in sorted(recorded.items()):
        now = found.get(node)
        if now is None:
            problems += [] if node in expected else [f"{node}: missing"]
            continue
        for label in sorted({*before, *now}):
            if before.get(label) != now.get(label) and not _is_listed(expected, node, label):
                problems.append(f"{node} | {label}: {before.get(label, 'none')} -> {now.get(label, 'none')}")
    return problems


def with_new_names(record: Record, new_names: Mapping[str, Mapping[str, str]]) -> Record:
    """A record under the names that tests and runs have now; ``new_names`` has, by test file, new words by old ones."""
    renamed: Record = {}
    for node, labels in record.items():
        pairs = new_names.get(node.partition("::")[0], {}).items()
        renamed[_replaced(node, pairs)] = {_replaced(label, pairs): text for label, text in labels.items()}
    return renamed


def _replaced(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    for old, new in pairs:
        text = text.replace(old, new)
    return text


def write(path: Path, record: Record) -> None:
    """Write a record, one line for each node."""
    lines = [f"{json.dumps(node)}: {json.dumps(labels, sort_keys=True)}" for node, labels in sorted(record.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _is_listed(listed: Collection[str], node: str, label: str) -> bool:
    file = node.partition("::")[0]
    return any(name in listed for name in (node, f"{node} | {label}", f"{file} | {label.rpartition(': ')[2]}"))


def _read(path: Path) -> dict[str, dict[str, str]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


if __name__ == "__main__":
    sys.exit(main())
