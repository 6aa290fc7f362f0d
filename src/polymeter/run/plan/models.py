"""From a model's name to a model: registry, arguments, local weights.

Planning constructs no guest's model. A wrapper that brings its own prompts is asked for them once it is loaded
(``OwnPrompt``), and the prompts are in the journal with their media. So ``score`` never loads the wrapper, and
``resume`` asks it only for rows that it has not answered.
"""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, boundary, did_you_mean, nearest
from polymeter.core.guest_context import weights_from
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec, ModelTraits
from polymeter.core.names.registries import MODELS
from polymeter.core.names.registry import place_of
from polymeter.core.names.systems import systems
from polymeter.core.settings.generation_names import SHARED
from polymeter.guests.door import in_mode

_FLAGS = {
    "base_url": "--base-url",
    "server_args": "--server-args",
    "start_timeout_s": "--server-timeout",
    "strip_prompt": "--strip-prompt",
    "logprob_template": "--logprob-template",
}
"""Arguments of models that have an option of their own."""
_HOW_TO_ADD = {
    "identity": "Add to the class: @property def identity(self): return {…}, with all that can change an answer.",
    "respond": "Add to the class: def respond(self, requests): return one polymeter.Response for each request.",
}


def parse_model(text: str, *, path: str = "", args: Mapping[str, Any] | None = None) -> ModelSpec:
    """A model's spec from what people write: ``ocr``, ``hf:Qwen/Qwen2.5-VL-3B-Instruct``, ``lmms:my_model``.

    Raises:
        PlanError: There is no such backend.
    """
    backend, _, name = text.partition(":")
    if backend not in MODELS:
        raise _no_model(text, path)
    return ModelSpec(backend, name, dict(args or {}), path)


def make_model(spec: ModelSpec, weights: Mapping[str, str]) -> Model:
    """Make a model; its weights are read later, by ``load``.

    Args:
        spec: Which one.
        weights: Local files in place of model ids.

    Raises:
        PlanError: An unknown argument (the nearest is named), a missing package, or a model that cannot be made.
    """
    factory = MODELS.get(spec.backend)
    _check_class(factory)
    args = {name: weights.get(value, value) if isinstance(value, str) else value for name, value in spec.args.items()}
    parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name, value in args.items():
        if name not in parameters and not takes_any:
            known = ", ".join(name for name in parameters if name != "name") or "none"
            hint = _as_generation_setting(name, value, parameters) or did_you_mean(name, parameters)
            hint = hint or f"It takes: {known}."
            where = _FLAGS.get(name, "--model-args")
            hint = f"{where} is not for this model. {hint}" if name in _FLAGS else hint
            raise PlanError(f"Model {spec.backend!r} has no argument {name!r}.", where=where, hint=hint)
    if spec.name:
        if "name" not in parameters and not takes_any:
            raise PlanError(
                f"Model {spec.backend!r} takes no name, but got {spec.name!r}.", hint=f"Write --model {spec.backend}."
            )
        args["name"] = weights.get(spec.name, spec.name)
    if spec.path:
        if "path" not in parameters and not takes_any:
            raise PlanError(f"Model {spec.backend!r} takes no --model-path.")
        args["path"] = spec.path
    for name, parameter in parameters.items():
        is_needed = parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
        if is_needed and name not in args:
            how = f"Write --model {spec.backend}:NAME." if name == "name" else f"Give it with --model-args {name}=…"
            where = "--model" if name == "name" else "--model-args"
            raise PlanError(f"Model {spec.backend!r} needs {name!r}.", where=where, hint=how)
    with in_mode("load"), boundary(PlanError, f"Making model {str(spec)!r}"), weights_from(weights):
        model = factory(**args)
    return check_model(model)


def _as_generation_setting(name: str, value: Any, parameters: Collection[str]) -> str:
    """Return the place to write a setting that is about answers and not about the model; empty for any other."""
    near = nearest(name, {*parameters, *SHARED}, n=1)
    if not near or near[0] in parameters:
        return ""
    return f"Generation settings have an option of their own: --gen-kwargs {near[0]}={value}"


def check_model(model: Any) -> Model:
    """A model given as an object, if it is one.

    Raises:
        PlanError: It is of neither shape, or lacks what planning asks of it.
    """
    if isinstance(model, type) and issubclass(model, (BatchModel, AsyncModel)):
        raise PlanError(f"{model.__name__} is a class of models.", hint=f"Give an instance: {model.__name__}(…)")
    if not isinstance(model, (BatchModel, AsyncModel)):
        raise PlanError(
            f"{type(model).__name__} is not a model: it is neither a BatchModel nor an AsyncModel.",
            where=_place_of_class(type(model)),
            hint="Give a model's name, or an instance of a class that derives from polymeter.BatchModel or "
            "polymeter.AsyncModel.",
        )
    if not isinstance(getattr(model, "traits", None), ModelTraits):
        raise PlanError(
            f"{type(model).__name__} has no traits, which describe its abilities.",
            where=_place_of_class(type(model)),
            hint=f"Write in its __init__: self.traits = polymeter.ModelTraits(family={type(model).__name__.lower()!r})",
        )
    _check_members(type(model))
    if isinstance(model, AsyncModel) and model.traits.has_own_prompts:
        raise PlanError(
            f"{type(model).__name__} is an endpoint, but its traits declare prompts of its own.",
            hint="Only a model on this machine (BatchModel) makes prompts; build them in respond().",
        )
    return model


def _no_model(text: str, path: str) -> PlanError:
    """The error for a name without a backend that is known, with what to write instead."""
    backend = text.partition(":")[0]
    hints = [
        f"Write --model {name}:{text}."
        for name in MODELS
        if ":" not in text and any(fnmatch.fnmatchcase(text, pattern) for pattern in MODELS.find(name).usual)
    ]
    if hints:
        hints = [f"Name the backend that runs the model. {' Or: '.join(reversed(hints))}"]
    elif near := did_you_mean(backend, MODELS):
        hints = [near]
    if path.endswith(".py"):
        file = Path(path).name
        wrapped = [f"--model {name}:NAME" for system in systems() for name in system.models]
        hints.append(
            f"--model-path is for wrappers of other systems ({', '.join(wrapped)}). A model of your own is "
            f"registered by its file, @polymeter.register_model({backend!r}), and loaded with --import {file}."
        )
    known = f"Known: {', '.join(sorted(MODELS))}."
    asked = backend if ":" in text else text
    return PlanError(f"There is no model {asked!r}.", where="--model", hint=" ".join(hints) or known)


def _check_class(factory: Any) -> None:
    """Refuse a class of models that lacks what it must have, before it is called."""
    missing = sorted(getattr(factory, "__abstractmethods__", ()))
    if missing:
        hint = " ".join(_HOW_TO_ADD[name] for name in missing if name in _HOW_TO_ADD)
        raise PlanError(
            f"{factory.__name__} has no {' and no '.join(missing)}.", where=_place_of_class(factory), hint=hint
        )


def _place_of_class(cls: Any) -> str:
    """``file:line`` of a class; of a function and of what has no source, its place as registries name it."""
    try:
        return f"{inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return "" if getattr(cls, "__module__", "") == "builtins" else place_of(cls)


def _check_members(cls: type) -> None:
    """Refuse members of a model's class that are not of the kind that the engine uses."""
    if inspect.isfunction(inspect.getattr_static(cls, "identity", None)):
        raise PlanError(
            f"identity of {cls.__name__} is a method.", where=_place_of_class(cls), hint="Write @property above it."
        )
    is_async = inspect.iscoroutinefunction(getattr(cls, "respond", None))
    if is_async and issubclass(cls, BatchModel):
        raise PlanError(
            f"respond of {cls.__name__} is async, and its class is a BatchModel.",
            where=place_of(cls.respond),
            hint="Derive it from polymeter.AsyncModel, whose respond gets one request; or write def respond.",
        )
