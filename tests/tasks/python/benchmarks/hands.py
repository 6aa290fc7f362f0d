"""Choices by log-likelihood: which number is larger?"""

import polymeter

PAIRS = [(3, 7), (9, 2), (4, 5)]

hands = polymeter.PythonTask(
    "Which number is larger: {left} or {right}?",
    name="hands",
    rows=[{"left": left, "right": right, "larger": str(max(left, right))} for left, right in PAIRS],
    choices=lambda row: [str(row["left"]), str(row["right"])],
    reference="larger",
)
