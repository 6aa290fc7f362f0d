"""Dialects: task files of another system that are YAML like ours and mean something else by it.

The index of this format lists the files of all dialects, so that every ``.yaml`` is read once and belongs to one of
them. What a file of a dialect means is up to the format that its ``Dialect`` names. A system attaches its own to the
extension point ``task_yaml.dialect``.

Which dialect a file is in, in this order: what its root says (``--include-path lm-eval:DIR``); whether it lies in a
copy of the system's package; and what the task files of its folder show (``Dialect.is_surely``). Files that could be
either are this format's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from polymeter.core.errors import Problem
from polymeter.core.names.systems import extension
from polymeter.tasks.yaml.reader import Reader, Resolved

DIALECT = "task_yaml.dialect"
OWN = ""
"""The name of this format's own way of writing tasks."""
_FIELDS = (
    "auto_strip_thinking cluster_key doc_to_messages doc_to_visual filters full_docs lmms_eval_specific_kwargs "
    "model_specific_generation_kwargs model_specific_target_kwargs process_results_use_image reasoning_tags score_key"
)
_ONLY_HERE = frozenset(_FIELDS.split())
"""Fields that no dialect has."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect, as a record of functions that run no task code.

    Attributes:
        name: The system's name, as roots have it.
        format: The format that loads, checks and compiles its entries.
        package: The folders at the end of the place where the system's package keeps its tasks, such as
            ``("tool", "tasks")``.
        reader: Makes a reader that merges includes as the system does.
        describe: ``(resolved, packages that its code needs) → record`` of the index, as ``index.describe`` gives it.
        is_surely: ``(values, import roots of its code) → bool``: whether a file can only be the system's.
    """

    name: str
    format: str
    package: tuple[str, ...]
    reader: Callable[[], Reader]
    describe: Callable[[Resolved, Sequence[str]], dict[str, Any]]
    is_surely: Callable[[Mapping[str, Any], frozenset[str]], bool]

    def holds(self, file: Path) -> bool:
        """Whether a file lies in the task folder of a copy of the system's package."""
        parts, n = file.parts, len(self.package)
        return any(parts[i : i + n] == self.package for i in range(len(parts) - n))


def dialect() -> Dialect | None:
    """The dialect that a system attaches; ``None`` if none does."""
    code = extension(DIALECT)
    return None if code is None else cast(Dialect, code)


def shown_by(values: Mapping[str, Any], roots: frozenset[str]) -> str | None:
    """What a file shows: the format of the dialect that it must be in, ``OWN`` if it is surely this format's own, and
    ``None`` if it could be either.

    Args:
        values: Its keys, includes merged.
        roots: Import roots of systems that its code imports.
    """
    known = dialect()
    if _ONLY_HERE & values.keys():
        return OWN
    return known.format if known is not None and known.is_surely(values, roots) else None


def dialects_by_folder(root: Path, shown: Iterable[tuple[Path, str | None]]) -> Callable[[Path], str]:
    """From a file below a root to its dialect: one for the whole root if task files lie in it directly, else one for
    each of its folders. A dialect counts where some file shows it and none shows that it is not.

    Args:
        root: The folder.
        shown: Its task files, with what each shows.
    """
    found = list(shown)
    is_whole = any(file.parent == root for file, _ in found)

    def tree(file: Path) -> str:
        return "" if is_whole or file == root else file.relative_to(root).parts[0]

    signs: dict[str, set[str]] = {}
    for file, sign in found:
        if sign is not None:
            signs.setdefault(tree(file), set()).add(sign)
    return lambda file: next(iter(each)) if len(each := signs.get(tree(file), set())) == 1 else OWN


def duplicate_problem(name: str, file: Path, first: Path) -> Problem:
    """What is told of a second file in one folder of a dialect that defines a name: the first counts."""
    return Problem(str(file), f"{first} defines {name!r} already, and counts; this file is left out.")
