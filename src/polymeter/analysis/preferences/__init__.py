"""``pairwise``: which of two answers does a judge prefer? ``collecting`` reads pairs of answers from run folders,
``judging`` lets a judge compare them in a separate run, and ``standings`` turns the verdicts into win rates and scores.
"""
