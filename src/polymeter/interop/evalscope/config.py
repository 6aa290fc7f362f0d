"""``TaskConfig``: an evaluation in EvalScope's terms, from Python, YAML, JSON or a command line. One class has the
fields of both generations; what they call differently has one meaning here.

It holds the fields as the user set them. ``check`` refuses what cannot be done; ``evaluation`` gives the rest its
meaning.
"""

from __future__ import annotations

import copy
import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.registries import MODELS
from polymeter.core.text.secrets import HIDDEN, without_secrets
from polymeter.core.text.yaml_text import parse_yaml, text_of
from polymeter.interop.evalscope.flags import EVAL
from polymeter.interop.evalscope.v1.nested_settings import NOT_SENT, checked_judge, checked_sandbox, plain

NO_KEY = "EMPTY"
"""The value of ``api_key`` if nobody has set it."""
KINDS_1X: Mapping[str, str] = {
    "llm_ckpt": "checkpoint",
    "openai_api": "service",
    "server": "service",
    "anthropic_api": "service",
    "mock_llm": "custom",
    "text2image": "checkpoint",
    "image_editing": "checkpoint",
}
"""The ``eval_type`` of 1.x and what 0.17 calls it."""
_OTHER_KINDS: Mapping[str, tuple[str, str]] = {
    "openai_responses_api": (
        "Polymeter asks endpoints for chat completions, not for responses.",
        "Write eval_type='openai_api'; such an endpoint answers chat completions, too.",
    ),
    "litellm": (
        "Polymeter asks endpoints without LiteLLM.",
        "Write eval_type='openai_api' with the provider's api_url, or that of a LiteLLM proxy.",
    ),
    "text2speech": ("no benchmark here asks a model for speech.", "Run it with EvalScope itself."),
    "systemone_api": ("Polymeter does not speak the protocol of decision services.", "Run it with EvalScope itself."),
    "autotrust_api": ("Polymeter does not speak the protocol of decision services.", "Run it with EvalScope itself."),
}
"""The kinds of models of 1.x that are refused: why, and what to do."""
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "model_task": ("text_generation", "image_generation"),
    "eval_type": ("checkpoint", "service", "custom", *KINDS_1X),
    "stage": ("all", "infer", "review"),
    "judge_strategy": ("auto", "rule", "llm", "llm_recall"),
}
_HUBS = ("modelscope", "huggingface", "local")
_BACKENDS = ("Native", "OpenCompass", "VLMEvalKit", "RAGEval", "ThirdParty")
_COLLECTION = "data_collection"
_DICTS = ("model_args", "dataset_args", "generation_config", "judge_model_args", "eval_config", "judge", "sandbox")
_WRITTEN_THERE = ("resolved_benchmarks", "evaluation_identity")
"""Parts of a configuration that 1.x has written into a work folder: results, not settings."""
_OF_JUDGES = ("api_key", "api_url", "model_id", "eval_type", "model_args", "generation_config")
_SHOWN_OF_JUDGES = ("model_id", "judge_id", "generation_config")
_OF_PANELS = ("aggregation", "min_valid_judges")
_CONTRACT = ("system_prompt", "prompt_template", "score_mapping", "score_type")


@dataclass
class _ConfigFields:
    """The fields with EvalScope's defaults; ``None`` or empty where its default depends on the kind of model."""

    model: Any = None
    model_id: str | None = None
    model_args: dict[str, Any] = field(default_factory=dict)
    model_task: str = "text_generation"
    template_type: str | None = None
    chat_template: str | None = None
    datasets: list[str] = field(default_factory=list)
    dataset_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    dataset_dir: str | None = None
    dataset_hub: str | None = None
    generation_config: dict[str, Any] = field(default_factory=dict)
    eval_type: str = "checkpoint"
    eval_backend: str = "Native"
    eval_config: Any = None
    stage: str = "all"
    limit: float | None = None
    eval_batch_size: int | None = None
    mem_cache: bool = False
    use_cache: str | None = None
    work_dir: str = "./outputs"
    outputs: str | None = None
    ignore_errors: bool = False
    debug: bool = False
    dry_run: bool = False
    seed: int | None = 42
    api_url: str | None = None
    api_key: str | None = field(default=NO_KEY, repr=False)
    timeout: float | None = None
    stream: bool = False
    judge_strategy: str = "auto"
    judge_worker_num: int = 1
    judge_model_args: dict[str, Any] = field(default_factory=dict)
    analysis_report: bool = False
    repeats: int = 1
    judge: dict[str, Any] = field(default_factory=dict, repr=False)
    rerun_review: bool = False
    no_timestamp: bool = False
    enable_progress_tracker: bool = False
    collect_perf: bool = True
    sandbox: dict[str, Any] = field(default_factory=dict)
    use_sandbox: bool = False
    sandbox_type: str | None = None
    sandbox_manager_config: dict[str, Any] | None = None
    agent_config: Any = None
    evalscope_version: str | None = None


FIELDS = tuple(item.name for item in fields(_ConfigFields))


class TaskConfig(_ConfigFields):
    """The configuration of an evaluation.

    Dictionaries and lists are copied, so the caller's are never changed. An unknown name is refused, and the message
    suggests the nearest known one. A configuration never contains its key when it is printed or written.

    Args:
        *args: Fields in their order.
        **kwargs: Fields by name.

    Raises:
        PlanError: if there is no such field, or its value has another type.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _check_names(kwargs)
        values = {**dict(zip(FIELDS, args, strict=False)), **kwargs}
        super().__init__(**{name: _own(name, value) for name, value in values.items()})
        self._normalise()

    def _normalise(self) -> None:
        """Convert values to the types of their fields, and name the model."""
        self.limit = _config_number(self.limit, "limit") or None  # 0 means all, as in 1.x
        if isinstance(self.datasets, str):
            self.datasets = [name for name in self.datasets.replace(",", " ").split() if name]
        for name in _DICTS:
            if getattr(self, name) is None and name != "eval_config":
                setattr(self, name, {})
        for name in ("generation_config", "sandbox", "agent_config", "api_key"):
            setattr(self, name, plain(getattr(self, name)))
        for name in ("model_args", "dataset_args", "generation_config", "judge_model_args", "sandbox"):
            if not isinstance(getattr(self, name), Mapping):
                raise PlanError(f"{name!r} must be a mapping, not {getattr(self, name)!r}.", where="TaskConfig")
        for name, config in self.dataset_args.items():
            if not isinstance(config, Mapping):
                raise PlanError(f"The dataset_args of {name!r} must be a mapping, not {config!r}.", where="TaskConfig")
        self.sandbox = checked_sandbox(self.sandbox)
        if not self.model_id:
            self.model_id = _model_id(self.model)
        if self.eval_type is None:
            self.eval_type = "checkpoint"
        self._name_judge()

    def _name_judge(self) -> None:
        """Set the fields of 0.17 for a judge from those of 1.x: the strategy, and the first model with its prompts.

        Raises:
            PlanError: if the settings of judges are invalid, or both generations' fields are set and differ.
        """
        if not self.judge:
            return
        self.judge = checked_judge(self.judge)
        if not self.judge:
            return
        models, contract = self.judges(), self.judge.get("contract") or {}
        own = {name: models[0][name] for name in _OF_JUDGES if models and models[0].get(name)}
        own |= {name: contract[name] for name in _CONTRACT if contract.get(name)}
        strategy = self.judge.get("strategy", "auto")
        if self.judge_strategy not in ("auto", strategy) or (self.judge_model_args and self.judge_model_args != own):
            raise PlanError(
                "'judge' and 'judge_strategy' or 'judge_model_args' say different things of the judge.",
                where="TaskConfig judge",
                hint="Set 'judge' alone: the other two are the older words for it.",
            )
        self.judge_strategy, self.judge_model_args = strategy, own

    def judges(self) -> list[dict[str, Any]]:
        """The judges that ``judge`` names; several are a panel."""
        return list(self.judge.get("models") or ())

    def judge_settings(self) -> dict[str, Any]:
        """The settings of 1.x for judges, without addresses and keys."""
        if self.judge:
            models = [{name: one[name] for name in _SHOWN_OF_JUDGES if one.get(name)} for one in self.judges()]
            if len(models) > 1:  # each judge of a panel scores by itself, and the run joins them
                own = {name: value for name, value in self.judge.items() if name not in _OF_PANELS}
                return {**own, "models": models[:1]}
            return {**self.judge, "models": models}
        older = self.judge_model_args
        if "score_pattern" in older:  # a judge of 1.x replies in JSON: reading these settings says so
            return {"judge_model_args": {"score_pattern": older["score_pattern"]}}
        own = {name: older[name] for name in _SHOWN_OF_JUDGES if older.get(name)}
        given = {
            "strategy": self.judge_strategy if self.judge_strategy != "auto" else "",
            "contract": {name: older[name] for name in _CONTRACT if name in older},
            "models": [{"model_id": "judge", **own}] if own else [],
        }
        return {name: value for name, value in given.items() if value}

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> TaskConfig:
        """A configuration from a mapping, which is not changed; it may be one that 1.x has written."""
        return cls(**{name: value for name, value in d.items() if name not in _WRITTEN_THERE})

    @classmethod
    def from_yaml(cls, yaml_file: str | Path) -> TaskConfig:
        """A configuration from a YAML file."""
        content = parse_yaml(_file_text(yaml_file), where=str(yaml_file))
        return cls.from_dict(_mapping(content, str(yaml_file)))

    @classmethod
    def from_json(cls, json_file: str | Path) -> TaskConfig:
        """A configuration from a JSON file."""
        try:
            content = json.loads(_file_text(json_file))
        except ValueError as error:
            raise PlanError(f"The configuration is not valid JSON: {error}.", where=str(json_file)) from None
        return cls.from_dict(_mapping(content, str(json_file)))

    @classmethod
    def from_args(cls, args: Namespace) -> TaskConfig:
        """A configuration from parsed arguments; those that are ``None`` keep their defaults."""
        return cls(**{name: value for name, value in vars(args).items() if value is not None and name != "func"})

    def update(self, other: TaskConfig | Mapping[str, Any]) -> None:
        """Set further fields.

        Raises:
            PlanError: if there is no such field.
        """
        values = other.to_dict() if isinstance(other, TaskConfig) else dict(other)
        _check_names(values)
        if "judge" in values:
            self.judge_strategy, self.judge_model_args = "auto", {}
        for name, value in values.items():
            setattr(self, name, _own(name, value))
        if "model" in values and "model_id" not in values:
            self.model_id = None
        self._normalise()

    def to_dict(self) -> dict[str, Any]:
        """All fields, including the key; a model that is an object stays one. ``TaskConfig(**config.to_dict())`` gives
        an equal configuration.
        """
        return {name: _own(name, getattr(self, name)) for name in FIELDS}

    def shown(self) -> dict[str, Any]:
        """All fields as plain data without any key, for printing and writing."""
        values = self.to_dict()
        if values["model"] is not None and not isinstance(values["model"], str):
            values["model"] = type(values["model"]).__name__
        if "custom_outputs" in (values["model_args"] or {}):
            values["model_args"] = {
                **values["model_args"],
                "custom_outputs": len(values["model_args"]["custom_outputs"]),
            }
        values["api_key"] = NO_KEY if values["api_key"] in (None, NO_KEY) else HIDDEN
        plain: dict[str, Any] = without_secrets(json.loads(json.dumps(values, default=str)))
        return plain

    def dump_yaml(self, output_dir: str | Path) -> Path:
        """Write ``task_config_<digest>.yaml`` into a folder, without any key, and return its path."""
        import yaml

        text = yaml.safe_dump(self.shown(), allow_unicode=True, sort_keys=False)
        file = Path(output_dir) / f"task_config_{blake2b(text.encode(), digest_size=3).hexdigest()}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def __str__(self) -> str:
        return json.dumps(self.shown(), indent=4, ensure_ascii=False)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.shown().items())
        return f"TaskConfig({values})"


def parse_task_config(task_cfg: Any) -> TaskConfig:
    """A configuration from any of its forms: itself, a mapping, parsed arguments, or the path of a YAML or JSON file.

    Raises:
        PlanError: if it has another type, or an invalid field.
    """
    if isinstance(task_cfg, TaskConfig):
        return task_cfg
    if isinstance(task_cfg, Mapping):
        return TaskConfig.from_dict(task_cfg)
    if isinstance(task_cfg, Namespace):
        return TaskConfig.from_args(task_cfg)
    if isinstance(task_cfg, (str, Path)):
        ending = Path(task_cfg).suffix.lower()
        if ending in (".yaml", ".yml"):
            return TaskConfig.from_yaml(task_cfg)
        if ending == ".json":
            return TaskConfig.from_json(task_cfg)
        raise PlanError(
            f"{str(task_cfg)!r} is not a configuration file.", hint="Its name must end in .yaml, .yml or .json."
        )
    raise PlanError(
        f"A {type(task_cfg).__name__} is not a task configuration.",
        hint="Give a TaskConfig, a dict, an argparse.Namespace, or the path of a YAML or JSON file.",
    )


def check(config: TaskConfig) -> None:
    """Refuse what cannot be done.

    Raises:
        PlanError: if a field has an invalid value, or requires something that Polymeter does not do.
    """
    check_kind(config)
    for name in _CHOICES:
        _check_choice(config, name)
    notes_on_fields(config)
    _check_numbers_asked(config)
    _check_backend(config)
    _check_panel(config)
    if config.agent_config:
        raise PlanError(
            "Polymeter runs no agents of EvalScope.",
            where="TaskConfig agent_config",
            hint="Leave it out to ask each question once, or run the benchmark with EvalScope itself.",
        )
    if config.rerun_review and not config.use_cache:
        raise PlanError(
            "rerun_review scores existing answers again, and no folder with answers is named.",
            where="TaskConfig rerun_review",
            hint="Name it with use_cache.",
        )
    if config.model_id in (None, "", ".", "..") or any(separator in str(config.model_id) for separator in "/\\"):
        raise PlanError(
            f"The model_id {config.model_id!r} cannot name a folder.",
            where="TaskConfig model_id",
            hint="Choose a plain word.",
        )
    if not config.datasets:
        raise PlanError("No dataset is named.", where="TaskConfig datasets", hint="'polymeter tasks' lists them.")
    collection = config.dataset_args.get(_COLLECTION, {})
    if _COLLECTION in config.datasets and not (collection.get("local_path") or collection.get("dataset_id")):
        raise PlanError(
            "No file of the collection is named.",
            where="TaskConfig dataset_args",
            hint=f"Write dataset_args={{'{_COLLECTION}': {{'local_path': 'FILE.jsonl'}}}}; a sampler of "
            "evalscope.collections makes such a file.",
        )
    if config.dataset_hub and config.dataset_hub.lower() not in _HUBS:
        hint = did_you_mean(config.dataset_hub.lower(), _HUBS) or f"Known: {', '.join(_HUBS)}."
        raise PlanError(f"There is no dataset_hub {config.dataset_hub!r}.", where="TaskConfig dataset_hub", hint=hint)
    if config.stage == "review" and not config.use_cache:
        raise PlanError(
            "The stage 'review' scores existing answers, but no folder with answers is named.",
            where="TaskConfig stage",
            hint="Name it with use_cache: the folder that the stage 'infer' or 'all' has written.",
        )


def _check_numbers_asked(config: TaskConfig) -> None:
    """Refuse settings of generation that no request carries, and numbers of questions that cannot be.

    Raises:
        PlanError: if one is set.
    """
    for name, hint in NOT_SENT.items():
        if config.generation_config.get(name):
            what = f"Polymeter's requests carry no {name}."
            raise PlanError(what, where=f"TaskConfig generation_config.{name}", hint=hint)
    if config.limit is not None and not (0 < config.limit < 1 or (isinstance(config.limit, int) and config.limit > 0)):
        raise PlanError(
            f"'limit' must be a number of samples, or a share of them between 0 and 1, not {config.limit!r}.",
            where="TaskConfig limit",
        )
    if type(config.repeats) is not int or config.repeats < 1:
        raise PlanError(f"'repeats' must be 1 or more, not {config.repeats!r}.", where="TaskConfig repeats")


def check_kind(config: TaskConfig) -> None:
    """Refuse a kind of model that cannot be asked.

    Raises:
        PlanError: if ``eval_type`` is unknown or refused.
    """
    if config.eval_type in _OTHER_KINDS:
        why, hint = _OTHER_KINDS[config.eval_type]
        what = f"The eval_type {config.eval_type!r} cannot be used here: {why}"
        raise PlanError(what, where="TaskConfig eval_type", hint=hint)
    _check_choice(config, "eval_type")


def _check_choice(config: TaskConfig, name: str) -> None:
    value, choices = getattr(config, name), _CHOICES[name]
    if value not in choices:
        hint = did_you_mean(str(value), choices) or f"Known: {', '.join(choices)}."
        raise PlanError(f"There is no {name} {value!r}.", where=f"TaskConfig {name}", hint=hint)


def notes_on_fields(config: TaskConfig) -> list[str]:
    """Notes on fields that are set but have no effect.

    Raises:
        PlanError: if a refused field is set.
    """
    return EVAL.notes_on({name: getattr(config, name) for name in FIELDS}, configuration="TaskConfig")


def _check_panel(config: TaskConfig) -> None:
    """Refuse what a panel of judges does not do.

    Raises:
        PlanError: if several judges are to be joined by their median, or have different settings.
    """
    judges = config.judges()
    if len(judges) < 2:
        return
    if config.judge.get("aggregation") == "median":
        raise PlanError(
            "A panel of judges has no median.",
            where="TaskConfig judge.aggregation",
            hint="'mean' and 'majority_vote' join the judges' values.",
        )
    if any(one.get("generation_config", {}) != judges[0].get("generation_config", {}) for one in judges):
        raise PlanError(
            "All judges of a panel have the same generation_config.",
            where="TaskConfig judge.models",
            hint="Give each the same one, or run 'polymeter score' with each judge.",
        )


def _check_backend(config: TaskConfig) -> None:
    if config.eval_backend not in _BACKENDS:
        hint = did_you_mean(str(config.eval_backend), _BACKENDS) or f"Known: {', '.join(_BACKENDS)}."
        raise PlanError(
            f"There is no eval_backend {config.eval_backend!r}.", where="TaskConfig eval_backend", hint=hint
        )
    if config.eval_backend != "Native" or config.eval_config:
        raise PlanError(
            "Other evaluation tools are not called from here: eval_backend must be Native, without eval_config.",
            where="TaskConfig eval_backend",
            hint="Run that tool itself. Polymeter runs benchmarks of lmms-eval and EvalScope as its own tasks.",
        )


def _check_names(values: Mapping[str, Any]) -> None:
    for name in values:
        if name not in FIELDS:
            hint = did_you_mean(str(name).replace("-", "_"), FIELDS) or f"Known: {', '.join(FIELDS)}."
            raise PlanError(f"TaskConfig has no field {name!r}.", where="TaskConfig", hint=hint)


def _own(name: str, value: Any) -> Any:
    """A copy of a caller's value; a model is not copied, nor are the answers of a stand-in for one."""
    if name == "model":
        return value
    if name == "model_args" and isinstance(value, Mapping) and "custom_outputs" in value:
        return {**value, "custom_outputs": list(value["custom_outputs"])}
    return copy.deepcopy(value)


def _config_number(value: Any, name: str) -> float | None:
    """A number, or the text of one; as an integer if it is whole."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise PlanError(f"{name!r} must be a number, not {value!r}.", where="TaskConfig") from None
    return int(number) if number.is_integer() else number


def _model_id(model: Any) -> str:
    """The last part of a model's name, or the ``model_id`` of an object's ``config``."""
    if not isinstance(model, str):
        config = getattr(model, "config", None)
        own_id = config.get("model_id") if isinstance(config, Mapping) else None
        return str(own_id or "custom_model").replace(":", "-")
    backend, _, name = model.partition(":")
    path = name if name and backend in MODELS else model
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2].replace(":", "-")


def _file_text(file: str | Path) -> str:
    path = Path(file)
    if not path.is_file():
        raise PlanError(f"There is no configuration file {str(file)!r}.")
    return text_of(path, what="configuration")


def _mapping(content: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise PlanError("A configuration must be a mapping of fields.", where=where)
    return content
