"""``ablate``: is the score of a run about the image?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.analysis.ablation.blind import answered_blind
from polymeter.analysis.ablation.running import AblatedRun, WholeRun
from polymeter.analysis.ablation.scores import ALLOWED, leakages, part_scores, unscored
from polymeter.analysis.comparison.comparing import Comparison, compare
from polymeter.analysis.comparison.runs import read_runs
from polymeter.core.errors import PlanError
from polymeter.core.machine.places import naming_places
from polymeter.core.model import Model
from polymeter.core.records.progress import Progress, Silence
from polymeter.core.settings.ablations import ABLATIONS, USUAL, ablation_named
from polymeter.core.settings.arguments import Names, mapping_of, names_of
from polymeter.report.render import as_text
from polymeter.store.ablations import PAGE, write_ablation
from polymeter.store.folder import open_folder
from polymeter.tasks.python.files.session import holding
from polymeter.tasks.python.writing.records import PythonTask

SCHEMA_VERSION = 1
_STOPPED, _INTERRUPTED = 1, 130


@dataclass(frozen=True, slots=True, repr=False)
class AblationReport:
    """A run and its ablations. It shows itself as ``polymeter ablate`` prints it.

    Attributes:
        whole: The run.
        runs: Its ablations, in the order in which they were named.
        compared: The run, compared with those that have ended; ``None``: none has.
        llm: The run of the language model alone, compared with those without media; ``None``: unknown.
        blind: The samples that were answered right without media, by task and ablation.
        scores: The numbers of each ablation, task and metric, as plain data.
        leakage: The leakage of each task and metric, as plain data.
    """

    whole: WholeRun
    runs: tuple[AblatedRun, ...]
    compared: Comparison | None = None
    llm: Comparison | None = None
    blind: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    scores: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    leakage: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    @property
    def page(self) -> Path:
        """The HTML page, in the folder of the run."""
        return self.whole.folder.path / PAGE

    @property
    def exit_code(self) -> int:
        """0: all that can be asked has ended; 1: a run was stopped, or has no score; 130: interrupted."""
        statuses = {one.status for one in self.runs} - {"complete", "refused"}
        return _INTERRUPTED if "interrupted" in statuses else _STOPPED if statuses else 0

    def document(self) -> dict[str, Any]:
        """Return all of it as plain data, as ``polymeter ablate --json`` prints it."""
        first = None if self.compared is None else self.compared.first
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "ablation",
            "exit_code": self.exit_code,
            "run": {
                "name": self.whole.folder.path.resolve().name,
                "path": str(self.whole.folder.path),
                "model": str(self.whole.manifest["model"].get("name") or ""),
            },
            "llm": None if self.llm is None else {"name": self.llm.first.name, "model": self.llm.first.model},
            "runs": [
                {
                    "how": one.ablation.name,
                    "words": one.ablation.words,
                    "status": one.status,
                    "reason": one.reason,
                    "path": str(one.path),
                    "skipped": dict(one.skipped),
                }
                for one in self.runs
            ],
            "scores": [dict(score) for score in self.scores],
            "leakage": [dict(score) for score in self.leakage],
            "notes": [] if self.compared is None else [*dict.fromkeys(self._notes(self.compared))],
            "n_samples": {} if first is None else {task: len(first.outcomes(task)) for task in self.blind},
            "blind": {task: {name: list(ids) for name, ids in own.items()} for task, own in self.blind.items()},
        }

    def _notes(self, compared: Comparison) -> list[str]:
        ended = [one for one in self.runs if one.is_compared]
        found = [
            f"{ablated.ablation.name}: {text}"
            for ablated, other in zip(ended, compared.others, strict=True)
            for text in unscored(other)
        ]
        others = (one for other in compared.others for one in other.not_compared if one.kind != "subset")
        return [*found, *(f"{one.name} ({one.metric}) is not compared: {one.why}." for one in others)]

    def __repr__(self) -> str:
        from polymeter.report.ablation.tables import print_ablation

        return as_text(print_ablation, self.document())


@naming_places()
def ablate(  # noqa: PLR0913  (callers name them)
    path: Path | str,
    how: Names = USUAL,
    *,
    limit: float | None = None,
    llm: Path | str | None = None,
    tasks: Sequence[PythonTask] = (),
    model: Model | None = None,
    roles: Mapping[str, Model] | None = None,
    model_args: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> AblationReport:
    """Run a finished run's plan again without a part of the prompts, and compare the scores sample by sample.

    Each ablation is a run of its own, in a folder beside the run. The same call continues one that stopped, and does
    not repeat a finished one. The outcome is written into the folder of the run, as ``ablation.json`` and as a page;
    reports made from then on mark the samples that were answered right without their media.

    Args:
        path: The run folder.
        how: Names of ablations: ``no-image``, ``no-video``, ``no-audio``, ``no-media``, ``blank``,
            ``shuffled-image``, ``shuffled-video``, ``shuffled-audio``, ``no-question``.
        limit: Only so many samples of each task; default: as many as the run has.
        llm: A run of the language model alone on the same tasks, for the leakage; default: unknown.
        tasks: The tasks in Python that the run was started with, if no file holds them.
        model: The model object, if the run was started with one.
        roles: The same for further models by role.
        model_args: As for ``resume``.
        progress: Receives progress; default: none.
        command: The command to record.
        **options: Fields of ``polymeter.RunOptions`` for each ablation: ``allow_generated_code``, which must be said
            again, caps (``max_cost``, ``max_tokens``, ``max_time_s``; default: those of the run), and prices.

    Raises:
        PlanError: if the run cannot be run again as it was, or none of its tasks can be asked so.
        DataError: if a dataset cannot be opened.
        StorageError: if a folder cannot be written.
    """
    from polymeter.api.running import checked_changes

    names = [ablation_named(name, "--how").name for name in dict.fromkeys(names_of(how, "how"))]
    if not names:
        raise PlanError("No ablation is named.", where="--how", hint=f"Such as --how {','.join(USUAL)}.")
    if llm is not None:
        _check_llm(Path(llm), names)
    whole = WholeRun.at(
        Path(path),
        limit,
        changes={"allow_generated_code": False, **checked_changes(options, "ablate")},
        models={**mapping_of(roles, "roles"), **({"model": model} if model is not None else {})},
        model_args=mapping_of(model_args, "model_args"),
        command=command,
    )
    _check_compared(whole.folder.path)
    progress, runs = progress or Silence(), list[AblatedRun]()
    with holding(tasks):
        for name in names:
            progress.note(f"ablation {name}, in {whole.place_of(ablation_named(name, '--how'))}")
            runs.append(whole.run(name, progress))
            if runs[-1].status == "interrupted":
                break
    _refuse_all_refused(runs)
    report = _compared(whole, runs, None if llm is None else Path(llm))
    if report.compared is not None:
        _write(report)
    return report


def _check_compared(path: Path) -> None:
    """Check that a run has a result that can be compared, before anything is spent.

    Raises:
        PlanError: if it has none, or is missing.
    """
    (run,) = read_runs([path])
    if not any(run.means(task)[0] for task in run.tasks):
        raise PlanError(
            "The run has no result that is the mean of its samples' values, so nothing can be compared.",
            where=str(path),
        )


def _check_llm(path: Path, names: Sequence[str]) -> None:
    """Check the run of the language model alone, before anything is spent.

    Raises:
        PlanError: if it is missing, or no ablation is to be compared with it.
    """
    open_folder(path).read_results()
    if not any(ABLATIONS[name].is_blind for name in names):
        what = "The leakage is measured without media, and no ablation leaves them out."
        raise PlanError(what, where="--llm", hint="Add no-image.")


def _refuse_all_refused(runs: Sequence[AblatedRun]) -> None:
    if all(one.result is None for one in runs):
        told = "\n".join(f"  - {one.ablation.name}: {one.refused}" for one in runs)
        raise PlanError(f"None of the ablations can be done:\n{told}", where="--how")


def _compared(whole: WholeRun, runs: Sequence[AblatedRun], llm: Path | None) -> AblationReport:
    ended = [one for one in runs if one.is_compared]
    if not ended:
        return AblationReport(whole, tuple(runs))
    compared = compare(whole.folder.path, *(one.path for one in ended), allow=ALLOWED)
    seeing = [one for one in ended if one.ablation.is_blind]
    of_llm = None
    if llm is not None and seeing:
        of_llm = compare(llm, *(one.path for one in seeing), allow=ALLOWED)
    return AblationReport(
        whole,
        tuple(runs),
        compared,
        of_llm,
        answered_blind(compared, ended),
        tuple(part_scores(compared, ended)),
        () if of_llm is None else tuple(leakages(of_llm, seeing)),
    )


def _write(report: AblationReport) -> None:
    from polymeter.analysis.ablation.page import write_page

    write_ablation(report.whole.folder, report.document())
    write_page(report)
