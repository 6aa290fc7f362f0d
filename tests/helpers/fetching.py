"""A machine of its own for ``polymeter fetch`` and ``--offline``. Commands run in processes of their own: the tests'
process is offline from its start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NO_SOCKETS = """\
import socket

def refuse(*args, **kwargs):
    raise AssertionError(f"the network was asked for: {args}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


class Machine:
    """A machine with caches of its own and a folder of tasks.

    Args:
        folder: All that is on it.
        environment: Variables that say where its hubs are.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)

    def add(self, name: str, text: str) -> None:
        """Add a file to the folder of tasks."""
        place = self.folder / "tasks" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def polymeter(self, *words: str, has_network: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command; without a network, whatever opens a connection fails."""
        return subprocess.run(
            [sys.executable, "-m", "polymeter", *words],
            **self.surroundings(has_network=has_network),
            capture_output=True,
            text=True,
            check=False,
        )

    def surroundings(self, *, has_network: bool = True) -> dict[str, Any]:
        """Arguments of a process on this machine."""
        blocked = self.folder / "blocked"
        blocked.mkdir(exist_ok=True)
        (blocked / "sitecustomize.py").write_text("" if has_network else _NO_SOCKETS)
        offline = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_TOKEN")
        environment = {name: value for name, value in os.environ.items() if name not in offline}
        environment |= {
            "HOME": str(self.folder / "home"),
            "HF_HOME": str(self.folder / "hub"),
            "POLYMETER_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": os.pathsep.join([str(blocked), *filter(None, [os.environ.get("PYTHONPATH")])]),
            **self.environment,
        }
        return {"cwd": self.folder, "env": environment, "stdin": subprocess.DEVNULL}

    def fetch(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Fetch what tasks of its folder read."""
        return self.polymeter("fetch", "--include-path", "tasks", *words)

    def run(self, *words: str, output: str = "run", **given: bool) -> subprocess.CompletedProcess[str]:
        """Run tasks of its folder with a model that knows the answers."""
        words = ("--model", "mock", "--model-args", "mode=gold", "--include-path", "tasks", "--output", output, *words)
        return self.polymeter("run", *words, **given)

    def task_of(self, output: str = "run") -> dict[str, Any]:
        """What the manifest of a run says of its only task."""
        (task,) = json.loads((self.folder / output / "run.json").read_text())["tasks"]
        return dict(task)
