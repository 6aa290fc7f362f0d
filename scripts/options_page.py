"""Write ``docs/options.md`` from the fields of ``RunOptions``: ``python -m scripts.options_page``.

A test compares the page with the fields, so it fails until this was run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polymeter.core.options import RunOptions, mark_of
from scripts.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "options.md"
_PAGE = """# Options of a run

Each option is an argument of `polymeter.evaluate` and a flag of `polymeter run`: `batch_size=4` is `--batch-size 4`.
Flags with another name are given.

## Options that can change results

A run with a different value is a different run.

{identity}
## Options that cannot

A run with a different value is the same run.

{runtime}"""
_HEAD = ("option", "meaning")


def page() -> str:
    """Return the page, with the options of each mark in the order of the fields."""
    return _PAGE.format(identity=table(_HEAD, _rows("identity")), runtime=table(_HEAD, _rows("runtime")))


def _rows(mark: str) -> Iterator[tuple[str, str]]:
    flags = RunOptions.flags()
    for name, field in RunOptions.model_fields.items():
        if mark_of(RunOptions, name) != mark:
            continue
        flag = flags[name].names[0].partition("/")[0] if name in flags else None
        shown = f"`{name}`"
        if flag is None:
            shown += ", no flag"
        elif flag != f"--{name.replace('_', '-')}":
            shown += f", `{flag}`"
        meaning = field.description or ""
        default = field.get_default(call_default_factory=True)
        if default not in (None, False, "", (), {}) and "default" not in meaning.lower():
            meaning += f" Default: `{default}`."
        yield shown, meaning


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
