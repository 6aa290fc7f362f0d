"""Keeps a log that ``checking`` has made, for the tests: ``python -m conformance.logs.keep lm-eval WORK``.

What the tool says about the machine is left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from conformance.frame import ROOT

_OF_MACHINE = ("pretty_env_info", "upper_git_hash", "git_hash", "git_branch")


def keep(tool: str, log: Path) -> Path:
    """Copy a log into the folder of its reader's tests, in place of the one there; returns the folder."""
    folder = ROOT / "tests" / "interop" / tool.replace("-", "_") / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in sorted(path for path in log.rglob("*") if path.is_file()):
        if file.suffix == ".json":
            content = json.loads(file.read_text(encoding="utf-8"))
            kept = {name: value for name, value in content.items() if name not in _OF_MACHINE}
            (folder / file.name).write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        else:
            shutil.copy(file, folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("work", type=Path)
    arguments = parser.parse_args()
    print(keep(arguments.tool, arguments.work / "log"))


if __name__ == "__main__":
    main()
