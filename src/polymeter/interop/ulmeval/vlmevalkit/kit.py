"""VLMEvalKit's rules for a command: models by the names of its list, its judges, and its status file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.model import ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.core.task import TaskSpec
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.evaluation import Kit, PairResult
from polymeter.interop.ulmeval.model_names import ListedJudge, ListedModel, of_endpoint, of_spec
from polymeter.interop.ulmeval.models.loading import find_wrapper
from polymeter.interop.ulmeval.models.vlmevalkit import needs_wrapper
from polymeter.interop.ulmeval.models.vlmevalkit.endpoints import API_CLASSES, endpoint_of
from polymeter.interop.ulmeval.models.vlmevalkit.names import (
    configuration_beside,
    nearest_name,
    supported,
    supported_name,
)
from polymeter.interop.ulmeval.pairs import ModelOnDataset
from polymeter.interop.ulmeval.prediction_formats import check_format, prediction_format
from polymeter.interop.ulmeval.vlmevalkit.judges import listed_judge, unscored
from polymeter.interop.ulmeval.vlmevalkit.status import StatusFile

_VLM = "vlm"
_WITH_THE_MODELS_NAME = ("MMLongBench_DOC", "DUDE", "DUDE_MINI", "SLIDEVQA", "SLIDEVQA_MINI")
"""Datasets whose constructor takes the model's name."""
_SERVED: Mapping[str, Any] = {"temperature": 0.0, "max_new_tokens": 2**15}
"""Generation settings of ``--base-url`` unless the command sets others."""
_SERVED_TIMEOUT_S = 1800


class VlmevalKit(Kit):
    """VLMEvalKit's rules.

    Args:
        status: The status files of the command.
        tell: Receives the notes on a pair before it runs; ``None``: they are in its result.
    """

    finding = (
        "A dataset of VLMEvalKit's needs its class: --include-path names a checkout. A table of your own is NAME.tsv "
        "in the folder LMUData."
    )

    def __init__(self, status: StatusFile, tell: Callable[[str], None] | None = None) -> None:
        self._status = status
        self._tell = tell

    def model(self, named: NamedObject, config: UlmevalConfig) -> ListedModel:
        """The model of a name: a class that a configuration names, a Polymeter spec, a model at ``--base-url``, a
        wrapper of ``--model-path``, or a name of the tool's list.

        Raises:
            PlanError: if there is none, it cannot be run, or its key is missing.
        """
        if named.class_name:
            return _of_class(named, config)
        backend, colon, rest = named.name.partition(":")
        if backend in MODELS and (colon or not config.model_path):
            return of_spec(backend, rest, named.arguments, config)
        if config.base_url:
            return _served(named, config)
        if config.model_path and not _is_at_an_endpoint(named.name, config.model_path):
            return ListedModel(ModelSpec(_VLM, named.name, dict(named.arguments), config.model_path))
        return _listed(named)

    def judge(self, config: UlmevalConfig, label: str, spec: TaskSpec) -> ListedJudge:
        """The judge of a dataset: the command's, else the tool's default.

        Raises:
            PlanError: if the command's judge cannot be asked.
        """
        return listed_judge(config, label, spec)

    def constructor(self, spec: TaskSpec, model: str) -> Mapping[str, Any]:
        """The model's name, for the datasets that take it."""
        return {"model": model} if spec.name in _WITH_THE_MODELS_NAME else {}

    def unscored(self, spec: TaskSpec) -> str:
        """The reason why the tool scores no answers of a dataset; empty: it does."""
        return unscored(spec)

    def predictions_as(self) -> str:
        """The format that ``PRED_FORMAT`` names.

        Raises:
            PlanError: if it is unknown, or the package for it is not installed.
        """
        kind = prediction_format()
        check_format(kind)
        return kind

    def begin(self, pair: ModelOnDataset) -> None:
        """Record that a pair is running, and tell the notes on it: its judge and its model may not be what its user
        expects.
        """
        if self._tell is not None:
            for note in pair.notes:
                self._tell(note)
            pair.notes.clear()
        self._status.begin(pair)

    def end(self, pair: ModelOnDataset, result: PairResult) -> None:
        """Record a pair's result."""
        self._status.end(pair, result)


def _served(named: NamedObject, config: UlmevalConfig) -> ListedModel:
    """A model at ``--base-url``, under its own name."""
    own = of_spec("openai", named.name, named.arguments, config)
    return ListedModel(own.spec, keys=own.keys, text_settings=_SERVED, options={"timeout_s": _SERVED_TIMEOUT_S})


def _is_at_an_endpoint(name: str, path: str) -> bool:
    """Return whether a name of the tool's list is a model that a backend reaches, which is asked rather than the
    checkout's own wrapper; a user's file may define the name.

    Raises:
        PlanError: if the user's file cannot be loaded.
    """
    entry = supported().get(supported_name(name))
    if entry is None or not entry.is_api or not API_CLASSES[entry.cls].backend:
        return False
    if configuration_beside(Path(path)) is not None:
        return True
    try:
        find_wrapper(name, path)
    except PlanError as error:
        if error.where != "--model":
            raise
        return True
    return False


def _listed(named: NamedObject) -> ListedModel:
    exact = supported_name(named.name)
    if not exact:
        raise PlanError(
            f"There is no model {named.name!r}.",
            where="--model",
            hint=f"{nearest_name(named.name)} 'polymeter vlmeval mlist' lists names; --base-url names an endpoint, "
            "--model-path a checkout or your own file.".lstrip(),
        )
    entry = supported()[exact]
    if entry.is_api:
        return of_endpoint(endpoint_of(entry.cls, {**entry.arguments, **named.arguments}, name=exact))
    if not entry.hub_id:
        raise needs_wrapper(exact, entry)
    note = (
        f"{exact} runs as hf:{entry.hub_id}, without the prompts and settings of VLMEvalKit's wrapper {entry.cls}. "
        "--model-path VLMEVALKIT runs the wrapper."
    )
    return ListedModel(ModelSpec(_VLM, exact, dict(named.arguments)), notes=(note,))


def _of_class(named: NamedObject, config: UlmevalConfig) -> ListedModel:
    """A class that a JSON file names: one for endpoints, or a wrapper."""
    if named.class_name in API_CLASSES and not (config.model_path and not API_CLASSES[named.class_name].backend):
        return of_endpoint(endpoint_of(named.class_name, named.arguments, name=named.name))
    if config.model_path:
        return ListedModel(ModelSpec(_VLM, named.class_name, dict(named.arguments), config.model_path))
    known = {entry.cls: entry for entry in supported().values()}
    if named.class_name in known:
        raise needs_wrapper(named.name, known[named.class_name])
    hint = did_you_mean(named.class_name, [*API_CLASSES, *known]) or "--model-path names a file of your own models."
    raise PlanError(f"There is no model class {named.class_name!r}.", where=f"--config model {named.name}", hint=hint)
