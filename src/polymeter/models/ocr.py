"""Reading text from images with RapidOCR (PP-OCR detection, orientation and recognition models) on ONNX Runtime.

The models are part of the ``rapidocr`` wheel, so this runs offline on any CPU. It does not understand instructions:
whatever the prompt, the answer is all text in the image, line by line in reading order.

Images are read side by side, each on one thread. ONNX Runtime spreads these small models badly over several threads,
and its own threads spin while they wait: two of them took 1.6 times the CPU time of one and were slower.
"""

from __future__ import annotations

import logging
import queue
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.machine.hardware import available_cores, memory_bytes
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Error, Generate, Output, Parameters, Request, Response, Usage
from polymeter.core.settings.generation_names import EVERY_NAME

_MOST_THREADS = 8
_BYTES_PER_THREAD = 1.5e9  # with room for large pages; the demo's images take half of it
_IMAGES_PER_THREAD = 4  # in a batch, so that one slow image leaves no thread idle for long
_REMEMBERED = 4096
_SHORT = 32
"""Tokens below which a limit asks for a short answer; a higher one only ends models that repeat themselves."""


class OcrModel(BatchModel):
    """RapidOCR as a model.

    Args:
        text_score: Leave out lines that are recognised with less confidence than this.
        box_score: Leave out boxes that are detected with less confidence than this.
        n_threads: Images that are read at the same time, each on one core; 0: one per available core, at most 8 and no
            more than memory allows.

    Raises:
        PlanError: if ``rapidocr`` or ``onnxruntime`` is not installed.
    """

    def __init__(self, text_score: float = 0.5, box_score: float = 0.5, n_threads: int = 0) -> None:
        for package in ("rapidocr", "onnxruntime"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'ocr'", "ocr")
        self.traits = ModelTraits(
            family="ocr",
            requests={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": True, "audio": False, "video": False},
            ignores_text="it returns the text in the image",
        )
        self._text_score = text_score
        self._box_score = box_score
        self._n_threads = n_threads or _usual_threads()
        self.batch_hint = self._n_threads * _IMAGES_PER_THREAD
        self._readers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._read_before: OrderedDict[bytes, str] = OrderedDict()
        self._threads: ThreadPoolExecutor | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Package versions (the models are part of the wheel) and thresholds."""
        return {
            "backend": "ocr",
            "rapidocr": metadata.version("rapidocr"),
            "onnxruntime": metadata.version("onnxruntime"),
            "text_score": self._text_score,
            "box_score": self._box_score,
        }

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """A limit that asks for a short answer: the answer is the whole text of the image."""
        limit = parameters.max_new_tokens if isinstance(parameters, Generate) else None
        is_ignored = limit is not None and limit < _SHORT
        return {"max_new_tokens": "it returns all text in the image."} if is_ignored else {}

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: they are settings of other models, and change nothing here."""
        return EVERY_NAME

    def load(self) -> None:
        """Read the models, once for each thread: RapidOCR keeps state between the steps of one image."""
        for _ in range(self._n_threads):
            self._readers.put(self._new_reader())
        self._threads = ThreadPoolExecutor(self._n_threads, "ocr")

    def respond(self, requests: list[Request]) -> list[Response]:
        """Read the text in every request's images."""
        if self._threads is None:
            raise RuntimeError("load() comes before respond().")
        # Images are opened on this thread, which alone knows the settings of the run; the others only see pixels.
        shown = [_pixels_or_error(request) for request in requests]
        return list(self._threads.map(self._respond, requests, shown))

    def close(self) -> None:
        """Free the models."""
        if self._threads is not None:
            self._threads.shutdown()
        self._threads = None
        self._readers = queue.SimpleQueue()
        self._read_before.clear()

    def _new_reader(self) -> Any:
        # Importing rapidocr sets the level of its logger; the first call is for what the import itself says.
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        return RapidOCR(
            params={
                "Global.text_score": self._text_score,
                "Det.box_thresh": self._box_score,
                "Global.log_level": "error",
                # Mapping memory anew for every layer took as long as the computation itself.
                "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                # A session with one thread has no pool of its own, so nothing spins.
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        reader = self._readers.get()
        try:
            yield reader
        finally:
            self._readers.put(reader)

    def _respond(self, request: Request, images: Sequence[Any] | PolymeterError) -> Response:
        if request.parameters.kind != "generate":
            return Response(error=Error("permanent", f"The model 'ocr' cannot answer {request.parameters.kind!r}."))
        if isinstance(images, PolymeterError):
            return Response.failed(images, "data")
        if not images:
            return Response(error=Error("permanent", "The model 'ocr' was shown no image."))
        text = "\n\n".join(map(self._read, images))
        output = Output(text=text, finish_reason="stop", usage=Usage(output_tokens=len(text.split())))
        return Response((output,))

    def _read(self, pixels: Any) -> str:
        """The text of an image. One that was read for another question is not read again."""
        key = blake2b(pixels.data, digest_size=16, person=b"%dx%d" % pixels.shape[:2]).digest()
        text = self._read_before.get(key)
        if text is None:
            with self._reader() as reader:
                text = "\n".join(reader(pixels).txts or ())
            self._read_before[key] = text
            if len(self._read_before) > _REMEMBERED:
                self._read_before.popitem(last=False)
        return text


def _usual_threads() -> int:
    fitting = int((memory_bytes() or _BYTES_PER_THREAD) / _BYTES_PER_THREAD)
    return max(1, min(available_cores(), fitting, _MOST_THREADS))


def _pixels_or_error(request: Request) -> list[Any] | PolymeterError:
    """The pixels of a request's images, or why one of them has none: the other requests are answered."""
    try:
        return [_pixels(image.shown()) for image in request.images()]
    except PolymeterError as error:
        return error


def _pixels(image: Any) -> Any:
    """An RGB image as RapidOCR takes it: rows of blue, green and red."""
    import numpy as np

    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
