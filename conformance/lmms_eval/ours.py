"""Runs Polymeter on the prepared rows with the same wrapper and the same book of answers."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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

    def observe(self, tasks: Sequence[Published], model: str) -> None:
        try:
            for made in self._evaluate(tasks, model):
                write_observation(self.out, made)
        except Exception as error:
            if len(tasks) == 1:
                write_observation(self.out, Observation(tasks[0].name, model, failure=installed.reason(error)))
                return
            good = [task for task in tasks if self._can_be_planned(task)]
            parts = [good] if 0 < len(good) < len(tasks) else [tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]]
            bad = [task for task in tasks if task not in good] if parts == [good] else []
            for part in (*parts, *([one] for one in bad)):
                self.observe(part, model)

    def _can_be_planned(self, task: Published) -> bool:
        from polymeter.api.trying import open_named

        try:
            open_named([task.name], [self.folder], self._data([task]))
        except Exception:
            return False
        return True

    def _data(self, tasks: Sequence[Published]) -> dict[str, str]:
        """Rows in place of each dataset, also where task code opens another configuration of it."""
        made = {}
        for task in tasks:
            rows = str(self.work / "rows" / task.name.replace("/", "_"))
            made |= {str(task.config["dataset_path"]): rows, _dataset(task): rows}
        return made

    def _evaluate(self, tasks: Sequence[Published], model: str) -> list[Observation]:
        import polymeter
        from polymeter.interop.lmms_eval.results import CommandFacts, item_errors, results_document, samples_with_docs

        serve_rows(self._data(tasks))
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
        facts = CommandFacts("scripted", "", "")
        errors = item_errors(result.folder)
        document = results_document(result.folder.read_manifest(), result.results, facts, errors=errors)
        samples = samples_with_docs(result.folder, result.results)
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
    from polymeter.store.export import read_samples

    errors = [sample["error"] for sample in read_samples(folder, name) if sample.get("error")]
    return f"{len(errors)} samples failed: {errors[0]}"[:400] if errors else "no value"


def serve_rows(places: Mapping[str, str]) -> None:
    """Let task code that opens a dataset itself read the rows that stand for it; other calls go on as they are."""
    import datasets

    load = getattr(datasets.load_dataset, "as_installed", datasets.load_dataset)

    def load_dataset(path: str, name: str | None = None, *arguments: Any, split: Any = None, **options: Any) -> Any:
        rows = places.get(f"{path}:{name}", places.get(path)) if isinstance(path, str) else None
        if rows is None:
            return load(path, name, *arguments, split=split, **options)
        files = {file.stem: str(file) for file in sorted(Path(rows).glob("*.parquet"))}
        return load("parquet", data_files=files, split=split)

    load_dataset.as_installed = load  # type: ignore[attr-defined]
    datasets.load_dataset = load_dataset


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
    installed.only_this_machine()
    installed.shorten_waits()
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
