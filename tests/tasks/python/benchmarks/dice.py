"""Repeats: the mean over five answers, and whether one of two is right."""

import polymeter

ROWS = [{"sides": 6}, {"sides": 4}]


@polymeter.scorer(name="valid")
def on_a_side(answer: str, row: polymeter.Row) -> bool:
    return answer.isdigit() and 1 <= int(answer) <= row["sides"]


@polymeter.task(
    rows=ROWS, scorers=on_a_side, repeats=5, over_repeats=["mean", "pass@2"], generation={"temperature": 1.0}
)
def dice(row: polymeter.Row) -> str:
    return f"Throw a die with {row['sides']} sides. Answer with the number."
