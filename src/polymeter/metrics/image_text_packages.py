"""Scorers of images against texts with networks from their authors' packages, which the user installs.

Weights come from the folder or file of ``--weights ID=PATH``, else from the Hugging Face hub or its cache. The packages
compute the scores; this module calls them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.core.guest_context import weights_place
from polymeter.metrics.image_text import ImageTextScorer, best_device, unit

if TYPE_CHECKING:
    import torch

_FGA_TOKENIZER = "google-bert/bert-base-uncased"


def vqa(weights: str, file: str) -> ImageTextScorer:
    """Return a scorer by the probability of "Yes" when CLIP-FlanT5 is asked whether the image shows the text (Lin et
    al. 2024).

    Args:
        weights: Folder in which the package keeps its files, or the model's hub id.
        file: The model's name in ``t2v_metrics``.
    """
    import t2v_metrics

    kept = {"cache_dir": weights} if Path(weights).is_dir() else {}
    scorer = t2v_metrics.VQAScore(model=file, device=best_device(), **kept)

    def score(image: Any, texts: list[Any]) -> torch.Tensor:
        with tempfile.TemporaryDirectory(prefix="polymeter-vqa-") as folder:
            path = Path(folder) / "image.png"  # the package opens images itself
            image.save(path)
            return _vector(scorer(images=[str(path)], texts=texts)[0])

    return ImageTextScorer(score)


def hps(weights: str, file: str) -> ImageTextScorer:
    """Return a scorer by the cosine of the embeddings of a CLIP that was fine-tuned on human preferences (HPS v2, Wu et
    al. 2023).

    Args:
        weights: Folder, file or hub id of the checkpoint.
        file: The checkpoint's name.
    """
    import open_clip
    import torch

    network, _, prepare = open_clip.create_model_and_transforms("ViT-H-14", image_resize_mode="longest")
    checkpoint = torch.load(_file(weights, file), map_location="cpu", weights_only=True)
    network.load_state_dict(checkpoint["state_dict"])
    return _open_clip_scorer(network, prepare, open_clip.get_tokenizer("ViT-H-14"))


def open_clip_score(weights: str, file: str) -> ImageTextScorer:
    """Return CLIPScore by OpenCLIP, as EvalScope computes it: the checkpoint of OpenAI without its own activation
    function.

    Args:
        weights: Folder, file or hub id of the checkpoint.
        file: The checkpoint's name.
    """
    import open_clip

    path = _file(weights, file)
    network, _, prepare = open_clip.create_model_and_transforms("ViT-L-14-336", pretrained=path)
    return _open_clip_scorer(network, prepare, open_clip.get_tokenizer("ViT-L-14-336"))


def image_reward(weights: str, file: str) -> ImageTextScorer:
    """Return a reward model of human preferences (ImageReward, Xu et al. 2023).

    Args:
        weights: Folder or hub id of the checkpoint and its ``med_config.json``.
        file: The checkpoint's name.
    """
    import ImageReward

    network = ImageReward.load(_file(weights, file), device=best_device(), med_config=_file(weights, "med_config.json"))

    def score(image: Any, texts: list[Any]) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            return _vector([network.score(text, image) for text in texts])

    return ImageTextScorer(score)


def fga_blip2(weights: str, file: str) -> ImageTextScorer:
    """Return a scorer of the match of an image with a whole text, and with each of its elements (FGA-BLIP2, Han et al.
    2024).

    A text is a string, or a mapping with ``prompt`` and ``tags``, the elements, each as ``"hot dog (food)"``. The score
    of a mapping with elements is a mapping too: ``overall_score``, and a score for each element.

    Args:
        weights: Folder, file or hub id of the checkpoint.
        file: The checkpoint's name.
    """
    from lavis.models import load_model_and_preprocess
    from transformers import AutoTokenizer

    device = best_device()
    network, images, words = load_model_and_preprocess("fga_blip2", "coco", is_eval=True, device=device)
    network.load_checkpoint(_file(weights, file))
    network.eval()
    tokenizer = AutoTokenizer.from_pretrained(weights_place(_FGA_TOKENIZER), truncation_side="right")
    tokenizer.add_special_tokens({"bos_token": "[DEC]"})

    def score_one(image: Any, text: Any) -> Any:
        import torch

        prompt, elements = (text, ()) if isinstance(text, str) else (text["prompt"], text.get("tags") or ())
        shown = words["eval"](prompt)
        with torch.inference_mode():
            overall, per_token = network.element_score(images["eval"](image).to(device).unsqueeze(0), [shown])
        if not elements:
            return overall
        tokens = tokenizer(shown).input_ids
        found = {element: _mean_over(per_token, tokens, _inner(tokenizer, element)) for element in elements}
        return {"overall_score": overall, **found}

    def score(image: Any, texts: list[Any]) -> Any:
        return [score_one(image, text) for text in texts]

    return ImageTextScorer(score)


def _inner(tokenizer: Any, element: str) -> list[int]:
    """Return the tokens of an element without its kind, which follows it in brackets."""
    return list(tokenizer(element.rpartition("(")[0]).input_ids[1:-1])


def _mean_over(per_token: torch.Tensor, tokens: Sequence[int], wanted: Sequence[int]) -> torch.Tensor:
    """Return the mean of the scores of some tokens of a prompt, where they first occur together; 0 if they do not."""
    n = len(wanted)
    starts = range(1, len(tokens) - n + 1)  # the first token of a prompt is not part of its words
    start = next((start for start in starts if list(tokens[start : start + n]) == list(wanted)), 0)
    if not start or not n:
        return per_token.new_zeros(())
    return per_token.reshape(-1)[start : start + n].mean()


def _open_clip_scorer(network: Any, prepare: Any, tokenizer: Any) -> ImageTextScorer:
    device = best_device()
    network = network.eval().to(device)

    def score(image: Any, texts: list[Any]) -> torch.Tensor:
        import torch

        with torch.inference_mode():
            of_image = network.encode_image(prepare(image).unsqueeze(0).to(device))
            of_texts = network.encode_text(tokenizer(texts).to(device))
        return unit(of_texts) @ unit(of_image)[0]

    return ImageTextScorer(score)


def _vector(values: Any) -> torch.Tensor:
    """Return numbers, or tensors of one number each, as a tensor of one dimension."""
    import torch

    return torch.stack([torch.as_tensor(value).reshape(()) for value in values])


def _file(place: str, name: str) -> str:
    """Return a file of a checkpoint. The place is the file itself, its folder, or a hub id.

    Raises:
        DataError: if the folder does not contain it.
    """
    path = Path(place).expanduser()
    if path.is_file() and (path.suffix == Path(name).suffix or path.name == name):
        return str(path)
    path = path.parent if path.is_file() else path
    if path.is_dir():
        if not (path / name).is_file():
            raise DataError(f"The folder {place!r} contains no {name}.", hint="Put the checkpoint's files into it.")
        return str(path / name)
    from huggingface_hub import hf_hub_download

    return str(hf_hub_download(place, name))
