"""Another tokenizer, its first token, and the token that the first one of a text is predicted from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Loglikelihood, Message, Request
from polymeter.models.hf import HfModel
from tests.helpers.checkpoints import make_tokenizer

TEXT = "the red square is left of a circle"
BOS, EOS, OTHER = 1, 2, 7


def loaded(folder: Path, **options: Any) -> HfModel:
    made = HfModel(str(folder), **options)
    made.load()
    return made


def tokens_of(model: HfModel, text: str) -> list[int]:
    ids: list[int] = model._loaded.tokenizer(text, add_special_tokens=False)["input_ids"]  # type: ignore[union-attr]
    return ids


def score(model: HfModel, context: str, *texts: str, is_rolling: bool = False) -> list[float]:
    asked = Request((Message("user", (Text(context),)),), Loglikelihood(texts, is_rolling=is_rolling))
    return [one.logprob for one in model.respond([asked])[0].outputs[0].logprobs]


def formula(model: Any, before: Sequence[int], scored: Sequence[int]) -> Any:
    with torch.inference_mode():
        logits = model._loaded.network(torch.tensor([[*before, *scored[:-1]]])).logits[0, len(before) - 1 :]
    return pytest.approx(float(logits.log_softmax(-1).gather(1, torch.tensor(scored)[:, None]).sum()), abs=1e-4)


@pytest.mark.parametrize(
    ("adds", "told", "first"),
    [(True, None, [BOS]), (True, False, []), (True, True, [BOS]), (False, None, []), (False, True, [BOS])],
)
def test_the_first_token_of_a_text_is_put_there_or_not(
    checkpoint: Callable[..., Path], adds: bool, told: bool | None, first: list[int]
) -> None:
    model = loaded(checkpoint("llama", has_template=False, adds_bos=adds), add_bos_token=told)
    question, answer = tokens_of(model, TEXT), tokens_of(model, " A")
    assert score(model, TEXT, " A") == [formula(model, [*first, *question], answer)]
    assert score(model, "", TEXT, is_rolling=True) == [formula(model, [BOS], [*first, *question])]
    assert model.identity.get("add_bos_token") is told


@pytest.mark.parametrize("way", ["shared", "plain"])
@pytest.mark.parametrize(("adds", "told", "first"), [(True, None, BOS), (True, OTHER, OTHER), (False, OTHER, OTHER)])
def test_the_first_token_is_predicted_from_the_one_that_is_named(
    checkpoint: Callable[..., Path], way: Any, adds: bool, told: int | None, first: int
) -> None:
    model = loaded(checkpoint("llama", has_template=False, adds_bos=adds), prefix_token_id=told)
    model._scorer.way = way  # type: ignore[union-attr]
    special = [BOS] if adds else []
    assert score(model, "", "A red", "B") == [formula(model, [first], tokens_of(model, one)) for one in ("A red", "B")]
    question = tokens_of(model, TEXT)
    assert score(model, TEXT, " A") == [formula(model, [*special, *question], tokens_of(model, " A"))]
    assert score(model, "", TEXT, is_rolling=True) == [formula(model, [first], [*special, *question])]
    assert model.identity.get("prefix_token_id") == told


def test_another_tokenizer_may_be_named(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    make_tokenizer("red", adds_bos=True).save_pretrained(tmp_path / "other")
    folder = checkpoint("llama", has_template=False)
    own, other = loaded(folder), loaded(folder, tokenizer=str(tmp_path / "other"))
    assert tokens_of(other, TEXT) != tokens_of(own, TEXT)
    assert score(other, TEXT, " A") == [formula(other, [BOS, *tokens_of(other, TEXT)], tokens_of(other, " A"))]
    assert "tokenizer" not in own.identity
    assert other.identity["tokenizer"] not in ("", str(tmp_path / "other")), "it counts by its content"


@pytest.mark.parametrize(
    ("architecture", "options", "message"),
    [
        ("llama", {"prefix_token_id": 100_000}, "None has the number 100000"),
        ("llama", {"prefix_token_id": -1}, "at least 0"),
        ("llama", {"add_bos_token": "no"}, "must be true or false"),
        ("llama", {"tokenizer": "/no/such/folder"}, "Reading the tokenizer of '/no/such/folder'"),
        ("llava", {"add_bos_token": False}, "uses the tokenizer of its processor"),
        ("llava", {"tokenizer": "a/b"}, "uses the tokenizer of its processor"),
    ],
)
def test_what_a_tokenizer_cannot_do_is_refused(
    checkpoint: Callable[..., Path], architecture: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        HfModel(str(checkpoint(architecture)), **options)


def test_a_tokenizer_that_decides_by_itself_is_refused(
    checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    folder = checkpoint("llama", has_template=False)
    fixed = transformers.AutoTokenizer.from_pretrained(folder)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: fixed)
    with pytest.raises(PlanError, match="puts its first token before every text with any value of add_bos_token"):
        HfModel(str(folder), add_bos_token=False)
