"""Conformance with the installed originals: the same rows and the same answers in both tools, every number compared.

``python -m conformance SUITE --seed N`` runs one suite; ``make conformance`` makes the environments first. See
docs/conformance.md.
"""
