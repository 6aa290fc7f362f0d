"""Differences that both systems declare in the same words."""

from polymeter.core.names.parity import Difference


def written_rows(switch: str) -> tuple[Difference, ...]:
    """What a row and its options hold in a task without code.

    Args:
        switch: The system's switch.
    """
    return (
        Difference(
            rule="values of rows, in a task without code",
            there="what Arrow and pandas make of a column: a date for `1969-07-20`, `5.0` for 5 beside 2.5, 7 for the text `007` beside a number, `True` for `true` in a CSV, `None` for its empty cells, for `NA` and for a null",
            here="what is written in the file, and nothing for an empty cell or a null, see [reading.md](reading.md#values-stay-as-written); code gets what the library gives",
            why="an answer that is what the file says scored 0",
            switch=switch,
        ),
        Difference(
            rule="an empty option (null, an empty text or white space) of multiple choice, in a task without code",
            there="an option like any other: an empty text, white space, or `None`",
            here="no option; the others keep their letters and numbers",
            why="nobody offers nothing, and a model could choose it",
            switch=switch,
        ),
    )
