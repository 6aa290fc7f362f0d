"""The program of a server: its path, its version, and advice if it is missing. Nothing is started except the program's
own ``--version``, if no package has the version.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from polymeter.core.children.asked import printed_by
from polymeter.core.errors import PlanError
from polymeter.core.names.installing import installed_version, pip_install
from polymeter.core.names.registry import missing_package
from polymeter.models.served.kinds import ServerKind

_LIMIT_S = 60.0
_ASK = (
    "import json, sys; from importlib import metadata\n"
    "found = {}\n"
    "for name in sys.argv[1:]:\n"
    "    try: found[name] = metadata.version(name)\n"
    "    except metadata.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was found.

    Attributes:
        words: The beginning of its command line.
        python: The Python that it runs in; empty if it is not a Python program, or this is unknown.
    """

    words: tuple[str, ...]
    python: str


def find_program(kind: ServerKind, executable: str) -> Program:
    """The program that serves.

    Args:
        kind: The server.
        executable: The user's program, or for a module of Python the interpreter; empty: the one of the Python that is
            running, else the first on the search path.

    Raises:
        PlanError: if there is none, or a package that it needs is missing.
    """
    if kind.module:
        python = _executable(executable) if executable else sys.executable
        package = kind.packages[0]
        if python == sys.executable:
            if importlib.util.find_spec(package) is None:
                raise _missing(kind)
        elif package not in _versions(python, (package,)):
            raise PlanError(f"{python} has no package {package!r}.", where="executable", hint=_advice(kind))
        return Program((python, "-m", kind.module), python)
    path = _executable(executable) if executable else _beside(kind.program) or shutil.which(kind.program)
    if path is None:
        raise _missing(kind)
    python = _python_of(path)
    if python and os.path.realpath(python) == os.path.realpath(sys.executable) and _is_beside(path):
        for package in kind.needs:
            if importlib.util.find_spec(package) is None:
                raise missing_package(package, f"model {kind.backend!r}", kind.extra)
    return Program((path,), python)


def versions_of(kind: ServerKind, program: Program) -> dict[str, str]:
    """The versions of the packages of the server, by name; for a program that is not a package the output of
    ``--version``, under its backend's name.
    """
    if program.python == sys.executable:
        found = {package: version for package in kind.packages if (version := installed_version(package))}
    else:
        found = _versions(program.python, kind.packages) if program.python else {}
    if kind.packages and kind.packages[0] in found:
        return found
    return {kind.packages[0] if kind.packages else kind.backend: _said(program), **found}


def _said(program: Program) -> str:
    """The version that a program prints."""
    try:
        done = subprocess.run(
            [*program.words, "--version"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    text = f"{done.stdout}\n{done.stderr}"
    found = re.search(r"version:?\s+(\S.*)", text) or re.search(r"\b(\d+\.\d+\S*)", text)
    return found[1].strip() if found else "unknown"


def _versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    with suppress(ValueError, AttributeError):
        told = json.loads(printed_by([python, "-c", _ASK, *packages], _LIMIT_S))
        return {str(name): str(version) for name, version in told.items()}
    return {}


def _executable(text: str) -> str:
    path = shutil.which(os.path.expanduser(text))
    if path is None:
        raise PlanError(f"The program {text!r} does not exist.", where="--model-args executable")
    return path if os.path.dirname(path) == "" else os.path.abspath(path)


def _beside(program: str) -> str | None:
    """A program of the environment that is running, which need not be on the search path."""
    path = Path(sys.executable).with_name(program)
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None


def _is_beside(path: str) -> bool:
    return Path(path).parent == Path(sys.executable).parent


def _python_of(path: str) -> str:
    """The Python that runs a script, by its first line; empty if it is not such a script."""
    try:
        with open(path, "rb") as file:
            first = file.readline(1024)
    except OSError:
        return ""
    if not first.startswith(b"#!"):
        return ""
    words = first[2:].decode(errors="replace").split()
    program = words[1] if len(words) > 1 and words[0].endswith("/env") else (words[0] if words else "")
    if "python" not in os.path.basename(program):
        return ""
    return sys.executable if program == sys.executable else shutil.which(program) or ""


def _missing(kind: ServerKind) -> PlanError:
    what = kind.program or kind.module
    return PlanError(f"{kind.title} is not installed: {what!r} was not found.", where="--model", hint=_advice(kind))


def _advice(kind: ServerKind) -> str:
    if kind.home:
        return f"Get it from {kind.home}. If it is not on the path, name it: --model-args executable=/path/to/it."
    install = pip_install(extra=kind.extra) if kind.extra else pip_install(kind.install)
    own = "" if kind.extra else " in a separate environment, since it pins its versions of torch and Transformers"
    wanted = "The Python" if kind.module else f"The {kind.program!r}"
    named = "of another environment is named with --model-args executable=/path/to/it."
    return f"Install it with: {install}{own}. {wanted} {named}"
