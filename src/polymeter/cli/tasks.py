"""``polymeter tasks``: list benchmarks and inspect one, without running any of its code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.completion import task_names
from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError
from polymeter.core.registries import stored_format

if TYPE_CHECKING:
    from polymeter.api import TaskOutline
    from polymeter.core.catalog import Catalog, Entry

_GLOB = frozenset("*?[")
_ANSWERS = {"generate": "text", "loglikelihood": "log-likelihoods", "generate_image": "image"}
_DESCRIPTION_LENGTH = 100
MOST_OUTLINED = 100
"""The number of tasks up to which a listing says what each measures: for that, every file is read."""


def tasks(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names or globs; one name shows its configuration.",
            metavar="NAMES",
            show_default=False,
            autocompletion=task_names,
        ),
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
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """List benchmarks, or show the configuration of one and the file that each value comes from."""
    from polymeter.api import build_catalog, describe_task, flatten_task, outline_tasks

    names, paths = patterns or [], tuple(include_path or ())
    if yaml and as_json:
        raise PlanError("--yaml and --json are two forms of the same thing.", where="--json", hint="Leave one out.")
    if yaml:
        if len(names) != 1:
            raise PlanError(
                "--yaml prints exactly one task.", where="--yaml", hint="Write: polymeter tasks NAME --yaml"
            )
        typer.echo(flatten_task(names[0], paths), nl=False)
        return 0
    with stdout_kept(is_json=as_json):
        catalog = build_catalog(paths)
    if len(names) == 1 and not tag and names[0] not in catalog.tags() and not _GLOB & set(names[0]):
        entry = catalog.get(names[0])
        if entry.kind == "task":
            values = describe_task(entry.name, paths)
            outline = next(outline_tasks(catalog, [entry]), None)
            if as_json:
                print_document("task", {"task": _as_data(entry, outline, values)})
            else:
                _echo(_description(entry, outline, values))
            return 0
    rows = _rows(catalog, catalog.choose(names, tag or ()))
    shown = list({entry.name: entry for _, entry in rows}.values())
    is_outlined = as_json or sum(entry.kind == "task" for entry in shown) <= MOST_OUTLINED
    outlines = {outline.entry.name: outline for outline in outline_tasks(catalog, shown)} if is_outlined else {}
    if as_json:
        print_document("tasks", _catalog_as_data(catalog, shown, outlines))
        return 0
    _echo(_listing(rows, outlines, names))
    if not is_outlined:
        _echo([f"Name at most {MOST_OUTLINED} of them to see what they measure."])
    _echo_problems(catalog)
    return 0


def _rows(catalog: Catalog, chosen: Sequence[Entry]) -> list[tuple[int, Entry]]:
    """Groups with their members below them, then the tasks that belong to none of them; each with its depth."""
    members = {member for entry in chosen for member in entry.members}
    rows = [
        row for entry in chosen if entry.kind == "group" and entry.name not in members for row in _tree(catalog, entry)
    ]
    shown = {entry.name for _, entry in rows}
    return rows + [(0, entry) for entry in chosen if entry.kind == "task" and entry.name not in shown]


def _listing(
    rows: Sequence[tuple[int, Entry]], outlines: Mapping[str, TaskOutline], named: Iterable[str]
) -> Iterator[str]:
    from polymeter.cli.extras import missing_modules
    from polymeter.report.formatting import clip, count, one_line

    missing = missing_modules(package for _, entry in rows for package in entry.packages)
    width = min(max((2 * depth + len(entry.name) for depth, entry in rows), default=0), 48)
    for depth, entry in rows:
        label = f"{'  ' * depth}{one_line(entry.name)}"
        name = label.ljust(width)
        outline = outlines.get(entry.name)
        about = one_line(_about(entry, outline, missing))
        yield f"{_bold(name) if entry.kind == 'group' else name}  {_dim(about)}".rstrip()
        if outline is not None and outline.description:
            yield f"{' ' * (2 * depth + 2)}{_dim(clip(one_line(outline.description), _DESCRIPTION_LENGTH))}"
    n_tasks = len({entry.name for _, entry in rows if entry.kind == "task"})
    tags = sorted({tag for _, entry in rows for tag in entry.tags} - set(named))
    yield ""
    yield count(n_tasks, "task") + (f"; tags: {one_line(', '.join(tags))}" if tags else "")


def _tree(catalog: Catalog, entry: Entry, depth: int = 0, above: tuple[str, ...] = ()) -> Iterator[tuple[int, Entry]]:
    yield depth, entry
    for name in entry.members:
        member = catalog.entries.get(name)
        if member is not None and name not in above:
            yield from _tree(catalog, member, depth + 1, (*above, entry.name))


def _about(entry: Entry, outline: TaskOutline | None, missing: frozenset[str]) -> str:
    """A title, what is measured, and what is needed for it, in one line."""
    title = entry.alias if outline is None else outline.title
    own_missing = [name for name in entry.packages if name in missing]
    needs = f"needs {', '.join(own_missing)}" if own_missing else ""
    return ", ".join(
        part
        for part in (title if title != entry.name else "", "yours" if entry.is_user else "", *_measured(outline), needs)
        if part
    )


def _measured(outline: TaskOutline | None) -> Iterator[str]:
    """The size of a task, what its prompts show and what answers are, and its judge, as far as they are known."""
    from polymeter.report.formatting import count

    if outline is None or outline.problem:
        return
    if outline.n_samples is not None:
        yield count(outline.n_samples, "sample")
    answers = " or ".join(_ANSWERS.get(kind, kind) for kind in outline.requests)
    shown = " + ".join(outline.modalities) or ("?" if answers else "")
    yield f"{shown} → {answers}" if answers else shown
    yield {"yes": "needs a judge", "possible": "may use a judge"}.get(outline.judge, "")


def _catalog_as_data(catalog: Catalog, shown: Iterable[Entry], outlines: Mapping[str, TaskOutline]) -> dict[str, Any]:
    groups = [entry for entry in shown if entry.kind == "group"]
    return {
        "tasks": [_as_data(entry, outlines.get(entry.name)) for entry in shown if entry.kind == "task"],
        "groups": [{**_entry_as_data(entry), "members": list(entry.members)} for entry in groups],
        "problems": [{"where": problem.where, "message": problem.message} for problem in catalog.problems],
        "clashes": {name: [str(file) for file in files] for name, files in catalog.clashes.items()},
    }


def _entry_as_data(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.alias or entry.name,
        "format": stored_format(entry.format),
        "file": str(entry.file),
        "is_user": entry.is_user,
        "tags": list(entry.tags),
    }


def _as_data(
    entry: Entry, outline: TaskOutline | None, values: Iterable[tuple[str, Any, Path]] | None = None
) -> dict[str, Any]:
    """A task as plain data; with its configuration if that is given."""
    from polymeter.api import TaskOutline
    from polymeter.cli.extras import extras_with, missing_modules
    from polymeter.core.codec import jsonable

    outline = outline or TaskOutline(entry, entry.alias or entry.name)
    missing = sorted(missing_modules(entry.packages))
    config = [{"key": key, "value": jsonable(value), "file": str(file)} for key, value, file in values or ()]
    return {
        **_entry_as_data(entry),
        "title": outline.title,
        "description": outline.description,
        "n_samples": outline.n_samples,
        "modalities": list(outline.modalities),
        "output_types": list(outline.outputs),
        "requests": list(outline.requests),
        "metrics": list(outline.metrics),
        "needs": {
            "judge": outline.judge,
            "packages": list(entry.packages),
            "missing": missing,
            "extras": extras_with(missing),
        },
        "problem": outline.problem,
        **({} if values is None else {"config": config}),
    }


def _description(entry: Entry, outline: TaskOutline | None, values: Iterable[tuple[str, Any, Path]]) -> Iterator[str]:
    from polymeter.cli.extras import missing_modules
    from polymeter.report.formatting import one_line

    yield f"{_bold(_one_line(entry.name))}  {_dim(one_line(str(entry.file)))}"
    about = one_line(_about(entry, outline, missing_modules(entry.packages)))
    if outline is not None and about:
        yield f"  {about}"
    if outline is not None and outline.description:
        yield f"  {one_line(outline.description)}"
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
