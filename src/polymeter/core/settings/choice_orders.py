"""Orders of the choices of a question: the choices that a sample lists, and the functions of a format that ask about
them in another order.

An *order* names, for each place, the place that its choice has in the author's order: ``(1, 2, 0)`` shows the author's
second choice first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from polymeter.core.rows import RowFunctions
    from polymeter.core.task import Sample, Samples

Order = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListedChoices:
    """The choices of a sample, in the order in which its prompt lists them.

    Attributes:
        texts: The text of each, without its letter.
        fixed: Why they have this one order only, in a few words after "questions"; empty: they can have another.
    """

    texts: tuple[str, ...]
    fixed: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceOrders:
    """The functions of a task that ask a question with its choices in another order.

    Attributes:
        listed: Sample → its choices. Raises ScoreError or DataError if its answer is none of them.
        reordered: Sample and order → the same question in that order, with the answer that is right there; its
            ``order`` and ``original`` are set. Raises DataError if its prompt does not follow.
        row_functions: Samples → the functions of rows for these samples, for wrapped models.
        are_read_as_texts: Whether the part of an answer that metrics compare is the text of a choice, and never its
            letter.
    """

    listed: Callable[[Sample], ListedChoices]
    reordered: Callable[[Sample, Order], Sample]
    row_functions: Callable[[Samples], RowFunctions]
    are_read_as_texts: bool = False


def in_order(items: Sequence[T], order: Order) -> list[T]:
    """The items of the author's places, in an order; unchanged without one."""
    return [items[place] for place in order] if order else list(items)


def new_places(order: Order) -> dict[int, int]:
    """From the author's place of a choice to its place in an order."""
    return {place: number for number, place in enumerate(order)}
