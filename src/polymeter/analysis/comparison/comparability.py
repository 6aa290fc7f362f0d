"""Comparability of two runs: their differences besides the model, and the ones that are refused.

A difference is refused until the user allows it if it changes the meaning of a difference of scores: other samples,
other data, other prompts, other frames of videos, another way to score, another judge, a run that has not ended. All
other differences are reported.

The requests decide, not the settings. Runs are compared by the fingerprints of the first requests of their samples, and
by the texts of these requests if the fingerprints differ; by the records of what was shown of their media; by their
rows if the fingerprints of the data differ; and by the definitions of tasks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.analysis.comparison import imported
from polymeter.analysis.comparison.pairing import other_pairing, prompt_of
from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.analysis.comparison.shown import shown_differences
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.catalog import AT
from polymeter.core.records.protocol import MEASURING
from polymeter.report.formatting import clip, count, listing, one_line
from polymeter.store.reading.outcomes import SampleOutcome

ALLOWABLE = {
    "unfinished": "compare what both runs have so far",
    "samples": "compare the samples that both have",
    "data": "rows with the same id may differ",
    "task": "the task may be another version, or be scored in another way",
    "prompts": "the models may have been sent different prompts",
    "shown": "the models may have been shown other frames, sizes or rates",
    "judge": "the answers may have been graded by different judges",
}
"""The refused differences, by the word that allows each, with the meaning of the word."""
_OPTION = "--allow"
OF_DATA = frozenset({"dataset_path", "dataset_name", "dataset_kwargs"})
"""Keys of a task's configuration for the place of its rows. The rows themselves are compared."""
OF_REQUESTS = frozenset({"generation_kwargs", "lmms_eval_specific_kwargs", "model_specific_generation_kwargs"})
"""Keys that decide how a model is asked. The requests themselves are compared."""
_NOT_SETTINGS = frozenset({"limit", "offset", "data", "weights"})
"""Options that select samples or place files. The samples and rows themselves are compared."""
_SHOWN = 5
_AROUND = 30
_SETTING_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two runs besides the model.

    Attributes:
        kind: The word for it: one of ``ALLOWABLE``, or the kind of a difference that is only reported.
        text: The difference and its place, in sentences.
        is_refused: Whether it makes the comparison misleading.
    """

    kind: str
    text: str
    is_refused: bool = False


def check_allowed(allow: Collection[str]) -> None:
    """Check the words that allow differences.

    Raises:
        PlanError: if one is unknown.
    """
    for word in allow:
        if word not in ALLOWABLE:
            hint = did_you_mean(word, ALLOWABLE) or f"Known: {listing(ALLOWABLE)}."
            raise PlanError(f"{word!r} is not a difference that can be allowed.", where=_OPTION, hint=hint)


def refuse(findings: Sequence[Finding], first: ComparedRun, other: ComparedRun, allow: Collection[str]) -> list[str]:
    """Return the sentences of all findings, including the allowed ones.

    Raises:
        PlanError: if a finding is refused and not allowed. The message lists all of these.
    """
    refused = [finding for finding in findings if finding.is_refused and finding.kind not in allow]
    if refused:
        words = list(dict.fromkeys(finding.kind for finding in refused))
        meanings = listing(ALLOWABLE[word] for word in words)
        told = "\n".join(f"  - {finding.text}" for finding in refused)
        raise PlanError(
            f"{first.name} and {other.name} differ in more than the model; a comparison would mislead:\n{told}",
            hint=f"If that is what you want to compare, add {_OPTION} {','.join(words)} ({meanings}).",
        )
    return [finding.text for finding in findings]


def run_findings(first: ComparedRun, other: ComparedRun) -> Iterator[Finding]:
    """Yield the differences between two whole runs."""
    for run in (first, other):
        if not run.is_complete:
            status = one_line(str(run.manifest.get("status")))
            yield Finding("unfinished", f"{run.name} has not ended (status {status}): its numbers may change.", True)
    for run, beside in ((first, other), (other, first)):
        only = [name for name in run.tasks if name not in beside.tasks]
        if only:
            yield Finding("tasks", f"Only {run.name} has {_some(only)}: not compared.")
    yield from (Finding("protocols", text) for text in other_protocols(first, other))
    if imported.is_imported(first, other):
        yield from (Finding("imported", text) for run in (first, other) for text in imported.told_of_import(run))
        return
    one, two = (run.manifest.get("identity", {}).get("roles") or {} for run in (first, other))
    if one != two:
        roles = [role for role in dict.fromkeys([*one, *two]) if one.get(role) != two.get(role)]
        how = "; ".join(f"{role}: {_identity_change(one.get(role), two.get(role))}" for role in roles)
        yield Finding("judge", f"The answers were graded by different judges: {how}.", True)
    settings = [*_option_findings(first, other)]
    yield from settings
    codes = [run.manifest.get("polymeter", {}).get("version") for run in (first, other)]
    if codes[0] != codes[1]:
        versions = " and ".join(str(code) for code in codes)
        how = "to update the scores, run polymeter score RUN"
        yield Finding("code", f"The runs were made by different versions of Polymeter, {versions}: {how}.")
    yield from _rule_findings(first, other)
    if first.manifest.get("identity", {}).get("model") == other.manifest.get("identity", {}).get("model"):
        yield Finding("model", f"Both runs are of the same model{'' if settings else ' with the same settings'}.")


def _rule_findings(first: ComparedRun, other: ComparedRun) -> Iterator[Finding]:
    """Yield different rules by which answers were read, or media sent."""
    told = {"reading": "read by different rules", "media": "given for media that was sent by different rules"}
    for name, how in told.items():
        versions = [(run.manifest.get("rules") or {}).get(name, 1) for run in (first, other)]
        if versions[0] != versions[1]:
            again = " polymeter score RUN reads the stored answers again." if name == "reading" else ""
            yield Finding("rules", f"The answers were {how}, version {versions[0]} and version {versions[1]}.{again}")


def _option_findings(first: ComparedRun, other: ComparedRun) -> Iterator[Finding]:
    one, two = (dict(run.manifest.get("identity", {}).get("options") or {}) for run in (first, other))
    systems = [options.pop("parity", "") for options in (one, two)]
    tags = [options.pop("reasoning_tags", None) for options in (one, two)]
    if tags[0] != tags[1]:
        names = " and ".join("the usual tags" if given is None else f"the tags {given}" for given in tags)
        yield Finding("rules", f"Reasoning in answers was found by different tags (--reasoning-tags): {names}.")
    if systems[0] != systems[1]:
        names = " and ".join(str(system) or "none" for system in systems)
        yield Finding("task", f"The numbers follow different systems (--parity): {names}.", True)
    differing = {name for name in {**one, **two} if one.get(name) != two.get(name)} - _NOT_SETTINGS
    if differing:
        yield Finding("settings", f"The runs have different settings: {_changed_values(one, two, sorted(differing))}.")


def task_findings(
    first: ComparedRun, other: ComparedRun, task: str, *, is_unpaired: bool, is_told_settings: bool
) -> Iterator[Finding]:
    """Yield the differences between two runs in one task.

    Args:
        first: A run.
        other: The other run.
        task: A task of both.
        is_unpaired: Whether samples are not compared one by one, so that they may differ.
        is_told_settings: Whether to report settings of requests beyond those of the whole run.
    """
    has_import = imported.is_imported(first, other)
    definitions = _imported_definition_findings if has_import else _definition_findings
    yield from definitions(first.tasks[task], other.tasks[task], task)
    if is_unpaired:
        return
    one = {outcome.id: outcome for outcome in first.outcomes(task)}
    two = {outcome.id: outcome for outcome in other.outcomes(task)}
    only = [name for name in one if name not in two], [name for name in two if name not in one]
    if any(only):
        told = "; ".join(
            f"{count(len(names), 'sample')} only in {run.name} ({_some(names)})"
            for names, run in zip(only, (first, other), strict=True)
            if names
        )
        n_shared = len(one) - len(only[0])
        more = f" {how}" if not n_shared and (how := other_pairing(other.pair_by)) else ""
        yield Finding(
            "samples", f"{task}: the runs have different samples: {told}; {n_shared:,} are in both.{more}", True
        )
    shared = [name for name in one if name in two]
    if has_import or first.tasks[task]["dataset_fingerprint"] != other.tasks[task]["dataset_fingerprint"]:
        yield from _row_findings(first, other, task, shared, has_import=has_import)
    yield from _request_findings(
        first, other, task, one, two, shared, is_told_settings=is_told_settings, has_import=has_import
    )
    for text, is_refused in shown_differences(first, other, task, one, two, shared):
        yield Finding("shown", text, is_refused)


def other_protocols(first: ComparedRun, other: ComparedRun) -> Iterator[str]:
    """Yield a sentence for each benchmark that two runs have under different protocols, which are different tasks."""
    one, two = (_protocols(run, beside) for run, beside in ((first, other), (other, first)))
    for benchmark in one.keys() & two.keys():
        names = f"{listing(one[benchmark])} in {first.name}, {listing(two[benchmark])} in {other.name}"
        yield f"{benchmark}: the protocols differ ({names}): not compared."


def _protocols(run: ComparedRun, beside: ComparedRun) -> dict[str, list[str]]:
    """Return the protocols of the tasks that only one run has, by benchmark; of a task without one, ``none``."""
    found: dict[str, list[str]] = {}
    for name, task in run.tasks.items():
        if name not in beside.tasks:
            protocol = str((task.get("protocol") or {}).get("name") or "")
            found.setdefault(name.removesuffix(f"{AT}{protocol}"), []).append(protocol or "none")
    return found


def _imported_definition_findings(one: Mapping[str, Any], two: Mapping[str, Any], task: str) -> Iterator[Finding]:
    before, after = imported.definition(one, two), imported.definition(two, one)
    if before != after:
        yield Finding("task", f"{task}: the task is defined differently: {_changed_values(before, after)}.", True)


def _definition_findings(one: Mapping[str, Any], two: Mapping[str, Any], task: str) -> Iterator[Finding]:
    facts = [{"version": entry.get("version"), "num_fewshot": entry.get("num_fewshot")} for entry in (one, two)]
    stated = [dict(entry.get("protocol") or {}) for entry in (one, two)]
    if any(stated[0].get(name) != stated[1].get(name) for name in MEASURING):
        yield Finding(
            "task", f"{task}: the protocols differ: {_changed_values(stated[0], stated[1], MEASURING)}.", True
        )
    elif stated[0] != stated[1]:
        yield Finding(
            "protocols", f"{task}: the protocols are described differently: {_changed_values(stated[0], stated[1])}."
        )
    configs = [
        {
            key: value
            for key, value in (entry.get("config") or {}).items()
            if key not in OF_DATA and key not in OF_REQUESTS and key != "protocol"
        }
        for entry in (one, two)
    ]
    before, after = ({**config, **own} for config, own in zip(configs, facts, strict=True))
    if before != after:
        yield Finding("task", f"{task}: the task is defined differently: {_changed_values(before, after)}.", True)
    elif one.get("config") == two.get("config") and one.get("source_hash") != two.get("source_hash"):
        yield Finding(
            "sources", f"{task}: the files of the task have changed between the runs, but its settings are equal."
        )


def _row_findings(
    first: ComparedRun, other: ComparedRun, task: str, shared: Sequence[str], *, has_import: bool
) -> Iterator[Finding]:
    """Yield differences of rows. The same rows in another place have another fingerprint, which is not reported."""
    one: Mapping[str, str | None] = first.rows(task)
    two: Mapping[str, str | None] = other.rows(task)
    if has_import:
        pairs = {name: imported.shared_columns(one.get(name), two.get(name)) for name in shared}
        n_unknown = sum(pair is None for pair in pairs.values())
        if n_unknown:
            yield Finding("imported", f"{task}: a log does not contain {count(n_unknown, 'row')}: not compared.")
        one, two = ({name: pair[side] for name, pair in pairs.items() if pair} for side in (0, 1))
    changed = [name for name in shared if one.get(name) != two.get(name)]
    if changed:
        name = changed[0]
        how = short_difference(one.get(name) or "", two.get(name) or "")
        yield Finding(
            "data",
            f"{task}: {len(changed):,} of {count(len(shared), 'row')} differ under the same id, first {name}: {how}.",
            True,
        )


def _request_findings(
    first: ComparedRun,
    other: ComparedRun,
    task: str,
    one: Mapping[str, SampleOutcome],
    two: Mapping[str, SampleOutcome],
    shared: Sequence[str],
    *,
    is_told_settings: bool,
    has_import: bool,
) -> Iterator[Finding]:
    both = [name for name in shared if one[name].request and two[name].request]
    differing = [name for name in both if one[name].request != two[name].request]
    unknown = set(shared).difference(both) if has_import else set()
    if not differing and not unknown:
        return
    sent, sent_by_other = (
        run.requests(task, {name: outcomes[name].request for name in differing})
        for run, outcomes in ((first, one), (other, two))
    )
    if has_import:
        is_rendered = imported.is_rendered(first) or imported.is_rendered(other)
        alike = {
            name: imported.is_prompt_alike(sent.get(name), sent_by_other.get(name), is_rendered=is_rendered)
            for name in differing
        }
        unknown.update(name for name, is_alike in alike.items() if is_alike is None)
        if unknown:
            yield Finding("imported", f"{task}: a log does not contain {count(len(unknown), 'prompt')}: not compared.")
        prompts = [name for name, is_alike in alike.items() if is_alike is False]
    else:
        prompts = [name for name in differing if prompt_of(sent.get(name)) != prompt_of(sent_by_other.get(name))]
    if prompts:
        name = prompts[0]
        how = short_difference(_prompt_text(sent.get(name)), _prompt_text(sent_by_other.get(name)))
        has_own = any(run.manifest["model"].get("traits", {}).get("has_own_prompts") for run in (first, other))
        why = " A model makes its own prompts." if has_own else ""
        yield Finding(
            "prompts",
            f"{task}: {len(prompts):,} of {count(len(both), 'sample')} were sent different prompts, first {name}: "
            f"{how}.{why}",
            not has_own,
        )
    pairs = {name: _both_settings(sent.get(name), sent_by_other.get(name), has_import) for name in differing}
    settings = [name for name, (own, others) in pairs.items() if own != others]
    if settings and is_told_settings:
        name = settings[0]
        how = _changed_values(*pairs[name])
        yield Finding(
            "settings",
            f"{task}: {count(len(settings), 'sample')} were asked with different settings, first {name}: {how}.",
        )


def _settings(request: Any) -> dict[str, Any]:
    """Return the settings of a request without its choices, which are part of the prompt."""
    return {key: value for key, value in (request or {}).get("ask", {}).items() if key != "continuations"}


def _both_settings(one: Any, two: Any, has_import: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of two requests. For an imported run, these are the settings that both requests name."""
    if has_import:
        return imported.known_settings(one, two), imported.known_settings(two, one)
    return _settings(one), _settings(two)


def _prompt_text(request: Any) -> str:
    """Return a prompt as text with its choices. For each medium, the stored part stands there."""
    messages, choices = prompt_of(request)
    parts = [part for message in messages or () for part in message["parts"]]
    texts = [
        str(part["text"]) if "text" in part else json.dumps(part, ensure_ascii=False, sort_keys=True) for part in parts
    ]
    return " ".join([*texts, *map(str, choices or ())])


def short_difference(before: str, after: str) -> str:
    """Return the first difference of two texts, with a few characters around it."""
    start = next(
        (place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    begin = max(start - _AROUND, 0)
    shown = [
        ("…" if begin else "") + text[begin : start + _AROUND] + ("…" if start + _AROUND < len(text) else "")
        for text in (before, after)
    ]
    return f"{one_line(shown[0])!r} and {one_line(shown[1])!r}"


def _changed_values(before: Mapping[str, Any], after: Mapping[str, Any], among: Sequence[str] | None = None) -> str:
    """Describe different values: ``temperature 0.0 and 0.7, seed 1 and 2``; only those of some keys, if they are
    named.
    """
    names = [key for key in ({**before, **after} if among is None else among) if before.get(key) != after.get(key)]
    told = [f"{name} {brief(before.get(name))} and {brief(after.get(name))}" for name in names[:_SHOWN]]
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*told, *more])


def brief(value: Any) -> str:
    """Return a setting in a few words; ``none`` for an empty one."""
    if value is None or value in ("", {}, []):
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return clip(one_line(text), _SETTING_LENGTH)


def _identity_change(before: Any, after: Any) -> str:
    """Describe the difference of two models in one role; ``None`` means no model."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return f"{brief(before)} and {brief(after)}"
    return _changed_values(before, after)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name) for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown
