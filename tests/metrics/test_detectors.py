"""Detectors by name, and detection models of real architectures with random weights."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import weights_from
from polymeter.core.media.detection import Detection, Detector
from polymeter.core.names.registries import DETECTORS, register_detector
from polymeter.metrics.composition import COLOURS, check_image, read_scene
from polymeter.metrics.detectors import check_detector, make_detector
from polymeter.metrics.hf_detector import HfDetector
from tests.helpers.detection import tiny_grounding_dino, tiny_yolos
from tests.helpers.drawn_scenes import Drawn, draw


def scene_of_two() -> Image.Image:
    return draw([Drawn("circle", "red", 50, 128, 30), Drawn("square", "blue", 190, 128, 40)], 256, (255, 255, 255))


def test_the_shapes_detector_sees_a_scene() -> None:
    pytest.importorskip("cv2")
    detector = make_detector("shapes")
    scene = read_scene(
        {
            "include": [
                {"class": "square", "count": 1, "color": "blue"},
                {"class": "circle", "count": 1, "color": "red", "position": ["left of", 0]},
            ]
        }
    )
    assert check_image(scene, scene_of_two(), detector).is_correct
    mirrored = scene_of_two().transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert check_image(scene, mirrored, detector).position is False
    scores = [thing.score for thing in detector.detect(scene_of_two())]
    assert scores == sorted(scores, reverse=True)


def test_a_file_that_is_no_image_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    (tmp_path / "no.png").write_text("no")
    with pytest.raises(DataError, match=r"(Decoding|Cannot read) the image .*no\.png"):
        make_detector("shapes").detect(tmp_path / "no.png")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shape", "There is no detector 'shape'.*Did you mean 'shapes'"),
        ("yolo", "There is no detector 'yolo'.*Known: shapes, hf:PATH_OR_ID"),
        ("hf:", "There is no detector 'hf:'"),
    ],
)
def test_an_unknown_detector_names_the_known(name: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make_detector(name)


def test_settings_of_the_shapes_detector_are_refused() -> None:
    with pytest.raises(PlanError, match="accepts no settings, but threshold was given"):
        make_detector("shapes", threshold=0.5)


class Nothing(Detector):
    """Finds nothing."""

    colours = ("red",)

    def __init__(self, place: str = "", limit: int = 1) -> None:
        self.place, self.limit = place, limit

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        return []

    def check(self) -> None:
        raise PlanError(f"No network at {self.place}.")


def test_detectors_are_registered_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DETECTORS, "_users", {})
    register_detector("nothing")(Nothing)
    detector = make_detector("nothing:some/id", limit=3)
    assert isinstance(detector, Nothing)
    assert (detector.place, detector.limit) == ("some/id", 3)
    assert make_detector("nothing").detect(scene_of_two()) == []
    with pytest.raises(PlanError, match="No network at some/id"):
        check_detector("nothing:some/id")
    with pytest.raises(PlanError, match=r"There is no detector 'shapes:there'"):
        make_detector("shapes:there")
    with pytest.raises(PlanError, match="Known: shapes, hf:PATH_OR_ID, nothing"):
        make_detector("yolo")


def test_without_opencv_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        PlanError, match=r"'opencv-python-headless', needed by the detector 'shapes'.*\[image-metrics\]"
    ):
        make_detector("shapes")


@pytest.fixture(scope="module")
def yolos(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return tiny_yolos(tmp_path_factory.mktemp("yolos"), "circle", "square", "dog")


@pytest.fixture(scope="module")
def owlv2(tmp_path_factory: pytest.TempPathFactory, clip_vocabulary: Any) -> str:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("owlv2")
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokenizer = clip_vocabulary(folder)
    config = transformers.Owlv2Config(
        text_config={**size, "vocab_size": len(tokenizer), "max_position_embeddings": 77},
        vision_config={**size, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    torch.manual_seed(0)
    transformers.Owlv2ForObjectDetection(config).save_pretrained(folder)
    pictures = transformers.Owlv2ImageProcessorPil(size={"height": 32, "width": 32})
    transformers.Owlv2Processor(pictures, tokenizer).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def clip_vocabulary() -> Any:
    """Writes a tokenizer of single letters to a folder."""
    import json

    transformers = pytest.importorskip("transformers")

    def make(folder: Path) -> Any:
        letters = [chr(code) for code in range(97, 123)]
        vocabulary = [*letters, *(letter + "</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
        (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(vocabulary)}))
        (folder / "merges.txt").write_text("#version: 0.2\n")
        return transformers.CLIPTokenizer(
            str(folder / "vocab.json"), str(folder / "merges.txt"), pad_token="<|endoftext|>", model_max_length=77
        )

    return make


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory, clip_vocabulary: Any) -> str:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("clip")
    tokenizer = clip_vocabulary(folder)
    pictures = transformers.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    transformers.CLIPProcessor(pictures, tokenizer).save_pretrained(folder)
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = transformers.CLIPConfig(
        text_config={**size, "vocab_size": len(tokenizer), "eos_token_id": len(tokenizer) - 1},
        vision_config={**size, "image_size": 16, "patch_size": 8},
        projection_dim=8,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    return str(folder)


def test_a_model_with_classes_of_its_own(yolos: str) -> None:
    detector = make_detector(f"hf:{yolos}", threshold=0.0)
    found = detector.detect(scene_of_two())
    assert found
    assert {thing.label for thing in found} <= {"circle", "square", "dog"}
    assert max([thing.label for thing in found].count(name) for name in ("circle", "square", "dog")) <= 16
    assert [thing.score for thing in found] == sorted((thing.score for thing in found), reverse=True)
    assert all(thing.box[0] < thing.box[2] and thing.box[1] < thing.box[3] for thing in found)
    sure = max(thing.score for thing in found)
    strict = HfDetector(yolos, threshold=0.0, counting_threshold=sure)
    assert strict.detect(scene_of_two(), is_counting=True) == []


def test_a_model_that_is_told_what_to_look_for(owlv2: str) -> None:
    detector = make_detector(f"hf:{owlv2}", threshold=0.0)
    found = detector.detect(Image.new("RGB", (60, 40), (215, 35, 40)), ["circle", "blue square"])
    assert {thing.label for thing in found} <= {"circle", "blue square"}
    assert found
    assert all(0 <= thing.box[0] <= 60 for thing in found if thing.score > 0.9)
    with pytest.raises(PlanError, match="needs the classes to look for"):
        detector.detect(scene_of_two())


def test_colours_come_from_the_pixels_or_from_clip(yolos: str, clip: str) -> None:
    red = Image.new("RGB", (60, 40), (215, 35, 40))
    by_pixels = HfDetector(yolos, threshold=0.0).detect(red)
    assert {thing.colour for thing in by_pixels} == {"red"}
    by_clip = HfDetector(yolos, threshold=0.0, colours=clip).detect(red)
    assert {thing.colour for thing in by_clip} <= set(COLOURS)


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    with pytest.raises(PlanError, match=r"Reading the detector .*none.*Name a folder"):
        make_detector(f"hf:{tmp_path / 'none'}").detect(scene_of_two())


def test_grounding_dino_scores_each_class_by_its_words(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    detector = make_detector(f"hf:{tiny_grounding_dino(tmp_path, 'circle', 'blue', 'square')}", threshold=0.0)
    picture = Image.new("RGB", (60, 40), (215, 35, 40))
    found = detector.detect(picture, ["Circle", "blue square"])
    assert len(found) == 12
    assert {thing.label for thing in found} <= {"Circle", "blue square"}
    assert all(-60 <= thing.box[0] < thing.box[2] <= 120 for thing in found)
    assert [thing.score for thing in found] == sorted((thing.score for thing in found), reverse=True)
    network = detector._network  # type: ignore[attr-defined]
    inputs = network._processor(images=picture, text="circle. blue square.", return_tensors="pt")
    published = network._processor.post_process_grounded_object_detection(
        network._run(inputs), inputs["input_ids"], threshold=0.0, text_threshold=0.0, target_sizes=[(40, 60)]
    )[0]
    # The library also counts what is no word of a class, such as the full stops.
    highest = dict(zip(map(tuple, published["boxes"].round().tolist()), published["scores"].tolist(), strict=True))
    assert all(thing.score <= highest[tuple(map(round, thing.box))] + 1e-6 for thing in found)
    boxes = sorted(tuple(box) for box in published["boxes"].tolist())
    assert np.array(sorted(thing.box for thing in found)) == pytest.approx(np.array(boxes), abs=1e-3)
    for unreadable in ("St. Bernard", "zebra"):
        with pytest.raises(PlanError, match=f"cannot read the classes 'circle', '{unreadable}'"):
            detector.detect(picture, ["circle", unreadable])


@pytest.mark.parametrize("clauses", ["include", "exclude"])
@pytest.mark.parametrize("label", ["dog", "shape"])
def test_shapes_never_passes_what_it_cannot_know(clauses: str, label: str) -> None:
    pytest.importorskip("cv2")
    scene = read_scene({clauses: [{"class": label, "count": 1}]})
    with pytest.raises(PlanError, match=rf"'shapes' knows drawn shapes, but not '{label}'.*hf:PATH_OR_ID"):
        check_image(scene, scene_of_two(), make_detector("shapes"))


@pytest.mark.parametrize("clauses", ["include", "exclude"])
def test_a_model_never_passes_what_it_cannot_know(yolos: str, clauses: str) -> None:
    scene = read_scene({clauses: [{"class": "dogs", "count": 1}]})
    with pytest.raises(PlanError, match=r"has no class 'dogs'.*Did you mean 'dog'"):
        check_image(scene, scene_of_two(), HfDetector(yolos))


def test_a_colour_that_is_never_named_is_refused(yolos: str, clip: str) -> None:
    gray = read_scene({"include": [{"class": "Dog", "color": "Grey"}]})
    assert check_image(gray, scene_of_two(), HfDetector(yolos)).is_correct in (True, False)
    with pytest.raises(PlanError, match="does not name the colour 'Grey'"):
        check_image(gray, scene_of_two(), HfDetector(yolos, colours=clip))
    teal = read_scene({"exclude": [{"class": "circle", "color": "teal"}]})
    with pytest.raises(PlanError, match=r"does not name the colour 'teal'.*It names red, orange"):
        check_image(teal, scene_of_two(), HfDetector(yolos))


def test_colours_are_named_of_what_is_looked_for(yolos: str) -> None:
    found = HfDetector(yolos, threshold=0.0).detect(scene_of_two(), ["dog"])
    assert {thing.colour is None for thing in found if thing.label != "dog"} <= {True}
    assert all(thing.colour for thing in found if thing.label == "dog")


def test_weights_take_the_place_of_ids(yolos: str, clip: str) -> None:
    with weights_from({"my/yolos": yolos, "my/clip": clip}):
        detector = make_detector("hf:my/yolos", threshold=0.0, colours="my/clip")
    assert detector.detect(scene_of_two())
