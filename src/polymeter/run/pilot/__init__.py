"""Pilots: a few samples of a run are asked first, and what the rest will need is estimated from them.

``drawing`` chooses the samples, ``rendering`` makes the first requests of all others without sending them. The estimate
is made outside the run (``polymeter.analysis.cost``), which only stops or continues after it.
"""
