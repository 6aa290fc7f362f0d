"""Object detection models of Transformers as detectors: those that are told what to look for (OWLv2, Grounding DINO)
and those with classes of their own (DETR, YOLOS, RT-DETR and others).

Published GenEval numbers come from Mask2Former on MMDetection with CLIP ViT-L/14 for colours. Another detector gives
other numbers: name it beside them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.detection import Box, Detection, Detector
from polymeter.core.errors import PlanError, ScoreError, boundary, did_you_mean
from polymeter.core.guest_context import weights_place
from polymeter.core.registry import missing_package
from polymeter.metrics.colours import COLOUR_NAMES, colour_names
from polymeter.metrics.composition import COLOURS, unknown_names
from polymeter.metrics.image import as_rgb
from polymeter.metrics.networks import check_network

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image as PILImage

_MOST_OF_A_CLASS = 16
_MIDDLE = 0.6
_TEMPLATES = ("a photo of a {colour} {label}", "a photo of a {colour}-colored {label}", "a photo of a {colour} object")

Colourist = Callable[["PILImage", str], str]


class HfDetector(Detector):
    """A detection model, and a way to name colours.

    Args:
        place: Hub id or folder of the model.
        threshold: Things it is less sure of are left out; GenEval has 0.3.
        counting_threshold: The same for prompts about numbers; GenEval has 0.9, tuned on Mask2Former.
        colours: Hub id or folder of a CLIP checkpoint that names colours with GenEval's ten names and templates, on the
            box as it is (GenEval hides what lies around the object). Empty: the commonest name among the pixels in the
            middle of the box.

    Raises:
        PlanError: torch or Transformers is not installed.
    """

    def __init__(
        self, place: str, *, threshold: float = 0.3, counting_threshold: float = 0.9, colours: str = ""
    ) -> None:
        for package in ("torch", "transformers"):
            try:
                __import__(package)
            except ImportError as error:
                raise missing_package(package, f"the detector 'hf:{place}'", "hf") from error
        self._name = place
        self._place = weights_place(place)
        self._thresholds = (threshold, counting_threshold)
        self._colours = weights_place(colours)
        self._lock = threading.Lock()

    @property
    def colours(self) -> Collection[str]:
        """The names that it gives to colours: GenEval's with CLIP, else also cyan and gray."""
        return COLOURS if self._colours else COLOUR_NAMES

    def check(self) -> None:
        """Check that there is such a network, by its configuration file alone.

        Raises:
            PlanError: if torch or Transformers is not installed, or there is no such network.
        """
        check_network(self._name, f"the detector {'hf:' + self._name!r}", "hf")

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """What it sees, the surest first, at most 16 of a class. Colours are named of what is looked for; of everything
        where ``labels`` is empty.

        Raises:
            DataError: The image cannot be read.
            PlanError: The weights cannot be read, the model has no class that is looked for, or ``labels`` is empty and
                it has no classes of its own.
            ScoreError: The model failed.
        """
        rgb = as_rgb(image)
        threshold = self._thresholds[is_counting]
        with self._lock:
            network = self._network
            with boundary(ScoreError, f"The detector 'hf:{self._place}'"):
                found = network(rgb, list(labels), threshold)
            found.sort(key=lambda item: -item[1])
            kept = [item for place, item in enumerate(found) if _rank(found, place) < _MOST_OF_A_CLASS]
            return [Detection(label, self._colour(rgb, box, label, labels), box, score) for label, score, box in kept]

    def _colour(self, image: PILImage, box: Box, label: str, labels: Sequence[str]) -> str | None:
        if labels and unknown_names([label], labels):
            return None
        return self._colourist(_crop(image, box, 1.0), label)

    @cached_property
    def _network(self) -> _Network:
        from transformers import AutoConfig
        from transformers.models.auto.modeling_auto import MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES

        hint = f"Name a folder that holds an object detection model: hf:PATH in place of hf:{self._place}."
        with boundary(PlanError, f"Reading the detector {self._place!r}", hint=hint):
            config = AutoConfig.from_pretrained(self._place)
            if config.model_type not in MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES:
                return _OwnClasses(self._place)
            return (_Grounding if "grounding" in config.model_type else _Told)(self._place)

    @cached_property
    def _colourist(self) -> Colourist:
        if not self._colours:
            return _commonest_colour
        hint = "Name a folder that holds a CLIP checkpoint."
        with boundary(PlanError, f"Reading the colour classifier {self._colours!r}", hint=hint):
            return _clip_colourist(self._colours)


_Found = tuple[str, float, Box]


class _Network:
    """A detection model that has been read.

    Args:
        place: Hub id or folder.
        kind: Which of Transformers' Auto classes it is.
    """

    def __init__(self, place: str, kind: str) -> None:
        import torch
        import transformers

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = getattr(transformers, kind).from_pretrained(place).eval().to(self._device)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Found]:
        raise NotImplementedError

    def _run(self, inputs: Mapping[str, Any]) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(**inputs)


class _OwnClasses(_Network):
    """A model with classes of its own."""

    def __init__(self, place: str) -> None:
        from transformers import AutoImageProcessor

        super().__init__(place, "AutoModelForObjectDetection")
        self._processor = AutoImageProcessor.from_pretrained(place)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Found]:
        names = self._model.config.id2label
        others = unknown_names(labels, names.values())
        if others:
            known = sorted(map(str, names.values()))
            hint = did_you_mean(others[0], known) or f"It has {', '.join(known[:8])} and others."
            raise PlanError(f"This detector has no class {others[0]!r}.", where="labels", hint=hint)
        inputs = self._processor(images=image, return_tensors="pt").to(self._device)
        size = [(image.height, image.width)]
        found = self._processor.post_process_object_detection(self._run(inputs), threshold, target_sizes=size)[0]
        return [
            (str(names[int(label)]), float(score), _box(box))
            for label, score, box in zip(found["labels"], found["scores"], found["boxes"], strict=True)
        ]


class _Told(_Network):
    """A model that is told what to look for, in one question for each class (OWLv2)."""

    def __init__(self, place: str) -> None:
        from transformers import AutoProcessor

        super().__init__(place, "AutoModelForZeroShotObjectDetection")
        self._processor = AutoProcessor.from_pretrained(place)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Found]:
        if not labels:
            raise PlanError("This detector has to be told what to look for.", hint="Give labels to detect().")
        return self._found(image, labels, threshold)

    def _found(self, image: PILImage, labels: list[str], threshold: float) -> list[_Found]:
        texts = [[f"a photo of a {label}" for label in labels]]
        inputs = self._processor(images=image, text=texts, return_tensors="pt", padding=True).to(self._device)
        found = self._processor.post_process_grounded_object_detection(
            self._run(inputs), threshold=threshold, target_sizes=[(image.height, image.width)], text_labels=[labels]
        )[0]
        named = zip(found["text_labels"], found["scores"], found["boxes"], strict=True)
        return [(str(label), float(score), _box(box)) for label, score, box in named]


class _Grounding(_Told):
    """A model that is told everything in one text and scores each of its words (Grounding DINO). A thing is of the
    class whose surest word is the surest of all.
    """

    def _found(self, image: PILImage, labels: list[str], threshold: float) -> list[_Found]:
        import torch

        inputs = self._processor(images=image, text=". ".join(labels) + ".", return_tensors="pt").to(self._device)
        spans = self._spans(inputs["input_ids"][0].tolist(), labels)
        outputs = self._run(inputs)
        words = outputs.logits[0].sigmoid()
        scores, best = torch.stack([words[:, span].amax(dim=1) for span in spans]).max(dim=0)
        x, y, width, height = outputs.pred_boxes[0].unbind(-1)
        corners = (x - width / 2) * image.width, (y - height / 2) * image.height
        boxes = zip(*corners, corners[0] + width * image.width, corners[1] + height * image.height, strict=True)
        found = zip(best.tolist(), scores.tolist(), boxes, strict=True)
        return [(labels[place], score, _box(box)) for place, score, box in found if score > threshold]

    def _spans(self, ids: list[int], labels: list[str]) -> list[list[int]]:
        """Where the words of each label stand in the text.

        Raises:
            PlanError: Some label has none: it holds a full stop, the text is too long, or no word of it is known.
        """
        tokenizer = self._processor.tokenizer
        stop, special = tokenizer.convert_tokens_to_ids("."), set(tokenizer.all_special_ids)
        spans: list[list[int]] = [[]]
        for place, token in enumerate(ids[: self._model.config.max_text_len]):
            if token == stop:
                spans.append([])
            elif token not in special:
                spans[-1].append(place)
        if len(spans) != len(labels) + 1 or not all(spans[:-1]):
            raise PlanError(f"This detector cannot read the classes {', '.join(map(repr, labels))} as one text each.")
        return spans[:-1]


def _rank(found: Sequence[_Found], place: int) -> int:
    """How many of the same class come before."""
    return sum(item[0] == found[place][0] for item in found[:place])


def _box(box: Iterable[torch.Tensor]) -> Box:
    left, top, right, bottom = (float(value) for value in box)
    return left, top, right, bottom


def _crop(image: PILImage, box: Box, share: float) -> PILImage:
    """The middle of a box, at least one pixel."""
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    half_width, half_height = share * (right - left) / 2, share * (bottom - top) / 2
    x0 = min(max(0, round(x - half_width)), image.width - 1)
    y0 = min(max(0, round(y - half_height)), image.height - 1)
    x1 = min(max(x0 + 1, round(x + half_width)), image.width)
    y1 = min(max(y0 + 1, round(y + half_height)), image.height)
    return image.crop((x0, y0, x1, y1))


def _commonest_colour(crop: PILImage, label: str) -> str:
    middle = _crop(crop, (0, 0, crop.width, crop.height), _MIDDLE)
    middle.thumbnail((64, 64))
    names, counts = np.unique(colour_names(np.asarray(middle)), return_counts=True)
    return str(names[counts.argmax()])


def _clip_colourist(place: str) -> Colourist:
    """Zero-shot classification over ten colours: the mean over three templates' embeddings stands for a colour."""
    import torch
    from transformers import CLIPModel, CLIPProcessor

    device = "cuda" if torch.cuda.is_available() else "cpu"
    processor = CLIPProcessor.from_pretrained(place)
    network = CLIPModel.from_pretrained(place).eval().to(device)

    @lru_cache(maxsize=256)
    def of_colours(label: str) -> torch.Tensor:
        texts = [template.format(colour=colour, label=label) for colour in COLOURS for template in _TEMPLATES]
        inputs = processor(text=texts, return_tensors="pt", padding=True, truncation=True).to(device)
        with torch.inference_mode():
            pooled = network.text_model(**inputs).pooler_output
            of_texts = torch.nn.functional.normalize(network.text_projection(pooled), dim=-1)
        means = of_texts.reshape(len(COLOURS), len(_TEMPLATES), -1).mean(dim=1)
        return torch.nn.functional.normalize(means, dim=-1)

    def name(crop: PILImage, label: str) -> str:
        pixels = processor(images=crop, return_tensors="pt").to(device)
        with torch.inference_mode():
            shown = network.visual_projection(network.vision_model(**pixels).pooler_output)
            return COLOURS[int((of_colours(label) @ shown[0]).argmax())]

    return name
