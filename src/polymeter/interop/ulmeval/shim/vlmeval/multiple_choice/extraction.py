"""Reading which option an answer names: by rules, else by the judge. An option is never chosen at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.guest_context import guest_context, refuse_verdict
from polymeter.data.tables.tsv import is_nothing
from polymeter.interop.ulmeval.shim.ulmeval.inference import FAIL_MSG
from polymeter.interop.ulmeval.shim.ulmeval.smp.misc import cn_string
from polymeter.interop.ulmeval.shim.ulmeval.smp.ulm import build_option_str
from polymeter.interop.ulmeval.shim.vlmeval.matching import can_infer, can_infer_lego
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.judge_prompts import (
    build_prompt,
    build_prompt_blink,
    build_prompt_cn,
    build_prompt_LEGO,
    build_prompt_wemath,
)
from polymeter.tasks.table.classes.cells import column, options_of
from polymeter.tasks.table.classes.columns import OPTION_COLUMNS
from polymeter.tasks.table.classes.multiple_choice.extract import NO_OPTION

__all__ = ["build_choices", "extract_answer_from_item", "prefetch_answer", "read_item"]

_BLINK, _WEMATH, _LEGO = "BLINK", "WeMath", "LEGO"
_TRIES = 3
_SHOWN = 80
_FAILED = FAIL_MSG.rstrip(".")


@dataclass(frozen=True, slots=True)
class ItemRead:
    """The option that was read from a row's prediction.

    Attributes:
        option: A letter, ``Z`` for none, an order of letters; ``None``: the judge gave no verdict.
        log: The text that it was read from, or why there is none.
    """

    option: str | None
    log: str


def build_choices(item: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a row: letter → text. At parity whole numbers that a spreadsheet made fractions stay that."""
    if not guest_context().parity.on("spreadsheet-cells"):
        return options_of(item)
    return {letter: item[letter] for letter in OPTION_COLUMNS if letter in item and not is_nothing(item[letter])}


def prefetch_answer(item: Mapping[str, Any]) -> Any:
    """The option that a row's prediction names by rules alone; ``False`` if it names none."""
    return can_infer(str(item["prediction"]), build_choices(item))


def extract_answer_from_item(model: Any, item: Mapping[str, Any], dataset_name: str | None = None) -> dict[str, str]:
    """The option that a row's prediction names, and what it was read from.

    A judge that names no option three times leaves the row without a verdict: the run notes that, and the row counts as
    one that names none.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        item: The row.
        dataset_name: The dataset: LEGO's questions may have an order as their answer, and BLINK and WeMath have
            questions to the judge of their own.

    Returns:
        ``opt``: a letter, ``Z`` for none; ``log``.
    """
    read = read_item(model, item, dataset_name)
    return {"opt": read.option or NO_OPTION, "log": read.log}


def read_item(model: Any, item: Mapping[str, Any], dataset_name: str | None = None) -> ItemRead:
    """As ``extract_answer_from_item``; a row without a verdict has no option."""
    choices, answer = build_choices(item), str(item["prediction"])
    option = _named(answer, item, choices, dataset_name)
    if option:
        return ItemRead(option, answer)
    if model is None:
        return ItemRead(NO_OPTION, "The rules found no option, and there is no judge.")
    prompt = _prompt(item, build_option_str(choices), dataset_name)
    reply = FAIL_MSG
    for _ in range(_TRIES):
        reply = str(model.generate(prompt))
        option = None if _FAILED in reply else _named(reply, item, choices, dataset_name)
        if option:
            return ItemRead(option, reply)
    if _FAILED not in reply:
        # A failed question is in the run's record already.
        refuse_verdict(f"The judge named no option of row {column(item, 'index')}: {reply[:_SHOWN]!r}.")
    return ItemRead(None, f"The judge named no option: {reply}")


def _named(answer: str, item: Mapping[str, Any], choices: Mapping[str, Any], dataset_name: str | None) -> Any:
    """The option that an answer names by the rules of a dataset; ``False`` if it names none."""
    if _LEGO in (dataset_name or ""):
        return can_infer_lego(answer, column(item, "question_type"), choices)
    return can_infer(answer, choices)


def _prompt(item: Mapping[str, Any], options: str, dataset_name: str | None) -> str:
    question, answer = column(item, "question"), item["prediction"]
    if dataset_name == _BLINK:
        return build_prompt_blink(question, options, answer)
    if dataset_name == _WEMATH:
        return build_prompt_wemath(question, options, answer)
    if cn_string(question):
        return build_prompt_cn(question, options, answer)
    if _LEGO in (dataset_name or ""):
        return build_prompt_LEGO(question, options, answer, column(item, "question_type"))
    return build_prompt(question, options, answer)
