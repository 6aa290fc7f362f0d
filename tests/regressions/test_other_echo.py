"""Log-probabilities of another text than was sent are no score: the run is refused, or the sample is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.openai_stub import OpenAIStub, Received
from tests.regressions.endpoints import Ended, run, task_folder

N = 4
QUESTIONS = [f"question number {number}" for number in range(N)]


def echoed(prompt: str) -> dict[str, Any]:
    """A completion that repeats a prompt, a token for each character; the first choice is the likelier one."""
    tokens = [*prompt, "!"]
    likely = -1.0 if prompt.endswith("A") else -2.0
    said = {
        "tokens": tokens,
        "token_logprobs": [None, *[likely] * (len(tokens) - 1)],
        "top_logprobs": None,
        "text_offset": [*range(len(tokens))],
    }
    return {"choices": [{"index": 0, "text": prompt, "logprobs": said}], "usage": {"completion_tokens": 1}}


def ask(tmp_path: Path, changed: Callable[[str], str]) -> Ended:
    def respond(received: Received) -> Any:
        body = received.body
        return echoed(changed(body["prompt"])) if body.get("echo") else {"choices": [{"index": 0, "text": "pong"}]}

    tasks = task_folder(tmp_path / "tasks", QUESTIONS, choices=True)
    with OpenAIStub(respond) as stub:
        at = ("--base-url", stub.base_url, "--model-args", "api=completions")
        return run("openai:m", tasks, tmp_path / "run", *at)


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text[-8:],
        lambda text: f"[INST] {text} [/INST]",
        lambda text: f"Be kind. {text}",
        lambda text: f"<|system|>Be kind.<|user|>{text}",
        str.upper,
    ],
    ids=["cut", "template", "prompt of its own", "prompt between tokens", "normalised"],
)
def test_an_endpoint_that_repeats_another_text_is_refused(tmp_path: Path, changed: Callable[[str], str]) -> None:
    ended = ask(tmp_path, changed)
    assert ended.code == 2, ended.said
    assert "its echo is another text than was sent" in ended.said
    assert not (tmp_path / "run" / "results.json").exists()


def test_one_that_repeats_one_text_otherwise_fails_that_sample(tmp_path: Path) -> None:
    ended = ask(tmp_path, lambda text: text[-8:] if "number 3" in text else text)
    assert ended.code == 1, ended.said
    assert ended.task["statuses"] == {"ok": N - 1, "error": 1}
    assert "its echo is another text than was sent" in str(ended.rows[QUESTIONS[3]]["error"])


@pytest.mark.control
@pytest.mark.parametrize(
    "first",
    [
        "<｜begin▁of▁sentence｜>",
        "<|begin_of_text|>",
        "<s>",
        "[CLS]",
        "<bos>",
        "<|im_start|>",
        "[gMASK]<sop>",
        "<s>▁",
        "",
    ],
)
def test_a_special_token_may_come_before_it(tmp_path: Path, first: str) -> None:
    ended = ask(tmp_path, lambda text: first + text.replace(" ", "▁"))
    assert ended.code == 0, ended.said
    assert ended.task["results"][0]["value"] == 1.0


@pytest.mark.control
def test_one_that_repeats_what_was_sent_is_scored(tmp_path: Path) -> None:
    ended = ask(tmp_path, lambda text: text)
    assert ended.code == 0, ended.said
    assert ended.task["results"][0]["value"] == 1.0
