"""The choice of rows that are shown as examples before a question.

Every task draws from one stream of random numbers, one question after the other, as lm-eval does; so the examples of a
question depend on its position, and neither on other tasks nor on the number of questions. A sampler may be a class of
the task's code, derived from ``ContextSampler``.
"""

from __future__ import annotations

import random
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from polymeter.core.errors import PlanError, boundary
from polymeter.data import Rows

Doc = Mapping[str, Any]
DEFAULT, FIRST_N = "default", "first_n"
NAMES = (DEFAULT, FIRST_N)
_BLOCK = 256
"""Rows that are read together."""
_MOST_BLOCKS = 256
"""Blocks that are held, so that few-shot rows take the same memory however many there are."""


class ContextSampler:
    """The base of samplers in task code, with the constructor and the methods that their authors know: rows are drawn
    at random, anew for every question.

    Attributes:
        rnd: Its generator.
        df: The rows to draw from.
        fewshot_indices: The numbers of the rows to draw from; ``None``: all.
    """

    def __init__(
        self, df: Sequence[Any] | None = None, *, rnd: Any = None, fewshot_indices: Any = None, **kwargs: Any
    ) -> None:
        self.rnd = random.Random(rnd)
        self.df: Sequence[Any] = df or []
        self.fewshot_indices = fewshot_indices
        self._is_reduced = False

    def sample(self, n: int, eval_doc: Any = None, df: Any = None, **kwargs: Any) -> Sequence[Any]:
        """``n`` rows; none of them equals ``eval_doc``.

        Raises:
            ValueError: if there are not enough.
        """
        if n == 0:
            return []
        if df:
            self.df = df
        rows = self.fewshot_docs()
        if not eval_doc:
            return self.rnd.sample(rows, n)
        kept = self.rm_eval_doc(eval_doc, self.rnd.sample(rows, n + 1), n)
        return kept if len(kept) == n else self.rnd.sample(self.rm_eval_doc(eval_doc, rows), n)

    def set_rnd(self, rnd: Any) -> ContextSampler:
        """Begin a new stream of random numbers."""
        self.rnd = random.Random(rnd)
        return self

    def replace_df(self, df: Sequence[Any]) -> ContextSampler:
        """Draw from other rows."""
        self.df, self._is_reduced = df, False
        return self

    def fewshot_docs(self) -> list[Any]:
        """The rows to draw from."""
        if self.fewshot_indices and not self._is_reduced:
            self.df = [self.df[number] for number in self.fewshot_indices]
        self._is_reduced = True
        return list(self.df)

    @staticmethod
    def rm_eval_doc(doc: Any, _iter: Iterable[Any], n: int | None = None) -> list[Any]:
        """The rows that do not equal one, at most ``n`` of them."""
        return [row for row in _iter if row != doc][:n]


class FirstNSampler(ContextSampler):
    """The first rows, in their order."""

    def sample(self, n: int, eval_doc: Any = None, df: Any = None, **kwargs: Any) -> Sequence[Any]:
        """The first ``n`` rows; none of them equals ``eval_doc``.

        Raises:
            ValueError: if there are not enough.
        """
        rows = self.df if eval_doc is None else self.rm_eval_doc(eval_doc, self.df)
        if n > len(rows):
            raise ValueError(f"{n} examples are needed, and there are {len(rows)}.")
        return rows[:n]


class ReadAhead:
    """Rows without media, read and held in blocks, for access in any order."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._blocks: OrderedDict[int, list[dict[str, Any]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        number, place = divmod(index, _BLOCK)
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = self._rows.docs(number * _BLOCK, (number + 1) * _BLOCK)
            if len(self._blocks) > _MOST_BLOCKS:
                self._blocks.popitem(last=False)
        return block[place]


class DrawnRows:
    """The numbers of the rows that are shown before each question: drawn (``default``) or the first (``first_n``).

    Args:
        pool: The rows to draw from.
        n: How many before each question, at least 1.
        seed: The seed of the stream.
        question: From the position of a question in the stream to its row, if rows that equal it are left out;
            ``None``: no row is left out.
        is_first: Whether the first rows are taken.
        task: Name of the task, for messages.

    Raises:
        PlanError: if there are too few rows.
    """

    def __init__(
        self,
        pool: ReadAhead,
        n: int,
        seed: int,
        question: Callable[[int], Doc] | None,
        *,
        is_first: bool,
        task: str,
    ) -> None:
        is_more_drawn = question is not None and not is_first
        if n + is_more_drawn > len(pool):
            more = " besides the question itself" if is_more_drawn else ""
            raise PlanError(
                f"Task {task!r} needs {n} examples{more}, and there are {len(pool)} rows to draw from.",
                hint="Ask for fewer with --num-fewshot.",
            )
        self._pool, self._n, self._question, self._is_first, self._task = pool, n, question, is_first, task
        self._stream = random.Random(seed)
        self._drawn = array("L")  # the numbers for all questions so far, one after the other
        self._drawing = Lock()  # questions begin in any order, on several threads

    @property
    def is_same_for_all(self) -> bool:
        """True if every question has the same examples."""
        return self._is_first and self._question is None

    def of(self, position: int) -> tuple[int, ...]:
        """The numbers for the question at a position of the stream.

        Raises:
            PlanError: if too few rows differ from the question.
        """
        if self.is_same_for_all:
            return tuple(range(self._n))
        n = self._n
        with self._drawing:
            while len(self._drawn) <= position * n:
                self._drawn.extend(self._draw(len(self._drawn) // n))
            return tuple(self._drawn[position * n : (position + 1) * n])

    def _draw(self, position: int) -> tuple[int, ...]:
        everything = range(len(self._pool))
        if self._question is None:
            return tuple(self._stream.sample(everything, self._n))
        own = self._question(position)
        if self._is_first:
            kept = self._others(own, everything)
        else:
            kept = self._others(own, self._stream.sample(everything, self._n + 1))
            if len(kept) < self._n:  # the question stands there more than once
                others = [number for number in everything if self._pool[number] != own]
                kept = self._stream.sample(others, self._n) if len(others) >= self._n else []
        if len(kept) < self._n:
            raise PlanError(f"Task {self._task!r} needs {self._n} examples, and fewer rows differ from the question.")
        return tuple(kept)

    def _others(self, own: Doc, numbers: Iterable[int]) -> list[int]:
        kept: list[int] = []
        for number in numbers:
            if len(kept) == self._n:
                break
            if self._pool[number] != own:
                kept.append(number)
        return kept


class ClassRows:
    """The rows that a sampler of the task's own code shows before each question.

    Args:
        sampler: Its class.
        pool: The rows to draw from.
        n: How many before each question.
        seed: The seed of the stream.
        question: From the position of a question in the stream to its row, for a sampler that receives it; ``None``: it
            does not.
        task: Name of the task, for messages.

    Raises:
        PlanError: if it is not a class of a sampler, or cannot be made.
    """

    def __init__(
        self,
        sampler: Any,
        pool: ReadAhead,
        n: int,
        seed: int,
        question: Callable[[int], Doc] | None,
        *,
        task: str,
    ) -> None:
        if not isinstance(sampler, type) or not issubclass(sampler, ContextSampler):
            raise PlanError(
                f"The sampler of task {task!r} must be one of {', '.join(NAMES)}, or a class derived from "
                f"ContextSampler, not {sampler!r:.60}."
            )
        self._doing = f"The sampler of task {task!r}"
        with boundary(PlanError, self._doing):
            self._sampler = sampler([pool[number] for number in range(len(pool))], rnd=None)
            self._sampler.set_rnd(seed)
        self._n, self._question = n, question
        self._drawn: list[Sequence[Doc]] = []
        self._drawing = Lock()

    def of(self, position: int) -> Sequence[Doc]:
        """The rows for the question at a position of the stream."""
        with self._drawing, boundary(PlanError, self._doing):
            while len(self._drawn) <= position:
                own = self._question(len(self._drawn)) if self._question is not None else None
                self._drawn.append(tuple(self._sampler.sample(self._n, eval_doc=own)))
            return self._drawn[position]
