"""Results of a run, for Python and for the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polymeter.api.thresholds import missed_thresholds
from polymeter.core.machine.places import naming_places
from polymeter.core.records.spread import UNBOUNDED
from polymeter.core.records.usage import USAGE_BY_ROLE, ModelUsage, usage_of_document
from polymeter.report.formatting import one_line
from polymeter.store.folder import RunFolder, open_folder

if TYPE_CHECKING:
    import pandas as pd

    from polymeter.api.records import SampleRecord
    from polymeter.core.task import Result
    from polymeter.exchange.sending import Logged

RESULT_VERSION = 1
"""The version of ``RunResult.document``."""
_MISSED = 3
_EXIT = {"complete": 0, "stopped": 1, "running": 1, "failed": 2, "interrupted": 130}


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of publishing a run.

    Attributes:
        url: Where its files were to be copied.
        error: Why they were not; empty if they were.
    """

    url: str
    error: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """An evaluation: finished, ended early, or still running.

    It shows itself as a compact table, in a notebook as HTML.

    Attributes:
        folder: The run folder.
        status: ``complete``; ``stopped`` (too many failures, or an endpoint is down); ``interrupted``; ``failed`` (an
            error ended it); ``running``, also if its process was killed and could not write how it ended.
        results: The content of ``results.json``; those of a run that is not complete rest on the samples that have
            ended, and their ``status`` is ``partial``.
        n_failed: Samples without a score, and aggregations that failed.
        reason: Why it was stopped, or failed.
        is_strict: Whether a result without a whole member or subset makes the evaluation fail.
        fail_under: The least value of results by name (``demo.anls``), below which the evaluation fails.
        logged: The outcome of sending it to trackers. None of it changes ``exit_code``.
        published: The outcome of copying its files to the place of ``--publish``; ``None``: there is none.
    """

    folder: RunFolder
    status: str
    results: dict[str, Any]
    n_failed: int
    reason: str = ""
    is_strict: bool = False
    fail_under: Mapping[str, float] = field(default_factory=dict)
    logged: tuple[Logged, ...] = ()
    published: Published | None = None

    @property
    def exit_code(self) -> int:
        """0: all samples scored; 1: some failed, or, if strict, a number is incomplete; 3: nothing of that, but a
        number misses its threshold; 130: interrupted, and can be resumed. 1 also for a run that was stopped, is
        still running, or could not be published; 2: it failed.
        """
        is_unpublished = self.published is not None and bool(self.published.error)
        is_failed = self.n_failed > 0 or (self.is_strict and bool(self.incomplete)) or is_unpublished
        return _EXIT[self.status] or (1 if is_failed else _MISSED if self.missed else 0)

    @property
    def is_complete(self) -> bool:
        """True if the run has ended, so that its results rest on all of its samples."""
        return self.status == "complete"

    @property
    def missed(self) -> tuple[str, ...]:
        """One sentence for each number that is below its threshold in ``fail_under``, or missing."""
        return tuple(missed_thresholds(self.fail_under, self.results))

    @property
    def incomplete(self) -> tuple[str, ...]:
        """One sentence for each group without a member, and each task without a subset, because none of its
        samples has a number.
        """
        from polymeter.report.table import lost_members

        return tuple(lost_members(self.results))

    @property
    def usage(self) -> dict[tuple[str, str], ModelUsage]:
        """The usage of its requests so far, by role (``model``: the measured one) and name of the model; empty if the
        run is of a version that kept none by role.
        """
        return usage_of_document(self.results.get(USAGE_BY_ROLE))

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder.report

    def document(self) -> dict[str, Any]:
        """The outcome as plain data: what ``--json`` prints, but for the version and the kind of the document."""
        return {
            "status": self.status,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "n_failed": self.n_failed,
            "missed": list(self.missed),
            "incomplete": list(self.incomplete),
            "folder": str(self.folder.path),
            "report": str(self.report) if self.report.exists() else None,
            "results": self.results or None,
            **(
                {"logged": [{**asdict(one), "arguments": dict(one.arguments)} for one in self.logged]}
                if self.logged
                else {}
            ),
            **({"published": asdict(self.published)} if self.published is not None else {}),
        }

    def write_report(self, samples: int | Literal["all"] | None = None) -> Path:
        """Write the HTML report again; for a run that is not complete, that and ``results.json`` of the partial
        results.

        Args:
            samples: How many samples of each task it shows, or ``"all"``; default: as the run says.

        Raises:
            PlanError: if ``samples`` is not such a number.
            StorageError: if the run folder cannot be read or written.
        """
        wanted = None if samples is None else _report_samples(samples)
        if self.folder.read_manifest()["status"] == "complete":
            write_report(self.folder, self.folder.read_results(), wanted)
        else:
            from polymeter.api.partial import write_partial

            write_partial(self.folder, wanted)
        return self.report

    def value(self, task: str, metric: str, *, filter: str = "none", subset: Sequence[str] = ()) -> Any:
        """The value of one result of a task or group.

        Raises:
            KeyError: if there is no such result.
        """
        return self.result(task, metric, filter=filter, subset=subset).value

    def result(self, task: str, metric: str, *, filter: str = "none", subset: Sequence[str] = ()) -> Result:
        """One result of a task or group, with its uncertainty.

        Raises:
            KeyError: if there is no such result.
        """
        from polymeter.core.task import Result

        owner = self.results["tasks"].get(task) or self.results["groups"].get(task)
        if owner is None:
            raise KeyError(f"{task!r} is not part of this run")
        for item in owner["results"]:
            if (item["metric"], item["filter"], tuple(item["subset"])) == (metric, filter, tuple(subset)):
                interval = tuple(item["interval"]) if item["interval"] else None
                tuples = {
                    "subset": tuple(subset),
                    "interval": interval,
                    "artifacts": tuple(item["artifacts"]),
                    "failed_members": tuple(item.get("failed_members", ())),
                    "bounds": tuple(item.get("bounds", UNBOUNDED)),
                }
                return Result(**{**item, **tuples})
        metrics = ", ".join(sorted({item["metric"] for item in owner["results"]}))
        raise KeyError(f"{task!r} has no {metric!r} under filter {filter!r}; it has {metrics}")

    def to_pandas(self, what: Literal["results", "samples"] = "results") -> pd.DataFrame:
        """The numbers of the run, or its samples, as a table.

        ``results``: every number as a row: ``kind`` (task or group), ``name``, ``subset``, ``metric``, ``filter``,
        ``value``, ``stderr``, ``interval_low``, ``interval_high``, ``n``, ``n_planned`` and ``higher_is_better``. A
        value that has keys is one row for each, under ``metric/key``.

        ``samples``: every sample that has ended as a row: ``task``, ``id``, ``subset``, ``status``, ``files``,
        ``prompt``, ``answer``, ``target``, ``error``, and a column for each metric.

        Args:
            what: ``results`` or ``samples``.

        Raises:
            ImportError: if pandas is not installed.
            ValueError: if it is neither.
        """
        import pandas as pd

        if what == "samples":
            return pd.DataFrame([_sample_row(sample) for sample in self.samples()])
        if what != "results":
            raise ValueError(f"to_pandas() gives 'results' or 'samples', not {what!r}")

        from polymeter.report.run.summary import COLUMNS, result_rows

        return pd.DataFrame([*result_rows(self.results)], columns=list(COLUMNS))

    def to_parquet(
        self, folder: Path | str, *, media: Literal["paths", "bytes"] = "paths", limit: int | None = None
    ) -> tuple[Path, ...]:
        """Write the samples that have ended as Parquet, one file for each task.

        Typed columns hold what every sample has (``id``, ``status``, ``prompt``, ``answer``, ``target``, tokens, time,
        …), and ``score_<metric>`` each metric's numbers. ``doc``, ``exchanges``, ``scores``, ``error`` and ``log`` are
        JSON texts with all that ``samples/*.jsonl`` has. One group of rows is in memory at a time.

        Args:
            folder: Where to write; files of the same names are replaced.
            media: ``paths``: media files are named by their paths from the run folder. ``bytes``: they are in the
                table, as ``datasets`` keeps images, so that the files show them anywhere.
            limit: Only the first samples of each task; default: all.

        Returns:
            The files, in the order of the tasks.

        Raises:
            ValueError: if ``media`` is neither.
            StorageError: if a file cannot be written.
        """
        from polymeter.store.exports.parquet import parquet_file, write_parquet

        if media not in ("paths", "bytes"):
            raise ValueError(f"media is 'paths' or 'bytes', not {media!r}")
        names = [entry["name"] for entry in self.folder.read_manifest()["tasks"]]
        files = {name: parquet_file(Path(folder), self.folder, name) for name in names}
        for name, path in files.items():
            write_parquet(self.folder, name, path, media=media, limit=limit)
        return tuple(files.values())

    def samples(self, task: str | None = None) -> Iterator[SampleRecord]:
        """The samples that have ended, in order: prompt, answer, scores, error, media. They are read from the journal
        one after another, also while the run is still running.

        Args:
            task: Only those of this task; default: of all tasks.

        Raises:
            KeyError: if the run has no such task.
        """
        from polymeter.api.records import sample_records

        names = [entry["name"] for entry in self.folder.read_manifest()["tasks"]]
        if task is not None and task not in names:
            raise KeyError(f"{task!r} is not a task of this run; it has {', '.join(names)}")
        return chain.from_iterable(sample_records(self.folder, name) for name in names if task in (None, name))

    def __repr__(self) -> str:
        from polymeter.report.run.summary import as_text

        return as_text(self._head(), self.results)

    def _repr_html_(self) -> str:
        from polymeter.report.run.summary import as_html

        return as_html(self._head(), self.results)

    def _head(self) -> str:
        model = self.results.get("model")
        reason = f": {self.reason}" if self.reason else ""
        return one_line(f"RunResult({f'{model}, ' if model else ''}{self.status}{reason}, {self.folder.path})")


def _sample_row(sample: SampleRecord) -> dict[str, Any]:
    texts = {"prompt": sample.prompt, "answer": sample.answer, "target": sample.target, "error": sample.error}
    head = {"task": sample.task, "id": sample.id, "subset": "/".join(sample.subset), "status": sample.status}
    return {**head, "files": ", ".join(sample.files), **texts, **sample.scores}


@naming_places()
def open_run(path: Path | str) -> RunResult:
    """Return the results of a run folder, whether the run has ended, was interrupted or is still running. Nothing is
    written.

    Results of a run that is not complete are made from its journal, without any code of its tasks, and marked as
    partial.

    Args:
        path: The run folder.

    Raises:
        PlanError: if there is no run, or a file of it is damaged.
        StorageError: if the folder cannot be read.
    """
    folder = open_folder(Path(path))
    manifest = folder.read_manifest(is_whole=True)
    status = manifest["status"] if manifest["status"] in _EXIT else "running"
    if status == "complete":
        results = folder.read_results()
        n_failed = int(manifest.get("n_failed") or 0)
    else:
        from polymeter.api.partial import partial_results

        results = partial_results(folder)
        n_failed = sum(sum(task["statuses"].values()) - task["n_scored"] for task in results["tasks"].values())
    sessions = manifest.get("sessions") or [{}]
    return RunResult(folder, status, results, n_failed, str(sessions[-1].get("reason") or ""))


def get_report_ready() -> None:
    """Import what reports are drawn with, for a moment in which a run waits anyway."""
    from polymeter.report.run.html_report import get_ready

    get_ready()


def write_report(folder: RunFolder, results: Mapping[str, Any], samples: int | Literal["all"] | None = None) -> None:
    """Write the HTML report of a run.

    Args:
        folder: The run, which has ended.
        results: Its results.
        samples: How many samples of each task to show; default: as the manifest says.

    Raises:
        StorageError: if it cannot be written.
    """
    from polymeter.api.report_file import write_html_report

    write_html_report(folder, results, samples, is_by_journal=False)


def _report_samples(samples: Any) -> int | Literal["all"] | None:
    from polymeter.core.options import RunOptions

    return RunOptions.make({"report_samples": samples}).report_samples
