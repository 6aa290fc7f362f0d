"""Settings of judges: ``judge`` of ``TaskConfig``, and the older keywords for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from polymeter.interop.evalscope.v1.constants import JudgeScoreType, JudgeStrategy
from polymeter.judge import ROLE

_CONTRACT = ("system_prompt", "prompt_template", "score_mapping", "score_type")
_OLDER = ("judge_strategy", "judge_model_args")


class JudgeModelConfig(BaseModel):
    """A judge. Its address, key and kind name no model here: the run's ``--judge`` does.

    Attributes:
        model_id: Its name.
        judge_id: Its name in reports; default: ``model_id``.
        api_key: A key.
        api_url: An address.
        eval_type: A kind of model.
        model_args: Arguments of the model.
        generation_config: Settings of its answers.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    model_id: str
    judge_id: str | None = None
    api_key: SecretStr | None = None
    api_url: str | None = None
    eval_type: str | None = None
    model_args: dict[str, Any] = Field(default_factory=dict)
    generation_config: dict[str, Any] = Field(default_factory=dict)

    @field_validator("model_args", mode="before")
    @classmethod
    def _hide_keys(cls, value: Any) -> Any:
        return _hidden(value)


class JudgeContractConfig(BaseModel):
    """The usual question to judges, for benchmarks that have none of their own.

    Attributes:
        system_prompt: Put before it.
        prompt_template: With ``{question}``, ``{gold}`` and ``{pred}``.
        score_mapping: The score of each grade.
        score_type: ``pattern``: a grade; ``numeric``: a number from 0 to 1.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    system_prompt: str | None = None
    prompt_template: str | None = None
    score_mapping: dict[str, float] | None = None
    score_type: Literal["pattern", "numeric"] = JudgeScoreType.PATTERN  # type: ignore[assignment]


class JudgeConfig(BaseModel):
    """When judges are asked, which, and how their verdicts are joined.

    Attributes:
        strategy: ``auto``: as the benchmark says; ``rule``: never; ``llm``: always; ``llm_recall``: where rules find an
            answer wrong.
        models: The judges; the first one decides ties.
        contract: The usual question.
        repeats: How often each judge is asked.
        position_swap: Whether comparisons are asked in both placements: ``on``, ``off``, or ``auto``: as the benchmark
            says.
        aggregation: How verdicts are joined.
        min_valid_judges: How many judges have to give a verdict.

    Raises:
        ValueError: if a field is unknown or not of its type, or judges have one name, or fewer are there than have to
            give a verdict.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    strategy: Literal["auto", "rule", "llm", "llm_recall"] = JudgeStrategy.AUTO  # type: ignore[assignment]
    models: list[JudgeModelConfig] = Field(default_factory=list)
    contract: JudgeContractConfig = Field(default_factory=JudgeContractConfig)
    repeats: int = Field(default=1, ge=1)
    position_swap: Literal["auto", "on", "off"] = "auto"
    aggregation: Literal["mean", "median", "majority_vote"] = "mean"
    min_valid_judges: int = Field(default=1, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        values = dict(data)
        if any(key in values for key in _OLDER):
            strategy, arguments = (values.pop(key, None) for key in _OLDER)
            values = {**older_judge_settings(strategy, arguments), **values}
        if isinstance(values.get("models"), Mapping):
            values["models"] = [values["models"]]
        return values

    @model_validator(mode="after")
    def _check(self) -> JudgeConfig:
        ids = [judge.model_id for judge in self.models]
        for judge in self.models:
            if judge.judge_id is None:
                if ids.count(judge.model_id) > 1:
                    raise ValueError(f"several judges have the model_id {judge.model_id!r}: give each a judge_id")
                judge.judge_id = judge.model_id
        names = [judge.judge_id for judge in self.models]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"several judges have the judge_id {twice!r}")
        if self.models and self.min_valid_judges > len(self.models):
            raise ValueError(f"min_valid_judges is {self.min_valid_judges}, and there are {len(self.models)} judges")
        return self


def older_judge_settings(judge_strategy: str | None, judge_model_args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the settings that the older keywords of ``TaskConfig`` stand for.

    Args:
        judge_strategy: When a judge is asked.
        judge_model_args: Arguments of ``LLMJudge``.

    Raises:
        ValueError: if a pattern is given by which verdicts are read: a judge's reply is JSON.
    """
    own = dict(judge_model_args or {})
    if "score_pattern" in own:
        raise ValueError("judge_model_args.score_pattern has no effect on a judge's JSON: use contract.score_mapping")
    contract = {key: own.pop(key) for key in _CONTRACT if key in own}
    models = [{"model_id": ROLE, **own}] if own else []
    return {"strategy": judge_strategy or JudgeStrategy.AUTO, "models": models, "contract": contract}


def _hidden(value: Any) -> Any:
    """A value whose keys named ``api_key`` are never shown."""
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: SecretStr(own) if key == "api_key" and isinstance(own, str) else _hidden(own) for key, own in value.items()
    }
