"""Repeats (``--repeats N``): every question of a task is asked N times, and each repeat is scored by the task's own
scoring as if it were a run of its own.

``task`` makes a task that does so of any compiled one; ``asking`` leads its rollouts, ``scoring`` its scores, and
``reducing`` its results. The names and formulas of the estimates are in ``core.records.attempts``.
"""
