"""What a command of ULMEvalKit says: which models, which datasets, and how, from its flags or a JSON file.

It holds what was said; ``polymeter.interop.ulmeval.evaluation`` does it.
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
_ROOT_VARIABLE, _SEED_VARIABLE, _WORLD_VARIABLE = "MMEVAL_ROOT", "SEED", "WORLD_SIZE"
_SECTIONS = ("model", "data")
_CLASS, _DATASET = "class", "dataset"


@dataclass(frozen=True, slots=True)
class Named:
    """A model or a dataset of a command.

    Attributes:
        name: What it is called in files.
        class_name: The class that a JSON file names; empty where the name alone says what is meant.
        arguments: Arguments of its constructor.
    """

    name: str
    class_name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UlmevalConfig:
    """One command.

    Attributes:
        models: What is measured.
        datasets: On what.
        work_dir: Where outputs go.
        mode: ``all``, ``infer`` (ask and score nothing) or ``eval`` (score, and ask no model).
        result_files: Prediction files that are scored in place of a model's answers, one for each model.
        num_generations: How many images for each prompt, in place of the benchmarks' own.
        judge: The model that judges; empty: what the benchmark usually has.
        judge_args: What ``evaluate`` is given, and who the judge is (``model``, ``api_base``, ``key``). Never written
            with the key.
        api_nproc: Requests in flight at endpoints; ``None``: found out.
        retry: How often a request is asked again; ``None``: as usual.
        verbose: What ``evaluate`` and wrappers are told under this name.
        ignore: Leave failed samples of a finished run as they are.
        reuse: Take over the answers of an earlier day.
        reuse_aux: Take over the judge's answers with them.
        model_path: A file or folder that defines models.
        limit: At most so many samples of each dataset; below 1 a share.
        seed: Seed of the run; ``None``: the environment's ``SEED``, else the usual one.
        include_paths: Folders and files of benchmarks.
        data: Local files in place of datasets.
        weights: Local files in place of model ids.
        journal_dir: A local folder for live journals, where outputs go to a network file system.
    """

    models: tuple[Named, ...] = ()
    datasets: tuple[Named, ...] = ()
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
    limit: float | None = None
    seed: int | None = None
    include_paths: tuple[Path, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    journal_dir: Path | None = None

    def settled(self) -> UlmevalConfig:
        """Itself, checked, and its model path as it is from anywhere.

        Raises:
            PlanError: It says what cannot be.
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
        ):
            if number is not None and number < 1:
                raise PlanError(f"{number} is not a number from 1 on.", where=option)
        if self.retry is not None and self.retry < 0:
            raise PlanError(f"{self.retry} is not a number from 0 on.", where="--retry")
        place = Path(self.model_path)
        is_place = bool(self.model_path) and place.exists()  # else a module's dotted name
        return replace(self, model_path=str(place.resolve())) if is_place else self


def read_config(file: str | Path) -> tuple[tuple[Named, ...], tuple[Named, ...]]:
    """The models and the datasets of a JSON file: ``{"model": {name: {…}}, "data": {name: {…}}}``.

    What is said of a model are ``class`` and arguments of its constructor, or nothing for one that is known by name. Of
    a dataset it is ``class``, ``dataset`` and further arguments; nothing where the name is the dataset's.

    Raises:
        PlanError: There is no such file, or it is of another form.
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


def work_folder(told: str) -> Path:
    """Where outputs go: ``$MMEVAL_ROOT`` where it is set, as in ULMEvalKit, else what was said."""
    return Path(os.environ.get(_ROOT_VARIABLE) or told).expanduser()


def seed_of(told: int | None) -> int | None:
    """The seed: what was said, else ``$SEED``.

    Raises:
        PlanError: The variable holds no number.
    """
    text = os.environ.get(_SEED_VARIABLE, "")
    if told is not None or not text:
        return told
    if not text.strip().isdecimal():
        raise PlanError(f"{text!r} is no seed.", where=f"${_SEED_VARIABLE}", hint="Give a number, or --seed.")
    return int(text)


def refuse_world() -> None:
    """Refuse to be one of several processes that would each do everything.

    Raises:
        PlanError: ``WORLD_SIZE`` says that there are several.
    """
    size = os.environ.get(_WORLD_VARIABLE, "")
    if size not in ("", "0", "1"):
        raise PlanError(
            f"This is one of {size} processes, and each would do everything.",
            where=f"${_WORLD_VARIABLE}",
            hint="Start one process, without torchrun; it batches, and asks endpoints concurrently.",
        )


def _section(content: Mapping[str, Any], section: str, where: str) -> Iterator[Named]:
    entries = content.get(section)
    if not isinstance(entries, Mapping) or not entries:
        raise PlanError(f"{section!r} must be an object that names something.", where=where)
    for name, told in entries.items():
        if not isinstance(told, Mapping):
            raise PlanError(f"What is said of {name!r} must be an object, not {told!r}.", where=f"{where} {section}")
        arguments = dict(told)
        found = arguments.pop(_CLASS, "")
        if not isinstance(found, str) or (_CLASS in told and not found):
            raise PlanError(f"The class of {name!r} must be a name, not {found!r}.", where=f"{where} {section}")
        yield Named(str(name), found, arguments)


def dataset_of(named: Named) -> tuple[str, dict[str, Any]]:
    """The dataset that is meant, and the further arguments of its constructor."""
    arguments = dict(named.arguments)
    return str(arguments.pop(_DATASET, named.name)), arguments


def _check_names(names: Sequence[str], option: str) -> None:
    for name in names:
        if name in ("", ".", ".."):
            raise PlanError(f"{name!r} cannot name anything.", where=option)
        if names.count(name) > 1:
            raise PlanError(f"{name!r} is named twice.", where=option)
