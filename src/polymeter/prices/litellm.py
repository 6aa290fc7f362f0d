"""Prices in the format of litellm's ``model_prices_and_context_window.json``: by model, for one token each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from rapidfuzz.distance import Levenshtein

from polymeter.core.errors import PlanError
from polymeter.core.records.rates import MILLION, Rates, RateStep
from polymeter.prices.amounts import checked_price
from polymeter.prices.priced_model import PricedModel

_TOKEN = {
    "input_cost_per_token": "input",
    "cache_read_input_token_cost": "cached_read",
    "cache_creation_input_token_cost": "cached_write",
    "output_cost_per_token": "output",
    "input_cost_per_audio_token": "audio",
    "input_cost_per_image_token": "image",
    "output_cost_per_image_token": "image_output",
    "output_cost_per_reasoning_token": "reasoning",
}
"""Prices of one token, with their names in ``Rates``."""
_OTHER = {
    "input_cost_per_image": "image_sent",
    "output_cost_per_image": "image_made",
    "input_cost_per_request": "request",
    "input_cost_per_audio_per_second": "audio_second",
}
"""Prices of other units."""
_STEP = re.compile(r"(?P<name>.+)_above_(?P<start>\d+)k_tokens")
_TIERS = ("flex", "priority")
_UNKNOWN_UNIT = re.compile(r"(?:input|output)_cost_per_.*(?:million|thousand|mtok|ktok|1[km]_)")
"""Names of prices that litellm does not have."""
_TYPO = 1
"""So many letters of a name may be wrong: the names of two prices differ in more."""
_DESCRIPTION = "sample_spec"
"""The entry of litellm's own file that describes the others."""


def is_litellm(content: Any) -> bool:
    """Return whether the content of a file looks like this format."""
    return isinstance(content, Mapping) and any(
        isinstance(entry, Mapping) and any("cost" in str(key) for key in entry) for entry in content.values()
    )


class LitellmPrices:
    """The prices of a file of litellm.

    Every entry of a file that a user wrote is checked at once. litellm's own file has thousands, with prices of which a
    run has nothing to count, so only the entry of a model is.

    Args:
        entries: The models, by name.
        source: The file, for messages.
        version: The version of the file.

    Raises:
        PlanError: if an entry is not a mapping, or a price is not possible or of an unknown unit.
    """

    def __init__(self, entries: Mapping[str, Any], *, source: str, version: str) -> None:
        self._source = source
        self._version = version
        self._is_users = _DESCRIPTION not in entries
        self._models: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for name, entry in entries.items():
            if name == _DESCRIPTION:
                continue
            if not isinstance(entry, Mapping):
                raise PlanError(f"The entry of {name!r} is not a mapping.", where=source)
            self._models[name] = str(entry.get("litellm_provider") or ""), entry
            if self._is_users:
                self._read(name, entry)

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model, by service tier.

        Raises:
            PlanError: if one of its prices is not possible.
        """
        for name, (seller, entry) in self._models.items():
            if model.is_called(name, seller):
                return self._read(name, entry)
        return {}

    def _read(self, name: str, entry: Mapping[str, Any]) -> dict[str, Rates]:
        standard = Rates(source=self._source, version=self._version)
        values: dict[str, dict[str, Any]] = {}
        steps: dict[str, dict[int, dict[str, float]]] = {}
        for key, tier, field, above in self._prices(name, entry):
            is_of_token = field not in _OTHER.values()
            what = f"{key!r} of {name!r}"
            price = checked_price(entry[key], what, where=self._source, unit="token" if is_of_token else "other")
            price *= MILLION if is_of_token else 1
            (steps.setdefault(tier, {}).setdefault(above, {}) if above else values.setdefault(tier, {}))[field] = price
        found: dict[str, Rates] = {}
        for tier in sorted({"", *values, *steps}):
            own = steps.get(tier, {})
            made = tuple(RateStep(above, **own[above]) for above in sorted(own))
            found[tier] = replace(found.get("", standard), **values.get(tier, {}), steps=made)
        return found

    def _prices(self, name: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str, int]]:
        """Yield the prices of an entry: key, service tier, name in ``Rates``, and the length of prompts above which it
        applies, or 0.
        """
        for key in map(str, entry):
            tier = next((tier for tier in _TIERS if key.endswith(f"_{tier}")), "")
            bare = key.removesuffix(f"_{tier}") if tier else key
            step = _STEP.fullmatch(bare)
            base = step["name"] if step else bare
            field = _TOKEN.get(base) or _OTHER.get(base)
            if field is not None:
                if entry[key] is not None:
                    yield key, tier, field, int(step["start"]) * 1000 if step else 0
            elif "cost" in base and self._is_users:
                self._refuse_unknown(base, name)

    def _refuse_unknown(self, key: str, name: str) -> None:
        """Refuse a price that litellm does not have; it has many of which a run has nothing to count."""
        near = min((*_TOKEN, *_OTHER), key=lambda known: Levenshtein.distance(key, known))
        is_typo = Levenshtein.distance(key, near) <= _TYPO
        if is_typo or _UNKNOWN_UNIT.search(key):
            hint = (
                f"Did you mean {near!r}?" if is_typo else "litellm's prices are for one token: 'input_cost_per_token'."
            )
            raise PlanError(f"The price {key!r} of {name!r} is of an unknown unit.", where=self._source, hint=hint)
