"""Two ways of computing agree only where their numbers do: NaN agrees with nothing, equal infinities do."""

from __future__ import annotations

import math

import pytest

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.agreement import distributions_agree, scores_agree

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("ours", "theirs", "dtype", "agree"),
    [
        (-2.0, -2.0015, "torch.float32", True),
        (-2.0, -2.003, "torch.float32", False),
        (-2.0, -2.3, "torch.bfloat16", True),
        (-INF, -INF, "torch.float32", True),
        (-INF, -2.0, "torch.float16", False),
        (NAN, -2.0, "torch.float32", False),
        (-2.0, NAN, "torch.float16", False),
        (NAN, NAN, "torch.float32", False),
    ],
)
def test_scores(ours: float, theirs: float, dtype: str, agree: bool) -> None:
    given, expected = ([ChoiceLogprob(-1.0, False, 1), ChoiceLogprob(one, False, 2)] for one in (ours, theirs))
    assert scores_agree(given, expected, dtype, per_token=1e-3) is agree


@pytest.mark.parametrize(
    ("ours", "theirs", "agree"),
    [
        ([0.0, 1.0, 2.0], [5.0, 6.0, 7.0], True),
        ([0.0, 1.0, 2.0], [0.0, 1.0, 2.1], False),
        ([0.0, 1.0, -INF], [0.0, 1.0, -INF], True),
        ([0.0, 1.0, -INF], [0.0, 1.0, 2.0], False),
        ([NAN, NAN, NAN], [0.0, 1.0, 2.0], False),
        ([NAN, NAN, NAN], [NAN, NAN, NAN], False),
        ([0.0, 1.0, INF], [0.0, 1.0, 2.0], False),
    ],
)
def test_distributions(ours: list[float], theirs: list[float], agree: bool) -> None:
    import torch

    given, expected = torch.tensor([ours]), torch.tensor([theirs])
    assert distributions_agree(given, expected, torch.float32, on_average=1e-3) is agree
