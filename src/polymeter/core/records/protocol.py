"""The protocol of a benchmark: the facts that make its number comparable with a published one, under a name.

Two protocols of one benchmark are two tasks, ``NAME@PROTOCOL``. The name is identity, as the name of any task is. All
other fields describe: they enter no fingerprint of a request or of rows, and a task without a protocol has none of
them. A fact that its author has not read is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.catalog import PROTOCOL_NAME

UNKNOWN = "unknown"
"""A fact that was not read."""
MEASURING = ("name", "version", "parser", "judge", "shown", "token_limit")
"""The fields that say how the number is measured. A comparison is refused where they differ."""

Unknown = Literal["unknown"]


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            raise ValueError(f"it must be a mapping with the keys {', '.join(cls.model_fields)}, not {values!r:.80}")
        for key in values:
            if key not in cls.model_fields:
                near = did_you_mean(str(key), cls.model_fields, n=1)
                raise ValueError(f"there is no key {key!r}. {near or 'Known: ' + ', '.join(cls.model_fields)}".strip())
        return {key: value for key, value in values.items() if value is not None}


class PublishedNumber(_Stated):
    """A reference number that somebody published.

    Attributes:
        value: The number, as published.
        model: The model that it was measured with.
        metric: The name of the metric.
        source: Where it was read.
        reproduced: Whether a run of this protocol gave it.
    """

    value: float
    source: str
    model: str = UNKNOWN
    metric: str = ""
    reproduced: bool = False

    def __str__(self) -> str:
        of = f"{self.metric} of {self.model}" if self.metric else self.model
        state = "reproduced" if self.reproduced else "not reproduced"
        return f"{self.value:g} ({of}; {self.source}; {state})"


class BenchmarkProtocol(_Stated):
    """The protocol of a benchmark.

    Attributes:
        name: Its name: ``official``, ``lmms-eval``.
        version: Its version.
        default: Whether the benchmark's name alone means this protocol, where several are known.
        source: The files that it was read from, as ``repository@commit:path``.
        parser: The rule that reads answers.
        judge: The model that judges answers; ``none``: none does.
        shown: What the model is shown: frames, pixels, subtitles, the prompt's form.
        token_limit: The largest number of tokens of an answer.
        expected_rows: The number of samples.
        on_other_rows: What another number of samples is: a ``warning``, or an ``error``.
        mirrors: Other hub ids of the same data, in the order in which they are tried; of a table that a class fetches,
            other addresses.
        licence: The licence of the data.
        reference: A published number.
    """

    name: str
    version: str = ""
    default: bool = False
    source: tuple[str, ...] = ()
    parser: str = ""
    judge: str = ""
    shown: str = ""
    token_limit: int | Unknown | None = Field(None, union_mode="left_to_right")
    expected_rows: int | Unknown | None = Field(None, union_mode="left_to_right")
    on_other_rows: Literal["warning", "error"] = "warning"
    mirrors: tuple[str, ...] = ()
    licence: str = ""
    reference: PublishedNumber | Unknown | None = None

    @field_validator("name")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if not PROTOCOL_NAME.fullmatch(value):
            raise ValueError(f"{value!r} cannot be the name of a protocol: use letters, digits, '_', '-' and '.'")
        return value

    @field_validator("version", mode="before")
    @classmethod
    def _written(cls, value: Any) -> Any:
        # YAML reads 2026-04-14 as a date.
        return value.isoformat() if isinstance(value, date) else value

    @field_validator("source", "mirrors", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("token_limit", "expected_rows")
    @classmethod
    def _positive(cls, value: Any) -> Any:
        if isinstance(value, int) and value < 1:
            raise ValueError(f"it must be at least 1, not {value}")
        return value

    @field_validator("reference", mode="wrap")
    @classmethod
    def _number(cls, value: Any, handler: Any) -> Any:
        # One error of the number itself, not one for each kind of value.
        if value is None or value == UNKNOWN:
            return value
        return value if isinstance(value, PublishedNumber) else PublishedNumber(**dict(_mapping(value)))

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}".rstrip()

    def as_data(self) -> dict[str, Any]:
        """Return the stated fields as plain data."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def facts(self) -> dict[str, str]:
        """Return label and text of every stated fact, for readers."""
        return protocol_facts(self.as_data())


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"it must be {UNKNOWN!r} or a mapping with 'value' and 'source', not {value!r:.80}")
    return value


def protocol_facts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return label and text of every fact in the plain data of a protocol, as a manifest holds it."""
    told = {str(key).replace("_", " "): value for key, value in data.items() if key not in ("name", "version")}
    facts = {"protocol": f"{data.get('name', '?')} {data.get('version', '')}".rstrip()}
    for label, value in told.items():
        if label == "reference" and isinstance(value, Mapping):
            facts[label] = str(PublishedNumber.model_construct(**value))
        else:
            facts[label] = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return facts


def read_protocol(values: Any, where: str) -> BenchmarkProtocol | None:
    """Return the protocol that an author wrote as a mapping; ``None`` for ``None``.

    Args:
        values: The mapping.
        where: Its place, for messages.

    Raises:
        PlanError: if it has an unknown key (the message names the nearest one), or a value of the wrong type.
    """
    if values is None or isinstance(values, BenchmarkProtocol):
        return values
    try:
        return BenchmarkProtocol.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(["protocol", *(str(part) for part in first["loc"] if part in BenchmarkProtocol.model_fields)])
        message = first["msg"].removeprefix("Value error, ")
        message = message if message.endswith((".", "?")) else f"{message}."
        raise PlanError(f"{path}: {message}", where=where) from None
