"""Facts about this machine: Python, hardware, extras, keys, folders. Gathers facts and prints nothing.

Nothing here may take long: torch is imported in a process of its own, with a deadline, and folders are measured for a
limited time. Of keys only the names are read.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.children.asked import printed_by
from polymeter.core.children.child import Child
from polymeter.core.errors import PolymeterError
from polymeter.core.machine.hardware import available_cores, memory_bytes
from polymeter.core.names.installing import clone_folder, pip_install

_KEYS = (
    "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "HF_TOKEN",
)  # fmt: skip
_MORE_KEYS = re.compile(r"\w+_API_KEY")
_NOT_SHOWN = ("all", "dev", "docs")
_TORCH_DEADLINE_S = 20.0
_SAID_BYTES = 64_000
_PROGRAM_DEADLINE_S = 5.0
_MEASURING_S = 1.0
_ASK_TORCH = (
    "import json, torch; c = torch.cuda; n = c.device_count() if c.is_available() else 0;"
    "m = getattr(torch.backends, 'mps', None);"
    "print(json.dumps({'version': torch.__version__, 'cuda': [c.get_device_name(i) for i in range(n)],"
    " 'mps': bool(m and m.is_available())}))"
)


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """A folder that Polymeter or a library keeps things in.

    Attributes:
        title: Its content.
        path: Its path.
        size_bytes: Its size, or at least its size; ``None`` if it does not exist.
        is_whole: Whether all of it was measured within the time limit.
    """

    title: str
    path: str
    size_bytes: int | None
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Machine:
    """The report of ``polymeter doctor``.

    Attributes:
        version: Polymeter's.
        place: The clone or the folder of packages that it runs from.
        is_clone: Whether that is a clone.
        python: Version and path of Python.
        system: Operating system and processor.
        n_cores: Cores that this process may use.
        memory_bytes: Main memory; ``None`` if unknown.
        free_bytes: Free space in the working directory.
        gpus: The GPUs that the driver names, each with its memory.
        torch: The report of torch: ``version``, ``cuda`` and ``mps``, or ``problem``; empty if it is not installed.
        extras: For each extra, the packages of it that are missing.
        advice: For each extra with missing packages, the command that installs it.
        servers: For each model that a server is started for, its program; empty if it is missing.
        keys: For each name of a key, whether the environment sets it.
        settings: The settings file, the problem with it, or nothing.
        offline: The variables that forbid the network.
        generated_code: The isolation of code that a model wrote from the user's files and network.
        folders: Caches and data.
    """

    version: str
    place: str
    is_clone: bool
    python: str
    system: str
    n_cores: int
    memory_bytes: int | None
    free_bytes: int
    gpus: tuple[str, ...]
    torch: dict[str, Any]
    extras: dict[str, list[str]]
    advice: dict[str, str]
    servers: dict[str, str]
    keys: dict[str, bool]
    settings: str
    offline: tuple[str, ...]
    generated_code: str
    folders: tuple[KeptFolder, ...] = field(default=())


def examine() -> Machine:
    """Gather the facts."""
    torch = _start_torch()  # imports for seconds, while the rest is looked at
    extras = _extras()
    clone = clone_folder()
    return Machine(
        version=polymeter.__version__,
        place=str(clone or Path(polymeter.__file__).parent),
        is_clone=clone is not None,
        python=f"{platform.python_version()}, {sys.executable}",
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        n_cores=available_cores(),
        memory_bytes=memory_bytes(),
        free_bytes=shutil.disk_usage(Path.cwd()).free,
        gpus=tuple(_gpus()),
        extras=extras,
        advice={extra: pip_install(extra=extra) for extra, missing in extras.items() if missing},
        servers=_servers(),
        keys=_keys_set(),
        settings=_settings(),
        offline=tuple(
            name for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE") if os.environ.get(name, "0") not in ("", "0")
        ),
        generated_code=_generated_code(),
        folders=tuple(_folders()),
        torch=_finish_torch(torch),
    )


def _generated_code() -> str:
    from polymeter.metrics.code_process import usable_walls

    try:
        return f"if allowed, runs {usable_walls().words}"
    except PolymeterError as error:
        return f"cannot run: {error.what}"


def _servers() -> dict[str, str]:
    from polymeter.core.errors import PlanError
    from polymeter.models.served.kinds import KINDS
    from polymeter.models.served.programs import find_program

    found = dict.fromkeys((kind.backend for kind in KINDS), "")
    for kind in KINDS:
        with suppress(PlanError):
            found[kind.backend] = " ".join(find_program(kind, "").words)
    return found


def _extras() -> dict[str, list[str]]:
    from polymeter.cli.extras import missing_packages

    try:
        names = metadata.metadata("polymeter").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return {}
    return {name: missing_packages(name) for name in sorted(names) if name not in _NOT_SHOWN}


def _keys_set() -> dict[str, bool]:
    more = sorted(name for name in os.environ if _MORE_KEYS.fullmatch(name) and name not in _KEYS)
    return {name: bool(os.environ.get(name, "").strip()) for name in (*_KEYS, *more)}


def _settings() -> str:
    from polymeter.api.settings import read_settings

    try:
        file = read_settings().file
    except PolymeterError as error:
        return f"{error.what} ({error.where})" if error.where else error.what
    return str(file) if file else ""


def _gpus() -> Iterator[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return
    words = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    yield from filter(None, map(str.strip, printed_by(words, _PROGRAM_DEADLINE_S).splitlines()))


def _start_torch() -> Child | None:
    if find_spec("torch") is None:
        return None
    return Child([sys.executable, "-c", _ASK_TORCH], stdout=subprocess.PIPE)


def _finish_torch(child: Child | None) -> dict[str, Any]:
    if child is None:
        return {}
    try:
        status = child.wait(_TORCH_DEADLINE_S)
        if status is None:
            return {"problem": f"importing it took more than {_TORCH_DEADLINE_S:.0f} s"}
        if status != 0:
            return {"problem": (child.said(_SAID_BYTES).strip().splitlines() or ["it cannot be imported"])[-1]}
        return dict(json.loads(child.stdout.read().splitlines()[-1]))
    finally:
        child.kill()


def _folders() -> Iterator[KeptFolder]:
    from platformdirs import user_cache_path

    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    places = {
        "prepared data and indexes": os.environ.get("POLYMETER_CACHE_DIR") or user_cache_path("polymeter"),
        "models and files of the Hub": os.environ.get("HF_HUB_CACHE") or home / "hub",
        "datasets": os.environ.get("HF_DATASETS_CACHE") or home / "datasets",
        "runs": Path.cwd() / "runs",
    }
    for title, place in places.items():
        path = Path(place).expanduser()
        size, is_whole = _folder_size(path)
        yield KeptFolder(title, str(path), size, is_whole)


def _folder_size(folder: Path) -> tuple[int | None, bool]:
    """The size of a folder's files, and whether that is all of it. Links are not followed."""
    if not folder.is_dir():
        return None, True
    deadline = time.monotonic() + _MEASURING_S
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # deleted meanwhile
                continue
        if time.monotonic() > deadline:
            return total, False
    return total, True
