"""Reading text from images with RapidOCR (PP-OCR detection, orientation and recognition models) on ONNX Runtime.

The models are part of the ``rapidocr`` wheel, so this runs offline on any CPU. It does not understand instructions:
whatever the prompt, the answer is all text in the image, line by line in reading order.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from polymeter.core.generation_names import EVERY_NAME
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.registry import missing_package
from polymeter.core.request import Error, Output, Request, Response, Usage


class OcrModel(BatchModel):
    """RapidOCR as a model.

    Args:
        text_score: Leave out lines that are recognised with less confidence than this.
        box_score: Leave out boxes that are detected with less confidence than this.
        n_threads: Threads of ONNX Runtime; 0: one per core.

    Raises:
        PlanError: if ``rapidocr`` or ``onnxruntime`` is not installed.
    """

    batch_hint = 1

    def __init__(self, text_score: float = 0.5, box_score: float = 0.5, n_threads: int = 0) -> None:
        for package in ("rapidocr", "onnxruntime"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'ocr'", "ocr")
        self.traits = ModelTraits(
            family="ocr",
            requests={"generate": True, "loglikelihood": False, "generate_image": False},
            modalities={"text": True, "image": True, "audio": False, "video": False},
        )
        self._text_score = text_score
        self._box_score = box_score
        self._n_threads = n_threads
        self._engine: Any = None

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

    def known_settings(self) -> frozenset[str]:
        """Every name that exists: they are settings of other models, and change nothing here."""
        return EVERY_NAME

    def load(self) -> None:
        """Read the three models."""
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        params: dict[str, Any] = {
            "Global.text_score": self._text_score,
            "Det.box_thresh": self._box_score,
            "Global.log_level": "error",
        }
        if self._n_threads:
            params["EngineConfig.onnxruntime.intra_op_num_threads"] = self._n_threads
        self._engine = RapidOCR(params=params)

    def respond(self, requests: list[Request]) -> list[Response]:
        """Read the text in every request's images."""
        return [self._respond(request) for request in requests]

    def close(self) -> None:
        """Free the models."""
        self._engine = None

    def _respond(self, request: Request) -> Response:
        if request.parameters.kind != "generate":
            return Response(error=Error("permanent", f"The model 'ocr' cannot answer {request.parameters.kind!r}."))
        pages = [self._read(image.open()) for image in request.images()]
        if not pages:
            return Response(error=Error("permanent", "The model 'ocr' was shown no image."))
        text = "\n\n".join(pages)
        output = Output(text=text, finish_reason="stop", usage=Usage(output_tokens=len(text.split())))
        return Response((output,))

    def _read(self, image: Any) -> str:
        import numpy as np

        bgr = np.asarray(image.convert("RGB"))[:, :, ::-1]
        result = self._engine(np.ascontiguousarray(bgr))
        return "\n".join(result.txts or ())
