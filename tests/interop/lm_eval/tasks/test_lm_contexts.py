"""Contexts and arguments: those of lm-eval 0.4.13 for the same files and rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.names.parity import Parity
from tests.interop.lm_eval.tasks.folders import ask, open_in, plain, write

RECORDED = json.loads((Path(__file__).parent / "contexts.json").read_text("utf-8"))
RUNS = RECORDED["runs"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("contexts"), RECORDED["files"], rows=None)


@pytest.mark.parametrize("name", sorted(RUNS[0]["instances"]))
@pytest.mark.parametrize("number", range(len(RUNS)), ids=["text", "chat", "turns", "no_examples"])
def test_requests_are_those_of_lm_eval(folder: Path, number: int, name: str) -> None:
    run = RUNS[number]
    options = {"apply_chat_template": True, "fewshot_as_multiturn": run["has_turns"]} if run["is_chat"] else {}
    task = open_in(
        folder,
        name,
        num_fewshot=run["num_fewshot"],
        system_prompt=run["system"],
        options=options,
        # The recorded task draws its examples as lm-eval does.
        parity=Parity("lm-eval", switched=frozenset({"fewshot-leak"})),
    )
    expected: list[Any] = run["instances"][name]
    positions = sorted({item[1] for item in expected})
    made = task.rollout.args[1]  # type: ignore[attr-defined]
    found = [plain(instance) for position in positions for instance in made.of(task.samples[position])]
    assert found == expected
    # And that is what is sent.
    chats = {message.role for message in ask(task)[0].messages}
    assert chats == ({"user"} if not run["is_chat"] else chats | {"user"})
