"""What a judge's answer amounts to, as the dictionary that task code expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import refuse_verdict
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.protocol import Response


class Verdict(dict[str, Any]):
    """``{result | scores, raw_response, model, prompt, success}``.

    A verdict that could not be read is there, and using it is an error: a task with a prompt of its own may read
    ``raw_response`` itself, and a task that takes the verdict must not take a failure for a no: the sample has no score
    then, also where the task catches the error.
    """

    _key = ""
    _why: UnscoredError | None = None

    @classmethod
    def of(cls, key: str, response: Response, read: Callable[[str], Any], prompt: str) -> Verdict:
        """The verdict in a response.

        Args:
            key: Under which name it stands.
            response: The judge's answer.
            read: Reads the verdict out of the text; may raise ``UnscoredError``.
            prompt: What was asked.
        """
        made = cls(raw_response=response.content, model=response.model_used, prompt=prompt, success=response.success)
        value: Any = None
        if response.success:
            try:
                value = read(response.content)
            except UnscoredError as error:
                made._key, made._why = key, error
        else:
            made["error_message"] = response.error_message
        made[key] = value
        return made

    def __getitem__(self, key: str) -> Any:
        self._check(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._check(key)
        return super().get(key, default)

    def _check(self, key: str) -> None:
        if self._why is not None and key == self._key:
            refuse_verdict(str(self._why))
            raise self._why
