"""The ``ulm`` backend as the engine sees it."""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, ModelError, PlanError, PolymeterError, boundary, is_out_of_memory
from polymeter.core.guest_context import weights_place
from polymeter.core.identity import source_hash
from polymeter.core.media.showing import Showing
from polymeter.core.media.sources import is_pil
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Message, Origin, Parameters, Request, Response
from polymeter.core.settings.repeats import group_repeats
from polymeter.guests.contain import without_chatter
from polymeter.guests.door import in_mode
from polymeter.guests.opened_sources import opened_behind
from polymeter.guests.wrappers import ShownByWrapper, check_arguments, parameters, plain
from polymeter.interop.ulmeval.models.answers import outputs
from polymeter.interop.ulmeval.models.base import environment_seed
from polymeter.interop.ulmeval.models.calling import dataset_named, ignored_settings, results, seeded
from polymeter.interop.ulmeval.models.hooks import is_written, own_hook
from polymeter.interop.ulmeval.models.loading import FoundUlm, find_wrapper, found_class
from polymeter.models.memory import free_memory
from polymeter.tasks.table.items import as_items, as_messages

_RUNTIME = ("device", "verbose", "retry", "wait")
_USES_TORCH = re.compile(rb"^\s*(?:import|from)\s+(?:torch|diffusers|transformers)\b", re.MULTILINE)
_DEFAULT_CONCURRENCY = 16
_CONSTRUCTION_SEED = 42


class UlmModel(BatchModel):
    """A model wrapper written for ULMEvalKit, unmodified. It answers one prompt at a time; a wrapper of an endpoint
    (``is_api``) is called from several threads.

    Args:
        name: Its class's name, or one that its file adds to ``supported_ULM``; may be left out if the path defines
            only one.
        path: ``--model-path``: a file, a folder of files, or a module's dotted name.
        **arguments: Arguments of the wrapper's own constructor.

    Raises:
        PlanError: if it cannot be found or loaded, or does not take these arguments.
    """

    def __init__(self, name: str = "", path: str = "", **arguments: Any) -> None:
        found = find_wrapper(name, path)
        arguments = {**found.arguments, **arguments}
        if found.cls is not None and not found.args:
            check_arguments(found.cls, arguments)
        self._set_up(found, arguments)

    @classmethod
    def around(cls, wrapper: Any) -> UlmModel:
        """A model around an existing wrapper. Its constructor's arguments are unknown, so two wrappers that differ only
        in them are one model to a run folder.
        """
        model = cls.__new__(cls)
        model._set_up(found_class(type(wrapper)), {})
        model._wrapper = wrapper
        model._shown = ShownByWrapper(None, {})  # it is made already
        if own_hook(wrapper, "use_custom_prompt") is not None:
            model.traits = replace(model.traits, has_own_prompts=True)
        return model

    def _set_up(self, found: FoundUlm, arguments: Mapping[str, Any]) -> None:
        self._found = found
        self._arguments = {**_local_defaults(found), **{name: _local(value) for name, value in arguments.items()}}
        self._shown = ShownByWrapper(found.cls, self._arguments)
        self._lock = threading.RLock()
        self._wrapper: Any = None
        self._folder: Path | None = None
        self._sweep: weakref.finalize[Any, Any] | None = None
        self.batch_hint = _DEFAULT_CONCURRENCY if getattr(found.cls, "is_api", False) else 1
        self.traits = _traits(found)
        self.opened_sources = opened_behind(found.sources)
        self._identity = {
            "backend": "ulm",
            "name": found.name,
            "class": getattr(found.make, "__qualname__", type(found.make).__qualname__),
            "sources": source_hash(found.sources),
            "arguments": {key: plain(value) for key, value in arguments.items() if key not in _RUNTIME},
            "positional": plain(found.args),
        }

    @property
    def identity(self) -> Mapping[str, Any]:
        """The wrapper's sources, name and arguments."""
        return self._identity

    def plan_showing(self, showings: Sequence[Showing]) -> None:
        """Take arguments of the constructor from what the tasks state to be shown of videos."""
        self._shown.plan(showing.video for showing in showings)

    @property
    def own_showing(self) -> Mapping[str, Any]:
        """The number of frames and their rate, if they are arguments of the constructor."""
        return self._shown.followed

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        """Rules for images are followed. Of those for videos, the settings that are arguments of the constructor."""
        return self._shown.unfollowed_of(showing)

    @property
    def joins_repeats(self) -> bool:
        """Batch hooks make several results at once: ``num_generations``."""
        return True

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that the wrapper's hooks do not name, with the reason. The hooks of a wrapper that a function makes
        are unknown before it is made.
        """
        cls = self._found.cls if self._wrapper is None else type(self._wrapper)
        return {} if cls is None else ignored_settings(cls, parameters)

    def load(self) -> None:
        """Construct the wrapper, which reads its weights, unless its own prompts have needed it before.

        Raises:
            PlanError: if its constructor raises.
        """
        self._ready()

    def respond(self, requests: list[Request]) -> list[Response]:
        """Call the wrapper for one request after another, or for several at a time if it calls an endpoint. A request
        that fails gets its own error and does not affect the others.
        """
        wrapper, folder = self._ready(), self._media()
        groups = group_repeats(requests)
        if not getattr(wrapper, "is_api", False) or len(groups) == 1:
            return [response for group in groups for response in self._answer(wrapper, group, folder)]
        size = min(len(groups), self.planned_batch_size or self.batch_hint or _DEFAULT_CONCURRENCY)
        with ThreadPoolExecutor(int(size), thread_name_prefix="polymeter-ulm") as pool:
            futures = [pool.submit(copy_context().run, self._answer, wrapper, group, folder) for group in groups]
            return [response for future in futures for response in future.result()]

    def relieve(self) -> None:
        """Free the memory that torch holds but does not need, if torch is in use."""
        free_memory()

    def close(self) -> None:
        """Drop the wrapper, and delete the images that were written for it."""
        self._wrapper = None
        self.relieve()
        if self._sweep is not None:
            self._sweep()
        self._folder = self._sweep = None

    def _answer(self, wrapper: Any, repeats: list[Request], folder: Path) -> list[Response]:
        started = perf_counter()
        try:
            # The pool's threads are not in the model's mode yet.
            with in_mode("model"), boundary(ModelError, f"The wrapper {type(wrapper).__name__}"), without_chatter():
                answered = outputs(repeats[0].parameters, results(wrapper, repeats, folder, self._one_seed()))
        except PolymeterError as error:
            is_full = is_out_of_memory(error)
            if is_full:
                self.relieve()
            own = ModelError(error.what, kind="out_of_memory", where=error.where, hint=error.hint) if is_full else error
            return [Response.failed(own, "data" if isinstance(error, DataError) else "permanent")] * len(repeats)
        took_ms = (perf_counter() - started) * 1000 / len(repeats)
        return [Response((output,), latency_ms=took_ms) for output in answered]

    def _one_seed(self) -> int | None:
        return environment_seed() if self.parity.on("one-seed") else None

    def _ready(self) -> Any:
        """The wrapper, constructed at first use."""
        with self._lock:
            if self._wrapper is None:
                _import_torch(self._found.sources)
                self._wrapper = _construct(self._found, {**self._shown.arguments, **self._arguments})
            return self._wrapper

    def _media(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="polymeter-ulm-"))
                self._sweep = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """The wrapper's own messages for a row; ``None`` if it uses the benchmark's.

        Raises:
            ModelError: if its code raises.
        """
        handle = self.rows(origin) if self.rows is not None else None
        # The function that writes images is set on the wrapper for one call, so calls must not overlap.
        with self._lock:
            wrapper = self._ready()
            with boundary(ModelError, f"The prompt of {type(wrapper).__name__}"):
                if handle is None or own_hook(wrapper, "use_custom_prompt") is None:
                    return None
                dataset = dataset_named(origin)
                if not wrapper.use_custom_prompt(dataset):
                    return None
                dumps = handle.functions.dump_image is not None
                _set_dump_image(wrapper, handle.dump_image if dumps else self._dump_row)
                return as_messages(as_items(wrapper.build_prompt(_line(handle.prompt_row()), dataset=dataset)))

    def _dump_row(self, row: Any) -> list[str]:
        """Files of the images in a row, for benchmarks that cannot write them themselves."""
        cells = [cell for value in dict(row).values() for cell in (value if isinstance(value, list) else [value])]
        images = [{"type": "image", "value": cell} for cell in cells if is_pil(cell)]
        return [item["value"] for item in as_items(images, folder=self._media())] if images else []


def _traits(found: FoundUlm) -> ModelTraits:
    """The traits that a wrapper's class shows. Whether it gives images, text or both shows at the first request."""
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
        whole_videos=bool(getattr(cls, "VIDEO_LLM", False)),
        # The class of a wrapper that a function makes is unknown here: it may have its own prompts.
        has_own_prompts=cls is None or is_written(cls, "use_custom_prompt"),
    )


def _construct(found: FoundUlm, arguments: Mapping[str, Any]) -> Any:
    doing = f"Making the wrapper {found.name!r}"
    # Seeded, so that a constructor that draws random weights draws the same ones in every run.
    with seeded(_CONSTRUCTION_SEED), boundary(PlanError, doing):
        try:
            wrapper = found.make(*map(_local, found.args), **arguments)
        except ModuleNotFoundError as error:
            raise missing_package(error.name or "?", f"the wrapper {found.name!r}") from error
    if wrapper is None:
        raise PlanError(f"{doing} gave nothing.", where="--model-path")
    return wrapper


def _local_defaults(found: FoundUlm) -> dict[str, str]:
    """The constructor's defaults that name weights for which the user has given local files."""
    named = parameters(found.cls)[0] if found.cls is not None and not found.args else {}
    texts = {name: one.default for name, one in named.items() if isinstance(one.default, str)}
    return {name: place for name, text in texts.items() if (place := weights_place(text)) != text}


def _local(value: Any) -> Any:
    return weights_place(value) if isinstance(value, str) else value


def _import_torch(sources: tuple[Path, ...]) -> None:
    """Import torch before a wrapper that imports it late, in a hook: otherwise its generators could not be seeded."""
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
