"""The ``ulm`` backend as the engine sees it."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from polymeter.core.errors import DataError, ModelError, PlanError, PolymeterError, boundary, is_out_of_memory
from polymeter.core.guest_context import weights_place
from polymeter.core.identity import source_hash
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.parts import Modality
from polymeter.core.registry import missing_package
from polymeter.core.repeats import group_repeats
from polymeter.core.request import Message, Origin, Parameters, Request, Response
from polymeter.core.sources import is_pil
from polymeter.formats.table.items import as_items, as_messages
from polymeter.guests.constructors import check_arguments, parameters, plain
from polymeter.guests.contain import without_chatter
from polymeter.guests.door import in_mode
from polymeter.interop.ulmeval.models.answers import outputs
from polymeter.interop.ulmeval.models.calling import ignored_settings, results, seeded
from polymeter.interop.ulmeval.models.hooks import is_written, own_hook
from polymeter.interop.ulmeval.models.loading import Found, find_wrapper, found_class
from polymeter.models.memory import free_memory

_RUNTIME = ("device", "verbose", "retry", "wait")
_USES_TORCH = re.compile(rb"^\s*(?:import|from)\s+(?:torch|diffusers|transformers)\b", re.MULTILINE)
_USUAL_CONCURRENCY = 16
_CONSTRUCTION_SEED = 42


class UlmModel(BatchModel):
    """A model wrapper written for ULMEvalKit, unmodified. It answers one prompt at a time; a wrapper of an endpoint
    (``is_api``) is called from several threads.

    Args:
        name: Its class's name, or one that its file adds to ``supported_ULM``; may be left out where the path holds
            only one.
        path: ``--model-path``: a file, a folder of files, or a module's dotted name.
        **arguments: Arguments of the wrapper's own constructor.

    Raises:
        PlanError: It cannot be found or loaded, or does not take these arguments.
    """

    def __init__(self, name: str = "", path: str = "", **arguments: Any) -> None:
        found = find_wrapper(name, path)
        given = {**found.given, **arguments}
        if found.cls is not None and not found.args:
            check_arguments(found.cls, given)
        self._set_up(found, given)

    @classmethod
    def around(cls, wrapper: Any) -> UlmModel:
        """A model around a wrapper that is there already. What it was constructed with is not known, so two that differ
        in nothing else are one model to a run folder.
        """
        model = cls.__new__(cls)
        model._set_up(found_class(type(wrapper)), {})
        model._wrapper = wrapper
        if own_hook(wrapper, "use_custom_prompt") is not None:
            model.traits = replace(model.traits, has_own_prompts=True)
        return model

    def _set_up(self, found: Found, given: Mapping[str, Any]) -> None:
        self._found = found
        self._arguments = {**_local_defaults(found), **{name: _local(value) for name, value in given.items()}}
        self._lock = threading.RLock()
        self._wrapper: Any = None
        self._folder: Path | None = None
        self._sweep: weakref.finalize[Any, Any] | None = None
        self.batch_hint = _USUAL_CONCURRENCY if getattr(found.cls, "is_api", False) else 1
        self.traits = _traits(found)
        self._identity = {
            "backend": "ulm",
            "name": found.name,
            "class": getattr(found.make, "__qualname__", type(found.make).__qualname__),
            "sources": source_hash(found.sources),
            "arguments": {key: plain(value) for key, value in given.items() if key not in _RUNTIME},
            "positional": plain(found.args),
        }

    @property
    def identity(self) -> Mapping[str, Any]:
        """The wrapper's sources, name and arguments."""
        return self._identity

    @property
    def joins_repeats(self) -> bool:
        """Batch hooks make several at once: ``num_generations``."""
        return True

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that the wrapper's hooks do not name: ULMEvalKit hands over the message and the benchmark's name.
        What a function makes has no known hooks before it is made.
        """
        cls = self._found.cls if self._wrapper is None else type(self._wrapper)
        return {} if cls is None else ignored_settings(cls, parameters)

    def load(self) -> None:
        """Construct the wrapper, which reads its weights; it is constructed once, also when its own prompts needed it
        before.

        Raises:
            PlanError: Its constructor raised.
        """
        self._ready()

    def respond(self, requests: list[Request]) -> list[Response]:
        """Ask the wrapper, one request after the other, or several at a time where it is one of an endpoint. What goes
        wrong with one is that one's error.
        """
        wrapper, folder = self._ready(), self._media()
        groups = group_repeats(requests)
        if not getattr(wrapper, "is_api", False) or len(groups) == 1:
            return [response for group in groups for response in self._answer(wrapper, group, folder)]
        size = min(len(groups), self.planned_batch_size or self.batch_hint or _USUAL_CONCURRENCY)
        with ThreadPoolExecutor(int(size), thread_name_prefix="polymeter-ulm") as pool:
            asked = [pool.submit(copy_context().run, self._answer, wrapper, group, folder) for group in groups]
            return [response for one in asked for response in one.result()]

    def relieve(self) -> None:
        """Free what torch holds without need, if torch is in use."""
        free_memory()

    def close(self) -> None:
        """Let go of the wrapper, and of the images that were written for it."""
        self._wrapper = None
        self.relieve()
        if self._sweep is not None:
            self._sweep()
        self._folder = self._sweep = None

    def _answer(self, wrapper: Any, repeats: list[Request], folder: Path) -> list[Response]:
        started = perf_counter()
        try:
            # Wrappers of endpoints are called on threads of our own.
            with in_mode("model"), boundary(ModelError, f"The wrapper {type(wrapper).__name__}"), without_chatter():
                found = outputs(repeats[0].parameters, results(wrapper, repeats, folder))
        except PolymeterError as error:
            is_full = is_out_of_memory(error)
            if is_full:
                self.relieve()
            own = ModelError(error.what, kind="out_of_memory", where=error.where, hint=error.hint) if is_full else error
            return [Response.failed(own, "data" if isinstance(error, DataError) else "permanent")] * len(repeats)
        took_ms = (perf_counter() - started) * 1000 / len(repeats)
        return [Response((output,), latency_ms=took_ms) for output in found]

    def _ready(self) -> Any:
        """The wrapper, constructed when it is first needed."""
        with self._lock:
            if self._wrapper is None:
                _import_torch(self._found.sources)
                self._wrapper = _construct(self._found, self._arguments)
            return self._wrapper

    def _media(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="polymeter-ulm-"))
                self._sweep = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """The wrapper's own message for a row; ``None`` where it leaves the benchmark's as it is.

        Raises:
            ModelError: if its code raises.
        """
        handle = self.rows(origin) if self.rows is not None else None
        with self._lock:  # what dumps images is set on the wrapper, and belongs to one call
            wrapper = self._ready()
            with boundary(ModelError, f"The prompt of {type(wrapper).__name__}"):
                if handle is None or own_hook(wrapper, "use_custom_prompt") is None:
                    return None
                if not wrapper.use_custom_prompt(origin.task):
                    return None
                dumps = handle.functions.dump_image is not None
                _set_dump_image(wrapper, handle.dump_image if dumps else self._dump_row)
                return as_messages(as_items(wrapper.build_prompt(_line(handle.prompt_row()), dataset=origin.task)))

    def _dump_row(self, row: Any) -> list[str]:
        """Files of the pictures in a row, for benchmarks that have no way of their own to write them."""
        cells = [cell for value in dict(row).values() for cell in (value if isinstance(value, list) else [value])]
        pictures = [{"type": "image", "value": cell} for cell in cells if is_pil(cell)]
        return [item["value"] for item in as_items(pictures, folder=self._media())] if pictures else []


def _traits(found: Found) -> ModelTraits:
    """What a wrapper's class tells. Whether it gives images, text or both shows only when it is asked."""
    cls = found.cls
    takes = getattr(cls, "allowed_types", None)
    modalities: dict[Modality, bool] = {"text": True}
    for modality in ("image", "audio", "video"):
        if isinstance(takes, (list, tuple, set)) and modality not in takes:
            modalities[modality] = False
    return ModelTraits(
        family=found.name,
        kind="simple",
        requests={"loglikelihood": False},
        modalities=modalities,
        is_endpoint=bool(getattr(cls, "is_api", False)),
        is_foreign=True,
        # What a function makes shows only when it is made: it may have prompts of its own.
        has_own_prompts=cls is None or is_written(cls, "use_custom_prompt"),
    )


def _construct(found: Found, arguments: Mapping[str, Any]) -> Any:
    doing = f"Making the wrapper {found.name!r}"
    # Weights that a constructor draws at random are the same in every run.
    with seeded(_CONSTRUCTION_SEED), boundary(PlanError, doing):
        try:
            wrapper = found.make(*map(_local, found.args), **arguments)
        except ModuleNotFoundError as error:
            raise missing_package(error.name or "?", f"the wrapper {found.name!r}") from error
    if wrapper is None:
        raise PlanError(f"{doing} gave nothing.", where="--model-path")
    return wrapper


def _local_defaults(found: Found) -> dict[str, str]:
    """The constructor's defaults that name weights which lie here."""
    named = parameters(found.cls)[0] if found.cls is not None and not found.args else {}
    texts = {name: one.default for name, one in named.items() if isinstance(one.default, str)}
    return {name: place for name, text in texts.items() if (place := weights_place(text)) != text}


def _local(value: Any) -> Any:
    return weights_place(value) if isinstance(value, str) else value


def _import_torch(sources: tuple[Path, ...]) -> None:
    """Import torch before a wrapper that imports it late, in a hook: its generators could not be seeded otherwise."""
    if any(_USES_TORCH.search(file.read_bytes()) for file in sources) and find_spec("torch") is not None:
        import_module("torch")


def _set_dump_image(wrapper: Any, dump_image: Callable[[Any], Any]) -> None:
    if callable(getattr(wrapper, "set_dump_image", None)):
        wrapper.set_dump_image(dump_image)
    else:
        wrapper.dump_image_func = dump_image


def _line(row: Any) -> Any:
    """A row as ``build_prompt`` takes it: a ``pandas.Series``."""
    if not isinstance(row, Mapping):
        return row
    import pandas as pd

    return pd.Series(dict(row), dtype=object)
