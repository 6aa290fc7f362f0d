"""Metrics that a model computes. Each is made once in a process, when it is first used."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar

from polymeter.core.guest_context import guest_context
from polymeter.core.names.registry import missing_package
from polymeter.interop.evalscope.v1.registries import register_metric
from polymeter.interop.evalscope.v1.scoring.metric_base import Metric, SingletonMetric, T2IMetric
from polymeter.metrics.image import as_rgb, lpips, psnr, ssim
from polymeter.metrics.image_text import SCORERS, image_scorer

_DIGITS = 6
_OF_EQUAL_IMAGES = 100.0


@register_metric(["bert_score", "bertscore"])
class BertScore(SingletonMetric):
    """BERTScore's F1 by the package ``bert-score``."""

    def _init_once(self, model_id_or_path: str = "google-bert/bert-base-chinese", **kwargs: Any) -> None:
        package = _package("bert_score", "bert-score")
        self.scorer = package.BERTScorer(model_type=_weights(model_id_or_path), **kwargs)

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some answers."""
        f1 = self.scorer.score(predictions, references)[2]
        return [round(value.item(), _DIGITS) for value in f1]


@register_metric("comet")
class COMETScore(SingletonMetric):
    """COMET by the package ``unbabel-comet``, of samples with ``src``, ``mt`` and ``ref``."""

    def _init_once(self, model_id_or_path: str = "Unbabel/wmt22-comet-da") -> None:
        package = _package("comet", "unbabel-comet")
        self.model_name = model_id_or_path
        place = _weights(model_id_or_path)
        checkpoint = place if place != model_id_or_path else package.download_model(place)
        self.comet_scorer = package.load_from_checkpoint(checkpoint)

    def apply(self, samples: list[dict[str, str]], references: Any = None) -> Sequence[float]:
        """The values of some samples."""
        output = self.comet_scorer.predict(samples=samples, batch_size=8, gpus=_n_gpus(), progress_bar=False)
        return [round(float(score), _DIGITS) for score in output.scores]


@register_metric("sem_score")
class SemScore(SingletonMetric):
    """SemScore of transcripts, which EvalScope computes with models of its own choice."""

    def _init_once(self, **kwargs: Any) -> None:
        raise missing_package("evalscope", "the metric sem_score, which only EvalScope itself computes")

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """There are none: the metric cannot be made."""
        raise NotImplementedError


class ImagePairMetric(Metric):
    """A metric of an image and a reference image.

    Args:
        resize: Bring the reference to the size of the image; else different sizes are an error.
    """

    image_pair_metric = True

    def __init__(self, resize: bool = True) -> None:
        self.resize = resize

    def apply(self, predictions: list[Any], references: list[Any]) -> Sequence[float]:
        """The values of some images.

        Raises:
            ValueError: if two sizes differ and that is not allowed.
        """
        return [
            self._value(as_rgb(image), as_rgb(other)) for image, other in zip(predictions, references, strict=False)
        ]

    def _value(self, image: Any, reference: Any) -> float:
        if image.size != reference.size:
            if not self.resize:
                raise ValueError(f"The image has the size {image.size}, and its reference {reference.size}.")
            from PIL import Image

            reference = reference.resize(image.size, Image.Resampling.BICUBIC)
        return self.of_pair(image, reference)

    def of_pair(self, image: Any, reference: Any) -> float:
        """The value of two images of one size."""
        raise NotImplementedError


@register_metric(["psnr", "PSNR"])
class PSNRScore(ImagePairMetric):
    """Peak signal-to-noise ratio in dB; 100 of equal images."""

    def of_pair(self, image: Any, reference: Any) -> float:
        """The value of two images of one size."""
        value = float(psnr(image, reference))
        return value if isfinite(value) else _OF_EQUAL_IMAGES


@register_metric(["ssim", "SSIM"])
class SSIMScore(ImagePairMetric):
    """Structural similarity."""

    def of_pair(self, image: Any, reference: Any) -> float:
        """The value of two images of one size."""
        return float(ssim(image, reference))


@register_metric(["lpips", "LPIPS"])
class LPIPSScore(ImagePairMetric):
    """Learned perceptual distance."""

    def of_pair(self, image: Any, reference: Any) -> float:
        """The value of two images of one size."""
        return float(lpips(image, reference))


class ImageTextMetric(T2IMetric):
    """A metric of an image and a text by one of Polymeter's scorers."""

    scorer_name: ClassVar[str]

    def _init_once(self) -> None:
        self.scorer = image_scorer(self.scorer_name)

    def apply(self, images: list[Any], texts: list[Any], **kwargs: Any) -> Any:  # type: ignore[override]
        """The values of some images: for each a list with the value of each text."""
        return self.scorer(images, texts)


def _package(module: str, package: str) -> Any:
    if importlib.util.find_spec(module) is None:
        raise missing_package(package, f"the metric of {module}")
    return importlib.import_module(module)


def _weights(name: str) -> str:
    return str(guest_context().weights.get(name, name))


def _n_gpus() -> int:
    import torch

    return int(torch.cuda.is_available())


for _name in SCORERS:
    register_metric(_name)(type(_name, (ImageTextMetric,), {"scorer_name": _name, "__doc__": f"The scorer {_name}."}))
