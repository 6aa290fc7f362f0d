"""Runs the cases with one scripted model, and writes down what came of them. It is a script for EvalScope 0.17: it runs
unmodified where EvalScope is installed, and under ``polymeter python``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import logging
import os
import random
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.evalscope.reports import note_metric
from conformance.evalscope.stand_ins import (
    Script,
    register_scorers,
    scripted_model,
    stand_in_for_hub,
    stand_in_for_leaderboard,
)
from conformance.frame import Observation, plain, write_observation

COLLECTION = "data_collection"


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the cases are")
    parser.add_argument("model", help="which scripted model")
    parser.add_argument("work", type=Path, help="where runs go")
    parser.add_argument("out", type=Path, help="the file of observations")
    parser.add_argument("--endpoint", default="", help="address of the scripted endpoint")
    parser.add_argument("--only", default="*", help="glob of cases")
    options = parser.parse_args()
    _take_answers_in_order()
    Driver(options.folder, options.model, options.work, options.out, options.endpoint).run(options.only)


class Driver:
    """One model's runs.

    Args:
        folder: Where the cases are.
        model: Which scripted model.
        work: Where runs go.
        out: The file of observations.
        endpoint: Address of the scripted endpoint.
    """

    def __init__(self, folder: Path, model: str, work: Path, out: Path, endpoint: str) -> None:
        import numpy
        from evalscope.metrics import Metric, metric_registry

        vars(numpy).setdefault("NAN", numpy.nan)  # arena_hard uses the name that NumPy 2 dropped
        self._folder, self._model, self._work, self._out, self._endpoint = folder, model, work, out, endpoint
        self._script = Script(folder, work / "images")
        register_scorers(metric_registry, Metric)
        stand_in_for_hub(folder, self._script)
        stand_in_for_leaderboard()

    def run(self, only: str) -> None:
        """Run all cases that a glob names."""
        for case in self._script.cases:
            if fnmatch.fnmatchcase(case["name"], only):
                write_observation(self._out, self._observe(case))

    def _observe(self, case: dict[str, Any]) -> Observation:
        observed = Observation(case["name"], self._model)
        self._script.case = case
        self._script.shown = {}
        place = self._work / case["name"]
        try:
            with _registered_as_before():
                args = self._args(case)
            entries = self._drawn(args, place) if case["adapter"] == COLLECTION else []
            with _registered_as_before(), _heard() as told:
                report = self._run(case["adapter"], args, case["config"], place / "runs", self._model)
        except BaseException as error:  # SystemExit is how a script ends elsewhere
            if isinstance(error, KeyboardInterrupt):
                raise
            traceback.print_exc()
            observed.failure = f"{type(error).__name__}: {error}"[:500]
            return observed
        observed.values, nums = _values(report)
        observed.samples = {"report": nums, **_reviews(place)}
        observed.prompts = dict(self._script.shown)
        if case["adapter"] == COLLECTION:
            observed.values.update(_levels(place, told))
            for entry in entries:
                prompt = entry.pop("prompt")
                observed.prompts[f"entry {entry['index']}"] = json.dumps(plain(prompt), sort_keys=True)
                observed.samples[f"entry {entry['index']}"] = entry
        return observed

    def _drawn(self, args: dict[str, Any], place: Path) -> list[dict[str, Any]]:
        """What a sampler draws for a collection, which the settings then name as a file."""
        from evalscope import collections
        from evalscope.utils.io_utils import dump_jsonl_data

        told = args.pop("collection")
        with _registered_as_before():
            sampler = getattr(collections, told["sampler"])(collections.CollectionSchema.from_dict(told["schema"]))
            random.seed(place.name)
            entries = sampler.sample(told["count"])
        args["local_path"] = str(place / "mixed.jsonl")
        place.mkdir(parents=True, exist_ok=True)
        dump_jsonl_data(entries, args["local_path"])
        return [plain(entry) for entry in entries]

    def _args(self, case: dict[str, Any]) -> dict[str, Any]:
        """A case's settings; those of an arena name the runs of its two models."""
        text = json.dumps(case["args"]).replace("{data}", str(self._folder / "hub" / case["name"]))
        args: dict[str, Any] = json.loads(text)
        if case["adapter"] != "general_arena":
            return args
        name_of_source = args.pop("from")
        source = next(one for one in self._script.cases if one["name"] == name_of_source)
        self._script.case = source
        fought = []
        for name, ending in ((self._model, ""), ("baseline", " So it is.")):
            place = self._work / case["name"] / "fought" / name
            self._run(source["adapter"], self._args(source), source["config"], place, name, ending)
            reports = next(place.glob("*/reports")) / name
            fought.append({"name": name, "report_path": str(reports)})
        self._script.case = case
        self._script.shown = {}
        args["extra_params"] = {"models": fought, "baseline": "baseline"}
        return args

    def _run(
        self, adapter: str, args: dict[str, Any], config: dict[str, Any], place: Path, model: str, ending: str = ""
    ) -> Any:
        from evalscope import TaskConfig, run_task
        from evalscope.models import CustomModel

        said_by = model if model == self._model else "right"
        settings: dict[str, Any] = {
            "model": scripted_model(CustomModel, self._script, said_by, model, ending),
            "model_id": model,
            "eval_type": "custom",
            "datasets": [adapter],
            "dataset_args": {adapter: args},
            "work_dir": str(place),
            "eval_batch_size": 4,
            **{key: value for key, value in config.items() if key not in ("judge", "at_endpoint")},
            "judge_model_args": {
                "api_url": self._endpoint,
                "model_id": "judge",
                "api_key": "none",
                **config.get("judge", {}),
            },
        }
        if config.get("at_endpoint"):
            settings |= {"model": self._model, "eval_type": "service", "api_url": self._endpoint, "api_key": "none"}
        if adapter in _IMAGES:
            settings["model_task"] = "image_generation"
        reports = run_task(TaskConfig(**settings))
        return reports["mixed" if adapter == COLLECTION else adapter]


def _take_answers_in_order() -> None:
    """Let EvalScope list what its threads answer in the order of the rows, one of those that can occur.

    It lists answers as they come, and a report is headed by the first metric of the first one: where an empty answer
    has fewer metrics, the head of the report changes from run to run.
    """
    for name in ("evalscope.evaluator.evaluator", "evalscope.collections.evaluator"):
        with suppress(ImportError):
            module = import_module(name)
            if hasattr(module, "as_completed"):
                module.as_completed = iter


@contextmanager
def _registered_as_before() -> Iterator[None]:
    """Undo what a run's settings do to registered benchmarks: in EvalScope they last as long as the process."""
    from evalscope.benchmarks.benchmark import BENCHMARK_MAPPINGS

    before = {name: (meta, deepcopy(vars(meta))) for name, meta in BENCHMARK_MAPPINGS.items()}
    try:
        yield
    finally:
        for meta, values in before.values():
            vars(meta).clear()
            vars(meta).update(values)


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What EvalScope logs, as long as the block lasts."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("evalscope")
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


def _levels(place: Path, told: list[str]) -> dict[str, Any]:
    """A collection's means by level, by what their scores have in common. EvalScope writes them into its log alone."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in place.glob("runs/**/collections/mixed.json")]
    levels: dict[str, list[dict[str, Any]]] = found[0] if found else {}
    for text in [] if found else told:
        title, _, table = text.partition(" Report:\n")
        if title.endswith("_level"):
            lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line]
            levels[title] = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    values = {}
    for level, rows in levels.items():
        for row in rows:
            mean, count = float(row.pop("average_score")), int(row.pop("count"))
            name = "/".join(map(str, row.values()))
            values[f"{level} {name}"], values[f"{level} {name} (count)"] = mean, count
    return values


_IMAGES = ("evalmuse", "genai_bench", "general_t2i", "hpdv2", "tifa160")


def _values(report: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A report's scores, and its counts and names, by where they stand."""
    written = plain(report.to_dict())
    scores: dict[str, Any] = {"score": written["score"]}
    counts: dict[str, Any] = {
        key: written[key] for key in ("name", "dataset_name", "dataset_pretty_name", "model_name")
    }
    for metric in written["metrics"]:
        note_metric(metric, metric["name"], scores, counts)
    return scores, counts


def _reviews(place: Path) -> dict[str, dict[str, Any]]:
    """What each sample's review holds: the parsed answer, the gold answer and the score."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(place.glob("runs/*/reviews/*/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            review = json.loads(line)
            for i, choice in enumerate(review["choices"]):
                found[f"{file.stem}/{review['index']}/{i}"] = {
                    key: _without_places(choice["review"].get(key)) for key in ("gold", "pred", "result")
                }
    return found


def _without_places(value: Any) -> Any:
    """A value, without names of files and folders, which differ between runs."""
    if isinstance(value, str) and os.path.isabs(value):
        return f"*{os.path.splitext(value)[1]}"
    return value


if __name__ == "__main__":
    main()
    sys.stdout.flush()
