"""Price files of users, in the format of genai-prices, litellm or inspect_ai."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.records.rates import ANY_TIER, Rates
from polymeter.core.text.yaml_text import document, text_of
from polymeter.prices.amounts import checked_price
from polymeter.prices.genai import read_providers
from polymeter.prices.lists import PriceList, StatedPrices
from polymeter.prices.litellm import LitellmPrices, is_litellm

_FOUR = {
    "input": "input",
    "output": "output",
    "input_cache_read": "cached_read",
    "input_cache_write": "cached_write",
}
"""The prices of a million tokens in a file of inspect_ai, with their names in ``Rates``."""
_FORMATS = (
    "Known are the format of genai-prices (a list of providers), litellm's JSON, and by model 'input', 'output', "
    "'input_cache_read' and 'input_cache_write' for a million tokens."
)


def read_price_file(file: Path) -> PriceList:
    """Read a price file.

    Raises:
        PlanError: if it cannot be read, is of no known format, has a model twice, or a price in it is not possible.
    """
    where = str(file)
    text = text_of(file, what="price file")
    content = _content(text, where)
    version = f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if not content:
        raise PlanError("The price file is empty.", where=where, hint=_FORMATS)
    if isinstance(content, list) or (isinstance(content, Mapping) and "models" in content):
        return read_providers(content, where=where, version=version)
    if is_litellm(content):
        return LitellmPrices(content, source=where, version=version)
    if isinstance(content, Mapping) and all(isinstance(entry, Mapping) for entry in content.values()):
        return StatedPrices({str(name): _four(str(name), entry, where, version) for name, entry in content.items()})
    raise PlanError("This is not a price file.", where=where, hint=_FORMATS)


def _content(text: str, where: str) -> Any:
    """Return the content of a file as plain data.

    Raises:
        PlanError: if it is neither JSON nor YAML, or has a key twice.
    """
    if text.lstrip()[:1] not in ("{", "["):
        content, node = document(getattr(yaml, "CSafeLoader", yaml.SafeLoader), text, where)
        _refuse_repeated(node, where)
        return content
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unrepeated(pairs, where))
    except json.JSONDecodeError as error:
        what = f"This is not valid JSON: {error.msg} (column {error.colno})."
        raise PlanError(what, where=f"{where}:{error.lineno}") from None
    except RecursionError:
        raise PlanError("This is not valid JSON: its collections lie too deep.", where=where) from None


def _unrepeated(pairs: Iterable[tuple[str, Any]], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise PlanError(f"{key!r} stands twice in one mapping.", where=where, hint="Keep one of them.")
        found[key] = value
    return found


def _refuse_repeated(node: yaml.Node | None, where: str) -> None:
    """Refuse a mapping that has a key twice, of which YAML silently keeps the last."""
    if isinstance(node, yaml.MappingNode):
        seen: dict[Any, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                what = f"{key.value!r} stands twice in one mapping, first in line {seen[key.value]}."
                raise PlanError(what, where=f"{where}:{line}", hint="Keep one of them.")
            if isinstance(key, yaml.ScalarNode):
                seen[key.value] = line
            _refuse_repeated(value, where)
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            _refuse_repeated(one, where)


def _four(name: str, entry: Mapping[Any, Any], where: str, version: str) -> dict[str, Rates]:
    """Read the prices of a model, at every service tier."""
    for key in entry:
        if key not in _FOUR:
            what = f"The price {key!r} of {name!r} is of an unknown unit."
            raise PlanError(what, where=where, hint=did_you_mean(str(key), _FOUR) or _FORMATS)
    values: dict[str, Any] = {
        _FOUR[key]: checked_price(value, f"{key!r} of {name!r}", where=where) for key, value in entry.items()
    }
    if missing := [key for key in ("input", "output") if key not in entry]:
        raise PlanError(
            f"The price {missing[0]!r} of {name!r} is missing.", where=where, hint="Write 0 for what is free."
        )
    return {ANY_TIER: Rates(**values, source=where, version=version)}
