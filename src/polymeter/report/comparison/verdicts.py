"""The verdict of a comparison as a reader meets it first: one sentence with the names of both runs, the size of the
difference, its interval and its p-value; the doubts about it; and the numbers of better, worse and equal samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.report.comparison.text import doubts, interval, is_shown, label, limits, p_value, value, why_untested
from polymeter.report.formatting import count, listing, one_line

MOST_LEADS = 3
"""The most numbers that have a sentence of their own on top; more are counted in one."""
_BAR_PX = 240.0
_MADE_NAME = re.compile(r"(step|run) \d")
"""A name that ``run_labels`` made."""
Score = Mapping[str, Any]
TONES = {"better": "gain", "worse": "loss"}


def leads(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the sentences on top, each with its tone, its doubts and the number of samples of each outcome."""
    first = document["first"]["name"]
    for other in document["others"]:
        scores = [score for score in other["scores"] if is_shown(score) and score["kind"] != "subset"]
        if len(scores) <= MOST_LEADS:
            for score in scores:
                yield {
                    "text": _begun(verdict(score, first, other["name"])),
                    "more": remarks(score),
                    "tone": TONES.get(score["verdict"], "even"),
                    "outcomes": outcomes(score),
                    "run": other["name"],
                }
        else:
            yield _counted(scores, first, other["name"])


def verdict(score: Score, first: str, second: str) -> str:
    """Return the verdict on one number."""
    name, found = label(score), score["verdict"]
    if found == "untested":
        return f"{second} and {first} cannot be told apart on {name}: {why_untested(score)}."
    if found == "equal":
        return f"{second} and {first} are equal on {name}: {_same(score)}."
    if found == "not shown":
        return f"No difference between {second} and {first} is shown on {name}{_in_brackets(score)}."
    size = f"{value(abs(score['difference']))} {one_line(str(score['metric']))}"
    return f"{second} is {found} than {first} on {name}, by {size}{_in_brackets(score)}."


def remarks(score: Score) -> str:
    """Return what a reader should know beside the verdict; may be empty."""
    if score["verdict"] == "not shown":
        return limits(score).strip()
    return doubts(score).strip() if score["verdict"] not in ("equal", "untested") else ""


def outcomes(score: Score) -> list[dict[str, str]]:
    """Return how many samples are better, worse and equal in the second run, each with its part of a bar."""
    if score["wins"] is None:
        return []
    counts = {"better": score["wins"], "worse": score["losses"], "equal": score["ties"]}
    total, at, parts = sum(counts.values()) or 1, 0.0, []
    for word, n in counts.items():
        width = _BAR_PX * n / total
        parts.append(
            {
                "word": word,
                "tone": TONES.get(word, "even") if n else "even",
                "n": f"{n:,}",
                "x": f"{at:.1f}",
                "width": f"{width:.1f}",
            }
        )
        at += width
    return parts


def in_words(score: Score) -> str:
    """Return the numbers of better, worse and equal samples: ``20 better, 56 worse, 324 equal``."""
    return ", ".join(f"{part['n']} {part['word']}" for part in outcomes(score))


def _begun(sentence: str) -> str:
    """Return a sentence that begins with a capital letter, unless the name of a run begins it."""
    return sentence[0].upper() + sentence[1:] if _MADE_NAME.match(sentence) else sentence


def _counted(scores: Sequence[Score], first: str, second: str) -> dict[str, Any]:
    """Return one sentence on many numbers."""
    words = {"better": "better", "worse": "worse", "equal": "equal", "not shown": "no difference shown"}
    counted = [(said, n) for found, said in words.items() if (n := sum(score["verdict"] == found for score in scores))]
    n_rest = len(scores) - sum(n for _, n in counted)
    parts = [f"{said} on {n}" for said, n in counted] + ([f"cannot tell on {n_rest}"] if n_rest else [])
    tones = {TONES[score["verdict"]] for score in scores if score["verdict"] in TONES}
    return {
        "text": _begun(f"{second} against {first}, of {count(len(scores), 'score')}: {listing(parts)}."),
        "more": "",
        "tone": tones.pop() if len(tones) == 1 else "even",
        "outcomes": [],
    }


def _same(score: Score) -> str:
    metric = one_line(str(score["metric"]))
    return (
        f"the only sample has the same {metric}"
        if score["n"] == 1
        else f"all {score['n']:,} samples have the same {metric}"
    )


def _in_brackets(score: Score) -> str:
    """Return the interval of a difference and its p-value."""
    parts = []
    if score["interval"] is not None and score["verdict"] != "not shown":  # its remarks have it
        low, high = score["interval"]
        ends = sorted(abs(end) for end in (low, high))
        is_one_sided = low > 0 or high < 0
        between = f"{value(ends[0])} to {value(ends[1])}" if is_one_sided else interval(score)
        parts.append(f"95 % interval {between}")
    if score["p_corrected"] is not None:
        corrected = "corrected p" if score["family"] > 1 else "p"
        shown = p_value(score["p_corrected"])
        parts.append(f"{corrected} {shown.replace('<', '< ')}" if shown.startswith("<") else f"{corrected} = {shown}")
    return f" ({'; '.join(parts)})" if parts else ""
