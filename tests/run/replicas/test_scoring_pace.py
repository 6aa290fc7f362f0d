"""From when on scoring is spread over other processes."""

from __future__ import annotations

import pytest

from polymeter.run.dispatch.replicas.scoring_pace import PaceLimits, ScoringPace

LIMITS = PaceLimits(n_samples=4, sample_s=0.02, share=0.5, left_s=5.0)


def is_slow(*, n_scored: int, score_s: float, pause_s: float, n_samples: int) -> bool:
    """Whether a task is slow of which so many samples were scored, with a pause before each but the first."""
    now = 0.0
    pace = ScoringPace(LIMITS, lambda: now)
    for number in range(n_scored):
        now += score_s + (pause_s if number else 0.0)
        pace.learn(score_s)
    return pace.is_slow(n_samples)


@pytest.mark.parametrize(
    ("n_scored", "score_s", "pause_s", "n_samples", "expected"),
    [
        pytest.param(4, 0.1, 0.01, 100, True, id="slow"),
        pytest.param(3, 0.1, 0.01, 100, False, id="too few to know"),
        pytest.param(50, 0.019, 0.0, 10_000, False, id="quicker than carrying it"),
        pytest.param(10, 0.1, 0.3, 100, False, id="the model is slower"),
        pytest.param(10, 0.1, 0.01, 50, False, id="nearly done"),
        pytest.param(0, 0.0, 0.0, 100, False, id="nothing is known"),
    ],
)
def test_only_what_holds_up_the_run_is_slow(
    n_scored: int, score_s: float, pause_s: float, n_samples: int, expected: bool
) -> None:
    slow = is_slow(n_scored=n_scored, score_s=score_s, pause_s=pause_s, n_samples=n_samples)
    assert slow is expected
