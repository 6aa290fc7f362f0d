"""How fast a model of Transformers answers, compared with code written by hand for that model alone.

The alternatives are timed in turn, so that a busy moment of the machine affects all of them. A ratio is the median of
the ratios of the rounds.

Usage: ``python -m benchmarks.local_models [FILE]``. The file gets the raw numbers.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.book import Book
from benchmarks.local_by_hand import PROMPT, SIDE, ByHand, make_llava
from benchmarks.local_choices import whole_process

MIXED_TASK = """\
task: bench_mixed
dataset_path: json
dataset_kwargs:
  data_files:
    test: mixed.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{text}}"
doc_to_target: "{{answer}}"
generation_kwargs:
  max_new_tokens: 4
metric_list:
  - metric: exact_match
"""
N_CHOICES = 4
N_QUESTIONS = 8
N_WHOLE, N_PROCESSES = 200, 3
N_NEW_TOKENS = 16
N_MIXED = 32
N_MIXED_TOKENS = 160
WIDE = 50.0
ENDS = tuple(random.Random(0).sample(range(3, 10_000), 250))
"""With one token of forty that ends an answer, answers have lengths from 1 to ``N_MIXED_TOKENS``."""
N_ROUNDS = 15
_WORDS = ("red", "green", "blue", "yellow", "square", "circle", "star", "triangle", "left", "right", "one", "three")
_QUESTION = "What is in the picture? Answer directly. The colour of the square is red, green, blue or"
Question = tuple[str, Any, tuple[str, ...]]
BOOK = Book()


def main(file: Path | None = None) -> None:
    """Make the checkpoint, print one line for each figure, and write the raw numbers into a file."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers.utils import logging

    from polymeter.models.hf import HfModel

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    with tempfile.TemporaryDirectory(prefix="polymeter-bench-") as home:
        folder = make_llava(Path(home) / "llava")
        model, by_hand = HfModel(str(folder), device="cpu"), ByHand(folder)
        model.load()
        multiple_choice(model, by_hand)
        generation(model, by_hand)
        model.close()
        told, runs = whole_process(Path(home) / "processes", folder, questions(N_WHOLE), N_PROCESSES)
        BOOK.line(f"4 choices, {N_WHOLE} images, whole process", told, "at least 1.15 x by hand", runs)
        folder = make_llava(Path(home) / "wide", wide=WIDE)
        model, by_hand = HfModel(str(folder), device="cpu"), ByHand(folder)
        model.load()
        mixed_lengths(model, by_hand)
        model.close()
        padding(Path(home))
    if file is not None:
        BOOK.save(file)


def multiple_choice(model: Any, by_hand: ByHand) -> None:
    """Four choices over one image: one question at a time, and eight together."""
    asked = questions(N_QUESTIONS)
    text, picture, choices = asked[0]
    texts, pictures, all_choices = [PROMPT.format(q[0]) for q in asked], [q[1] for q in asked], [q[2] for q in asked]
    alone, given = in_turn(
        {
            "plain": lambda: [by_hand.one_forward_per_choice(PROMPT.format(text), picture, choices)],
            "hand": lambda: by_hand.shared_prefix([PROMPT.format(text)], [picture], [choices]),
            "ours": lambda: logprobs(model, asked[:1]),
        },
        N_ROUNDS,
    )
    show_choices("4 choices, a question at a time", alone, given, "at least 1.15 x by hand")
    batched, given = in_turn(
        {
            "plain": lambda: [
                by_hand.one_forward_per_choice(*one) for one in zip(texts, pictures, all_choices, strict=True)
            ],
            "hand": lambda: by_hand.shared_prefix(texts, pictures, all_choices),
            "ours": lambda: logprobs(model, asked),
        },
        N_ROUNDS // 2,
    )
    show_choices(f"4 choices, {N_QUESTIONS} questions together", batched, given, "at least 1.15 x by hand")


def generation(model: Any, by_hand: ByHand) -> None:
    """Sixteen tokens, eight requests together, compared with a hand-written loop."""
    asked = questions(N_QUESTIONS)
    texts, pictures = [PROMPT.format(text) for text, _, _ in asked], [picture for _, picture, _ in asked]
    seconds, given = in_turn(
        {
            "one": lambda: [answer for one in asked for answer in answers(model, [one])],
            "hand": lambda: by_hand.generate(texts, pictures, N_NEW_TOKENS),
            "ours": lambda: answers(model, asked),
        },
        N_ROUNDS // 2,
    )
    over, gain = 1 / ratio(seconds, "hand", "ours") - 1, ratio(seconds, "one", "ours")
    same = sum(one == other for one, other in zip(given["ours"], given["hand"], strict=True))
    BOOK.line(
        f"{N_NEW_TOKENS} tokens, batch {N_QUESTIONS}",
        f"{over:+.1%} over a loop by hand, {gain:.2f} x batch 1, same text {same} of {len(texts)}",
        "at most +5 %",
        seconds=seconds,
    )


def mixed_lengths(model: Any, by_hand: ByHand) -> None:
    """Answers of 1 to 160 tokens, eight rows at a time, compared with a hand-written loop over batches of eight."""
    asked = questions(N_MIXED)

    def static() -> list[str]:
        batches = [asked[start : start + N_QUESTIONS] for start in range(0, N_MIXED, N_QUESTIONS)]
        return [
            answer
            for batch in batches
            for answer in by_hand.generate(
                [PROMPT.format(text) for text, _, _ in batch],
                [picture for _, picture, _ in batch],
                N_MIXED_TOKENS,
                ENDS,
            )
        ]

    extra = {"eos_token_id": list(ENDS)}
    model.at_once = N_QUESTIONS
    seconds, given = in_turn(
        {"hand": static, "ours": lambda: answers(model, asked, N_MIXED_TOKENS, extra)}, N_ROUNDS // 3
    )
    alone = [answers(model, [one], N_MIXED_TOKENS, extra)[0] for one in asked]
    same = sum(one == other for one, other in zip(given["ours"], alone, strict=True))
    BOOK.line(
        f"{N_MIXED} answers of mixed lengths, batch {N_QUESTIONS}",
        f"{ratio(seconds, 'hand', 'ours'):.2f} x a loop by hand over whole batches, "
        f"same text as alone {same} of {N_MIXED}",
        "at least 1.2 x",
        seconds=seconds,
    )


def questions(n: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    """Question, image and four choices of a few tokens, each question different."""
    import numpy as np
    from PIL import Image

    generator = np.random.default_rng(0)
    made = []
    for _ in range(n):
        picture = Image.fromarray(generator.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8))
        choices = tuple(" " + " ".join(generator.choice(_WORDS, 2)) for _ in range(N_CHOICES))
        made.append((f"{_QUESTION} {generator.choice(_WORDS)}?", picture, choices))
    return made


def in_turn(ways: dict[str, Callable[[], Any]], n_rounds: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The seconds of each alternative in each round, after one uncounted round, and what each returned."""
    given = {name: way() for name, way in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(n_rounds):
        names = list(ways) if number % 2 == 0 else list(reversed(ways))
        for name in names:
            started = time.perf_counter()
            ways[name]()
            seconds[name].append(time.perf_counter() - started)
    return seconds, given


def ratio(seconds: dict[str, list[float]], slow: str, fast: str) -> float:
    """How many times faster one alternative is than another: the median over rounds."""
    return statistics.median(one / other for one, other in zip(seconds[slow], seconds[fast], strict=True))


def logprobs(model: Any, asked: Sequence[Question]) -> list[list[float]]:
    """The log-probabilities of ``model``, requested as the engine does."""
    from polymeter import Image, Loglikelihood, Message, Request, Text

    requests = [
        Request((Message("user", (Image(picture), Text(text))),), Loglikelihood(choices))
        for text, picture, choices in asked
    ]
    return [[one.logprob for one in response.outputs[0].logprobs] for response in model.respond(requests)]


def answers(
    model: Any, asked: Sequence[Question], n_tokens: int = N_NEW_TOKENS, extra: Mapping[str, Any] | None = None
) -> list[str]:
    """The texts of ``model``, requested as the engine does."""
    from polymeter import Generate, Image, Message, Request, Text

    ask = Generate(max_new_tokens=n_tokens, temperature=0, extra=extra or {})
    requests = [Request((Message("user", (Image(picture), Text(text))),), ask) for text, picture, _ in asked]
    return [response.text for response in model.respond(requests)]


def show_choices(what: str, seconds: dict[str, list[float]], given: dict[str, Any], budget: str) -> None:
    """Print one line about multiple choice."""
    pairs = zip(chain(*given["ours"]), chain(*given["plain"]), strict=True)
    apart = max(abs(one - other) for one, other in pairs)
    ours, hand = ratio(seconds, "plain", "ours"), ratio(seconds, "plain", "hand")
    over_hand = ratio(seconds, "hand", "ours")
    BOOK.line(
        what,
        f"{over_hand:.2f} x by hand, {ours:.2f} x one forward per choice (by hand {hand:.2f}); "
        f"{1000 * statistics.median(seconds['ours']):.0f} ms; log-probs within {apart:.0e}",
        f"{budget}, 1e-4",
        seconds=seconds,
    )


def mixed_task(folder: Path, n_docs: int) -> Path:
    """A folder with a task of questions of 1 to 150 words, their lengths spread evenly on a logarithmic scale."""
    generator, words = random.Random(0), _QUESTION.split()
    folder.mkdir()
    with (folder / "mixed.jsonl").open("w") as file:
        for _ in range(n_docs):
            text = " ".join((words * 10)[: round(150 ** generator.random())])
            file.write(json.dumps({"text": text, "answer": "none"}) + "\n")
    (folder / "bench_mixed.yaml").write_text(MIXED_TASK)
    return folder


def padding(home: Path, *, n_docs: int = 400, batch_size: int = 8) -> None:
    """Padding in the batches that the engine forms from questions of 1 to 150 words."""
    import polymeter
    from polymeter.models.hf import HfModel
    from tests.helpers.checkpoints import make_checkpoint

    class Counting(HfModel):
        """Counts the tokens of every batch, with and without padding."""

        n_computed = n_needed = 0

        def respond(self, requests: list[Any]) -> list[Any]:
            batch = self._encoder.encode(requests)
            self.n_computed += batch.inputs["input_ids"].numel()
            self.n_needed += sum(batch.n_tokens)
            return super().respond(requests)

    model = Counting(str(make_checkpoint("llama", home / "tiny")), device="cpu")
    started = time.perf_counter()
    run = polymeter.evaluate(
        model, [str(mixed_task(home / "mixed", n_docs) / "bench_mixed.yaml")], batch_size=batch_size,
        output=home / "run",
    )  # fmt: skip
    BOOK.line(
        f"padding, {n_docs} mixed prompts, batch {batch_size}",
        f"{model.n_computed / model.n_needed - 1:.1%} more tokens than needed ({run.n_failed} failed, "
        f"{time.perf_counter() - started:.1f} s)",
        "at most 10 %",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else None)
