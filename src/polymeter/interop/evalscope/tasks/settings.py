"""The way that a run asks a benchmark: settings for all data adapters, the mode that benchmark and model agree on, and
the generation settings that count if the run sets none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, UnfitError, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.options import Options, identity, runtime
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Parameters, RequestKind
from polymeter.core.settings.generation import image_parameters, text_parameters
from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.constants import EvalType, OutputType

_JUDGE_STRATEGIES = ("auto", "rule", "llm", "llm_recall")
_EVAL_TYPES = ("checkpoint", "service", "custom")

# EvalScope's name for text from a model behind an endpoint; adapters receive ``generation``.
_SERVER = "server"
_REQUEST_KINDS: dict[str, RequestKind] = {
    OutputType.GENERATION: "generate",
    _SERVER: "generate",
    OutputType.MULTIPLE_CHOICE: "loglikelihood",
    OutputType.CONTINUOUS: "loglikelihood",
    OutputType.IMAGE_GENERATION: "generate_image",
}
_TEXT_ONLY = (EvalType.SERVICE, EvalType.CUSTOM)

# EvalScope 0.17's own, used where a run sets nothing at all. Its ``top_k`` and ``top_p`` are without effect on greedy
# decoding, and its ``max_length`` is overruled by ``max_new_tokens``.
_TEXT_DEFAULTS: dict[str, dict[str, Any]] = {
    EvalType.CHECKPOINT: {"max_new_tokens": 512, "do_sample": False},
    EvalType.CUSTOM: {},
    EvalType.SERVICE: {"max_new_tokens": 2048, "temperature": 0.0},
}
_IMAGE_DEFAULTS: dict[str, Any] = {"width": 1024, "height": 1024, "num_inference_steps": 50, "guidance_scale": 9.0}


class AdapterRunOptions(Options):
    """Settings of a run for all of its data adapters, beyond the options that every format knows
    (``RunOptions.dialect_options["adapter"]``).
    """

    dataset_args: dict[str, dict[str, Any]] = identity(
        dict, "Changes to the registration of each benchmark, by its name, and further arguments of its adapter."
    )
    judge_strategy: str = identity("auto", "The scorer: auto (as the benchmark sets it), rule, llm, or llm_recall.")
    judge_model_args: dict[str, Any] = identity(dict, "Arguments of the judge: its prompts and how verdicts are read.")
    eval_type: str | None = identity(None, "The kind of model that adapters receive: checkpoint, service or custom.")
    dataset_hub: str = identity("", "The hub that dataset ids belong to: modelscope or huggingface.")
    dataset_dir: str = runtime("", "The folder for files from a hub.")
    analysis_report: bool = runtime(False, "Whether the judge writes an analysis into each report.")
    predict_only: bool = identity(False, "Keep the answers and score nothing.")
    model_id: str = runtime("", "The model's name in reports; default: the last part of its own.")
    adapter_1x: dict[str, Any] = identity(dict, "Settings for adapters of EvalScope 1.x in a collection.")


def read_run_options(values: Mapping[str, Any]) -> AdapterRunOptions:
    """The options, checked.

    Raises:
        PlanError: if an option is unknown or has a value that it cannot have; the nearest names are given.
    """
    options = AdapterRunOptions.make(values, where="dialect_options adapter")
    _check_known("judge_strategy", options.judge_strategy, _JUDGE_STRATEGIES)
    if options.eval_type is not None:
        _check_known("eval_type", options.eval_type, _EVAL_TYPES)
    for name, changes in options.dataset_args.items():
        _check_dataset_args(f"dataset_args of {name!r}", changes)
    return options


def work_dir(options: AdapterRunOptions, context: OpenContext) -> str:
    """Return the folder for files of ModelScope."""
    if options.dataset_dir:
        return str(Path(options.dataset_dir).expanduser())
    return str(context.cache_dir / "modelscope") if context.cache_dir else constants.DEFAULT_DATASET_CACHE_DIR


@dataclass(frozen=True, slots=True)
class Mode:
    """The mode of a benchmark in this run.

    Attributes:
        output_type: How it is asked: a value of ``OutputType``, or for a user's own model any name.
        request_kind: What the model is asked for.
        eval_type: The kind of model that the adapter receives.
        note: A note for the user about the choice; empty: none.
        told_instead: The mode that the adapter receives if it is not the mode in use; empty: the mode in use.
    """

    output_type: str
    request_kind: RequestKind
    eval_type: str
    note: str = ""
    told_instead: str = ""

    @property
    def told(self) -> str:
        """The mode that the adapter receives."""
        return self.told_instead or self.output_type


def choose_mode(
    name: str,
    wanted: str,
    allowed: Sequence[str],
    traits: ModelTraits,
    eval_type: str | None,
    *,
    is_wanted_by_run: bool = False,
    parity: Parity = NO_PARITY,
) -> Mode:
    """The mode in which a benchmark is asked: its author's choice, among the modes that he allows and the model can do.

    A model of which it is not known whether it gives log-probabilities (most endpoints) is asked for text where the
    benchmark allows it, unless the run itself wants them: then the first sample shows whether there are any.

    Args:
        name: The benchmark.
        wanted: Its ``model_adapter``.
        allowed: Its ``output_types``.
        traits: What is known of the model.
        eval_type: The run's kind of model; ``None``: not set.
        is_wanted_by_run: Whether the run, and not only the benchmark, names ``wanted``.
        parity: The system whose choice counts where Polymeter's differs from it.

    Raises:
        PlanError: if Polymeter does not know the mode, or the model can be asked in no mode that is allowed.
    """
    mode = _mode(name, wanted, allowed, _known_traits(traits, eval_type, parity), eval_type, is_wanted_by_run)
    return replace(mode, told_instead=wanted) if parity.on("adapter-mode") else mode


def _known_traits(traits: ModelTraits, eval_type: str | None, parity: Parity) -> ModelTraits:
    """Return a model's traits. With parity nothing is unknown: an endpoint is asked for text, and any other model for
    the log-probabilities that a benchmark needs.
    """
    if not parity.on("unknown-logprobs") or traits.requests.get("loglikelihood") is False:
        return traits
    is_local = not traits.is_endpoint and eval_type not in _TEXT_ONLY
    return replace(traits, requests={**traits.requests, "loglikelihood": is_local})


def _mode(
    name: str,
    wanted: str,
    allowed: Sequence[str],
    traits: ModelTraits,
    eval_type: str | None,
    is_wanted_by_run: bool,
) -> Mode:
    note = ""
    if wanted not in allowed and wanted != _SERVER:
        note = f"Benchmark {name!r} is not made for {wanted!r}; it is asked by {allowed[0]!r}."
        wanted = allowed[0]
    if wanted not in _REQUEST_KINDS:
        if eval_type == EvalType.CUSTOM:  # a user's own model reads whatever prompts the benchmark makes
            return Mode(wanted, "generate", eval_type, note)
        raise _unknown_mode(name, wanted)
    kind = _REQUEST_KINDS[wanted]
    if kind == "loglikelihood" and eval_type == EvalType.CUSTOM and wanted == OutputType.CONTINUOUS:
        # A user's own model answers such a prompt as a whole, with the list of its log-probabilities.
        return Mode(wanted, "generate", eval_type, note)
    if kind == "loglikelihood":
        has_logprobs = False if eval_type in _TEXT_ONLY else traits.requests.get("loglikelihood")
        takes_text = OutputType.GENERATION in allowed
        if has_logprobs is False and not takes_text:
            raise UnfitError(
                f"Benchmark {name!r} needs log-probabilities, which this model does not give.",
                hint="Choose another model, or a benchmark that takes text.",
            )
        if has_logprobs is False or (has_logprobs is None and takes_text and not is_wanted_by_run):
            # The adapter receives this mode: one that was written for log-probabilities then parses text.
            return Mode(OutputType.GENERATION, "generate", eval_type or EvalType.SERVICE, _why_text(name, has_logprobs))
    default = EvalType.SERVICE if traits.is_endpoint else EvalType.CHECKPOINT
    output_type = OutputType.GENERATION if wanted == _SERVER else wanted
    return Mode(output_type, kind, eval_type or default, note)


def parameters_for(mode: Mode, generation: Mapping[str, Any]) -> tuple[Parameters, int]:
    """Return the parameters of every request, without seeds and continuations, and how many times each prompt is asked.

    Args:
        mode: How the benchmark is asked.
        generation: Generation settings of the run, under any of their usual names.

    Raises:
        PlanError: if a setting is not of its type.
    """
    if mode.request_kind == "loglikelihood":
        return Loglikelihood(()), 1
    if mode.request_kind == "generate_image":
        return image_settings(generation)
    return text_settings(generation, mode.eval_type)


def text_settings(generation: Mapping[str, Any], eval_type: str) -> tuple[Generate, int]:
    """Parameters for text, and how many texts; if the run sets nothing at all, EvalScope's defaults for that kind of
    model.

    Raises:
        PlanError: if a setting is not of its type.
    """
    return text_parameters(generation or _TEXT_DEFAULTS[eval_type])


def image_settings(generation: Mapping[str, Any]) -> tuple[GenerateImage, int]:
    """Parameters for images, and how many; where the run sets nothing at all, EvalScope's defaults.

    Raises:
        PlanError: if a setting is not of its type.
    """
    return image_parameters(generation or _IMAGE_DEFAULTS)


def _check_known(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        hint = did_you_mean(value, choices) or f"Known: {', '.join(choices)}."
        raise PlanError(f"There is no {name} {value!r}.", where="dialect_options adapter", hint=hint)


def _check_dataset_args(where: str, changes: Mapping[str, Any]) -> None:
    """Refuse values that would fail inside an author's code, where the error would blame him."""
    for name in ("subset_list", "metric_list"):
        value = changes.get(name)
        if value is not None and not isinstance(value, (list, tuple)):
            raise PlanError(f"{name!r} must be a list of names, not {value!r}.", where=where)
    number = changes.get("few_shot_num")
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise PlanError(f"'few_shot_num' must be a whole number from 0 on, not {number!r}.", where=where)


def _unknown_mode(name: str, output_type: str) -> PlanError:
    modes = [mode for mode in _REQUEST_KINDS if mode != _SERVER]
    hint = did_you_mean(output_type, modes) or (
        f"Known: {', '.join(modes)}. A model of your own (CustomModel) can be asked in any mode."
    )
    return PlanError(f"Benchmark {name!r} is asked by {output_type!r}, which Polymeter cannot do.", hint=hint)


def _why_text(name: str, has_logprobs: bool | None) -> str:
    if has_logprobs is False:
        return f"Benchmark {name!r} is asked for text, because the model gives no log-probabilities."
    return (
        f"Benchmark {name!r} is asked for text, because it is not known whether the model gives log-probabilities; "
        "a model_adapter in its dataset_args has them tried."
    )
