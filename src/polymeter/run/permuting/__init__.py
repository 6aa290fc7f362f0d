"""Permuted choices (``--permute-choices K``): every multiple-choice question is asked with its choices in K orders, and
each is scored by the task's own scoring as if it were a run of its own.

Models prefer some places to others, whatever stands there (Zheng et al. 2023, arXiv:2309.03882), so that a score from
one order measures partly the order. ``task`` makes a task of any compiled one, and ``asking`` its requests; ``orders``
selects the orders, ``references`` finds choices that refer to places, ``chosen`` reads what was chosen, ``scoring`` and
``reducing`` make the results.
"""
