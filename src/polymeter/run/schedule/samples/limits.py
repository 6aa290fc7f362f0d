"""The user's limits of one sample: tokens and seconds of work. A sample that reaches one has no score.

They are not the limits of a benchmark's protocol, which are ordinary ends. What a sample has used is counted from its
answers, so a run that is resumed, or scored again, ends the same samples: seconds are those in which models and tools
worked, without waiting for a rate limit or a place.
"""

from __future__ import annotations

from dataclasses import dataclass

from polymeter.core.request import Error
from polymeter.run.schedule.running_samples import MODEL_ROLE, PendingRequest, RunningSample


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """The limits, looked at before a sample asks for anything more.

    Attributes:
        tokens: The most tokens that its requests and answers may have; ``None``: any number.
        seconds: The most seconds of work; ``None``: any number.
    """

    tokens: int | None = None
    seconds: float | None = None

    def count(self, running: RunningSample, asked: PendingRequest) -> None:
        """Count what an answer has used."""
        response = asked.response
        if response is None:
            return
        running.work_ms += response.latency_ms or 0.0
        if asked.role != MODEL_ROLE or response.is_joined:
            return
        for output in response.outputs:
            usage = output.usage
            if usage is None or usage.input_tokens is None or usage.output_tokens is None:
                running.tokens = None
            elif running.tokens is not None:
                running.tokens += usage.input_tokens + usage.output_tokens

    def reached(self, running: RunningSample) -> Error | None:
        """The reason why a sample ends here; ``None``: it continues. Unknown tokens reach no limit."""
        if self.tokens is not None and running.tokens is not None and running.tokens >= self.tokens:
            return _over(f"{running.tokens:,} tokens", f"--sample-tokens {self.tokens}")
        if self.seconds is not None and running.work_ms >= self.seconds * 1000:
            return _over(f"{running.work_ms / 1000:.1f} seconds of work", f"--sample-seconds {self.seconds:g}")
        return None


UNLIMITED = SampleLimits()


def _over(used: str, option: str) -> Error:
    return Error("score", f"The sample was ended after {used}, by {option}. It has no score.")
