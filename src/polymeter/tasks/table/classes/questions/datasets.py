"""Questions with open answers over a table: ``question``, and in ``answer`` one right answer, or a list of texts of
which each is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from polymeter.core.guest_context import guest_context
from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.guests.own_classes import own_class
from polymeter.reading.choices import UNPARSED
from polymeter.tasks.table.base import ImageBaseDataset, TextBaseDataset
from polymeter.tasks.table.classes.built_in import BuiltIn, EveryRow
from polymeter.tasks.table.classes.cells import column, list_of, references_of, required
from polymeter.tasks.table.classes.multiple_choice.reading import may_ask
from polymeter.tasks.table.classes.prediction_files import percentages, scored, side_file
from polymeter.tasks.table.classes.questions.scoring import (
    ACCURACY,
    ANLS,
    EXACT,
    JUDGED,
    RELAXED,
    VQA,
    VQA_EQUAL,
    by_judge,
    by_published_rules,
    by_rules,
    compared_parts,
    is_yes_or_no,
    main_metric,
    needs_no_judge,
    read_yes_or_no,
)
from polymeter.tasks.table.classes.results import sorted_results

if TYPE_CHECKING:
    import pandas as pd

ACC = "acc"
_SHORT = "\nAnswer the question using a single word or phrase."


@own_class
class OpenQuestions(BuiltIn):
    """Questions with open answers, with or without images. A mix-in for the base classes.

    Metrics:
        ``exact_match``: equal to a reference, apart from letter case, a closing full stop, and quotation marks around
        the whole. ``vqa_match``: equal after the VQA challenge's normalisation. ``anls``: similarity to the nearest
        one. ``vqa_accuracy`` if a question has ten references. ``relaxed_accuracy`` and ``accuracy`` for the datasets
        that are reported by them (by name: ChartQA; OCRVQA and GQA). ``judge_acc`` if the run has a judge: the share
        that equals a reference or means the same by the judge's grade.

    A class that derives from these, ``evaluate``, and a run at parity follow VLMEvalKit: ``exact_match`` is
    ``vqa_match``, and any list in a cell names several references.

    If all answers of a table are yes or no: ``acc``, and ``unparsed``, the share of answers that say neither and that
    no judge read; they count as wrong.
    """

    TYPE = "VQA"
    METRICS: ClassVar[dict[str, bool]] = {
        **dict.fromkeys((EXACT, VQA_EQUAL, ACCURACY, RELAXED, VQA, ANLS, JUDGED, ACC), True),
        UNPARSED: False,
    }

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The images of a row, then its hint if it has one, and its question, with nothing added.

        Args:
            line: A row, or its position.
        """
        row = self._row(line)
        hint = column(row, "hint")
        question = required(row, "question")
        return [*self.images_of(row), {"type": "text", "value": f"Hint: {hint}\n{question}" if hint else question}]

    def evaluate_sample(self, line: Mapping[str, Any], prediction: Any, **judge_kwargs: Any) -> dict[str, Any]:
        """Score the answer to one row; see the class for the metrics.

        Raises:
            UnscoredError: if the judge gave no verdict.
        """
        is_published = not self._is_own or guest_context().parity.on("vqa-equality")
        return self._scored(line, str(prediction), may_ask(judge_kwargs), is_published)

    def references(self, line: Mapping[str, Any]) -> list[str]:
        """The right answers to a row."""
        return references_of(line, "answer")

    def extract(self, answer: str) -> dict[str, str]:
        """The part of an answer that each metric by our rules compares; see ``by_rules``."""
        if not self._is_own or guest_context().parity.on("vqa-equality"):
            return {}
        return compared_parts(answer)

    def results(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """The metrics over all questions and by ``split``, ``l2-category`` and ``category``."""
        metrics = {ACC: True, UNPARSED: False} if self._is_yes_no else self.METRICS
        return sorted_results(rows, self.data, metrics, context)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> pd.DataFrame:
        """One row of scores in percent of a prediction file, kept beside it as ``…_acc.csv``: ``Overall``, then by
        split, or by category if there are no splits, in the metric by which the dataset is reported.

        One of several references has to match. (VLMEvalKit takes the share of references that match, except for the
        datasets that it names.)

        Args:
            eval_file: The file.
            **judge_kwargs: ``model`` names the judge, ``nproc`` how many rows are scored at a time.

        Raises:
            DataError: if the file holds no predictions.
            PlanError: if a judge is named, but the run has none.
        """
        from polymeter.data.formats import dump

        nproc = judge_kwargs.pop("nproc", None)
        metric = JUDGED if may_ask(judge_kwargs) else main_metric(self.dataset_name)
        is_judged = may_ask(judge_kwargs)

        def score(line: Mapping[str, Any], answer: str) -> Mapping[str, Any]:
            if not self._is_own:
                return self.evaluate_sample(line, answer, **judge_kwargs)
            return self._scored(line, answer, is_judged, is_published=True)

        data = scored(eval_file, score, nproc)
        table = self._percentages(data, metric)
        dump(table, side_file(eval_file, "_acc.csv"))
        return table

    def reported(self, data: pd.DataFrame) -> pd.DataFrame:
        """VLMEvalKit's table of scores in percent: the judge's if there is one, else those by which the dataset is
        reported.

        Args:
            data: The rows, with a column for each metric of ``evaluate_sample``; NaN where a row has none.
        """
        return self._percentages(data, JUDGED if JUDGED in data.columns else main_metric(self.dataset_name))

    def _percentages(self, data: pd.DataFrame, metric: str) -> pd.DataFrame:
        if self._is_yes_no:
            return percentages(data, ACC, by=("category", "l2-category"))
        return percentages(data, metric, by=("split",) if "split" in data.columns else ("category",))

    @property
    def _is_yes_no(self) -> bool:
        """True if all references of the table are yes or no; computed once for each table."""
        cached = self.__dict__.get("_yes_no_of")
        data = self.data
        if cached is None or cached[0] is not data:
            cells = data.get("answer", ())
            answers = {text for cell in cells for text in references_of({"answer": cell}, "answer")}
            cached = (data, bool(answers) and all(map(is_yes_or_no, answers)))
            self.__dict__["_yes_no_of"] = cached
        return bool(cached[1])

    def _scored(self, line: Mapping[str, Any], answer: str, is_judged: bool, is_published: bool) -> dict[str, Any]:
        """The score of an answer by our rules, or by those of VLMEvalKit."""
        references = list_of(line, "answer") if is_published else self.references(line)
        if not references:
            return {"explanation": "This row has no 'answer' to compare with."}
        if self._is_yes_no:
            return self._score_yes_no(line, references, answer, is_judged)
        rules = by_published_rules if is_published else by_rules
        values = rules(references, answer, main_metric(self.dataset_name))
        how = "rules"
        if is_judged:
            is_right = values[EXACT] == 1 if is_published else needs_no_judge(references, answer)
            values[JUDGED] = by_judge(references, answer, column(line, "question"), is_right=is_right)
            how = "rules" if is_right else "judge"
        return {**values, "explanation": f"how compared: {how}; right: {' or '.join(dict.fromkeys(references))}"}

    def _score_yes_no(
        self, line: Mapping[str, Any], references: list[str], answer: str, is_judged: bool
    ) -> dict[str, Any]:
        is_own = self._is_own and not guest_context().parity.on("yes-no-reading")
        rules: Literal["own", "published"] = "own" if is_own else "published"
        reading = read_yes_or_no(answer, column(line, "question"), is_judged=is_judged, rules=rules)
        is_right = reading.option is not None and reading.option.lower() == references[0].strip().lower()
        explanation = f"how read: {reading.how}; said: {reading.option or 'neither yes nor no'}; right: {references[0]}"
        return {
            ACC: float(is_right),
            UNPARSED: float(reading.how == "none"),
            "answer": reading.option or "",
            "explanation": explanation,
        }


@own_class
class CustomVQADataset(OpenQuestions, EveryRow):
    """Questions about images, from a table without a URL."""


@own_class
class TextQADataset(OpenQuestions, TextBaseDataset):
    """Questions without images."""


@own_class
class ImageVQADataset(OpenQuestions, ImageBaseDataset):
    """Questions about images whose prompts ask for short answers."""

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The question, followed by VLMEvalKit's instruction to answer in a word or phrase."""
        *others, question = super().build_prompt(line)
        return [*others, {**question, "value": question["value"] + _SHORT}]


@own_class
class ImageYORNDataset(OpenQuestions, ImageBaseDataset):
    """Questions about images whose answers are yes or no."""

    TYPE = "Y/N"

    @property
    def _is_yes_no(self) -> bool:
        return True
