"""``polymeter tasks``: list benchmarks and inspect one, without running any of its code."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.completion import task_names
from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import LIBRARY, QUALIFIES, is_glob
from polymeter.core.names.installing import packages_by_extra
from polymeter.core.names.registries import stored_format
from polymeter.core.names.systems import systems

if TYPE_CHECKING:
    from polymeter.api import TaskOutline
    from polymeter.core.names.catalog import Catalog, Entry, Globbed

_ANSWERS = {"generate": "text", "loglikelihood": "log-likelihoods", "generate_image": "image"}
_DESCRIPTION_LENGTH = 100
MOST_OUTLINED = 100
"""The number of tasks up to which a listing shows what each measures: for that, every file is read."""
_MOST_FOUND = 20
_MOST_PROBLEMS = 3
_MOST_TAGS = 40
_TOLD_FROM = 300
"""The number of a package's tasks from which reading them for the first time takes long enough for a notice."""


def tasks(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names, globs, files or folders; one task shows its configuration.",
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
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Only the benchmarks of one installed package "
            f"({', '.join(system.log_name for system in systems() if system.installed)}), or polymeter: those that "
            "come with Polymeter.",
            metavar="PACKAGE",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            help="Search names, tags, descriptions and READMEs, also of installed packages; the best come first.",
            metavar="WORDS",
            show_default=False,
        ),
    ] = None,
    yaml: Annotated[
        bool, typer.Option("--yaml", help="Print one task as a YAML file that needs no other file.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """List benchmarks, or show the configuration of one and the file that each value comes from."""
    from polymeter.api import describe_task, flatten_task, named_tasks, outline_tasks

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
        named = named_tasks(names, paths)
    catalog, paths, names = named.catalog, named.include_paths, [*named.names]
    notes: list[str] = []
    if search is not None:
        if names or tag:
            raise PlanError("--search looks through all tasks.", where="--search", hint="Leave out names and --tag.")
        _search(catalog, search, origin or "", is_json=as_json)
        return 0
    if origin is not None:
        own = catalog.of_origin(origin)
        chosen = own.choose([name.removeprefix(f"{origin}{QUALIFIES}") for name in names], tag or ())
    elif len(names) == 1 and not tag and not is_glob(names[0]) and _is_task(catalog, names[0]):
        entry = catalog.get(names[0])
        values = describe_task(names[0], paths)
        outline = next(outline_tasks(catalog.home(entry), [entry]), None)
        if as_json:
            print_document("task", {"task": _as_data(entry, outline, packages_by_extra(), values)})
        else:
            _echo(_description(entry, outline, values))
        return 0
    else:
        chosen, notes = _entries_named(catalog, names, tag or ())
    _list(catalog, chosen, names, origin or "", is_json=as_json)
    if not as_json:
        _echo(notes)
    return 0


def _is_task(catalog: Catalog, name: str) -> bool:
    """Return whether a name is that of one task, or of nothing at all, so that it is looked up as one."""
    home, bare = catalog.place(name)
    return bare not in home.tags() and (bare not in home.entries or home.entries[bare].kind == "task")


def _entries_named(catalog: Catalog, names: Sequence[str], tags: Sequence[str]) -> tuple[list[Entry], list[str]]:
    """Return the tasks that names, globs and tags stand for, and sentences about globs that match others too.

    A glob stands for the tasks that a run takes. Of another name that is in the user's folders, and of Polymeter's own,
    those of installed packages are left out, unless these are all protocols.
    """
    if not names:
        return catalog.choose((), tags), []
    chosen: dict[str, Entry] = {}
    notes: list[str] = []
    for name in names:
        qualifier, mark, bare = name.partition(QUALIFIES)
        is_qualified = bool(mark) and qualifier in (LIBRARY, *catalog.packages)
        home, bare = (catalog.of_origin(qualifier), bare) if is_qualified else (catalog, name)
        if is_glob(bare) and not tags and not home.has(bare):
            globbed = home.globbed_anywhere(bare)
            found = globbed.entries or home.choose([bare])  # which raises the error
            notes += _other_places(bare, globbed)
        elif is_qualified:
            found = home.choose([bare], tags)
        else:
            having = [one for one in catalog.packages.values() if one.has(name)]
            found = catalog.choose([name], tags) if tags or not having or catalog.has(name) else []
            if not tags and all(
                entry.protocol and not entry.is_user for entry in found
            ):  # ``run`` takes those of a package before protocols
                found += [entry for one in having for entry in one.choose([name])]
        chosen.update((entry.qualified_name, entry) for entry in found)
    return list(chosen.values()), notes


def _other_places(pattern: str, globbed: Globbed) -> Iterator[str]:
    """Yield sentences about a glob that several packages have, and about tasks that only a qualified glob means."""
    from polymeter.core.text.phrases import in_words

    if len(globbed.taken) > 1:
        names = [f"{one}{QUALIFIES}{pattern}" for one in globbed.taken]
        yield f"A run has to name one of them: {in_words(names, 'or')}."
    if globbed.others:
        others = [f"{one}{QUALIFIES}{pattern} ({len(entries):,})" for one, entries in globbed.others.items()]
        yield f"Not meant by {pattern!r}: {', '.join(others)}."


def _list(catalog: Catalog, chosen: Sequence[Entry], names: Sequence[str], origin: str, *, is_json: bool) -> None:
    """Print groups and tasks: of installed packages what each measures and needs; of others, if they are not many."""
    rows = _tree_rows(catalog, chosen)
    shown = list({entry.qualified_name: entry for _, entry in rows}.values())
    n_own = sum(entry.kind == "task" and not entry.origin for entry in shown)
    is_outlined = is_json or n_own <= MOST_OUTLINED
    outlines = _outlines(catalog, shown) if is_outlined else {}
    if is_json:
        print_document("tasks", _catalog_as_data(catalog, shown, outlines, origin))
        return
    _echo_pages(_listing(rows, outlines, names))
    if not is_outlined:
        _echo([f"Name at most {MOST_OUTLINED} of them to see what they measure."])
    if origin and origin in catalog.packages:
        _echo_unread(catalog.packages[origin])
        return
    if not names:
        _echo(_packages(catalog))
    _echo_problems(catalog)


def _search(catalog: Catalog, words: str, origin: str, *, is_json: bool) -> None:
    from polymeter.catalog.searching import search_benchmarks

    hits = search_benchmarks(catalog, words, origin=origin)
    best = hits[:_MOST_FOUND]
    outlines = _outlines(catalog, [hit.entry for hit in best])
    if is_json:
        entries = _all_as_data([hit.entry for hit in best], outlines)
        found = [{**data, "score": round(hit.score, 3)} for data, hit in zip(entries, best, strict=True)]
        print_document("found", {"search": words, "n_found": len(hits), "found": found})
        return
    if not hits:
        _echo([f"Nothing matches {words!r}. Installed packages are searched too; 'polymeter tasks' lists them."])
        return
    _echo(list(_entry_lines([(0, hit.entry) for hit in best], outlines)))
    if len(hits) > len(best):
        _echo(["", f"The best {len(best)} of {len(hits):,}; add words to narrow the search."])


def _outlines(catalog: Catalog, entries: Sequence[Entry]) -> dict[str, TaskOutline]:
    """Return the outlines of tasks, by qualified name."""
    from polymeter.api import outline_tasks

    outlines = list(outline_tasks(catalog, [entry for entry in entries if not entry.origin]))
    for qualifier in dict.fromkeys(entry.origin for entry in entries if entry.origin):
        from polymeter.catalog.listing import index_folder
        from polymeter.catalog.package_outlines import package_outlines

        of_package = [entry for entry in entries if entry.origin == qualifier]
        outlines += package_outlines(catalog.packages[qualifier], of_package, index_folder(), _tracked)
    return {outline.entry.qualified_name: outline for outline in outlines}


def _tracked(outlines: Iterable[TaskOutline], n: int) -> Iterable[TaskOutline]:
    """Say that many tasks are read, with a bar on a terminal."""
    if n < _TOLD_FROM:
        return outlines
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        say(f"Reading {n:,} tasks for the first time.", err=True)
        return outlines
    return track(outlines, "reading tasks for the first time", total=n, console=console, transient=True)


def _tree_rows(catalog: Catalog, chosen: Sequence[Entry]) -> list[tuple[int, Entry]]:
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
    from polymeter.report.formatting import count, one_line

    n_tasks = len({entry.qualified_name for _, entry in rows if entry.kind == "task"})
    tags = sorted({tag for _, entry in rows for tag in entry.tags} - set(named))
    more = f" and {len(tags) - _MOST_TAGS:,} more" if len(tags) > _MOST_TAGS else ""
    yield count(n_tasks, "task") + (f"; tags: {one_line(', '.join(tags[:_MOST_TAGS]))}{more}" if tags else "")
    yield ""
    yield from _entry_lines(rows, outlines)


def _entry_lines(rows: Sequence[tuple[int, Entry]], outlines: Mapping[str, TaskOutline]) -> Iterator[str]:
    """A line for each task and group, and one for its description."""
    from polymeter.cli.extras import missing_modules
    from polymeter.report.formatting import clip, one_line

    missing = missing_modules(package for _, entry in rows for package in _packages_of(entry, outlines))
    width = min(max((2 * depth + len(_shown_name(entry)) for depth, entry in rows), default=0), 48)
    for depth, entry in rows:
        label = f"{'  ' * depth}{one_line(_shown_name(entry))}"
        name = label.ljust(width)
        outline = outlines.get(entry.qualified_name)
        about = one_line(_about(entry, outline, missing))
        yield f"{_bold(name) if entry.kind == 'group' else name}  {_dim(about)}".rstrip()
        if outline is not None and outline.description:
            yield f"{' ' * (2 * depth + 2)}{_dim(clip(one_line(outline.description), _DESCRIPTION_LENGTH))}"


def _shown_name(entry: Entry) -> str:
    """The name by which a user can name an entry, regardless of other installed packages."""
    return entry.qualified_name if entry.origin else entry.name


def _packages_of(entry: Entry, outlines: Mapping[str, TaskOutline]) -> tuple[str, ...]:
    outline = outlines.get(entry.qualified_name)
    return entry.packages if outline is None else outline.packages


def _tree(catalog: Catalog, entry: Entry, depth: int = 0, above: tuple[str, ...] = ()) -> Iterator[tuple[int, Entry]]:
    yield depth, entry
    for name in entry.members:
        member = catalog.home(entry).entries.get(name)
        if member is not None and name not in above:
            yield from _tree(catalog, member, depth + 1, (*above, entry.name))


def _about(entry: Entry, outline: TaskOutline | None, missing: frozenset[str]) -> str:
    """A title, what is measured, and what is needed for it, in one line."""
    title = entry.alias if outline is None else outline.title
    packages = entry.packages if outline is None else outline.packages
    own_missing = [name for name in packages if name in missing]
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
    yield f"protocol {outline.protocol.title}" if outline.protocol else ""
    if outline.keys:
        yield f"reads {', '.join(outline.keys)}"
    if outline.entry.origin:
        yield "data needs a Hub token" if outline.asks_token else ""
        yield "data is cached" if _is_cached(outline) else ""


def _is_cached(outline: TaskOutline) -> bool:
    from polymeter.api.settings import read_settings
    from polymeter.core.options import RunOptions
    from polymeter.data.source import BUILDERS, is_cached
    from polymeter.run.plan.plan import cache_folder

    if not outline.dataset or outline.dataset in BUILDERS:
        return False
    cache_dir = cache_folder(RunOptions(cache_dir=read_settings().cache_dir))
    mirrors = () if outline.protocol is None else outline.protocol.mirrors
    return any(is_cached(one, cache_dir) for one in (outline.dataset, *mirrors))


def _catalog_as_data(
    catalog: Catalog, shown: Iterable[Entry], outlines: Mapping[str, TaskOutline], origin: str
) -> dict[str, Any]:
    listed = _all_as_data(shown, outlines)
    own = catalog.packages.get(origin, catalog)
    return {
        "tasks": [data for data in listed if "members" not in data],
        "groups": [data for data in listed if "members" in data],
        "problems": [{"where": problem.where, "message": problem.message} for problem in own.problems],
        "clashes": {name: [str(file) for file in files] for name, files in own.clashes.items()},
        "packages": {
            qualifier: {"n_tasks": len(one.by_kind("task")), "n_groups": len(one.by_kind("group"))}
            for qualifier, one in catalog.packages.items()
        },
    }


def _all_as_data(entries: Iterable[Entry], outlines: Mapping[str, TaskOutline]) -> list[dict[str, Any]]:
    """Tasks, and groups with their members, as plain data."""
    by_extra = packages_by_extra()
    return [
        {**_entry_as_data(entry), "members": list(entry.members)}
        if entry.kind == "group"
        else _as_data(entry, outlines.get(entry.qualified_name), by_extra)
        for entry in entries
    ]


def _entry_as_data(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "qualified_name": entry.qualified_name,
        "title": entry.alias or entry.name,
        "format": stored_format(entry.format),
        "file": str(entry.file),
        "is_user": entry.is_user,
        "tags": list(entry.tags),
    }


def _as_data(
    entry: Entry,
    outline: TaskOutline | None,
    by_extra: Mapping[str, Iterable[str]],
    values: Iterable[tuple[str, Any, Path]] | None = None,
) -> dict[str, Any]:
    """A task as plain data; with its configuration if that is given."""
    from polymeter.api import TaskOutline
    from polymeter.cli.extras import extras_with, missing_modules
    from polymeter.core.text.codec import jsonable

    outline = outline or TaskOutline(entry, entry.alias or entry.name)
    missing = sorted(missing_modules(outline.packages or entry.packages))
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
            "packages": list(outline.packages or entry.packages),
            "optional_packages": list(outline.optional_packages),
            "missing": missing,
            "extras": extras_with(missing, by_extra),
            "keys": list(outline.keys),
            "hub_token": outline.asks_token,
        },
        "dataset": outline.dataset,
        "is_cached": _is_cached(outline),
        "problem": outline.problem,
        **({} if outline.protocol is None else {"protocol": outline.protocol.as_data()}),
        **({} if values is None else {"config": config}),
    }


def _description(entry: Entry, outline: TaskOutline | None, values: Iterable[tuple[str, Any, Path]]) -> Iterator[str]:
    from polymeter.cli.extras import missing_modules
    from polymeter.report.formatting import one_line

    yield f"{_bold(_one_line(_shown_name(entry)))}  {_dim(one_line(str(entry.file)))}"
    about = one_line(_about(entry, outline, missing_modules(entry.packages if outline is None else outline.packages)))
    if outline is not None and about:
        yield f"  {about}"
    if outline is not None and outline.description:
        yield f"  {one_line(outline.description)}"
    facts = {} if outline is None or outline.protocol is None else outline.protocol.facts()
    for label, fact in facts.items():
        yield f"  {_dim(label)}: {one_line(fact)}"
    lines = [
        (_one_line(key), _one_line(value), "" if file == entry.file else f"from {_one_line(file.name)}")
        for key, value, file in values
        if not (facts and key == "protocol")
    ]
    width = max((len(key) for key, _, _ in lines), default=0)
    for key, value, source in lines:
        yield f"  {_dim(key.ljust(width))}  {value}{f'  {_dim(source)}' if source else ''}"


def _one_line(value: Any) -> str:
    from polymeter.report.formatting import clip, one_line

    return clip(one_line(value if isinstance(value, str) else repr(value)), 160)


def _packages(catalog: Catalog) -> Iterator[str]:
    """Yield the further tasks of installed packages, and the command that lists them."""
    from polymeter.core.names.installed import installed_packages
    from polymeter.report.formatting import count

    for package in installed_packages():
        one = catalog.packages.get(package.qualifier)
        if one is not None:
            n_tasks = count(len(one.by_kind("task")), "task")
            yield f"{package.qualifier}: {n_tasks} of {package}; polymeter tasks --from {package.qualifier} lists them."


def _echo_unread(package: Catalog) -> None:
    """Tell of files of a package that cannot be read: how many, and the first of them."""
    from polymeter.report.formatting import count

    for problem in package.problems[:_MOST_PROBLEMS]:
        say(f"{problem.where}: {problem.message}", err=True)
    n_more = len(package.problems) - _MOST_PROBLEMS
    if n_more > 0:
        say(f"{count(n_more, 'more file')} cannot be read (--json names all). {package.advice}".rstrip(), err=True)


def _echo_problems(catalog: Catalog) -> None:
    for problem in catalog.problems:
        say(f"{problem.where}: {problem.message}", err=True)
    for name, files in catalog.clashes.items():
        say(f"Two files define {name!r}: {' and '.join(map(str, files))}", err=True)


def _echo(lines: Iterable[str]) -> None:
    for line in [*lines]:
        typer.echo(line)


def _echo_pages(lines: Iterable[str]) -> None:
    """Print lines, through a pager if a terminal cannot show all of them at once."""
    texts = [*lines]
    if sys.stdout.isatty() and len(texts) >= shutil.get_terminal_size().lines:
        import pydoc  # which takes longer to import than most listings to print

        os.environ.setdefault("LESS", "-FRX")  # colours are kept, and the text stays on the screen
        pydoc.pager("\n".join(texts) + "\n")
    else:
        _echo(texts)


def _bold(text: str) -> str:
    return typer.style(text, bold=True)


def _dim(text: str) -> str:
    return typer.style(text, dim=True) if text else ""
