"""Examples that are the question which they stand before: one split may hold a row of another, and an example with the
answer gives it away.

Two rows ask the same if their prompts show the same text, the same choices and the same media. In a task without code
such an example is left out. Where code makes the prompt, one is left out if the whole rows are equal; where the prompts
alone are, it stays, with a note: what older runs have asked is not asked in other words.
"""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Text
from polymeter.core.errors import PolymeterError, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Sample, Samples
from polymeter.data.media import encoded_bytes
from polymeter.guests import seeded
from polymeter.tasks.yaml.prompts.forms import is_template
from polymeter.tasks.yaml.prompts.visuals import from_hook

if TYPE_CHECKING:
    from polymeter.data import Rows
    from polymeter.tasks.yaml.pieces import Parts

_MOST_ROWS = 2000
IsSame = Callable[[Sample, int], bool]
"""From a sample and the number of an example's row to whether both ask the same."""


def same_question(parts: Parts) -> IsSame:
    """Return a function that returns whether an example asks the same as a sample, and so is left out."""
    if not _has_code(parts):
        return same_prompt(parts)
    examples, measured = parts.rows.examples, parts.rows.measured
    assert examples is not None

    def is_same(sample: Sample, index: int) -> bool:
        return dict(sample.doc) == examples.doc(index) and _has_same_media(measured, sample.index, examples, index)

    return _careful(is_same)


def same_prompt(parts: Parts) -> IsSame:
    """Return a function that returns whether an example shows the same as a sample. If code makes the prompt, it is
    called.
    """
    examples, measured = parts.rows.examples, parts.rows.measured
    assert examples is not None
    column = parts.visual_column
    plain = [column] if column is not None and column not in measured.media else []
    visual = parts.visual if column is None else None

    def asked(row: Any) -> Any:
        """Return the question of a row; ``None`` if its prompt is empty."""
        question = parts.text(row)
        if question is None or not as_shown(question):
            return None
        choices = parts.choices(row) if parts.choices is not None else ()
        return as_shown(question), [as_shown(choice) for choice in choices], [row.get(name) for name in plain]

    def media(row: Any) -> list[Any]:
        given = visual(row) if visual is not None else []
        if is_template(parts.config.doc_to_visual):
            return list(given)  # paths, which are looked for in folders
        shown = from_hook(given, None)
        return [part.text if isinstance(part, Text) else part.content_hash() for part in shown]

    def is_same(sample: Sample, index: int) -> bool:
        own = asked(copy.deepcopy(sample.doc))
        if own is None or own != asked(examples.doc(index)):
            return False
        has_same_cells = _has_same_media(measured, sample.index, examples, index)
        return has_same_cells and (visual is None or media(sample.full_doc()) == media(examples.full_doc(index)))

    return _careful(is_same)


def as_shown(text: Any) -> str:
    """A question or an option as it is compared with another: in NFC, all white space one space."""
    return " ".join(unicodedata.normalize("NFC", str(text)).split())


def _has_code(parts: Parts) -> bool:
    config = parts.config
    forms = (config.doc_to_text, config.doc_to_choice, config.doc_to_visual)
    return config.class_ is not None or any(map(callable, forms))


def _careful(is_same: IsSame) -> IsSame:
    def careful(sample: Sample, index: int) -> bool:
        try:
            return is_same(sample, index)
        # A row that has no prompt fails by itself, with its reason. Few-shot samples in the YAML may lack columns.
        except (PolymeterError, OSError, KeyError):
            return False

    return careful


def repeated_example_findings(
    parts: Parts, drawn: Callable[[Sample], Sequence[int]], samples: Samples, context: OpenContext
) -> Iterator[LintFinding]:
    """Return findings if examples are the question itself: those that are left out, and those that stay.

    Args:
        parts: The task.
        drawn: From a sample to the rows that are drawn as its examples.
        samples: Its samples.
        context: Knows which rows are measured.
    """
    measured = context.measured(len(samples))[:_MOST_ROWS]
    is_same, is_same_prompt = same_question(parts), same_prompt(parts)
    left_out: list[int] = []
    kept: list[int] = []
    with seeded(0):  # code that draws at random gives the same afterwards
        for index in measured:
            sample = samples[index]
            others = [number for number in drawn(sample) if not is_same(sample, number)]
            if len(others) < len(drawn(sample)):
                left_out.append(index)
            # One more row than needed is drawn.
            if _has_code(parts) and any(is_same_prompt(sample, number) for number in others[: parts.n_fewshot]):
                kept.append(index)
    said = f"of {len(measured)} samples: an example that was drawn asks the same question"
    task = parts.config.task
    if left_out:
        text = f"{len(left_out)} {said} ({enumerated('sample', left_out)}) and is left out."
        yield LintFinding("repeated-example", text, task, severity="note")
    if kept:
        text = (
            f"{len(kept)} {said} ({enumerated('sample', kept)}), and shows its answer: the rows differ, and in a task "
            "with code only an example whose whole row is equal is left out."
        )
        yield LintFinding("repeated-example", text, task)


def _has_same_media(measured: Rows, index: int, examples: Rows, number: int) -> bool:
    if set(measured.media) != set(examples.media):
        return False
    return all(_content(measured.cell(index, name)) == _content(examples.cell(number, name)) for name in measured.media)


def _content(cell: Any) -> Any:
    """Return the content of a cell, whatever the name of its file."""
    return [_content(item) for item in cell] if isinstance(cell, list) else encoded_bytes(cell)
