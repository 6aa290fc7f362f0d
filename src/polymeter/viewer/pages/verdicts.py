"""The form for a person's verdict on a sample. It posts a score, a label, an exclusion, or the undo of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.records.human_scores import counted
from polymeter.core.records.stored_samples import answer_digest
from polymeter.report.formatting import one_line
from polymeter.store.verdicts import LONGEST_REASON, HumanVerdict, Kind, VerdictFile, give_verdict, undo_verdict
from polymeter.viewer.browsing import Browsed, browse
from polymeter.viewer.pages.notes import way_back
from polymeter.viewer.site import NotFoundError, PageRequest, Viewer, ViewerPage, see
from polymeter.viewer.verdicts.allowed import allowed_labels, allowed_scores, has_repeats

if TYPE_CHECKING:
    from starlette.responses import Response


def post(viewer: Viewer, asked: PageRequest) -> Response:
    """Save a verdict, or undo one."""
    run = viewer.run(asked)
    viewer.shelf.check(run.path)
    by = asked.posted("by")
    if asked.posted("undo"):
        undo_verdict(run.path, asked.posted("undo"), by)
    else:
        give_verdict(run.path, _verdict(viewer, asked, by))
    return see(way_back(asked, run))


def form(own: Browsed, sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the form for a sample: what its task allows, and all verdicts so far, the newest first."""
    name = str(sample["id"])
    file = own.verdicts
    given = [one for one in file.verdicts if (one.task, one.sample) == (own.task, name)]
    scores = allowed_scores(own, sample)
    digest = answer_digest(sample)
    human = file.scores({own.task: {name: digest}}).get(own.task)
    return {
        "scores": scores,
        "has_repeats": has_repeats(sample),
        "labels": allowed_labels(own, sample, scores),
        "human": human.values.get(name, {}) if human else {},
        "excluded": human.excluded.get(name) if human else None,
        # They name people, as notes do.
        "history": [
            (one, _said_here(one, digest), file.undone.get(one.id)) for one in reversed(given) if own.viewer.has_notes
        ],
        "longest_reason": LONGEST_REASON,
        "n_unreadable": len(file.unreadable),
    }


def said(verdict: HumanVerdict) -> str:
    """Return a verdict in words."""
    if verdict.kind == "exclude":
        return f"Excluded: {verdict.reason}"
    scores = ", ".join(f"{one_line(name)} = {value:.6g}" for name, value in verdict.values.items())
    return f"Labelled {one_line(verdict.label)} ({scores})" if verdict.kind == "label" else f"Scored {scores}"


def _said_here(verdict: HumanVerdict, answer: str) -> str:
    return said(verdict) if verdict.is_about(answer) else f"{said(verdict)}, about an earlier answer"


def mark_of(kinds: Collection[Kind]) -> str:
    """Return the mark of a sample in a list: the verdict that counts most; empty if it has none."""
    said: dict[Kind, str] = {"exclude": "excluded", "label": "labelled", "score": "scored"}
    return next((mark for kind, mark in said.items() if kind in kinds), "")


def in_short(file: VerdictFile) -> str:
    """Return the numbers of a run's verdicts for its page; empty if it has none."""
    scores = file.scores()
    words = counted(scores.values()) if scores else ""
    broken = f"line {file.unreadable[0]} of verdicts.jsonl cannot be read" if file.unreadable else ""
    return "; ".join(filter(None, (words, broken)))


def _verdict(viewer: Viewer, asked: PageRequest, by: str) -> HumanVerdict:
    """Return the verdict in a form.

    Raises:
        NotFoundError: if the run has no such sample, or the sample no such metric or label.
        PlanError: if the metric does not allow the score.
    """
    own = browse(viewer, viewer.run(asked), asked.posted("task"), ())
    sample = _sample(own, asked.posted("index"), asked.posted("sample"))
    verdict = HumanVerdict("", own.task, str(sample["id"]), "exclude", reason=asked.posted("reason"), by=by)
    answer = answer_digest(sample)
    if asked.posted("action") == "exclude":
        return verdict
    scores = allowed_scores(own, sample)
    if asked.posted("action") == "label":
        wanted = asked.posted("label")
        label = next((one for one in allowed_labels(own, sample, scores) if one.label == wanted), None)
        if label is None:
            raise NotFoundError(f"This sample has no label {wanted[:60]!r}.", hint="Choose a label in the list.")
        return HumanVerdict("", own.task, verdict.sample, "label", label.values, label.label, answer=answer, by=by)
    for action in ("right", "wrong", "set"):
        metric = next((score for score in scores if score.name == asked.posted(action)), None)
        if metric is not None:
            value = metric.check(asked.posted(f"value:{metric.name}")) if action == "set" else getattr(metric, action)
            return HumanVerdict("", own.task, verdict.sample, "score", {metric.name: value}, answer=answer, by=by)
    raise NotFoundError("This sample has no score for such a metric.", hint="Reload the page of the sample.")


def _sample(own: Browsed, index: str, name: str) -> Mapping[str, Any]:
    position = own.position(int(index)) if index.isascii() and index.isdigit() and len(index) < 20 else None
    read = [] if position is None else own.read([position])
    if not read or str(read[0]["id"]) != name:
        raise NotFoundError(
            f"{own.title} has no sample {name[:60]!r} with this number.", hint="Choose one in the list of samples."
        )
    return read[0]


PAGES = (ViewerPage("/run/{run}/verdicts", post, method="POST"),)
