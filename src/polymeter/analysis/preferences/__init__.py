"""``pairwise``: which of two answers does a judge prefer? ``collecting`` takes pairs of answers from run folders,
``judging`` has them judged in a run of its own, ``standings`` turns the verdicts into win rates and scores.
"""
