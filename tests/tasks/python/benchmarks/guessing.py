"""Several rounds: the generator yields a prompt and is sent the answer."""

import polymeter


@polymeter.task(rows=[{"number": 3}, {"number": 8}], reference="number", scorers="exact_match")
def guessing(row: polymeter.Row) -> polymeter.Rounds:
    answer = yield "I think of a number from 1 to 9. Guess it. Answer with one digit."
    for _ in range(4):
        if answer.strip() == str(row["number"]):
            break
        hint = "higher" if answer.strip() < str(row["number"]) else "lower"
        answer = yield f"It is {hint}. Guess again."
    return answer
