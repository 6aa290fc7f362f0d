"""Made tasks of every kind, compared with what lm-eval 0.4.13 made of them: prompts, continuations, scores, numbers.

The record was written by ``python -m conformance.lm_eval.record`` with a model that is computed from the text it is
shown, so that a prompt that differs by one character gives other scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import polymeter
from conformance.comparing import Comparison, compare
from conformance.frame import Observation
from conformance.lm_eval.cases import RESAMPLES, SYSTEM, Case
from conformance.lm_eval.computed_here import Computed, render
from conformance.lm_eval.observing import observed_here
from conformance.lm_eval.record import FILE, GROUP
from polymeter.catalog.listing import build_catalog
from polymeter.interop.lm_eval.results import LmEvalFacts, LmEvalStoredRun, results_document
from polymeter.reading.stored import samples_as_read
from polymeter.run.plan.selection import select
from polymeter.store.exports.export import read_samples

HERE = Path(__file__).parent
RECORD: Mapping[str, Any] = json.loads((HERE / FILE).read_text(encoding="utf-8"))
DATA = {f"made/{name}": str(HERE / "rows" / name) for name in ("birds", "songs")}


def _run(names: Sequence[str], folder: Path, case: Case | None, parity: str) -> tuple[Any, Mapping[str, Any]]:
    """A run, and its results in lm-eval's form."""
    root = f"lm-eval:{HERE / 'tasks'}"
    chosen = select(names, build_catalog([root]))
    options: dict[str, Any] = {}
    if case is not None and case.way.is_chat:
        chat = {"apply_chat_template": True, "fewshot_as_multiturn": case.way.is_multiturn}
        options["dialect_options"] = {"lm_eval": chat}
    if case is not None and case.way.shots is not None:
        options["num_fewshot"] = case.way.shots
    if case is not None and case.way.has_system:
        options["system_prompt"] = SYSTEM
    if parity:
        options["parity"] = parity
    result = polymeter.evaluate(
        Computed(is_chat=case is not None and case.way.is_chat),
        list(names),
        include_paths=[root],
        data=DATA,
        output=folder / "run",
        is_offline=True,
        media="none",
        seed=0,
        **options,
    )
    specs = {spec.name: spec for spec in chosen.tasks}
    groups = {group.name: group for group in chosen.groups}
    facts = LmEvalFacts("computed", {}, "", specs, groups, bootstrap_iters=RESAMPLES)
    return result, results_document(LmEvalStoredRun(result.folder, facts))


def _compared(case: Case, recorded: Mapping[str, Any], folder: Path, parity: str) -> Comparison:
    result, document = _run([case.task], folder, case, parity)
    samples = samples_as_read(read_samples(result.folder, case.task), result.folder.read_manifest(), case.task)
    ours = observed_here(
        case.name,
        case.task,
        "computed",
        document,
        samples,
        lambda messages: render(messages, is_chat=case.way.is_chat),
    )
    theirs = Observation(**{key: value for key, value in recorded.items() if key != "case"})
    key = (case.name, "computed")
    return compare({key: theirs}, {key: ours}, models_of=lambda _: ["computed"], tolerance=1e-9)


@pytest.mark.parametrize("name", [name for name in RECORD if name != GROUP])
def test_a_made_task_gives_what_lm_eval_gave(name: str, tmp_path: Path) -> None:
    case = Case.from_data(RECORD[name]["case"])
    made = _compared(case, RECORD[name], tmp_path, parity="lm-eval")
    assert made.failures == {}
    assert [str(one) for one in made.differences] == []
    assert made.n_prompts >= 4, "prompts were compared"
    assert made.n_values >= 4, "numbers were compared"


def test_a_group_of_made_tasks_gives_what_lm_eval_gave(tmp_path: Path) -> None:
    _, document = _run([GROUP], tmp_path, None, "lm-eval")
    ours = {name: value for name, value in document["results"][GROUP].items() if "," in name}
    assert ours == pytest.approx(RECORD[GROUP], rel=1e-9)
