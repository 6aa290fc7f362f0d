"""Completions of the shell for names of models, tasks and systems. Nothing heavy is imported, and no benchmark's code
is run: folders that the line already names are only read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import typer

from polymeter.core.errors import PolymeterError
from polymeter.core.names.catalog import QUALIFIES

_ENDINGS = (".yaml", ".yml", ".py", ".tsv")
"""Files that may be named in place of the benchmarks in them."""


def model_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """The backends whose names begin so, each with a line about it."""
    from polymeter.core.names.registries import MODELS

    for name in sorted(MODELS):
        if name.startswith(incomplete):
            yield name, MODELS.find(name).summary


def system_names(incomplete: str) -> Iterator[tuple[str, str]]:
    """The systems whose values may be taken, each with a line about it."""
    from polymeter.core.names.systems import systems

    for system in systems():
        if system.differences and system.parity_name.startswith(incomplete):
            yield system.parity_name, system.summary


def task_names(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Return the tasks and groups with names that begin like the last one of a comma-separated list, each with its
    title: those that come with Polymeter, and those of folders that the line names before. A path is completed as one.
    """
    before, comma, begun = incomplete.rpartition(",")
    for name, title in (*_matching_entries(ctx, begun), *_matching_paths(begun)):
        yield f"{before}{comma}{name}", title


def _matching_entries(ctx: typer.Context, begun: str) -> Iterator[tuple[str, str]]:
    from polymeter.api import build_catalog

    if _is_path(begun):
        return
    named = ctx.params.get("include_paths") or ctx.params.get("include_path") or ()  # options of a run; a command's own
    folders = [Path(folder) for folder in named]
    try:
        catalog = build_catalog([folder for folder in folders if folder.exists()])
    except PolymeterError:  # nothing may be printed into a line that is being typed; the command itself will report it
        return
    entries = {entry.name: entry for entry in catalog}
    # Of installed packages, which have thousands, only those that the line asks for.
    qualifier, mark, _ = begun.partition(QUALIFIES)
    if mark and qualifier in catalog.packages:
        entries |= {entry.qualified_name: entry for entry in catalog.packages[qualifier]}
    for name in sorted(entries):
        if name.startswith(begun):
            yield name, entries[name].alias
    if begun and not mark:
        yield from ((f"{qualifier}{QUALIFIES}", "") for qualifier in catalog.packages if qualifier.startswith(begun))


def _matching_paths(begun: str) -> Iterator[tuple[str, str]]:
    """Folders and files of benchmarks whose paths begin so; files of the working directory by their names alone, too.

    A shell puts a space after the only thing that is offered, so what a single folder holds is offered with it.
    """
    typed, slash, start = begun.rpartition("/")
    prefix = typed + slash
    if start in (".", "..", "~") or (not start and not slash):
        return
    found = [
        (name, is_folder)
        for name, is_folder in _folder_entries(os.path.expanduser(prefix) or ".")
        if name.startswith(start) and (not name.startswith(".") or start) and (is_folder or name.endswith(_ENDINGS))
    ]
    if len(found) == 1 and found[0][1]:
        folder = f"{prefix}{found[0][0]}/"
        yield folder, ""
        inside = [*_matching_paths(folder)] if any(_folder_entries(os.path.expanduser(folder))) else []
        yield from inside
        return
    for name, is_folder in found:
        if slash or not is_folder:
            yield f"{prefix}{name}{'/' if is_folder else ''}", ""


def _folder_entries(folder: str) -> Iterator[tuple[str, bool]]:
    """The names in a folder, and whether each is a folder; nothing of one that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            yield from sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return


def _is_path(begun: str) -> bool:
    return "/" in begun or begun.startswith((".", "~"))
