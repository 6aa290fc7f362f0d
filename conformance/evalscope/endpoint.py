"""A scripted endpoint on this machine: the judge, and the scripted models for runs that ask an endpoint."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from conformance.endpoint import ChatHandler, serving
from conformance.evalscope.answers import MODELS
from conformance.evalscope.stand_ins import MARK, Script

JUDGES = ("judge", "judge-that-rambles", "judge-of-numbers")

# What the prompt of a benchmark contains, and what the judge says to it.
_FORMS: Sequence[tuple[str, Sequence[str]]] = (
    ("model_identifier", ("m", "M", "M\n", " m", "The best one is M", "M")),
    ("[[A>>B]]", ("[[A>>B]]", "[[A>B]]", "Both are fine. [[A=B]]", "My final verdict is: [[B>A]]", "[[B>>A]]", "A")),
    ("[[score]]", ("[[10]]", "[[7]]", "Score: [[3]]", "[[1]]", "[[5]] because of the reference", "[[8]]")),
    ("YES", ("YES", "NO", "YES.", "NO", "The answer is NO", "no")),
    ('"A", "B", or "C"', ("A", "B", "C", "A", "B\n", "C")),
    ("【未尝试】", ("A", "B", "C", "A", "B\n", "C")),
)
# What the judge says to a prompt that is no benchmark's own.
_DEFAULTS = {
    "judge": ("A", "B", "A\n", "B", " A", "B", "B.", "**A**"),
    "judge-that-rambles": ("Based on both answers: B", "Both are fine.", "Grade: B", "I would say B", "correct", "A"),
    "judge-of-numbers": ("[[1]]", "Rating: [[0.5]]", "Fine. [[0.25]]", "[[0]]", "Rating: [[0.75]]\n"),
}


@contextmanager
def serve(script: Script) -> Iterator[str]:
    """The endpoint's address, as long as it is needed.

    Args:
        script: What the scripted models say.
    """

    with serving(_Handler, said=script) as address:
        yield address


def verdict(judge: str, prompt: str, script: Script) -> str:
    """What a judge says to all text of a request: by the whole text where it is the benchmark's own; otherwise by
    question and answer, because the two tools word the question differently.
    """
    for hint, said in _FORMS:
        if hint in prompt:
            return said[zlib.crc32(prompt.encode()) % len(said)]
    marks = MARK.findall(prompt)
    contained = [model for model in MODELS if str(script.said(marks[-1], model)) in prompt] if marks else []
    said = _DEFAULTS[judge]
    return said[zlib.crc32(repr((marks[-1:], contained)).encode()) % len(said)]


class _Handler(ChatHandler):
    models = (*MODELS, *JUDGES)
    said: Script

    def do_POST(self) -> None:
        asked = json.loads(self.read_body())
        model = asked["model"]
        if model in MODELS:
            text = self.said.answer(model, {"messages": asked["messages"]})
        else:
            text = verdict(model, "\n".join(_text(message["content"]) for message in asked["messages"]), self.said)
        self.send_text(text, model, asked.get("n") or 1)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
