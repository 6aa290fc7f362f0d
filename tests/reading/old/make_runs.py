"""Makes the run folders of a version whose rules of reading were 1: ``python -m tests.reading.old.make_runs``, at that
version (commit 44ab55d7).
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path

OLD = Path(__file__).parent
HERE = "{HERE}"
TASKS = "thoughts.yaml,pixels.tsv,rounds.yaml"
KILLED_AFTER = {"finished": 0, "killed": 9}
"""For each run, after how many samples it is killed; 0: never."""


def words(name: str, *more: str) -> list[str]:
    """The command of a run, in a folder with the inputs."""
    arguments = ("answers=answers.json", "answer=Paris", "batch_size=1", *more)
    model = ("--model", "mock", *(word for one in arguments for word in ("--model-args", one)))
    return ["run", *model, "--tasks", TASKS, "--output", name, "--quiet", "--window", "1"]


def n_ended(journal: Path) -> int:
    """How many samples have ended."""
    if not journal.exists():
        return 0
    with closing(sqlite3.connect(journal)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM samples").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def main() -> None:
    """Run, and kill one of them."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        shutil.copytree(OLD / "inputs", here, dirs_exist_ok=True)
        for name, n_samples in KILLED_AFTER.items():
            slow = ("delay_ms=400",) if n_samples else ()
            process = subprocess.Popen([sys.executable, "-m", "polymeter", *words(name, *slow)], cwd=here)
            while n_samples and n_ended(here / name / "journal.db") < n_samples:
                time.sleep(0.05)
            if n_samples:
                process.kill()
            process.wait()
            run = here / name
            manifest = run / "run.json"
            manifest.write_text(manifest.read_text(encoding="utf-8").replace(str(here), HERE), encoding="utf-8")
            with tarfile.open(OLD / f"{name}.tar.gz", "w:gz") as archive:
                for file in sorted(run.rglob("*")):
                    if file.is_file() and file.name not in (".lock", "report.html"):
                        archive.add(file, f"{name}/{file.relative_to(run)}")


if __name__ == "__main__":
    main()
