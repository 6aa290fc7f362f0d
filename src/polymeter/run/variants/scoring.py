"""Scores of variants inside the score of their sample: texts, logs and places of responses, each by its variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.task import MetricKey, Score


@dataclass(frozen=True, slots=True)
class VariantKind:
    """A kind of variants.

    Attributes:
        word: What one of them is called: ``repeat``.
        log_key: The key of what each has besides its values in the log of a score: the answer that was read, the
            explanation, the places of its responses, and its own log.
    """

    word: str
    log_key: str

    def log(
        self,
        scores: Sequence[Score],
        places: Sequence[Sequence[int]],
        more: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return what the variants have besides their values. Images, of which the run makes previews, stand by
        themselves; one that is not the first variant's names its variant.

        Args:
            scores: Their scores.
            places: The places of their responses.
            more: Further entries for each of them.
        """
        images: dict[str, Any] = {}
        records = []
        for number, (one, own) in enumerate(zip(scores, places, strict=True), 1):
            record: dict[str, Any] = {"responses": list(own), **(more[number - 1] if more else {})}
            if one.answer is not None:
                record["answer"] = one.answer
            if one.explanation is not None:
                record["explanation"] = one.explanation
            log = {}
            for name, value in one.log.items():
                if not is_image(value):
                    log[name] = value
                elif number == 1 or value is not scores[0].log.get(name):
                    images[name if number == 1 else f"{name}, {self.word} {number}"] = value
            if log:
                record["log"] = log
            records.append(record)
        return {**images, self.log_key: records}

    def numbered(self, texts: Sequence[str | None]) -> str | None:
        """Return explanations as one text; equal ones once."""
        known = dict.fromkeys(text for text in texts if text)
        if len(known) < 2:
            return next(iter(known), None)
        return "\n".join(f"{self.word} {number}: {text}" for number, text in enumerate(texts, 1) if text)

    def score(self, score: Score, number: int, values: Mapping[MetricKey, Any]) -> Score:
        """Return the score of one variant, from that of its sample.

        Args:
            score: The score of the sample.
            number: The number of the variant, from 0.
            values: Its values.
        """
        own = score.log[self.log_key][number]
        target = own.get("target", score.target)
        return Score(values, target, own.get("answer"), own.get("explanation"), own.get("log") or {})

    def places(self, score: Score, number: int) -> Sequence[int]:
        """Return the places of a variant's responses among those of its sample."""
        places: Sequence[int] = score.log[self.log_key][number]["responses"]
        return places
