"""The values of a multiple-choice row, from the log-likelihood of each choice."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError
from polymeter.metrics.choice_targets import NO_CHOICE, choice_indices
from polymeter.tasks.yaml.outputs.choices import softmax
from polymeter.tasks.yaml.prompts.empty_options import in_places, offered, refuse_empty

if TYPE_CHECKING:
    from polymeter.interop.lm_eval.tasks.scoring.chain_scores import RowFields

_NEVER = (-math.inf, False)


def choice_scores(
    names: Collection[str],
    fields: RowFields,
    doc: Any,
    results: Sequence[Any],
    *,
    has_several_inputs: bool = False,
    takes_no_choice: bool = False,
) -> dict[str, Any]:
    """The values of the metrics with these names.

    ``acc_norm`` divides by the characters of a choice, ``acc_bytes`` by its bytes in UTF-8; both without the delimiter
    before it. At a tie the first choice is taken.

    Args:
        names: The metrics.
        fields: The values of the row.
        doc: The row.
        results: ``(logprob, is_greedy)`` of each choice. Those of the bare choices follow if ``acc_mutual_info`` is
            among the metrics.
        has_several_inputs: Whether each choice is a context, and the text of the row is the index of the right one.
        takes_no_choice: Whether a target that names no choice makes every answer wrong, instead of an error.

    Raises:
        ScoreError: if the target names no choice, or there are not as many results as choices.
    """
    every = fields.choices(doc)
    choices = [str(choice) for choice in every]
    n = len(offered(every))
    pairs = [_pair(result) for result in results]
    if len(pairs) != n and not (len(pairs) == 2 * n and "acc_mutual_info" in names):
        raise ScoreError(f"There are {len(pairs)} log-likelihoods for {n} choices.")
    bare = in_places([logprob for logprob, _ in pairs[n:]], every, 0.0) if len(pairs) > n else []
    pairs, n = in_places(pairs[:n], every, _NEVER), len(choices)
    sums = [logprob for logprob, _ in pairs]
    target = fields.text(doc) if has_several_inputs else fields.target(doc)
    indices = right_indices(target, choices, takes_no_choice=takes_no_choice)
    refuse_empty(indices, every)
    reference: Any = indices if isinstance(target, (list, tuple)) else indices[0]
    taken = _largest(sums)
    values: dict[str, Any] = {}
    if "acc" in names:
        values["acc"] = float(taken in indices)
    if "acc_norm" in names:
        values["acc_norm"] = float(_largest_per(sums, [len(choice) for choice in choices]) in indices)
    if "acc_bytes" in names:
        lengths = [len(choice.encode("utf-8")) for choice in choices]
        values["acc_bytes"] = float(_largest_per(sums, lengths) in indices)
    if "exact_match" in names:
        values["exact_match"] = float(any(pairs[index][1] for index in indices if -n <= index < n))
    for name in ("f1", "mcc"):
        if name in names:
            values[name] = (reference, taken)
    if "brier_score" in names:
        values["brier_score"] = (reference, tuple(softmax(sums)))
    if "likelihood" in names:
        values["likelihood"] = (reference, tuple(sums))
    if "acc_mutual_info" in names:
        values["acc_mutual_info"] = float(_largest([a - b for a, b in zip(sums, bare, strict=True)]) in indices)
    return values


def _largest(values: Sequence[float]) -> int:
    """The index of the largest value, the first of several; of the first NaN if there is one, as NumPy has it. NumPy
    itself takes longer to be called than a row has time.
    """
    for index, value in enumerate(values):
        if value != value:  # noqa: PLR0124  (only NaN differs from itself)
            return index
    return values.index(max(values))


def _largest_per(values: Sequence[float], lengths: Sequence[int]) -> int:
    """The index of the largest value for each character or byte."""
    return _largest(
        [value / length if length else value * math.inf for value, length in zip(values, lengths, strict=True)]
    )


def right_indices(target: Any, choices: Sequence[str], *, takes_no_choice: bool = False) -> list[int]:
    """The indices of the choices that a target names.

    Args:
        target: An index, the text of a choice, or a list of them.
        choices: The choices.
        takes_no_choice: Whether a target that names none is -100, which no answer is, and a negative one stays.

    Raises:
        ScoreError: if it names none, unless that is taken.
    """
    if not takes_no_choice:
        return choice_indices(target, choices)
    items = list(target) if isinstance(target, (list, tuple)) else [target]
    return [_index_or_none(item, choices) for item in items]


def _index_or_none(item: Any, choices: Sequence[str]) -> int:
    if isinstance(item, str):
        return choices.index(item) if item in choices else NO_CHOICE
    return item if item < len(choices) else NO_CHOICE


def _pair(result: Any) -> tuple[float, bool]:
    try:
        logprob, is_greedy = result
    except (TypeError, ValueError):
        raise ScoreError(
            f"A filter turned the log-likelihood of a choice into {result!r:.60}.",
            hint="Filter chains of multiple-choice tasks must end with take_first.",
        ) from None
    return float(logprob), bool(is_greedy)
