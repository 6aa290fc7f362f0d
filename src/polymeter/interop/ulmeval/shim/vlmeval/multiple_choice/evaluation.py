"""Scoring multiple choice: row by row, or a question in all rotations of its options.

A judge is asked as rarely as in VLMEvalKit: about what the rules leave open, and about the rotations of a question only
until one is wrong. A row without a verdict has no ``hit`` (NaN), and neither has one whose answer is none of its
options.
"""

from __future__ import annotations

import math
import os
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.guests.loggers import guest_logger
from polymeter.interop.ulmeval.shim.ulmeval.mp_util import track_progress_rich
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import load
from polymeter.interop.ulmeval.shim.vlmeval.file import dump, get_pred_file_format
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.extraction import build_choices, prefetch_answer, read_item
from polymeter.tasks.table.classes.multiple_choice import circular
from polymeter.tasks.table.classes.multiple_choice.datasets import right_letter
from polymeter.tasks.table.classes.multiple_choice.table import HIT

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MMMU_preproc",
    "eval_circular_group",
    "eval_vanilla",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_circular_group",
]

_LOG = guest_logger("multiple choice")
_GOLD, _LOGGED, _ANSWER, _GROUP, _INDEX = "GT", "log", "answer", "g_index", "index"
_OPEN = "MMMU"
_OTHER = "Other Answers"
_STEP = 1_000_000
_SEQUENCE = frozenset("ABCD")
Verdict = dict[str, Any]
"""``hit`` (1, 0, or NaN without a verdict) and ``log``."""


def MMMU_preproc(data: pd.DataFrame) -> pd.DataFrame:
    """MMMU's open questions as multiple choice: those without options get their answer as A, and other answers as B.

    Args:
        data: One row per question; its columns ``A`` and ``B`` are replaced.
    """
    is_open = [bool(is_missing) for is_missing in data["A"].isna()]
    for letter, given in (("A", list(data[_ANSWER])), ("B", [_OTHER] * len(data))):
        cells = zip(is_open, given, data[letter], strict=True)
        data[letter] = [new if is_one else old for is_one, new, old in cells]
    return data


def eval_vanilla(model: Any, item: Mapping[str, Any], dataset_name: str | None = None) -> Verdict:
    """The verdict on one row: its prediction names the option in ``GT``."""
    read = read_item(model, item, dataset_name)
    if read.option is None:
        return {HIT: math.nan, _LOGGED: read.log}
    wanted, why = _gold_of(item)
    if wanted is None:
        return {HIT: math.nan, _LOGGED: why}
    return {HIT: int(read.option == wanted), _LOGGED: f"Match Log: {read.log}. "}


def prefetch_circular_group(sub_data: pd.DataFrame, verbose: bool = False) -> Any:
    """The verdict on a question's rotations by rules alone: 0 if one of them is wrong, 1 if all are right.

    Args:
        sub_data: The rotations, with their answers in ``GT``.
        verbose: Whether to return the answers and what was read too.

    Returns:
        The verdict, or ``None`` if it is open; with ``verbose`` and no wrong one ``(verdict or None, answers, options
        that the rules found)``.
    """
    answers: list[Any] = []
    found: list[Any] = []
    for number in range(len(sub_data)):
        item = sub_data.iloc[number]
        answers.append(_gold_of(item)[0])
        found.append(prefetch_answer(item))
        if found[-1] and answers[-1] is not None and found[-1] != answers[-1]:
            return {HIT: 0, _LOGGED: f"Rotation {number} says {found[-1]}, and {answers[-1]} is right."}
    is_right = all(option == answer for option, answer in zip(found, answers, strict=True))
    verdict = {HIT: 1, _LOGGED: "The rules found the right option in every rotation."} if is_right else None
    return (verdict, answers, found) if verbose else verdict


def eval_circular_group(model: Any, sub_data: pd.DataFrame, dataset_name: str | None = None) -> Verdict:
    """The verdict on a question: right if all its rotations are. Those that the rules leave open are read in order,
    until one is wrong.
    """
    by_rules = prefetch_circular_group(sub_data, verbose=True)
    if isinstance(by_rules, dict):
        return by_rules
    verdict, answers, found = by_rules
    if verdict is not None:
        return dict(verdict)
    lines: list[str] = []
    for number, (answer, option) in enumerate(zip(answers, found, strict=True)):
        if answer is None:
            return {HIT: math.nan, _LOGGED: _gold_of(sub_data.iloc[number])[1]}
        if option:
            lines.append(f"Rotation {number}: {option} by the rules.\n")
            continue
        read = read_item(model, sub_data.iloc[number], dataset_name)
        lines.append(f"Rotation {number}: {read.option} of {read.log}; {answer} is right.\n")
        if read.option != answer:
            return {HIT: math.nan if read.option is None else 0, _LOGGED: "".join(lines)}
    return {HIT: 1, _LOGGED: "".join(lines)}


def mcq_vanilla_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """Predictions with their scores, each row by itself.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        data: The predictions. Rows that are not in ``meta`` are left out.
        meta: The rows with their answers.
        nproc: The number of rows read concurrently.
        result_file: A ``.pkl`` file for the results. Rows that have a verdict in it are not read again.
        dataset_name: The dataset; see ``extract_answer_from_item``. Of ``MMMU``'s open questions the answer is A.

    Returns:
        ``data`` with ``hit`` (1, 0, or NaN without a verdict) and ``log``.
    """
    gold = dict(zip(meta[_INDEX], meta[_ANSWER], strict=True))
    if _OPEN in (dataset_name or ""):
        data = MMMU_preproc(data)
        gold = {index: answer if answer in set(string.ascii_uppercase) else "A" for index, answer in gold.items()}
    data = _known(data, gold)
    items = {item[_INDEX]: {**item, _GOLD: gold[item[_INDEX]]} for item in data.to_dict("records")}
    calls = _Calls(eval_vanilla, "item", model, dataset_name, nproc, result_file)
    verdicts = calls.verdicts(items, _earlier(result_file))
    return data.assign(**{name: [verdicts[index][name] for index in data[_INDEX]] for name in (HIT, _LOGGED)})


def mcq_circular_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """As ``mcq_vanilla_eval``, for a table with rotated copies of its questions: one row for each question, right if
    all its rotations are. It has no ``hit`` if one of them has none, or is missing.

    Raises:
        DataError: if an index is not a whole number.
    """
    gold = dict(zip(meta[_INDEX], meta[_ANSWER], strict=True))
    data = _known(data, gold)
    _check_numbers([*meta[_INDEX], *data[_INDEX]])
    if _GROUP not in data.columns:
        data[_GROUP] = [int(index % _STEP) for index in data[_INDEX]]
    data[_GOLD] = [gold[index] for index in data[_INDEX]]
    main = data[[index == group for index, group in zip(data[_INDEX], data[_GROUP], strict=True)]]
    parts = dict(iter(data.groupby(_GROUP, sort=False)))
    groups = {index: parts[index] for index in main[_INDEX]}
    known = {**_earlier(result_file), **_incomplete(groups, meta)}
    for index, group in groups.items():
        by_rules = None if index in known else prefetch_circular_group(group)
        if by_rules is not None:
            known[index] = by_rules
    remaining = [index for index in groups if index not in known]
    if model is None:
        known.update(
            {index: {HIT: 0, _LOGGED: "The rules leave it open, and there is no judge."} for index in remaining}
        )
    dump(known, result_file)
    calls = _Calls(eval_circular_group, "sub_data", model, dataset_name, nproc, result_file)
    verdicts = calls.verdicts(groups, known)
    main = _written_and_read(main, Path(result_file)).drop(columns=_GOLD)
    return main.assign(**{name: [verdicts[index][name] for index in main[_INDEX]] for name in (HIT, _LOGGED)})


def _gold_of(item: Mapping[str, Any]) -> tuple[Any, str]:
    """The answer in ``GT`` as it is compared, or ``None`` and why it cannot be. An answer that is neither an option's
    letter, nor ``Z``, nor an order, counts as the option that it names by its text; at parity nothing equals it.
    """
    said = item[_GOLD]
    choices = build_choices(item)
    is_order = isinstance(said, str) and len(said) == len(_SEQUENCE) and set(said) == _SEQUENCE
    is_letter = isinstance(said, str) and (said in choices or said == "Z")
    if is_order or is_letter or guest_context().parity.on("answer-letters"):
        return said, ""
    try:
        letter = right_letter({**item, _ANSWER: said}) if choices else None
    except DataError as error:
        return None, error.what
    return (letter, "") if letter is not None else (None, "This row has no option, or no answer to compare with.")


def _known(data: pd.DataFrame, gold: Mapping[Any, Any]) -> pd.DataFrame:
    """The predictions of a benchmark's rows."""
    is_known = [index in gold for index in data[_INDEX]]
    if not all(is_known):
        _LOG.warning("%d predictions belong to no row of the benchmark, and are left out", is_known.count(False))
    return data[is_known].copy()


def _earlier(file: str) -> dict[Any, Verdict]:
    """The verdicts in a file of results, without those that are none."""
    stored = load(file) if os.path.exists(file) else {}
    return {index: one for index, one in stored.items() if not math.isnan(one[HIT])}


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls of a function that gives verdicts.

    Attributes:
        function: ``eval_vanilla`` or ``eval_circular_group``.
        argument: The name of the argument that gets what is judged.
        model: The judge.
        dataset_name: The dataset.
        nproc: The number of concurrent calls.
        file: Where verdicts are kept as they are made.
    """

    function: Callable[..., Verdict]
    argument: str
    model: Any
    dataset_name: str | None
    nproc: int
    file: str

    def verdicts(self, values: Mapping[Any, Any], earlier: Mapping[Any, Verdict]) -> dict[Any, Verdict]:
        """The verdicts on values, by their keys: the earlier ones, and new ones on those that have none."""
        new = {key: value for key, value in values.items() if key not in earlier}
        shared = {"model": self.model, "dataset_name": self.dataset_name}
        calls = [{self.argument: value, **shared} for value in new.values()]
        if not calls:
            return dict(earlier)
        made = track_progress_rich(self.function, calls, nproc=self.nproc, save=self.file, keys=list(new))
        return {**earlier, **dict(zip(new, made, strict=True))}


def _check_numbers(indices: Sequence[Any]) -> None:
    for index in indices:
        if isinstance(index, str) or int(index) != index:
            raise DataError(
                f"Circular evaluation finds the rotations of a question by whole numbers, and {index!r} is none.",
                where=f"column {_INDEX!r}",
                hint="Number the rows 0, 1, 2, …, and rotated copies in steps of 1,000,000.",
            )


def _incomplete(groups: Mapping[Any, pd.DataFrame], meta: pd.DataFrame) -> dict[Any, Verdict]:
    """Questions of which a rotation is missing, which a failed sample is."""
    wanted = Counter(group for group, _ in circular.groups_of(meta))
    missing = {index: wanted[str(index)] - len(group) for index, group in groups.items()}
    found = {
        index: {HIT: math.nan, _LOGGED: f"{n} of its rotations have no answer."}
        for index, n in missing.items()
        if n > 0
    }
    if found:
        _LOG.warning("%d of %d questions lack the answer to a rotation, and are not counted", len(found), len(groups))
    return found


def _written_and_read(data: pd.DataFrame, beside: Path) -> pd.DataFrame:
    """A table as it is read again from a file: at parity with what the file makes of its cells."""
    if not guest_context().parity.on("spreadsheet-cells"):
        return data.reset_index(drop=True)
    file = beside.with_name(f"{beside.stem}_questions.{get_pred_file_format()}")
    dump(data, file)
    try:
        table: pd.DataFrame = load(str(file))
    finally:
        file.unlink(missing_ok=True)
    return table
