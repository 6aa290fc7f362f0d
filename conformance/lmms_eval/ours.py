"""Runs Polymeter on the prepared rows with the same wrapper and the same book of answers."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import MODELS, Observation, read_observations, write_observation
from conformance.lmms_eval import installed
from conformance.lmms_eval.choosing import Published, published_tasks
from conformance.lmms_eval.observing import observed_samples, observed_values, read_prompts
from conformance.lmms_eval.templates import tasks_folder

WRAPPER = Path(__file__).with_name("wrapper.py")
MOST_AT_ONCE = 25


class Runs:
    """Evaluations of several tasks at a time; where one of them cannot be planned, of each alone."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, kind: str) -> None:
        self.work: Path = arguments.work
        self.book: Path = arguments.book
        self.out: Path = arguments.out
        self.parity: bool = arguments.parity
        self.folder = folder
        self.kind = kind
        self.catalog: Any = None

    def observe(self, tasks: Sequence[Published], model: str) -> None:
        try:
            for made in self._evaluate(tasks, model):
                write_observation(self.out, made)
        except Exception as error:
            if len(tasks) == 1:
                write_observation(self.out, Observation(tasks[0].name, model, failure=contained.reason(error)))
                return
            good = [task for task in tasks if self._can_be_planned(task)]
            parts = [good] if 0 < len(good) < len(tasks) else [tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]]
            bad = [task for task in tasks if task not in good] if parts == [good] else []
            for part in (*parts, *([one] for one in bad)):
                self.observe(part, model)

    def _can_be_planned(self, task: Published) -> bool:
        from polymeter.catalog.listing import build_catalog
        from polymeter.catalog.trying import open_spec
        from polymeter.run.plan.selection import select

        self.catalog = self.catalog or build_catalog([self.folder])
        try:
            for spec in select([task.name], self.catalog).tasks:
                open_spec(spec, self._data([task]))
        except Exception:
            return False
        return True

    def _data(self, tasks: Sequence[Published]) -> dict[str, str]:
        """Rows in place of each dataset, also where task code opens another configuration of it."""
        made = {}
        for task in tasks:
            rows = str(self.work / "rows" / task.name.replace("/", "_"))
            path = str(task.config["dataset_path"])
            made |= {path: rows, _dataset(task): rows, **{f"{path}:{name}": rows for name in _opened_by_code(task)}}
        return made

    def _evaluate(self, tasks: Sequence[Published], model: str) -> list[Observation]:
        import polymeter
        from polymeter.interop.lmms_eval.results import (
            LmmsEvalFacts,
            item_errors,
            results_document,
            samples_with_docs,
            stored_run,
        )

        prompts = self.out.parent / f"prompts-{self.out.stem}.jsonl"
        prompts.unlink(missing_ok=True)
        run = self.out.parent / f"run-{self.out.stem}"
        shutil.rmtree(run, ignore_errors=True)
        result = polymeter.evaluate(
            f"lmms:scripted_{self.kind}",
            [task.name for task in tasks],
            model_path=str(WRAPPER),
            roles={"judge": _judge()},
            model_args={"book": str(self.book), "model": model, "prompts": str(prompts)},
            include_paths=[self.folder],
            data=self._data(tasks),
            output=run,
            cache_dir=self.work / "cache",
            is_offline=True,
            allow_private_urls=True,
            media="none",
            **({"parity": "lmms-eval"} if self.parity else {}),
        )
        facts = LmmsEvalFacts("scripted", "", "")
        stored = stored_run(result.folder)
        document = results_document(stored.manifest, stored.results, facts, errors=item_errors(stored))
        samples = samples_with_docs(stored)
        made = []
        for task in tasks:
            values = observed_values(document["results"][task.name])
            made.append(
                Observation(
                    task.name,
                    model,
                    values=values,
                    samples=observed_samples(samples[task.name]),
                    prompts=read_prompts(prompts, task.name, model),
                    failure="" if values else _failures(result.folder, task.name),
                )
            )
        return made


def _judge() -> Any:
    import polymeter

    return polymeter.ModelSpec("openai", "judge", {"base_url": os.environ["OPENAI_BASE_URL"]})


def _failures(folder: Any, name: str) -> str:
    from polymeter.store.exports.export import read_samples

    errors = [sample["error"] for sample in read_samples(folder, name) if sample.get("error")]
    return f"{len(errors)} samples failed: {errors[0]}"[:400] if errors else "no value"


def _opened_by_code(task: Published) -> list[str]:
    """The configurations of its dataset that a task's code opens by itself."""
    path = re.escape(str(task.config["dataset_path"]))
    call = re.compile(rf"load_dataset\(\s*[\"']{path}[\"'],\s*[\"']([^\"']+)")
    files = task.file.parent.glob("*.py")
    return [name for file in files for name in call.findall(file.read_text(encoding="utf-8", errors="replace"))]


def _dataset(task: Published) -> str:
    name = task.config.get("dataset_name")
    return f"{task.config['dataset_path']}:{name}" if name else str(task.config["dataset_path"])


def batches(tasks: Sequence[Published]) -> list[list[Published]]:
    """Tasks that can run together: no two of them name the same dataset, whose rows differ."""
    made: list[list[Published]] = []
    for task in tasks:
        for batch in made:
            paths = {other.config["dataset_path"] for other in batch}
            if len(batch) < MOST_AT_ONCE and task.config["dataset_path"] not in paths:
                batch.append(task)
                break
        else:
            made.append([task])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--names", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parity", action="store_true")
    arguments = parser.parse_args()
    folder = tasks_folder()
    contained.only_this_machine()
    installed.shorten_waits()
    installed.without_downloads(arguments.work / "hub")
    installed.make_asked_files(arguments.work)
    book = json.loads(arguments.book.read_text(encoding="utf-8"))
    names = set(json.loads(arguments.names.read_text(encoding="utf-8")))
    done = read_observations(arguments.out)
    tasks = [task for task in published_tasks(folder) if task.name in names]
    for kind in ("simple", "chat"):
        runs = Runs(arguments, folder, kind)
        for batch in batches([task for task in tasks if book[task.name]["kind"] == kind]):
            for model in MODELS:
                left = [task for task in batch if (task.name, model) not in done]
                if left:
                    runs.observe(left, model)
                    print(kind, model, len(left), flush=True)


if __name__ == "__main__":
    main()
