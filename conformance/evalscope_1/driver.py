"""Runs the cases with one scripted model, and writes down what came of them. It is a script for EvalScope 1.x: it runs
unmodified where EvalScope is installed, and under ``polymeter python``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

from conformance.contained import only_this_machine
from conformance.evalscope.reports import note_metric
from conformance.evalscope_1.decisions import observe_decisions
from conformance.evalscope_1.images import draw_by_endpoint, score_by_digests
from conformance.evalscope_1.mixtures import draw, note_collection, serve_members
from conformance.evalscope_1.programs import run_in_processes
from conformance.evalscope_1.stand_ins import serve_rows
from conformance.frame import Observation, plain, write_observation

_THEIRS = "theirs"
REASON = "reason"
"""The name under which a sample without a score has the reason."""
_EVAL_TYPES = {"image": "text2image", "edit": "image_editing", "decision": "systemone_api"}


def main() -> None:
    """Run the cases that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="where the book and the rows are")
    parser.add_argument("side", help="which tool")
    parser.add_argument("model", help="which scripted model")
    parser.add_argument("out", type=Path, help="the file of observations")
    parser.add_argument("--endpoint", required=True, help="address of the scripted endpoint")
    parser.add_argument("--only", default="*", help="globs of cases, separated by commas")
    options = parser.parse_args()
    only_this_machine()
    place: dict[str, Any] = {}
    serve_rows(place)
    serve_members(place, options.work / "rows")
    score_by_digests()
    if options.side == _THEIRS:
        _run_lightly()
        draw_by_endpoint()
        run_in_processes(place)
    for line in (options.work / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if any(fnmatch.fnmatchcase(case["name"], one) for one in options.only.split(",")):
            place.update(current=str(options.work / "rows" / case["adapter"]), alone=case.get("alone"))
            write_observation(options.out, observe(case, options))


def _run_lightly() -> None:
    """Leave out what takes EvalScope longer than an evaluation and is not compared: a page of each report, and a look
    at all objects of its modules after each case.
    """
    import gc

    import evalscope.report

    evalscope.report.gen_html_report_file = lambda reports: reports
    gc.collect = lambda *_: 0


def observe(case: dict[str, Any], options: argparse.Namespace) -> Observation:
    """What the tool makes of one case."""
    observed = Observation(case["name"], options.model)
    folder = options.work / f"{options.side}-runs" / options.model / case["name"]
    shutil.rmtree(folder, ignore_errors=True)
    entries = []
    try:
        if "drawn" in case:
            case["args"]["local_path"] = str(folder / "mixed.jsonl")
            entries = draw(case, folder / "mixed.jsonl")
        config = _config(case, options, folder)
        if case["kind"] == "decision":
            return observe_decisions(case["name"], options.model, _adapter(case, config, options))
        _evaluate(case, config, options)
    except BaseException as error:  # SystemExit is how a script ends elsewhere
        if isinstance(error, KeyboardInterrupt):
            raise
        traceback.print_exc()
        observed.failure = f"{type(error).__name__}: {error}"[:500]
        return observed
    report = _read_report(folder / "run", case["adapter"])
    if report is None:
        observed.failure = "no report was written"
        return observed
    observed.values, nums = _values(report)
    if not observed.values:
        observed.failure = "nothing was scored"
        return observed
    observed.samples = {"report": nums, **_reviews(folder / "run")}
    if entries:
        note_collection(observed, entries, folder / "run" / "reports")
    return observed


def _config(case: dict[str, Any], options: argparse.Namespace, folder: Path) -> Any:
    """The evaluation of a case."""
    from evalscope import TaskConfig

    kind, key = case["kind"], f"{options.side}|{case['name']}"
    judge = {"model_id": case.get("judge", "judge"), "api_url": options.endpoint, "api_key": key}
    generation = {"temperature": 0.0, "max_tokens": 512, "retries": 1}
    if kind in ("image", "edit"):
        generation = {"height": 8, "width": 8}
    return TaskConfig(
        model=options.model,
        eval_type=_EVAL_TYPES.get(kind, "openai_api"),
        api_url=options.endpoint,
        api_key=key,
        datasets=[case["adapter"]],
        dataset_args={case["adapter"]: case["args"]},
        dataset_dir=str(folder / "copies"),
        work_dir=str(folder / "run"),
        no_timestamp=True,
        eval_batch_size=1,
        collect_perf=False,
        seed=42,
        generation_config=generation,
        judge={"models": [judge], "strategy": case.get("strategy", "auto")},
        **case["config"],
    )


def _evaluate(case: dict[str, Any], config: Any, options: argparse.Namespace) -> None:
    from evalscope import run_task

    if case["kind"] != "program" or options.side == _THEIRS:
        run_task(config)
        return
    # A script cannot allow programs: that is a flag of the command line.
    from polymeter.interop.evalscope.evaluation import evaluate_evalscope

    evaluate_evalscope(config, allow_generated_code=True)


def _adapter(case: dict[str, Any], config: Any, options: argparse.Namespace) -> Any:
    """The adapter of a case alone, for which no model is asked."""
    if options.side == _THEIRS:
        from evalscope.api.registry import get_benchmark

        return get_benchmark(case["adapter"], config)
    from conformance.evalscope_1.census import installed_adapter

    return installed_adapter(case["adapter"], config.dataset_args[case["adapter"]], config.eval_type)


def _read_report(run: Path, adapter: str) -> dict[str, Any] | None:
    files = sorted(run.glob(f"reports/*/{adapter}.json"))
    return json.loads(files[0].read_text(encoding="utf-8")) if files else None


def _values(report: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A report's scores, and its counts and names, by where they stand."""
    scores: dict[str, Any] = {}
    counts: dict[str, Any] = {key: report.get(key) for key in ("dataset_name", "dataset_pretty_name", "num")}
    counts["primary"] = json.dumps(report.get("primary_metric_identity"), sort_keys=True)
    for metric in report["metrics"]:
        identity = metric["identity"]
        dimensions = json.dumps(identity.get("dimensions") or {}, sort_keys=True)
        place = f"{identity['name']}:{identity['aggregation']}{dimensions}"
        counts[f"semantics {place}"] = json.dumps(metric.get("semantics"), sort_keys=True)
        note_metric(metric, place, scores, counts)
    return scores, counts


def _reviews(run: Path) -> dict[str, dict[str, Any]]:
    """What each sample's review holds: values, the parsed answer and its target."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(run.glob("reviews/*/**/*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            review = json.loads(line)
            sample = review["sample_score"]
            score = sample["score"]
            # A subset with a slash in its name has a folder there, and an underscore here.
            subset = "_".join(file.with_suffix("").relative_to(run / "reviews").parts[1:])
            place = f"{subset}/{review['index']}"
            status = score.get("status")
            if status not in ("success", "degraded"):
                found[place] = {"has a score": False, REASON: _reason(score)}
                continue
            found[place] = {
                "status": status,
                **{f"value {name}": plain(one) for name, one in (score.get("value") or {}).items()},
                "extracted": _read_answer(score.get("extracted_prediction")),
                "target": review.get("target"),
                "place": [sample.get(name) for name in ("sample_id", "group_id", "generation_index")],
            }
    return found


def _reason(score: dict[str, Any]) -> str:
    """Why a sample has no score, as far as the tool records it."""
    metadata = score.get("metadata") or {}
    errors = [value for value in metadata.values() if isinstance(value, str) and value.startswith("error: ")]
    judged = (score.get("judge_summary") or {}).get("error")
    return judged or score.get("explanation") or "; ".join(errors) or str(metadata.get("error") or "")


def _read_answer(answer: Any) -> Any:
    """The answer as it was read; of an image its name, as each tool has folders of its own."""
    is_file = isinstance(answer, str) and answer.endswith(".png")
    return Path(answer).name if is_file else answer


if __name__ == "__main__":
    main()
    sys.stdout.flush()
