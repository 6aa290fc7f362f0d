"""The model: what it draws, that it depends on prompt and seed alone, and how often it is wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image as PILImage

from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.names.registries import MODELS
from polymeter.core.request import Generate, GenerateImage, Message, Request, Response
from polymeter.library.shapes import ShapesModel
from polymeter.library.shapes.layout import placed
from polymeter.library.shapes.reading import DescribedDrawing, ShapeGroup, read_edit, read_order
from polymeter.library.shapes.slips import slipped, slipped_edit
from polymeter.library.shapes.words import COLOURS, RELATIONS, SHAPES

TWO_LEFT_OF_ONE = "two red circles left of a blue square"


def asked(prompt: str, image: Any = None, ask: Any = None) -> Request:
    shown = [Image(each) for each in (image if isinstance(image, list) else [image]) if each is not None]
    return Request((Message("user", (*shown, Text(prompt))),), ask or GenerateImage())


def answer(model: ShapesModel, prompt: str, image: Any = None, **ask: Any) -> Response:
    (response,) = model.respond([asked(prompt, image, GenerateImage(**ask))])
    return response


def drawn(model: ShapesModel, prompt: str, image: Any = None, **ask: Any) -> PILImage.Image:
    response = answer(model, prompt, image, **ask)
    assert response.error is None, response.error
    return response.outputs[0].images[0]


def seen(image: PILImage.Image) -> list[str]:
    """What the detector finds, as sorted words."""
    pytest.importorskip("cv2")
    from polymeter.metrics.detectors import make_detector

    return sorted(f"{thing.colour} {thing.label}" for thing in make_detector().detect(image))


@pytest.fixture
def faultless() -> ShapesModel:
    return ShapesModel(error_rate=0)


def test_it_draws_what_is_asked_for(faultless: ShapesModel) -> None:
    for seed in range(10):
        image = drawn(faultless, TWO_LEFT_OF_ONE, seed=seed)
        assert (image.size, image.mode) == ((256, 256), "RGB")
        assert seen(image) == ["blue square", "red circle", "red circle"]


@pytest.mark.parametrize("size", [(128, 128), (512, 256), (300, 700), (1024, 1024)])
def test_it_draws_in_any_size(faultless: ShapesModel, size: tuple[int, int]) -> None:
    image = drawn(faultless, TWO_LEFT_OF_ONE, size=size)
    assert image.size == size
    assert seen(image) == ["blue square", "red circle", "red circle"]


def test_an_image_depends_on_prompt_and_seed_alone(faultless: ShapesModel) -> None:
    one, two, three = faultless.respond(
        [
            asked(TWO_LEFT_OF_ONE, ask=GenerateImage(seed=7)),
            asked("a star", ask=GenerateImage(seed=7)),
            asked(TWO_LEFT_OF_ONE, ask=GenerateImage(seed=8, repeat=1)),
        ]
    )
    first, second = (response.outputs[0].images[0].tobytes() for response in (one, three))
    assert first != second
    assert drawn(ShapesModel(0), TWO_LEFT_OF_ONE, seed=8).tobytes() == second, "whatever it is asked with"
    assert two.outputs[0].images[0].tobytes() == drawn(ShapesModel(0), "a star", seed=7).tobytes()


def test_without_seeds_generations_still_differ(faultless: ShapesModel) -> None:
    assert len({drawn(faultless, "a star", repeat=number).tobytes() for number in range(2)}) == 2


def test_all_relations_hold_as_geneval_sees_them() -> None:
    from polymeter.metrics.composition import relations

    for seed in range(200):
        rng = random.Random(seed)
        relation = rng.choice(RELATIONS)
        groups = tuple(ShapeGroup(rng.choice(SHAPES), rng.randint(1, 3)) for _ in range(2))
        things = placed(DescribedDrawing(groups, relation, 1), 1, rng.choice([1, 1.7]), rng).things
        boxes = [(t.x - t.radius, t.y - t.radius, t.x + t.radius, t.y + t.radius) for t in things]
        first, second = boxes[: groups[0].count], boxes[groups[0].count :]
        assert all(relation in relations(a, b) for a in first for b in second)


def test_there_is_room_for_as_many_as_it_promises() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        groups = tuple(ShapeGroup(rng.choice(SHAPES), 4, size=rng.choice(["", "large"])) for _ in range(3))
        relation = rng.choice([*RELATIONS, ""])
        assert len(placed(DescribedDrawing(groups, relation, 1 if relation else 0), 1, 1, rng).things) == 12


def test_what_cannot_be_placed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.library.shapes.layout._TRIES", 0)
    with pytest.raises(ModelError, match="finds no room for all shapes"):
        placed(read_order("a star"), 1, 1, random.Random(0))


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_each_aspect_goes_wrong_at_the_stated_rate(rate: float) -> None:
    order = read_order("two red circles and a star left of a blue square")
    n = 4000
    found = [slipped(order, rate, random.Random(seed)) for seed in range(n)]
    wrong = {
        "count": [[g.count for g in one.groups] != [2, 1, 1] for one in found],
        "colour": [[g.colour for g in one.groups] != ["red", "", "blue"] for one in found],
        "relation": [one.relation != "left of" for one in found],
    }
    bound = 4 * (rate * (1 - rate) / n) ** 0.5
    for name, is_wrong in wrong.items():
        assert abs(sum(is_wrong) / n - rate) < bound, name
    both = sum(a and b for a, b in zip(wrong["count"], wrong["colour"], strict=True)) / n
    assert abs(both - rate**2) < bound, "independently of each other"
    assert all(one.groups[1].colour == "" for one in found), "what is not named cannot be wrong"
    assert all(group.count >= 1 for one in found for group in one.groups)


def test_a_wrong_colour_is_none_that_the_prompt_names() -> None:
    order = read_order("a red circle and a blue square on a white background")
    for seed in range(100):
        new = [group.colour for group in slipped(order, 1, random.Random(seed)).groups]
        assert len({"red", "blue"} & set(new)) == 1
        assert "white" not in new


def test_a_full_image_slips_to_fewer() -> None:
    found = slipped(read_order("six circles and six squares"), 1, random.Random(0))
    assert sum(group.count for group in found.groups) == 11


def test_an_edit_goes_wrong_at_the_stated_rate() -> None:
    for prompt in ("make the square red", "add a star in the center", "remove the star"):
        edit = read_edit(prompt)
        wrong = sum(slipped_edit(edit, 0.3, random.Random(seed)) != edit for seed in range(2000)) / 2000
        assert abs(wrong - 0.3) < 0.04, prompt


def test_it_never_slips_at_rate_0_and_always_at_rate_1() -> None:
    perfect, hopeless = ShapesModel(0), ShapesModel(1)
    for seed in range(5):
        assert seen(drawn(perfect, "two red circles", seed=seed)) == ["red circle"] * 2
        wrong = seen(drawn(hopeless, "two red circles", seed=seed))
        assert len(wrong) in (1, 3)
        assert "red circle" not in wrong


def test_errors_are_of_their_sample() -> None:
    right, wrong = ShapesModel(0).respond([asked("a star"), asked("a dog")])
    assert right.error is None
    assert wrong.error is not None
    assert (wrong.error.kind, wrong.error.retryable) == ("permanent", False)
    assert "does not understand 'a dog'" in wrong.error.message


def test_what_it_cannot_answer_is_an_error(faultless: ShapesModel) -> None:
    (response,) = faultless.respond([asked("a star", ask=Generate())])
    assert response.error is not None
    assert "cannot answer 'generate'" in response.error.message
    assert faultless.traits.requests == {"generate": False, "loglikelihood": False, "generate_image": True}
    error = answer(faultless, "a star", size=(16, 400)).error
    assert error is not None
    assert "no images smaller than 32 pixels" in error.message
    error = answer(faultless, "a star", size=(400, 100_000)).error
    assert error is not None
    assert "no images larger than 8192 pixels" in error.message
    pair: Sequence[Any] = [PILImage.new("RGB", (64, 64))] * 2
    error = answer(faultless, "remove the star", list(pair)).error
    assert error is not None
    assert "edits one image, but the request has 2" in error.message


def test_settings_of_other_models_are_named_as_ignored(faultless: ShapesModel) -> None:
    ignored = faultless.ignores(GenerateImage(extra={"guidance_scale": 7, "negative_prompt": "blur"}))
    assert sorted(ignored) == ["guidance_scale", "negative_prompt"]
    assert "accepts no settings" in ignored["guidance_scale"]


def test_the_error_rate_is_its_identity() -> None:
    assert ShapesModel().identity["error_rate"] == 0.1
    assert ShapesModel(0.2).identity != ShapesModel().identity
    assert {"version", "pillow", "opencv"} <= set(ShapesModel().identity)
    assert MODELS.get("shapes") is ShapesModel


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_an_error_rate_is_a_probability(rate: float) -> None:
    with pytest.raises(PlanError, match=r"a probability from 0 to 1, not .*\[--model-args error_rate\]"):
        ShapesModel(rate)


def test_every_colour_is_seen_as_what_it_is_called(faultless: ShapesModel) -> None:
    for colour in COLOURS:
        assert seen(drawn(faultless, f"a {colour} square")) == [f"{colour} square"]
