"""Models that are a user's own object: ``predict(prompts, origin_inputs=…, infer_cfg=…)``, as in EvalScope 0.17.

Users subclass ``CustomModel``; ``CustomBackend`` makes such an object a model for the engine.
"""

from __future__ import annotations

import inspect
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.identity import fingerprint, source_hash
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import is_pil
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.records.usage import told_once
from polymeter.core.request import Error, Generate, GenerateImage, Output, Request, RequestKind, Response, Usage
from polymeter.core.rows import RowAccess
from polymeter.core.settings.repeats import group_repeats
from polymeter.core.text.codec import jsonable
from polymeter.core.text.secrets import without_secrets
from polymeter.guests import contained
from polymeter.interop.evalscope.tasks.prompts import JSON_NOTE, is_own_form
from polymeter.models.endpoint.shapes import count

_PLACEHOLDER = "*PlaceHolder*"
_SHOWN = 120
_FAILED = ("abort", "cancelled", "error", "timeout")
"""Values of ``finish_reason`` with which a server reports that it has no answer."""
_REQUESTS: Mapping[RequestKind, bool] = {"generate": True, "loglikelihood": False, "generate_image": True}
_IMAGE_PATH = "image_path"
_MODALITIES: Mapping[Modality, bool] = {"text": True, "image": False, "audio": False, "video": False}


class CustomModel(ABC):
    """A model that a user has written.

    Args:
        config: Its settings; ``model_id`` names it in reports.
        **kwargs: Kept as ``kwargs``.
    """

    def __init__(self, config: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.config: dict[str, Any] = {} if config is None else config
        self.kwargs = kwargs

    @abstractmethod
    def predict(self, prompts: list[str], **kwargs: Any) -> list[dict[str, Any]]:
        """Answer prompts, in order.

        Args:
            prompts: One text for each.
            **kwargs: ``origin_inputs``, the prompts as the benchmark made them; ``infer_cfg``, generation settings.

        Returns:
            A chat completion in OpenAI's form for each prompt, of which ``choices[i].message.content`` and, if present,
            ``usage`` are read. The content is text; for a benchmark of continuations the list of their
            log-probabilities; for one whose conversations are mappings what it reads (any JSON); for a benchmark of
            images the path of an image, or an image of Pillow. An empty content stands for the image that the record
            names as ``image_path``.
        """


class DummyCustomModel(CustomModel):
    """Gives the same text for every prompt, to try out a benchmark. Where images are asked for, it stands for those
    that the records name, so that images that were made elsewhere are scored without a model.
    """

    def predict(self, prompts: list[str], **kwargs: Any) -> list[dict[str, Any]]:
        """A placeholder for each prompt."""
        message = {"role": "assistant", "content": _PLACEHOLDER}
        return [{"choices": [{"index": 0, "message": message}], "object": "chat.completion"} for _ in prompts]


# The module and source hash of DummyCustomModel when journals began to hold them. Its answers have not changed since,
# so its identity must not change either: otherwise moving or editing this file would invalidate stored answers.
_DUMMY_IDENTITY = {
    "class": "polymeter.models.custom.DummyCustomModel",
    "sources": "321489a0889820274f20d2b112f09588",
}


class CustomBackend(BatchModel):
    """A ``CustomModel`` as a model of the engine.

    Args:
        custom: The user's object.
    """

    batch_hint = 1

    def __init__(self, custom: CustomModel) -> None:
        self._custom = custom
        self.traits = ModelTraits(family="custom", requests=_REQUESTS, modalities=_MODALITIES, is_foreign=True)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Class, source and settings without secrets. Objects that are equal in these are one model."""
        return {
            "backend": "custom",
            **_identity_of_class(type(self._custom)),
            "config": fingerprint(without_secrets(jsonable(dict(self._custom.config)))),
        }

    def group_key(self, request: Request) -> Hashable:
        """The benchmark: settings apply to a whole batch, so a batch never mixes benchmarks."""
        return request.origin.task if request.origin else None

    @property
    def joins_repeats(self) -> bool:
        """``predict`` gets the number of answers for each prompt as ``num_return_sequences``."""
        return True

    def respond(self, requests: list[Request]) -> list[Response]:
        """Call ``predict`` once for all prompts with the same number of repeats.

        Raises:
            ModelError: if it raises, or returns another number of answers than there are prompts.
        """
        groups = group_repeats(requests)
        answered: dict[int, list[Response]] = {}
        for n in sorted({len(group) for group in groups}):
            positions = [position for position, group in enumerate(groups) if len(group) == n]
            predicted = self._predict([groups[position][0] for position in positions], n)
            answered.update(zip(positions, predicted, strict=True))
        return [response for position in range(len(groups)) for response in answered[position]]

    def _predict(self, requests: list[Request], n: int) -> list[list[Response]]:
        inputs = [origin_input(request, self.rows) for request in requests]
        prompts = [_prompt(request) for request in requests]
        doing = f"predict of {type(self._custom).__name__}"
        returned: Any
        with contained(), boundary(ModelError, doing):
            settings = infer_config(requests[0], n)
            returned = self._custom.predict(prompts=prompts, origin_inputs=inputs, infer_cfg=settings)
        if not isinstance(returned, Sequence) or isinstance(returned, str) or len(returned) != len(requests):
            wrong = f"{len(returned)} answers" if isinstance(returned, Sequence) else f"a {type(returned).__name__}"
            raise ModelError(f"{doing} gave {wrong} for {len(requests)} prompts.", hint="Return a list, one for each.")
        read = _image_output if isinstance(requests[0].parameters, GenerateImage) else _output
        return [
            _responses(answer, n, doing, partial(read, prompt)) for answer, prompt in zip(returned, inputs, strict=True)
        ]


def origin_input(request: Request, rows: RowAccess | None = None) -> dict[str, Any]:
    """A request in the form of an adapter's prompt: ``data``, ``index``, ``system_prompt``, ``raw_input``, and for a
    conversation of several turns ``messages``. It is the benchmark's own prompt if that is an adapter's.
    """
    origin = request.origin
    if origin is not None and origin.prompt is not None:
        return dict(origin.prompt)
    turns = [message for message in request.messages if message.role != "system"]
    systems = [message.text for message in request.messages if message.role == "system"]
    prompt: dict[str, Any] = {"data": [_user_text(request)], "index": 0}
    if systems:
        prompt["system_prompt"] = "\n".join(systems)
    if len(turns) > 1:
        prompt["messages"] = [{"role": message.role, "content": message.text} for message in request.messages]
    if origin is not None:
        number = origin.sample.rpartition("/")[2]
        prompt["index"] = int(number) if number.isdecimal() else origin.index
        row = rows(origin) if rows is not None else None
        if row is not None:
            prompt["raw_input"] = row.full_doc()
    return prompt


def _prompt(request: Request) -> Any:
    """The text of a request, or the first pair of context and continuation of a benchmark that asks about several."""
    pairs = (request.origin.prompt or {}).get("data") if request.origin is not None else None
    is_of_pairs = isinstance(pairs, list) and pairs and isinstance(pairs[0], (tuple, list))
    return tuple(pairs[0]) if is_of_pairs and pairs else _user_text(request)


def _user_text(request: Request) -> str:
    """The text of a request without its system prompt."""
    return "\n".join(message.text for message in request.messages if message.role != "system")


def infer_config(request: Request, n: int = 1) -> dict[str, Any]:
    """The generation settings of a request with ``n`` repeats, under their usual names; unset ones are absent."""
    parameters = request.parameters
    if isinstance(parameters, GenerateImage):
        width, height = parameters.size or (None, None)
        named: dict[str, Any] = {
            "width": width,
            "height": height,
            "num_images_per_prompt": n if n > 1 else None,
        }
    elif isinstance(parameters, Generate):
        named = {
            "max_new_tokens": parameters.max_new_tokens,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "stop": list(parameters.stop) or None,
            "num_return_sequences": n if n > 1 else None,
        }
    else:
        return {}
    return {**{name: value for name, value in named.items() if value is not None}, **parameters.extra}


def _responses(answer: Any, n: int, doing: str, read: Callable[[Any], Output]) -> list[Response]:
    """The answers of ``n`` repeats of one prompt."""
    if isinstance(answer, Mapping) and answer.get("error"):
        failure = ModelError(f"{doing} reports an error: {str(answer['error'])[:_SHOWN]}.")
        return [Response(error=Error.from_exception(failure))] * n
    try:
        outputs = tuple(read(choice) for choice in answer["choices"])
    except ModelError as error:
        return [Response(error=Error.from_exception(error))] * n
    except (AttributeError, KeyError, TypeError, IndexError):
        problem: PolymeterError = ModelError(
            f"{doing} gave {str(answer)[:_SHOWN]}.", hint="An answer has choices[0].message.content."
        )
        return [Response(error=Error.from_exception(problem))] * n
    usage = answer.get("usage") or {}
    if outputs and usage:
        counts = Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens"))
        outputs = (replace(outputs[0], usage=counts), *outputs[1:])
    if len(outputs) != n:
        wrong = ModelError(f"The model gave {len(outputs)} outputs where {n} were asked for.")
        return [Response(error=Error.from_exception(wrong))] * n
    return told_once([Response((output,)) for output in outputs])


def _output(prompt: Mapping[str, Any], choice: Any) -> Output:
    """A choice as text; log-probabilities as JSON, which the benchmark that asked for them reads, and so is the answer
    to a conversation in a benchmark's own form.
    """
    text = _answer_text(choice)
    if is_own_form(prompt) and isinstance(text, (list, tuple, Mapping)):
        return Output(text=json.dumps(jsonable(text), ensure_ascii=False), finish_reason="stop", note=JSON_NOTE)
    if isinstance(text, (list, tuple)) and text and all(_is_logprob(item) for item in text):
        text = json.dumps([float(item) for item in text])
    if text is None and choice.get("finish_reason"):  # the model ended its turn without a word
        text = ""
    if not isinstance(text, str):
        raise TypeError("the content is not text")
    return Output(text=text, finish_reason="stop")


def _image_output(prompt: Mapping[str, Any], choice: Any) -> Output:
    """A choice as an image.

    Raises:
        ModelError: if it names none, and the record does not either, or the image cannot be opened.
    """
    content = _answer_text(choice)
    if is_pil(content):
        return Output(images=(content,), finish_reason="stop")
    if content in (None, "", _PLACEHOLDER):
        record = prompt.get("raw_input")
        # A record of 1.x is the metadata of its sample.
        records = [record, record.get("metadata")] if isinstance(record, Mapping) else []
        content = next(filter(None, (one.get(_IMAGE_PATH) for one in records if isinstance(one, Mapping))), None)
        if not content:
            raise ModelError(
                "There is no image to score: the model gave none, and the record has no 'image_path'.",
                hint="Name a model that generates images, or write the paths of images into the data.",
            )
    if not isinstance(content, (str, Path)):
        raise TypeError("the content is not a path")
    return Output(images=(_opened(Path(content).expanduser()),), finish_reason="stop")


def _opened(path: Path) -> Any:
    name = f"The image {str(path)!r}"
    with boundary(ModelError, f"Opening the image {str(path)!r}"), opened_image(path, name) as opened:
        # Transparent parts stay: what is made of them is a rule of the metric.
        return opened.convert("RGBA" if opened.has_transparency_data else "RGB")


def _answer_text(choice: Any) -> Any:
    """The content of a choice.

    Raises:
        ModelError: if the choice reports a failure.
    """
    reason = choice.get("finish_reason")
    if choice.get("error") or reason in _FAILED:
        raise ModelError(f"A choice has the finish_reason {reason!r}: {str(choice.get('error') or choice)[:_SHOWN]}.")
    return choice["message"]["content"]


def _is_logprob(value: Any) -> bool:
    """Return whether a value is a number. One that is not a number (NaN) cannot be compared with others."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) and not math.isnan(float(value))


def _identity_of_class(kind: type) -> Mapping[str, str]:
    """The full name of a class and a hash of the file that defines it; its name again if no file does (in an
    interactive session).
    """
    if kind is DummyCustomModel:
        return _DUMMY_IDENTITY
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:
        file = None
    sources = source_hash([Path(file)]) if file and Path(file).is_file() else kind.__qualname__
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "sources": sources}
