"""Videos that a processor gets whole: the frames that the rule chose, at their times, with their sound between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

import polymeter
from polymeter.core.content import Video
from polymeter.core.errors import ModelError
from polymeter.core.media.showing import Showing, VideoRule
from polymeter.core.request import Generate, Loglikelihood, Request
from polymeter.models.hf import HfModel
from polymeter.models.hf.config import kind_of, read_config
from polymeter.models.hf.media import VideoFrames
from polymeter.models.hf.settings import HfSettings
from polymeter.store.shown_media import SHOWN_MEDIA
from tests.helpers.checkpoints import HAS_TORCHVISION
from tests.helpers.drawn_videos import encode, number_of
from tests.helpers.mixed_requests import picture, request, sound, texts
from tests.helpers.video_checkpoints import VIDEO_ARCHITECTURES, read_processor_as_made, write_video_checkpoint

EVEN = VideoRule(rule="even", frames=4)
RATE = VideoRule(rule="rate", fps=2.0)
TRACK = VideoRule(rule="rate", fps=1.0, audio="track")
OMNI = ["qwen2_5_omni", "qwen3_omni"]
STACKED = ["llava_onevision", "llava_next_video", "video_llava", "internvl"]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Videos of 8 frames per second, two of them with a sound."""
    folder = tmp_path_factory.mktemp("films")
    kinds: dict[str, tuple[int, tuple[int, int], float | None]] = {
        "silent": (24, (64, 48), None),
        "loud": (32, (64, 48), 4.0),
        "longer": (48, (48, 64), 6.0),
        "large": (8, (320, 240), None),
    }
    return {
        name: encode(folder / f"{name}.mp4", n, Fraction(8), size, sound_s=sound_s)
        for name, (n, size, sound_s) in kinds.items()
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def write(architecture: str) -> Path:
        if architecture not in made:
            made[architecture] = write_video_checkpoint(architecture, tmp_path_factory.mktemp(architecture))
        return made[architecture]

    return write


@pytest.fixture(scope="module")
def loaded(written: Callable[[str], Path]) -> Callable[..., HfModel]:
    made: dict[str, HfModel] = {}

    def load(architecture: str, **settings: Any) -> HfModel:
        key = repr((architecture, settings))
        if key not in made:
            with pytest.MonkeyPatch.context() as patched:
                folder = written(architecture)
                read_processor_as_made(patched, architecture)
                made[key] = HfModel(str(folder), **settings)
                made[key].load()
        return made[key]

    return load


def encoded(made: HfModel, *requests: Request) -> Any:
    """The tensors of requests that one call can hold."""
    encoder: Any = made._encoder
    (group,) = encoder.together({number: encoder.read(one) for number, one in enumerate(requests)})
    return encoder.encode(list(group.values())).inputs


def shown_text(made: HfModel, inputs: Any, row: int = 0) -> str:
    """The tokens of a row, with a letter for each of a medium."""
    text = made._loaded.tokenizer.decode(inputs["input_ids"][row]).replace("<pad>", "")  # type: ignore[union-attr]
    for token, letter in {"<|VIDEO|>": "V", "<|AUDIO|>": "A"}.items():
        text = text.replace(token, letter)
    return text


@pytest.mark.parametrize(
    "architecture",
    VIDEO_ARCHITECTURES if HAS_TORCHVISION else ["qwen2_5_vl", "qwen3_vl", "internvl", "llava_onevision", *OMNI],
)
def test_the_processor_gets_the_frames_that_the_rule_chose(
    loaded: Callable[..., HfModel], films: dict[str, Path], monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    made = loaded(architecture)
    part = made._processing[0].video_processor
    calls: list[tuple[Any, dict[str, Any]]] = []

    def spy(videos: Any, **kwargs: Any) -> Any:
        calls.append((videos, kwargs))
        return type(part).preprocess(part, videos, **kwargs)

    monkeypatch.setattr(part, "preprocess", spy)
    for rule, numbers in ((EVEN, (0, 8, 15, 23)), (RATE, (0, 4, 8, 12, 16, 20))):
        film = Video(films["silent"], rule=rule)
        assert encoded(made, request(film, "What happens?"))["input_ids"].shape[0] == 1
        ((((frames,),), told),) = calls
        (((about,),), is_sampled) = told["video_metadata"], told["do_sample_frames"]
        assert film.sent is not None
        assert tuple(number_of(frame) for frame in frames) == film.sent.numbers == numbers
        assert {frame.size for frame in frames} == {(film.sent.sent["width"], film.sent.sent["height"])}
        assert [number / about["fps"] for number in about["frames_indices"]] == pytest.approx(film.sent.times, abs=1e-4)
        assert about["duration"] == 3.0
        assert not is_sampled
        calls.clear()


@pytest.mark.parametrize(
    "architecture", VIDEO_ARCHITECTURES if HAS_TORCHVISION else ["qwen2_5_vl", "llava_onevision", "qwen2_5_omni"]
)
def test_a_batch_answers_as_each_request_alone(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str
) -> None:
    made = loaded(architecture)
    hears = made.traits.modalities["audio"]
    rule = replace(RATE, fps=1.0, audio="track" if hears else None)
    requests = [
        request("How many circles are there?"),
        request(Video(films["silent"], rule=rule), "What happens?"),
        request(picture(40, 30), "What is it?"),
        request(Video(films["longer"], rule=rule), "Which colour?"),
        request(Video(films["loud"], rule=rule), "Say it."),
        request(Video(films["loud"], rule=replace(rule, fps=2.0)), "Say it."),
        *([request(sound(9000), "and", Video(films["loud"], rule=rule), "What?")] if hears else []),
    ]
    together = made.respond(requests)
    assert [one.error for one in together] == [None] * len(requests)
    assert texts(together) == [texts(made.respond([one]))[0] for one in requests]
    asked = [replace(one, parameters=Loglikelihood(("red", "the circle"))) for one in requests]
    scored = [one.outputs[0].logprobs for one in made.respond(asked)]
    alone = [made.respond([one])[0].outputs[0].logprobs for one in asked]
    for own, expected in zip(scored, alone, strict=True):
        assert [one.logprob for one in own] == pytest.approx([one.logprob for one in expected], abs=1e-3)


def test_videos_are_whole_for_processors_of_which_the_configuration_says_nothing(
    loaded: Callable[..., HfModel], films: dict[str, Path]
) -> None:
    made = loaded("internvl")
    assert not kind_of(made._config).modalities["video"]
    text = shown_text(made, encoded(made, request(Video(films["silent"], rule=EVEN), "What?")))
    assert [text.count(f"Frame{number}: <img>") for number in range(1, 6)] == [1, 1, 1, 1, 0]
    assert "whole_videos" in made.identity


@pytest.mark.parametrize("architecture", STACKED if HAS_TORCHVISION else STACKED[:1])
def test_videos_of_different_lengths_in_one_request_are_refused(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str
) -> None:
    film, other = Video(films["silent"], rule=EVEN), Video(films["loud"], rule=RATE)
    with pytest.raises(ModelError, match="videos of 4 and 8 frames"):
        loaded(architecture).respond([request(film, "and", other, "What?")])
    (answered,) = loaded(architecture).respond([request(film, "and", Video(films["loud"], rule=EVEN), "What?")])
    assert answered.error is None


def test_the_text_of_smolvlm_counts_the_frames_and_tells_the_length(
    loaded: Callable[..., HfModel], films: dict[str, Path]
) -> None:
    made = loaded("smolvlm")
    film = request(Video(films["silent"], rule=VideoRule(rule="even", frames=3)), "What?")
    text = shown_text(made, encoded(made, film))
    assert "series of three frames from a 0:00:03 [H:MM:SS] video." in text
    assert [text.count(f"Frame from {time}:") for time in ("00:00", "00:01", "00:02")] == [1, 1, 1]
    film, other = Video(films["silent"], rule=EVEN), Video(films["loud"], rule=RATE)
    both = made.respond([request(picture(20, 20), film, "What?"), request(film, "and", other, "What?")])
    for refused, why in zip(both, ("images or videos, not both", "videos of 4 and 8 frames"), strict=True):
        assert refused.error is not None
        assert why in refused.error.message


@pytest.mark.parametrize(
    ("architecture", "name"),
    [("qwen2_5_vl", "second_per_grid_ts"), *((one, "video_second_per_grid") for one in OMNI)],
)
def test_each_video_has_its_own_time_between_patches(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str, name: str
) -> None:
    made = loaded(architecture, dtype="bfloat16")
    requests = [request(Video(films["silent"], rule=rule), "What?") for rule in (EVEN, RATE)]
    seconds = encoded(made, *requests)[name]
    # Of half the precision, the network would compute other positions.
    assert seconds.dtype == torch.float32
    assert seconds.tolist() == pytest.approx([2 * 2.875 / 3, 1.0], rel=1e-6)


def test_the_rate_that_processors_compute_is_exact() -> None:
    from transformers.video_utils import VideoMetadata

    frames = [picture(8, 6).open()] * 4
    third = VideoMetadata(**VideoFrames(frames, [10, 10 + 1 / 3, 10 + 2 / 3, 11]).metadata())
    assert third.sampled_fps == pytest.approx(3, rel=1e-12)
    assert third.timestamps == pytest.approx([10, 10 + 1 / 3, 10 + 2 / 3, 11], abs=1e-5)


def test_one_frame_fills_a_patch(loaded: Callable[..., HfModel], films: dict[str, Path]) -> None:
    made = loaded("qwen3_vl")
    film = Video(films["silent"], rule=VideoRule(rule="even", frames=1))
    inputs = encoded(made, request(film, "What?"))
    assert inputs["video_grid_thw"][0, 0] == 1
    assert "<1.4 seconds>" in shown_text(made, inputs)
    assert film.sent is not None
    assert film.sent.numbers == (11,)


@pytest.mark.parametrize(
    ("architecture", "advice"), [("qwen2_5_vl", None), ("video_llava", ""), ("smolvlm", ""), ("internvl", "")]
)
def test_frames_that_the_processor_scaled_down_are_noted(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str, advice: str | None
) -> None:
    made = loaded(architecture)
    (found,) = made.respond([request(Video(films["large"], rule=EVEN), "What?")])
    noted = found.outputs[0].cut
    assert noted is not None
    assert advice is None or noted == {"images": advice}
    (whole,) = made.respond([request(Video(films["large"], rule=replace(EVEN, max_pixels=28 * 21)), "What?")])
    assert whole.outputs[0].cut is None


@pytest.mark.skipif(not HAS_TORCHVISION, reason="only a processor of Transformers states sizes")
@pytest.mark.parametrize("architecture", OMNI)
def test_the_users_size_wins_over_that_of_the_class(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str
) -> None:
    film = request(Video(films["silent"], rule=EVEN), "What?")
    sizes = [
        encoded(loaded(architecture, **more), film)["video_grid_thw"][0, 1:].prod() * 8 * 8
        for more in ({}, {"min_pixels": 256, "max_pixels": 1024})
    ]
    assert sizes[0] > 128 * 28 * 28 * 0.9
    assert sizes[1] <= 1024


@pytest.mark.parametrize("architecture", OMNI)
def test_the_sound_of_a_video_stands_between_its_frames(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str
) -> None:
    made = loaded(architecture)
    both = [request(Video(films[name], rule=TRACK), "What?") for name in ("loud", "longer")]
    inputs = encoded(made, *both)
    assert inputs["use_audio_in_video"] is True
    for row in range(2):
        before, after = shown_text(made, inputs, row).split("<|vision_bos|><|audio_bos|>")[1].split("<|audio_eos|>")
        assert after.startswith("<|vision_eos|>What?")
        turns = before.replace("VA", "V A").replace("AV", "A V").split(" ")
        assert [turn[0] for turn in turns] == ["V", "A"] * (len(turns) // 2)
        assert len(turns) == (4 if row == 0 else 6)  # a patch of two frames at one a second
    assert len(inputs["input_features"]) == 2
    film = both[0].messages[0].parts[0]
    assert isinstance(film, Video)
    assert film.sent is not None
    assert (film.sent.sent["sound"]["seconds"], film.sent.notes) == (4.0, ())


@pytest.mark.parametrize("architecture", OMNI)
def test_a_silent_video_shifts_no_sound(
    loaded: Callable[..., HfModel], films: dict[str, Path], architecture: str
) -> None:
    made = loaded(architecture)
    silent, loud = (Video(films[name], rule=TRACK) for name in ("silent", "loud"))
    inputs = encoded(made, request(silent, "one", loud, "two", sound(16_000)))
    assert "use_audio_in_video" not in inputs
    one, two = shown_text(made, inputs).split("one")
    assert "A" not in one.replace("USER", "")
    assert two.index("V") < two.index("<|audio_bos|>A") < two.index("two") < two.rindex("<|audio_bos|>A")
    assert silent.sent is not None
    assert silent.sent.notes == ("It has no sound.",)
    assert loud.sent is not None
    assert loud.sent.notes[0].startswith("Its sound stands behind its frames")
    assert made.respond([request(silent, "one", loud, "two", sound(16_000))])[0].error is None


def test_a_sound_that_stands_behind_its_frames_is_a_warning(loaded: Callable[..., HfModel]) -> None:
    showing = Showing(video=TRACK)
    made = loaded("qwen2_5_omni")
    assert not made.unfollowed(showing)
    assert list(loaded("qwen2_5_omni", video_as="images").unfollowed(showing)) == ["video.audio"]
    assert "silent" in loaded("qwen2_5_vl").unfollowed(showing)["video.audio"]


TASK = """\
task: films
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "What happens?"
doc_to_target: a
output_type: generate_until
generation_kwargs: {max_new_tokens: 4}
video: {rule: cut, frames: 64, audio: track}
metric_list: [{metric: exact_match}]
"""


@pytest.mark.parametrize(
    "architecture", ["qwen2_5_omni", "llava_onevision", *(["qwen2_5_vl"] if HAS_TORCHVISION else ())]
)
def test_a_run_with_videos(
    written: Callable[[str], Path],
    films: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    architecture: str,
) -> None:
    folder, hears = written(architecture), architecture in OMNI
    read_processor_as_made(monkeypatch, architecture)
    (tmp_path / "films.yaml").write_text(TASK)
    (tmp_path / "utils.py").write_text("def visual(doc):\n    return [doc['film']]\n")
    names = ("silent", "loud", "longer")
    rows = "".join(f'{{"film": "{films[name]}", "a": "b"}}\n' for name in names)
    (tmp_path / "rows.jsonl").write_text(rows)
    run = polymeter.evaluate(
        f"hf:{folder}",
        [str(tmp_path / "films.yaml")],
        output=tmp_path / "run",
        batch_size=4,
        video={"rule": "rate", "fps": 1.0},
    )
    lines = [json.loads(line) for line in (run.folder.samples / "films.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["ok"] * 3
    found = {Path(one["source"]).stem: one for line in lines for one in line[SHOWN_MEDIA].values()}
    assert {name: len(one["numbers"]) for name, one in found.items()} == {"silent": 3, "loud": 4, "longer": 6}
    assert {name for name in names if "sound" in found[name]["sent"]} == set(names[1:] if hears else ())
    assert ("does not follow video.audio" in json.dumps(run.folder.read_manifest())) is not hears


def test_the_part_of_a_model_that_writes_text_is_read_alone(
    loaded: Callable[..., HfModel], films: dict[str, Path], tmp_path: Path
) -> None:
    import transformers as hf

    made = loaded("qwen2_5_omni")
    network: Any = made._loaded.network  # type: ignore[union-attr]
    config = hf.Qwen2_5OmniConfig(thinker_config=network.config.to_dict(), enable_audio_output=False)
    whole = hf.Qwen2_5OmniForConditionalGeneration(config)
    whole.thinker.load_state_dict(network.state_dict())
    whole.save_pretrained(tmp_path)
    read = read_config(HfSettings(str(tmp_path)))
    assert read.model_type == "qwen2_5_omni_thinker"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("transformers.AutoProcessor.from_pretrained", lambda *_, **__: made._processing[0])
        speaking = HfModel(str(tmp_path))
        speaking.load()
    asked = request(Video(films["loud"], rule=TRACK), "What?", ask=Generate(6, 0.0))
    assert speaking.traits.modalities == dict.fromkeys(("text", "image", "audio", "video"), True)
    assert texts(speaking.respond([asked])) == texts(made.respond([asked]))
