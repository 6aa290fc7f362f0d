"""Models that score the match of an image and a text, by name.

This module builds the scorers that Transformers can load. ``image_text_packages`` builds those with networks from their
authors' packages. If such a package is missing, the error contains the command that installs it. Weights come from the
Hugging Face hub or its cache, or from the folder of ``--weights ID=PATH``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.guest_context import guest_context, weights_place
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.shown_images import as_shown
from polymeter.core.names.installing import pip_install
from polymeter.core.names.registry import missing_package, processor_of
from polymeter.core.names.systems import load

if TYPE_CHECKING:
    import torch

_MOST_TOKENS = 77
_MOST_TOKENS_OF_BLIP_THERE = 35


class ImageTextScorer:
    """A scorer of images against texts.

    Args:
        score: A function from one opened image and a list of texts to a tensor of scores, shape ``(len(texts),)``.
    """

    def __init__(self, score: Callable[[Any, list[str]], torch.Tensor]) -> None:
        self._score = score

    def __call__(self, images: Sequence[Any] | str, texts: Sequence[str] | str) -> list[torch.Tensor]:
        """Score every image against every text.

        Args:
            images: Paths, or opened images.
            texts: The same number of texts.

        Returns:
            A tensor of shape ``(len(texts),)`` for each image.

        Raises:
            DataError: if the numbers of images and texts differ, or an image cannot be opened.
        """
        images = [images] if isinstance(images, str) else list(images)
        texts = [texts] if isinstance(texts, (str, Mapping)) else list(texts)
        if len(images) != len(texts):
            raise DataError(f"The numbers of images ({len(images)}) and texts ({len(texts)}) differ.")
        return [self._score(_opened(image), texts) for image in images]


MakeScorer = Callable[[str, str], ImageTextScorer]


@dataclass(frozen=True, slots=True)
class _WeightsSource:
    """The source of a scorer, or the reason why Polymeter cannot build it.

    Attributes:
        make: A factory, or the name of one in ``image_text_packages``; ``None`` if Polymeter cannot build it.
        weights: Hub id of the weights.
        processor: Hub id of the processor; for a package the checkpoint's file.
        needs: The missing part, if there is no factory.
        install: The package to install with pip; empty: Polymeter's own extra.
    """

    make: MakeScorer | str | None = None
    weights: str = ""
    processor: str = ""
    needs: str = ""
    install: str = ""


def image_scorer(name: str) -> ImageTextScorer:
    """Build the scorer with this name and load its weights, on the first GPU if there is one.

    Raises:
        PlanError: if the scorer is unknown, Polymeter cannot build it, or its weights or packages are missing.
    """
    source = AT_PARITY[name] if name in AT_PARITY and _is_at_parity(name) else SCORERS.get(name)
    if source is None:
        hint = did_you_mean(name, SCORERS) or f"Known: {', '.join(SCORERS)}."
        raise PlanError(f"There is no image scorer {name!r}.", hint=hint)
    if source.make is None:
        raise PlanError(
            f"The image scorer {name!r} cannot be built: {source.needs}",
            where="metric_list",
            hint=f"These can: {', '.join(other for other, its_source in SCORERS.items() if its_source.make)}.",
        )
    make = cast("MakeScorer", load(f"{_PACKAGES}:{source.make}")) if isinstance(source.make, str) else source.make
    weights, processor = weights_place(source.weights), weights_place(source.processor)
    with boundary(
        PlanError,
        f"Reading the image scorer {name!r} from {weights!r}",
        hint=f"Name a folder that holds it: --weights {source.weights}=PATH.",
    ):
        try:
            return make(weights, processor)
        except ModuleNotFoundError as error:
            if source.install:
                raise PlanError(
                    f"The image scorer {name!r} needs the package {error.name!r}, which is not installed.",
                    where="metric_list",
                    hint=f"Install it with: {pip_install(source.install)}",
                ) from error
            raise missing_package(error.name or "transformers", f"the image scorer {name!r}", "hf") from error


def _clip(weights: str, processor: str) -> ImageTextScorer:
    """Return a scorer by the cosine of the embeddings of image and text."""
    from transformers import AutoProcessor, CLIPModel

    with processor_of(f"the network {processor!r}"):
        prepare = AutoProcessor.from_pretrained(processor)
    network = CLIPModel.from_pretrained(weights).eval().to(best_device())

    def score(image: Any, texts: list[str]) -> torch.Tensor:
        import torch

        inputs = prepare(
            images=image, text=texts, padding=True, truncation=True, max_length=_MOST_TOKENS, return_tensors="pt"
        ).to(network.device)
        with torch.inference_mode():
            output = network(**inputs)
        return torch.as_tensor(unit(output.text_embeds) @ unit(output.image_embeds)[0])

    return ImageTextScorer(score)


def _matching(weights: str, processor: str) -> ImageTextScorer:
    """Return a scorer by the matching head of BLIP-2 (Li et al. 2023): the probability that the text describes the
    image.
    """
    from transformers import AutoProcessor, Blip2ForImageTextRetrieval

    with processor_of(f"the network {processor!r}"):
        prepare = AutoProcessor.from_pretrained(processor)
    network = Blip2ForImageTextRetrieval.from_pretrained(weights).eval().to(best_device())

    def score_one(image: Any, text: str) -> torch.Tensor:
        import torch

        most = {"max_length": _MOST_TOKENS_OF_BLIP_THERE} if guest_context().parity.on("blip-tokens") else {}
        inputs = prepare(images=image, text=text, truncation=True, return_tensors="pt", **most).to(network.device)
        with torch.inference_mode():
            output = network(**inputs, use_image_text_matching_head=True)
        return torch.as_tensor(output.logits_per_image.float().softmax(dim=-1)[0, 1])

    def score(image: Any, texts: list[str]) -> torch.Tensor:
        import torch

        return torch.stack([score_one(image, text) for text in texts])

    return ImageTextScorer(score)


def _from_one(make: Callable[[str, str], ImageTextScorer], weights: str) -> _WeightsSource:
    return _WeightsSource(make, weights, weights)


_needs = partial(_WeightsSource, None, "", "")
_OPEN_CLIP = "open_clip_torch"
_PACKAGES = "polymeter.metrics.image_text_packages"

# BLIP-2's scores are those of the pre-trained checkpoint in the format of Transformers.
SCORERS: Mapping[str, _WeightsSource] = {
    "VQAScore": _WeightsSource("vqa", "zhiqiulin/clip-flant5-xxl", "clip-flant5-xxl", install="t2v-metrics"),
    "PickScore": _WeightsSource(_clip, "yuvalkirstain/PickScore_v1", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"),
    "CLIPScore": _from_one(_clip, "openai/clip-vit-large-patch14-336"),
    "BLIPv2Score": _from_one(_matching, "Salesforce/blip2-itm-vit-g"),
    "HPSv2Score": _WeightsSource("hps", "xswu/HPSv2", "HPS_v2_compressed.pt", install=_OPEN_CLIP),
    "HPSv2.1Score": _WeightsSource("hps", "xswu/HPSv2", "HPS_v2.1_compressed.pt", install=_OPEN_CLIP),
    "ImageRewardScore": _WeightsSource("image_reward", "THUDM/ImageReward", "ImageReward.pt", install="image-reward"),
    "FGA_BLIP2Score": _WeightsSource(
        "fga_blip2",
        "AI-ModelScope/FGA-BLIP2",
        "fga_blip2.pth",
        install="git+https://github.com/DYEvaLab/EvalMuse",  # its lavis, which has the network fga_blip2
    ),
    "MPS": _needs("it needs the cross-attention network of MPS and the checkpoint MPS_overall_state_dict.pt."),
}


AT_PARITY: Mapping[str, _WeightsSource] = {
    "CLIPScore": _WeightsSource(
        "open_clip_score",
        "timm/vit_large_patch14_clip_336.openai",
        "open_clip_model.safetensors",
        install=_OPEN_CLIP,
    ),
}
"""Scorers that are built in another way at parity."""


def _is_at_parity(name: str) -> bool:
    return name == "CLIPScore" and guest_context().parity.on("clip-network")


def _opened(image: Any) -> Any:
    from PIL import Image

    if isinstance(image, Image.Image):
        return _in_rgb(image)
    name = f"The image {str(image)!r}"
    with boundary(DataError, f"Opening the image {str(image)!r}"), opened_image(image, name) as opened:
        return _in_rgb(opened)


def _in_rgb(image: Any) -> Any:
    is_as_there = guest_context().parity.on("image-transparency")
    return (image if is_as_there else as_shown(image)).convert("RGB")


def unit(embeddings: torch.Tensor) -> torch.Tensor:
    """Scale embeddings to length 1."""
    return embeddings / embeddings.norm(dim=-1, keepdim=True)


def best_device() -> str:
    """Return the first GPU, else the processor."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
