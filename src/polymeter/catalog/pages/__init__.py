"""Documentation pages of benchmarks. Writing them runs only the code of benchmarks that are named, to show a sample.

A listing reads facts of benchmarks with some of these modules, so importing the package imports none of them.
"""
