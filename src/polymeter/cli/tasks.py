"""``polymeter tasks``: list benchmarks and inspect one, without running any of its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.catalog import Catalog, Entry

_GLOB = frozenset("*?[")


def tasks(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(help="Names or globs; one name shows its configuration.", metavar="NAMES", show_default=False),
    ] = None,
    include_path: Annotated[
        list[Path] | None, typer.Option(help="A folder of benchmarks.", metavar="FOLDER", show_default=False)
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only tasks with this tag.", metavar="TAG", show_default=False)
    ] = None,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="Print one task as a YAML file that needs no other file.")
    ] = False,
    debug: Debug = False,
) -> int:
    """List benchmarks, or show the configuration of one and the file that each value comes from."""
    from polymeter.api import build_catalog, describe_task, flatten_task

    names, paths = patterns or [], tuple(include_path or ())
    if yaml:
        if len(names) != 1:
            raise PlanError(
                "--yaml prints exactly one task.", where="--yaml", hint="Write: polymeter tasks NAME --yaml"
            )
        typer.echo(flatten_task(names[0], paths), nl=False)
        return 0
    catalog = build_catalog(paths)
    if len(names) == 1 and not tag and names[0] not in catalog.tags() and not _GLOB & set(names[0]):
        entry = catalog.get(names[0])
        if entry.kind == "task":
            _echo(_description(entry, describe_task(entry.name, paths)))
            return 0
    chosen = catalog.choose(names, tag or ())
    _echo(_listing(catalog, chosen))
    _echo_problems(catalog)
    return 0


def _listing(catalog: Catalog, chosen: Sequence[Entry]) -> Iterator[str]:
    """Groups with their members below them, then the tasks that belong to none of them."""
    from polymeter.cli.extras import missing_modules
    from polymeter.report.formatting import count, one_line

    names = {entry.name for entry in chosen}
    members = {member for entry in chosen for member in entry.members}
    rows = [
        row for entry in chosen if entry.kind == "group" and entry.name not in members for row in _tree(catalog, entry)
    ]
    shown = {entry.name for _, entry in rows}
    rows += [(0, entry) for entry in chosen if entry.kind == "task" and entry.name not in shown]
    missing = missing_modules(package for _, entry in rows for package in entry.packages)
    width = min(max((2 * depth + len(entry.name) for depth, entry in rows), default=0), 48)
    for depth, entry in rows:
        label = f"{'  ' * depth}{one_line(entry.name)}"
        name = label.ljust(width)
        yield f"{_bold(name) if entry.kind == 'group' else name}  {_dim(one_line(_about(entry, missing)))}".rstrip()
    n_tasks = len({entry.name for _, entry in rows if entry.kind == "task"})
    tags = sorted({tag for _, entry in rows for tag in entry.tags} - names)
    yield ""
    yield count(n_tasks, "task") + (f"; tags: {one_line(', '.join(tags))}" if tags else "")


def _tree(catalog: Catalog, entry: Entry, depth: int = 0, above: tuple[str, ...] = ()) -> Iterator[tuple[int, Entry]]:
    yield depth, entry
    for name in entry.members:
        member = catalog.entries.get(name)
        if member is not None and name not in above:
            yield from _tree(catalog, member, depth + 1, (*above, entry.name))


def _about(entry: Entry, missing: frozenset[str]) -> str:
    alias = entry.alias if entry.alias != entry.name else ""
    own_missing = [name for name in entry.packages if name in missing]
    needs = f"needs {', '.join(own_missing)}" if own_missing else ""
    return ", ".join(part for part in (alias, "yours" if entry.is_user else "", needs) if part)


def _description(entry: Entry, values: Iterable[tuple[str, Any, Path]]) -> Iterator[str]:
    from polymeter.report.formatting import one_line

    yield f"{_bold(_one_line(entry.name))}  {_dim(one_line(str(entry.file)))}"
    lines = [
        (_one_line(key), _one_line(value), "" if file == entry.file else f"from {_one_line(file.name)}")
        for key, value, file in values
    ]
    width = max((len(key) for key, _, _ in lines), default=0)
    for key, value, source in lines:
        yield f"  {_dim(key.ljust(width))}  {value}{f'  {_dim(source)}' if source else ''}"


def _one_line(value: Any) -> str:
    from polymeter.report.formatting import clip, one_line

    return clip(one_line(value if isinstance(value, str) else repr(value)), 160)


def _echo_problems(catalog: Catalog) -> None:
    for problem in catalog.problems:
        say(f"{problem.where}: {problem.message}", err=True)
    for name, files in catalog.clashes.items():
        say(f"Two files define {name!r}: {' and '.join(map(str, files))}", err=True)


def _echo(lines: Iterable[str]) -> None:
    typer.echo("\n".join(lines))


def _bold(text: str) -> str:
    return typer.style(text, bold=True)


def _dim(text: str) -> str:
    return typer.style(text, dim=True) if text else ""
