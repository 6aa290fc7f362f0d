"""Makes the old run folders: ``python -m tests.oracle.make_runs [KIND …]``, at the commit that is compared against."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.oracle.old_runs import CALLS, INPUTS, KINDS, STEPS, carry_out, environment, pack

_LEFT_OUT = (".lock", "report.html", "journal.db-shm")


def main(kinds: list[str]) -> None:
    """Make what is named, or all."""
    with tempfile.TemporaryDirectory(prefix="polymeter-oracle-") as folder:
        here = Path(folder).resolve()
        shutil.copytree(INPUTS, here, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for kind in kinds or KINDS:
            make(here, kind)


def make(here: Path, kind: str) -> None:
    """Run in a process of its own, which may be killed, and carry out the steps."""
    (here / CALLS).unlink(missing_ok=True)
    how = KINDS[kind]
    told = {**os.environ, **environment(here), "ORACLE_DIES_AT": str(how.dies_at or -1)}
    words = [sys.executable, "-m", "polymeter", "run", *how.words, "--quiet", "--output", kind]
    done = subprocess.run(words, cwd=here, env=told, capture_output=True, text=True, check=False)
    wanted = (0, 1) if how.dies_at is None else (-signal.SIGKILL,)
    assert done.returncode in wanted, (kind, done.returncode, done.stdout, done.stderr)
    run = here / kind
    raw = {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    raw = {name: content for name, content in raw.items() if name not in _LEFT_OUT}
    calls = here / CALLS
    n_asked = len(calls.read_text(encoding="utf-8").splitlines()) if calls.exists() else 0
    expected = {step: carry_out(here, kind, step) for step in STEPS}
    target = pack(here, kind, expected, raw)
    said = ", ".join(
        f"{step}: exit {labels['exit code']}, {len(labels['calls'].splitlines())} asked"
        for step, labels in expected.items()
    )
    print(f"{kind:<20} {target.stat().st_size // 1024:>4} KiB  {n_asked} asked; {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
