"""Put the YAML templates into an installed lmms-eval 0.7.2 that its wheel leaves out.

Files without an extension are not packed into that wheel (nor into its source archive), so half of its task files name
an ``include`` that is not there, and its task index cannot be built at all. The wheel of 0.7.3 has them. Only what is
missing is added, without the lines that name functions which 0.7.2 does not have; a list of it is left in
``conformance_templates.txt`` beside the tasks.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

SOURCE = "lmms_eval==0.7.3"
LIST = "conformance_templates.txt"


def tasks_folder() -> Path:
    """Where the installed lmms-eval keeps its tasks; nothing is imported."""
    found = importlib.util.find_spec("lmms_eval")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("lmms_eval is not installed here: make conformance makes an environment that has it.")
    return Path(next(iter(found.submodule_search_locations))) / "tasks"


def add_templates(tasks: Path) -> list[str]:
    """Add the templates that are missing; their names."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, SOURCE]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            return sorted(_copy(wheel, name, tasks) for name in wheel.namelist() if _is_missing(name, tasks))


def _is_missing(name: str, tasks: Path) -> bool:
    place = PurePosixPath(name)
    is_template = name.startswith("lmms_eval/tasks/") and not place.suffix and not name.endswith("/")
    return is_template and tasks.joinpath(*place.parts[2:-1]).is_dir() and not tasks.joinpath(*place.parts[2:]).exists()


def _copy(wheel: zipfile.ZipFile, name: str, tasks: Path) -> str:
    place = PurePosixPath(*PurePosixPath(name).parts[2:])
    target = tasks.joinpath(*place.parts)
    lines = wheel.read(name).decode("utf-8").splitlines(keepends=True)
    target.write_text("".join(line for line in lines if _is_known(line, target.parent)), encoding="utf-8")
    return str(place)


def _is_known(line: str, folder: Path) -> bool:
    """Whether the function that a line names, if any, is in the file beside it."""
    match = re.search(r"!function\s+(\w+)\.(\w+)", line)
    file = folder / f"{match[1]}.py" if match else folder
    return (
        match is None
        or not file.is_file()
        or re.search(rf"\b{match[2]}\b", file.read_text(encoding="utf-8")) is not None
    )


def add_templates_once() -> Path:
    """Add them if that was not done before; the folder of tasks."""
    tasks = tasks_folder()
    if not (tasks / LIST).exists():
        (tasks / LIST).write_text("\n".join(add_templates(tasks)) + "\n", encoding="utf-8")
    return tasks


if __name__ == "__main__":
    add_templates_once()
