"""Benchmarks before they are run: listed, searched, fetched, tried, checked and documented."""
