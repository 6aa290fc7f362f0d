"""Write ``docs/fields.md`` from the fields of a task YAML: ``python -m scripts.fields_page``.

A test compares the page with the fields, so it fails until this was run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from polymeter.tasks.yaml.config import YamlFields
from scripts.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "fields.md"
_PAGE = """# Fields of a task

[Writing a benchmark in YAML](tasks.md) shows these fields in use. An unknown field is an error.

- A *form* is a column name, a Jinja template, a constant or a `!function`.
- `!function utils.my_prompt` is the function `my_prompt` of the file `utils.py` beside the YAML.

{sections}
## Files and groups

{files}"""
_SECTIONS = {
    "task": "Names",
    "dataset_path": "Data",
    "doc_to_visual": "Prompts",
    "batch_size": "Requests",
    "process_results": "Scoring",
    "should_decontaminate": "Other",
}
"""The headings, by the first field below each."""
_FILES = (
    ("`include`", "Files to build on: a name or a list. The keys of this file take precedence."),
    ("`group`", "The name of a group. Its members are in `task`, by name or as mappings with changed fields."),
    (
        "`aggregate_metric_list`",
        "The metrics of a group: mappings with `metric`, `aggregation` (default: `mean`), `weight_by_size` (default: "
        "`false`) and `filter_list` (default: `none`).",
    ),
)
_KINDS = {str: "string", int: "integer", bool: "boolean", dict: "mapping", tuple: "list", Any: "any"}


def page() -> str:
    """Return the page, with the fields in their order."""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for name, row in _rows():
        heading = _SECTIONS.get(name) or list(sections)[-1]
        sections.setdefault(heading, []).append(row)
    head = ("field", "type", "default", "meaning")
    made = "\n".join(f"## {heading}\n\n{table(head, rows)}" for heading, rows in sections.items())
    return _PAGE.format(sections=made, files=table(("key", "meaning"), _FILES))


def _rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, field in YamlFields.model_fields.items():
        meaning = field.description or ""
        if get_origin(field.annotation) is Literal:
            meaning = f"{meaning.removesuffix('.')}: {', '.join(f'`{value}`' for value in get_args(field.annotation))}."
        yield name, (f"`{field.alias or name}`", _kind(field.annotation), _default(field), meaning)


def _kind(annotation: Any) -> str:
    """Return the type of a field in words."""
    is_union = get_origin(annotation) in (Union, UnionType)
    members = [one for one in (get_args(annotation) if is_union else (annotation,)) if one is not type(None)]
    origins = [get_origin(one) or one for one in members]
    if Callable in origins:
        return "form" if dict in origins else " or ".join(["`!function`", *(["string"] if str in origins else [])])
    if members == [tuple[str, ...]]:
        return "list of strings"
    if any(isinstance(one, type) and issubclass(one, BaseModel) for one in members):
        return "mapping"
    return " or ".join("string" if one is Literal else _KINDS[one] for one in origins)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ((), {}, ""):
        return ""
    # As YAML writes it: white space in quotes.
    return f"`{default}`" if isinstance(default, str) and default.strip() else f"`{json.dumps(default)}`"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
