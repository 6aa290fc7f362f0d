"""What a checkpoint was not shown whole: images that its processor scaled down, prompts that were cut."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from polymeter.core.request import Generate, Loglikelihood
from polymeter.models.hf import HfModel
from polymeter.models.hf.scaled import pixel_advice, scaled_down
from tests.helpers.mixed_requests import picture, request


def cuts(responses):
    assert [response.error for response in responses] == [None] * len(responses)
    return [response.outputs[0].cut for response in responses]


def test_images_larger_than_the_network_sees_are_noted(model):
    small, large = picture(20, 28), picture(90, 30)
    requests = [request(small, "What?"), request("No image"), request(small, large, "Which?")]
    found = cuts(model("llava").respond(requests))
    assert found == [None, None, {"images": ""}], "the network has one fixed size"
    scored = [request(one, "What?", ask=Loglikelihood(("a", "b"))) for one in (small, large)]
    assert [bool(cut) for cut in cuts(model("llava").respond(scored))] == [False, True]


def test_tiles_show_what_fits_into_a_grid_of_them_whatever_is_beside_it(model):
    sizes = [(50, 50), (90, 90), (20, 56), (20, 57)]
    requests = [request(picture(*size), "?") for size in sizes]
    found = cuts(model("llava_next").respond(requests))
    assert [bool(cut) for cut in found] == [False, True, False, True]
    assert "set image_grid_pinpoints" in found[1]["images"]
    assert found == [cuts(model("llava_next").respond([one]))[0] for one in requests]


def tensors(*shape: int, **more: object) -> dict[str, object]:
    return {"pixel_values": torch.zeros(*shape), **more}


QWEN = SimpleNamespace(patch_size=14, merge_size=2, max_pixels=1)
TILES = SimpleNamespace(
    crop_to_patches=False, get_number_of_image_patches=lambda height, width, _: 3 if width > 50 else 1
)
PIXTRAL = SimpleNamespace(patch_size={"height": 16, "width": 16})


@pytest.mark.parametrize(
    ("sizes", "encoded", "processor", "scaled"),
    [
        # 480 x 640 becomes 476 x 644: rounded to patches.
        ([(480, 640)], {"image_grid_thw": torch.tensor([[1, 34, 46]])}, QWEN, [False]),
        ([(480, 640)], {"image_grid_thw": torch.tensor([[1, 20, 28]])}, QWEN, [True]),
        ([(480, 640)] * 2, {"image_grid_thw": torch.tensor([[1, 34, 46]])}, QWEN, [False, False]),
        ([(60, 80)], tensors(1, 3, 64, 96, image_sizes=torch.tensor([[64, 80]])), PIXTRAL, [False]),
        ([(600, 800)], tensors(1, 3, 64, 96, image_sizes=torch.tensor([[64, 80]])), PIXTRAL, [True]),
        ([(20, 20)], tensors(1, 3, 24, 24), SimpleNamespace(), [False]),
        ([(20, 30)], tensors(1, 3, 24, 24), SimpleNamespace(), [True]),
        ([(20, 30)], tensors(5, 3, 24, 24), SimpleNamespace(), [False]),
        ([(20, 30)], tensors(1, 3, 24, 24, pixel_attention_mask=torch.ones(1)), SimpleNamespace(), [False]),
        ([(20, 30)], {}, SimpleNamespace(), [False]),
        # Tiles of 32 x 32, and a small copy of an image of several: of 1 x 2, of one, and of 1 x 2.
        ([(30, 60), (30, 40), (40, 60)], tensors(7, 3, 32, 32), TILES, [False, True, True]),
        ([(30, 30)], tensors(1, 3, 32, 32), TILES, [False]),
        ([(30, 60)], tensors(1, 3, 32, 32), TILES, [True]),  # it does not cut this time
    ],
)
def test_sizes_are_read_from_the_tensors(sizes, encoded, processor, scaled):
    assert scaled_down(sizes, encoded, processor) == scaled


def test_the_advice_names_what_the_processor_has():
    assert pixel_advice(QWEN) == "raise --model-args max_pixels=N"
    assert "set size in --model-args processor_args" in pixel_advice(SimpleNamespace(size={"longest_edge": 8}))
    assert "set size" in pixel_advice(SimpleNamespace(size=SimpleNamespace(longest_edge=8)))
    assert "set max_patches" in pixel_advice(SimpleNamespace(size={"height": 8}, max_patches=12))
    assert pixel_advice(SimpleNamespace(size={"height": 8, "width": 8}, crop_size={"height": 8})) == ""
    assert pixel_advice(SimpleNamespace(size={"shortest_edge": 8}, crop_size={"height": 8})) == ""
    assert pixel_advice(SimpleNamespace()) == ""


def test_cut_prompts_are_noted(checkpoint):
    model = HfModel(str(checkpoint("llama")), max_length=40, cut_prompts=True)
    model.load()
    short, long = "Hi", "which of the choices is right " * 8
    both = [request(text, ask=Generate(8, 0.0)) for text in (short, long)]
    assert [bool(cut) for cut in cuts(model.respond(both))] == [False, True]
    assert [cut and [*cut] for cut in cuts([model.respond([one])[0] for one in both])] == [None, ["prompt"]]
    scored = [request(text, ask=Loglikelihood(("a", "b"))) for text in (short, long)]
    assert [bool(cut) for cut in cuts(model.respond(scored))] == [False, True]


def test_a_tokenizer_that_says_to_truncate_is_not_followed(checkpoint):
    model = HfModel(str(checkpoint("llava")))
    model.load()
    tokenizer = model._loaded.tokenizer
    long = request("which of the choices is right " * 8)
    whole = model._encoder.encode([long]).n_tokens
    tokenizer.init_kwargs["truncation"], tokenizer.init_kwargs["max_length"] = True, 8
    try:
        assert model._encoder.encode([long]).n_tokens == whole
    finally:
        del tokenizer.init_kwargs["truncation"], tokenizer.init_kwargs["max_length"]
