"""The examples before a question: rows are chosen (``samplers``) and written as turns (``prompts``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polymeter.core.errors import PlanError, PolymeterError, enumerated
from polymeter.core.format import OpenContext
from polymeter.core.task import Samples
from polymeter.guests import resolve
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig
from polymeter.interop.lm_eval.tasks.contexts.prompts import PromptTurn, example_turns
from polymeter.interop.lm_eval.tasks.contexts.samplers import FIRST_N, NAMES, ClassRows, Doc, DrawnRows, ReadAhead
from polymeter.interop.lm_eval.tasks.docs import TaskDocs
from polymeter.interop.lm_eval.tasks.fields import FieldFunctions, bind_examples
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, seed_of
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.same_question import as_shown

_MOST_LOOKED_AT = 2000
_MOST_KEPT = 20_000
"""Examples whose turns are kept, so that they take the same memory however many rows there are."""


@dataclass(frozen=True, slots=True)
class ShownTask:
    """A task whose questions have examples.

    Attributes:
        config: The task.
        docs: Its rows.
        samples: Its samples.
        offset: The position of the sample for which the first examples are drawn.
        n: How many examples come before a question.
        has_several_inputs: Whether each choice is a question of its own.
        is_written: Whether rows hold what is written in their files.
    """

    config: LmTaskConfig
    docs: TaskDocs
    samples: Samples
    offset: int
    n: int
    has_several_inputs: bool = False
    is_written: bool = False

    @property
    def leaves_out_by_rule(self) -> bool:
        """True if lm-eval leaves out the question: if it measures the split that examples come from, by name."""
        return self.config.examples.split == self.config.test_split


def examples(
    shown: ShownTask, fields: FieldFunctions, context: OpenContext, options: LmRunOptions, locate: Locate
) -> Callable[[int], Sequence[PromptTurn]]:
    """From the position of a sample to the turns of its examples.

    Raises:
        PlanError: if the sampler is unknown, or there are too few rows.
    """
    config, pool, n = shown.config, shown.docs.pool, shown.n
    assert pool is not None  # opened whenever examples are needed
    told, offset = config.examples, shown.offset
    columns = shown.docs.measured.columns
    has_blanks = pool.has_blanks or shown.is_written
    forms = bind_examples(config, fields, columns, locate, has_blanks=has_blanks, is_written=shown.is_written)
    rows, measured = ReadAhead(pool), ReadAhead(shown.docs.measured)
    is_whole = len(shown.samples) == len(measured)

    def question(position: int) -> Doc:
        return measured[position + offset] if is_whole else shown.samples[position + offset].doc

    is_own = shown.docs.is_pool_measured and not context.parity.on("fewshot-leak")
    left_out = question if shown.leaves_out_by_rule or is_own else None
    seed = seed_of(options.fewshot_seed, context)
    turns = partial(
        example_turns,
        fields=forms,
        target_delimiter=told.target_delimiter,
        fewshot_delimiter=told.fewshot_delimiter,
        has_several_inputs=shown.has_several_inputs,
        task=config.task,
    )
    if not isinstance(told.sampler, str):
        chosen = ClassRows(resolve(told.sampler), rows, n, seed, left_out, task=config.task)
        return lambda index: [turn for row in chosen.of(max(index - offset, 0)) for turn in turns(row)]
    if told.sampler not in NAMES:
        raise PlanError(
            f"There is no few-shot sampler {told.sampler!r}.",
            where=locate("fewshot_config"),
            hint=f"Known: {', '.join(NAMES)}, or a !function that names a class.",
        )
    drawn = DrawnRows(rows, n, seed, left_out, is_first=told.sampler == FIRST_N, task=config.task)
    sees_media = bool(pool.media) and forms.has_code
    made: dict[int, tuple[PromptTurn, ...]] = {}

    def turns_of(number: int) -> tuple[PromptTurn, ...]:
        known = made.get(number)
        if known is None:
            known = turns(pool.full_doc(number) if sees_media else rows[number])
            if not forms.has_code and len(made) < _MOST_KEPT:  # a function may give something else every time
                made[number] = known
        return known

    is_same = _same_question(shown, fields, question, rows) if not context.parity.on("fewshot-leak") else None
    return _WrittenExamples(drawn, turns_of, is_same, offset)


class _WrittenExamples:
    """From the position of a sample to the turns of its examples.

    Args:
        drawn: The numbers of the rows that are drawn.
        turns_of: From the number of a row to its turns.
        is_same: Whether an example is the question itself; ``None``: that is not looked at.
        offset: The position of the sample for which the first examples are drawn.
    """

    def __init__(
        self,
        drawn: DrawnRows,
        turns_of: Callable[[int], Sequence[PromptTurn]],
        is_same: Callable[[int, int], bool] | None,
        offset: int,
    ) -> None:
        self._drawn, self._turns_of, self._is_same, self._offset = drawn, turns_of, is_same, offset

    def __call__(self, index: int) -> list[PromptTurn]:
        position = max(index - self._offset, 0)
        numbers = [number for number in self._drawn.of(position) if not self._repeats(position, number)]
        return [turn for number in numbers for turn in self._turns_of(number)]

    def repeated(self, index: int) -> bool:
        """Return whether an example of a sample is left out because it is the question itself."""
        position = max(index - self._offset, 0)
        return any(self._repeats(position, number) for number in self._drawn.of(position))

    def _repeats(self, position: int, number: int) -> bool:
        return self._is_same is not None and self._is_same(position, number)


def repeated_notes(written: Callable[[int], Sequence[PromptTurn]] | None, indices: Sequence[int]) -> list[str]:
    """A note if examples are left out because they are the question itself.

    Args:
        written: From the position of a sample to the turns of its examples.
        indices: The positions that are measured.
    """
    if not isinstance(written, _WrittenExamples):
        return []
    looked_at = indices[:_MOST_LOOKED_AT]
    found = [index for index in looked_at if written.repeated(index)]
    if not found:
        return []
    return [
        f"{len(found)} of {len(looked_at)} samples: an example that was drawn asks the same question "
        f"({enumerated('sample', found)}) and is left out."
    ]


def _same_question(
    shown: ShownTask, fields: FieldFunctions, question: Callable[[int], Doc], rows: ReadAhead
) -> Callable[[int, int], bool] | None:
    """From the position of a question and the number of an example's row to whether the example is the question, with
    its answer; ``None`` if code or media make that a matter of more than text.
    """
    config, pool = shown.config, shown.docs.pool
    forms = (config.doc_to_text, config.doc_to_choice, config.examples.doc_to_text)
    if any(map(callable, forms)) or pool is None or pool.media or config.use_prompt is not None:
        return None

    def asked(row: Doc) -> Any:
        text = fields.text(row)
        return None if not as_shown(text) else (as_shown(text), list(map(as_shown, fields.choices(row))))

    def is_same(position: int, number: int) -> bool:
        try:
            own = asked(question(position))
            return own is not None and own == asked(rows[number])
        except PolymeterError:  # a row that has no prompt fails by itself, with its reason
            return False

    return is_same


def example_notes(shown: ShownTask, context: OpenContext) -> list[str]:
    """Return notes on examples that are drawn from the measured rows although the task does not name their split."""
    if not shown.docs.is_pool_measured or shown.leaves_out_by_rule:
        return []
    if context.parity.on("fewshot-leak"):
        return ["its examples are drawn from the measured rows, and a question may be among its own examples."]
    return ["its examples are drawn from the measured rows; the question itself is left out."]
