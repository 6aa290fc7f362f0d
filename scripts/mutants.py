"""Puts known faults back, one at a time, and fails unless the suite turns red.

    python scripts/mutants.py [NAME …]      the patches in tests/mutants, or those of some names

Each ``tests/mutants/*.patch`` is a unified diff of ``src`` behind a comment: what the fault is, and a line ``# red: …``
for every test file or node that must fail with it. A patch is applied to a copy of ``src``, which the tests then import
in place of the real one. A patch that no longer applies is a failure too: the fault has to be put back where its code
has gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATCHES = ROOT / "tests" / "mutants"
_RED = "# red: "
_TESTS_FAILED = 1  # of pytest's exit codes the one that says so; others tell of a test that is gone or cannot be loaded
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that once was, or could be.

    Attributes:
        patch: The file of the patch.
        red: The tests that must fail with it, as pytest takes them.
    """

    patch: Path
    red: tuple[str, ...]

    @property
    def name(self) -> str:
        """The patch's name."""
        return self.patch.stem


def read_mutant(patch: Path) -> Mutant:
    """A mutant from its file."""
    lines = patch.read_text(encoding="utf-8").splitlines()
    return Mutant(patch, tuple(line.removeprefix(_RED).strip() for line in lines if line.startswith(_RED)))


def problems_of(mutant: Mutant) -> list[str]:
    """Why a mutant proves nothing; empty when every one of its tests turned red."""
    if not mutant.red:
        return [f"{mutant.name}: names no test that must turn red"]
    with tempfile.TemporaryDirectory(prefix=f"polymeter-mutant-{mutant.name}-") as folder:
        shutil.copytree(ROOT / "src", Path(folder, "src"))
        applied = _run(["git", "apply", "-C1", str(mutant.patch)], folder)
        if applied.returncode:
            return [f"{mutant.name}: does not apply any more: {applied.stderr.strip()}"]
        return [problem for test in mutant.red for problem in _unless_red(mutant, test, folder)]


def _unless_red(mutant: Mutant, test: str, folder: str) -> list[str]:
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", test]
    done = _run(words, str(ROOT), PYTHONPATH=str(Path(folder, "src")))
    if done.returncode == _TESTS_FAILED:
        return []
    if done.returncode == 0:
        return [f"{mutant.name}: {test} stays green"]
    return [f"{mutant.name}: {test} could not be run: {(done.stdout + done.stderr).strip()[-500:]}"]


def _run(words: list[str], folder: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Git looks no further up than the copy: it would take the patch for one of a repository around it.
    told = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path(folder).parent), **environment}
    return subprocess.run(words, cwd=folder, env=told, capture_output=True, text=True, check=False)


def main(names: list[str]) -> int:
    """Try the mutants; the exit code."""
    mutants = [read_mutant(patch) for patch in sorted(PATCHES.glob("*.patch")) if not names or patch.stem in names]
    unknown = sorted({*names} - {mutant.name for mutant in mutants})
    if unknown or not mutants:
        print(f"There is no mutant {', '.join(unknown) or 'at all'} in {PATCHES}.")
        return 2
    started, n_problems = time.monotonic(), 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for mutant, problems in zip(mutants, pool.map(problems_of, mutants), strict=True):
            n_problems += len(problems)
            print(*(problems or [f"{mutant.name}: red, as it must be"]), sep="\n", flush=True)
    print(f"{len(mutants)} mutants in {time.monotonic() - started:.0f} s, {n_problems} problems")
    return int(n_problems > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
