"""The ``lm`` backend as the engine sees it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from polymeter.core.errors import ModelError, PlanError, boundary
from polymeter.core.model import ALL_READY, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Loglikelihood, Request, RequestKind, Response
from polymeter.guests.contain import without_chatter
from polymeter.guests.wrappers import check_arguments, parameters
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.models.arguments import written
from polymeter.interop.lm_eval.models.base import LM
from polymeter.interop.lm_eval.models.calls import Render, instances_of, method_of, read_answers
from polymeter.interop.lm_eval.models.loading import FoundLm, find_lm
from polymeter.interop.lm_family.models.answers import as_list, check_count
from polymeter.interop.lm_family.models.loading import found_class
from polymeter.interop.lm_family.models.model import RUNTIME, FamilyBackend, is_written
from polymeter.models.memory import free_memory

_SIZES = ("batch_size", "max_batch_size")


class LmModel(FamilyBackend):
    """A subclass of ``LM``, unmodified. It gets all requests of one kind that are ready and batches them itself.

    Args:
        name: The name that it is registered under, or its class's; may be left out if the path defines only one.
        path: ``--model-path``: a file, a package folder, or a module's dotted name.
        apply_chat_template: Whether it gets conversations through its own ``apply_chat_template``, where the request
            does not say: by default it gets their text, as without the flag of this name there.
        **arguments: Arguments of its own constructor.

    Attributes:
        keeps_object: Whether the object stays when the run closes the model, until the model is dropped: its chat
            template is wanted once more.

    Raises:
        PlanError: if it cannot be found or loaded, or does not take these arguments.
    """

    batch_hint = ALL_READY
    keeps_object = False

    def __init__(self, name: str = "", path: str = "", apply_chat_template: bool = False, **arguments: Any) -> None:
        found = find_lm(name, path)
        check_arguments(found.cls, arguments, RUNTIME)
        self._set_up(found, arguments, uses_template=bool(apply_chat_template))

    @classmethod
    def around(cls, lm: LM, *, apply_chat_template: bool = False) -> LmModel:
        """A model around an existing object, which still belongs to the caller.

        Its constructor's arguments are unknown, so two that differ only in them are one model to a run folder.
        """
        model = cls.__new__(cls)
        model._set_up(found_class(type(lm)), {}, uses_template=apply_chat_template)
        model._callers_lm = lm
        return model

    def _set_up(self, found: FoundLm, arguments: Mapping[str, Any], *, uses_template: bool) -> None:
        self._found, self._arguments, self._uses_template = found, dict(arguments), uses_template
        self._callers_lm: LM | None = None
        self._lm: LM | None = None
        self.traits = _traits(found)
        self.identify("lm", found, arguments, apply_chat_template=uses_template)

    def load(self) -> None:
        """Construct the model, which reads its weights.

        Raises:
            PlanError: if its constructor raises, or a package that it imports is missing.
        """
        if self._callers_lm is not None:
            self._lm = self._callers_lm
            return
        cls = self._found.cls
        with boundary(PlanError, f"Making the model {cls.__name__!r}"):
            try:
                self._lm = _construct(cls, self._arguments, self.planned_batch_size)
            except ModuleNotFoundError as error:
                raise missing_package(error.name or "?", f"the model {cls.__name__!r}") from error

    def group_key(self, request: Request) -> Hashable:
        """One method a call; models sort settings themselves."""
        return method_of(request)

    def respond(self, requests: list[Request]) -> list[Response]:
        """Call the model once.

        Raises:
            ModelError: if it is not loaded, raises, or returns too few or too many answers.
        """
        lm = self._lm
        if lm is None:
            raise ModelError("The model is not loaded.", hint="Call load() first.")
        instances = [instances_of(request, self.rows, self._render(lm, request)) for request in requests]
        answers = iter(_answers(lm, method_of(requests[0]), [one for each in instances for one in each]))
        return [
            read_answers(request, [next(answers) for _ in each])
            for request, each in zip(requests, instances, strict=True)
        ]

    def close(self) -> None:
        """Drop the object, unless it is to be kept."""
        if not self.keeps_object:
            self._lm = None
        free_memory()

    def rendered(self, turns: list[dict[str, str]]) -> str:
        """A conversation as the object's chat template writes it, open for the answer. Loads the object if need be.

        Raises:
            PlanError: if its constructor raises.
            ModelError: if its template raises, or gives no text.
        """
        if self._lm is None:
            self.load()
        assert self._lm is not None
        with boundary(ModelError, "apply_chat_template"), without_chatter():
            text = self._lm.apply_chat_template(turns, add_generation_prompt=turns[-1]["role"] != "assistant")
        if not isinstance(text, str):
            raise ModelError(f"apply_chat_template gave {text!r:.60} in place of text.")
        return text

    def _render(self, lm: LM, request: Request) -> Render | None:
        """The model's chat template, if a request goes through it."""
        template = getattr(request.parameters, "template", "auto")
        if isinstance(request.parameters, Loglikelihood) and request.parameters.is_rolling:
            return None
        if template != "chat" and not (template == "auto" and self._uses_template):
            return None
        if not is_written(type(lm), LM, "apply_chat_template"):
            raise ModelError(
                f"The model {self._found.name!r} has no apply_chat_template, and a conversation is to go through it.",
                hint="Write that method, or run without the chat template.",
            )
        return lambda history, begins: lm.apply_chat_template(history, add_generation_prompt=begins)


def _construct(cls: type[LM], arguments: Mapping[str, Any], planned_size: int | None) -> LM:
    """Construct a model as lm-eval does, but with those of its own settings only that the constructor takes."""
    named, takes_any = parameters(cls)
    size = arguments.get("batch_size", planned_size or 1)
    given = {name: value for name, value in arguments.items() if name not in _SIZES}
    more = {"batch_size": size, "max_batch_size": arguments.get("max_batch_size")}
    for creator, first in (("create_from_arg_obj", given), ("create_from_arg_string", written(given))):
        if getattr(getattr(cls, creator), "__func__", None) is not vars(LM)[creator].__func__:
            made: LM = getattr(cls, creator)(first, {"device": None, **more})
            return made
    taken = {name: value for name, value in more.items() if value is not None and (name in named or takes_any)}
    return cls(**given, **taken)


def _answers(lm: LM, method: str, instances: list[Instance]) -> list[Any]:
    where = f"{method} of {type(lm).__name__}"
    with boundary(ModelError, where), without_chatter():
        answers = as_list(getattr(lm, method)(instances), where, hint="")
    check_count(answers, len(instances), where)
    return answers


_METHODS: Mapping[RequestKind, tuple[str, ...]] = {
    "generate": ("generate_until",),
    "loglikelihood": ("loglikelihood", "loglikelihood_rolling"),
}


def _traits(found: FoundLm) -> ModelTraits:
    """Return the traits that a model's class shows: it cannot do what it does not define. Media only if the class
    states them.
    """
    supported: dict[RequestKind, bool] = {"generate_image": False}
    for kind, methods in _METHODS.items():
        supported[kind] = any(is_written(found.cls, LM, method) for method in methods)
    is_multimodal = bool(getattr(found.cls, "MULTIMODAL", False))
    return ModelTraits(
        family=found.name,
        kind="simple",
        requests=supported,
        modalities={"text": True, "video": False, **({} if is_multimodal else {"image": False, "audio": False})},
        is_completion=True,
        is_foreign=True,
    )
