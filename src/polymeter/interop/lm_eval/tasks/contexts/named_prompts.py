"""Prompts that a task takes by name (``use_prompt``), in place of its own question, target and choices.

``promptsource:NAME`` is one of the package of that name, ``FILE.yaml:NAME`` one of a file with prompts, and
``CATEGORY:NAME`` one of the two that lm-eval has itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.names.installing import pip_install
from polymeter.core.text.yaml_text import read_yaml
from polymeter.tasks.yaml.prompts.templates import compile_template

_OWN = {
    ("qa-basic", "question-newline-answer"): "Question: {{question}}\nAnswer:",
    ("qa-basic", "q-newline-a"): "Q: {{question}}\nA:",
}
_PACKAGE = "promptsource"


@dataclass(frozen=True, slots=True)
class NamedPrompt:
    """A prompt as functions of a row.

    Attributes:
        text: The question.
        target: What is expected.
        choices: The texts to choose from; raises where the prompt has none.
    """

    text: Callable[[Any], Any]
    target: Callable[[Any], Any]
    choices: Callable[[Any], Any]


def named_prompt(told: str, dataset: str | None, config: str | None, where: str) -> NamedPrompt:
    """The prompt of a name.

    Args:
        told: The value of ``use_prompt``.
        dataset: The dataset, by which the package has its prompts.
        config: The dataset's configuration.
        where: ``file:line`` of the field, for messages.

    Raises:
        PlanError: if no prompt has that name, or its package is not installed.
    """
    category, colon, name = told.partition(":")
    if not colon or not name or ":" in name:
        raise PlanError(f"use_prompt must be 'category:name', not {told!r}.", where=where)
    if category == _PACKAGE:
        return _of_package(name, dataset, config, where)
    if ".yaml" in category:
        return _of_file(category, name, where)
    template = _OWN.get((category, name))
    if template is None:
        known = [":".join(each) for each in _OWN]
        hint = did_you_mean(told, known, n=1) or f"Known: {', '.join(known)}, FILE.yaml:NAME, promptsource:NAME."
        raise PlanError(f"There is no prompt {told!r}.", where=where, hint=hint)
    render = _template(template, where)
    return NamedPrompt(render, render, _no_choices(told, where))


def _of_file(file: str, name: str, where: str) -> NamedPrompt:
    place = Path(where.rpartition(":")[0]).parent / file
    content = read_yaml(place if place.is_file() else Path(file), what="file of prompts")
    prompts = content.get("prompts") if isinstance(content, Mapping) else None
    prompt = prompts.get(name) if isinstance(prompts, Mapping) else None
    if not isinstance(prompt, Mapping) or not {"doc_to_text", "doc_to_target"} <= prompt.keys():
        raise PlanError(f"{file} has no prompt {name!r} with doc_to_text and doc_to_target.", where=where)
    texts = [_template(str(prompt[field]), where) for field in ("doc_to_text", "doc_to_target")]
    return NamedPrompt(texts[0], texts[1], _no_choices(f"{file}:{name}", where))


def _of_package(name: str, dataset: str | None, config: str | None, where: str) -> NamedPrompt:
    if importlib.util.find_spec(_PACKAGE) is None:
        raise PlanError(
            f"The prompt 'promptsource:{name}' needs the package {_PACKAGE!r}, which is not installed.",
            where=where,
            hint=f"Install it with: {pip_install(_PACKAGE)}",
        )
    with boundary(PlanError, f"Reading the prompt {name!r} of {_PACKAGE}"):
        module: Any = importlib.import_module("promptsource.templates")
        prompts = module.DatasetTemplates(dataset) if config is None else module.DatasetTemplates(dataset, config)
        names = list(prompts.all_template_names)
        if name not in names:
            hint = did_you_mean(name, names) or f"Known: {', '.join(names)}."
            raise PlanError(f"{_PACKAGE} has no prompt {name!r} for {dataset}.", where=where, hint=hint)
        prompt = prompts[name]

    def part(doc: Any, place: int) -> Any:
        with boundary(DataError, f"The prompt {name!r} of {_PACKAGE}"):
            return prompt.apply(doc)[place]

    return NamedPrompt(lambda doc: part(doc, 0), lambda doc: part(doc, 1), prompt.get_answer_choices_list)


def _template(text: str, where: str) -> Callable[[Any], str]:
    return compile_template(text, None, field="use_prompt", where=where, keeps_newline=True)


def _no_choices(told: str, where: str) -> Callable[[Any], Any]:
    def choices(doc: Any) -> Any:
        raise PlanError(f"The prompt {told!r} has no choices, which the task needs.", where=where)

    return choices
