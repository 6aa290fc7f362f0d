"""Reads work folders of EvalScope: 0.17, and 1.x, whose files have the same names and other contents.

::

    <work>/configs/task_config*.yaml                           how benchmarks were run
    <work>/predictions/<model>/<benchmark>_<subset>.jsonl      answers
    <work>/reviews/<model>/<benchmark>_<subset>.jsonl          answers with their scores
    <work>/reports/<model>/<benchmark>.json                    numbers

A sample is ``<subset>/<index>``, as in a run of Polymeter. Both write lines in the order in which answers came
back, and 1.x one for each repeat; here samples are in order, and repeats are answers of one sample. Only places of
lines are kept in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from polymeter.core.errors import PlanError
from polymeter.core.logs import LoggedRun, LoggedSample, LoggedTask, LogReader, damaged, read_json, read_json_lines
from polymeter.core.machine.places import stored_at
from polymeter.core.text.yaml_text import read_yaml
from polymeter.interop.evalscope.export_parts import PLAIN_IDS
from polymeter.interop.evalscope.log_lines import Record, answered
from polymeter.interop.evalscope.log_numbers import metric_name, reported_name, stated_results

_PREDICTIONS = "predictions"
_REVIEWS = "reviews"
_REPORTS = "reports"
_CONFIGS = "configs"
_WHOLE = "default"
_MOST_GAPS = 10
"""With more places than this for each sample, indices do not count samples."""


@dataclass(slots=True)
class _Subset:
    """The lines of one subset.

    Attributes:
        predictions: Its file of answers, if there is one.
        reviews: Its file of scored answers, if there is one.
    """

    predictions: Path | None = None
    reviews: Path | None = None


@dataclass(slots=True)
class _LogLine:
    """The positions of the lines of one answer, in bytes: among the scored ones, and among all."""

    review: int | None = None
    prediction: int | None = None


@dataclass(slots=True)
class _Benchmark:
    """One benchmark of a work folder.

    Attributes:
        name: Its name.
        settings: How it is defined.
        generation: The settings of the generation.
        report: Its report; empty: it has none.
        repeats: How often each sample was asked.
        is_mixed: Whether it draws from other benchmarks, so that indices count through all of them.
        has_plain_ids: Whether its samples are in no subset, although their file names one: a run of Polymeter's.
        subsets: Its files.
    """

    name: str
    settings: Mapping[str, Any]
    generation: Mapping[str, Any]
    report: Mapping[str, Any]
    repeats: int
    is_mixed: bool = False
    has_plain_ids: bool = False
    subsets: dict[str, _Subset] = field(default_factory=dict)


def _recognise(path: Path) -> bool:
    return bool(_models(path))


def _read_log(path: Path) -> LoggedRun:
    models = _models(path)
    if not models:
        raise PlanError(f"There are no predictions of EvalScope in {path}.", hint=f"Name {READER.holds}.")
    if len(models) > 1:
        raise PlanError(
            f"The folder {path} has answers of several models: {', '.join(models)}.",
            hint="Copy predictions/MODEL, reviews/MODEL, reports/MODEL and configs of one of them into a folder.",
        )
    model = models[0]
    configs = _configs(path)
    first = configs[0][1] if configs else {}
    benchmarks = _benchmarks(path, model, [config for _, config in configs])
    files = [
        file
        for benchmark in benchmarks
        for subset in benchmark.subsets.values()
        for file in (subset.predictions, subset.reviews)
        if file is not None
    ]
    reports = [path / _REPORTS / model / f"{benchmark.name}.json" for benchmark in benchmarks if benchmark.report]
    return LoggedRun(
        title="EvalScope",
        version=str(first.get("evalscope_version") or ""),
        model=model,
        tasks=tuple(_task(benchmark) for benchmark in benchmarks),
        settings={
            key: first[key]
            for key in ("model", "model_args", "eval_type", "generation_config", "limit", "seed", "judge_strategy")
            if first.get(key) not in (None, {}, [])
        },
        files=(*(file for file, _ in configs), *files, *reports),
        notes=tuple(note for benchmark in benchmarks for note in _notes(benchmark)),
    )


READER = LogReader(_recognise, _read_log, "the work folder with predictions, reviews and reports")


def _models(path: Path) -> list[str]:
    """The models of a work folder, by name."""
    found = set()
    for kind in (_PREDICTIONS, _REVIEWS):
        folder = path / kind
        for below in folder.iterdir() if folder.is_dir() else ():
            if below.is_dir() and next(below.rglob("*.jsonl"), None):
                found.add(below.name)
    return sorted(found)


def _configs(path: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """The configurations of a work folder: one for each time that it was run with other settings."""
    found = []
    for file in sorted((path / _CONFIGS).glob("task_config*.yaml")) if (path / _CONFIGS).is_dir() else ():
        config = read_yaml(file)
        if not isinstance(config, Mapping):
            raise damaged(file, "it holds no settings")
        found.append((file, config))
    return found


def _benchmarks(path: Path, model: str, configs: Sequence[Mapping[str, Any]]) -> list[_Benchmark]:
    """The benchmarks in the order of the configurations, then of names, with their files."""
    reports = {
        str(report.get("dataset_name") or file.stem): report
        for file in sorted((path / _REPORTS / model).glob("*.json"))
        if (report := read_json(file))
    }
    names = list(dict.fromkeys([*(name for config in configs for name in config.get("datasets") or ()), *reports]))
    benchmarks: dict[str, _Benchmark] = {}
    for kind in (_PREDICTIONS, _REVIEWS):
        folder = path / kind / model
        for file in sorted(folder.rglob("*.jsonl")) if folder.is_dir() else ():
            name, subset = _whose(file, file.relative_to(folder).as_posix().removesuffix(".jsonl"), names)
            if name not in benchmarks:
                config = next((config for config in configs if name in (config.get("datasets") or ())), {})
                benchmarks[name] = _benchmark(name, config, reports.get(name, {}))
            own = benchmarks[name].subsets.setdefault(subset, _Subset())
            setattr(own, kind, file)
    for benchmark in benchmarks.values():
        _set_mixture_apart(benchmark)
        order = _subset_order(benchmark)
        benchmark.subsets = dict(
            sorted(benchmark.subsets.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
        )
    return sorted(benchmarks.values(), key=lambda own: names.index(own.name) if own.name in names else len(names))


def _set_mixture_apart(benchmark: _Benchmark) -> None:
    """A collection of 0.17 has one file of answers, and a file of scored answers for each benchmark in it."""
    whole = benchmark.subsets.get(_WHOLE)
    if whole is not None and whole.reviews is None and len(benchmark.subsets) > 1:
        del benchmark.subsets[_WHOLE]
        benchmark.is_mixed = True


def _benchmark(name: str, config: Mapping[str, Any], report: Mapping[str, Any]) -> _Benchmark:
    """A benchmark without its files. Version 1.x writes its settings apart from what the user gave."""
    given = config.get("resolved_benchmarks") or config.get("dataset_args") or {}
    generation = config.get("generation_config")
    return _Benchmark(
        name,
        given.get(name) or {},
        generation if isinstance(generation, Mapping) else {},
        report,
        int(config.get("repeats") or 1),
        has_plain_ids=name in (config.get(PLAIN_IDS) or ()),
    )


def _whose(file: Path, stem: str, names: Iterable[str]) -> tuple[str, str]:
    """Return the benchmark and the subset that a file is named after.

    Raises:
        DataError: if nothing shows where the one ends and the other begins.
    """
    fitting = [name for name in names if stem == name or stem.startswith(f"{name}_")]
    if fitting:
        name = max(fitting, key=len)
        return name, stem.removeprefix(name).removeprefix("_") or _WHOLE
    for _, _, record in read_json_lines(file):
        subset = str(record.get("subset_name") or "")
        if subset and stem.endswith(f"_{subset}"):
            return stem.removesuffix(f"_{subset}"), subset
        break
    raise damaged(file, "neither it nor a configuration or report shows which part of its name is the benchmark")


def _subset_order(benchmark: _Benchmark) -> dict[str, int]:
    listed = benchmark.settings.get("subset_list") or ()
    reported = [
        str(subset["name"])
        for metric in benchmark.report.get("metrics") or ()
        for category in metric.get("categories") or ()
        for subset in category.get("subsets") or ()
    ]
    return {name: place for place, name in enumerate(dict.fromkeys([*map(str, listed), *reported]))}


def _task(benchmark: _Benchmark) -> LoggedTask:
    settings = benchmark.settings
    few = settings.get("few_shot_num")
    requested = [planned for name in benchmark.subsets if (planned := _planned(benchmark, name)) is not None]
    return LoggedTask(
        name=benchmark.name,
        results=tuple(stated_results(benchmark.report, _means(benchmark) if benchmark.repeats > 1 else {})),
        samples=partial(_logged_samples, benchmark),
        alias=str(benchmark.report.get("dataset_pretty_name") or ""),
        num_fewshot=int(few) if isinstance(few, (int, float)) else None,
        n_samples=sum(requested) if requested and len(requested) == len(benchmark.subsets) else None,
        config={key: value for key, value in settings.items() if value not in (None, {}, [], "")},
    )


def _planned(benchmark: _Benchmark, subset: str) -> int | None:
    """Return the number of samples of a subset that were to be asked; ``None`` if unknown. Only 1.x records it, and
    counts repeats.
    """
    counts = ((benchmark.report.get("execution_summary") or {}).get("subsets") or {}).get(subset) or {}
    requested = counts.get("requested")
    return int(requested) // benchmark.repeats if isinstance(requested, int) else None


def _means(benchmark: _Benchmark) -> dict[str, float]:
    """The mean of each metric over the samples that have a value."""
    sums: dict[str, list[float]] = {}
    for sample in _logged_samples(benchmark):
        for (name, _), value in sample.scores.items():
            own = sums.setdefault(name, [0.0, 0.0])
            own[0] += value
            own[1] += 1
    return {name: total / n for name, (total, n) in sums.items()}


def _notes(benchmark: _Benchmark) -> Iterator[str]:
    counts = benchmark.report.get("execution_summary") or {}
    if counts.get("errored"):
        yield (
            f"{benchmark.name}: {counts['errored']} of {counts.get('requested')} requests failed; the log has no "
            "reasons, and the tool's results leave them out."
        )
    unscored = [name for name, subset in benchmark.subsets.items() if subset.reviews is None]
    if unscored:
        yield f"{benchmark.name}: the log has answers without scores, of {', '.join(unscored)}."


def _logged_samples(benchmark: _Benchmark) -> Iterator[LoggedSample]:
    """The samples of a benchmark, subset after subset, in the order of their indices."""
    place = 0
    names = set(_sample_metrics(benchmark))
    for name, subset in benchmark.subsets.items():
        lines = _places(subset)
        groups: dict[int, list[int]] = {}
        for index in sorted(lines):
            groups.setdefault(index // benchmark.repeats, []).append(index)
        with ExitStack() as opened:
            files = [_opened(file, opened) for file in (subset.predictions, subset.reviews)]
            for number in _sample_numbers(benchmark, name, groups):
                records = [_record(files, lines[index]) for index in groups.get(number, ())]
                if records:
                    yield _sample(benchmark, name, number, place, records, names)
                else:
                    yield _sample_without_answer(benchmark, name, number, place)
                place += 1


def _sample_numbers(benchmark: _Benchmark, subset: str, groups: Mapping[int, Any]) -> Iterable[int]:
    """The samples of a subset that are known to have been asked: those in the log, and those in gaps between them."""
    end = max(max(groups, default=-1) + 1, _planned(benchmark, subset) or 0)
    is_counted = not benchmark.is_mixed and end <= _MOST_GAPS * (len(groups) + 1)
    return range(end) if is_counted else sorted(groups)


def _sample_names(benchmark: _Benchmark, subset: str, number: int) -> tuple[str, tuple[str, ...]]:
    """The id and the subset of a sample, as in a run of the same benchmark."""
    is_plain = benchmark.has_plain_ids and subset == _WHOLE
    return (str(number), ()) if is_plain else (f"{subset}/{number}", (subset,))


def _sample_without_answer(benchmark: _Benchmark, subset: str, number: int, place: int) -> LoggedSample:
    name, path = _sample_names(benchmark, subset, number)
    return LoggedSample(
        name,
        place,
        subset=path,
        status="error",
        error="The log has no answer: with ignore_errors, EvalScope leaves failed requests out.",
    )


def _sample_metrics(benchmark: _Benchmark) -> Iterator[str]:
    for metric in benchmark.report.get("metrics") or ():
        yield metric_name(metric)


def _places(subset: _Subset) -> dict[int, _LogLine]:
    """Return the positions of the lines of each answer. A line that a resumed run wrote again counts."""
    found: dict[int, _LogLine] = {}
    for file, attribute in ((subset.predictions, "prediction"), (subset.reviews, "review")):
        for number, start, record in read_json_lines(file) if file is not None else ():
            index = record.get("index")
            if not isinstance(index, int) or isinstance(index, bool) or index < 0:
                assert file is not None
                raise damaged(file, f"line {number} has no index", number)
            setattr(found.setdefault(index, _LogLine()), attribute, start)
    return found


def _opened(file: Path | None, opened: ExitStack) -> IO[bytes] | None:
    if file is None:
        return None
    with stored_at(file, f"Reading {file.name}"):
        return opened.enter_context(file.open("rb"))


def _record(files: Sequence[IO[bytes] | None], line: _LogLine) -> Record:
    """The prediction and the review of an answer."""
    prediction, review = (
        {} if file is None or start is None else _at(file, start)
        for file, start in zip(files, (line.prediction, line.review), strict=True)
    )
    return prediction, review


def _at(file: IO[bytes], start: int) -> Mapping[str, Any]:
    """The line that begins at a place, which has been read before."""
    with stored_at(file.name, "Reading the log"):
        file.seek(start)
        record: Mapping[str, Any] = json.loads(file.readline().decode("utf-8"))
    return record


def _sample(
    benchmark: _Benchmark, subset: str, number: int, place: int, records: Sequence[Record], metrics: set[str]
) -> LoggedSample:
    """One sample from the lines of its answers."""
    found = answered(records, benchmark.generation, benchmark.settings.get("metric_list") or sorted(metrics))
    name, path = _sample_names(benchmark, subset, number)
    return LoggedSample(
        name,
        place,
        doc=found.doc,
        exchanges=found.exchanges,
        scores={(reported_name(name, metrics), "none"): value for name, value in found.scores.items()},
        target=found.target,
        answer=found.answer,
        explanation=found.explanation,
        subset=path,
        status="ok" if found.scores else "unscored",
        error=None if found.scores else found.why,
        log=found.log,
    )
