"""Prices in the format of genai-prices: its snapshot, and files of users.

A list has providers, a provider has models, and a model has a rule by which its name is found, prices, which may depend
on the date or the hour, and variants of them for service tiers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.records.rates import SNAPSHOT, Rates, RateStep
from polymeter.prices.amounts import checked_price
from polymeter.prices.priced_model import PricedModel

_MTOK = {
    "input_mtok": "input",
    "cache_read_mtok": "cached_read",
    "cache_write_mtok": "cached_write",
    "output_mtok": "output",
    "input_audio_mtok": "audio",
    "input_image_mtok": "image",
    "output_image_mtok": "image_output",
    "output_reasoning_mtok": "reasoning",
}
"""Prices of a million tokens, with their names in ``Rates``."""
_THOUSAND = {"requests_kcount": "request"}
_HOURS = ("audio_hours", "input_audio_hours")
_STEPPED = ("input", "cached_read", "cached_write", "output")
_NAME = re.compile("[a-z0-9]+(?:_[a-z0-9]+)*_(?:mtok|kcount|hours|mchars|kpages|gpixels)")
"""Other prices of genai-prices, such as those of searches, of which a run has none."""
_CLAUSES = ("equals", "starts_with", "ends_with", "contains", "regex", "or", "and")
_DATED, _HOURLY = "start_date", "start_time"

Match = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class PricesOfDates:
    """The prices of a model from a date on, or at hours of the day.

    Attributes:
        since: The first date; ``None``: they have always been valid.
        is_hourly: True if they are valid at some hours alone.
        rates: The rates.
    """

    since: date | None
    is_hourly: bool
    rates: Rates


@dataclass(frozen=True, slots=True)
class PricedEntry:
    """A model in a list.

    Attributes:
        name: Its name in the list.
        matches: Returns whether a model's name in lower case is this model's.
        prices: Its list prices; later ones win.
        variants: Its prices at service tiers, by tier; the first that are valid win.
    """

    name: str
    matches: Match
    prices: Sequence[PricesOfDates]
    variants: Mapping[str, Sequence[PricesOfDates]]

    def tiers(self, at: date) -> dict[str, Rates]:
        """Return the rates at a date by service tier; empty if the model had none then."""
        standard = _rates_at(self.prices, at)
        found = {} if standard is None else {"": standard}
        for tier, prices in self.variants.items():
            rates = _rates_at([*reversed(prices)], at)
            if rates is not None and standard is not None:
                found[tier] = _over(standard, rates)
        return found


@dataclass(frozen=True, slots=True)
class PricedProvider:
    """A provider in a list.

    Attributes:
        name: Its name in the list.
        address: The pattern of its endpoints' addresses.
        models: Its models.
        others: The providers in the list whose models it offers too.
    """

    name: str
    address: str
    models: Sequence[PricedEntry]
    others: Sequence[str] = ()

    def is_of(self, model: PricedModel) -> bool:
        """Return whether the model is asked at this provider."""
        if not self.address:
            return model.is_of(self.name)
        return _is_at(self.address, model)

    def find(self, name: str) -> PricedEntry | None:
        """Return the model with a name."""
        return next((listed for listed in self.models if listed.matches(name.lower())), None)


@dataclass(frozen=True, slots=True)
class ProviderPrices:
    """The prices of providers, found by the address of the endpoint."""

    providers: Sequence[PricedProvider]

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model at a date, by service tier."""
        provider = next((one for one in self.providers if one.is_of(model)), None)
        if provider is None:
            return {}
        sellers = [provider, *(one for name in provider.others for one in self.providers if one.name == name)]
        found = next(
            (listed for one in sellers if (listed := one.find(model.name or model.provider)) is not None), None
        )
        return {} if found is None else found.tiers(at)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The prices that the installed package genai-prices comes with. The network is never used.

    Attributes:
        providers: The package's records of providers; only those that are asked for are read.
        version: The version of the package.
        read: Those that were read, by name.
    """

    providers: Sequence[Any]
    version: str
    read: dict[str, PricedProvider] = field(default_factory=dict)

    def tiers(self, model: PricedModel, at: date) -> Mapping[str, Rates]:
        """Return the rates of a model at a date, by service tier."""
        own = next((one for one in self.providers if _is_at(one.api_pattern, model)), None)
        if own is None:
            return {}
        names = (own.id, *(own.fallback_model_providers or ()))
        maker = _Maker(SNAPSHOT, self.version, SNAPSHOT, is_checked=False)
        for one in self.providers:
            if one.id in names and one.id not in self.read:
                self.read[one.id] = maker.provider(_plain(one))
        return ProviderPrices([self.read[name] for name in names if name in self.read]).tiers(model, at)


def snapshot() -> Snapshot | None:
    """Return the prices of the installed package genai-prices; ``None`` if it is not installed."""
    try:
        from genai_prices import __version__
        from genai_prices.data import providers
    except ImportError:
        return None
    return Snapshot(providers, str(__version__))


def read_providers(content: Any, *, where: str, version: str) -> ProviderPrices:
    """Read a file of the format: a provider, or a list of them.

    Raises:
        PlanError: if it is not of the format, or a price is not possible.
    """
    providers = content if isinstance(content, list) else [content]
    maker = _Maker(where, version, where, is_checked=True)
    try:
        found = [maker.provider(one) for one in providers]
    except (AttributeError, TypeError) as error:  # a collection of another kind than the format has there
        what = f"This is not of the format of genai-prices: {error}."
        raise PlanError(what, where=where, hint="See github.com/pydantic/genai-prices.") from None
    for number, one in enumerate(found):
        if one.name in [other.name for other in found[:number]]:
            raise PlanError(f"The provider {one.name!r} is listed twice.", where=where, hint="Keep one of them.")
    return ProviderPrices(found)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the records of a list from plain data.

    Attributes:
        source: The origin of the prices, in words.
        version: Its version.
        where: The list, for messages.
        is_checked: True if the prices are a user's, whose mistakes are errors.
    """

    source: str
    version: str
    where: str
    is_checked: bool

    def provider(self, data: Any) -> PricedProvider:
        if not isinstance(data, Mapping) or not isinstance(data.get("models"), (list, tuple)) or not data.get("id"):
            raise PlanError(
                "A provider needs 'id' and a list 'models'.",
                where=self.where,
                hint="Each model has 'id', 'match' and 'prices'; see github.com/pydantic/genai-prices.",
            )
        name = str(data["id"])
        models = [self.model(one, name) for one in data["models"]]
        for number, one in enumerate(models):
            if one.name in [other.name for other in models[:number]] and self.is_checked:
                what = f"The model {one.name!r} of {name!r} is listed twice."
                raise PlanError(what, where=self.where, hint="Keep one of them.")
        address = str(data.get("api_pattern") or "")
        self.pattern(address, name)
        return PricedProvider(name, address, models, tuple(data.get("fallback_model_providers") or ()))

    def model(self, data: Any, provider: str) -> PricedEntry:
        if not isinstance(data, Mapping) or not data.get("id") or not data.get("prices"):
            raise PlanError(f"A model of {provider!r} has no 'id' or no 'prices'.", where=self.where)
        name = str(data["id"])
        match = data.get("match")
        matches = self.match({"equals": name} if match is None else match, name)
        variants: dict[str, list[PricesOfDates]] = {}
        for variant in data.get("price_variants") or ():
            when = variant.get("when") if isinstance(variant, Mapping) else None
            if isinstance(when, Mapping) and [*when] == ["service_tier"]:
                variants.setdefault(str(when["service_tier"]).lower(), []).append(self.dated(variant, name))
        prices = data["prices"]
        listed = prices if isinstance(prices, (list, tuple)) else [{"prices": prices}]
        return PricedEntry(name, matches, [self.dated(one, name) for one in listed], variants)

    def dated(self, data: Any, name: str) -> PricesOfDates:
        prices = data.get("prices") if isinstance(data, Mapping) else None
        if not isinstance(prices, Mapping):
            raise PlanError(f"The prices of {name!r} are not a mapping.", where=self.where)
        limits = data.get("constraint") or {}
        if not isinstance(limits, Mapping) or (limits and not {_DATED, _HOURLY} & {*limits}):
            what = f"A constraint of {name!r} is neither {_DATED!r} nor {_HOURLY!r} with 'end_time'."
            raise PlanError(what, where=self.where)
        return PricesOfDates(self.since(limits.get(_DATED), name), _HOURLY in limits, self.rates(prices, name))

    def since(self, value: Any, name: str) -> date | None:
        if value is None or isinstance(value, datetime):
            return None if value is None else value.date()
        try:
            return value if isinstance(value, date) else date.fromisoformat(value)
        except (TypeError, ValueError):
            what = f"The date {value!r} of {name!r} is not of the form YYYY-MM-DD."
            raise PlanError(what, where=self.where) from None

    def rates(self, prices: Mapping[str, Any], name: str) -> Rates:
        values: dict[str, Any] = {}
        steps: dict[int, dict[str, float]] = {}
        for key, value in prices.items():
            if value is None:
                continue
            rate = _MTOK.get(key)
            if rate is None:
                self.other(key, value, name, values)
                continue
            is_stepped = isinstance(value, Mapping)
            values[rate] = self.price(value.get("base") if is_stepped else value, key, name)
            for step in (value.get("tiers") or ()) if is_stepped else ():
                start, price = step.get("start"), self.price(step.get("price"), key, name)
                if type(start) is not int or start < 0 or rate not in _STEPPED:
                    raise PlanError(f"A tier of {key!r} of {name!r} is not possible: {step!r}.", where=self.where)
                steps.setdefault(start, {})[rate] = price
        made: list[RateStep] = []
        known: dict[str, float] = {}
        for start in sorted(steps):  # a step keeps the prices of the step below it
            known = {**known, **steps[start]}
            made.append(RateStep(start, **known))
        return Rates(**values, steps=tuple(made), source=self.source, version=self.version)

    def other(self, key: str, value: Any, name: str, values: dict[str, Any]) -> None:
        """Read a price that is not for tokens."""
        if key in _THOUSAND:
            values[_THOUSAND[key]] = self.price(value, key, name, is_of_tokens=False) / 1000
        elif key in _HOURS:
            values["audio_second"] = self.price(value, key, name, is_of_tokens=False) / 3600
        elif not _NAME.fullmatch(key):
            known = [*_MTOK, *_THOUSAND, *_HOURS]
            hint = did_you_mean(key, known) or f"Known: {', '.join(known)}."
            raise PlanError(f"The price {key!r} of {name!r} is of an unknown unit.", where=self.where, hint=hint)

    def price(self, value: Any, key: str, name: str, *, is_of_tokens: bool = True) -> float:
        if not self.is_checked:
            return float(value)
        return checked_price(
            value, f"{key!r} of {name!r}", where=self.where, unit="million" if is_of_tokens else "other"
        )

    def pattern(self, text: str, name: str) -> re.Pattern[str]:
        try:
            return re.compile(text)
        except re.error as error:
            what = f"The pattern {text!r} of {name!r} is not a regular expression: {error}."
            raise PlanError(what, where=self.where) from None

    def match(self, clause: Any, name: str) -> Match:
        """Make the function that a rule for names describes."""
        if not isinstance(clause, Mapping) or len(clause) != 1 or next(iter(clause)) not in _CLAUSES:
            known = ", ".join(_CLAUSES)
            raise PlanError(f"The rule 'match' of {name!r} is not one of {known}: {clause!r}.", where=self.where)
        ((kind, value),) = clause.items()
        if kind in ("or", "and"):
            inner = [self.match(one, name) for one in value]
            combine = any if kind == "or" else all
            return lambda text: combine(one(text) for one in inner)
        if kind == "regex":
            found = self.pattern(str(value), name)
            return lambda text: found.search(text) is not None
        own = str(value).lower()
        if kind == "equals":
            return lambda text: text == own
        if kind == "contains":
            return lambda text: own in text
        return lambda text: text.startswith(own) if kind == "starts_with" else text.endswith(own)


def _is_at(pattern: str, model: PricedModel) -> bool:
    """Return whether a model is asked at an address that a pattern describes."""
    return bool(model.base_url) and not model.is_local and re.match(pattern, model.base_url) is not None


def _rates_at(prices: Sequence[PricesOfDates], at: date) -> Rates | None:
    """Return the rates at a date, of which later ones win; the dearest of the day, if they depend on the hour."""
    found: list[Rates] = []
    for one in reversed(prices):
        if one.since is None or one.since <= at:
            found.append(one.rates)
            if not one.is_hourly:
                break
    if len(found) < 2:
        return found[0] if found else None
    dearest = max(found, key=lambda rates: rates.output or rates.input or 0.0)
    shares = [
        low / high
        for rates in found
        for name in ("input", "output")
        if (low := getattr(rates, name)) is not None and (high := getattr(dearest, name))
    ]
    return replace(dearest, least=min([1.0, *shares]))


def _over(standard: Rates, own: Rates) -> Rates:
    """Return list prices with those that a service tier has of its own."""
    names = [one.name for one in fields(Rates) if one.name not in ("steps", "least", "currency", "source", "version")]
    prices = {name: price for name in names if (price := getattr(own, name)) is not None}
    replaced: dict[str, Any] = {name: None for name in _STEPPED if name in prices}
    kept = [replace(step, **replaced) for step in standard.steps]
    merged: dict[int, RateStep] = {step.above: step for step in kept}
    for step in own.steps:
        stepped = {name: price for name in _STEPPED if (price := getattr(step, name)) is not None}
        merged[step.above] = replace(merged.get(step.above, RateStep(step.above)), **stepped)
    return replace(standard, **prices, steps=tuple(merged[start] for start in sorted(merged)))


def _plain(provider: Any) -> dict[str, Any]:
    """Return a provider of the package as plain data, as its files have it."""
    return {
        "id": provider.id,
        "api_pattern": provider.api_pattern,
        "fallback_model_providers": provider.fallback_model_providers,
        "models": [
            {
                "id": model.id,
                "match": _plain_rule(model.match),
                "prices": _plain_prices(model.prices) or {"input_mtok": None},
                "price_variants": [{"when": one.when, **_conditional(one)} for one in model.price_variants or ()],
            }
            for model in provider.models
        ],
    }


def _plain_rule(rule: Any) -> dict[str, Any]:
    ((name, value),) = vars(rule).items()
    return {name.rstrip("_"): [_plain_rule(one) for one in value] if isinstance(value, list) else value}


def _plain_prices(prices: Any) -> Any:
    if isinstance(prices, list):
        return [_conditional(one) for one in prices]
    return {
        key: {"base": value.base, "tiers": [vars(step) for step in value.tiers]} if hasattr(value, "tiers") else value
        for key, value in vars(prices).items()
    }


def _conditional(one: Any) -> dict[str, Any]:
    constraint = {} if one.constraint is None else vars(one.constraint)
    return {"constraint": constraint, "prices": _plain_prices(one.prices)}
