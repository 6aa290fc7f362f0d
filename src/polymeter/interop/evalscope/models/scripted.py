"""``mock_llm`` of EvalScope 1.x: a stand-in for a model that says given answers in the order of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.identity import fingerprint
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch

_USUAL = "Default output from mockllm/model"


class ScriptedOutputs(MockBatch):
    """Says the answer at the place of the sample that it is asked about, or always the same one. Within a sample, the
    next question gets the next answer. So the order in which requests arrive changes nothing, nor does a resume.

    Args:
        outputs: The answers: texts, or objects with a ``completion``; ``None``: EvalScope's usual text.

    Raises:
        ModelError: for a question that has no answer.
    """

    def __init__(self, outputs: Sequence[Any] | None) -> None:
        self._texts = None if outputs is None else [_text(one) for one in outputs]
        super().__init__(self._say, identity={"backend": "mock_llm", "outputs": fingerprint(self._texts or [])})

    def _say(self, request: Request) -> str:
        if self._texts is None:
            return _USUAL
        index = 0 if request.origin is None else request.origin.index
        place = index + sum(message.role == "assistant" for message in request.messages)
        if place >= len(self._texts):
            raise ModelError(
                f"custom_outputs has {len(self._texts)} answers and none for question {place + 1}.",
                hint="Give as many answers as there are questions, or none for a constant one.",
            )
        return self._texts[place]


def _text(output: Any) -> str:
    if isinstance(output, dict):
        choices = output.get("choices") or [{}]
        return str((choices[0].get("message") or {}).get("content") or "")
    return output if isinstance(output, str) else str(output.completion)
