"""A comparison of runs in plain words: one sentence for each number, and what the columns mean.

Works on the document of ``polymeter.analysis.comparison.comparing``, so that a stored one can be shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.report.formatting import DASH, count, listing, number, one_line

_IDS_SHOWN = 5
_LEAST_P = 0.001
_ERRS_SELDOM, _ERRS_OFTEN = 0.04, 0.06
"""The rate at which a test at 0.05 may find a difference between equal models without a note."""
_CLEAR = 0.01
"""At or below this p-value it does not matter how often a test at 0.05 errs."""
_RARE, _MISSED = 0.05, 0.01
"""The least probability, for graded scores, that events of one in 20 samples are missing, for which a note warns."""
Score = Mapping[str, Any]


def value(item: Any) -> str:
    """A mean: three decimals, two for large ones."""
    if not isinstance(item, (int, float)):
        return number(item)
    return f"{item:.3f}" if abs(item) < 10 else f"{item:.2f}"


def signed(item: Any) -> str:
    """A difference, with its sign."""
    if not isinstance(item, (int, float)):
        return DASH
    text = value(item)
    return f"+{text}" if item > 0 else text.replace("-0.000", "0.000")


def interval(score: Score) -> str:
    """The interval of a difference."""
    if score["interval"] is None:
        return DASH
    low, high = score["interval"]
    return f"{signed(low)} to {signed(high)}"


def p_value(item: float | None) -> str:
    """A p-value."""
    if item is None:
        return DASH
    return f"<{_LEAST_P}" if item < _LEAST_P else f"{item:.3f}"


def is_shown(score: Score) -> bool:
    """Return whether a number belongs to the short table: the first metric of each task, group and subset."""
    return bool(score["is_main"])


def label(score: Score) -> str:
    """Return the label of a number: a task or a group, or a task and its subset."""
    subset = "/".join(one_line(str(part)) for part in score.get("subset") or ())
    title = one_line(str(score["title"]))
    return f"{title}, {subset}" if subset else title


def sentence(score: Score, first: str, second: str) -> str:
    """Return the sentence on one number."""
    name = label(score)
    verdict, difference = score["verdict"], score["difference"]
    metric = one_line(str(score["metric"]))
    if verdict == "untested":
        return f"{name}: cannot tell; {why_untested(score)}."
    if verdict == "equal":
        if score["n"] == 1:
            return f"{name}: the only sample has the same value of {metric} in {first} and {second}."
        return f"{name}: all {score['n']:,} samples have the same value of {metric} in {first} and {second}."
    if verdict == "not shown":
        return (
            f"{name}: no difference between {first} and {second} is shown.{limits(score)}{_tally(score, first, second)}"
        )
    size = f"{value(abs(difference))}{_between(score)}"
    rest = f"{doubts(score)}{_tally(score, first, second)}"
    if verdict in ("better", "worse"):
        better = second if verdict == "better" else first
        return f"{name}: {better} is better, by {size}.{rest}"
    return f"{name}: {second} has the {verdict} {metric}, by {size}.{rest}"


def why_untested(score: Score) -> str:
    """Return the reason why a number has no test."""
    if score["difference"] is None:
        return "no sample has a score in both runs"
    if score.get("n_copies") and score["n_copies"] == score["n"]:
        return "all answers are the same ones in both runs"
    return "too few samples to test"


def sentences(document: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Return the sentences on the numbers of the short table."""
    first, second = document["first"]["name"], other["name"]
    for score in other["scores"]:
        if is_shown(score):
            yield sentence(score, first, second)


def flipped(score: Score, first: str, second: str) -> str:
    """The samples that one of the runs wins; empty if there is none."""
    parts = [
        f"better in {name}: {_ids(score[key])}" for key, name in (("gained", second), ("lost", first)) if score[key]
    ]
    return f"{label(score)}, samples {'; '.join(parts)}." if parts else ""


def answers(answer: Mapping[str, Any], title: str, first: str, second: str) -> Iterator[str]:
    """Return the sentences on the answers to one task."""
    for drift in answer["lengths"]:
        if drift["unit"] == "tokens" and len(answer["lengths"]) > 1:
            continue
        low, high = drift["interval"] or (None, None)
        between = "" if low is None else f", 95 % interval {low:+.2f} to {high:+.2f}"
        yield (
            f"{title}: answers have {drift['first']:.1f} {drift['unit']} on average in {first}, "
            f"{drift['second']:.1f} in {second} ({drift['difference']:+.2f}{between})."
        )
    choices = answer["choices"]
    if choices:
        yield (
            f"{title}: the probabilities of the choices are {choices['divergence_bits']:.3f} bits apart on average "
            f"(Jensen-Shannon: 0 equal, 1 opposite); another choice is the most probable one in "
            f"{choices['n_changed']:,} of {count(choices['n'], 'sample')}."
        )


def not_compared(one: Mapping[str, Any], first: str, second: str) -> str:
    """Return the reason why a metric is not compared, with both values."""
    name, metric = label(one), one_line(str(one["metric"]))
    values = f"{first} {number(one['first'])}, {second} {number(one['second'])}"
    return f"{name} ({metric}) is not compared: {one_line(str(one['why']))}. {values}."


def legend(document: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the meaning of the columns."""
    scores = [score for other in others for score in other["scores"] if is_shown(score)]
    first = document["first"]["name"]
    seconds = listing(other["name"] for other in others)
    methods = "; ".join(dict.fromkeys(_method(score["p_method"]) for score in scores if score["p_method"]))
    found = [f"Differences are {seconds} less {first}, with a 95 % interval."]
    if methods:
        size, of_subsets = (
            max((score["family"] for score in scores if (score["kind"] == "subset") is is_part), default=1)
            for is_part in (False, True)
        )
        tests = [f"{size} tests"] if size > 1 else []
        tests += [f"{of_subsets} of subsets" if tests else f"{of_subsets} tests of subsets"] if of_subsets > 1 else []
        corrected = f", corrected for {', and for '.join(tests)} (Holm)" if tests else ""
        found.append(
            f"p: how likely so large a difference would be if the models were equally good ({methods}){corrected}. "
            "A difference counts as shown if p is at most 0.05."
        )
    if not document["paired"]:
        found.append("Unpaired: the samples are different ones, so only large differences can be shown.")
    return found


def _method(method: str) -> str:
    kind, _, how = method.partition(", ")
    kind = {"McNemar": "McNemar's test"}.get(kind, kind.replace("permutation", "permutation test", 1))
    return f"{kind}, {how}" if how else kind


def limits(score: Score) -> str:
    """Return the possible size of a difference that is not shown."""
    parts = []
    if score["interval"] is not None:
        low, high = score["interval"]
        parts.append(f" The true one lies between {signed(low)} and {signed(high)} (95 %).")
        if low > 0 or high < 0:
            corrected = f", corrected for {score['family']} tests," if score["family"] > 1 else ""
            parts.append(f" That leaves out zero, but the test{corrected} has p {p_value(score['p_corrected'])}.")
    elif score["no_interval"]:
        parts.append(f" There is no interval: {one_line(str(score['no_interval']))}.")
    if score["detectable"] is not None:
        parts.append(f" One of {value(score['detectable'])} or more would likely have been seen.")
    rate = score.get("false_positive_rate")
    if rate is not None and rate < _ERRS_SELDOM:
        parts.append(_errs(score, rate))
    return "".join(parts)


def doubts(score: Score) -> str:
    """Return doubts about a difference that is shown."""
    parts = []
    if score["interval"] is not None and score["interval"][0] <= 0 <= score["interval"][1]:
        parts.append(f" Its 95 % interval, {interval(score)}, holds zero all the same: it is close to noise.")
    rate = score.get("false_positive_rate")
    if rate is not None and rate > _ERRS_OFTEN and score["p_corrected"] > _CLEAR:
        parts.append(_errs(score, rate))
    missed = (1 - _RARE) ** score["n"]
    if missed >= _MISSED and score["kind"] != "group" and _is_graded(score):
        parts.append(
            f" With {score['n']:,} samples, what happens in one of {1 / _RARE:.0f} is missing among them in "
            f"{100 * missed:.0f} % of cases: rare large differences the other way would not be seen."
        )
    return "".join(parts)


def _is_graded(score: Score) -> bool:
    """Return whether pairs can differ by more or less, so that a few may outweigh many."""
    return str(score["p_method"]).startswith("permutation") and score.get("odds_ratio") is None


def _errs(score: Score, rate: float) -> str:
    """Return the error rate of the test, given the samples that differ."""
    n = (score["wins"] or 0) + (score["losses"] or 0)
    where = f"With {n:,} sample{'' if n == 1 else 's'} that {'differs' if n == 1 else 'differ'}"
    if rate == 0:
        return f" {where}, no outcome would count as a difference."
    return f" {where}, the test finds {100 * rate:.1f} % of equal models different, not 5 %."


def _between(score: Score) -> str:
    if score["interval"] is None:
        return ""
    low, high = sorted(abs(end) for end in score["interval"])
    has_both_signs = score["interval"][0] < 0 < score["interval"][1]
    return "" if has_both_signs else f" (95 % interval {value(low)} to {value(high)})"


def _tally(score: Score, first: str, second: str) -> str:
    if score["wins"] is None:
        return ""
    return (
        f" Of {count(score['n'], 'sample')}, {score['wins']:,} {'is' if score['wins'] == 1 else 'are'} better in "
        f"{second}, {score['losses']:,} in {first}, {score['ties']:,} equal."
    )


def _ids(ids: Sequence[str]) -> str:
    shown = ", ".join(one_line(str(name)) for name in ids[:_IDS_SHOWN])
    return f"{shown} and {len(ids) - _IDS_SHOWN:,} more" if len(ids) > _IDS_SHOWN else shown
