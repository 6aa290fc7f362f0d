"""Conversations: what a wrapper's ``chat`` gets of each turn, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.request import Message
from polymeter.data.formats import load
from polymeter.interop.ulmeval.models import UlmModel
from polymeter.interop.ulmeval.models.base import BaseAPI, BaseModel
from polymeter.interop.ulmeval.models.chatting import chat_answer
from polymeter.tasks.table.turns import is_conversation, turns_of
from tests.helpers.toy_datasets import write_class

TURNS = """
def build_prompt(self, line):
    said = [('system', 'Be brief.'), ('user', 'First?'), ('assistant', 'never sent'), ('user', 'Then?')]
    return [{'role': role, 'content': [{'type': 'text', 'value': text}]} for role, text in said]

def evaluate(self, eval_file, **judge_kwargs):
    return {'turns': sum(len(said) for said in load(eval_file)['prediction'])}
"""


class Chats(BaseModel):
    def __init__(self) -> None:
        self.seen: list[list[tuple[str, str]]] = []

    def generate_inner(self, message: Any, dataset: Any = None) -> Any:
        raise AssertionError("a conversation is a chat")

    def chat_inner(self, messages: Any, dataset: Any = None) -> str:
        assert dataset == "Toy"
        self.seen.append([(turn["role"], turn["content"][0]["value"]) for turn in messages])
        return f"answer {len(self.seen)}"


class Plain(BaseModel):
    def generate_inner(self, message: Any, dataset: Any = None) -> str:
        return " | ".join(f"{item.get('role', 'user')}: {item['value']}" for item in message)


class Endpoint(BaseAPI):
    retry, wait = 1, 0

    def generate_inner(self, inputs: Any, **kwargs: Any) -> tuple[int, str, str]:
        return (0, f"{len(inputs)} turns", "") if len(inputs) < 4 else (1, "", "too long")


def measured(tmp_path: Path, wrapper: Any, *, kind: str | None = "MT", **options: Any) -> polymeter.RunResult:
    file = write_class(tmp_path / "lib", TURNS, columns={"index": [0], "question": ["?"]}, type_=kind)
    return polymeter.evaluate(UlmModel.around(wrapper), "Toy", include_paths=[file], output=tmp_path / "run", **options)


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "tables"))


def test_a_chat_gets_its_own_answers(tmp_path: Path) -> None:
    wrapper = Chats()
    run = measured(tmp_path, wrapper)
    assert run.value("Toy", "turns") == 2
    first = [("system", "Be brief."), ("user", "First?")]
    assert wrapper.seen == [first, [*first, ("assistant", "answer 1"), ("user", "Then?")]]


def test_a_wrapper_without_chat_gets_items_with_roles(tmp_path: Path) -> None:
    run = measured(tmp_path, Plain())
    ((first, second),) = load(str(next(run.folder.artifacts.rglob("*.pkl"))))["prediction"]
    assert first == "system: Be brief. | user: First?"
    assert second == f"{first} | assistant: {first} | user: Then?"


def test_a_turn_that_fails_is_no_answer() -> None:
    items = [{"type": "text", "value": "a"}, {"type": "text", "value": "b", "role": "assistant"}]
    assert chat_answer(Endpoint(), items, "Toy") == "2 turns"
    with pytest.raises(ModelError, match="The chat of Endpoint failed: Failed to obtain answer"):
        chat_answer(Endpoint(), items * 2, "Toy")


def test_one_of_several_answers_cannot_be_continued(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="leads conversations, so num_generations=2"):
        measured(tmp_path, Plain(), dialect_options={"tsv": {"num_generations": 2}})


def test_a_conversation_needs_its_type(tmp_path: Path) -> None:
    (sample,) = measured(tmp_path, Plain(), kind="VQA").samples()
    assert "Write TYPE = 'MT'" in sample.error


def test_what_makes_no_conversation() -> None:
    def turn(role: str) -> dict[str, Any]:
        return {"role": role, "content": "a"}

    assert not is_conversation([{"role": "user", "type": "text", "value": "a"}])
    assert not is_conversation("user")
    with pytest.raises(DataError, match="Turn 0 of a conversation has the role 'bot'"):
        turns_of([turn("bot")], lambda item: item)
    with pytest.raises(DataError, match="The user says nothing"):
        turns_of([turn("assistant")], lambda item: item)
    (user,) = turns_of([turn("user"), turn("assistant")], lambda item: item)
    assert isinstance(user, Message)
