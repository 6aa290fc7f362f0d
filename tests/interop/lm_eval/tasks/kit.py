"""Scorers of lm-eval's tasks for tests: a configuration as plain data, and rows whose columns are the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.task import ReduceContext, Result, SampleStatus, Score, ScoredRow, TaskSpec
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import LmEvalScorer, TaskFacts, make_scorer
from polymeter.interop.lm_eval.tasks.scoring.reduction import reduce


@dataclass
class Columns:
    """Fields that are columns of the row, or the same value for all."""

    config: Mapping[str, Any]

    @property
    def has_choices(self) -> bool:
        return "doc_to_choice" in self.config

    def text(self, doc: Mapping[str, Any]) -> Any:
        return self._value("doc_to_text", doc)

    def target(self, doc: Mapping[str, Any]) -> Any:
        return self._value("doc_to_target", doc)

    def choices(self, doc: Mapping[str, Any]) -> Any:
        return self._value("doc_to_choice", doc)

    def _value(self, field: str, doc: Mapping[str, Any]) -> Any:
        value = self.config.get(field, "")
        return doc.get(value, value) if isinstance(value, str) else value


def scorer(
    output_type: str = "generate_until",
    *,
    parity: Parity = NO_PARITY,
    multiple_input: int = 0,
    multiple_target: int = 0,
    sources: Sequence[Path] = (),
    **fields: Any,
) -> LmEvalScorer:
    """A scorer; the target is the column ``a`` unless a field says otherwise."""
    config = {"doc_to_target": "a", "metric_list": None, "filter_list": None, "process_results": None, **fields}
    view = SimpleNamespace(task="t", output_type=output_type, **config)
    spec = TaskSpec("t", "lm_eval", Path("t.yaml"), {}, "", sources=tuple(sources))
    columns = Columns(fields | {"doc_to_target": config["doc_to_target"]})
    return make_scorer(spec, view, TaskFacts(columns, multiple_input, multiple_target), parity)


def instances(doc: Any, answers: Sequence[Any]) -> list[Instance]:
    """One instance for each list of answers."""
    return [
        Instance("", doc, ("context", "more"), i, ("t", 0, 1), list(resps) if isinstance(resps, list) else [resps])
        for i, resps in enumerate(answers)
    ]


def scored(scores: LmEvalScorer, doc: Mapping[str, Any], *answers: Any) -> Score:
    """The score of a row; each answer is that of one request, or the list of its repeats."""
    return scores.score_of(doc, instances(doc, answers))


def values(scores: LmEvalScorer, doc: Mapping[str, Any], *answers: Any) -> dict[str, Any]:
    """The values of a row under the only chain of filters."""
    return {metric: value for (metric, _), value in scored(scores, doc, *answers).values.items()}


def results(scores: LmEvalScorer, rows: Sequence[Score | None], **context: Any) -> dict[str, Result]:
    """The results of scores, by ``metric,filter``."""
    kept = [
        ScoredRow(str(i), i, (), None, SampleStatus.OK if score else SampleStatus.ERROR, score)
        for i, score in enumerate(rows)
    ]
    made = reduce(kept, ReduceContext(Path(), **context), scorer=scores)
    return {f"{result.metric},{result.filter}": result for result in made if not result.subset}
