"""Variants of a question that are asked together and scored each by the task's own scoring: its repeats, or the orders
of its choices.

``asking`` leads their rollouts, ``scoring`` joins their scores to that of one sample, and ``reducing`` reduces each
variant of all samples like a run of its own. The packages ``repeats`` and ``permuting`` say what a variant is.
"""
