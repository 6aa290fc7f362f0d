"""One model on one dataset: which run folder, whose answers are taken over, and how it is scored.

A ``RunPair`` asks the model; an ``EvalPair`` scores answers that are there already, a ``FilePair`` those of somebody's
prediction file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.api.running import RunResult, evaluate
from polymeter.api.scoring import score
from polymeter.api.settings import read_settings
from polymeter.core.codec import jsonable
from polymeter.core.errors import PlanError
from polymeter.core.identity import canonical, fingerprint
from polymeter.core.model import Model, ModelSpec
from polymeter.core.progress import Progress
from polymeter.core.registries import stored_format
from polymeter.core.secrets import with_digests
from polymeter.core.task import TaskSpec
from polymeter.engine.model_pool import ModelPool
from polymeter.interop.ulmeval.config import UlmevalConfig, seed_of
from polymeter.interop.ulmeval.model_names import Chosen, judge_arguments
from polymeter.interop.ulmeval.predictions import Predictions
from polymeter.interop.ulmeval.results import INFER, Place, all_runs, is_whole
from polymeter.store.folder import RunFolder

TSV = "tsv"
_DRAWS = "2I"


@dataclass
class Pair(ABC):
    """One model on one dataset.

    Attributes:
        config: The command.
        model: What the model is called in files.
        label: What the dataset is called there.
        spec: The benchmark.
        arguments: Further arguments of its class's constructor.
        judge: Who judges; ``None``: nobody.
        day: ``YYYYMMDD``.
        command: What the user typed.
        keeper: Lends the models, which stay loaded from pair to pair.
        notes: What the user should know; grows while it runs.
    """

    config: UlmevalConfig
    model: str
    label: str
    spec: TaskSpec
    arguments: Mapping[str, Any]
    judge: Chosen | None
    day: str
    command: str
    keeper: ModelPool
    notes: list[str] = field(default_factory=list, kw_only=True)

    @abstractmethod
    def run(self, progress: Progress) -> RunResult:
        """Do it, or go on with it."""

    def check(self) -> None:
        """Make the models, without reading their weights.

        Raises:
            PlanError: One cannot be made, or the pair cannot be done.
        """
        for spec in self.specs:
            self.keeper.identity(spec)

    @property
    @abstractmethod
    def asked(self) -> str:
        """Digest of everything that can change an answer."""

    @property
    def keys(self) -> dict[str, str]:
        """Environment variables to set meanwhile."""
        return dict(self.judge.keys) if self.judge is not None else {}

    @property
    def root(self) -> Path:
        """The model's folder."""
        return self.config.work_dir / self.model

    @property
    def place(self) -> Place:
        """Where its outputs lie."""
        return Place(self.root, self.day, self.asked, self.label, self.config.journal_dir)

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The models that may be asked."""
        return () if self.judge is None else (self.judge.spec,)

    def roles(self) -> dict[str, ModelSpec | Model]:
        """Further models of the run, lent to it."""
        return {} if self.judge is None else {"judge": self.keeper.lend(self.judge.spec)}

    def scored(self) -> str:
        """Digest of how answers are scored."""
        judge = None
        if self.judge is not None:
            args = {name: value for name, value in self.judge.spec.args.items() if name != "api_key_env"}
            judge = [str(self.judge.spec), args]
        return fingerprint(with_digests(jsonable([judge, judge_arguments(self.config)])))[:8]

    def options(self) -> dict[str, Any]:
        """Options of a run that asks."""
        config = self.config
        told = {
            "limit": config.limit,
            "seed": seed_of(config.seed),
            "data": dict(config.data),
            "weights": dict(config.weights),
            "include_paths": self.include_paths(),
            "max_retries": config.retry,
            "concurrency": config.api_nproc,
            "journal_dir": config.journal_dir,
            "dialect_options": {TSV: self.tsv_options()} if is_of_table(self.spec) else {},
        }
        return {name: value for name, value in told.items() if value not in (None, {}, ())}

    def include_paths(self) -> tuple[Path, ...]:
        """Folders and files of benchmarks: those that are named, and the benchmark's own file where it was named."""
        from polymeter.engine.plan import named_place

        told = self.config.include_paths
        named = [Path(item.name) for item in self.config.datasets]
        return (*told, *(path for path in named if path.is_file() and named_place(path) == self.spec.file))

    def tsv_options(self) -> dict[str, Any]:
        """Options for dataset classes."""
        config = self.config
        told: dict[str, Any] = {
            "judge_args": judge_arguments(config),
            "num_generations": config.num_generations,
            "arguments": dict(self.arguments),
            "predict_only": config.mode == INFER,
        }
        said = {name: value for name, value in told.items() if value}
        return {**said, "model_id": self.model, "keep_predictions": True}

    def as_it_stands(self, run: RunFolder) -> RunResult:
        """The results of a run that has ended."""
        manifest = run.read_manifest()
        return RunResult(run, manifest["status"], run.read_results(), int(manifest.get("n_failed") or 0))


@dataclass
class RunPair(Pair):
    """A pair whose model is asked.

    Attributes:
        chosen: The model.
    """

    chosen: Chosen = field(kw_only=True)

    @property
    def keys(self) -> dict[str, str]:
        """Environment variables to set meanwhile."""
        return {**super().keys, **self.chosen.keys}

    @cached_property
    def asked(self) -> str:
        """Digest of the model and of every setting that can change an answer."""
        settings, options = read_settings(), self.options()
        identity = self.keeper.identity(self.chosen.spec)
        said: dict[str, Any] = {name: options[name] for name in ("limit", "seed", "generation") if name in options}
        said |= {name: self.tsv_options().get(name) for name in ("num_generations", "arguments")}
        said |= {"data": {**settings.data, **self.config.data}, "weights": {**settings.weights, **self.config.weights}}
        return fingerprint([with_digests(canonical(dict(identity))), canonical(jsonable(said))])[:8]

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The models that may be asked: the one that is measured, and who judges."""
        return (self.chosen.spec, *super().specs)

    def check(self) -> None:
        """Make the models, without reading their weights, and find out what is asked.

        Raises:
            PlanError: A model cannot be made, does not take its arguments, or a setting means nothing.
        """
        super().check()
        _ = self.asked

    def options(self) -> dict[str, Any]:
        """Options of the run, with the settings that a model draws with."""
        settings = dict(self.chosen.settings) if _draws(self.spec) else {}
        return {**super().options(), **({"generation": settings} if settings else {})}

    def run(self, progress: Progress) -> RunResult:
        """Ask and score; what another run has been answered already to the same questions is not asked again."""
        is_infer = self.config.mode == INFER
        target = self.place.run(INFER if is_infer else f"all_{self.scored()}")
        if not target.is_begun():
            self._take_over(target)
        elif self.config.ignore and target.read_manifest()["status"] == "complete":
            self.notes.append("Failed samples stay as they are: --ignore.")
            return self.as_it_stands(target)
        return evaluate(
            self.keeper.lend(self.chosen.spec),
            [self.spec.name],
            roles={} if is_infer else self.roles(),
            progress=progress,
            command=self.command,
            output=target.path,
            **self.options(),
        )

    def _take_over(self, target: RunFolder) -> None:
        """Begin with the answers of a run that has asked the same: of the same day, or of an earlier one if told so."""
        from polymeter.store.copying import take_answers

        others = self.place.others(target)
        earlier = self.place.earlier(target)
        if not others and earlier and not self.config.reuse:
            self.notes.append(f"Everything is asked anew. --reuse would take over the answers of {earlier[0].path}.")
        source = next(iter([*others, *(earlier if self.config.reuse else [])]), None)
        if source is None:
            if self.config.reuse:
                self.notes.append(
                    "Nothing was there to reuse: no run of this model has asked the same with these settings."
                )
            return
        lock = target.lock()
        try:
            take_answers(source, target, with_judges=self.config.reuse_aux)
        finally:
            lock.release()
        self.notes.append(f"The answers of {source.path} are taken over where the questions are the same.")


@dataclass
class EvalPair(Pair):
    """A pair whose answers are there already: no model is made or asked."""

    @cached_property
    def source(self) -> RunFolder:
        """The run whose answers are scored: the latest one, whole if there is one.

        Raises:
            PlanError: There is none.
        """
        fitting = [run for run in all_runs(self.root, self.label) if self._fits(run)]
        found = next((run for run in fitting if is_whole(run)), None) or next(iter(fitting), None)
        if found is None:
            raise PlanError(
                f"There are no answers of {self.model!r} on {self.label!r}.",
                where=str(self.root),
                hint="Ask first, with --mode infer and the same --work-dir and settings.",
            )
        return found

    @property
    def asked(self) -> str:
        """That of the run whose answers are scored."""
        return self._named().rpartition("_G")[2]

    @property
    def place(self) -> Place:
        """Where the answers lie."""
        return Place(self.root, self._named()[1:].partition("_")[0], self.asked, self.label)

    def run(self, progress: Progress) -> RunResult:
        """Score the answers."""
        source = self.source
        self.notes.append(f"Scored are the answers of {source.path}.")
        if not is_whole(source):
            self.notes.append("That run did not end, or samples of it failed: they have no score.")
        options: dict[str, Any] = {"include_paths": (*self._included(), *self.include_paths())}
        if is_of_table(self.spec):
            judge_args = judge_arguments(self.config)
            told = {"predict_only": False, "judge_args": judge_args, "keep_predictions": True, "model_id": self.model}
            options["dialect_options"] = {TSV: told}
        if self.config.api_nproc is not None:
            options["concurrency"] = self.config.api_nproc
        if self.config.retry is not None:
            options["max_retries"] = self.config.retry
        return score(
            source.path,
            roles=self.roles(),
            output=self.place.run(f"eval_{source.path.name}_{self.scored()}").path,
            progress=progress,
            command=self.command,
            **options,
        )

    def _named(self) -> str:
        """The name of the folder of the day."""
        return self.source.path.parents[2].name

    def _included(self) -> tuple[Path, ...]:
        """Those of the places in which the run found benchmarks that are here."""
        places = [Path(entry["path"]) for entry in self.source.read_manifest()["include_paths"]]
        return tuple(place for place in places if place.exists())

    def _fits(self, run: RunFolder) -> bool:
        """Whether a run has asked with the settings that are named."""
        from polymeter.engine.rescoring import stored_options

        stored, config = stored_options(run.path), self.config
        of_class = stored.dialect_options.get(TSV, {})
        pairs = (
            (config.limit, stored.limit),
            (seed_of(config.seed), stored.seed),
            (config.num_generations, of_class.get("num_generations")),
            (dict(self.arguments) or None, of_class.get("arguments", {})),
        )
        return all(told is None or told == own for told, own in pairs)


@dataclass
class FilePair(Pair):
    """A pair whose answers stand in somebody's prediction file.

    Attributes:
        file: The file.
    """

    file: Path = field(kw_only=True)

    @cached_property
    def predictions(self) -> Predictions:
        """The answers.

        Raises:
            DataError: The file is missing, or is no prediction file.
        """
        return Predictions(self.file, self.model)

    @cached_property
    def asked(self) -> str:
        """Digest of the file and of what is asked of it."""
        said = [self.config.limit, seed_of(self.config.seed), dict(self.arguments), dict(self.config.data)]
        return fingerprint([self.predictions.identity, jsonable(said)])[:8]

    def tsv_options(self) -> dict[str, Any]:
        """Options for dataset classes, with as many answers for each row as the file has."""
        count = self.predictions.count
        return {**super().tsv_options(), **({"num_generations": count} if count else {})}

    def run(self, progress: Progress) -> RunResult:
        """Score the file's answers."""
        n_datasets = len(self.config.datasets)
        if n_datasets > 1:
            self.notes.append(f"The answers of {self.file} count for each of {n_datasets} datasets, by their indices.")
        return evaluate(
            self.predictions,
            [self.spec.name],
            roles=self.roles(),
            progress=progress,
            command=self.command,
            output=self.place.run(f"file_{self.scored()}").path,
            **self.options(),
        )


def is_of_table(spec: TaskSpec) -> bool:
    """Whether a benchmark is a dataset class or a table, which share their settings."""
    return stored_format(spec.format) == TSV


def _draws(spec: TaskSpec) -> bool:
    """Whether a benchmark asks for images, as far as that is known before it is opened."""
    kind = str(spec.config.get("TYPE") or "")
    return not is_of_table(spec) or not kind or kind == "?" or _DRAWS in kind.upper()
