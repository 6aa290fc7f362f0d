"""VLMEvalKit's models: the names of its list, its endpoints as Polymeter's backends, and the wrappers of a checkout."""

from __future__ import annotations

from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import weights_place
from polymeter.core.model import Model
from polymeter.core.names.registries import MODELS
from polymeter.interop.ulmeval.models.vlmevalkit.endpoints import API_CLASSES, endpoint_of
from polymeter.interop.ulmeval.models.vlmevalkit.names import SupportedName, supported, supported_name

__all__ = ["listed_names", "needs_wrapper", "vlm_model"]


def vlm_model(name: str = "", path: str = "", **arguments: Any) -> Model:
    """The model that ``--model vlm:NAME`` means: a wrapper in the file or checkout that ``path`` names, else one of the
    tool's list, run by one of Polymeter's own backends.

    Args:
        name: A name of ``supported_VLM``, or a class's name.
        path: ``--model-path``: a checkout, a file, a folder of files, or a module's dotted name.
        **arguments: Arguments of the wrapper's constructor, or of the backend.

    Raises:
        PlanError: if it cannot be found, loaded or run, or does not take these arguments.
    """
    exact = "" if path else supported_name(name)
    if not exact:
        from polymeter.interop.ulmeval.models.model import UlmModel

        return UlmModel(name, path, **arguments)
    entry = supported()[exact]
    if entry.is_api:
        own = endpoint_of(entry.cls, entry.arguments, name=exact)
        return MODELS.get(own.backend)(name=own.name, **{**own.arguments, **arguments})
    if not entry.hub_id:
        raise needs_wrapper(exact, entry)
    return MODELS.get("hf")(name=weights_place(entry.hub_id), **arguments)


def needs_wrapper(name: str, entry: SupportedName) -> PlanError:
    """The error for a model that only the tool's own wrapper runs."""
    return PlanError(
        f"Model {name!r} needs the tool's wrapper {entry.cls}.",
        where="--model",
        hint="Name a checkout of VLMEvalKit with --model-path; it is not installed.",
    )


def listed_names() -> dict[str, str]:
    """Every name of the tool's list, with the backend that runs it or what it needs."""
    return {name: runner(entry) for name, entry in supported().items()}


def runner(entry: SupportedName) -> str:
    """The backend and model that run an entry, or what it needs."""
    if not entry.is_api:
        return f"hf:{entry.hub_id}" if entry.hub_id else f"needs the wrapper {entry.cls}: --model-path VLMEVALKIT"
    own = API_CLASSES.get(entry.cls)
    if own is None or not own.backend:
        return f"needs {own.needs if own else entry.cls}"
    model = entry.arguments.get("model") or entry.arguments.get("model_id")
    return f"{own.backend}:{model}"
