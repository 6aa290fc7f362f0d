"""Images out of checkpoints that write text too: Janus and Emu3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from polymeter.core.request import Generate, GenerateImage, Response
from polymeter.models.hf import HfModel
from polymeter.models.hf.images.emu3 import Emu3
from polymeter.models.hf.images.networks import drawing_of
from tests.helpers.janus import JANUS_SIZE, make_unified
from tests.helpers.mixed_requests import picture, request

PROMPTS = ("a red circle", "two blue squares left of a triangle, and a star in four colours", "star", "a red circle")
SIZES = {"janus": (JANUS_SIZE, JANUS_SIZE), "emu3": (32, 24)}
BOTH = pytest.mark.parametrize("architecture", ["janus", "emu3"])


@pytest.fixture(scope="module")
def unified(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], HfModel]:
    """A function from an architecture to a loaded model."""
    made: dict[str, HfModel] = {}

    def load(architecture: str) -> HfModel:
        if architecture not in made:
            made[architecture] = HfModel(str(make_unified(architecture, tmp_path_factory.mktemp(architecture))))
            made[architecture].load()
        return made[architecture]

    return load


def ask(architecture: str, seed: int = 0, **extra: Any) -> GenerateImage:
    return GenerateImage(SIZES[architecture], seed, extra=extra)


def pixels(response: Response) -> list[np.ndarray[Any, Any]]:
    assert response.error is None, response.error
    return [np.asarray(output.images[0]) for output in response.outputs]


def equal(one: Response, other: Response) -> bool:
    pairs = zip(pixels(one), pixels(other), strict=True)
    return all(np.array_equal(first, second) for first, second in pairs)


@BOTH
@pytest.mark.parametrize("extra", [{}, {"guidance_scale": 1.0}, {"top_k": 5, "temperature": 1.5}])
def test_an_image_is_the_same_whatever_is_drawn_with_it(
    unified: Callable[[str], HfModel], architecture: str, extra: dict[str, Any]
) -> None:
    model = unified(architecture)
    requests = [
        request(text, ask=ask(architecture, 10 * place + number, **extra))
        for place, text in enumerate(PROMPTS)
        for number in range(2)
    ]
    together = model.respond(requests)
    assert all(map(equal, together, [model.respond([one])[0] for one in requests]))
    assert all(map(equal, together, model.respond(requests[::-1])[::-1]))
    first, *others = [one for response in together for one in pixels(response)]
    assert first.shape == (SIZES[architecture][1], SIZES[architecture][0], 3)
    assert not any(np.array_equal(first, other) for other in others)  # another prompt, or another seed


@BOTH
def test_one_checkpoint_writes_and_draws(unified: Callable[[str], HfModel], architecture: str) -> None:
    model = unified(architecture)
    assert model.traits.requests == {"generate": True, "loglikelihood": True, "generate_image": True}
    told, drawn, told_again = model.respond(
        [
            request("What is it?", ask=Generate(6, 0.0)),
            request("a star", ask=ask(architecture)),
            request("What is it?", ask=Generate(6, 0.0)),
        ]
    )
    assert told.text
    assert told.text == told_again.text
    assert drawn.outputs[0].images[0].size == SIZES[architecture]


@BOTH
def test_text_that_is_sampled_follows_its_seeds(unified: Callable[[str], HfModel], architecture: str) -> None:
    model = unified(architecture)
    requests = [request("What is it?", ask=Generate(8, 1.0, seed=seed)) for seed in (1, 2, 1)]
    one, other, same = (response.text for response in model.respond(requests))
    assert one == same != other


def test_janus_takes_the_tokens_that_transformers_takes(unified: Callable[[str], HfModel]) -> None:
    """Greedy, so that both draw the same; the network's own loop has one more row for each, too."""
    model = unified("janus")
    (ours,) = pixels(model.respond([request("a star", ask=ask("janus", do_sample=False))])[0])
    loaded = model._loaded
    assert loaded is not None
    text = loaded.processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "text", "text": "a star"}]}], add_generation_prompt=True
    )
    inputs = loaded.processor(text=[text], generation_mode="image", return_tensors="pt")
    network = loaded.network
    network.generation_config.generation_kwargs = {
        "boi_token_id": loaded.tokenizer.convert_tokens_to_ids(loaded.processor.image_start_token)
    }
    tokens = type(network).generate(
        network, **inputs, generation_mode="image", do_sample=False, guidance_scale=5.0, max_length=128
    )
    values = network.decode_image_tokens(tokens)[0]
    theirs = ((values * 0.5 + 0.5) * 255).clamp(0, 255).byte().numpy()
    assert np.array_equal(ours, theirs)


def test_janus_sees_what_it_is_shown(unified: Callable[[str], HfModel]) -> None:
    model = unified("janus")
    parts: list[tuple[Any, ...]] = [(picture(20, 30), "Add a star"), (picture(30, 20), "Add a star"), ("Add a star",)]
    requests = [request(*part, ask=ask("janus")) for part in parts]
    together = model.respond(requests)
    assert all(map(equal, together, [model.respond([one])[0] for one in requests]))
    assert not equal(together[0], together[1])
    assert not equal(together[0], together[2])


@BOTH
@pytest.mark.parametrize("extra", [{"guidance_scale": 1.0}, {"temperature": 0.0}, {"do_sample": False}])
def test_settings_reach_the_network(
    unified: Callable[[str], HfModel], architecture: str, extra: dict[str, Any]
) -> None:
    plain, other = (
        unified(architecture).respond([request("a star", ask=ask(architecture, **one))])[0] for one in ({}, extra)
    )
    assert not equal(plain, other)


def test_emu3_draws_away_from_what_its_authors_do_where_an_ask_does_not_say() -> None:
    painter: Any = Emu3
    asks = [GenerateImage(extra=extra) for extra in ({}, {"negative_prompt": "blue"}, {"negative_prompt": ""})]
    usual, *told = (drawing_of(one, painter).negative for one in asks)
    assert usual.startswith("lowres, bad anatomy")
    assert told == ["blue", ""]


def test_emu3_draws_away_from_a_negative_prompt(unified: Callable[[str], HfModel]) -> None:
    plain, other = (
        unified("emu3").respond([request("a star", ask=ask("emu3", **one))])[0]
        for one in ({}, {"negative_prompt": "a yellow triangle, blurred"})
    )
    assert not equal(plain, other)


def test_emu3_draws_the_size_that_is_asked_for(unified: Callable[[str], HfModel]) -> None:
    model = unified("emu3")
    wide, high = model.respond(
        [
            request("a star", ask=GenerateImage((48, 16), 1)),
            request("a star", ask=GenerateImage((16, 32), 1)),
        ]
    )
    assert wide.outputs[0].images[0].size == (48, 16)
    assert high.outputs[0].images[0].size == (16, 32)


@pytest.mark.parametrize(
    ("architecture", "parts", "size", "told"),
    [
        ("janus", ("a star",), (64, 64), r"Janus draws images of 16 x 16 pixels, not (64, 64)"),
        ("emu3", (picture(8, 8), "a star"), (32, 32), "Emu3 draws from text alone"),
        ("emu3", ("a star",), (512, 512), "The prompt has 10 tokens and the image has 4160: together more than 1024"),
        ("emu3", ("a star",), (2, 2), "in patches of 8 pixels. (2, 2) is smaller than one patch"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    unified: Callable[[str], HfModel], architecture: str, parts: tuple[Any, ...], size: tuple[int, int], told: str
) -> None:
    failed, fine = unified(architecture).respond(
        [
            request(*parts, ask=GenerateImage(size, 1)),
            request("a star", ask=ask(architecture)),
        ]
    )
    assert told in failed.error.message
    assert failed.error.kind == "permanent"
    assert fine.error is None


def test_one_that_cannot_be_read_fails_alone(unified: Callable[[str], HfModel], tmp_path: Path) -> None:
    from polymeter.core.content import Image

    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    fine = request("a star", ask=ask("janus"))
    failed, answered = unified("janus").respond([request(Image(broken), "a star", ask=ask("janus")), fine])
    assert failed.error.kind == "data"
    assert equal(answered, unified("janus").respond([fine])[0])


def test_settings_that_change_nothing_are_told(unified: Callable[[str], HfModel]) -> None:
    janus, emu3 = unified("janus"), unified("emu3")
    told = janus.ignores(GenerateImage((64, 64), extra={"negative_prompt": "x", "guidence_scale": 3.0}))
    assert told["size"] == "Janus draws images of 16 x 16 pixels."
    assert "has no such setting" in told["negative_prompt"]
    assert "'guidance_scale'" in told["guidence_scale"]
    assert emu3.ignores(GenerateImage((64, 64), extra={"negative_prompt": "x", "top_k": 7})) == {}


def test_others_draw_nothing(model: Callable[..., HfModel]) -> None:
    llava = model("llava")
    assert llava.traits.requests["generate_image"] is False
    assert llava.ignores(GenerateImage(extra={"style": "vivid"})) == {}
    (response,) = llava.respond([request("a star", ask=GenerateImage())])
    assert "cannot answer 'generate_image'" in response.error.message


def test_batch_size_changes_no_image_of_a_run(tmp_path: Path) -> None:
    import json

    import polymeter

    task = tmp_path / "prompts.tsv"
    task.write_text("\n".join(["index\tprompt", *(f"{number}\t{text}" for number, text in enumerate(PROMPTS))]))
    model = f"hf:{make_unified('janus', tmp_path / 'janus')}"
    found = []
    for size in (1, 4):
        output = tmp_path / f"run{size}"
        polymeter.evaluate(
            model,
            [str(task)],
            output=output,
            batch_size=size,
            generation={"n": 2},
            dialect_options={"tsv": {"predict_only": True}},
        )
        rows = [json.loads(line) for line in (output / "samples" / "prompts.jsonl").read_text().splitlines()]
        found.append([[exchange["response"]["outputs"][0] for exchange in row["exchanges"]] for row in rows])
    names = [[output["images"] for output in outputs] for outputs in found[0]]
    assert names == [[output["images"] for output in outputs] for outputs in found[1]]
    assert len({name for sample in names for images in sample for name in images}) == 2 * len(PROMPTS)


def test_memory_that_runs_out_is_told_apart(unified: Callable[[str], HfModel], monkeypatch: pytest.MonkeyPatch) -> None:
    from polymeter.core.errors import ModelError

    model = unified("janus")
    assert model._loaded is not None

    def run_out(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(model._loaded.network.model.language_model, "forward", run_out)
    with pytest.raises(ModelError) as caught:
        model.respond([request("a star", ask=ask("janus"))])
    assert caught.value.kind == "out_of_memory"
