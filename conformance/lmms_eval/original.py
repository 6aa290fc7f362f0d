"""Runs in lmms-eval's environment: its own evaluator, with the scripted models, on the prepared rows."""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import MODELS, Observation, read_observations, write_observation
from conformance.lmms_eval import installed
from conformance.lmms_eval.draws import Draws
from conformance.lmms_eval.observing import observed_samples, observed_values, read_prompts

SECONDS = 60


OTHER_DRAW = "messy, other draws"
"""*messy* once more, with other random numbers: a task that then gives other values depends on what ran before it."""


def observe(name: str, model: str, kind: str, work: Path, manager: Any, book: Path, draws: Draws) -> Observation:
    """One task with one model."""
    from lmms_eval.evaluator import simple_evaluate

    from conformance.lmms_eval import wrapper

    prompts = work / "prompts.jsonl"
    prompts.unlink(missing_ok=True)
    made = wrapper.ScriptedSimple if kind == "simple" else wrapper.ScriptedChat
    who = model.split(",")[0]
    seeds = dict.fromkeys(("random_seed", "numpy_random_seed", "torch_random_seed"), 77) if model == OTHER_DRAW else {}
    draws.are_noted = False
    lm = made(book=str(book), model=who, prompts=str(prompts), as_result="true")
    try:
        with contained.time_limit(SECONDS):
            document = simple_evaluate(
                model=lm,
                tasks=[name],
                task_manager=manager,
                cli_args=installed.command_line(work / "submissions"),
                bootstrap_iters=100,
                log_samples=True,
                verbosity="ERROR",
                **seeds,
            )
    except (Exception, SystemExit, contained.OutOfTime) as error:
        return Observation(name, model, failure=contained.reason(installed.real_error(error)))
    if document is None or name not in document["results"]:
        return Observation(name, model, failure="no result")
    return Observation(
        name,
        model,
        values=observed_values(document["results"][name]),
        samples=observed_samples(document["samples"].get(name, [])),
        prompts=read_prompts(prompts, name, who),
        has_draws=draws.are_noted,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--names", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    places: dict[str, str] = {}
    installed.quiet()
    # What the evaluator imports for the sake of bootstrapped errors, for every metric again.
    sys.modules.update(dict.fromkeys(("lmms_eval.tasks.amber_g.utils", "lmms_eval.tasks.coco_cap_chair.utils")))
    import lmms_eval.api.metrics as metrics
    from lmms_eval import evaluator, evaluator_utils  # before functions of datasets are replaced

    # Two processes of git for each evaluation would take longer than the evaluation.
    evaluator.get_git_commit_hash = evaluator.get_git_branch_name = evaluator.get_lmms_eval_version_string = str

    # Some aggregations write into the items that they are given, which are also the scores of samples.
    aggregate = evaluator_utils.TaskOutput.calculate_aggregate_metric

    def aggregate_copies(output: Any, **options: Any) -> None:
        output.sample_metrics = copy.deepcopy(output.sample_metrics)
        aggregate(output, **options)

    evaluator_utils.TaskOutput.calculate_aggregate_metric = aggregate_copies
    # A bootstrap gives other numbers for another seed or number of processes: it is not compared.
    metrics.bootstrap_stderr = lambda *_, **__: "bootstrap"
    metrics.bootstrap_chair_metric = lambda *_, **__: "bootstrap"
    contained.open_locally(places)
    installed.without_waiting(arguments.work / "hub")
    contained.only_this_machine()
    installed.make_asked_files(arguments.work)
    installed.quiet()
    draws = Draws()
    draws.watch_yaml()
    book = json.loads(arguments.book.read_text(encoding="utf-8"))
    managers = installed.task_managers()
    done = read_observations(arguments.out)
    for name in json.loads(arguments.names.read_text(encoding="utf-8")):
        for model in (*MODELS, OTHER_DRAW):
            if (name, model) in done:
                continue
            places["current"] = str(arguments.work / "rows" / name.replace("/", "_"))
            kind = book[name]["kind"]
            made = observe(name, model, kind, arguments.out.parent, managers[kind], arguments.book, draws)
            write_observation(arguments.out, made)
            print(name, model, made.failure or "ok", flush=True)
            if made.failure:
                break


if __name__ == "__main__":
    main()
