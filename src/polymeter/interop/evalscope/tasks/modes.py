"""In which way a benchmark is asked: what its author wants, what he allows, and what the model can do.

The adapter is told the way that is really used, so that one which was written for log-probabilities parses text where a
model gives only text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.model import ModelTraits
from polymeter.core.request import RequestKind
from polymeter.interop.evalscope.tasks.constants import EvalType, OutputType

_SERVER = "server"
_ASKS: dict[str, RequestKind] = {
    OutputType.GENERATION: "generate",
    _SERVER: "generate",
    OutputType.MULTIPLE_CHOICE: "loglikelihood",
    OutputType.CONTINUOUS: "loglikelihood",
    OutputType.IMAGE_GENERATION: "generate_image",
}
_FORMS = {_SERVER: OutputType.GENERATION}
_ONLY_TEXT = (EvalType.SERVICE, EvalType.CUSTOM)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a benchmark is asked in this run.

    Attributes:
        output_type: What the adapter is told.
        ask: What the model is asked for.
        eval_type: What the adapter is told of the model.
        note: What the user should know of the choice; empty: nothing.
    """

    output_type: str
    ask: RequestKind
    eval_type: str
    note: str = ""


def choose_mode(
    name: str, wish: str, allowed: Sequence[str], traits: ModelTraits, eval_type: str | None, *, is_told: bool = False
) -> Mode:
    """The way in which a benchmark is asked.

    Of a model of which it is not known whether it gives log-probabilities (most endpoints), text is asked where the
    benchmark allows it, unless the run itself wants them: then one sample shows whether there are any.

    Args:
        name: The benchmark.
        wish: Its ``model_adapter``.
        allowed: Its ``output_types``.
        traits: What is known of the model.
        eval_type: What the run says of the model; ``None``: nothing.
        is_told: Whether the wish is the run's and not only the benchmark's.

    Raises:
        PlanError: The wish is none that Polymeter knows, or the model can be asked in no way that is allowed.
    """
    note = ""
    if wish not in allowed and wish != _SERVER:
        note = f"Benchmark {name!r} is not made for {wish!r}; it is asked by {allowed[0]!r}."
        wish = allowed[0]
    _check_known(name, wish)
    ask = _ASKS[wish]
    if ask == "loglikelihood":
        has_logprobs = False if eval_type in _ONLY_TEXT else traits.requests.get("loglikelihood")
        takes_text = OutputType.GENERATION in allowed
        if has_logprobs is False and not takes_text:
            raise PlanError(
                f"Benchmark {name!r} needs log-probabilities, which this model does not give.",
                hint="Choose another model, or a benchmark that takes text.",
            )
        if has_logprobs is False or (has_logprobs is None and takes_text and not is_told):
            return Mode(OutputType.GENERATION, "generate", eval_type or EvalType.SERVICE, _why_text(name, has_logprobs))
    default = EvalType.SERVICE if traits.is_endpoint else EvalType.CHECKPOINT
    return Mode(_FORMS.get(wish, wish), ask, eval_type or default, note)


def _why_text(name: str, has_logprobs: bool | None) -> str:
    if has_logprobs is False:
        return f"Benchmark {name!r} is asked for text, because the model gives no log-probabilities."
    return (
        f"Benchmark {name!r} is asked for text, because it is not known whether the model gives log-probabilities; "
        "a model_adapter in its dataset_args has them tried."
    )


def _check_known(name: str, output_type: str) -> None:
    if output_type not in _ASKS:
        known = [kind for kind in _ASKS if kind != _SERVER]
        hint = did_you_mean(output_type, known) or f"Known: {', '.join(known)}."
        raise PlanError(f"Benchmark {name!r} is asked by {output_type!r}, which Polymeter cannot do.", hint=hint)
