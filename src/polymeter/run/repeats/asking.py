"""Requests of repeats: the first repeat makes those of a run without repeats, and the seeds of the others are derived
from theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from polymeter.core.identity import seed_for
from polymeter.core.request import Loglikelihood, Request
from polymeter.core.task import RolloutSteps, Sample
from polymeter.run.variants.asking import ask_variants

_PURPOSE = "repeat"


def ask_repeats(rollout: Callable[[Sample], RolloutSteps], n: int, sample: Sample) -> RolloutSteps:
    """Lead the rollouts of all repeats of a sample; returns the list of them.

    Args:
        rollout: The task's own.
        n: The number of repeats.
        sample: The sample. The first repeat has its row itself, the others copies: hooks may change a row.
    """
    copies = [replace(sample, doc=copy.deepcopy(sample.doc)) for _ in range(n - 1)]
    return ask_variants(rollout, [sample, *copies], _of_repeat)


def _of_repeat(request: Request, number: int, n_together: int) -> Request:
    """Return a request as a repeat makes it: with a seed of its own, and the next number."""
    parameters = request.parameters
    if number == 0 or isinstance(parameters, Loglikelihood):
        return request
    seed = None if parameters.seed is None else seed_for(parameters.seed, _PURPOSE, number)
    if seed is None:
        numbered = replace(parameters, repeat=number * n_together + parameters.repeat)
    else:
        numbered = parameters.repeated(seed, number * n_together + parameters.repeat)
    return Request(request.messages, numbered, request.origin)
