"""Scoring a sample by several judges, one after the other, and checking a panel before anything is spent.

Each judge answers under its own role, so a verdict is journaled with its judge and asked for once; a sample whose
scoring asks no judge is scored once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polymeter.core.errors import PlanError, PolymeterError, UnscoredError
from polymeter.core.task import Score
from polymeter.judge.panel import BY_JUDGE, WITHOUT, Panel, by_judge, combined, seats_of
from polymeter.run.finish import manifest as manifests
from polymeter.run.plan.plan import Plan, role_names
from polymeter.run.schedule.running_samples import RunningSample


def panel_of(plan: Plan) -> Panel | None:
    """The panel of a run; ``None`` if it has fewer than two judges.

    Raises:
        PlanError: if more judges are to agree than there are, or a judge is named twice.
    """
    seats = seats_of(plan.roles)
    options = plan.options
    quorum = len(seats) if options.panel_quorum is None else options.panel_quorum
    if quorum > len(seats):
        raise PlanError(
            f"A quorum of {quorum} needs as many judges, and the run has {len(seats)}.",
            where="--panel-quorum",
            hint="Name several with --judge.",
        )
    if len(seats) < 2:
        return None
    names, known = role_names(plan), dict[str, str]()
    for role in seats:
        mark = manifests.fingerprint_of(plan.roles[role].identity)
        if mark in known:
            raise PlanError(
                f"The judge {names[role]!r} is named twice: its verdicts would count double.",
                where="--judge",
                hint="Name different models, or give them different arguments.",
            )
        known[mark] = role
    return Panel(seats, options.panel, quorum)


def score_by_panel(running: RunningSample, panel: Panel, score: Callable[[], Score]) -> Score:
    """The score of a sample by a panel: with the combined values, and each judge's own in its log.

    Args:
        running: The sample.
        panel: The judges.
        score: Scores the sample by the judge whose turn it is.

    Raises:
        UnscoredError: if fewer judges than the quorum gave a verdict.
        ScoreError: if the task's own code failed, or the judges' values cannot be combined.
    """
    scores: dict[str, Score] = {}
    without: dict[str, str] = {}
    try:
        for role in panel.seats:
            running.seat = role
            n_calls = len(running.judge_calls)
            running.lost_verdicts.clear()
            try:
                found = score()
            except UnscoredError as error:
                without[role] = error.what
            except PolymeterError as error:
                if not running.lost_verdicts:
                    raise
                without[role] = error.what  # code that continues after a lost verdict fails without it
            else:
                if len(running.judge_calls) == n_calls == 0:
                    return found
                # The calls of judges before are part of the sample's, not of this score's.
                rules = found.judge_rules[n_calls:]
                scores[role] = replace(found, judge_calls=found.judge_calls[n_calls:], judge_rules=rules)
    finally:
        running.seat = ""
    if len(scores) < panel.quorum:
        raise UnscoredError(
            f"{len(scores)} of {len(panel.seats)} judges gave a verdict, but {panel.quorum} are needed. "
            + " ".join(f"{role}: {why}" for role, why in without.items())
        )
    running.lost_verdicts.clear()
    return _joint(scores, without, panel)


def _joint(scores: dict[str, Score], without: dict[str, str], panel: Panel) -> Score:
    first = next(iter(scores.values()))
    explanations = {role: own.explanation for role, own in scores.items() if own.explanation}
    explanation = first.explanation
    if len(set(explanations.values())) > 1:
        explanation = "\n".join(f"{role}: {text}" for role, text in explanations.items())
    calls = [(call, rule) for own in scores.values() for call, rule in _calls(own)]
    rules = tuple(rule for _, rule in calls)
    return Score(
        combined([own.values for own in scores.values()], panel),
        first.target,
        first.answer,
        explanation,
        {
            **first.log,
            BY_JUDGE: by_judge({role: own.values for role, own in scores.items()}),
            **({WITHOUT: without} if without else {}),
        },
        tuple(call for call, _ in calls),
        rules if any(rules) else (),
        tuple(dict.fromkeys(scorer for own in scores.values() for scorer in own.scorers)),
        first.n_unfinished,
    )


def _calls(score: Score) -> list[tuple[str, str]]:
    rules = score.judge_rules or ("",) * len(score.judge_calls)
    return [*zip(score.judge_calls, rules, strict=True)]
