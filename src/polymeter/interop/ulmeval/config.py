"""A command of ULMEvalKit as configuration: which models, which datasets and which options, from flags or a JSON file.

``evaluation`` carries it out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

MODES = ("all", "infer", "eval")
WORK_DIR = "./outputs"
_ROOT_VARIABLE = "MMEVAL_ROOT"
_SEED_VARIABLE = "SEED"
_WORLD_VARIABLE = "WORLD_SIZE"
_SECTIONS = ("model", "data")
_CLASS, _DATASET = "class", "dataset"


@dataclass(frozen=True, slots=True)
class NamedObject:
    """A model or a dataset of a command.

    Attributes:
        name: Its name in files.
        class_name: The class that a JSON file names; empty if the name alone identifies it.
        arguments: Arguments of its constructor.
    """

    name: str
    class_name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UlmevalConfig:
    """One command.

    Attributes:
        models: The models to evaluate.
        datasets: The datasets to evaluate them on.
        work_dir: The folder for outputs.
        mode: ``all``, ``infer`` (answer, but score nothing) or ``eval`` (score existing answers).
        result_files: Prediction files to score in place of a model's answers, one for each model.
        num_generations: Images for each prompt, in place of the benchmark's number.
        judge: The judge model; empty: the benchmark's default.
        judge_args: Arguments of ``evaluate``, and the judge's ``model``, ``api_base`` and ``key``. The key is never
            written.
        api_nproc: Requests in flight at endpoints; ``None``: adaptive.
        retry: How many times a failed request is repeated; ``None``: the default.
        verbose: ``verbose`` of ``evaluate`` and of wrappers.
        ignore: Keep failed samples of a finished run; do not repeat them.
        reuse: Reuse the answers of an earlier day.
        reuse_aux: Reuse the judge's answers with them.
        model_path: A file or folder that defines models.
        base_url: The address of the endpoint of models that are named as Polymeter's.
        endpoint: Further arguments of these models.
        key: The key of that endpoint. Never written.
        generation: Generation settings for every model that takes them.
        timeout: Seconds that a request may take; ``None``: the default.
        judge_nproc: Judge requests in flight, for ``evaluate``; ``None``: ``api_nproc``.
        judge_retry: How often ``evaluate`` repeats a judgement; ``None``: ``retry``.
        judge_timeout: Seconds that a judgement may take, for ``evaluate``; ``None``: not passed.
        limit: Maximum number of samples of each dataset; a number below 1 is a fraction.
        seed: Seed of the run; ``None``: the environment's ``SEED``, else the default.
        include_paths: Folders and files of benchmarks.
        data: Local files in place of datasets.
        weights: Local files in place of model ids.
        journal_dir: A local folder for live journals, for outputs on a network file system.
        parity: The system whose values are taken where Polymeter differs from it; ``None``: that of the settings.
        strict_resume: Refuse to continue a run whose endpoint, task sources or Polymeter code changed.
    """

    models: tuple[NamedObject, ...] = ()
    datasets: tuple[NamedObject, ...] = ()
    work_dir: Path = Path(WORK_DIR)
    mode: str = "all"
    result_files: tuple[Path, ...] = ()
    num_generations: int | None = None
    judge: str = ""
    judge_args: Mapping[str, Any] = field(default_factory=dict, repr=False)
    api_nproc: int | None = None
    retry: int | None = None
    verbose: bool = False
    ignore: bool = False
    reuse: bool = False
    reuse_aux: bool = True
    model_path: str = ""
    base_url: str = ""
    endpoint: Mapping[str, Any] = field(default_factory=dict)
    key: str = field(default="", repr=False)
    generation: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    judge_nproc: int | None = None
    judge_retry: int | None = None
    judge_timeout: float | None = None
    limit: float | None = None
    seed: int | None = None
    include_paths: tuple[Path, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    journal_dir: Path | None = None
    parity: str | None = None
    strict_resume: bool = False

    def settled(self) -> UlmevalConfig:
        """The same configuration, checked and with an absolute model path.

        Raises:
            PlanError: if an option is invalid.
        """
        if self.mode not in MODES:
            hint = did_you_mean(self.mode, MODES) or f"Known: {', '.join(MODES)}."
            raise PlanError(f"There is no mode {self.mode!r}.", where="--mode", hint=hint)
        for option, values in (("--model", self.models), ("--data", self.datasets)):
            if not values:
                raise PlanError(f"{option} names nothing.", where=option, hint="Name some, or give --config.")
            _check_names([item.name for item in values], option)
        if self.result_files and len(self.result_files) != len(self.models):
            raise PlanError(
                f"There are {len(self.result_files)} result files for {len(self.models)} models.",
                where="--result-file",
                hint="Give one for each model, in their order.",
            )
        for option, number in (
            ("--num-generations", self.num_generations),
            ("--api-nproc", self.api_nproc),
            ("--judge-api-nproc", self.judge_nproc),
            ("--timeout", self.timeout),
            ("--judge-timeout", self.judge_timeout),
        ):
            if number is not None and not number > 0:
                raise PlanError(f"{number} is not a positive number.", where=option)
        for option, number in (("--retry", self.retry), ("--judge-retry", self.judge_retry)):
            if number is not None and number < 0:
                raise PlanError(f"{number} must not be negative.", where=option)
        path = Path(self.model_path)
        # What is not an existing path may be a module's dotted name.
        is_path = bool(self.model_path) and path.exists()
        return replace(self, model_path=str(path.resolve())) if is_path else self


def read_config(file: str | Path) -> tuple[tuple[NamedObject, ...], tuple[NamedObject, ...]]:
    """The models and the datasets of a JSON file: ``{"model": {name: {…}}, "data": {name: {…}}}``.

    A model's object holds ``class`` and arguments of its constructor; it is empty for a model that its name identifies.
    A dataset's holds ``class``, ``dataset`` and further arguments; it is empty if the name is the dataset's.

    Raises:
        PlanError: if there is no such file, or it has another form.
    """
    path, where = Path(file), f"--config {file}"
    if not path.is_file():
        raise PlanError(f"There is no configuration file {str(file)!r}.", where="--config")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"The configuration is not valid JSON: {error}.", where=str(path)) from None
    if not isinstance(content, Mapping):
        raise PlanError("A configuration is an object with 'model' and 'data'.", where=str(path))
    for key in content:
        if key not in _SECTIONS:
            hint = did_you_mean(str(key), _SECTIONS) or "It has 'model' and 'data'."
            raise PlanError(f"A configuration has no section {key!r}.", where=str(path), hint=hint)
    return tuple(_section(content, "model", where)), tuple(_section(content, "data", where))


def work_folder(option: str) -> Path:
    """The folder for outputs: ``$MMEVAL_ROOT`` if it is set, as in ULMEvalKit, else the option's value."""
    return Path(os.environ.get(_ROOT_VARIABLE) or option).expanduser()


def seed_of(option: int | None) -> int | None:
    """The seed: the option's value, else ``$SEED``.

    Raises:
        PlanError: if the variable is not a number.
    """
    text = os.environ.get(_SEED_VARIABLE, "")
    if option is not None or not text:
        return option
    if not text.strip().isdecimal():
        raise PlanError(f"{text!r} is not a seed.", where=f"${_SEED_VARIABLE}", hint="Give a number, or --seed.")
    return int(text)


def refuse_world() -> None:
    """Refuse to be one of several processes, because each would do all the work.

    Raises:
        PlanError: if ``WORLD_SIZE`` is above 1.
    """
    size = os.environ.get(_WORLD_VARIABLE, "")
    if size not in ("", "0", "1"):
        raise PlanError(
            f"This is one of {size} processes, and each would do all the work.",
            where=f"${_WORLD_VARIABLE}",
            hint="Start one process, without torchrun; it batches, and asks endpoints concurrently.",
        )


def _section(content: Mapping[str, Any], section: str, where: str) -> Iterator[NamedObject]:
    entries = content.get(section)
    if not isinstance(entries, Mapping) or not entries:
        raise PlanError(f"{section!r} must be an object that names something.", where=where)
    for name, entry in entries.items():
        if not isinstance(entry, Mapping):
            raise PlanError(f"The entry of {name!r} must be an object, not {entry!r}.", where=f"{where} {section}")
        arguments = dict(entry)
        class_name = arguments.pop(_CLASS, "")
        if not isinstance(class_name, str) or (_CLASS in entry and not class_name):
            raise PlanError(f"The class of {name!r} must be a name, not {class_name!r}.", where=f"{where} {section}")
        yield NamedObject(str(name), class_name, arguments)


def dataset_of(named: NamedObject) -> tuple[str, dict[str, Any]]:
    """The name of the dataset, and the further arguments of its constructor."""
    arguments = dict(named.arguments)
    return str(arguments.pop(_DATASET, named.name)), arguments


def _check_names(names: Sequence[str], option: str) -> None:
    for name in names:
        if name in ("", ".", ".."):
            raise PlanError(f"{name!r} is not a usable name.", where=option)
        if names.count(name) > 1:
            raise PlanError(f"{name!r} is named twice.", where=option)
