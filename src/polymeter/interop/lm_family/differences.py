"""Differences that both systems declare in the same words."""

from polymeter.core.names.parity import Difference


def written_values(switch: str) -> Difference:
    """Return the difference in what a row holds in a task without code.

    Args:
        switch: The system's switch.
    """
    return Difference(
        rule="values of rows, in a task without code",
        there="as pandas reads them: `5.0` for 5 beside 2.5, `None` for null; empty options count",
        here="[as written](reading.md#values-stay-as-written); empty options are left out",
        why="right answers scored 0",
        switch=switch,
    )
