"""Evaluating as EvalScope does: from a ``TaskConfig`` to EvalScope's reports and files, beside our run folder.

The work folder contains ``configs``, ``logs``, ``predictions``, ``reviews`` and ``reports`` as EvalScope writes them,
and the run folder ``run_<answers>_<scoring>``, named by digests of everything that can change an answer and of the way
answers are scored. So a work folder named with ``use_cache`` can hold several runs, and their answers are reused only
for the same requests, model and settings.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.scoring import score
from polymeter.api.settings import parity_of
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.identity import canonical, fingerprint
from polymeter.core.model import ModelSpec
from polymeter.core.names.catalog import AT
from polymeter.core.names.parity import OFF
from polymeter.core.records.progress import Progress
from polymeter.core.text.json_text import as_json
from polymeter.core.text.secrets import hide_secrets, scrubbed, without_secrets
from polymeter.interop.evalscope import SYSTEM
from polymeter.interop.evalscope import results as files
from polymeter.interop.evalscope.config import (
    KINDS_1X,
    TaskConfig,
    check,
    notes_on_fields,
    parse_task_config,
)
from polymeter.interop.evalscope.flags import OWN_WALLS
from polymeter.interop.evalscope.model_names import (
    ConfiguredModel,
    choose_judges,
    choose_model,
    judge_prompts,
    keys_set,
)
from polymeter.interop.evalscope.results import AnyReport
from polymeter.interop.evalscope.tasks.collection import COLLECTION
from polymeter.interop.evalscope.tasks.scoring.report import Report
from polymeter.interop.evalscope.tasks.scoring.report_tables import gen_table
from polymeter.interop.evalscope.v1.nested_settings import OF_TRANSPORT
from polymeter.report.table import footnotes
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder

_LOGGER = logging.getLogger("polymeter")
_SCORING_DEFAULTS: Mapping[str, Any] = {
    "dataset_args": {},
    "judge_strategy": "auto",
    "judge_model_args": {},
    "analysis_report": False,
    "predict_only": False,
}
"""Settings of scoring unless a configuration sets others, whatever the settings of the run with the answers."""
_OF_SCORES = frozenset({"filters", "metric_list", "primary_metric", "aggregation"})
"""Settings of a benchmark in ``dataset_args`` that change how answers are read and joined, and no request."""


@dataclass(frozen=True, slots=True)
class EvalscopeResult:
    """A finished evaluation.

    Attributes:
        run: Our run.
        folder: The work folder.
        reports: The report of each dataset; a benchmark that is not a data adapter has none.
        table: All reports as a grid; empty if there are none.
        notes: What the user should know about how the configuration was carried out.
        ignores_errors: Whether failed samples leave the exit code at 0.
        predictions: At the stage ``infer``, the predictions of each subset of each dataset, as they stand in the files.
        why_nothing_scored: Why no sample of a complete run has a score; empty if one has, or none was meant to.
    """

    run: RunResult
    folder: Path
    reports: dict[str, AnyReport]
    table: str
    notes: tuple[str, ...]
    ignores_errors: bool
    predictions: Mapping[str, Mapping[str, list[dict[str, Any]]]] = field(default_factory=dict)
    why_nothing_scored: str = ""

    @property
    def exit_code(self) -> int:
        """The run's exit code; 0 for a complete run if errors are ignored."""
        is_ignored = self.ignores_errors and self.run.status == "complete"
        return 0 if is_ignored else self.run.exit_code


def evaluate_evalscope(
    task_cfg: Any, *, progress: Progress | None = None, typed: str = "", stamp: str = "", **more_options: Any
) -> EvalscopeResult:
    """Run a task configuration.

    Args:
        task_cfg: A ``TaskConfig``, a mapping, a namespace, or the path of a YAML or JSON file. It is not changed.
        progress: Receives the progress of the run.
        typed: What the user typed, for the record.
        stamp: The time in the name of the work folder; default: now.
        **more_options: Options of the run that name files and folders: ``include_paths``, ``data``, ``weights``,
            ``imports``.

    Raises:
        PlanError: if it cannot run with these settings; nothing was spent.
        DataError: if a dataset cannot be opened; nothing was spent.
    """
    config = parse_task_config(task_cfg)
    check(config)
    chosen, judges = choose_model(config), choose_judges(config)
    root = work_folder(config, stamp)
    is_new_cache = bool(config.use_cache) and not root.exists()
    evaluation = _Evaluation(config, chosen, judges, root, progress, typed, more_options)
    with keys_set(chosen, *judges), _logged(root / "logs" / "eval_log.log", is_debug=config.debug):
        config.dump_yaml(root / "configs")
        run = evaluation.run()
        reports = files.write_files(run.folder, root, config) if run.is_complete else {}
        table = "\n".join([*files.level_reports(run.folder), *_tables(_sorted(reports))]) if reports else ""
        predictions = files.predictions(run.folder, config) if run.is_complete and config.stage == "infer" else {}
        why = why_nothing_scored(run, config)
        notes = tuple(_notes(config, run, reports, is_new_cache=is_new_cache))
        for text in (*notes, why, table):
            if text:
                _LOGGER.info("%s", text)
    return EvalscopeResult(run, root, reports, table, notes, config.ignore_errors, predictions, why)


def work_folder(config: TaskConfig, stamp: str = "") -> Path:
    """The folder for an evaluation's files: the one that ``use_cache`` names, which need not be there yet, else a new
    one named by the time.

    Raises:
        PlanError: if ``use_cache`` names a file.
    """
    if not config.use_cache:
        folder = Path(config.work_dir).expanduser()
        return folder if config.no_timestamp else folder / (stamp or time_stamp())
    folder = Path(config.use_cache).expanduser()
    if folder.exists() and not folder.is_dir():
        raise PlanError(
            f"{config.use_cache!r} is a file, and an evaluation needs a folder.",
            where="TaskConfig use_cache",
            hint="Name the folder of an earlier evaluation, whose name is a time, or a new folder.",
        )
    return folder


def why_nothing_scored(run: RunResult, config: TaskConfig) -> str:
    """Return the reason why no sample of a complete run has a score; empty if one has, or if the run was not meant to
    score.
    """
    tasks = run.results.get("tasks", {}) if run.is_complete else {}
    if not tasks or config.stage == "infer" or any(task["n_scored"] for task in tasks.values()):
        return ""
    for name in tasks:
        for sample in read_samples(run.folder, name):
            if sample["error"]:
                return f"Sample {sample['id']} of {name!r}: {_error_message(sample['error'])}"
    return next(filter(None, run.results.get("nothing_scored", {}).values()), "No sample has an answer.")


def time_stamp() -> str:
    """The current time, as names of work folders have it."""
    return time.strftime("%Y%m%d_%H%M%S")


def run_options(config: TaskConfig, chosen: ConfiguredModel) -> dict[str, Any]:
    """Options of the run, except its folders; those that are not set are absent."""
    options: dict[str, Any] = {
        "limit": config.limit,
        "seed": config.seed,
        "generation": generation_asked(config.generation_config) or None,
        "batch_size": config.eval_batch_size,
        "concurrency": config.eval_batch_size,
        "timeout_s": config.timeout or config.generation_config.get("timeout"),
        "max_retries": config.generation_config.get("retries"),
        "dialect_options": {
            "adapter": adapter_options(config, chosen),
            "adapter_1x": adapter_1x_options(config),
        },
        **panel_options(config),
    }
    return {name: value for name, value in options.items() if value is not None}


def generation_asked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The generation settings that are part of a request. Where only settings of its transport are given, it is for one
    answer: any setting replaces the defaults, as in 1.x.
    """
    asked = {name: value for name, value in settings.items() if name not in OF_TRANSPORT and value is not None}
    if "stop_seqs" in asked:
        asked["stop"] = asked.pop("stop_seqs")
    return asked or ({"n": 1} if settings else {})


def panel_options(config: TaskConfig) -> dict[str, Any]:
    """The rule by which several judges are joined, and how many have to give a verdict; empty for a single judge."""
    if len(config.judges()) < 2:
        return {}
    rule = "majority" if config.judge.get("aggregation") == "majority_vote" else "mean"
    return {"panel": rule, "panel_quorum": config.judge.get("min_valid_judges", 1)}


def adapter_options(config: TaskConfig, chosen: ConfiguredModel) -> dict[str, Any]:
    """Options of the run for its data adapters; those that are not set are absent."""
    options = {
        "dataset_args": {name: args for name, args in config.dataset_args.items() if _counts(name, config)},
        "judge_strategy": config.judge_strategy,
        "judge_model_args": judge_prompts(config),
        "eval_type": chosen.eval_type,
        "dataset_hub": (config.dataset_hub or "").lower(),
        "dataset_dir": config.dataset_dir or "",
        "model_id": config.model_id or "",
        "analysis_report": config.analysis_report,
        "predict_only": config.stage == "infer",
    }
    if COLLECTION in config.datasets:
        newer = adapter_1x_options(config)
        options["adapter_1x"] = {name: value for name, value in newer.items() if name != "dataset_args"}
    return {name: value for name, value in options.items() if value}


def adapter_1x_options(config: TaskConfig) -> dict[str, Any]:
    """Options of the run for its adapters of EvalScope 1.x; those that are not set are absent."""
    options = {
        "dataset_args": {name: args for name, args in config.dataset_args.items() if _counts(name, config)},
        "repeats": config.repeats if config.repeats > 1 else None,
        "judge": config.judge_settings(),
        "eval_type": config.eval_type if config.eval_type in KINDS_1X else None,
        "dataset_hub": (config.dataset_hub or "").lower(),
        "dataset_dir": config.dataset_dir or "",
        "sandbox": dict(config.sandbox),
        "model_id": config.model_id or "",
    }
    return {name: value for name, value in options.items() if value}


def notes(config: TaskConfig) -> Iterator[str]:
    """Notes on fields that have no effect."""
    for name in config.dataset_args:
        if not _counts(name, config):
            hint = did_you_mean(name, config.datasets)
            yield f"dataset_args of {name!r} have no effect: it is not one of the datasets. {hint}".strip()
    if config.generation_config.get("stream"):
        yield "stream has no effect: answers are the same, and Polymeter measures nothing token by token."
    if config.sandbox.get("enabled"):
        yield f"sandbox opens no container: {OWN_WALLS}."
    yield from notes_on_fields(config)


def _counts(name: str, config: TaskConfig) -> bool:
    """Return whether a benchmark may be part of an evaluation: it is named, perhaps with a protocol, or there is a
    collection of some.
    """
    return any(name in (own, own.partition(AT)[0]) for own in config.datasets) or COLLECTION in config.datasets


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """One evaluation: what to run, and in which run folder."""

    config: TaskConfig
    chosen: ConfiguredModel
    judges: tuple[ConfiguredModel, ...]
    root: Path
    progress: Progress | None
    typed: str
    more_options: Mapping[str, Any]

    def run(self) -> RunResult:
        """Run the model and score its answers; if only the scoring differs from an earlier run, score that run's."""
        options = run_options(self.config, self.chosen)
        parity = parity_of(self.more_options.get("parity"))
        options |= {"parity": parity} if parity else {}
        answers, scoring = self._answer_digest(options), self._scoring_digest(options)
        target = RunFolder(self.root / f"run_{answers}_{scoring}")
        if self.config.rerun_review:
            target = self._unused(target)
        source = self._source(target, answers)
        judges = [one.model for one in self.judges]
        roles = {"judge": judges if len(judges) > 1 else judges[0]} if judges else {}
        if source is not None:
            return score(
                source.path,
                roles=roles,
                output=target.path,
                progress=self.progress,
                command=self.typed,
                dialect_options={
                    **options["dialect_options"],
                    "adapter": {**_SCORING_DEFAULTS, **options["dialect_options"]["adapter"]},
                    "adapter_1x": {"dataset_args": {}, **options["dialect_options"]["adapter_1x"]},
                },
                parity=parity or OFF,
                is_strict_resume=bool(self.more_options.get("is_strict_resume")),
                **panel_options(self.config),
            )
        return evaluate(
            self.chosen.model,
            list(dict.fromkeys(self.config.datasets)),
            roles=roles,
            progress=self.progress,
            command=self.typed,
            prefer=(SYSTEM.log_name,),
            passes_unknown_settings=True,  # generation_config is part of configurations that people publish
            output=target.path,
            **{**options, **self.more_options},
        )

    def _unused(self, target: RunFolder) -> RunFolder:
        """A folder for another scoring of the answers of a run; the run's own if it has not ended, or not begun."""
        if not target.is_begun() or not target.has_ended_whole():
            return target
        number = 2
        while (folder := RunFolder(target.path.with_name(f"{target.path.name}-{number}"))).is_begun():
            number += 1
        return folder

    def _source(self, target: RunFolder, answers: str) -> RunFolder | None:
        """A run whose answers are scored; ``None`` if the model has to answer."""
        if target.is_begun():
            begun_from = target.read_manifest().get("scored_from")
            return RunFolder(Path(begun_from["run"])) if begun_from else None
        others = [RunFolder(path) for path in sorted(self.root.glob(f"run_{answers}_*")) if path != target.path]
        begun = [run for run in others if run.is_begun() and not run.read_manifest().get("scored_from")]
        if self.config.stage == "review":
            if not begun:
                raise PlanError(
                    "There are no answers of this model to these questions.",
                    where=str(self.root),
                    hint="The stage 'review' needs the configuration of the stage 'infer'; only the judge may differ.",
                )
            return next((run for run in begun if run.has_ended_whole()), begun[0])
        return next((run for run in begun if run.has_ended_whole()), None)

    def _answer_digest(self, options: Mapping[str, Any]) -> str:
        """Digest of everything that can change an answer."""
        adapter = options["dialect_options"]["adapter"]
        content = {name: options[name] for name in ("limit", "seed", "generation", "parity") if name in options}
        content |= {name: adapter[name] for name in ("eval_type", "dataset_hub") if name in adapter}
        content |= _dataset_args(adapter, is_of_scores=False)
        own = options["dialect_options"]["adapter_1x"]
        content |= {f"1.x {name}": own[name] for name in ("repeats", "sandbox", "eval_type") if name in own}
        return fingerprint([_model_mark(self.chosen), sorted(self.config.datasets), canonical(as_json(content))])[:8]

    def _scoring_digest(self, options: Mapping[str, Any]) -> str:
        """Digest of everything else that can change a score."""
        adapter = options["dialect_options"]["adapter"]
        content = {
            name: adapter[name] for name in ("judge_strategy", "judge_model_args", "analysis_report") if name in adapter
        }
        content |= _dataset_args(adapter, is_of_scores=True)
        if self.config.judge:
            content["judge"] = options["dialect_options"]["adapter_1x"]["judge"]
        content |= panel_options(self.config)
        judges = [_model_mark(one) for one in self.judges]
        marks = judges if len(judges) > 1 else next(iter(judges), None)
        return fingerprint([self.config.stage, self.config.model_id, canonical(as_json(content)), marks])[:8]


def _dataset_args(adapter: Mapping[str, Any], *, is_of_scores: bool) -> dict[str, Any]:
    """The part of ``dataset_args`` that changes only scores, or the rest; empty if there is nothing of it."""
    parts = {
        name: {key: value for key, value in args.items() if (key in _OF_SCORES) is is_of_scores}
        for name, args in adapter.get("dataset_args", {}).items()
    }
    kept = {name: part for name, part in parts.items() if part}
    return {"dataset_args": kept} if kept else {}


def _model_mark(chosen: ConfiguredModel) -> Any:
    """A model as plain data, without its address."""
    if isinstance(chosen.model, ModelSpec):
        args = {name: value for name, value in chosen.model.args.items() if name not in ("base_url", "api_key_env")}
        return [str(chosen.model), canonical(as_json(without_secrets(args)))]
    return canonical(without_secrets(dict(chosen.model.identity)))


def _tables(reports: Sequence[AnyReport]) -> Iterator[str]:
    """The tables of the reports of each generation."""
    from polymeter.interop.evalscope.v1.report.tables import gen_table as gen_table_1x

    older = [one for one in reports if isinstance(one, Report)]
    newer = [one for one in reports if not isinstance(one, Report)]
    if older:
        yield gen_table(report_list=older, add_overall_metric=True)
    if newer:
        yield gen_table_1x(report_list=newer, add_overall_metric=True)


def _sorted(reports: Mapping[str, AnyReport]) -> list[AnyReport]:
    return sorted(reports.values(), key=lambda report: (report.model_name, report.dataset_name))


def _error_message(error: Any) -> str:
    """Return the message of a sample's error, in either form in which it is stored."""
    return str(error.get("message", error)) if isinstance(error, Mapping) else str(error)


def _notes(
    config: TaskConfig, run: RunResult, reports: Mapping[str, AnyReport], *, is_new_cache: bool = False
) -> Iterator[str]:
    yield from notes(config)
    if is_new_cache:
        yield f"There was no folder {config.use_cache!r} to resume in, so this evaluation began in a new one."
    told = footnotes(run.results) if config.stage != "infer" else list(run.results.get("notes", ()))
    yield from told
    if run.is_complete and config.stage != "infer":
        for name, task in run.results["tasks"].items():
            is_explained = not task["n_scored"] or any(repr(name) in note for note in told)
            if files.report_name(run.folder, config, name) not in reports and not is_explained:
                yield (
                    f"{name!r} has no report: it is not a data adapter, or its aggregation gave nothing. "
                    f"See {run.folder.results}."
                )
    is_lacking = any(task["n_scored"] < task["n_samples"] for task in run.results.get("tasks", {}).values())
    if run.n_failed and is_lacking and not config.ignore_errors:
        yield f"The HTML report shows the reasons of samples without a score: {run.folder.report}."


class _Hiding(logging.Formatter):
    """Formats log lines without keys."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return scrubbed(hide_secrets(super().format(record)))


@contextmanager
def _logged(file: Path, *, is_debug: bool) -> Iterator[None]:
    """Also write to a file what is logged."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(_Hiding("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.DEBUG)
    # If logging is not set up, Python shows warnings only as long as no logger has a handler.
    handlers = [handler, *([logging.lastResort] if logging.lastResort and not logging.root.handlers else [])]
    before = _LOGGER.level
    for one in handlers:
        _LOGGER.addHandler(one)
    _LOGGER.setLevel(logging.DEBUG if is_debug else logging.INFO)
    try:
        yield
    finally:
        _LOGGER.setLevel(before)
        for one in handlers:
            _LOGGER.removeHandler(one)
        handler.close()
