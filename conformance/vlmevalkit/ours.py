"""Runs Polymeter over the book: the classes of the checkout with the scripted models and judge."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import polymeter
from conformance import contained
from conformance.frame import MODELS, Observation, write_observation
from conformance.vlmevalkit.book import Case, leaves, own_data, predictions_in, read_cases
from conformance.vlmevalkit.judging import Plain, as_text, joined, judged, plain_request
from conformance.vlmevalkit.videos import read_locally
from polymeter.core.errors import PolymeterError
from polymeter.core.request import Request
from polymeter.interop.ulmeval.tasks import compile as compiling
from polymeter.interop.ulmeval.tasks import specs
from polymeter.interop.ulmeval.tasks.results.evaluate import EVALUATE, RETURNED
from polymeter.models.mock import MockBatch
from polymeter.run.plan import named_paths
from polymeter.tasks.table.files.roots import file_stem

MOST_AT_ONCE = 10
_READS_ITSELF = "reads its data by other ways than load_data"


def observe(
    cases: Sequence[Case], model: str, checkout: Path, work: Path, parity: str, *, has_data: bool = True
) -> list[Observation]:
    """What Polymeter makes of cases with one model, in one run; one that cannot run with others is run alone.

    Args:
        cases: Cases of different sets, with the same judge.
        model: The scripted model.
        checkout: The folder that contains ``vlmeval``.
        work: Where tables and runs are.
        parity: The value of ``--parity``.
        has_data: Whether the tables are named; a class that looks for its table itself refuses that.
    """
    folder = work / f"ours-{parity}" / model / cases[0].name
    shutil.rmtree(folder, ignore_errors=True)
    by_set = {case.dataset: case for case in cases}
    named = [name for case in cases for name in (case.dataset, *case.members)] if has_data else []
    tables = {name: work / "data" / f"{name}.tsv" for name in named}
    shown: dict[str, dict[str, Plain]] = {name: {} for name in by_set}
    heard: dict[str, list[Plain]] = {name: [] for name in by_set}

    def answer(request: Request) -> str:
        assert request.origin is not None
        task, index = request.origin.task, request.origin.sample
        said = by_set[task].answers[model][index]
        turn = sum(message.role == "user" for message in request.messages) - 1
        shown[task][f"{index}/{turn}" if isinstance(said, list) else index] = plain_request(request)
        return str(said[turn] if isinstance(said, list) else said)

    def judge(request: Request) -> str:
        assert request.origin is not None
        asked = joined(plain_request(request))
        heard[request.origin.task].append(asked)
        return judged(asked)

    try:
        run = polymeter.evaluate(
            MockBatch(answer),
            [*by_set],
            include_paths=[checkout / "vlmeval" / "dataset"],
            data={name: str(table) for name, table in tables.items() if table.is_file()},
            roles={"judge": MockBatch(judge)},
            output=folder / "run",
            cache_dir=folder / "cache",
            parity=parity,
            # The scripted model takes whole videos; the one of the other driver states no VIDEO_LLM.
            dialect_options={
                "tsv": {"judge_args": {"model": cases[0].judge}, "model_id": "scripted", "whole_videos": False}
            },
        )
    except PolymeterError as error:
        if len(cases) > 1:
            return [one for case in cases for one in observe([case], model, checkout, work, parity)]
        if has_data and _READS_ITSELF in str(error):
            return observe(cases, model, checkout, work, parity, has_data=False)
        return [Observation(cases[0].name, model, failure=f"{type(error).__name__}: {error}"[:600])]
    made = [_result(case, model, run) for case in cases]
    for one, case in zip(made, cases, strict=True):
        one.prompts = {index: as_text(said) for index, said in shown[case.dataset].items()}
        asked = sorted(map(as_text, heard[case.dataset]))
        one.prompts |= {f"judge {number:04}": said for number, said in enumerate(asked)}
    return made


def _result(case: Case, model: str, run: Any) -> Observation:
    """What a run made of a case."""
    made = Observation(case.name, model)
    files = {file.name: file for file in (run.folder.artifacts / file_stem(case.dataset)).glob("*")}
    predictions = files.get(f"scripted_{case.dataset}.xlsx")
    if predictions is not None:
        made.samples = predictions_in(predictions)
    returned = files.get(RETURNED)
    if returned is None and _ended_without_numbers(run, case.dataset):
        made.values = dict(leaves(None))
    elif returned is None:
        notes = [note for note in map(str, run.results.get("notes") or ()) if case.dataset in note]
        made.failure = f"nothing was returned: {' | '.join(notes)}"[:600]
    else:
        made.values = dict(leaves(json.loads(returned.read_text(encoding="utf-8"))))
    return made


def _ended_without_numbers(run: Any, dataset: str) -> bool:
    """Whether ``evaluate`` returned nothing, as some do where there is no judge."""
    results = run.results["tasks"].get(dataset, {}).get("results") or []
    return [(one["metric"], one["value"]) for one in results] == [(EVALUATE, None)]


def _batches(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Cases that one run can hold: of one judge, and of different sets."""
    waiting: dict[str, list[Case]] = {}
    for case in cases:
        batch = waiting.setdefault(case.judge, [])
        batch.append(case)
        if len(batch) == MOST_AT_ONCE:
            yield waiting.pop(case.judge)
    yield from waiting.values()


def _once_by_name(load: Any) -> Any:
    """The function, which reads an entry of a name once: that takes longer than to run it on a few rows."""
    found: dict[str, Any] = {}

    def load_once(entry: Any, *others: Any) -> Any:
        if entry.name not in found:
            found[entry.name] = load(entry, *others)
        return found[entry.name]

    return load_once


def _prepare_process(data: Path) -> None:
    """Have classes of videos read the local tables, as in the other driver, and list the checkout once."""
    load = compiling.load_class
    compiling.load_class = lambda spec: read_locally(load(spec), data)  # type: ignore[assignment]
    named_paths.build_catalog = lru_cache(named_paths.build_catalog)
    specs.load = _once_by_name(specs.load)


def main() -> None:
    """Run the cases of a book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parity", default="none")
    parser.add_argument("--part", type=int, default=0, help="which of the parts, from 0")
    parser.add_argument("--parts", type=int, default=1, help="into how many parts the cases are divided")
    options = parser.parse_args()
    contained.only_this_machine()
    os.chdir(options.work)
    os.environ["LMUData"] = str(own_data(options.work, f"{options.parity}-{options.part}"))  # noqa: SIM112
    _prepare_process(options.work / "data")
    cases = islice(read_cases(options.work), options.part, None, options.parts)
    for batch in _batches(cases):
        for model in MODELS:
            for one in observe(batch, model, options.checkout, options.work, options.parity):
                write_observation(options.out, one)


if __name__ == "__main__":
    main()
