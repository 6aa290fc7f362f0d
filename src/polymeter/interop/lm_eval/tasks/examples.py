"""The examples before a question: rows are chosen (``samplers``) and written as turns (``prompts``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.records import dataclass
from polymeter.core.task import Samples
from polymeter.guests import resolve
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig, Locate
from polymeter.interop.lm_eval.tasks.docs import TaskDocs
from polymeter.interop.lm_eval.tasks.fields import Fields, bind_examples
from polymeter.interop.lm_eval.tasks.prompts import Turn, example_turns
from polymeter.interop.lm_eval.tasks.samplers import FIRST_N, NAMES, ClassRows, Doc, DrawnRows, ReadAhead
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, seed_of

_MOST_KEPT = 20_000
"""Examples whose turns are kept, so that they take the same memory however many rows there are."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A task whose questions have examples.

    Attributes:
        config: The task.
        docs: Its rows.
        samples: Its samples.
        offset: The position of the sample for which the first examples are drawn.
        n: How many examples come before a question.
        has_several_inputs: Whether each choice is a question of its own.
    """

    config: LmTaskConfig
    docs: TaskDocs
    samples: Samples
    offset: int
    n: int
    has_several_inputs: bool = False

    @property
    def leaves_out_by_rule(self) -> bool:
        """Whether lm-eval leaves out the question: where it measures the split that examples come from, by name."""
        return self.config.examples.split == self.config.test_split


def examples(
    shown: Shown, fields: Fields, context: OpenContext, options: LmRunOptions, locate: Locate
) -> Callable[[int], Sequence[Turn]]:
    """From the position of a sample to the turns of its examples.

    Raises:
        PlanError: if the sampler is unknown, or there are too few rows.
    """
    config, pool, n = shown.config, shown.docs.pool, shown.n
    assert pool is not None  # opened whenever examples are wanted
    told, offset = config.examples, shown.offset
    forms = bind_examples(config, fields, shown.docs.measured.columns, locate)
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
    made: dict[int, tuple[Turn, ...]] = {}

    def turns_of(number: int) -> tuple[Turn, ...]:
        known = made.get(number)
        if known is None:
            known = turns(pool.full_doc(number) if sees_media else rows[number])
            if not forms.has_code and len(made) < _MOST_KEPT:  # a function may give something else every time
                made[number] = known
        return known

    return lambda index: [turn for number in drawn.of(max(index - offset, 0)) for turn in turns_of(number)]


def example_notes(shown: Shown, context: OpenContext) -> list[str]:
    """What to tell of examples that are drawn from the measured rows although the task does not name their split."""
    if not shown.docs.is_pool_measured or shown.leaves_out_by_rule:
        return []
    if context.parity.on("fewshot-leak"):
        return ["its examples are drawn from the measured rows, and a question may be among its own examples."]
    return ["its examples are drawn from the measured rows; the question itself is left out."]
