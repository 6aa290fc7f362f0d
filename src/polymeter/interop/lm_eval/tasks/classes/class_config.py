"""Objects that task classes work with besides their methods: the configuration that they read and change, splits that
open at first use, and the settings that the run passes to them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.interop.lm_eval.tasks.config import FEWSHOT_KEYS, GENERATE, MOST_TOKENS, LmTaskConfig

_OF_TASKS = ("process_docs", "fewshot_delimiter", "target_delimiter", "gen_prefix")
_FORMS = ("doc_to_text", "doc_to_choice", "doc_to_target")


@dataclass(slots=True)
class LmTaskContext:
    """The settings that the run passes to a task class. An object has them before its constructor runs, because
    constructors written for lm-eval have no parameter for them and many open their dataset there.

    Attributes:
        name: The task's name in its YAML.
        directory: Folder of the YAML.
        data: Local files in place of dataset ids.
        cache_dir: The folder for prepared datasets.
        context_of: From a row and the position of its sample, the context that ``fewshot_context`` writes unless a
            subclass does; ``None`` before the task is put together.
        position: The position of the sample whose context is written.
    """

    name: str = ""
    directory: Path = field(default_factory=Path)
    data: Mapping[str, str] = field(default_factory=dict)
    cache_dir: Path | None = None
    context_of: Callable[[Any, int], Any] | None = None
    position: int = 0


class _ClassFields(dict[str, Any]):
    """A configuration whose fields are attributes and items."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __contains__(self, name: object) -> bool:
        return name in vars(self)

    def get(self, name: str, default: Any = None) -> Any:
        """A field's value; the default if it has none."""
        value = vars(self).get(name)
        return default if value is None else value


class FewshotConfig(_ClassFields):
    """The choice and the form of the examples of a task.

    Raises:
        TypeError: if a field is unknown.
    """

    def __init__(self, **values: Any) -> None:
        super().__init__()
        _refuse_unknown("FewshotConfig", values, FEWSHOT_KEYS)
        vars(self).update(dict.fromkeys(FEWSHOT_KEYS), sampler="default")
        vars(self).update(values)

    @classmethod
    def from_dict(cls, cfg: Mapping[str, Any], **inherited: Any) -> FewshotConfig:
        """Make a configuration from the examples' own one, and from the task's for missing keys."""
        task_says = {("split" if name == "fewshot_split" else name): value for name, value in inherited.items()}
        return cls(**{**task_says, **cfg})


class TaskConfig(_ClassFields):
    """The configuration of a task as its class reads and changes it: attributes, items, ``to_dict``.

    Raises:
        TypeError: if a field is unknown.
    """

    def __init__(self, **values: Any) -> None:
        super().__init__()
        names = [*LmTaskConfig.model_fields, "tag"]
        _refuse_unknown("TaskConfig", values, names)
        defaults = {name: info.default for name, info in LmTaskConfig.model_fields.items() if not info.is_required()}
        unset = {"task": None, "tag": None, "dataset_kwargs": None, "metadata": None}
        vars(self).update({**defaults, **unset, **values})
        given = vars(self)
        greedy = {"temperature": 0.0, "do_sample": False, "max_gen_toks": MOST_TOKENS}
        if given["generation_kwargs"] is not None or given["output_type"] == GENERATE:
            settings = greedy if given["generation_kwargs"] is None else given["generation_kwargs"]
            given["generation_kwargs"] = {"until": [given["fewshot_delimiter"]], **settings}
        if not isinstance(given["fewshot_config"], FewshotConfig):
            told = {name: given[name] for name in (*_OF_TASKS, *_FORMS)}
            examples = given["fewshot_config"] or {}
            given["fewshot_config"] = FewshotConfig.from_dict(examples, fewshot_split=given["fewshot_split"], **told)

    def written(self) -> dict[str, Any]:
        """The fields that differ from nothing, as a YAML file would have them."""
        values = {name: value for name, value in vars(self).items() if value is not None and name != "tag"}
        examples = {name: value for name, value in vars(values.pop("fewshot_config")).items() if value is not None}
        return {**values, "fewshot_config": examples}

    def to_dict(self, keep_callable: bool = False) -> dict[str, Any]:
        """The fields that have a value; functions as their source unless ``keep_callable``."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        values["fewshot_config"] = dict(vars(self.fewshot_config))
        return values if keep_callable else {name: _plain(value) for name, value in values.items()}


class LmTaskSplits(dict[str, Any]):
    """Splits of a dataset, each opened at first use.

    Args:
        open_split: Opens one.
        names: The names of all; called when somebody asks which there are.
    """

    def __init__(self, open_split: Callable[[str], Any], names: Callable[[], list[str]]) -> None:
        super().__init__()
        self._open, self._names = open_split, names

    def __missing__(self, split: str) -> Any:
        self[split] = self._open(split)
        return self[split]

    def __contains__(self, split: object) -> bool:
        return super().__contains__(split) or split in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*super().__iter__(), *self._names()]))

    def keys(self) -> Any:
        """The names of all splits."""
        return dict.fromkeys(self).keys()

    def items(self) -> Any:
        """The names of all splits, with the splits."""
        return {split: self[split] for split in self}.items()


def _refuse_unknown(kind: str, values: Mapping[str, Any], names: Sequence[str]) -> None:
    unknown = next((name for name in values if name not in names), None)
    if unknown is not None:
        raise TypeError(f"{kind} has no field {unknown!r}")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not callable(value):
        return value
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return str(value)
