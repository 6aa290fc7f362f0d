"""Executors: replicas of a model on this machine, or on many, when one process is not enough.

``leases`` decides which replica computes which requests, over a clock that a test can turn. ``hosts`` states what a
place that holds replicas must do; ``processes`` and ``ray`` are such places. ``replica`` runs there.
"""
