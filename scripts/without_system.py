"""Deletes one system from a copy of the tree and checks that nothing else misses it.

    python scripts/without_system.py SYSTEM [--quick] [TEST …]

Gone are ``src/polymeter/interop/SYSTEM``, its tests in ``tests/interop`` and ``tests/conformance``, and the tests that
say that they need it (``pytest.mark.needs_system``). What is left must pass the checks of ``make check`` and its tests:
all of them, or the files and folders that are named, or with ``--quick`` those of the rooms that systems plug into that
are not slow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SYSTEMS = ROOT / "src" / "polymeter" / "interop"
_CHECKS = (
    ("ruff format", ["ruff", "format", "--check", "--quiet"]),
    ("ruff check", ["ruff", "check", "--quiet"]),
    ("import-linter", ["lint-imports", "--no-cache"]),
    ("mypy", ["mypy"]),
)
_QUICK = ("core", "docs", "guest_code", "interop", "tasks", "test_extend.py")
_SHOWN = 4000


def main() -> int:
    """Do it; the exit code is 1 where something misses the system."""
    folders = sorted(path.name for path in _SYSTEMS.iterdir() if (path / "__init__.py").is_file())
    known = [name for name in folders if not name.endswith("_family")]  # what several systems share stays
    parser = argparse.ArgumentParser(prog="python scripts/without_system.py")
    parser.add_argument("system", choices=known)
    parser.add_argument("--quick", action="store_true", help="only quick tests of the rooms that systems plug into")
    parser.add_argument("tests", nargs="*", help="test files and folders; default: all")
    told = parser.parse_args()
    tests = told.tests or ([*(f"tests/{name}" for name in _QUICK), "-m", "not slow"] if told.quick else ["tests"])
    with tempfile.TemporaryDirectory(prefix=f"polymeter-without-{told.system}-") as name:
        copy = Path(name)
        copy_tree(copy)
        delete_system(copy, told.system)
        failed = [title for title, words in [*_CHECKS, ("tests", _tests(tests))] if not _passes(copy, title, words)]
    print(f"Without {told.system}: {'red: ' + ', '.join(failed) if failed else 'all green'}")
    return int(bool(failed))


def copy_tree(copy: Path) -> None:
    """Copy what git tracks, and what is new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)


def delete_system(copy: Path, system: str) -> None:
    """Delete a system and its tests."""
    for folder in ("src/polymeter/interop", "tests/interop", "tests/conformance"):
        shutil.rmtree(copy / folder / system, ignore_errors=folder != "src/polymeter/interop")


def _tests(tests: list[str]) -> list[str]:
    return ["python", "-m", "pytest", "-q", "-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", *tests]


def _passes(copy: Path, title: str, words: list[str]) -> bool:
    """Whether a check of the copy passes; what it says is shown where it does not."""
    started = time.monotonic()
    folder = Path(sys.executable).parent
    command = [str(folder / words[0]), *words[1:]]
    told = {**os.environ, "PYTHONPATH": str(copy / "src"), "MYPYPATH": str(copy / "src")}
    done = subprocess.run(command, cwd=copy, env=told, capture_output=True, text=True, check=False)
    print(f"{title:<14} {'ok ' if done.returncode == 0 else 'RED'} {time.monotonic() - started:6.1f} s", flush=True)
    if done.returncode:
        print((done.stdout + done.stderr)[-_SHOWN:], flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
