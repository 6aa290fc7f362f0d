"""Reading text from images with RapidOCR (PP-OCR detection, orientation and recognition models) on ONNX Runtime.

The models are part of the ``rapidocr`` wheel, so this runs offline on any CPU. It does not understand instructions:
whatever the prompt, the answer is all text in the image, line by line in reading order. Of a video it reads frames, and
writes a text that stays on screen once.

Images are read side by side, each on one thread. ONNX Runtime spreads these small models badly over several threads,
and its own threads spin while they wait: two of them took 1.6 times the CPU time of one and were slower.

Text is searched in images that are enlarged until their shorter side has 736 pixels, RapidOCR's own setting, which
finds fine print. Frames are many and their text is large: they are enlarged to 384 pixels, a quarter of the work.
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
from itertools import groupby
from typing import Any

from polymeter.core.content import Image, Media, Video
from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.machine.hardware import available_cores, memory_bytes
from polymeter.core.media.showing import ImageRule, VideoRule
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Error, Output, Parameters, Request, Response, Usage
from polymeter.core.settings.generation_names import EVERY_NAME
from polymeter.models.transcripts import ignored_limit

_MOST_THREADS = 8
_BYTES_PER_THREAD = 1.5e9  # with room for large pages; the demo's images take half of it
_IMAGES_PER_THREAD = 4  # in a batch, so that one slow image leaves no thread idle for long
_REMEMBERED = 4096
_VIDEO_FRAMES = 8
_FRAME_SIDE_PX = 384


class OcrModel(BatchModel):
    """RapidOCR as a model.

    Args:
        text_score: Leave out lines that are recognised with less confidence than this.
        box_score: Leave out boxes that are detected with less confidence than this.
        video_frames: Frames of a video, evenly spaced.
        n_threads: Images that are read at the same time, each on one core; 0: one per available core, at most 8 and no
            more than memory allows.

    Raises:
        PlanError: if ``rapidocr`` or ``onnxruntime`` is not installed, or ``video_frames`` is not positive.
    """

    def __init__(
        self,
        text_score: float = 0.5,
        box_score: float = 0.5,
        n_threads: int = 0,
        video_frames: int = _VIDEO_FRAMES,
    ) -> None:
        for package in ("rapidocr", "onnxruntime"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'ocr'", "ocr")
        self.traits = ModelTraits(
            family="ocr",
            requests={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": True, "audio": False, "video": True},
            whole_videos=False,
            ignores_text="it returns the text in the image",
        )
        self._text_score = text_score
        self._box_score = box_score
        if video_frames < 1:
            raise PlanError("The model 'ocr' needs at least one frame of a video.", where="--model-args video_frames")
        self._video_frames = video_frames
        self._n_threads = n_threads or _usual_threads()
        self.batch_hint = self._n_threads * _IMAGES_PER_THREAD
        self._readers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._frame_readers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._read_before: OrderedDict[bytes, str] = OrderedDict()
        self._threads: ThreadPoolExecutor | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Package versions (the models are part of the wheel), thresholds, and the frames of videos unless they are the
        usual number: runs from before there were videos have none.
        """
        unusual = {} if self._video_frames == _VIDEO_FRAMES else {"video_frames": self._video_frames}
        return {
            "backend": "ocr",
            "rapidocr": metadata.version("rapidocr"),
            "onnxruntime": metadata.version("onnxruntime"),
            "text_score": self._text_score,
            "box_score": self._box_score,
            **unusual,
        }

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """A limit that asks for a short answer: the answer is the whole text of the image."""
        return ignored_limit(parameters, "it returns all text in the image.")

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: they are settings of other models, and change nothing here."""
        return EVERY_NAME

    def decodes(self, medium: Media) -> bool:
        """Every medium that it is shown."""
        return True

    def load(self) -> None:
        """Read the models, once for each thread: RapidOCR keeps state between the steps of one image. Those that read
        frames are made when a thread meets the first one.
        """
        for _ in range(self._n_threads):
            self._readers.put(self._new_reader())
        self._threads = ThreadPoolExecutor(self._n_threads, "ocr")

    def respond(self, requests: list[Request]) -> list[Response]:
        """Read the text in every request's images and videos."""
        if self._threads is None:
            raise RuntimeError("load() comes before respond().")
        # Images are opened on this thread, which alone knows the settings of the run; the others only see pixels.
        shown = [self._pixels_or_error(request) for request in requests]
        return list(self._threads.map(self._respond, requests, shown))

    def close(self) -> None:
        """Free the models."""
        if self._threads is not None:
            self._threads.shutdown()
        self._threads = None
        self._readers, self._frame_readers = queue.SimpleQueue(), queue.SimpleQueue()
        self._read_before.clear()

    def _new_reader(self, side_px: int | None = None) -> Any:
        """A reader; ``side_px``: the shorter side to which it enlarges images to find text in them."""
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
                **({} if side_px is None else {"Det.limit_side_len": side_px}),
            }
        )

    @contextmanager
    def _reader(self, *, of_frames: bool) -> Iterator[Any]:
        readers = self._frame_readers if of_frames else self._readers
        try:
            reader = readers.get(block=not of_frames)
        except queue.Empty:  # as many are made as there are threads that read frames
            reader = self._new_reader(_FRAME_SIDE_PX)
        try:
            yield reader
        finally:
            readers.put(reader)

    def _pixels_or_error(self, request: Request) -> list[Any | list[Any]] | PolymeterError:
        """The pixels of a request's images, and lists of those of its videos' frames, or why one of them has none: the
        other requests are answered.
        """
        try:
            return [self._shown(part) for part in request.media() if isinstance(part, (Image, Video))]
        except PolymeterError as error:
            return error

    def _shown(self, part: Image | Video) -> Any | list[Any]:
        from polymeter.data.showing import shown_image, shown_video

        if isinstance(part, Image):
            return _pixels(shown_image(part, ImageRule()))
        return [_pixels(frame) for frame in shown_video(part, VideoRule(frames=self._video_frames)).frames]

    def _respond(self, request: Request, media: Sequence[Any] | PolymeterError) -> Response:
        if request.parameters.kind != "generate":
            return Response(error=Error("permanent", f"The model 'ocr' cannot answer {request.parameters.kind!r}."))
        if isinstance(media, PolymeterError):
            return Response.failed(media, "data")
        if not media:
            return Response(error=Error("permanent", "The model 'ocr' was shown no image or video."))
        texts = (self._read_frames(one) if isinstance(one, list) else self._read(one) for one in media)
        text = "\n\n".join(texts)
        output = Output(text=text, finish_reason="stop", usage=Usage(output_tokens=len(text.split())))
        return Response((output,))

    def _read_frames(self, frames: Sequence[Any]) -> str:
        """The texts of the frames of a video, without those that are empty or that of the frame before."""
        texts = (text for text, _ in groupby(self._read(frame, is_frame=True) for frame in frames))
        return "\n\n".join(filter(None, texts))

    def _read(self, pixels: Any, *, is_frame: bool = False) -> str:
        """The text of an image. One that was read for another question is not read again."""
        shape = b"%dx%d" % pixels.shape[:2]
        key = blake2b(pixels.data, digest_size=16, person=shape, salt=b"frame" if is_frame else b"").digest()
        text = self._read_before.get(key)
        if text is None:
            with self._reader(of_frames=is_frame) as reader:
                text = "\n".join(reader(pixels).txts or ())
            self._read_before[key] = text
            if len(self._read_before) > _REMEMBERED:
                self._read_before.popitem(last=False)
        return text


def _usual_threads() -> int:
    fitting = int((memory_bytes() or _BYTES_PER_THREAD) / _BYTES_PER_THREAD)
    return max(1, min(available_cores(), fitting, _MOST_THREADS))


def _pixels(image: Any) -> Any:
    """An RGB image as RapidOCR takes it: rows of blue, green and red."""
    import numpy as np

    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
