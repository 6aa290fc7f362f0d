"""From prompts that are measured and samples that were asked to what the whole run needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from polymeter.analysis.cost.estimate import NOTHING, OF_JUDGES, QUANTITIES, UNKNOWN, Span, TaskNeeds
from polymeter.analysis.cost.observing import SampleSpend
from polymeter.analysis.cost.prompts import PromptSizes
from polymeter.core.errors import count
from polymeter.core.records.rates import Rates
from polymeter.core.records.usage import MODEL_ROLE, ModelUsage
from polymeter.stats.finite_total import Predicted, predict_rest, total

OTHER_MODEL = 2.0
"""The factor by which answers of another model may be longer or shorter."""
_AUTO_GROWTH = 4.0
"""The factor by which a run may answer more requests at a time than its pilot, while its concurrency still grows."""
_SLOWER = 1.5
_HOUR_S = 3600

_VALUES: Mapping[str, Callable[[SampleSpend], float | None]] = {
    "requests": lambda sample: sample.model.requests,
    "input_tokens": lambda sample: sample.model.input,
    "output_tokens": lambda sample: sample.model.output,
    "cost": lambda sample: sample.model.cost,
    "judge_requests": lambda sample: sample.others.requests,
    "judge_tokens": lambda sample: _both(sample.others.input, sample.others.output),
    "judge_cost": lambda sample: sample.others.cost,
    "total_cost": lambda sample: _both(sample.model.cost, sample.others.cost),
    "seconds": lambda sample: sample.seconds,
}
_SECONDS = "seconds"
_FOR_JUDGED = (*OF_JUDGES, "total_cost")


@dataclass(frozen=True, slots=True)
class Seen:
    """Samples that were asked, in the pilot of this run or in an earlier one.

    Attributes:
        samples: What they have used.
        drawn: The positions of those that are a random draw; ``None``: all of them are.
        is_paid: Whether they belong to this run, so that they are not asked again.
        basis: Their origin, in words.
        is_same_model: Whether this run's model has answered.
        repeats: The answers of this run to each question, divided by theirs.
        has_judges: Whether they were judged, if this run judges.
        has_same_rows: Whether their positions are those of this run.
        ended: The positions of samples that ended in this run, with answers or without.
        at_a_time: The requests that were answered at a time; ``None``: unknown.
    """

    samples: Sequence[SampleSpend]
    basis: str
    drawn: frozenset[int] | None = None
    is_paid: bool = False
    is_same_model: bool = True
    repeats: float = 1.0
    has_judges: bool = True
    has_same_rows: bool = True
    ended: frozenset[int] = frozenset()
    at_a_time: float | None = None


@dataclass(slots=True)
class EstimatedTask:
    """The estimate of a task, in the parts that are added to those of other tasks.

    Attributes:
        known: By quantity: what is used already.
        predicted: By quantity: the rest, from samples that were asked.
        spans: By quantity: the rest, if it does not come from a prediction.
        needs: The needs, for output.
    """

    known: dict[str, float] = field(default_factory=dict)
    predicted: dict[str, Predicted] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)
    needs: TaskNeeds | None = None

    def span(self, name: str) -> Span:
        """The whole of a quantity."""
        return whole_of([self], name)


def whole_of(tasks: Sequence[EstimatedTask], *names: str) -> Span:
    """Add quantities of some tasks. Predictions of different tasks are independent, so their range is narrower than the
    sum of their ranges.
    """
    known = sum(task.known.get(name, 0.0) for task in tasks for name in names)
    predicted = total(task.predicted[name] for task in tasks for name in names if name in task.predicted)
    whole = Span.exactly(known) + _span_of(predicted)
    for task in tasks:
        for name in names:
            whole += task.spans.get(name, NOTHING)
    return whole


def estimate_task(
    name: str,
    sizes: PromptSizes,
    seen: Seen | None,
    rates: Mapping[str, Rates | None],
    at_a_time: float | None,
    machine_hour: float | None = None,
) -> EstimatedTask:
    """Estimate what a task needs.

    Args:
        name: The name of the task.
        sizes: Its prompts.
        seen: Samples of it that were asked; ``None``: none are known.
        rates: The prices by role.
        at_a_time: The requests that are answered at a time; ``None``: it is not known, or grows.
        machine_hour: The price of an hour of the machine that computes the measured model; ``None``: it has none.
    """
    task = _by_prompts(sizes, rates) if seen is None or not seen.samples else _by_samples(sizes, seen, rates)
    seconds = _seconds_of(task, seen, at_a_time)
    if machine_hour is not None:
        _charge_machine(task, seen, seconds, at_a_time or 1.0, machine_hour / _HOUR_S)
    n_paid = len(seen.samples) if seen is not None and seen.is_paid else 0
    basis = seen.basis if seen is not None and seen.samples else _limit_basis(sizes)
    is_done = seen is not None and seen.is_paid and n_paid >= len(sizes.selected)
    task.needs = TaskNeeds(
        name,
        len(sizes.selected),
        n_paid,
        {quantity: task.span(quantity) for quantity in QUANTITIES},
        seconds,
        "All samples are asked" if is_done else basis,
        tuple(_notes(sizes, seen)),
    )
    return task


def _by_samples(sizes: PromptSizes, seen: Seen, rates: Mapping[str, Rates | None]) -> EstimatedTask:
    """Predict the samples that are not asked from those that were."""
    task = EstimatedTask()
    sample_of = [one for one in seen.samples if one.index in sizes.selected] if seen.has_same_rows else seen.samples
    ended = seen.ended | {one.index for one in sample_of} if seen.is_paid else frozenset()
    rest = [sizes.size_of(index) for index in sizes.selected if index not in ended and sizes.is_asked(index)]
    chosen = [one for one in sample_of if seen.drawn is None or one.index in seen.drawn]
    chosen = [one for one in chosen if not seen.has_same_rows or sizes.is_asked(one.index)]
    for name, value_of in _VALUES.items():
        if name in OF_JUDGES and not has_judges(rates):
            task.spans[name] = NOTHING
            continue
        if name in _FOR_JUDGED and not seen.has_judges:
            task.spans[name] = Span(None, 0.0, None)
            continue
        if seen.is_paid and name != _SECONDS:
            known = [value_of(one) for one in sample_of]
            if None in known:
                task.spans[name] = UNKNOWN
                continue
            task.known[name] = sum(value for value in known if value is not None)
        values = [(_size(sizes, seen, one), value) for one in chosen if (value := value_of(one)) is not None]
        if len(values) < len(chosen):
            task.spans[name] = UNKNOWN
            continue
        usable = rest if seen.has_same_rows else [1.0] * len(rest)
        predicted = predict_rest(values, usable)
        if seen.is_same_model and seen.repeats == 1:
            task.predicted[name] = predicted
        else:
            span = _span_of(predicted).scaled(seen.repeats)
            # Where every sample is asked as often, the task decides that and not the model.
            is_fixed = name in ("requests", "judge_requests") and predicted.variance == 0
            task.spans[name] = span if seen.is_same_model or is_fixed else span.widened(OTHER_MODEL)
    if not seen.is_same_model:
        _by_own_prompts(task, sizes, rates, seen)
    return task


def _by_own_prompts(task: EstimatedTask, sizes: PromptSizes, rates: Mapping[str, Rates | None], seen: Seen) -> None:
    """Count prompts by this model's rule where another model has answered; its rounds are those of the other one."""
    requests = task.spans["requests"]
    if not sizes.why_unknown and requests.expected:
        rounds = max(requests.expected / max(sizes.n_requests, 1), 1.0)
        tokens = sizes.tokens
        task.spans["input_tokens"] = Span(
            tokens.expected * rounds, min(tokens.low, tokens.expected) * max(rounds / 2, 1.0), tokens.high * rounds
        )
    task.spans["cost"] = _cost(rates.get(MODEL_ROLE), task.spans, sizes)
    task.spans["total_cost"] = task.spans["cost"] + task.spans.get("judge_cost", NOTHING)


def _by_prompts(sizes: PromptSizes, rates: Mapping[str, Rates | None]) -> EstimatedTask:
    """Estimate a task of which no sample was ever asked: its first requests, and the limit of their answers."""
    task = EstimatedTask()
    if sizes.why_unknown:
        task.spans = dict.fromkeys(QUANTITIES, UNKNOWN)
        return task
    tokens, limit = sizes.tokens, sizes.output_limit
    task.spans["requests"] = Span.exactly(float(sizes.n_requests))
    task.spans["input_tokens"] = Span(tokens.expected, tokens.low, tokens.high)
    most = None if limit is None or sizes.n_made else float(limit)  # some providers count images as tokens
    task.spans["output_tokens"] = NOTHING if most == 0 else Span(None, 0.0, most)
    task.spans["cost"] = _cost(rates.get(MODEL_ROLE), task.spans, sizes)
    of_judges = Span(None, 0.0, None) if has_judges(rates) else NOTHING
    task.spans |= dict.fromkeys(OF_JUDGES, of_judges)
    task.spans["total_cost"] = task.spans["cost"] + of_judges
    return task


def has_judges(rates: Mapping[str, Rates | None]) -> bool:
    """Return whether the run asks further models."""
    return any(role != MODEL_ROLE for role in rates)


def _cost(rates: Rates | None, spans: Mapping[str, Span], sizes: PromptSizes) -> Span:
    """The cost of tokens that are ranges themselves."""
    if rates is None:
        return UNKNOWN
    requests, prompt, answer = (spans[name] for name in ("requests", "input_tokens", "output_tokens"))

    def at(n: float | None, sent: float | None, answered: float | None) -> float | None:
        if n is None or sent is None or answered is None:
            return None
        # One request of the mean length stands for all: prices may rise with the length of a prompt.
        usage = ModelUsage(
            input=round(sent / max(n, 1)), output=0, images_sent=0, images_made=0, audio_s=0.0, requests=1
        )
        one = rates.cost_of(usage).high
        more = rates.cost_of(ModelUsage(input=0, output=round(answered), images_sent=0, images_made=0, audio_s=0.0))
        return None if one is None or more.high is None else one * n + more.high

    images = sizes.n_images * (rates.image_sent or 0.0) + sizes.n_made * (rates.image_made or 0.0)
    if sizes.n_made and rates.image_made is not None:
        answer = NOTHING  # each image has its price
    return Span.exactly(images) + Span(
        at(requests.expected, prompt.expected, answer.expected),
        at(requests.low, prompt.low, answer.low),
        at(requests.high, prompt.high, answer.high),
    )


def _seconds_of(task: EstimatedTask, seen: Seen | None, at_a_time: float | None) -> Span:
    """The time that is left, from the time of single answers and how many are answered at a time."""
    left = task.spans.get(_SECONDS) or _span_of(task.predicted.get(_SECONDS, Predicted(0.0, float("inf"))))
    task.spans.pop(_SECONDS, None)
    task.predicted.pop(_SECONDS, None)
    parallel = at_a_time or (seen.at_a_time if seen is not None else None)
    if seen is None or parallel is None or left.expected is None:
        return UNKNOWN
    fastest = 1.0 if at_a_time is not None else _AUTO_GROWTH
    low, high = left.low, left.high
    return Span(
        left.expected / parallel,
        None if low is None else low / parallel / fastest,
        None if high is None else high / parallel * _SLOWER,
    )


def _charge_machine(task: EstimatedTask, seen: Seen | None, left: Span, at_a_time: float, second_price: float) -> None:
    """Charge the time of the measured model in place of its tokens."""
    busy_s = sum(one.seconds for one in seen.samples) if seen is not None and seen.is_paid else 0.0
    for name in ("cost", "total_cost"):
        task.known.pop(name, None)
        task.predicted.pop(name, None)
    task.spans["cost"] = (Span.exactly(busy_s / at_a_time) + left).scaled(second_price)
    task.spans["total_cost"] = task.spans["cost"] + task.span("judge_cost")


def _notes(sizes: PromptSizes, seen: Seen | None) -> list[str]:
    notes = []
    if sizes.why_unknown:
        notes.append(f"The prompts are not known before the run, because {sizes.why_unknown}.")
    if sizes.n_unreadable:
        samples = count(sizes.n_unreadable, "sample")
        notes.append(f"{samples} cannot be asked and count nothing. The first: {sizes.why_unreadable}")
    if sizes.tokens.assumed and (seen is None or not seen.is_same_model):
        kinds = " and ".join(sorted(sizes.tokens.assumed))
        notes.append(f"No rule for the tokens of {kinds} is known for this model; the range is a guess.")
    if seen is not None and not seen.samples:
        notes.append("No sample of the pilot was answered.")
    if seen is None or not seen.samples:
        if not sizes.why_unknown and sizes.output_limit != 0:
            notes.append("One request per question is assumed, and answers up to their token limit.")
        return notes
    n_counted = sum(one.model.n_counted + one.others.n_counted for one in seen.samples)
    if n_counted:
        notes.append(f"{count(n_counted, 'answer')} reported no tokens; they are counted from the text.")
    if not seen.is_same_model:
        notes.append("Another model answered; its answers may be twice or half as long as this one's.")
    return notes


def _limit_basis(sizes: PromptSizes) -> str:
    if sizes.why_unknown:
        return "Unknown without a pilot or an earlier run"
    if sizes.output_limit == 0:
        return "Counted from the prompts"
    if sizes.output_limit is None:
        return "The length of answers is unknown: they have no token limit, and no earlier run is known"
    return "The token limit is the longest that answers can be: no earlier run is known"


def _size(sizes: PromptSizes, seen: Seen, sample: SampleSpend) -> float:
    return sizes.size_of(sample.index) if seen.has_same_rows else 1.0


def _span_of(predicted: Predicted) -> Span:
    interval = predicted.interval()
    return Span(predicted.value, *(interval or (0.0, None)))


def _both(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
