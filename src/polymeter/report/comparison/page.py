"""The page of a comparison: one HTML file with the numbers on top and the answers side by side, those that differ
first. Like the HTML report it fetches nothing, and shows texts of models and datasets as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.comparison.labels import labelled
from polymeter.report.comparison.text import (
    answers,
    interval,
    is_shown,
    label,
    legend,
    not_compared,
    p_value,
    sentences,
    signed,
    value,
)
from polymeter.report.comparison.verdicts import MOST_LEADS, TONES, in_words, leads
from polymeter.report.formatting import clean, count, listing, number, one_line
from polymeter.report.images import LoadMedia, embed
from polymeter.report.page import MAX_BYTES, TEXT_SHARE, make_page
from polymeter.report.run.extract import media_files, sample_data, script_json
from polymeter.report.scales import Scale, axis
from polymeter.report.value_step import value_step

_FRAME_BYTES = 60_000
_STYLES = ("base.css", "table.css", "samples.css", "detail.css", "comparison.css")
_SCRIPTS = ("dom.js", "diff.js", "exchange.js", "answer.js", "comparison.js")
_MIDDLE, _HALF = 84.0, 80.0
Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """One sample of all runs.

    Attributes:
        task: Its task.
        id: Its id.
        sides: The sample in each run, the first one first, as in ``samples/<task>.jsonl``.
        values: Its value in each run; ``None``: no score.
        subsets: Its subsets.
    """

    task: str
    id: str
    sides: Sequence[Sample]
    values: Sequence[float | None]
    subsets: Sequence[str] = ()


def make_comparison_page(
    document: Mapping[str, Any],
    samples: Sequence[SideBySide],
    n_samples: int,
    media: LoadMedia,
    *,
    max_bytes: int = MAX_BYTES,
) -> str:
    """The page as one self-contained HTML file. The same comparison gives the same page.

    Args:
        document: The comparison, as ``polymeter compare --json`` prints it.
        samples: The samples to show, the most informative ones first.
        n_samples: The number of samples that all runs have.
        media: Bytes and MIME type of a media file; ``None`` if there is no such file.
        max_bytes: Upper limit of the page's size; texts take at most half of it, images the remainder.
    """
    document = labelled(document)
    runs = [document["first"], *document["others"]]
    mains = {
        score["name"]: score
        for other in document["others"]
        for score in other["scores"]
        if is_shown(score) and score["kind"] == "task"
    }
    tasks = [*mains]
    scales = {name: axis((None, None), _values(samples, name)) for name in tasks}
    cards: list[dict[str, Any]] = []
    n_bytes = 0
    for sample in samples:
        card = _card(sample, tasks.index(sample.task), mains[sample.task], scales[sample.task])
        n_bytes += len(script_json(card).encode("utf-8", "replace"))
        if cards and n_bytes > max_bytes * TEXT_SHARE:
            break
        cards.append(card)
    data = script_json(
        {
            "runs": [clean(run["name"]) for run in runs],
            "tasks": [_task(mains[name]) for name in tasks],
            "samples": cards,
        }
    )
    files = (file for sample in samples[: len(cards)] for side in sample.sides for file in media_files(side))
    images = embed(files, media, max(max_bytes - len(data.encode("utf-8", "replace")) - _FRAME_BYTES, 0))
    return make_page(
        "comparison.html",
        title=f"{listing(run['name'] for run in runs)} compared",
        kind="comparison",
        styles=_STYLES,
        scripts=_SCRIPTS,
        data=data,
        images=images.uris,
        **comparison_values(document),
        statement=_statement(len(cards), n_samples, images.n_left_out),
    )


def comparison_values(document: Mapping[str, Any], labels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the values of ``templates/compared.html``: the numbers of a comparison and their sentences.

    Args:
        document: As for ``make_comparison_page``.
        labels: The names of its runs; default: those of ``run_labels``.
    """
    document = labelled(document, labels)
    runs = [document["first"], *document["others"]]
    reach = _reach(document)
    return {
        "runs": runs,
        "has_many": len(runs) > 2,
        "is_corrected": any(score["family"] > 1 for other in document["others"] for score in other["scores"]),
        "warnings": [one_line(text) for other in document["others"] for text in other["warnings"]],
        "rows": [*_rows(document, reach)],
        "reach": reach,
        "leads": [*leads(document)],
        "sentences": [line for other in document["others"] for line in _sentences(document, other)],
        "notes": [*_notes(document)],
    }


def _sentences(document: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the sentences on the numbers of a run, unless each has one on top."""
    lines = [*sentences(document, other)]
    n_leads = sum(is_shown(score) and score["kind"] != "subset" for score in other["scores"])
    return lines if n_leads > MOST_LEADS or n_leads < len(lines) else []


def _values(samples: Sequence[SideBySide], task: str) -> Iterator[float]:
    return (item for sample in samples if sample.task == task for item in sample.values if item is not None)


def _card(sample: SideBySide, task: int, score: Mapping[str, Any], scale: Scale | None) -> dict[str, Any]:
    """One sample as the page's script reads it: the prompt once, and the differing parts of each run."""
    shown = [sample_data(side, task, None) for side in sample.sides]
    prompts = [_messages(one) for one in shown]
    messages = next((prompt for prompt in prompts if prompt), [])
    target = next((one["target"] for one in shown if one.get("target") is not None), None)
    sign = -1.0 if score["higher_is_better"] is False else 1.0
    goods = [None if item is None else sign * item for item in sample.values]
    best = max((good for good in goods if good is not None), default=None)
    is_even = len({good for good in goods if good is not None}) < 2
    return {
        "task": task,
        "id": sample.id,
        "subsets": [one_line(name) for name in sample.subsets],
        "target": target,
        "messages": messages,
        "gains": [None if good is None or goods[0] is None else good - goods[0] for good in goods[1:]],
        "won": [] if is_even else [place for place, good in enumerate(goods) if good is not None and good == best],
        "sides": [
            {
                **_side(one, item, None if prompt in (messages, []) else prompt),
                "step": value_step(item, scale, is_lower_better=_is_lower_better(score)),
            }
            for one, item, prompt in zip(shown, sample.values, prompts, strict=True)
        ],
    }


def _is_lower_better(score: Mapping[str, Any]) -> bool | None:
    is_higher = score["higher_is_better"]
    return None if is_higher is None else not is_higher


def _messages(shown: Mapping[str, Any]) -> list[Any]:
    for exchange in shown.get("exchanges", ()):
        request = exchange.get("request") if isinstance(exchange, Mapping) else None
        if request and exchange.get("role") == "model":
            return [message for message in request.get("messages", ()) if isinstance(message, Mapping)]
    return []


def _side(shown: Mapping[str, Any], item: float | None, own_prompt: list[Any] | None) -> dict[str, Any]:
    exchanges = []
    for exchange in shown.get("exchanges", ()):
        if isinstance(exchange, Mapping) and exchange.get("role") == "model":
            continuations = ((exchange.get("request") or {}).get("ask") or {}).get("continuations")
            asked = {"ask": {"continuations": continuations}} if continuations else {}
            exchanges.append({"role": "model", "request": asked, "response": exchange.get("response")})
    side = {
        "status": shown["status"],
        "error": shown.get("error"),
        "answer": shown.get("answer"),
        "explanation": shown.get("explanation"),
        "value": None if item is None else number(item),
        "messages": own_prompt,
        "exchanges": exchanges,
    }
    return {key: part for key, part in side.items() if part not in (None, [], {})}


def _task(score: Mapping[str, Any]) -> dict[str, str]:
    return {"title": one_line(str(score["title"])), "metric": one_line(str(score["metric"]))}


def _rows(document: Mapping[str, Any], reach: float) -> Iterator[dict[str, Any]]:
    first = document["first"]["name"]
    for other in document["others"]:
        for score in other["scores"]:
            if not is_shown(score):
                continue
            name = one_line(str(score["metric"]))
            yield {
                "kind": score["kind"],
                "title": label(score),
                "metric": name if score["filter"] in ("", "none") else f"{name} · {one_line(str(score['filter']))}",
                "direction": {True: "↑", False: "↓"}.get(score["higher_is_better"], ""),
                "run": other["name"],
                "n": f"{score['n']:,}",
                "first": value(score["first"]),
                "second": value(score["second"]),
                "difference": signed(score["difference"]),
                "interval": interval(score),
                "no_interval": score["no_interval"],
                "bar": _bar(score, reach),
                "p": p_value(score["p_corrected"]),
                "outcomes": in_words(score),
                "verdict": _verdict(score["verdict"], first, other["name"]),
                "tone": TONES.get(score["verdict"], "even"),
            }


def _verdict(verdict: str, first: str, second: str) -> str:
    return {
        "better": f"{second} is better",
        "worse": f"{first} is better",
        "higher": f"{second} is higher",
        "lower": f"{second} is lower",
        "equal": "equal",
        "not shown": "no difference shown",
    }.get(verdict, "cannot tell")


def _reach(document: Mapping[str, Any]) -> float:
    """The greatest distance from zero of any interval that is shown."""
    ends = [
        abs(end)
        for other in document["others"]
        for score in other["scores"]
        if is_shown(score) and score["interval"] is not None
        for end in (*score["interval"], score["difference"])
    ]
    return max(ends, default=0.0) or 1.0


def _bar(score: Mapping[str, Any], reach: float) -> dict[str, str] | None:
    if score["interval"] is None:
        return None
    low, high, at = (_MIDDLE + _HALF * end / reach for end in (*score["interval"], score["difference"]))
    return {"low": f"{low:.1f}", "width": f"{max(high - low, 1):.1f}", "at": f"{at:.1f}"}


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    first = document["first"]["name"]
    yield from legend(document, document["others"])
    for other in document["others"]:
        titles = {score["name"]: one_line(str(score["title"])) for score in other["scores"]}
        for answer in other["answers"]:
            yield from answers(answer, titles.get(answer["task"], answer["task"]), first, other["name"])
        for one in other["not_compared"]:
            yield not_compared(one, first, other["name"])


def _statement(n_shown: int, n_samples: int, n_left_out: int) -> str:
    images = f" {count(n_left_out, 'image')} left out to keep the page small." if n_left_out else ""
    if n_shown == n_samples:
        return f"All {count(n_samples, 'sample')}, those first whose scores differ most.{images}"
    total = count(n_samples, "sample")
    return f"{n_shown:,} of {total}: those whose scores differ most first, then some with equal scores.{images}"
