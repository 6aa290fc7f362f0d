"""Reuse of answers that other runs hold (``--reuse``).

An answer is reused if it is proven that the same was sent to the same model. ``keys`` defines what counts as the same,
``sources`` opens the runs, ``index`` finds answers in them, and ``lookup`` decides about each request. A request
without such proof is sent, and counted with the reason. The origin stands in each reused answer
(``polymeter.store.reading.reused``).
"""
