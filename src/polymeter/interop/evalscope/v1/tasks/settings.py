"""Settings of a run for adapters of EvalScope 1.x, and the object in which an adapter reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.options import Options, identity, runtime
from polymeter.core.request import RequestKind
from polymeter.interop.evalscope.tasks.constants import DEFAULT_WORK_DIR, HubType
from polymeter.interop.evalscope.v1.constants import EvalType
from polymeter.interop.evalscope.v1.tasks.model import as_config

NAME = "adapter_1x"
_HUBS = (HubType.MODELSCOPE, HubType.HUGGINGFACE, HubType.LOCAL)

# EvalScope 1.14.1's own, used where a run sets nothing at all. Its ``top_k`` and ``top_p`` are without effect on greedy
# decoding.
_TEXT_DEFAULTS: dict[bool, dict[str, Any]] = {
    False: {"max_new_tokens": 2048, "do_sample": False},
    True: {"temperature": 0.0},
}
_IMAGE_DEFAULTS: dict[str, Any] = {"width": 1024, "height": 1024, "num_inference_steps": 50, "guidance_scale": 9.0}


class Adapter1xOptions(Options):
    """Settings of a run for all of its adapters of EvalScope 1.x, beyond the options that every format knows
    (``RunOptions.dialect_options["adapter_1x"]``).
    """

    dataset_args: dict[str, dict[str, Any]] = identity(
        dict, "Changes to the registration of each benchmark, by its name."
    )
    repeats: int = identity(1, "How many times each sample is asked; pass@k and vote@k count them.")
    judge: dict[str, Any] = identity(dict, "Settings of judges: strategy, contract, repeats, position_swap and others.")
    eval_type: str | None = identity(None, "The kind of model that adapters read: llm_ckpt, openai_api and others.")
    dataset_hub: str = identity("", "The hub that dataset ids belong to: modelscope or huggingface.")
    dataset_dir: str = runtime("", "The folder for files from a hub.")
    sandbox: dict[str, Any] = identity(dict, "Settings of containers, which adapters read.")
    model_id: str = runtime("", "The model's name in reports; default: the last part of its own.")


def read_run_options(values: Mapping[str, Any]) -> Adapter1xOptions:
    """The options, checked.

    Raises:
        PlanError: if an option is unknown or has a value that it cannot have; the nearest names are given.
    """
    options = Adapter1xOptions.make(values, where=f"dialect_options {NAME}")
    if options.repeats < 1:
        raise PlanError(f"'repeats' must be 1 or more, not {options.repeats}.", where=f"dialect_options {NAME}")
    if options.dataset_hub and options.dataset_hub.lower() not in _HUBS:
        hint = did_you_mean(options.dataset_hub, _HUBS) or f"Known: {', '.join(_HUBS)}."
        raise PlanError(f"There is no dataset hub {options.dataset_hub!r}.", where="dataset_hub", hint=hint)
    return options


@dataclass
class RunSettings:
    """The settings of a run as an adapter reads them on ``self._task_config``: fields of EvalScope's ``TaskConfig``.

    What it must not know (addresses and keys) is empty; the run's own folder is not ready before it begins, so that
    ``work_dir`` is a folder for what adapters write while they load.
    """

    limit: int | float | None = None
    repeats: int = 1
    seed: int | None = 42
    dataset_hub: str = HubType.MODELSCOPE
    dataset_dir: str = ""
    eval_type: str = EvalType.OPENAI_API
    work_dir: str = DEFAULT_WORK_DIR
    model: str | None = None
    model_id: str | None = None
    model_args: dict[str, Any] = field(default_factory=dict)
    model_task: str = "text_generation"
    generation_config: Any = None
    eval_batch_size: int = 1
    eval_backend: str = "Native"
    api_url: str | None = None
    api_key: str | None = None
    judge: Any = None
    sandbox: Any = None
    agent_config: Any = None
    datasets: list[str] = field(default_factory=list)
    dataset_args: dict[str, Any] = field(default_factory=dict)
    use_cache: str | None = None
    rerun_review: bool = False
    ignore_errors: bool = False
    debug: bool = False


def run_settings(
    name: str, options: Adapter1xOptions, traits: ModelTraits, context: OpenContext, *, kind: RequestKind
) -> RunSettings:
    """Make the settings that an adapter reads.

    Raises:
        PlanError: if a setting of the judge or of generation cannot be.
    """
    generation = context.generation or defaults_for(kind, traits)
    return RunSettings(
        limit=_limit(context.limit),
        repeats=repeats_of(options, context),
        seed=context.seed,
        dataset_hub=(options.dataset_hub or HubType.MODELSCOPE).lower(),
        dataset_dir=data_folder(options, context),
        eval_type=options.eval_type or (EvalType.OPENAI_API if traits.is_endpoint else EvalType.CHECKPOINT),
        work_dir=work_folder(context),
        model=options.model_id or "model",
        model_id=options.model_id or "model",
        generation_config=as_config(generation),
        judge=_judge_config(options.judge),
        sandbox=options.sandbox or None,
        datasets=[name],
        dataset_args=dict(options.dataset_args),
    )


def _judge_config(values: Mapping[str, Any]) -> Any:
    """The settings of judges, checked.

    Raises:
        PlanError: if one is unknown, or has a value that it cannot have.
    """
    from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig

    try:
        return JudgeConfig(**values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in ("judge", *first["loc"]))
        raise PlanError(f"{place}: {first['msg']}.", where=f"dialect_options {NAME}") from error


def defaults_for(kind: RequestKind, traits: ModelTraits) -> Mapping[str, Any]:
    """The settings that count if a run sets nothing at all."""
    return _IMAGE_DEFAULTS if kind == "generate_image" else _TEXT_DEFAULTS[bool(traits.is_endpoint)]


def repeats_of(options: Adapter1xOptions, context: OpenContext) -> int:
    """Return how many times each sample is asked: as the run says, else by the ``n`` of its generation settings."""
    if options.repeats > 1:
        return options.repeats
    n = context.generation.get("n")
    return int(n) if isinstance(n, int) and n > 1 else 1


def data_folder(options: Adapter1xOptions, context: OpenContext) -> str:
    """The folder for files of ModelScope."""
    if options.dataset_dir:
        return str(Path(options.dataset_dir).expanduser())
    if context.cache_dir:
        return str(context.cache_dir / "modelscope")
    from polymeter.interop.evalscope.tasks import constants

    return constants.DEFAULT_DATASET_CACHE_DIR


def work_folder(context: OpenContext) -> str:
    """The folder for what adapters write while they load, and for images that need a path."""
    import tempfile

    return str((context.cache_dir or Path(tempfile.gettempdir()) / "polymeter") / "evalscope_1x")


def _limit(limit: float | None) -> int | float | None:
    """The run's limit as an adapter reads it: a whole number of rows, or a share of them below 1."""
    if limit is None or limit == 0:
        return None
    return int(limit) if limit >= 1 else limit
