"""Multiple choice over a table: a question, options ``A``, ``B``, … and in ``answer`` the letter of the right one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context
from polymeter.core.task import ReduceContext, Result, SampleStatus, Score, ScoredRow
from polymeter.guests.own_classes import own_class
from polymeter.metrics.choice_targets import letter_of
from polymeter.metrics.option_letters import lettered_options
from polymeter.reading.choices import UNPARSED
from polymeter.reading.choices.option_texts import has_equal
from polymeter.tasks.table.base import ImageBaseDataset, TextBaseDataset
from polymeter.tasks.table.classes.built_in import BuiltIn, EveryRow
from polymeter.tasks.table.classes.cells import cell_name_of, column, is_empty, options_of, required
from polymeter.tasks.table.classes.columns import OPTION_COLUMNS
from polymeter.tasks.table.classes.multiple_choice import circular
from polymeter.tasks.table.classes.multiple_choice.reading import (
    EXACT_MATCHING,
    OptionRead,
    Rules,
    may_ask,
    read_choice,
)
from polymeter.tasks.table.classes.multiple_choice.table import HIT, accuracy_table
from polymeter.tasks.table.classes.prediction_files import scored, side_file
from polymeter.tasks.table.classes.results import ROTATION, sorted_results
from polymeter.tasks.table.files.roots import file_stem

if TYPE_CHECKING:
    import pandas as pd

ACC, CIRCULAR = "acc", "circular_acc"
_OTHER = "Other Answers"
_LONGEST_OPTION = 40
_LOOKED_AT = 2000


@own_class
class MultipleChoice(BuiltIn):
    """Multiple choice with or without images. A mix-in for the base classes.

    Metrics:
        ``acc``: share of questions answered right, options in their original order. If the table has rotated copies of
        its questions, also ``circular_acc``: share of questions answered right in every rotation, and
        ``rotation_acc``: share of all copies answered right. ``unparsed``: share of answers in which the rules
        found no option and that no judge read; they count as wrong, and never as a randomly chosen option.
    """

    TYPE = "MCQ"
    METRICS: ClassVar[dict[str, bool]] = {ACC: True, CIRCULAR: True, ROTATION: True, UNPARSED: False}

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The images of a row, then hint, question, options and an instruction, as VLMEvalKit words them.

        Args:
            line: A row, or its position.
        """
        row = self._row(line)
        return [*self.images_of(row), {"type": "text", "value": prompt_of(row)}]

    def expand(self, data: pd.DataFrame) -> pd.DataFrame:
        """The rows of circular evaluation: each question followed by its rotations, unless the table has them.

        Raises:
            DataError: if an index is not a whole number.
        """
        if circular.has_rotations(data):
            return data
        self.__dict__["_shares_images"] = True
        return circular.with_rotations(data, OPTION_COLUMNS)

    def images_of(self, row: Any) -> list[dict[str, str]]:
        """The images of a row. Rotations that ``expand`` made share the files of their question."""
        if self.__dict__.get("_shares_images"):
            row = {**row, "index": row[circular.GROUP]}
        return super().images_of(row)

    def cluster(self, line: Mapping[str, Any]) -> str | None:
        """The cluster of a question's rotations; ``None`` if there are none."""
        return circular.group_of(line) if self._is_circular else None

    def evaluate_sample(self, line: Mapping[str, Any], prediction: Any, **judge_kwargs: Any) -> dict[str, Any]:
        """Score the answer to one row; see the class for the metrics.

        Raises:
            DataError: if the row's ``answer`` is not one of its options.
            UnscoredError: if the judge gave no verdict.
        """
        reference = right_letter(line)
        is_judged = reference is not None and may_ask(judge_kwargs)
        reading = _option_in(line, str(prediction), is_judged=is_judged, rules=self._rules)
        if reference is None:
            return {"answer": reading.option or "", "explanation": "This row has no 'answer' to compare with."}
        hit = float(reading.option == reference)
        values = {ROTATION: hit} if self._is_circular else {}
        if not self._is_circular or circular.is_original(line):
            values[ACC] = hit
        values[UNPARSED] = float(reading.how == "none")
        return {**values, "answer": reading.option or "", "explanation": _explained(reading, reference)}

    def check_rows(self, rows: range, *, has_judge: bool) -> None:
        """Check before anything is asked that rows say which option is right. A single one that does not is an error of
        its own, unless the option that it names is empty.

        Raises:
            PlanError: if none does, or one names an empty option; the message shows the first.
        """
        first: DataError | None = None
        is_any = False
        for number, line in enumerate(self.data.iloc[rows.start : rows.stop].to_dict("records")):
            if is_any and number >= _LOOKED_AT:
                return
            try:
                is_any = right_letter(line) is not None or is_any
            except DataError as error:
                _refuse_empty_option(line)
                first = first or error
        if first is not None and not is_any:
            raise PlanError(first.what, where=first.where, hint=first.hint) from first

    def results(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """The metrics over all questions and by ``split``, ``l2-category`` and ``category``."""
        if not self._is_circular:
            return sorted_results(rows, self.data, self.METRICS, context)
        kept = list(rows)
        results = sorted_results(kept, self.data, self.METRICS, context)
        groups = circular.groups_of(self.data)
        results += sorted_results(_questions(kept, groups), self.data, {CIRCULAR: True}, context)
        order, planned = [*self.METRICS], _planned(kept, groups)
        results = [replace(item, n_planned=None if item.subset else planned.get(item.metric)) for item in results]
        return sorted(results, key=lambda result: order.index(result.metric) if result.metric in order else len(order))

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> pd.DataFrame:
        """Accuracies by split and category of a prediction file, kept beside it as ``…_acc.csv``.

        If the table has rotated copies of its questions, a question is right if all its rotations are, as VLMEvalKit
        reports MMBench; a column ``protocol`` says so, and rows with the plain accuracy follow.

        Args:
            eval_file: The file.
            **judge_kwargs: ``model`` names the judge (``exact_matching``: rules alone), ``nproc`` how many rows are
                read at a time.

        Raises:
            DataError: if the file holds no predictions.
            PlanError: if a judge is named, but the run has none.
        """
        from polymeter.data.formats import dump

        nproc = judge_kwargs.pop("nproc", None)
        may_ask(judge_kwargs)
        data = scored(eval_file, lambda line, answer: self.evaluate_sample(line, answer, **judge_kwargs), nproc)
        data[HIT] = data[ROTATION] if ROTATION in data.columns else data.get(ACC, math.nan)
        reader = file_stem(judge_kwargs.get("model") or EXACT_MATCHING)
        dump(data, side_file(eval_file, f"_{reader}_result{Path(eval_file).suffix}"))
        table = self.reported(data)
        dump(table, side_file(eval_file, "_acc.csv"))
        return table

    def reported(self, data: pd.DataFrame) -> pd.DataFrame:
        """VLMEvalKit's table of accuracies.

        Args:
            data: The rows, with a column for each metric of ``evaluate_sample``; NaN where a row has none.
        """
        hits = data[ROTATION] if ROTATION in data.columns else data.get(ACC, math.nan)
        with_hits = data.assign(**{HIT: hits})
        return _circular_table(with_hits) if self._is_circular else accuracy_table(with_hits)

    def notes(self) -> Iterator[str]:
        """A note if rows have options that are the same text."""
        data = self.data
        shown = data.head(_LOOKED_AT).to_dict("records")
        equal = [column(line, "index") for line in shown if has_equal([*options_of(line).values()])]
        if equal:
            yield (
                f"{len(equal)} of the {len(shown)} rows looked at have equal options (the first is row {equal[0]}). "
                "There an answer can choose them by letter only."
            )

    @property
    def _rules(self) -> Rules:
        """The system whose rules read an answer: Polymeter, but VLMEvalKit for guests' classes and at parity."""
        is_own = self._is_own and not guest_context().parity.on("choice-reading")
        return "own" if is_own else "published"

    @property
    def _is_circular(self) -> bool:
        """True if the table has rotated copies of its questions; computed once for each table."""
        cached = self.__dict__.get("_rotations_of")
        data = self.data
        if cached is None or cached[0] is not data:
            cached = (data, circular.has_rotations(data))
            self.__dict__["_rotations_of"] = cached
        return bool(cached[1])


@own_class
class ImageMCQDataset(MultipleChoice, ImageBaseDataset):
    """Multiple choice over images."""


@own_class
class TextMCQDataset(MultipleChoice, TextBaseDataset):
    """Multiple choice without images."""


@own_class
class CustomMCQDataset(ImageMCQDataset, EveryRow):
    """Multiple choice over images, from a table without a URL."""


@own_class
class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice without images, from a table without a URL."""


def _planned(rows: Sequence[ScoredRow], groups: Sequence[tuple[str, bool]]) -> dict[str, int]:
    """Return the number of questions that each protocol would score if no sample had failed: those asked in their
    original order, and those asked in every rotation.
    """
    n_asked = Counter(groups[row.index][0] for row in rows)
    whole = sum(n_asked[group] == size for group, size in Counter(group for group, _ in groups).items())
    return {ACC: sum(groups[row.index][1] for row in rows), CIRCULAR: whole}


def _questions(rows: Sequence[ScoredRow], groups: Sequence[tuple[str, bool]]) -> list[ScoredRow]:
    """One row per question, with whether all its rotations were answered right. Its index is that of the question in
    its original order.
    """
    label = next((key[1] for row in rows if row.score for key in row.score.values), "none")
    hits = [
        (groups[row.index][0], float(row.score.values[ROTATION, label]))
        for row in rows
        if row.score is not None and (ROTATION, label) in row.score.values
    ]
    verdicts = circular.all_right(hits, Counter(group for group, _ in groups))
    originals = {group: index for index, (group, is_original) in enumerate(groups) if is_original}
    return [
        ScoredRow(group, originals[group], (), None, SampleStatus.OK, Score({(CIRCULAR, label): verdict}))
        for group, verdict in verdicts.items()
        if group in originals
    ]


def prompt_of(line: Mapping[str, Any]) -> str:
    """Hint, question, options and the instruction to choose; without options the question alone."""
    hint = column(line, "hint")
    lines = [f"Hint: {hint}\n"] if hint else []
    lines.append(f"Question: {required(line, 'question')}\n")
    options = options_of(line)
    if options:
        lines.append(lettered_options(options))
    return "".join(lines)


def right_letter(line: Mapping[str, Any]) -> str | None:
    """The letter of the right option: the row's ``answer``, or the option that has it as its text, or what it says in
    brackets or before a full stop. ``A`` for a row without options, ``None`` for one without an answer.

    Raises:
        DataError: if the answer is neither a letter nor the text of one option.
    """
    if is_empty(line.get("answer")):
        return None
    said = column(line, "answer").strip()
    options = options_of(line)
    if not options:
        return "A"
    if said.upper() in options:
        return said.upper()
    named = [letter for letter, text in options.items() if text.strip() == said]
    if len(named) == 1:
        return named[0]
    if letter_of(said) in options:
        return letter_of(said)
    shown = ", ".join(f"{letter} {text[:_LONGEST_OPTION]!r}" for letter, text in options.items())
    raise DataError(
        f"The answer {said[:80]!r} is none of the options {shown}.",
        where=cell_name_of(line, "answer"),
        hint="Write the letter of the right option (A is the first one), or its text as it stands in its column.",
    )


def _refuse_empty_option(line: Mapping[str, Any]) -> None:
    """Refuse a row whose answer is the letter of an option that is empty, which nobody can choose.

    Raises:
        PlanError: if it is one.
    """
    letter = column(line, "answer").strip().upper()
    if letter in OPTION_COLUMNS and letter in line and is_empty(line[letter]):
        raise PlanError(
            f"The answer {letter!r} of row {column(line, 'index')} names an option that is empty.",
            where=cell_name_of(line, "answer"),
            hint="Write the option into the data, or leave the row out.",
        )


def _option_in(line: Mapping[str, Any], answer: str, *, is_judged: bool, rules: Rules) -> OptionRead:
    """Read an answer. A row without options is an open question among multiple choice, as in MMMU: its options are then
    the right answer and "other answers", but an answer cannot name them by letter.
    """
    options = options_of(line)
    choices = options or {"A": column(line, "answer"), "B": _OTHER}
    question = column(line, "question")
    return read_choice(answer, choices, question, is_judged=is_judged, by_letter=bool(options), rules=rules)


def _explained(reading: OptionRead, reference: str) -> str:
    if reading.how == "none":
        return f"how read: none (the answer names no option by the rules, and no judge read it); right: {reference}"
    return f"how read: {reading.how}; chosen: {reading.option or 'no option'}; right: {reference}"


def _circular_table(data: pd.DataFrame) -> pd.DataFrame:
    """Accuracies by both protocols, the circular one first."""
    import pandas as pd

    groups = circular.groups_of(data)
    hits = [(group, hit) for (group, _), hit in zip(groups, data[HIT], strict=True) if not math.isnan(hit)]
    verdicts = circular.all_right(hits, Counter(group for group, _ in groups))
    plain = data[[is_original for _, is_original in groups]]
    whole = plain.assign(**{HIT: [verdicts.get(group, math.nan) for group, is_original in groups if is_original]})
    tables = {"circular": accuracy_table(whole), "plain": accuracy_table(plain)}
    return pd.concat([table.assign(protocol=name) for name, table in tables.items()], ignore_index=True)
