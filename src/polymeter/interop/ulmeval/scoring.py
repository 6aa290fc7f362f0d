"""Pairs of a model and a dataset whose model is not asked: its answers are there already, or are in somebody's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from polymeter.api.running import RunResult, evaluate
from polymeter.api.scoring import score
from polymeter.core.codec import jsonable
from polymeter.core.errors import PlanError
from polymeter.core.identity import fingerprint
from polymeter.core.progress import Progress
from polymeter.interop.ulmeval.config import seed_of
from polymeter.interop.ulmeval.model_names import judge_arguments
from polymeter.interop.ulmeval.pairs import TSV, Pair, is_of_table
from polymeter.interop.ulmeval.predictions import Predictions
from polymeter.interop.ulmeval.results import Place, all_runs, is_whole
from polymeter.store.folder import RunFolder


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
