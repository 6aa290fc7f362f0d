"""Estimates of a run before it is paid: requests, tokens, money and time, each with a range.

``prompts`` measures the first requests, which are made and not sent; ``observing`` reads what samples have used, in a
pilot or in earlier runs (``earlier``); ``estimating`` brings both together, ``estimate`` is the outcome.
"""
