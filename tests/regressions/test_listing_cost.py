"""A listing of many benchmarks reads once what all of them share."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polymeter
from tests.regressions.copies import YAML, command

COUNTER = """\
import atexit, os, sys
opened = []

def note(event, arguments):
    if event == "open" and str(arguments[0]).endswith("METADATA") and "polymeter" in str(arguments[0]):
        opened.append(arguments[0])

sys.addaudithook(note)
atexit.register(lambda: open(os.environ["COUNTED"], "w").write(str(len(opened))))
"""


def n_metadata_reads(folder: Path, n_tasks: int) -> int:
    """How often listing so many tasks as JSON opens the metadata of Polymeter itself."""
    tasks = folder / f"tasks{n_tasks}"
    tasks.mkdir()
    for number in range(n_tasks):
        (tasks / f"task{number}.yaml").write_text(YAML.replace("task: copies", f"task: copies{number}"))
    (folder / "sitecustomize.py").write_text(COUNTER)
    counted = folder / "counted"
    path = os.pathsep.join([str(folder), str(Path(polymeter.__file__).parents[1])])
    said = command("tasks", "--include-path", str(tasks), "--json", cwd=folder, PYTHONPATH=path, COUNTED=str(counted))
    assert said.returncode == 0, said.stderr
    listed = {task["name"] for task in json.loads(said.stdout)["tasks"]}
    assert {f"copies{number}" for number in range(n_tasks)} <= listed
    return int(counted.read_text())


def test_a_listing_as_json_reads_the_extras_once_whatever_the_number_of_tasks(tmp_path: Path) -> None:
    assert n_metadata_reads(tmp_path, 2) == n_metadata_reads(tmp_path, 12)
