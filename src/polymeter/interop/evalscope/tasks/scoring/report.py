"""The report of a benchmark: a tree of metrics, categories and subsets with scores at every level.

``Report → Metric → Category → Subset``, in the JSON of EvalScope 0.17. Scores are computed when a node is made, from
the nodes below it, and rounded to four digits at every level before they are averaged. A score of NaN is missing: it is
left out of the means above it and is ``null`` in the JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Text
from polymeter.core.errors import DataError, ScoreError
from polymeter.core.guest_context import current_role_client
from polymeter.core.request import Generate, Message, Request
from polymeter.core.role_client import RoleClient
from polymeter.core.text.json_text import as_number, json_text
from polymeter.interop.evalscope.tasks.scoring.metrics import macro_mean, micro_mean
from polymeter.judge.prompts import ANALYSIS_PROMPT

if TYPE_CHECKING:
    import pandas

__all__ = ["Category", "Metric", "Report", "ReportGenerator", "ReportKey", "Subset"]

_DIGITS = 4
_MOST_ANALYSIS_TOKENS = 2048


class ReportKey:
    """Names of the columns of a report's table."""

    model_name = "Model"
    dataset_name = "Dataset"
    metric_name = "Metric"
    category_name = "Category"
    category_prefix = "Cat."
    subset_name = "Subset"
    num = "Num"
    score = "Score"
    raw_score = "Raw Score"
    display_score = "Display Score"
    overall_score = "OVERALL"


@dataclass
class Subset:
    """One number: a metric over a subset.

    Attributes:
        name: Of the subset.
        score: The number, rounded; NaN where no sample was scored.
        num: Samples it rests on.
    """

    name: str = "default_subset"
    score: float = 0.0
    num: int = 0

    def __post_init__(self) -> None:
        self.score = _rounded(self.score)


@dataclass
class Category:
    """Subsets that belong together.

    Attributes:
        name: Levels, from the widest to the narrowest.
        num: Samples of its subsets.
        score: Mean over samples.
        macro_score: Mean over subsets.
        subsets: In the order in which they were given.
    """

    name: Sequence[str] = ()
    num: int = 0
    score: float = 0.0
    macro_score: float = 0.0
    subsets: list[Subset] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.name = (self.name,) if isinstance(self.name, str) else tuple(self.name)
        self.num, self.score, self.macro_score = _totals(self.subsets)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Category:
        """The category of a report's JSON; scores above its subsets are computed again."""
        return cls(name=data["name"], subsets=[_leaf(**subset) for subset in data.get("subsets", [])])


@dataclass
class Metric:
    """One metric over all subsets.

    Attributes:
        name: Of the metric.
        num: Samples of its categories.
        score: Mean over samples.
        macro_score: Mean over categories; with one category that is the mean over samples.
        categories: In order of their names.
    """

    name: str = "default_metric"
    num: int = 0
    score: float = 0.0
    macro_score: float = 0.0
    categories: list[Category] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.num, self.score, self.macro_score = _totals(self.categories)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Metric:
        """The metric of a report's JSON; scores above its subsets are computed again."""
        return cls(name=data["name"], categories=list(map(Category.from_dict, data.get("categories", []))))


@dataclass
class Report:
    """The scores of one model on one benchmark.

    Attributes:
        name: ``<model>@<benchmark>``.
        dataset_name: The benchmark's name.
        dataset_pretty_name: For readers.
        dataset_description: What it measures.
        model_name: The model's name.
        score: The first metric's mean over samples.
        metrics: In the order in which they were first computed.
        analysis: What a judge wrote about the report.

    Raises:
        ScoreError: if there is no metric.
    """

    name: str = "default_report"
    dataset_name: str = "default_dataset"
    dataset_pretty_name: str | None = ""
    dataset_description: str | None = ""
    model_name: str = "default_model"
    score: float = 0.0
    metrics: list[Metric] = field(default_factory=list)
    analysis: str = "N/A"

    def __post_init__(self) -> None:
        if not self.metrics:
            raise ScoreError(
                f"The report {self.name!r} has no metric.", hint="compute_metric has to give at least one for a subset."
            )
        self.score = self.metrics[0].score

    def to_dict(self) -> dict[str, Any]:
        """The whole tree as dictionaries and lists."""
        return asdict(self)

    def to_json_str(self) -> str:
        """The report as JSON, indented; a score of NaN is ``null``."""
        return json_text(self.to_dict(), indent=4, nan=None)

    def to_json(self, json_file: str | Path) -> None:
        """Write the report; folders are made as needed."""
        path = Path(json_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.to_json_str(), encoding="utf-8")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """The report of a dictionary that ``to_dict`` or a JSON file gave; scores are computed again.

        Raises:
            DataError: if it is not a report.
        """
        try:
            return cls(
                name=data["name"],
                dataset_name=data["dataset_name"],
                dataset_pretty_name=data.get("dataset_pretty_name"),
                dataset_description=data.get("dataset_description"),
                model_name=data["model_name"],
                metrics=list(map(Metric.from_dict, data.get("metrics", []))),
                analysis=data.get("analysis", "N/A"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"This is not a report: {error}.") from error

    @classmethod
    def from_json(cls, json_file: str | Path) -> Report:
        """The report of a file that ``to_json`` wrote.

        Raises:
            DataError: if the file holds no report.
        """
        try:
            data = json.loads(Path(json_file).read_text(encoding="utf-8"))
            return cls.from_dict(data)
        except (OSError, ValueError, DataError, ScoreError) as error:
            raise DataError(f"{json_file} holds no report: {error}") from error

    @classmethod
    def as_written(cls, json_file: str | Path) -> Report:
        """The report of a file with the scores that stand in it, also where an adapter's ``gen_report`` has set others
        than follow from the subsets.

        Raises:
            DataError: if the file holds no report.
        """
        report = cls.from_json(json_file)
        _restore(report, json.loads(Path(json_file).read_text(encoding="utf-8")))
        return report

    def generate_analysis(self, judge_llm_config: Any = None) -> str:
        """Have the run's judge write about this report; what it writes is kept in ``analysis``.

        Args:
            judge_llm_config: Not used: the run names its judge.

        Raises:
            ScoreError: if the judge did not answer.
            PlanError: if the run has no judge.
        """
        self.analysis = analyse(self, current_role_client())
        return self.analysis

    def to_dataframe(
        self, flatten_metrics: bool = True, flatten_categories: bool = True, add_overall_metric: bool = False
    ) -> pandas.DataFrame:
        """The report as a table, one row for each metric and subset.

        Args:
            flatten_metrics: Rows of all metrics, not of the first alone.
            flatten_categories: A column ``Cat.0``, ``Cat.1``, … for each level, not one ``Category`` of tuples.
            add_overall_metric: A row ``OVERALL`` after the rows of a metric that has more than one.
        """
        import pandas

        rows = report_rows(self, flatten_metrics, flatten_categories, add_overall_metric)
        if not rows:
            return pandas.DataFrame()
        # Text stays objects: a level that is missing from a category is None, which newer releases of pandas make NaN.
        numbers = {ReportKey.num: int, ReportKey.score: float}
        return pandas.DataFrame(rows, dtype=object).astype(numbers)


class ReportGenerator:
    """Makes reports of what was computed for subsets."""

    @staticmethod
    def gen_report(
        subset_score_map: Mapping[str, list[dict[str, Any]]], model_name: str, data_adapter: Any, **_: Any
    ) -> Report:
        """The report of a benchmark.

        Args:
            subset_score_map: Subset → what ``compute_metric`` gave: ``{"metric_name": …, "score": …, "num": …}``.
            model_name: The model's name.
            data_adapter: Of it ``name``, ``pretty_name``, ``description`` and ``category_map`` are read: subset →
                category, a name or a list of levels; a subset that is not in it belongs to ``default``.

        Raises:
            ScoreError: if a score is not a number, or there is none at all.
        """
        tree: dict[str, dict[tuple[str, ...], list[Subset]]] = {}
        for subset, scores in subset_score_map.items():
            levels = data_adapter.category_map.get(subset, ("default",))
            category = (levels,) if isinstance(levels, str) else tuple(levels)
            for entry in scores:
                _check_score(entry, subset)
                leaf = _leaf(subset, entry["score"], entry["num"])
                tree.setdefault(entry["metric_name"], {}).setdefault(category, []).append(leaf)
        metrics = [
            Metric(name=name, categories=[Category(name=key, subsets=by[key]) for key in sorted(by)])
            for name, by in tree.items()
        ]
        return Report(
            name=f"{model_name}@{data_adapter.name}",
            metrics=metrics,
            dataset_name=data_adapter.name,
            model_name=model_name,
            dataset_description=data_adapter.description,
            dataset_pretty_name=data_adapter.pretty_name,
        )


def report_rows(
    report: Any,
    flatten_metrics: bool = True,
    flatten_categories: bool = True,
    add_overall_metric: bool = False,
    is_shown: Callable[[Any], bool] = lambda subset: True,
) -> list[dict[str, Any]]:
    """The rows of a report's table, all with the same columns; see ``Report.to_dataframe``.

    Args:
        report: A report of either generation.
        flatten_metrics: Rows of all metrics, not of the first alone.
        flatten_categories: A column for each level of categories.
        add_overall_metric: A row ``OVERALL`` after the rows of a metric that has more than one, unless it has one.
        is_shown: Whether a subset has a row.
    """
    rows = []
    for metric in report.metrics if flatten_metrics else report.metrics[:1]:
        leaves = [
            (category.name, subset.name, subset.num, subset.score)
            for category in metric.categories
            for subset in category.subsets
            if is_shown(subset)
        ]
        if add_overall_metric and len(leaves) > 1 and all(leaf[1] != ReportKey.overall_score for leaf in leaves):
            leaves.append((("-",), ReportKey.overall_score, metric.num, metric.score))
        rows += [_report_row(report, metric.name, *leaf) for leaf in leaves]
    return _with_levels(rows) if flatten_categories else rows


def analyse(report: Any, role_client: RoleClient) -> str:
    """A judge's text about a report: for readers, never a score.

    Args:
        report: What it is about.
        role_client: Asks the model in the role ``judge``.

    Raises:
        ScoreError: if the judge did not answer.
        PlanError: if the run has no judge.
    """
    prompt = ANALYSIS_PROMPT.replace("{report}", report.to_json_str())
    parameters = Generate(max_new_tokens=_MOST_ANALYSIS_TOKENS, temperature=0.0)
    response = role_client("judge", Request((Message("user", (Text(prompt),)),), parameters))
    if response.error is not None:
        raise ScoreError(f"The judge wrote no analysis of {report.name!r}: {response.error.message}")
    return response.text.strip()


def _report_row(
    report: Any, metric: str, category: Sequence[str], subset: str, num: int, score: float
) -> dict[str, Any]:
    return {
        ReportKey.model_name: report.model_name,
        ReportKey.dataset_name: report.dataset_name,
        ReportKey.metric_name: metric,
        ReportKey.category_name: category,
        ReportKey.subset_name: subset,
        ReportKey.num: num,
        ReportKey.score: score,
    }


def _with_levels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with a column for each level of their categories."""
    depth = max((len(row[ReportKey.category_name]) for row in rows), default=0)
    for row in rows:
        levels = row.pop(ReportKey.category_name)
        row.update({f"{ReportKey.category_prefix}{i}": levels[i] if i < len(levels) else None for i in range(depth)})
    return rows


def _restore(node: Any, data: Mapping[str, Any]) -> None:
    """Put numbers as they were written into a node and all nodes below it."""
    for name in ("num", "score", "macro_score"):
        if name in data:
            setattr(node, name, math.nan if data[name] is None else as_number(data[name]))
    for name in ("metrics", "categories", "subsets"):
        for below, item in zip(getattr(node, name, ()), data.get(name, ()), strict=True):
            _restore(below, item)


def _totals(parts: list[Any]) -> tuple[int, float, float]:
    return sum(part.num for part in parts), _rounded(micro_mean(parts)), _rounded(macro_mean(parts))


def _rounded(score: float) -> float:
    """Four digits; an integer stays one."""
    return score if isinstance(score, int) else round(float(score), _DIGITS)


def _leaf(name: str, score: float | None, num: int) -> Subset:
    return Subset(name, math.nan if score is None else as_number(score), int(num))


def _check_score(entry: Mapping[str, Any], subset: str) -> None:
    score = entry["score"]
    if score is not None and not hasattr(score, "__float__"):
        raise ScoreError(
            f"The score of metric {entry['metric_name']!r} is {type(score).__name__}, not a number.",
            where=f"subset {subset!r}",
            hint="compute_metric gives one entry for each number.",
        )
