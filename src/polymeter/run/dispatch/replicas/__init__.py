"""Executors: where a model on this machine, or on many, is computed when one process is not enough.

``leases`` decides which replica computes what, over a clock that a test can turn. ``hosts`` says what a place must do
that holds replicas; ``processes`` is one of them, other places follow. ``replica`` is what runs there.
"""
