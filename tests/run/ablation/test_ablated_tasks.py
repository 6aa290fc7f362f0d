"""``--ablation`` in whole runs of several formats: what the model is asked, and what is refused before it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

import polymeter
from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import PlanError
from polymeter.core.options import RunOptions
from polymeter.core.request import Message, Origin, OwnPrompt, Request
from polymeter.core.settings.ablations import ABLATIONS
from polymeter.core.settings.needs import Needs
from polymeter.core.task import RolloutSteps, Sample
from polymeter.run.ablation.task import ablated
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from tests.helpers.ablated import COLOURS, Looker, texts, write_colours
from tests.helpers.clips import clip
from tests.helpers.tasks import ListTask, ask

ASKED = "What colour has square number"
SCORED: dict[str, Any] = {"scorers": "exact_match", "reference": "answer"}


def run(tasks: list[Any], folder: Path, ablation: str = "", **options: Any) -> Looker:
    model = Looker()
    polymeter.evaluate(model, tasks, output=folder, ablation=ablation, **options)
    return model


def by_sample(model: Looker) -> dict[str, Request]:
    return {one.origin.sample: one for one in model.asked if one.origin is not None}


def grey(request: Request) -> list[tuple[tuple[int, int], list[Any]]]:
    return [(image.size(), image.shown().getcolors() or []) for image in request.images()]


def test_a_table_without_images(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 6))
    model = run([file], tmp_path / "run", "no-image")
    assert [texts(one) for _, one in sorted(by_sample(model).items())] == [[f"{ASKED} {n}?"] for n in range(6)]
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert "The model is asked without images (--ablation no-image)." in " ".join(results["notes"])


def test_blank_images_have_the_size_of_the_others(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 9))
    whole, blank = by_sample(run([file], tmp_path / "a")), by_sample(run([file], tmp_path / "b", "blank"))
    for name, request in blank.items():
        ((size, colours),) = grey(request)
        ((own, _),) = grey(whole[name])
        assert size == own
        assert colours == [(size[0] * size[1], (128, 128, 128))]
        assert texts(request) == texts(whole[name])


def test_each_sample_gets_the_image_of_another_one(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 30))
    whole, lent = by_sample(run([file], tmp_path / "a")), by_sample(run([file], tmp_path / "b", "shuffled-image"))
    own = {name: [image.content_hash() for image in one.images()] for name, one in whole.items()}
    others = {name: [image.content_hash() for image in one.images()] for name, one in lent.items()}
    assert all(others[name] != own[name] for name in own)
    assert sorted(others.values()) == sorted(own.values()), "every image is lent once"
    again = by_sample(run([file], tmp_path / "c", "shuffled-image"))
    assert {name: [image.content_hash() for image in one.images()] for name, one in again.items()} == others
    seeded = by_sample(run([file], tmp_path / "d", "shuffled-image", seed=1))
    assert {name: [image.content_hash() for image in one.images()] for name, one in seeded.items()} != others


def test_a_lent_image_differs_also_where_questions_share_images(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 40, n_images=4))
    whole, lent = by_sample(run([file], tmp_path / "a")), by_sample(run([file], tmp_path / "b", "shuffled-image"))
    for name in whole:
        (own,), (other,) = whole[name].images(), lent[name].images()
        assert own.content_hash() != other.content_hash()


def test_a_sample_without_any_other_image_fails_and_no_request_is_sent(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 5, n_images=1))
    model = Looker()
    with pytest.raises(PlanError, match="no other sample of task 'squares' has different images for sample 0"):
        polymeter.evaluate(model, [file], output=tmp_path / "run", ablation="shuffled-image")
    assert not model.asked


def test_the_question_is_left_out_and_the_options_stay(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 5, options=True))
    model = run([file], tmp_path / "run", "no-question", mcq="text")
    for request in model.asked:
        assert "square" not in request.text
        assert all(f". {colour}" in request.text for colour in COLOURS)
        assert len([*request.images()]) == 1


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"question": "Which?\nA. red\nB. blue"}, "the text of the question also holds its options"),
        ({"question": "Which?\nA. red\nB. blue", "choices": ["A", "B"]}, "the text of the question also holds its op"),
        ({"question": "Which?\nOptions: A: red, B: blue, C: green"}, "the text of the question also holds its options"),
        ({"question": "Which? (A) red (B) blue"}, "the text of the question also holds its options"),
        ({"question": "Which of red, blue?", "choices": ["red", "blue"]}, "the text of the question also holds its op"),
        ({"title": "Which?"}, "its rows have no column with a usual name of questions: question, prompt, "),
        ({"question": "Which?", "shown": "What?"}, "the prompt does not show the text of the column 'question' word"),
    ],
)
def test_a_question_that_cannot_be_separated(row: dict[str, Any], why: str, tmp_path: Path) -> None:
    rows = [{**row, "answer": "x"} for _ in range(3)]

    @polymeter.task(rows=rows, **SCORED)
    def tangled(one: dict[str, Any]) -> Any:
        text = one.get("shown") or one.get("question") or one.get("title")
        return [polymeter.Image(Pictures.new("RGB", (4, 4))), f"Look. {text}"]

    model = Looker()
    with pytest.raises(PlanError, match=f"Task 'tangled' cannot be asked without the question: {why}"):
        polymeter.evaluate(model, [tangled], output=tmp_path / "run", ablation="no-question")
    assert not model.asked
    assert not (tmp_path / "run").exists()


def test_options_named_in_a_question_that_are_listed_too(tmp_path: Path) -> None:
    rows = [{"question": "Is it red or blue?", "choices": ["red", "blue"], "answer": "red"}]

    @polymeter.task(rows=rows, **SCORED)
    def named(one: dict[str, Any]) -> Any:
        return [
            polymeter.Image(Pictures.new("RGB", (4, 4))),
            f"Example: Is it red or blue?\n{one['question']}\nred, blue",
        ]

    (request,) = run([named], tmp_path / "run", "no-question").asked
    assert texts(request) == ["image", "Example: Is it red or blue?\n\nred, blue"], "the last one is the question"


def test_examples_in_earlier_turns_lose_their_images_too(tmp_path: Path) -> None:
    @polymeter.task(rows=[{"answer": "red"}], **SCORED)
    def chat(row: dict[str, Any]) -> Any:
        picture = Pictures.new("RGB", (4, 4), "blue")
        return [
            Message("user", (Image(picture), Text("What colour?"))),
            Message("assistant", (Text("blue"),)),
            Message("user", (Image(Pictures.new("RGB", (4, 4), "red")),)),
            Message("user", (Text("And this?"),)),
        ]

    (request,) = run([chat], tmp_path / "run", "no-image").asked
    assert [(one.role, one.text) for one in request.messages] == [
        ("user", "What colour?"),
        ("assistant", "blue"),
        ("user", "And this?"),
    ]


def test_a_prompt_of_media_alone_is_refused(tmp_path: Path) -> None:
    @polymeter.task(rows=[{"answer": "red"}] * 2, **SCORED)
    def silent(row: dict[str, Any]) -> Any:
        return polymeter.Image(Pictures.new("RGB", (4, 4), "red"))

    model = Looker()
    with pytest.raises(PlanError, match="cannot be asked without images: without images the prompt is empty"):
        polymeter.evaluate(model, [silent], output=tmp_path / "run", ablation="no-image")
    assert not model.asked


def test_later_rounds_change_too(tmp_path: Path) -> None:
    @polymeter.task(rows=[{"question": "Which colour?", "answer": "red"}], **SCORED)
    def rounds(row: dict[str, Any]) -> Iterator[Any]:
        yield [polymeter.Image(Pictures.new("RGB", (4, 4), "red")), row["question"]]
        yield [polymeter.Image(Pictures.new("RGB", (4, 4), "blue")), "And this?"]

    first, second = run([rounds], tmp_path / "a", "no-image").asked
    assert texts(first) == ["Which colour?"]
    assert "image" not in texts(second)
    assert texts(second)[-1] == "And this?"
    first, second = run([rounds], tmp_path / "b", "no-question").asked
    assert texts(first) == ["image"]
    assert texts(second)[0] == "image"
    assert texts(second)[-2:] == ["image", "And this?"]


def test_repeats_share_their_messages(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 2))
    model = run([file], tmp_path / "run", "blank", repeats=3, generation={"temperature": 1})
    assert len(model.asked) == 6
    assert len({one.parameters.seed for one in model.asked}) == 6  # type: ignore[union-attr]


class Deaf(Looker):
    """Answers without a look at anything."""

    def look(self, request: Request) -> str:
        self.asked.append(request)
        return "heard"


def test_silence_is_as_long_as_the_recording(tmp_path: Path) -> None:
    import numpy as np

    from polymeter.data.audio import decoded_sound

    tone = {"array": np.ones(800, dtype=np.float32), "sampling_rate": 8000}

    @polymeter.task(rows=[{"answer": "x"}], **SCORED)
    def heard(row: dict[str, Any]) -> Any:
        return [Audio(tone), "What is heard?"]

    model = Deaf()
    polymeter.evaluate(model, [heard], output=tmp_path / "run", ablation="blank")
    (medium,) = model.asked[0].media()
    assert isinstance(medium, Audio)
    array, rate = decoded_sound(medium)
    assert (array.shape[1], rate, float(abs(array).max())) == (800, 8000, 0.0)
    silent = Deaf()
    polymeter.evaluate(silent, [heard], output=tmp_path / "none", ablation="no-audio")
    assert texts(silent.asked[0]) == ["What is heard?"]


def test_a_grey_video_has_the_frames_of_the_other(tmp_path: Path) -> None:
    from polymeter.data.showing.opened import opened

    file = clip(tmp_path / "clip.mp4", n=12, fps=4, size=(48, 32))

    @polymeter.task(rows=[{"answer": "x"}], **SCORED)
    def seen(row: dict[str, Any]) -> Any:
        return [Video(file), "What happens?"]

    model = Deaf()
    polymeter.evaluate(model, [seen], output=tmp_path / "run", ablation="blank")
    (medium,) = model.asked[0].media()
    assert isinstance(medium, Video)
    with opened(medium) as video:
        assert len(video.times) == 12
        assert float(video.end) == pytest.approx(3.0, abs=0.05)
        assert video.track is None
        frames = [image for _, image in video.images([0, 11])]
    assert {frame.size for frame in frames} == {(48, 32)}
    assert all(abs(value - 128) <= 2 for frame in frames for value in frame.getpixel((5, 5)))  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="its prompts show no images"):
        polymeter.evaluate(Deaf(), [seen], output=tmp_path / "none", ablation="no-image")


def test_decoded_frames_stay_a_list(tmp_path: Path) -> None:
    frames = [Pictures.new("RGB", (6, 4), (number, 0, 0)) for number in range(5)]

    @polymeter.task(rows=[{"answer": "x"}], **SCORED)
    def seen(row: dict[str, Any]) -> Any:
        return [Video(frames), "What happens?"]

    model = Deaf()
    polymeter.evaluate(model, [seen], output=tmp_path / "run", ablation="blank")
    (medium,) = model.asked[0].media()
    assert [frame.getcolors() for frame in medium.source] == [[(24, (128, 128, 128))]] * 5


def test_a_medium_elsewhere_has_no_known_size(tmp_path: Path) -> None:
    @polymeter.task(rows=[{"answer": "x"}], **SCORED)
    def far(row: dict[str, Any]) -> Any:
        return [Image("https://example.org/a.png"), "What is it?"]

    model = Deaf()
    with pytest.raises(PlanError, match=r"the size of the image at https://example.org/a.png is unknown"):
        polymeter.evaluate(model, [far], output=tmp_path / "run", ablation="blank")
    assert not model.asked


def _own(sample: Sample) -> RolloutSteps:
    """A rollout that asks for the model's own prompt first."""
    own = (yield OwnPrompt(Origin(sample.task, sample.id, "test", sample.index))).messages
    assert own is not None
    yield Request(own, ask("", sample).parameters, Origin(sample.task, sample.id, "test", sample.index))


def test_prompts_of_the_models_own(tmp_path: Path) -> None:
    rows = [{"question": f"q{number}", "answer": "a"} for number in range(4)]
    listed = ListTask(rows, play=_own)
    listed.needs = Needs(are_prompts_unknown=True)

    def answered(name: str, index: int) -> tuple[list[int], Request]:
        task = ablated(listed.as_task(), name, seed=3)
        steps, sent, asked = task.rollout(task.samples[index]), None, list[int]()
        while True:
            step = steps.send(sent)
            if isinstance(step, Request):
                return asked, step
            assert isinstance(step, OwnPrompt)
            asked.append(step.origin.index)
            picture = Pictures.new("RGB", (2, 2), (step.origin.index, 0, 0))
            sent = type("Answer", (), {"messages": (Message("user", (Image(picture), Text(f"q{step.origin.index}"))),)})

    assert texts(answered("no-image", 1)[1]) == ["q1"]
    assert texts(answered("no-question", 1)[1]) == ["image"]
    asked, request = answered("shuffled-image", 1)
    assert asked[0] == 1
    assert [image.open().getpixel((0, 0))[0] for image in request.images()] == asked[1:] != [1]  # type: ignore[index]


def test_refused_before_anything_is_sent(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 1))
    for name, why in {
        "no-imge": "There is no ablation 'no-imge'.",
        "no-video": "Task 'squares' cannot be asked without videos: its prompts show no videos.",
        "shuffled-image": "it has only one sample, so no other one can lend its media.",
    }.items():
        model = Looker()
        with pytest.raises(PlanError, match=why.replace("(", r"\(")):
            polymeter.evaluate(model, [file], output=tmp_path / name, ablation=name)
        assert not model.asked
        assert not (tmp_path / name).exists()


def test_the_others_are_run_without_the_unfit_task(tmp_path: Path) -> None:
    @polymeter.task(rows=[{"question": "Two and two?", "answer": "4"}] * 2, **SCORED)
    def spoken(row: dict[str, Any]) -> Any:
        return row["question"]

    file = str(write_colours(tmp_path, "squares", 3))
    model = run([file, spoken], tmp_path / "run", "no-image", skip_unfit=True)
    assert {one.origin.task for one in model.asked if one.origin} == {"squares"}
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert results["skipped"] == {"spoken": "Task 'spoken' cannot be asked without images: its prompts show no images."}


def test_an_ablation_is_part_of_a_runs_identity(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 3))
    assert "ablation" not in RunOptions().identity(), "runs of earlier versions continue"
    run([file], tmp_path / "run", "no-image")
    with pytest.raises(PlanError, match="The run folder holds another run: ablation differs"):
        run([file], tmp_path / "run", "blank")
    model = run([file], tmp_path / "run", "no-image")
    assert not model.asked, "finished samples are not asked again"
    again = polymeter.resume(tmp_path / "run", model=Looker())
    assert again.is_complete


def test_scores_and_rows_are_those_of_the_sample(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 4))
    run([file], tmp_path / "run", "shuffled-image")
    samples = [*read_samples(open_folder(tmp_path / "run"), "squares")]
    assert [one["target"] for one in samples] == [*COLOURS]
    assert all(one["answer"] != one["target"] for one in samples), "it is the colour of another image"


def test_every_name_is_of_one_way() -> None:
    assert {one.name for one in ABLATIONS.values() if one.is_blind} == {"no-image", "no-video", "no-audio", "no-media"}
    assert not ABLATIONS["no-question"].modalities
