"""A tool's log, imported and compared with Polymeter's own run of the same tasks and model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.frame import run_child

RUN = {
    "lm-eval": (
        *("--model", "hf:./tiny", "--model-args", "dtype=float32,device=cpu"),
        *("--tasks", "nature,sums,cloze", "--include-path", "."),
    ),
    "lmms-eval": (
        *("--model", "lmms:scripted", "--model-path", str(Path(__file__).with_name("scripted.py"))),
        *("--model-args", "seed=1", "--tasks", "shapes,nature,sums", "--include-path", "."),
    ),
}
"""How Polymeter runs what the tool has run, by the name of the tool."""


def check(tool: str, work: Path, python: Path, ours: Path = Path(sys.executable)) -> bool:
    """Make a log, import it and compare it; whether every number is equal.

    Args:
        tool: The tool.
        work: A folder for everything.
        python: The interpreter of an environment with the tool.
        ours: That of one with Polymeter.
    """
    work.mkdir(parents=True, exist_ok=True)
    variables = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(work / "hf")}
    module = f"conformance.logs.make_{tool.replace('-', '_')}"
    if run_child(python, module, ["--work", str(work)], environment=variables, log=work / "make.log") != 0:
        print(f"{tool} made no log: see {work / 'make.log'}")
        return False
    _polymeter(ours, work, "import", "log", "--from", tool, "--output", "imported")
    _polymeter(ours, work, "run", *RUN[tool], "--output", "own", "--quiet")
    document = json.loads(_polymeter(ours, work, "compare", "imported", "own", "--json"))
    return differences_in(tool, document)


def differences_in(tool: str, document: Any) -> bool:
    """Print what a comparison of an imported run with our own found; whether nothing differs."""
    found = document["others"][0]
    differing = [one for one in found["scores"] if one["wins"] or one["losses"] or one["difference"]]
    unequal = [
        one
        for one in found["not_compared"]
        if None not in (one["first"], one["second"]) and abs(one["first"] - one["second"]) > 1e-4 * abs(one["first"])
    ]
    for one in differing + unequal:
        print(f"  {one['name']} {one['metric']}: {one['first']} in the log, {one['second']} here")
    n_told = sum(None not in (one["first"], one["second"]) for one in found["not_compared"])
    n_equal = len(found["scores"]) + n_told - len(differing) - len(unequal)
    print(f"log of {tool}: {n_equal} numbers are equal, {len(differing) + len(unequal)} differ")
    return not differing and not unequal and bool(found["scores"])


def _polymeter(python: Path, folder: Path, *words: str) -> str:
    from conformance.frame import ROOT

    command: Sequence[str] = [str(python), "-m", "polymeter", *words]
    variables = {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return done.stdout
