"""One model on one dataset: which run folder it uses, which answers it reuses, and how they are scored.

A ``RunPair`` runs the model; an ``EvalPair`` scores the answers of an earlier run, a ``FilePair`` those of a prediction
file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.scoring import score
from polymeter.api.settings import parity_of, read_settings
from polymeter.core.errors import PlanError
from polymeter.core.identity import canonical, fingerprint
from polymeter.core.model import Model, ModelSpec
from polymeter.core.names.parity import OFF
from polymeter.core.names.registries import stored_format
from polymeter.core.records.progress import Progress
from polymeter.core.task import TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.core.text.secrets import without_secrets
from polymeter.interop.ulmeval.config import UlmevalConfig, seed_of
from polymeter.interop.ulmeval.model_names import ListedModel, judge_arguments
from polymeter.interop.ulmeval.prediction_formats import scores_format
from polymeter.interop.ulmeval.predictions import Predictions
from polymeter.interop.ulmeval.results import INFER, Outputs, all_runs
from polymeter.interop.ulmeval.tasks.loading import is_of_vlmeval
from polymeter.run.plan.model_pool import ModelPool
from polymeter.store.folder import RunFolder
from polymeter.tasks.table.turns import CONVERSATION

TSV = "tsv"
_DRAWS = "2I"


@dataclass
class ModelOnDataset(ABC):
    """One model on one dataset.

    Attributes:
        config: The command.
        model: The model's name in files.
        label: The dataset's name in files.
        spec: The benchmark.
        arguments: Further arguments of its class's constructor.
        judge: The judge, if any.
        day: ``YYYYMMDD``.
        command: What the user typed.
        pool: Lends the models, which stay loaded from pair to pair.
        judge_name: The judge's name among the arguments of ``evaluate``; empty: that of its model.
        notes: Notes for the user; grows during the run.
    """

    config: UlmevalConfig
    model: str
    label: str
    spec: TaskSpec
    arguments: Mapping[str, Any]
    judge: ListedModel | None
    day: str
    command: str
    pool: ModelPool
    judge_name: str = field(default="", kw_only=True)
    predictions_as: str = field(default="", kw_only=True)
    notes: list[str] = field(default_factory=list, kw_only=True)

    @abstractmethod
    def run(self, progress: Progress) -> RunResult:
        """Run the pair, or resume it."""

    def check(self) -> None:
        """Make the models, without reading their weights.

        Raises:
            PlanError: if one cannot be made, or the pair cannot run.
        """
        for spec in self.specs:
            self.pool.identity(spec)

    @property
    @abstractmethod
    def digest(self) -> str:
        """Digest of everything that can change an answer."""

    @property
    def keys(self) -> dict[str, str]:
        """Environment variables to set during the run."""
        return dict(self.judge.keys) if self.judge is not None else {}

    @property
    def root(self) -> Path:
        """The model's folder."""
        return self.config.work_dir / self.model

    @property
    def outputs(self) -> Outputs:
        """The folders of its outputs."""
        return Outputs(self.root, self.day, self.digest, self.label, self.config.journal_dir)

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The models that the run may use."""
        return () if self.judge is None else (self.judge.spec,)

    def roles(self) -> dict[str, ModelSpec | Model]:
        """The models of the run's roles, lent by the pool."""
        return {} if self.judge is None else {"judge": self.pool.lend(self.judge.spec)}

    def scored(self) -> str:
        """Digest of the way answers are scored."""
        judge = None
        if self.judge is not None:
            args = {name: value for name, value in self.judge.spec.args.items() if name != "api_key_env"}
            judge = [str(self.judge.spec), args]
        content = [judge, self.judge_arguments(), *([self.parity] if self.parity else [])]
        return fingerprint(without_secrets(jsonable(content)))[:8]

    def judge_arguments(self) -> dict[str, Any]:
        """The arguments of ``evaluate`` that the command gives."""
        return {**({"model": self.judge_name} if self.judge_name else {}), **judge_arguments(self.config)}

    @cached_property
    def parity(self) -> str:
        """The system whose values are taken; empty: none."""
        return parity_of(self.config.parity)

    def options(self) -> dict[str, Any]:
        """Options of a run that uses a model."""
        config = self.config
        options = {
            "limit": config.limit,
            "seed": seed_of(config.seed),
            "data": dict(config.data),
            "weights": dict(config.weights),
            "include_paths": self.include_paths(),
            "max_retries": config.retry,
            "concurrency": config.api_nproc,
            "timeout_s": config.timeout,
            "generation": dict(config.generation),
            "journal_dir": config.journal_dir,
            "parity": self.parity or config.parity,
            "is_strict_resume": config.strict_resume or None,
            "dialect_options": {TSV: self.tsv_options()} if is_of_table(self.spec) else {},
        }
        return {name: value for name, value in options.items() if value not in (None, {}, ())}

    def include_paths(self) -> tuple[Path, ...]:
        """Folders and files of benchmarks: those of the command, and the benchmark's file if the command names it."""
        from polymeter.run.plan.selection import named_place

        named = [Path(item.name) for item in self.config.datasets]
        return (
            *self.config.include_paths,
            *(path for path in named if path.is_file() and named_place(path) == self.spec.file),
        )

    def tsv_options(self) -> dict[str, Any]:
        """Options for dataset classes."""
        config = self.config
        options: dict[str, Any] = {
            "judge_args": self.judge_arguments(),
            "num_generations": config.num_generations,
            "arguments": dict(self.arguments),
            "predict_only": config.mode == INFER,
        }
        options = {name: value for name, value in options.items() if value}
        return {**options, **self.kept()}

    def kept(self) -> dict[str, Any]:
        """Options for the files of dataset classes and tables."""
        kind = {"predictions_as": self.predictions_as, "scores_as": scores_format()} if self.predictions_as else {}
        return {"model_id": self.model, "keep_predictions": True, **kind}

    def finished(self, run: RunFolder) -> RunResult:
        """The results of a run that has ended."""
        manifest = run.read_manifest()
        return RunResult(run, manifest["status"], run.read_results(), int(manifest.get("n_failed") or 0))


@dataclass
class RunPair(ModelOnDataset):
    """A pair whose model answers.

    Attributes:
        chosen: The model.
    """

    chosen: ListedModel = field(kw_only=True)

    @property
    def keys(self) -> dict[str, str]:
        """Environment variables to set during the run."""
        return {**super().keys, **self.chosen.keys}

    @cached_property
    def digest(self) -> str:
        """Digest of the model and of every setting that can change an answer."""
        settings, options = read_settings(), self.options()
        identity = self.pool.identity(self.chosen.spec)
        content: dict[str, Any] = {
            name: options[name] for name in ("limit", "seed", "generation", "system_prompt") if name in options
        }
        content |= {name: self.tsv_options().get(name) for name in ("num_generations", "arguments")}
        content |= {"parity": self.parity} if self.parity else {}
        content["data"] = {**settings.data, **self.config.data}
        content["weights"] = {**settings.weights, **self.config.weights}
        return fingerprint([without_secrets(canonical(dict(identity))), canonical(jsonable(content))])[:8]

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The models that the run may use: the evaluated one and the judge."""
        return (self.chosen.spec, *super().specs)

    def check(self) -> None:
        """Make the models, without reading their weights, and compute the digest.

        Raises:
            PlanError: if a model cannot be made, does not take its arguments, or a setting is invalid.
        """
        super().check()
        _ = self.digest

    def options(self) -> dict[str, Any]:
        """Options of the run, with the model's own options and settings where the command has none."""
        own = self.chosen.settings if _draws(self.spec) else self.chosen.text_settings
        given = super().options()
        settings = {**own, **given.get("generation", {})}
        return {**self.chosen.options, **given, **({"generation": settings} if settings else {})}

    def run(self, progress: Progress) -> RunResult:
        """Run the model and score its answers; answers of another run to the same requests are reused."""
        is_infer = self.config.mode == INFER
        target = self.outputs.run(INFER if is_infer else f"all_{self.scored()}")
        if not target.is_begun():
            self._reuse_answers(target)
        elif self.config.ignore and target.read_manifest()["status"] == "complete":
            self.notes.append("Failed samples are kept and not repeated, because of --ignore.")
            return self.finished(target)
        return evaluate(
            self.pool.lend(self.chosen.spec),
            [self.spec.name],
            roles={} if is_infer else self.roles(),
            progress=progress,
            command=self.command,
            passes_unknown_settings=True,  # they are those of a model's published configuration
            output=target.path,
            **self.options(),
        )

    def _reuse_answers(self, target: RunFolder) -> None:
        """Copy the answers of a run with the same digest: of the same day, or with ``--reuse`` of an earlier one."""
        from polymeter.store.exports.copying import take_answers

        others = self.outputs.others(target)
        earlier = self.outputs.earlier(target)
        if not others and earlier and not self.config.reuse:
            self.notes.append(f"No answers are reused. --reuse would reuse those of {earlier[0].path}.")
        source = next(iter([*others, *(earlier if self.config.reuse else [])]), None)
        if source is None:
            if self.config.reuse:
                self.notes.append("There is nothing to reuse: no run of this model has the same requests and settings.")
            return
        lock = target.lock()
        try:
            take_answers(source, target, with_judges=self.config.reuse_aux)
        finally:
            lock.release()
        self.notes.append(f"The answers of {source.path} are reused where the requests are the same.")


@dataclass
class EvalPair(ModelOnDataset):
    """A pair that scores the answers of an earlier run: no model is made."""

    @cached_property
    def source(self) -> RunFolder:
        """The run whose answers are scored: the latest whole one, else the latest.

        Raises:
            PlanError: if there is none.
        """
        fitting = [run for run in all_runs(self.root, self.label) if self._fits(run)]
        source = next((run for run in fitting if run.has_ended_whole()), None) or next(iter(fitting), None)
        if source is None:
            raise PlanError(
                f"There are no answers of {self.model!r} on {self.label!r}.",
                where=str(self.root),
                hint="Run --mode infer first, with the same --work-dir and settings.",
            )
        return source

    @property
    def digest(self) -> str:
        """The digest of the run whose answers are scored."""
        return self._folder_name().rpartition("_G")[2]

    @property
    def outputs(self) -> Outputs:
        """The folders in which the answers are."""
        return Outputs(self.root, self._folder_name()[1:].partition("_")[0], self.digest, self.label)

    def run(self, progress: Progress) -> RunResult:
        """Score the answers."""
        source = self.source
        self.notes.append(f"The answers of {source.path} are scored.")
        if not source.has_ended_whole():
            self.notes.append("That run did not end, or samples of it failed: those have no score.")
        options: dict[str, Any] = {
            "include_paths": (*self._included(), *self.include_paths()),
            "parity": self.parity or OFF,
        }
        if is_of_table(self.spec):
            judge_args = self.judge_arguments()
            options["dialect_options"] = {
                TSV: {
                    "predict_only": False,
                    "judge_args": judge_args,
                    **self.kept(),
                }
            }
        if self.config.api_nproc is not None:
            options["concurrency"] = self.config.api_nproc
        if self.config.retry is not None:
            options["max_retries"] = self.config.retry
        if self.config.timeout is not None:
            options["timeout_s"] = self.config.timeout
        return score(
            source.path,
            roles=self.roles(),
            output=self.outputs.run(f"eval_{source.path.name}_{self.scored()}").path,
            progress=progress,
            command=self.command,
            **options,
        )

    def _folder_name(self) -> str:
        """The name of the folder of the day and digest."""
        return self.source.path.parents[2].name

    def _included(self) -> tuple[Path, ...]:
        """The run's own folders and files of benchmarks, as far as they still exist."""
        paths = [Path(entry["path"]) for entry in self.source.read_manifest()["include_paths"]]
        return tuple(path for path in paths if path.exists())

    def _fits(self, run: RunFolder) -> bool:
        """Return whether a run has the settings that the command names."""
        from polymeter.run.finish.rescore import stored_options

        stored, config = stored_options(run.path), self.config
        of_class = stored.dialect_options.get(TSV, {})
        pairs = (
            (config.limit, stored.limit),
            (seed_of(config.seed), stored.seed),
            (config.num_generations, of_class.get("num_generations")),
            (dict(self.arguments) or None, of_class.get("arguments", {})),
        )
        return all(wanted is None or wanted == own for wanted, own in pairs)


@dataclass
class FilePair(ModelOnDataset):
    """A pair that scores the answers of a prediction file.

    Attributes:
        file: The file.
    """

    file: Path = field(kw_only=True)

    @cached_property
    def predictions(self) -> Predictions:
        """The answers.

        Raises:
            DataError: if the file is missing, or is not a prediction file.
        """
        return Predictions(self.file, self.model)

    @cached_property
    def digest(self) -> str:
        """Digest of the file and of every setting that can change what is scored."""
        config = self.config
        content: list[Any] = [config.limit, seed_of(config.seed), dict(self.arguments), dict(config.data)]
        content += [self.parity] if self.parity else []
        return fingerprint([self.predictions.identity, jsonable(content)])[:8]

    def tsv_options(self) -> dict[str, Any]:
        """Options for dataset classes, with the number of answers that most of the file's rows have: of a conversation,
        they are its turns.
        """
        count = None if self.spec.config.get("TYPE") == CONVERSATION else self.predictions.count
        return {**super().tsv_options(), **({"num_generations": count} if count else {})}

    def run(self, progress: Progress) -> RunResult:
        """Score the file's answers."""
        n_datasets = len(self.config.datasets)
        if n_datasets > 1:
            self.notes.append(f"The answers of {self.file} are used for each of {n_datasets} datasets, by index.")
        return evaluate(
            self.predictions,
            [self.spec.name],
            roles=self.roles(),
            progress=progress,
            command=self.command,
            output=self.outputs.run(f"file_{self.scored()}").path,
            **self.options(),
        )


def is_of_table(spec: TaskSpec) -> bool:
    """Return whether a benchmark is a dataset class or a table, which share their options."""
    return stored_format(spec.format) == TSV


def _draws(spec: TaskSpec) -> bool:
    """Return whether a benchmark may need images, as far as that is known before it is opened. A class of VLMEvalKit's
    needs them only if its TYPE says so.
    """
    if not is_of_table(spec):
        return True
    kind = str(spec.config.get("TYPE") or "")
    is_known = kind not in ("", "?")
    return _DRAWS in kind.upper() if is_known else not is_of_vlmeval(spec.file)
