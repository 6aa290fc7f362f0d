"""Ten kinds of tasks, and an endpoint that counts the tokens and the money of each request itself: what estimates of
costs are held against.

The endpoint's counts differ from Polymeter's: it makes more tokens of a word, rounds, adds its own template, and
charges a sixth more or less for an image. ``python -m tests.helpers.cost_kinds SEED…`` prints a table.
"""

from __future__ import annotations

import base64
import io
import math
import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image as pil

import polymeter
from polymeter.judge import LLMJudge
from polymeter.prices.tokens.images import image_tokens_of
from polymeter.tasks.python.writing.records import PythonTask
from tests.helpers.openai_stub import OpenAIStub, Received

MODEL, JUDGE = "gpt-4o", "judge-m"
PRICES: Mapping[str, tuple[float, float]] = {MODEL: (2.5, 10.0), JUDGE: (1.0, 4.0)}
"""Money for a million tokens, in and out."""
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "seven", "green", "birds", "sing")
LIMIT = 1024
_PREFLIGHT = 16
_RULE = image_tokens_of(MODEL)
Lengths = Callable[[random.Random], float]


@dataclass(frozen=True)
class Kind:
    """A kind of task.

    Attributes:
        task: Makes it, of rows.
        lengths: Draws the length of an answer in tokens.
        is_judged: Whether its scorer asks a judge.
    """

    task: Callable[[list[dict[str, Any]]], PythonTask]
    lengths: Lengths
    is_judged: bool = False


class MeteredEndpoint:
    """Answers in words, and adds up what it charges.

    Args:
        lengths: Draws the length of an answer.
        seed: Of the answers.
    """

    def __init__(self, lengths: Lengths, seed: int) -> None:
        self.charged = 0.0
        self.n_requests = 0
        self._lengths = lengths
        self._seed = seed
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> dict[str, Any]:
        if received.path.endswith("/models"):
            return {"object": "list", "data": [{"id": name} for name in PRICES]}
        body = received.body
        tokens, text = _count(body["messages"])
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or LIMIT
        drawn = random.Random(f"{self._seed}:{text}:{body.get('seed')}")
        if body["model"] == JUDGE:
            answer = f"{_words(drawn, drawn.randint(5, 60))} [[{drawn.randint(0, 10) / 10}]]"
            n = len(answer.split())
        else:
            n = math.ceil(max(1.0, min(self._lengths(drawn), limit)))
            answer = _words(drawn, n)
        price, price_out = PRICES[body["model"]]
        with self._lock:
            if limit > _PREFLIGHT:  # the question whether the endpoint is there is no part of an estimate
                self.charged += (tokens * price + n * price_out) / 1e6
                self.n_requests += 1
        return {
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": n},
        }


def _count(messages: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    tokens, texts = 7.0, []
    for message in messages:
        tokens += 5
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                texts.append(part["text"])
                tokens += 1.3 * len(re.findall(r"\w+|[^\w\s]", part["text"]))
            else:
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                tokens += 1.15 * _RULE(*pil.open(io.BytesIO(data)).size, "").expected if _RULE else 0
    return math.ceil(tokens), "\n".join(texts)


def _words(source: random.Random, n: int) -> str:
    return " ".join(source.choice(WORDS) for _ in range(n))


def _log_normal(median: float, sigma: float) -> Lengths:
    return lambda source: source.lognormvariate(math.log(median), sigma)


def _short(source: random.Random) -> float:
    return source.randint(3, 40)


def rows_of(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows with questions of very different lengths."""
    source = random.Random(f"rows:{seed}")
    return [
        {
            "number": number,
            "question": f"{number}: {_words(source, min(int(source.lognormvariate(3.2, 0.7)) + 3, 400))}",
            "answer": "the fox",
            "options": [_words(source, source.randint(1, 6)) for _ in range(4)],
            "size": (source.randint(200, 1800), source.randint(200, 1400)),
            "n_frames": source.randint(2, 8),
            "n_rounds": source.randint(1, 5),
        }
        for number in range(n)
    ]


def _plain(name: str, prompt: Any, rows: list[dict[str, Any]], **settings: Any) -> PythonTask:
    settings = {"scorers": "exact_match", "generation": {"max_new_tokens": LIMIT}, "reference": "answer", **settings}
    return PythonTask(prompt, name=name, rows=rows, **settings)


def _image(row: Mapping[str, Any]) -> Any:
    shade = row["number"] % 200
    return [pil.new("RGB", row["size"], (shade, 90, 20)), row["question"]]


def _frames(row: Mapping[str, Any]) -> Any:
    frames = [pil.new("RGB", (320, 240), (row["number"] % 250, place, 0)) for place in range(row["n_frames"])]
    return [polymeter.Video(frames), row["question"]]


def _rounds(row: Mapping[str, Any]) -> Iterator[Any]:
    answer = yield row["question"]
    said = [{"role": "user", "content": row["question"]}]
    for _ in range(row["n_rounds"] - 1):
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Are you sure? Answer again."}]
        answer = yield [*said]
    return answer


def _few_shot(row: Mapping[str, Any]) -> Any:
    source = random.Random(f"shots:{row['number']}")
    shots = [f"Q: {_words(source, source.randint(20, 60))}\nA: {_words(source, 3)}" for _ in range(5)]
    return "\n\n".join([*shots, f"Q: {row['question']}\nA:"])


def _tool_text(row: Mapping[str, Any]) -> Any:
    calls = ", ".join(f'{{"name": "look_{place}", "arguments": {{"x": {place}}}}}' for place in range(row["n_frames"]))
    return f"<tools>[{calls}]</tools>\n{row['question']}"


def judged(answer: str, reference: str) -> float:
    """Ask the judge for a number."""
    judge = LLMJudge(score_type="numeric", score_range=(0, 1))
    return float(judge.get_score(judge(judge.build_prompt(answer, reference))))


KINDS: Mapping[str, Kind] = {
    "short": Kind(lambda rows: _plain("short", "{question}", rows), _short),
    "judged": Kind(
        lambda rows: _plain("judged", "{question}", rows, scorers=judged), _log_normal(60, 0.5), is_judged=True
    ),
    "rounds": Kind(lambda rows: _plain("rounds", _rounds, rows), _short),
    "repeats": Kind(lambda rows: _plain("repeats", "{question}", rows, repeats=4), _log_normal(80, 0.5)),
    "images": Kind(lambda rows: _plain("images", _image, rows), _short),
    "few_shot": Kind(lambda rows: _plain("few_shot", _few_shot, rows), _short),
    "choices": Kind(
        lambda rows: _plain(
            "choices",
            "{question}",
            rows,
            choices="options",
            choices_as="letters",
            reference=lambda row: 0,
            scorers="acc",
        ),
        lambda source: 1,
    ),
    "long": Kind(lambda rows: _plain("long", "{question}", rows), _log_normal(400, 0.4)),
    "heavy_tail": Kind(
        lambda rows: _plain("heavy_tail", _few_shot, rows, generation={"max_new_tokens": 512}), _log_normal(60, 0.9)
    ),
    "frames": Kind(lambda rows: _plain("frames", _frames, rows), _short),
    "tool_text": Kind(
        lambda rows: _plain("tool_text", _tool_text, rows, system=" ".join([*WORDS] * 11)), _log_normal(50, 0.6)
    ),
}


@dataclass(frozen=True)
class Outcome:
    """An estimate and what the run came to.

    Attributes:
        kind: The kind of task.
        low: The lower end of the cost.
        expected: The expected cost.
        high: The upper end.
        charged: What the endpoint charged for the whole run.
    """

    kind: str
    low: float
    expected: float
    high: float
    charged: float

    @property
    def holds(self) -> bool:
        """True if the range holds the sum."""
        return self.low * (1 - 1e-9) <= self.charged <= self.high * (1 + 1e-9)

    @property
    def ratio(self) -> float:
        """The upper end divided by the lower end."""
        return self.high / self.low


def estimate_and_run(name: str, seed: int, folder: Path, *, n: int = 200, pilot: int = 20) -> Outcome:
    """Estimate a kind of task from a pilot, then run it to its end."""
    kind = KINDS[name]
    endpoint = MeteredEndpoint(kind.lengths, seed)
    with OpenAIStub(endpoint) as stub:
        settings: dict[str, Any] = {
            "model_args": {"base_url": stub.base_url},
            "roles": {"judge": polymeter.ModelSpec("openai", JUDGE, {"base_url": stub.base_url})}
            if kind.is_judged
            else {},
            "output": folder / name,
            "seed": seed,
            "price": {f"*{model}": f"{price}/{price_out}" for model, (price, price_out) in PRICES.items()},
        }
        task = kind.task(rows_of(n, seed))
        estimate = polymeter.estimate_cost(f"openai:{MODEL}", [task], pilot=pilot, **settings)
        result = polymeter.evaluate(f"openai:{MODEL}", [task], **settings)
        assert result.is_complete, result.reason
    span = estimate.total["total_cost"]
    assert span.low is not None
    assert span.expected is not None
    assert span.high is not None
    return Outcome(name, span.low, span.expected, span.high, endpoint.charged)


def main(seeds: Sequence[int]) -> None:
    """Print a table of all kinds for some seeds."""
    for seed in seeds:
        n_held = n_narrow = 0
        for name in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                one = estimate_and_run(name, seed, Path(folder))
            n_held += one.holds
            n_narrow += one.ratio <= 2
            print(
                f"{seed} {name:<10} {one.low:.5f} {one.expected:.5f} {one.high:.5f} charged {one.charged:.5f} "
                f"ratio {one.ratio:.2f} {'held' if one.holds else 'MISSED'}{'' if one.ratio <= 2 else ' WIDE'}",
                flush=True,
            )
        print(f"seed {seed}: {n_held} of {len(KINDS)} held, {n_narrow} within a factor of two", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [0])
