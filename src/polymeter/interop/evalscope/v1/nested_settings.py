"""The nested settings of ``TaskConfig``: objects of 1.x or mappings, checked and as plain data without defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from polymeter.core.errors import PlanError, did_you_mean

OF_TRANSPORT = (
    "batch_size",
    "retries",
    "retry_interval",
    "timeout",
    "stream",
    "anthropic_cache_control",
    "anthropic_cache_strategy",
    "reasoning_history",
)
"""Generation settings of 1.x that do not belong to a request."""
NOT_SENT: Mapping[str, str] = {
    "extra_headers": "Set up a proxy that adds them; api_key goes into the endpoint's own header.",
    "extra_query": "Write it into api_url.",
    "response_schema": "Write it in the form that the endpoint expects: extra_body={'response_format': …}.",
}
"""Generation settings of 1.x that are refused, with what to do."""
_SAID_BY_PYDANTIC = "Value error, "


class SandboxTaskConfig(BaseModel):
    """Settings of the container for programs of models, as 1.x states them. Here programs always run in Polymeter's own
    walls.

    Attributes:
        enabled: Whether there is a container.
        engine: Its kind.
        default_config: Settings of each container.
        manager_config: Settings of the service that keeps them.
        pool_size: How many of them are kept.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    enabled: bool = False
    engine: str = "docker"
    default_config: dict[str, Any] = Field(default_factory=dict)
    manager_config: dict[str, Any] = Field(default_factory=dict)
    pool_size: int | None = None


def plain(value: Any) -> Any:
    """Settings as plain data: objects of 1.x as the mappings that they stand for, with their keys."""
    if isinstance(value, BaseModel):
        return {name: plain(own) for name, own in value if name in value.model_fields_set and own is not None}
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Mapping):
        return {name: plain(own) for name, own in value.items()}
    return [plain(own) for own in value] if isinstance(value, (list, tuple)) else value


def checked_judge(judge: Any) -> dict[str, Any]:
    """The settings of judges, with their keys.

    Raises:
        PlanError: if there is no such setting, or it has a value that it cannot have.
    """
    from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig

    if not isinstance(judge, (Mapping, JudgeConfig)):
        raise PlanError(
            f"'judge' must be a mapping or a JudgeConfig, not a {type(judge).__name__}.",
            where="TaskConfig judge",
            hint="Such as {'strategy': 'auto', 'models': [{'model_id': 'NAME', 'api_url': 'URL'}]}.",
        )
    return _checked(judge, JudgeConfig, "judge")


def checked_sandbox(sandbox: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a sandbox.

    Raises:
        PlanError: if there is no such setting, or it has a value that it cannot have.
    """
    return _checked(sandbox, SandboxTaskConfig, "sandbox")


def _checked(values: Any, settings: type[BaseModel], name: str) -> dict[str, Any]:
    try:
        checked = settings(**plain(values))
    except ValidationError as error:
        raise _invalid(error, settings, name) from None
    return dict(plain(checked.model_dump(exclude_defaults=True, exclude_none=True)))


def _invalid(error: ValidationError, settings: type[BaseModel], name: str) -> PlanError:
    """An error about nested settings, with the nearest names. It shows no value, since a value may be a key."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    where = f"TaskConfig {'.'.join([name, *place])}"
    if first["type"] != "extra_forbidden":
        message = str(first["msg"]).removeprefix(_SAID_BY_PYDANTIC)
        return PlanError(f"{message[:1].upper()}{message[1:]}.", where=where)
    for part in place[:-1]:
        settings = _model_in(settings, part)
    names = tuple(settings.model_fields)
    hint = did_you_mean(place[-1], names) or f"Known: {', '.join(names)}."
    return PlanError(f"There is no setting {place[-1]!r} of {name!r}.", where=where, hint=hint)


def _model_in(settings: type[BaseModel], field_name: str) -> type[BaseModel]:
    """The settings that a field holds, itself or in a list; the same ones if it is the place in a list."""
    if field_name not in settings.model_fields:
        return settings
    annotation = settings.model_fields[field_name].annotation
    inner = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type) and issubclass(one, BaseModel)]
    return next(iter(inner), settings)
