"""The chat template of a wrapped model, for files in lm-eval's form: they show a conversation as the model read it.

A run folder holds the messages. Their text is the wrapper's own affair, so its object outlives the run and writes them
once more; where no run has loaded it (all answers were stored), it is loaded when the first text is wanted.
"""

from __future__ import annotations

import json

from polymeter.api.running import model_of
from polymeter.api.settings import read_settings
from polymeter.core.errors import PolymeterError
from polymeter.core.model import Model, ModelSpec
from polymeter.guests.door import in_mode
from polymeter.interop.lm_eval.files.sample_lines import Render
from polymeter.interop.lm_eval.model_names import LmEvalRoute
from polymeter.interop.lm_eval.models import LmModel
from polymeter.interop.lm_eval.models.base import LM_MODELS
from polymeter.run.plan.models import make_model

_BACKEND = "lm:"


def kept_wrapper(routed: LmEvalRoute, path: str, model: Model | None) -> LmModel | None:
    """A wrapped model that keeps its object when the run ends; ``None`` for any other.

    Args:
        routed: The model that a command names.
        path: The file that defines it, or empty.
        model: The model that is used instead of that one.

    Raises:
        PlanError: if it cannot be made.
    """
    name = routed.spec.removeprefix(_BACKEND)
    if model is None and name != routed.spec and (path or name in LM_MODELS):
        spec = model_of(routed.spec, path, routed.arguments)
        if isinstance(spec, ModelSpec):
            model = make_model(spec, read_settings().weights)
            model.made_from = spec
    if not isinstance(model, LmModel):
        return None
    model.keeps_object = True
    return model


def template_of(wrapper: LmModel) -> Render:
    """Its chat template as a function of the turns; they stay JSON where it cannot write them, since files are written
    when everything is paid for.
    """
    is_broken = False

    def render(turns: list[dict[str, str]]) -> str:
        nonlocal is_broken
        if not is_broken:
            try:
                with in_mode("model"):
                    return wrapper.rendered(turns)
            except PolymeterError:
                is_broken = True
        return json.dumps(turns, ensure_ascii=False)

    return render
