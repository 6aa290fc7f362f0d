"""``polymeter docs``: a Markdown page for each benchmark, and an index, in English and Chinese."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from polymeter.cli.printing import say
from polymeter.cli.state import Debug


def docs(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names, globs, groups, tags, files or folders; their pages show a sample, which runs their code. "
            "Default: all benchmarks, without samples.",
            metavar="NAMES",
            show_default=False,
        ),
    ] = None,
    include_path: Annotated[
        list[Path] | None, typer.Option(help="A folder of benchmarks.", metavar="FOLDER", show_default=False)
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only benchmarks with this tag.", metavar="TAG", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder for the pages.", metavar="FOLDER")] = Path(
        "docs", "benchmarks"
    ),
    language: Annotated[
        Literal["en", "zh", "both"], typer.Option(help="The language of the pages; benchmarks keep their own.")
    ] = ("both"),
    no_samples: Annotated[bool, typer.Option("--no-samples", help="Do not run the code of any benchmark.")] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Local files that replace a dataset: id=path.", metavar="ID=PATH", show_default=False),
    ] = None,
    debug: Debug = False,
) -> int:
    """Write documentation pages of benchmarks, without using the network."""
    from polymeter.catalog.pages.texts import LANGUAGES
    from polymeter.catalog.pages.writing import write_pages
    from polymeter.cli.pairs import parse_places
    from polymeter.report.formatting import count

    written = write_pages(
        patterns or (),
        include_paths=tuple(include_path or ()),
        tags=tag or (),
        output=output,
        languages=LANGUAGES if language == "both" else (language,),
        has_samples=not no_samples,
        data=parse_places(data or (), "--data"),
    )
    for problem in written.problems:
        say(f"{problem.where}: {problem.message}", err=True)
    samples = f", {written.n_samples:,} with a sample" if written.n_samples else ""
    say(f"{count(written.n_benchmarks, 'benchmark')}{samples}")
    for index in written.indexes:
        say(f"pages  {index}")
    return 1 if written.problems else 0
