"""Object detection models of Transformers as detectors. Open-vocabulary ones receive the classes to look for (OWLv2,
Grounding DINO); the others have a fixed set of classes (DETR, YOLOS, RT-DETR and more).

Published GenEval scores come from Mask2Former on MMDetection with CLIP ViT-L/14 for colours. Another detector gives
different scores, so name it beside them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.errors import PlanError, ScoreError, boundary, did_you_mean
from polymeter.core.guest_context import weights_place
from polymeter.core.media.detection import Box, Detection, Detector
from polymeter.core.names.registry import missing_package, processor_of
from polymeter.metrics.colours import COLOUR_NAMES, colour_names
from polymeter.metrics.composition import COLOURS, unknown_names
from polymeter.metrics.image import as_rgb
from polymeter.metrics.networks import check_network

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image as PILImage

_MAX_OF_A_CLASS = 16
_MIDDLE = 0.6
_TEMPLATES = ("a photo of a {colour} {label}", "a photo of a {colour}-colored {label}", "a photo of a {colour} object")

Colourist = Callable[["PILImage", str], str]


class HfDetector(Detector):
    """A detector from a detection model and a way to name colours.

    Args:
        place: Hub id or folder of the model.
        threshold: Detections with a lower score are dropped; GenEval uses 0.3.
        counting_threshold: The same for prompts about numbers; GenEval uses 0.9, tuned on Mask2Former.
        colours: Hub id or folder of a CLIP checkpoint that names colours with GenEval's ten names and templates, in the
            whole box (GenEval masks the background of the object). If empty, the most common name among the pixels in
            the middle of the box counts.

    Raises:
        PlanError: if torch or Transformers is not installed.
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
        self._threshold = threshold
        self._counting_threshold = counting_threshold
        self._colours = weights_place(colours)
        self._lock = threading.Lock()

    @property
    def colours(self) -> Collection[str]:
        """The possible colour names: GenEval's with CLIP, otherwise also cyan and gray."""
        return COLOURS if self._colours else COLOUR_NAMES

    def check(self) -> None:
        """Check that the network exists, reading only its configuration file.

        Raises:
            PlanError: if torch or Transformers is not installed, or the network does not exist.
        """
        check_network(self._name, f"the detector {'hf:' + self._name!r}", "hf")

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """Detect objects and return them with the highest score first, at most 16 of a class. Objects of the classes in
        ``labels`` have a colour. If ``labels`` is empty, all have one.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if the weights cannot be read, the model does not have a class in ``labels``, or ``labels`` is
                empty and the model has no fixed set of classes.
            ScoreError: if the model fails.
        """
        rgb = as_rgb(image)
        threshold = self._counting_threshold if is_counting else self._threshold
        with self._lock:
            network = self._network
            with boundary(ScoreError, f"The detector 'hf:{self._place}'"):
                candidates = network(rgb, list(labels), threshold)
            candidates.sort(key=lambda item: -item[1])
            kept = [item for i, item in enumerate(candidates) if _rank(candidates, i) < _MAX_OF_A_CLASS]
            return [Detection(label, self._colour(rgb, box, label, labels), box, score) for label, score, box in kept]

    def _colour(self, image: PILImage, box: Box, label: str, labels: Sequence[str]) -> str | None:
        if labels and unknown_names([label], labels):
            return None
        return self._colourist(_crop(image, box, 1.0), label)

    @cached_property
    def _network(self) -> _Network:
        from transformers import AutoConfig
        from transformers.models.auto.modeling_auto import MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES

        hint = f"Name a folder that holds an object detection model: hf:PATH instead of hf:{self._place}."
        with boundary(PlanError, f"Reading the detector {self._place!r}", hint=hint):
            config = AutoConfig.from_pretrained(self._place)
            if config.model_type not in MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES:
                return _FixedClasses(self._place)
            return (_Grounding if "grounding" in config.model_type else _OpenVocabulary)(self._place)

    @cached_property
    def _colourist(self) -> Colourist:
        if not self._colours:
            return _most_common_colour
        hint = "Name a folder that holds a CLIP checkpoint."
        with boundary(PlanError, f"Reading the colour classifier {self._colours!r}", hint=hint):
            return _clip_colourist(self._colours)


_Candidate = tuple[str, float, Box]


class _Network:
    """A loaded detection model.

    Args:
        place: Hub id or folder.
        kind: The name of its Auto class in Transformers.
    """

    def __init__(self, place: str, kind: str) -> None:
        import torch
        import transformers

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = getattr(transformers, kind).from_pretrained(place).eval().to(self._device)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Candidate]:
        raise NotImplementedError

    def _run(self, inputs: Mapping[str, Any]) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(**inputs)


class _FixedClasses(_Network):
    """A model with a fixed set of classes."""

    def __init__(self, place: str) -> None:
        from transformers import AutoImageProcessor

        super().__init__(place, "AutoModelForObjectDetection")
        with processor_of(f"the detector {place!r}"):
            self._processor = AutoImageProcessor.from_pretrained(place)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Candidate]:
        names = self._model.config.id2label
        missing = unknown_names(labels, names.values())
        if missing:
            classes = sorted(map(str, names.values()))
            hint = did_you_mean(missing[0], classes) or f"It has {', '.join(classes[:8])} and others."
            raise PlanError(f"This detector has no class {missing[0]!r}.", where="labels", hint=hint)
        inputs = self._processor(images=image, return_tensors="pt").to(self._device)
        size = [(image.height, image.width)]
        detected = self._processor.post_process_object_detection(self._run(inputs), threshold, target_sizes=size)[0]
        return [
            (str(names[int(label)]), float(score), _box(box))
            for label, score, box in zip(detected["labels"], detected["scores"], detected["boxes"], strict=True)
        ]


class _OpenVocabulary(_Network):
    """A model that receives the classes to look for, one text for each (OWLv2)."""

    def __init__(self, place: str) -> None:
        from transformers import AutoProcessor

        super().__init__(place, "AutoModelForZeroShotObjectDetection")
        with processor_of(f"the detector {place!r}"):
            self._processor = AutoProcessor.from_pretrained(place)

    def __call__(self, image: PILImage, labels: list[str], threshold: float) -> list[_Candidate]:
        if not labels:
            raise PlanError("This detector needs the classes to look for.", hint="Pass labels to detect().")
        return self._found(image, labels, threshold)

    def _found(self, image: PILImage, labels: list[str], threshold: float) -> list[_Candidate]:
        texts = [[f"a photo of a {label}" for label in labels]]
        inputs = self._processor(images=image, text=texts, return_tensors="pt", padding=True).to(self._device)
        detected = self._processor.post_process_grounded_object_detection(
            self._run(inputs), threshold=threshold, target_sizes=[(image.height, image.width)], text_labels=[labels]
        )[0]
        labelled = zip(detected["text_labels"], detected["scores"], detected["boxes"], strict=True)
        return [(str(label), float(score), _box(box)) for label, score, box in labelled]


class _Grounding(_OpenVocabulary):
    """A model that receives all classes in one text and scores each word (Grounding DINO). An object belongs to the
    class with the highest word score.
    """

    def _found(self, image: PILImage, labels: list[str], threshold: float) -> list[_Candidate]:
        import torch

        inputs = self._processor(images=image, text=". ".join(labels) + ".", return_tensors="pt").to(self._device)
        spans = self._spans(inputs["input_ids"][0].tolist(), labels)
        outputs = self._run(inputs)
        words = outputs.logits[0].sigmoid()
        scores, best = torch.stack([words[:, span].amax(dim=1) for span in spans]).max(dim=0)
        x, y, width, height = outputs.pred_boxes[0].unbind(-1)
        corners = (x - width / 2) * image.width, (y - height / 2) * image.height
        boxes = zip(*corners, corners[0] + width * image.width, corners[1] + height * image.height, strict=True)
        detected = zip(best.tolist(), scores.tolist(), boxes, strict=True)
        return [(labels[number], score, _box(box)) for number, score, box in detected if score > threshold]

    def _spans(self, ids: list[int], labels: list[str]) -> list[list[int]]:
        """Return the positions of each label's tokens in the text.

        Raises:
            PlanError: if a label has no tokens: it contains a full stop, the text is too long, or the tokenizer knows
                no word of it.
        """
        tokenizer = self._processor.tokenizer
        stop, special = tokenizer.convert_tokens_to_ids("."), set(tokenizer.all_special_ids)
        spans: list[list[int]] = [[]]
        for position, token in enumerate(ids[: self._model.config.max_text_len]):
            if token == stop:
                spans.append([])
            elif token not in special:
                spans[-1].append(position)
        if len(spans) != len(labels) + 1 or not all(spans[:-1]):
            raise PlanError(f"This detector cannot read the classes {', '.join(map(repr, labels))} as one text each.")
        return spans[:-1]


def _rank(candidates: Sequence[_Candidate], position: int) -> int:
    """Return the number of candidates of the same class before this one."""
    return sum(item[0] == candidates[position][0] for item in candidates[:position])


def _box(box: Iterable[torch.Tensor]) -> Box:
    left, top, right, bottom = (float(value) for value in box)
    return left, top, right, bottom


def _crop(image: PILImage, box: Box, share: float) -> PILImage:
    """Crop the middle of a box, at least one pixel."""
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    half_width, half_height = share * (right - left) / 2, share * (bottom - top) / 2
    x0 = min(max(0, round(x - half_width)), image.width - 1)
    y0 = min(max(0, round(y - half_height)), image.height - 1)
    x1 = min(max(x0 + 1, round(x + half_width)), image.width)
    y1 = min(max(y0 + 1, round(y + half_height)), image.height)
    return image.crop((x0, y0, x1, y1))


def _most_common_colour(crop: PILImage, label: str) -> str:
    middle = _crop(crop, (0, 0, crop.width, crop.height), _MIDDLE)
    middle.thumbnail((64, 64))
    names, counts = np.unique(colour_names(np.asarray(middle)), return_counts=True)
    return str(names[counts.argmax()])


def _clip_colourist(place: str) -> Colourist:
    """Return a zero-shot classifier over ten colours. The mean of three templates' embeddings represents a colour."""
    import torch
    from transformers import CLIPModel, CLIPProcessor

    device = "cuda" if torch.cuda.is_available() else "cpu"
    with processor_of(f"the network {place!r}"):
        processor = CLIPProcessor.from_pretrained(place)
    network = CLIPModel.from_pretrained(place).eval().to(device)

    # Kept with the function, which belongs to the detector.
    @lru_cache(maxsize=256)
    def colour_embeddings(label: str) -> torch.Tensor:
        texts = [template.format(colour=colour, label=label) for colour in COLOURS for template in _TEMPLATES]
        inputs = processor(text=texts, return_tensors="pt", padding=True, truncation=True).to(device)
        with torch.inference_mode():
            pooled = network.text_model(**inputs).pooler_output
            embeddings = torch.nn.functional.normalize(network.text_projection(pooled), dim=-1)
        means = embeddings.reshape(len(COLOURS), len(_TEMPLATES), -1).mean(dim=1)
        return torch.nn.functional.normalize(means, dim=-1)

    def name(crop: PILImage, label: str) -> str:
        pixels = processor(images=crop, return_tensors="pt").to(device)
        with torch.inference_mode():
            embedding = network.visual_projection(network.vision_model(**pixels).pooler_output)
            return COLOURS[int((colour_embeddings(label) @ embedding[0]).argmax())]

    return name
