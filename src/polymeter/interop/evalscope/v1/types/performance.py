"""Times and token counts of an answer, and of all answers of a benchmark."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import BaseModel, computed_field


class PerformanceMetrics(BaseModel):
    """Times (seconds) and token counts of one answer.

    Attributes:
        latency: From the request to the end of the answer.
        ttft: From the request to the first token, where the answer was streamed.
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the answer.
    """

    latency: float = 0.0
    ttft: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tpot(self) -> float | None:
        """Seconds for each token after the first."""
        return calc_tpot(self.latency, self.ttft, self.output_tokens)


def calc_tpot(latency: float, ttft: float | None, output_tokens: int) -> float | None:
    """Return the seconds for each token after the first; ``None`` where they cannot be known."""
    if ttft is None or output_tokens <= 1 or latency < ttft:
        return None
    return (latency - ttft) / (output_tokens - 1)


@dataclass
class PerfSummary:
    """Statistics over all answers of a benchmark, by quantity."""

    n_samples: int
    latency: dict[str, Any]
    throughput: dict[str, Any]
    usage: dict[str, Any]
    ttft: dict[str, Any] | None = None
    tpot: dict[str, Any] | None = None

    @property
    def avg_latency(self) -> float:
        """Mean latency in seconds."""
        return float(self.latency.get("mean", 0.0))

    @property
    def avg_ttft(self) -> Any:
        """Mean time to the first token in seconds."""
        return (self.ttft or {}).get("mean")

    @property
    def avg_tpot(self) -> Any:
        """Mean seconds for each token after the first."""
        return (self.tpot or {}).get("mean")

    @property
    def avg_output_tps(self) -> Any:
        """Tokens of answers per second; ``-`` where unknown."""
        return self.throughput.get("avg_output_tps", "-")

    @property
    def avg_req_ps(self) -> Any:
        """Requests per second; ``-`` where unknown."""
        return self.throughput.get("avg_req_ps", "-")

    @property
    def avg_input_tokens(self) -> Any:
        """Mean tokens of a prompt; ``-`` where unknown."""
        return self.usage.get("input_tokens", {}).get("mean", "-")

    @property
    def avg_output_tokens(self) -> Any:
        """Mean tokens of an answer; ``-`` where unknown."""
        return self.usage.get("output_tokens", {}).get("mean", "-")

    def to_dict(self) -> dict[str, Any]:
        """All statistics; those of streamed answers only where there are any."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> PerfSummary:
        """Read what ``to_dict`` gave."""
        return cls(
            d.get("n_samples", 0),
            d.get("latency", {}),
            d.get("throughput", {}),
            d.get("usage", {}),
            d.get("ttft"),
            d.get("tpot"),
        )
