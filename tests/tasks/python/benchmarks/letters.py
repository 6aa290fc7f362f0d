"""Choices as text: the options get letters, and the answer names one."""

import polymeter

ROWS = [
    {"question": "Which is a fruit?", "options": ["stone", "pear", "river"], "answer": "B"},
    {"question": "Which is a metal?", "options": ["iron", "wool", "glass"], "answer": "iron"},
]


@polymeter.task(
    rows=ROWS, choices="options", choices_as="letters", reference="answer", generation={"max_new_tokens": 8}
)
def letters(row: polymeter.Row) -> str:
    """Everyday things."""
    return str(row["question"])
