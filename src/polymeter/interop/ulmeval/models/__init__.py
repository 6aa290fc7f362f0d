"""The ``ulm`` backend: model wrappers written for ULMEvalKit, run unmodified, and ULMEvalKit's own models by name.

``loading`` finds the class in the user's file; ``calling`` makes its arguments and ``answers`` reads what it returns;
``model`` puts these together for the engine. ``zoo`` lists ULMEvalKit's own; ``native`` gives them the interface of a
wrapper, and holds ``supported_ULM``.
"""

from __future__ import annotations

from typing import Any

from polymeter.core.model import Model
from polymeter.interop.ulmeval.models.model import UlmModel
from polymeter.interop.ulmeval.models.native import supported_ULM
from polymeter.interop.ulmeval.models.words import adding_words
from polymeter.interop.ulmeval.models.zoo import native_backend

__all__ = ["UlmModel", "ulm_model"]


def ulm_model(name: str = "", path: str = "", **arguments: Any) -> Model:
    """The model that ``--model ulm:NAME`` means: a wrapper in the file that ``path`` names, or one that an imported
    file has put into ``supported_ULM``, else one of ULMEvalKit's models, run by one of Polymeter's own backends.

    Args:
        name: A class's name, or a name of ``supported_ULM``.
        path: ``--model-path``: a file, a folder of files, or a module's dotted name.
        **arguments: Arguments of the wrapper's constructor, or of the backend (and ``model_path``, for other weights).

    Raises:
        PlanError: if it cannot be found, loaded or run, or does not take these arguments.
    """
    built_in = "" if path else supported_ULM.built_in(name)
    if not built_in:
        return UlmModel(name, path, **arguments)
    model_path = str(arguments.pop("model_path", ""))
    return adding_words(native_backend(built_in, arguments, model_path), built_in)
