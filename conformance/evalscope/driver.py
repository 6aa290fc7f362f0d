"""Runs the cases with one scripted model, and writes down what came of them. It is a script for EvalScope 0.17: it runs
unmodified where EvalScope is installed, and under ``polymeter python``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from conformance.evalscope.stand_ins import Script, register_scorers, scripted_model, stand_in_for_hub
from conformance.frame import Observation, plain, write_observation


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
            with _registered_as_before(case["adapter"]):
                args = self._args(case)
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
        return observed

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
        return run_task(TaskConfig(**settings))[adapter]


@contextmanager
def _registered_as_before(adapter: str) -> Iterator[None]:
    """Undo what a run's settings do to the registered benchmark: in EvalScope they last as long as the process."""
    from evalscope.benchmarks.benchmark import BENCHMARK_MAPPINGS

    meta = BENCHMARK_MAPPINGS.get(adapter)
    before = deepcopy(vars(meta)) if meta is not None else {}
    try:
        yield
    finally:
        if meta is not None:
            vars(meta).update(before)


_IMAGES = ("evalmuse", "genai_bench", "general_t2i", "hpdv2", "tifa160")


def _values(report: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A report's scores, and its counts and names, by where they stand."""
    written = plain(report.to_dict())
    scores: dict[str, Any] = {"score": written["score"]}
    counts: dict[str, Any] = {
        key: written[key] for key in ("name", "dataset_name", "dataset_pretty_name", "model_name")
    }
    for metric in written["metrics"]:
        _note(metric, metric["name"], scores, counts)
        for category in metric["categories"]:
            name = category["name"]
            place = f"{metric['name']}, {'/'.join(name) if isinstance(name, list) else name}"
            _note(category, place, scores, counts)
            for subset in category["subsets"]:
                _note(subset, f"{place}, {subset['name']}", scores, counts)
    return scores, counts


def _note(node: dict[str, Any], place: str, scores: dict[str, Any], counts: dict[str, Any]) -> None:
    scores[place] = node["score"]
    counts[f"num {place}"] = node["num"]
    if "macro_score" in node:
        scores[f"{place} (macro)"] = node["macro_score"]


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
