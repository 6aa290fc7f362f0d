"""A context's continuations have the tokens that tokenising each whole text would give."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from polymeter.models.hf.scoring.joint_tokens import JointTokens

WORDS = ("the", "red", "square", "isn't", "left.", "12", "naïve", "a,b", "(so)", "answer:", "日本", "x" * 9)
GAPS = (" ", " ", " ", " ", "\n", "  ", "\n\n", "\t")


class Counting:
    """A tokenizer that counts the characters it is given."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.backend_tokenizer = getattr(tokenizer, "backend_tokenizer", None)
        self.n_characters = 0

    def __call__(self, texts: list[str], **options: Any) -> Any:
        self.n_characters += sum(map(len, texts))
        return self._tokenizer(texts, **options)


def fast(pre_tokenizer: Any, model: str = "bpe") -> Any:
    from tokenizers import Tokenizer, models, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE(unk_token="?") if model == "bpe" else models.Unigram())
    inner.pre_tokenizer = pre_tokenizer
    corpus = [" ".join(WORDS) * 4, " ".join(reversed(WORDS))]
    trainer: Any = (
        trainers.BpeTrainer(vocab_size=120, special_tokens=["?"], show_progress=False)
        if model == "bpe"
        else trainers.UnigramTrainer(vocab_size=120, special_tokens=["?"], show_progress=False, unk_token="?")
    )
    inner.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?")


def tokenizer_of(kind: str) -> Any:
    from tokenizers import pre_tokenizers as before

    return {
        "byte level": lambda: fast(before.ByteLevel(add_prefix_space=False)),
        "byte level, space in front": lambda: fast(before.ByteLevel(add_prefix_space=True)),
        "words": lambda: fast(before.Whitespace()),
        "metaspace": lambda: fast(before.Metaspace()),
        "metaspace, not split": lambda: fast(before.Metaspace(split=False)),
        "nothing": lambda: fast(None),
        "unigram": lambda: fast(before.Metaspace(), "unigram"),
    }[kind]()


KINDS = (
    "byte level", "byte level, space in front", "words", "metaspace", "metaspace, not split", "nothing", "unigram"
)  # fmt: skip


def drawn(generator: random.Random, n_words: int) -> str:
    return "".join(generator.choice(WORDS) + generator.choice(GAPS) for _ in range(n_words))


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_whole_texts(kind: str) -> None:
    generator, tokenizer = random.Random(kind), tokenizer_of(kind)
    for n_words in (1, 20, 90, 200, 201, 202, 203):
        text = drawn(generator, n_words)
        longer = [text.rstrip(), *(text + drawn(generator, 2) for _ in range(3)), text + "e", text + " A"]
        whole = [tokenizer(one, add_special_tokens=False)["input_ids"] for one in [text, *longer]]
        assert JointTokens(tokenizer)(text, whole[0], longer) == whole[1:]


@pytest.mark.parametrize(
    ("kind", "is_cut"), [("byte level", True), ("metaspace, not split", False), ("nothing", False)]
)
def test_only_the_end_is_tokenised_where_no_token_crosses_a_space(kind: str, is_cut: bool) -> None:
    counting = Counting(tokenizer_of(kind))
    text = "the red square " * 100
    encoded = counting([text], add_special_tokens=False)["input_ids"][0]
    counting.n_characters = 0
    JointTokens(counting)(text, encoded, [text + "a", text + "b"])
    assert (counting.n_characters < len(text)) is is_cut


def test_a_checkpoint_is_scored_with_the_tokens_of_its_inputs(model: Callable[..., Any]) -> None:
    from tests.models.hf.test_loglikelihood import request

    made = model("llama", has_template=False)
    asked = request(" A", " square", text="the red square is left of a circle " * 8)
    batch = made._encoder.encode([asked])
    assert batch.own_ids == (made._encoder.token_ids(batch.texts[0]),)
