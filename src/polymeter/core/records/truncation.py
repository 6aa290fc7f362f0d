"""Truncation: counts of a task's answers that rest on less than was asked or written. They are computed once, where the
rows of a task are reduced, and kept in ``results.json``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LENGTH, EMPTY, IMAGES, PROMPT = "length", "empty", "images", "prompt"
KINDS = (LENGTH, EMPTY, IMAGES, PROMPT)
"""Ended at the token limit; empty after the reasoning; on images that a processor scaled down; on a prompt that was
truncated. ``Output.cut`` has the last two.
"""
MOST_UNNOTICED = 0.02
"""A larger share of a task's answers is a warning."""
_TOKEN_LIMIT = {
    LENGTH: "raise --gen-kwargs max_new_tokens=N",
    EMPTY: "raise --gen-kwargs max_new_tokens=N if they ended at the limit",
}


@dataclass(slots=True)
class Truncation:
    """The counts of one task.

    Attributes:
        n_answers: All of the model's answers; ``None``: unknown, as of a run of a version that did not count them.
        counts: The number of answers of each of ``KINDS``; those that no answer has are left out.
        advice: By kind, what avoids it, with the name of an option, as the model's backend states it.
    """

    n_answers: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    advice: dict[str, str] = field(default_factory=dict)

    def add(self, kinds: Collection[str], advice: Mapping[str, str]) -> None:
        """Count one answer.

        Args:
            kinds: Its kinds.
            advice: The advice of its backend.
        """
        self.n_answers = (self.n_answers or 0) + 1
        for kind in kinds:
            self.counts[kind] = self.counts.get(kind, 0) + 1
        for kind, text in advice.items():
            if text:
                self.advice.setdefault(kind, text)

    def share(self, kind: str) -> float | None:
        """The share of all answers, from 0 to 1; ``None`` if their number is unknown."""
        return self.counts[kind] / self.n_answers if self.n_answers else None

    def found(self) -> Iterator[tuple[str, int, bool]]:
        """Each kind that some answer has: its name, the number of answers, and whether that is a warning.

        Images that were scaled down are none without advice: a network with one fixed size sees all photos so.
        """
        for kind in KINDS:
            n = self.counts.get(kind, 0)
            if n:
                is_noticed = kind != IMAGES or bool(self.advice_on(kind))
                yield kind, n, is_noticed and (self.share(kind) or 0.0) > MOST_UNNOTICED

    def advice_on(self, kind: str) -> str:
        """Return what to change, as an imperative; empty if nothing is known."""
        return _TOKEN_LIMIT.get(kind) or self.advice.get(kind, "")

    def document(self) -> dict[str, Any]:
        """The counts as plain data; empty if no answer has any kind."""
        kinds = {
            kind: {"n": n, "is_warning": is_warning, **({"advice": text} if (text := self.advice_on(kind)) else {})}
            for kind, n, is_warning in self.found()
        }
        return {"n_answers": self.n_answers, **kinds} if kinds else {}

    @classmethod
    def of_task(cls, task: Mapping[str, Any]) -> Truncation:
        """The counts of a task of ``results.json``. An older file has only those of the token limit and of answers that
        ended inside their reasoning.
        """
        stated = task.get("truncation")
        if stated is None:
            older = {LENGTH: int(task.get("n_length") or 0), EMPTY: int(task.get("n_unfinished") or 0)}
            return cls(None, {kind: n for kind, n in older.items() if n})
        known = {kind: stated[kind] for kind in KINDS if kind in stated}
        return cls(
            stated.get("n_answers"),
            {kind: int(one["n"]) for kind, one in known.items()},
            {kind: str(one["advice"]) for kind, one in known.items() if one.get("advice")},
        )
