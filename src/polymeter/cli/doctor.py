"""``polymeter doctor``: what this machine can run, and how to install what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.printing import as_json, say
from polymeter.cli.state import Debug

if TYPE_CHECKING:
    from polymeter.cli.machine import KeptFolder, Machine


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Say what this machine can run: extras, servers, GPUs, keys (their names only), caches, disk, versions."""
    from polymeter.cli.machine import examine

    found = examine()
    if json:
        from dataclasses import asdict

        typer.echo(as_json(asdict(found)))
        return 0
    for title, lines in (
        ("", _basics(found)),
        ("Extras", _extras(found)),
        ("Servers that runs can start", _servers(found)),
        ("Keys", _key_lines(found)),
        ("Folders", _folders(found)),
    ):
        if title:
            say(f"\n{title}")
        for line in lines:
            say(f"{'  ' if title else ''}{line}")
    return 0


def _basics(found: Machine) -> Iterator[str]:
    from polymeter.report.formatting import data_size

    facts = {
        "polymeter": f"{found.version}, {'clone' if found.is_clone else 'package'} at {found.place}",
        "python": found.python,
        "system": found.system,
        "cores": str(found.n_cores),
        "memory": "unknown" if found.memory_bytes is None else data_size(found.memory_bytes),
        "disk": f"{data_size(found.free_bytes)} free in this folder",
        "gpu": "; ".join(found.gpus) or "none found",
        "torch": _torch(found),
        "settings": found.settings or "none",
        "programs": f"code that a model writes, {found.generated_code}",
    }
    if found.offline:
        facts["network"] = f"forbidden by {' and '.join(found.offline)}"
    for name, fact in facts.items():
        yield f"{name:<10} {fact}"


def _torch(found: Machine) -> str:
    torch = found.torch
    if not torch:
        return "not installed"
    if "problem" in torch:
        return f"does not work: {torch['problem']}"
    devices = [*torch["cuda"], *(["Apple's GPU"] if torch["mps"] else [])]
    return f"{torch['version']}, uses {'; '.join(devices) or 'only the CPU'}"


def _extras(found: Machine) -> Iterator[str]:
    from polymeter.core.names.registries import MODELS

    models: dict[str, list[str]] = {}
    for name in sorted(MODELS):
        models.setdefault(MODELS.find(name).extra, []).append(name)
    if not found.extras:
        yield "unknown, because Polymeter is not installed as a package"
    for extra, missing in found.extras.items():
        use = f"  (models: {', '.join(models[extra])})" if extra in models else ""
        if missing:
            yield f"{extra:<14} needs {', '.join(missing)}{use}"
            yield f"{'':<14} {found.advice[extra]}"
        else:
            yield f"{extra:<14} installed{use}"


def _servers(found: Machine) -> Iterator[str]:
    for name, program in found.servers.items():
        yield f"{name:<22} {program or '–'}"


def _key_lines(found: Machine) -> Iterator[str]:
    for name, is_set in found.keys.items():
        yield f"{name:<22} {'set' if is_set else '–'}"


def _folders(found: Machine) -> Iterator[str]:
    for folder in found.folders:
        yield f"{folder.title:<28} {_size_in_words(folder):<18} {folder.path}"


def _size_in_words(folder: KeptFolder) -> str:
    from polymeter.report.formatting import data_size

    if folder.size_bytes is None:
        return "–"
    return data_size(folder.size_bytes) if folder.is_whole else f"> {data_size(folder.size_bytes)}"
