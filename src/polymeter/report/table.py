"""The result table as data: its lines in order, and its footnotes. ``polymeter.report.columns`` defines its columns;
``polymeter.report.render`` and ``templates/table.html`` draw it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.attempts import shown_filters
from polymeter.report.formatting import as_float, clip, count, listing, number, one_line
from polymeter.report.run.panel_text import panel_sentences
from polymeter.report.run.truncation_text import truncation_sentences
from polymeter.report.shown_text import fewer_frames, without_subtitles

_MAX_DEPTH = 3
_VERSION_LENGTH = 16
_PLURALS = {"error": "errors"}
_NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: one metric of a task, group or subset. Texts are ready to print.

    Attributes:
        kind: ``task`` or ``group``.
        name: Name of the task or group.
        depth: Level of indentation; a subset is one level deeper than its task.
        alias: The name to print; empty on all but the first line of a task or subset.
        subset: Path of the subset, empty for the whole task.
        version: Version of the task or group, on its first line.
        n_shot: Number of few-shot examples, on its first line.
        filter: The filter that the answers went through.
        metric: The metric; ``metric/key`` for a value that has keys.
        direction: ``↑``, ``↓`` or nothing.
        value: The value.
        stderr: Its standard error.
        n: The number of samples behind the value; ``n of planned`` when some are missing.
        number: The value as a number; ``None`` if it is not one.
        interval: Its 95 % interval; ``None`` if it has none.
        stderr_method: The method of the standard error.
        ci_method: The method of the interval.
        no_interval: The reason why it has no interval.
        mark: ``(2 of 3)`` where members or subsets are missing from the number.
        bounds: The declared range of the number; ``None`` for an end that is not known.
    """

    kind: str
    name: str
    depth: int
    alias: str
    subset: tuple[str, ...]
    version: str
    n_shot: str
    filter: str
    metric: str
    direction: str
    value: str
    stderr: str
    n: str
    number: float | None = None
    interval: tuple[float, float] | None = None
    stderr_method: str = ""
    ci_method: str = ""
    no_interval: str = ""
    mark: str = ""
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def interval_text(self) -> str:
        """The ends of the interval; empty if there is none."""
        return "" if self.interval is None else f"{number(self.interval[0])} – {number(self.interval[1])}"


def table_lines(results: Mapping[str, Any]) -> list[Line]:
    """All lines of the table of a ``results.json``, in its layout: members of a group indented below it."""
    lines: list[Line] = []
    for kind, name, depth in _layout(results):
        holder = results.get(f"{kind}s", {}).get(name)
        if holder is not None:
            lines.extend(_lines_of(results, kind, name, int(depth), holder))
    return lines


def title_of(results: Mapping[str, Any], kind: str, name: str) -> str:
    """The name under which a task or group is printed."""
    return one_line(str(results.get(f"{kind}s", {}).get(name, {}).get("alias") or name))


def footnotes(results: Mapping[str, Any]) -> list[str]:
    """Return notes beside the numbers: missing samples, truncation, replays that differed, notes of tasks."""
    notes = [f"parity: {one_line(str(results['parity']))}"] if results.get("parity") else []
    if results.get("status") == "stopped":
        notes.append("This run was stopped before its end. The numbers cover the samples that had ended by then.")
    notes.extend(unscored_tasks(results))
    is_partial = results.get("status") == "partial"
    if is_partial:
        notes.append(_partial_note(results))
    notes.extend(f"SKIPPED: {one_line(str(name))}: {one_line(str(why))}" for name, why in skipped_tasks(results))
    notes.extend(lost_members(results))
    for name, task in results.get("tasks", {}).items():
        title = title_of(results, "task", name)
        planned = int(task.get("n_samples", 0))
        missing = missing_by_status(task)
        n_not_asked = missing.pop(_NOT_RUN, 0) if is_partial else 0
        if n_not_asked:
            notes.append(f"{title}: {n_not_asked:,} of {count(planned, 'sample')} not asked yet.")
        if missing:
            reasons = listing(
                f"{n:,} {_PLURALS.get(status, status) if n != 1 else status}" for status, n in missing.items()
            )
            notes.append(
                f"{title}: {sum(missing.values()):,} of {count(planned, 'sample')} without a score ({reasons})."
            )
        notes.extend(one.text for one in truncation_sentences(title, task))
        notes.extend(f"{title}: {odd}." for odd in (fewer_frames(task), without_subtitles(task)) if odd)
        if task.get("n_nondeterministic"):
            notes.append(
                f"{title}: {count(task['n_nondeterministic'], 'sample')} made a different request when replayed."
            )
        if task.get("n_restarted"):
            notes.append(
                f"{title}: {count(task['n_restarted'], 'sample')} began anew, because the environment gave other "
                "observations when the run was continued."
            )
        notes.extend(f"{title}: scored by {one_line(scorer)}." for scorer in _scorers(task))
        notes.extend(f"{title}: {sentence}" for sentence in panel_sentences(task.get("judges")))
    return [*notes, *(one_line(str(note)) for note in results.get("notes", ()))]


def _partial_note(results: Mapping[str, Any]) -> str:
    """Return a note that numbers are not final, with the reason."""
    tasks = results.get("tasks", {}).values()
    planned = sum(int(task.get("n_samples", 0)) for task in tasks)
    ended = sum(sum(int(n) for n in task.get("statuses", {}).values()) for task in tasks)
    states = {"running": "is still running, or was killed", "stopped": "was stopped", "failed": "failed"}
    state = states.get(str(results.get("run_status")), "was interrupted")
    return f"PARTIAL: this run {state}; the numbers cover the {ended:,} of {count(planned, 'sample')} that have ended."


def skipped_tasks(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The tasks that were left out because the model cannot do them, each with the reason."""
    return [*(results.get("skipped") or {}).items()]


def _scorers(task: Mapping[str, Any]) -> Iterator[str]:
    """Return the scorer of a task's scores, if the benchmark itself does not name one."""
    for scorer in task.get("scorers") or ():
        instead_of = scorer.get("instead_of")
        yield f"the {scorer.get('by')} instead of {instead_of}" if instead_of else f"the {scorer.get('by')}"


def lost_members(results: Mapping[str, Any]) -> list[str]:
    """One sentence for each group that has no number for a member, and each task that has none for a subset."""
    notes = []
    for kind, part in (("group", "member"), ("task", "subset")):
        for name, holder in results.get(f"{kind}s", {}).items():
            title = title_of(results, kind, name)
            metrics: dict[tuple[tuple[str, ...], int], list[str]] = {}
            for result in holder.get("results", ()):
                failed = tuple(one_line(str(member)) for member in result.get("failed_members") or ())
                if failed:
                    metrics.setdefault((failed, int(result.get("n_members") or 0)), []).append(
                        one_line(str(result["metric"]))
                    )
            for (failed, n), names in metrics.items():
                notes.append(
                    f"INCOMPLETE: {title} ({listing(dict.fromkeys(names))}): {len(failed)} of its {count(n, part)} "
                    f"{'has' if len(failed) == 1 else 'have'} no result: {listing(failed)}."
                )
    return notes


def unscored_tasks(results: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each task without a scored sample, whose line of the table means nothing."""
    notes = []
    for name, why in results.get("nothing_scored", {}).items():
        planned = int(results.get("tasks", {}).get(name, {}).get("n_samples", 0))
        sentence = (
            f"NOTHING SCORED: {title_of(results, 'task', name)}: none of its {count(planned, 'sample')} has a score."
        )
        notes.append(f"{sentence} {one_line(str(why))}".rstrip())
    return notes


def missing_by_status(task: Mapping[str, Any]) -> dict[str, int]:
    """The number of a task's samples without a score, by status; those that never ended count as ``not run``."""
    statuses: Mapping[str, int] = task.get("statuses", {})
    missing = {one_line(str(status)): int(n) for status, n in statuses.items() if status != "ok" and n}
    n_ok = int(statuses.get("ok", 0))
    n_without = n_ok - int(task.get("n_scored", n_ok))
    if n_without > 0:
        missing["without a value"] = n_without
    n_not_run = int(task.get("n_samples", 0)) - sum(int(n) for n in statuses.values())
    if n_not_run > 0:
        missing[_NOT_RUN] = n_not_run
    return missing


def _layout(results: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    listed = [tuple(entry) for entry in results.get("layout", ())]
    names = {(entry[0], entry[1]) for entry in listed}
    return [*listed, *(("task", name, 0) for name in results.get("tasks", {}) if ("task", name) not in names)]


def _lines_of(
    results: Mapping[str, Any], kind: str, name: str, depth: int, holder: Mapping[str, Any]
) -> Iterator[Line]:
    whole_first = sorted(_shown(holder.get("results", ())), key=lambda result: bool(result.get("subset")))
    version = clip(one_line(str(holder.get("version") or "")), _VERSION_LENGTH)
    n_shot = "" if kind == "group" or holder.get("num_fewshot") is None else str(holder["num_fewshot"])
    before: tuple[str, ...] | None = None
    if not whole_first or whole_first[0].get("subset"):
        # Nothing for the whole: a separate line carries the name, above its subsets or alone.
        n = _of(0, int(holder.get("n_samples", 0))) if not whole_first and kind == "task" else ""
        alias = title_of(results, kind, name)
        yield Line(kind, name, depth, alias, (), version, n_shot, "", "", "", number(None) if n else "", "", n)
        before, version, n_shot = (), "", ""
    for result in whole_first:
        subset = tuple(one_line(str(part)) for part in result.get("subset", ()))
        is_first = subset != before
        before = subset
        alias = "" if not is_first else "/".join(subset) if subset else title_of(results, kind, name)
        planned = 0 if subset else _planned(results, kind, holder, result)
        for key, value in spread_value(one_line(str(result["metric"])), result.get("value")):
            is_whole = value is result.get("value")
            stderr = result.get("stderr") if is_whole else None
            yield Line(
                kind=kind,
                name=name,
                depth=depth + bool(subset),
                alias=alias,
                subset=subset,
                version=version,
                n_shot=n_shot,
                filter=one_line(str(result.get("filter") or "none")),
                metric=key,
                direction={True: "↑", False: "↓"}.get(result.get("higher_is_better"), ""),
                value=number(value),
                stderr=number(stderr or None),  # 0 where all values are equal, which is not an estimate of an error
                n=_of(int(result.get("n") or 0), planned),
                number=as_float(value),
                interval=_interval(result.get("interval")) if is_whole else None,
                stderr_method=str(result.get("stderr_method") or "") if is_whole else "",
                ci_method=str(result.get("ci_method") or "") if is_whole else "",
                no_interval=one_line(str(result.get("no_interval") or "")) if is_whole else "",
                mark=_mark(result),
                bounds=bounds_of(result) if is_whole else (None, None),
            )
            alias, version, n_shot = "", "", ""


def _shown(results: Sequence[Any]) -> Iterator[Any]:
    """The results that stand in the table: of many estimates over repeats, some."""
    filters: dict[str, set[str]] = {}
    for result in results:
        filters.setdefault(str(result["metric"]), set()).add(str(result.get("filter") or "none"))
    shown = {metric: shown_filters(names) for metric, names in filters.items()}
    return (one for one in results if str(one.get("filter") or "none") in shown[str(one["metric"])])


def bounds_of(result: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The declared range in a result of ``results.json``."""
    low, high = result.get("bounds") or (None, None)
    return as_float(low), as_float(high)


def spread_value(metric: str, value: Any, depth: int = _MAX_DEPTH) -> Iterator[tuple[str, Any]]:
    """A value under its metric's name; one that has keys as several, each under ``metric/key``."""
    if not isinstance(value, dict) or not value or depth == 0:
        yield metric, value
        return
    for key, item in value.items():
        yield from spread_value(f"{metric}/{one_line(str(key))}", item, depth - 1)


def _planned(results: Mapping[str, Any], kind: str, holder: Mapping[str, Any], result: Mapping[str, Any]) -> int:
    if kind == "task":
        return int(result.get("n_planned", holder.get("n_samples", 0)))
    leaves: dict[str, Mapping[str, Any]] = {}
    _collect_leaves(results, holder, leaves, set())
    key = (result["metric"], result.get("filter"))
    return sum(_planned_of_leaf(task, key) for task in leaves.values())


def _planned_of_leaf(task: Mapping[str, Any], key: tuple[Any, Any]) -> int:
    own = [item for item in task.get("results", ()) if (item["metric"], item.get("filter")) == key]
    whole: Mapping[str, Any] = next((item for item in own if not item.get("subset")), {})
    return int(whole.get("n_planned", task.get("n_samples", 0))) if own else 0


def _collect_leaves(
    results: Mapping[str, Any], group: Mapping[str, Any], leaves: dict[str, Mapping[str, Any]], seen: set[str]
) -> None:
    for name in group.get("members", ()):
        if name in results.get("tasks", {}):
            leaves[name] = results["tasks"][name]
        elif name in results.get("groups", {}) and name not in seen:
            seen.add(name)
            _collect_leaves(results, results["groups"][name], leaves, seen)


def _of(n: int, planned: int) -> str:
    return f"{n:,} of {planned:,}" if planned > n else f"{n:,}"


def _mark(result: Mapping[str, Any]) -> str:
    failed, n = len(result.get("failed_members") or ()), int(result.get("n_members") or 0)
    return f"INCOMPLETE, {failed} of {n} missing" if failed else ""


def _interval(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    low, high = as_float(value[0]), as_float(value[1])
    return (low, high) if low is not None and high is not None else None
