"""The colour of a value: one of five steps from the worst to the best end of its metric's axis.

Every page colours values with these steps (``.v0`` to ``.v4`` in ``base.css``), so a colour means the same everywhere.
"""

from __future__ import annotations

import math

from polymeter.report.scales import Scale

N_STEPS = 5


def value_step(value: float | None, scale: Scale | None, *, is_lower_better: bool | None) -> int | None:
    """Return the step of a value: 0 is the worst fifth of the axis, 4 the best.

    Args:
        value: The value.
        scale: The ends of its metric's axis; ``None``: they are not known.
        is_lower_better: The metric's direction; ``None``: neither is better.

    Returns:
        The step; ``None`` if a colour would say more than is known.
    """
    if value is None or scale is None or is_lower_better is None or math.isnan(value):
        return None
    share = scale.at(value)
    return min(int((1 - share if is_lower_better else share) * N_STEPS), N_STEPS - 1)
