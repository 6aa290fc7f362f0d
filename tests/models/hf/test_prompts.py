"""From messages to what a processor takes: templates, media in their places, text that stays text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polymeter.core.content import Image, Video
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.media.showing import ImageRule, Showing, VideoRule
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Generate
from polymeter.models.hf import HfModel
from polymeter.models.hf.media import VideoFrames, image_of, writes_times
from polymeter.models.hf.prompts import Prompter
from polymeter.models.hf.settings import HfSettings
from tests.helpers.clips import RATE, clip
from tests.helpers.differences import difference
from tests.helpers.mixed_requests import picture, request, sound, texts

STRINGS_ONLY = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message['content'].strip() }}\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)


def loaded(folder: Path, **args: Any) -> HfModel:
    made = HfModel(str(folder), **args)
    made.load()
    return made


def prompt(model: HfModel, *parts: Any, **more: Any) -> str:
    return model._encoder.prompt_text(request(*parts, **more))


def test_conversation_is_rendered_and_open_for_the_answer(model: Callable[..., Any]) -> None:
    text = prompt(model("llama"), "What is it?", system="Be brief.")
    assert text == "<s>SYSTEM: Be brief.USER: What is it?ASSISTANT: "


def test_beginning_of_the_answer_is_gone_on_with(model: Callable[..., Any]) -> None:
    text = prompt(model("llama"), "What is it?", begun="It is a")
    assert text == "<s>USER: What is it?ASSISTANT: It is a"


def test_media_stand_where_they_are_shown(model: Callable[..., Any]) -> None:
    text = prompt(model("llava"), "Left:", picture(9, 9), "right:", picture(8, 8))
    assert text == "<s>USER: Left:<image>right:<image>ASSISTANT: "
    heard = prompt(model("qwen2_audio"), sound(4000), "What is it?")
    assert heard == "<s>USER: <|AUDIO|>What is it?ASSISTANT: "


def test_first_token_is_there_once(model: Callable[..., Any]) -> None:
    """Whether the template writes it, the tokenizer adds it, or both would."""
    for architecture, has_template in (("llama", True), ("llama", False), ("llava", True), ("llava", False)):
        made = model(architecture, has_template=has_template)
        ids = made._encoder.encode([request("What is it?")]).inputs["input_ids"][0].tolist()
        assert ids.count(1) == 1
        assert ids[0] == 1
    untouched = model("qwen2", has_template=False)._encoder.encode([request("What is it?")])
    assert 1 not in untouched.inputs["input_ids"][0].tolist()


@pytest.mark.parametrize(
    ("architecture", "token", "broken"),
    [
        ("llava", "<image>", "< image>"),
        ("llava_next", "<image>", "< image>"),
        ("idefics3", "<fake_token_around_image>", "< fake_token_around_image>"),
        ("gemma3", "<start_of_image>", "< start_of_image>"),
        ("gemma3", "<image_soft_token>", "< image_soft_token>"),
        ("qwen2_audio", "<|AUDIO|>", "< |AUDIO|>"),
        ("qwen2_5_vl", "<|image_pad|>", "< |image_pad|>"),
    ],
)
def test_tokens_of_media_in_a_text_are_text(
    model: Callable[..., Any], architecture: str, token: str, broken: str
) -> None:
    made = model(architecture)
    shown = [] if architecture == "qwen2_audio" else [picture(40, 30)]
    ask = Generate(4, 0.0)
    written, spaced = (request(*shown, f"What is {text}?", ask=ask) for text in (token, broken))
    assert prompt(made, *written.messages[0].parts) == prompt(made, *spaced.messages[0].parts)
    assert texts(made.respond([written])) == texts(made.respond([spaced]))


def test_template_that_takes_text_only(checkpoint: Callable[..., Path]) -> None:
    made = loaded(checkpoint("llava"), chat_template=STRINGS_ONLY)
    text = prompt(made, picture(9, 9), "What is it?", system="Be brief.")
    assert text == "<s>[system] Be brief.\n[user] <image>What is it?\n[assistant] "
    plain = loaded(checkpoint("llama"), chat_template=STRINGS_ONLY)
    assert prompt(plain, "What is it?") == "<s>[user] What is it?\n[assistant] "


def test_template_that_takes_parts_of_users_only(checkpoint: Callable[..., Path]) -> None:
    """Llama 3.2 Vision trims the system message as a text; others do so with answers."""
    template = (
        "{% for message in messages %}{{ message['role'] }}: {% if message['role'] != 'user' %}"
        "{{ message['content'] | trim }}{% else %}{% for part in message['content'] %}"
        "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}; "
        "{% endfor %}"
    )
    made = loaded(checkpoint("llava"), chat_template=template)
    shown = prompt(made, picture(9, 9), "What is it?", system="Be brief.", begun="It is")
    assert shown == "system: Be brief.; user: <image>What is it?; assistant: It is"


def test_template_that_writes_content_as_json_is_given_text(checkpoint: Callable[..., Path]) -> None:
    template = "{% for message in messages %}{{ message['content'] | tojson }}{% endfor %}"
    assert prompt(loaded(checkpoint("llama"), chat_template=template), "Hi") == '"Hi"'


def test_template_that_shows_nothing_is_refused(checkpoint: Callable[..., Path]) -> None:
    with pytest.raises(PlanError, match="shows neither text nor image"):
        loaded(checkpoint("llava"), chat_template="{{ messages[0]['role'] }}")


def test_template_that_refuses_a_conversation_fails_that_request(checkpoint: Callable[..., Path]) -> None:
    picky = "{% if messages|length > 1 %}{{ raise_exception('one turn only') }}{% endif %}" + STRINGS_ONLY
    made = loaded(checkpoint("llama"), chat_template=picky)
    good, bad = made.respond([request("Hi"), request("Hi", system="Be brief.")])
    assert good.error is None
    assert "one turn only" in bad.error.message
    assert "chat_template=FILE" in bad.error.message


@difference("refused-system", here="Be brief has no place", there="[user] Hi")
def test_a_run_at_parity_with_lm_eval_leaves_out_a_system_message_that_the_template_refuses(
    checkpoint: Callable[..., Path], parity: str, expected: str
) -> None:
    picky = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('Be brief has no place') }}{% endif %}"
    made = HfModel(str(checkpoint("llama")), chat_template=picky + STRINGS_ONLY)
    made.parity = parity_with(parity)
    made.load()
    asked = request("Hi", system="Be brief.")
    error = made.respond([asked])[0].error
    assert expected in (made._encoder.prompt_text(asked) if error is None else error.message)


@difference("refused-system", here="one turn only", there="one turn only")
def test_a_template_that_refuses_more_than_system_messages_fails_the_request_at_parity_too(
    checkpoint: Callable[..., Path], parity: str, expected: str
) -> None:
    picky = "{% if messages|length > 1 %}{{ raise_exception('one turn only') }}{% endif %}" + STRINGS_ONLY
    made = HfModel(str(checkpoint("llama")), chat_template=picky)
    made.parity = parity_with(parity)
    made.load()
    asked = request("Hi", begun="It is")
    error = made.respond([asked])[0].error
    assert error is not None
    assert expected in error.message


def test_template_arguments_reach_the_template(checkpoint: Callable[..., Path]) -> None:
    template = "{{ messages[0]['content'] }}{% if enable_thinking %} THINK{% endif %}"
    folder = checkpoint("llama")
    assert prompt(loaded(folder, chat_template=template), "Hi") == "Hi"
    told = loaded(folder, chat_template=template, chat_template_args='{"enable_thinking": true}')
    assert prompt(told, "Hi") == "Hi THINK"


def test_template_comes_from_a_file_too(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    file = tmp_path / "template.jinja"
    file.write_text("Q: {{ messages[0]['content'] }} A:")
    assert prompt(loaded(checkpoint("llama"), chat_template=str(file)), "Hi") == "Q: Hi A:"
    with pytest.raises(PlanError, match="chat template cannot be read"):
        HfModel(str(checkpoint("llama")), chat_template="nowhere.jinja")


def test_media_that_a_model_cannot_take_are_refused_with_what_it_takes(model: Callable[..., Any]) -> None:
    made = model("llama")
    refused, good = made.respond([request(picture(9, 9), "What is it?"), request("Hi")])
    assert "does not accept image. It accepts text." in refused.error.message
    assert good.error is None
    assert "does not accept audio" in model("llava").respond([request(sound(800), "What?")])[0].error.message


def test_places_and_media_must_agree(model: Callable[..., Any], checkpoint: Callable[..., Path]) -> None:
    first_only = (
        "{% for part in messages[0]['content'] %}{% if loop.first %}<image>{% endif %}{{ part['text'] }}{% endfor %}"
    )
    made = loaded(checkpoint("llava"), chat_template=first_only)
    with pytest.raises(ModelError, match=r"has 1 places \(<image>\) for 2 images"):
        prompt(made, picture(9, 9), picture(8, 8), "Which?")


def test_video_is_a_row_of_images_for_models_without_videos(model: Callable[..., Any]) -> None:
    made = model("llava")
    assert made.traits.modalities["video"] is True
    film = Video([picture(20, 20, number).open() for number in range(20)])
    assert prompt(made, film, "What happens?").count("<image>") == 8
    frames = [Image(frame) for frame in film.source]
    chosen = [frames[number] for number in (0, 3, 5, 8, 11, 14, 16, 19)]
    ask = Generate(6, 0.0)
    by_video = made.respond([request(film, "What happens?", ask=ask)])
    assert texts(by_video) == texts(made.respond([request(*chosen, "What happens?", ask=ask)]))


def test_videos_of_their_own(model: Callable[..., Any], checkpoint: Callable[..., Path]) -> None:
    made = model("qwen2_5_vl")
    film = Video(np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8))
    assert "<|video_pad|>" in prompt(made, film, "What happens?")
    shown = [
        request("Hi"),
        request(film, "What happens?"),
        request(picture(40, 30), film, "Is it this?"),
    ]
    assert texts(made.respond(shown)) == [texts(made.respond([one]))[0] for one in shown]
    as_images = loaded(checkpoint("qwen2_5_vl"), video_as="images", video_frames=3)
    assert prompt(as_images, film, "What?").count("<|image_pad|>") == 3


def test_clip_tells_the_times_of_its_frames() -> None:
    frames = [picture(8, 6, number).open() for number in range(3)]
    told = VideoFrames(frames, [1.0, 1.5, 2.0]).metadata()
    assert [number / told["fps"] for number in told["frames_indices"]] == [1.0, 1.5, 2.0]
    assert len(frames) / told["total_num_frames"] * told["fps"] == 2.0
    untimed = VideoFrames(frames, [0.0, 0.0, 0.0]).metadata()
    assert [number / untimed["fps"] for number in untimed["frames_indices"]] == [0, 1, 2]


def test_sounds_are_heard_whole_or_not_at_all(model: Callable[..., Any], checkpoint: Callable[..., Path]) -> None:
    long = request(sound(20_000), "What is it?")
    refused = model("qwen2_audio").respond([long])[0]
    said = "lasts 1.2 s. The model hears only 1 s. To cut the audio to its beginning, set cut_sounds=true"
    assert said in refused.error.message
    assert loaded(checkpoint("qwen2_audio"), cut_sounds=True).respond([long])[0].error is None


def test_transparency_is_shown_on_white() -> None:
    from PIL import Image as Pictures

    clear = Pictures.new("RGBA", (2, 2), (255, 0, 0, 0))
    assert image_of(Image(clear)).getpixel((0, 0)) == (255, 255, 255)
    assert image_of(Image(Pictures.new("L", (2, 2), 7))).getpixel((0, 0)) == (7, 7, 7)


@pytest.mark.parametrize(
    ("mode", "level", "shown"),
    [
        ("I;16", 0x8000, 128),
        ("I;16B", 0x8000, 128),
        ("I", 200, 200),
        ("I", 0x8000, 128),
        ("F", 100.0, 100),
        ("1", 1, 255),
    ],
)
def test_grey_of_any_depth_is_grey(mode: str, level: Any, shown: int) -> None:
    from PIL import Image as Pictures

    assert image_of(Image(Pictures.new(mode, (2, 2), level))).getpixel((0, 0)) == (shown,) * 3


def test_pixels_without_a_way_to_rgb_fail_alone(model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image as Pictures

    class Odd(Pictures.Image):
        mode = "XYZ"

    odd = request(Image(Odd()), "What is it?")
    refused, good = model("llava").respond([odd, request("Hi")])
    assert "Making an RGB image of" in refused.error.message
    assert refused.error.kind == "data"
    assert good.error is None


def test_rules_win_over_the_models_settings(model: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("av")
    made = model("llava")
    film = Video(clip(tmp_path / "a.mp4"), rule=VideoRule(rule="cut", frames=3, timestamps="text", audio="track"))
    text = prompt(made, film, "What happens?")
    assert text == ("<s>USER: <0.0 seconds><image><0.8 seconds><image><1.8 seconds><image>What happens?ASSISTANT: ")
    assert film.sent is not None
    assert (film.sent.numbers, film.sent.sent.get("sound")) == ((0, 3, 7), None)
    small = Image(picture(40, 20).open(), rule=ImageRule(max_side=10))
    assert made._encoder.read(request(small, "What?")).images[0].size == (10, 5)
    assert made.respond([request(small, film, "What?")])[0].error is None


class OwnTimes(SimpleNamespace):
    """A processor that writes the timestamps of frames itself."""


@pytest.mark.parametrize(
    ("made", "timestamps", "text"),
    [
        (SimpleNamespace, "prefix", "The 2 frames of the next video are at these seconds: 0.00, 1.75.<video>"),
        (SimpleNamespace, "text", "<video>"),
        (OwnTimes, "prefix", "<video>"),
    ],
)
def test_a_video_that_is_shown_whole_has_its_times_before_it(
    tmp_path: Path, made: Any, timestamps: Any, text: str
) -> None:
    pytest.importorskip("av")
    processor = made(video_token="<video>")
    takes = {"text": True, "image": True, "audio": False, "video": True}
    kind = SimpleNamespace(modalities=takes, is_speech=False, family="made")
    settings = HfSettings("made")
    checkpoint = SimpleNamespace(
        processor=processor, tokenizer=SimpleNamespace(), kind=kind, settings=settings, is_chat=False
    )
    rule = VideoRule(frames=2, timestamps=timestamps)
    read = Prompter(checkpoint).read(request(Video(clip(tmp_path / "a.mp4"), rule=rule)))
    assert read.text == text
    model = HfModel.__new__(HfModel)
    model._settings, model._kind, model._processing = settings, kind, (processor, None)
    model.traits = ModelTraits("made")
    is_told = timestamps == "text" and made is SimpleNamespace
    assert list(model.unfollowed(Showing(video=rule))) == ["video.timestamps"] * is_told


def test_subtitles_stand_between_images_and_behind_a_video(model: Callable[..., Any], tmp_path: Path) -> None:
    pytest.importorskip("av")
    made, film = model("llava"), clip(tmp_path / "a.mp4")
    cues = "00:00:01,000 --> 00:00:01,500\nHello\n"
    rule = VideoRule(frames=2, timestamps="text", subtitles="interleaved")
    text = prompt(made, Video(film, rule=rule, subtitles=cues), "What happens?")
    assert text == "<s>USER: <0.0 seconds><image>Hello\n<1.8 seconds><image>What happens?ASSISTANT: "
    assert made.shows_subtitles == {"whole", "at_frames", "interleaved"}

    takes = {"text": True, "image": True, "audio": False, "video": True}
    kind = SimpleNamespace(modalities=takes, is_speech=False, family="made")
    processor = SimpleNamespace(video_token="<video>")
    checkpoint = SimpleNamespace(
        processor=processor, tokenizer=SimpleNamespace(), kind=kind, settings=HfSettings("made"), is_chat=False
    )
    whole = Video(film, rule=VideoRule(frames=2, timestamps="prefix", subtitles="whole"), subtitles=cues)
    assert Prompter(checkpoint).read(request(whole)).text == (
        "The 2 frames of the next video are at these seconds: 0.00, 1.75.<video>Subtitles of the video:\nHello\n"
    )
    one_video = HfModel.__new__(HfModel)
    one_video._settings, one_video._kind = HfSettings("made"), kind
    assert one_video.shows_subtitles == {"whole", "at_frames"}


@pytest.mark.parametrize(("name", "writes"), [("Qwen3VLProcessor", True), ("Qwen2_5_VLProcessor", False)])
def test_processors_of_transformers_that_write_times_are_known(name: str, writes: bool) -> None:
    import transformers

    cls = getattr(transformers, name)
    assert writes_times(cls) is writes


def test_the_sound_of_a_video_stands_behind_its_frames_and_shifts_no_other(tmp_path: Path) -> None:
    pytest.importorskip("av")
    processor = SimpleNamespace(
        image_token="<image>", audio_token="<audio>", feature_extractor=SimpleNamespace(sampling_rate=RATE // 2)
    )
    takes = {"text": True, "image": True, "audio": True, "video": False}
    kind = SimpleNamespace(modalities=takes, is_speech=False, family="made")
    checkpoint = SimpleNamespace(
        processor=processor, tokenizer=SimpleNamespace(), kind=kind, settings=HfSettings("made"), is_chat=False
    )
    rule = VideoRule(frames=2, audio="track")
    silent = Video(clip(tmp_path / "silent.mp4", sound=False), rule=rule)
    loud = Video(clip(tmp_path / "loud.mp4"), rule=rule)
    read = Prompter(checkpoint).read(request(silent, "one", loud, "two", sound(RATE // 4)))
    assert read.text == "<image><image>one<image><image><audio>two<audio>"
    seconds = [len(heard) / (RATE // 2) for heard in read.sounds]
    assert seconds[0] == pytest.approx(2, abs=0.2)
    assert len(read.images) == 4
    assert silent.sent is not None
    assert silent.sent.notes == ("It has no sound.",)
