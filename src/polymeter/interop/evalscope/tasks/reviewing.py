"""Reviews: how each answer of a record is scored, by the adapter's rules or by a judge."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

from polymeter.interop.evalscope.tasks.base import DataAdapter

SAME_AS_INPUT = "*Same as Input*"


@dataclass(frozen=True, slots=True)
class Review:
    """How one answer was scored.

    Attributes:
        gold: What was expected; a note where it is the whole record.
        pred: What was compared with it.
        result: What ``match`` or ``llm_match`` gave.
    """

    gold: Any
    pred: Any
    result: Any


class Reviewer:
    """Scores answers by a strategy.

    Args:
        adapter: The benchmark.
        strategy: ``auto``, ``rule``, ``llm`` or ``llm_recall``.
        eval_type: What the adapter is told of the model.
        judge: Who is asked; ``None`` where nobody can be.
    """

    def __init__(self, adapter: DataAdapter, strategy: str, eval_type: str, judge: Any) -> None:
        self._adapter = adapter
        self._eval_type = eval_type
        self._is_by_judge = is_by_judge(adapter, strategy)
        self._is_recalled = strategy == "llm_recall"
        self._judge = judge

    def review(self, record: Any, content: Any) -> Review:
        """Score one answer. Where a judge's verdict cannot be had or used, the engine leaves the sample without a
        score, whatever the adapter made of that.
        """
        gold = self._adapter.get_gold_answer(record)
        if self._is_by_judge:
            pred, result = self._ask(record, content, gold)
        else:
            pred = self._adapter.parse_pred_result(result=content, raw_input_d=record, eval_type=self._eval_type)
            result = self._adapter.match(gold, pred)
            if self._is_recalled and _is_number(result) and not result:
                pred, result = self._ask(record, content, gold)
        return Review(SAME_AS_INPUT if _is_same(gold, record) else gold, pred, result)

    def _ask(self, record: Any, content: Any, gold: Any) -> tuple[Any, Any]:
        pred = self._adapter.llm_parse_pred_result(result=content, raw_input_d=record, eval_type=self._eval_type)
        return pred, self._adapter.llm_match(gold, pred, self._judge, raw_input=record)


def is_by_judge(adapter: DataAdapter, strategy: str) -> bool:
    """Whether every answer is scored by a judge."""
    return strategy == "llm" or (strategy == "auto" and bool(adapter.llm_as_a_judge))


def needs_judge(adapter: DataAdapter, strategy: str) -> bool:
    """Whether a judge may be asked."""
    return strategy == "llm_recall" or is_by_judge(adapter, strategy)


def _is_number(result: Any) -> bool:
    return isinstance(result, Number)


def _is_same(gold: Any, record: Any) -> bool:
    return gold is record or (type(gold) is type(record) and isinstance(gold, (dict, str)) and gold == record)
