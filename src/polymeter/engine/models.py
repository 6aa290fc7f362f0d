"""From a model's name to a model: registry, arguments, local weights."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.core.guest_context import weights_from
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.registries import MODELS
from polymeter.guests.door import in_mode


def parse_model(text: str, *, path: str = "", args: Mapping[str, Any] | None = None) -> ModelSpec:
    """A model's spec from what people write: ``ocr``, ``hf:Qwen/Qwen2.5-VL-3B-Instruct``, ``lmms:my_model``.

    Raises:
        PlanError: There is no such backend.
    """
    backend, _, name = text.partition(":")
    MODELS.find(backend)
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
    args = {name: weights.get(value, value) if isinstance(value, str) else value for name, value in spec.args.items()}
    parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in args:
        if name not in parameters and not takes_any:
            known = ", ".join(name for name in parameters if name != "name") or "none"
            hint = did_you_mean(name, parameters) or f"It takes: {known}."
            raise PlanError(f"Model {spec.backend!r} has no argument {name!r}.", where="--model-args", hint=hint)
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
            raise PlanError(f"Model {spec.backend!r} needs {name!r}.", hint=how)
    with in_mode("load"), boundary(PlanError, f"Making model {str(spec)!r}"), weights_from(weights):
        model = factory(**args)
    return check_model(model)


def check_model(model: Any) -> Model:
    """A model given as an object, if it is one.

    Raises:
        PlanError: It is of neither shape.
    """
    if not isinstance(model, (BatchModel, AsyncModel)):
        raise PlanError(
            f"A {type(model).__name__} is not a model.",
            hint="Give a model's name, or an instance of polymeter.BatchModel or polymeter.AsyncModel.",
        )
    if isinstance(model, AsyncModel) and model.traits.has_own_prompts:
        raise PlanError(
            f"{type(model).__name__} is an endpoint and says that it has prompts of its own.",
            hint="Only a model on this machine (BatchModel) makes prompts; build them in respond().",
        )
    return model
