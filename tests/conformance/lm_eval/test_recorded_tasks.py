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
from conformance.lm_eval import computed
from conformance.lm_eval.cases import RESAMPLES, SYSTEM, Case
from conformance.lm_eval.observing import observed_here
from conformance.lm_eval.record import FILE, GROUP, turns
from polymeter import BatchModel, ModelTraits, Output, Request, Response
from polymeter.api.tasks import build_catalog
from polymeter.core.request import ChoiceLogprob, Loglikelihood
from polymeter.engine.selection import select
from polymeter.interop.lm_eval.results import CommandFacts, StoredRun, results_document
from polymeter.store.export import read_samples

HERE = Path(__file__).parent
RECORD: Mapping[str, Any] = json.loads((HERE / FILE).read_text(encoding="utf-8"))
DATA = {f"made/{name}": str(HERE / "rows" / name) for name in ("birds", "songs")}


class Computed(BatchModel):
    """`computed` as a model of Polymeter."""

    traits = ModelTraits(family="computed")
    batch_hint = 64

    def __init__(self, *, is_chat: bool) -> None:
        self.is_chat = is_chat

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"computed": self.is_chat}

    def respond(self, requests: list[Request]) -> list[Response]:
        return [Response((self._answer(request),)) for request in requests]

    def _answer(self, request: Request) -> Output:
        asked = request.parameters
        messages = [{"role": one.role, "content": one.text} for one in request.messages]
        shown = _render(messages, is_chat=self.is_chat and getattr(asked, "template", "") != "none")
        if not isinstance(asked, Loglikelihood):
            assert isinstance(asked, polymeter.Generate)
            return Output(text=computed.said(shown, asked.repeat), finish_reason="stop")
        if asked.is_rolling:
            values = [(computed.rolling(text), False) for text in asked.continuations]
        else:
            values = [computed.likelihood(shown, text) for text in asked.continuations]
        return Output(logprobs=tuple(ChoiceLogprob(*value, 1) for value in values))


def _render(messages: Sequence[Mapping[str, str]], *, is_chat: bool) -> str:
    if not is_chat:
        return "".join(message["content"] for message in messages)
    return turns([dict(one) for one in messages], is_asked=messages[-1]["role"] != "assistant")


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
    facts = CommandFacts("computed", {}, "", specs, groups, bootstrap_iters=RESAMPLES)
    return result, results_document(StoredRun(result.folder, facts))


def _compared(case: Case, recorded: Mapping[str, Any], folder: Path, parity: str) -> Comparison:
    result, document = _run([case.task], folder, case, parity)
    samples = read_samples(result.folder, case.task)
    ours = observed_here(
        case.name,
        case.task,
        "computed",
        document,
        samples,
        lambda messages: _render(messages, is_chat=case.way.is_chat),
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
