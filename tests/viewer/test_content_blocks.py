"""What the viewer shows of one sample: each block from a stored sample, and its page, in which nothing acts."""

from __future__ import annotations

import io
import re
import wave
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.viewer.content import MediaFiles, SampleView, blocks
from polymeter.viewer.content.choices import matching, probabilities
from tests.helpers.content_app import environment
from tests.report.drawn import DrawnRun
from tests.report.synthetic import HOSTILE, SyntheticRun, exchange, sample


@pytest.fixture
def media(tmp_path: Path) -> MediaFiles:
    return MediaFiles(tmp_path, lambda name: f"/media/{name}")


def put(media: MediaFiles, name: str, data: bytes) -> str:
    path = media.folder / name[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return name


def picture(media: MediaFiles, name: str = "ab01.png", size: tuple[int, int] = (400, 300)) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", size, "white").save(buffer, format="JPEG" if name.endswith(".jpg") else "PNG")
    return put(media, name, buffer.getvalue())


def made(media: MediaFiles, stored: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {block.name: block for block in blocks(SampleView("task", stored, media, **more))}


def html(media: MediaFiles, stored: dict[str, Any], **more: Any) -> str:
    found = blocks(SampleView("task", stored, media, **more))
    return environment().get_template("content/blocks.html").render(blocks=found)


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def texts(exchange_shown: Any) -> list[tuple[str, str]]:
    return [
        (turn.role, "".join(run.text for part in turn.parts if part.text for run in part.text.runs))
        for turn in exchange_shown.turns
    ]


# --- nothing acts


def poisoned(value: Any, text: str) -> Any:
    """A stored value with each of its texts replaced, but for those that name a kind of thing."""
    if isinstance(value, dict):
        kept = ("role", "kind", "file", "status", "metric")
        return {key: item if key in kept else poisoned(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, text) for item in value]
    return text if isinstance(value, str) else value


@pytest.mark.parametrize("text", [*HOSTILE, "</pre></script>\u202e\x00\ud83d", "javascript:alert(1)", "{{ 7 * 7 }}"])
def test_no_text_of_a_sample_becomes_markup(media, text):
    run, drawn = SyntheticRun(), DrawnRun()
    for name, data in {**run.files, **drawn.files}.items():
        put(media, name, data)
    for stored in [one for made in (run, drawn) for samples in made.by_task.values() for one in samples[:3]]:
        page = html(media, poisoned(stored, text)).encode("utf-8", "replace").decode()
        elements = Elements(page)
        assert not elements.all("script")
        assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
        assert not [attributes for _, attributes in elements.found if "style" in attributes]
        places = [*elements.all("img"), *elements.all("a"), *elements.all("audio"), *elements.all("video")]
        assert all((one.get("src") or one.get("href") or "").startswith("/media/") for one in places)
        assert "49" not in re.findall(r">([^<]*)<", page) or "{{" not in text
        assert not {"\u202e", "\x00"} & set(page)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"id": 3, "status": None, "exchanges": "none", "scores": 7, "doc": [1], "log": "x", "error": "broken"},
        {"id": "a", "exchanges": [{"role": "model", "request": None, "response": None}]},
        {"exchanges": [{"request": {"messages": [{"parts": [{"image": 3}, {"video": None}, {}]}]}, "response": {}}]},
        {
            "exchanges": [
                {"response": {"outputs": [{"logprobs": [[None], "x", []], "images": [3], "tool_calls": [{}]}]}}
            ]
        },
        {"exchanges": [{"role": "judge"}], "judge_rules": "x", "log": {"judges": 3}},
    ],
)
def test_a_sample_in_a_form_of_its_own_is_shown_as_far_as_it_goes(media, stored):
    assert "c-sample" in html(media, stored)


# --- media


def test_a_preview_keeps_the_true_size_of_its_image(media):
    name = picture(media, "ab.preview.jpg", (768, 512))
    shown = media.picture({"file": name, "width": 3000, "height": 2000, "name": "a.jpg"})
    assert (shown.width, shown.height, shown.kept, shown.size) == (3000, 2000, (768, 512), "3000 × 2000 px")
    whole = media.picture({"file": picture(media), "width": 400, "height": 300})
    assert (whole.width, whole.kept) == (400, None)


def test_a_turned_photograph_has_the_size_that_browsers_show(media):
    image = Image.new("RGB", (40, 30))
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", exif=exif)
    shown = media.picture({"file": put(media, "cd.jpg", buffer.getvalue())})
    assert (shown.width, shown.height) == (30, 40)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ab.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>"),
        ("ab.html", b"<script>window.hacked = 1</script>"),
        ("ab.png", b"\x89PNG\r\n\x1a\nbroken"),
    ],
)
def test_what_is_no_image_is_not_shown_as_one(media, name, data):
    shown = media.picture({"file": put(media, name, data)})
    assert shown.url == ""
    assert shown.why_absent


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "a\0b.png", "x" * 5000, "", "ab01.png/../../s.png"])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    media = MediaFiles(tmp_path / "media", lambda name: f"/media/{name}")
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    assert media.picture({"file": name}).url == ""
    assert media.clip("audio", {"file": name}).url == ""


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    media = MediaFiles(tmp_path / "media", lambda name: f"/media/{name}")
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    (tmp_path / "media" / "ab").mkdir(parents=True)
    (tmp_path / "media" / "ab" / "ab.png").symlink_to(tmp_path / "secret.png")
    assert media.picture({"file": "ab.png"}).url == ""


def test_a_url_is_told_and_not_fetched(media):
    shown = media.picture({"url": "https://example.org/a.png"})
    assert shown.url == ""
    assert "https://example.org/a.png" in shown.why_absent


def wav(seconds: float) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(int(16000 * seconds)))
    return buffer.getvalue()


def test_a_recording_has_a_player_and_its_length(media):
    name = put(media, "ab.wav", wav(2.5))
    clip = media.clip("audio", {"file": name, "source": "a.wav"})
    assert (clip.url, clip.mime, clip.seconds) == ("/media/ab.wav", "audio/wav", 2.5)
    asked = exchange(None, "how many?", "two")
    asked["request"]["messages"][0]["parts"].insert(0, {"audio": {"file": name, "source": "a.wav"}})
    page = Elements(html(media, sample(0, exchanges=[asked])))
    # Beside the texts it can be played; in the chat it is named.
    (player,) = page.all("audio")
    assert "autoplay" not in player
    assert player["preload"] == "metadata"


def test_a_video_is_a_strip_and_a_player_where_it_is_kept(media):
    strip = picture(media, "ab.strip.jpg", (852, 160))
    note = {"file": strip, "source": "v.mp4", "width": 320, "height": 240, "duration_s": 3.0, "start_s": 1.0}
    clip = media.clip("video", note)
    assert (clip.url, clip.strip.size, clip.span) == ("", "852 × 160 px", (1.0, None))
    assert "frames" in clip.why_absent
    kept = put(media, "cd.mp4", b"\0\0\0\x18ftypisom" + bytes(50))
    played = media.clip("video", {**note, "clip": kept})
    assert (played.url, played.mime, played.strip.url, played.why_absent) == (
        "/media/cd.mp4#t=1",
        "video/mp4",
        "/media/ab.strip.jpg",
        "",
    )


# --- outcome


def test_scores_target_and_answer_stand_first(media):
    stored = sample(
        0,
        target="a red ball",
        answer="a blue ball",
        explanation="wrong colour",
        scores=[
            {"metric": "acc", "filter": "none", "value": 0.25},
            {"metric": "len", "filter": "strict", "value": 31.0},
            {"metric": "parts", "filter": "none", "value": {"a": 1}},
        ],
    )
    outcome = made(media, stored)["outcome"].data
    assert [(score.name, score.text, score.share) for score in outcome.scores] == [
        ("acc", "0.2500", 25),
        ("len · strict", "31.000", None),
        ("parts", '{"a": 1}', None),
    ]
    assert [run.text for run in outcome.target.runs if run.change] == ["red"]
    assert [run.text for run in outcome.answer.runs if run.change] == ["blue"]
    assert outcome.error is None


def test_a_failed_sample_says_why(media):
    stored = sample(0, status="error", error={"kind": "score", "message": "no <b>score</b>"}, scores=[], answer=None)
    page = html(media, stored)
    assert "No score: error" in page
    assert "no &lt;b&gt;score&lt;/b&gt;" in page


# --- pictures


def shown_image(media: MediaFiles, prompt: str, target: Any, answer: str, **more: Any) -> Any:
    file = picture(media)
    asked = exchange(file, prompt, answer)
    asked["request"]["messages"][0]["parts"][0]["image"] = {"file": file, "width": 400, "height": 300}
    (figure,) = made(media, sample(0, target=target, answer=answer, exchanges=[asked], **more))["pictures"].data
    return figure


def test_boxes_of_target_and_answer_are_drawn_with_their_scale(media):
    figure = shown_image(media, "Where is it?", "[40, 30, 200, 180]", "<box>(100,100),(500,600)</box>")
    target, answer = figure.layers
    assert (target.owner, target.readings[0][0], target.readings[0][2][0].numbers) == (
        "target",
        "pixels",
        (40.0, 30.0, 160.0, 150.0),
    )
    assert (answer.owner, answer.readings[0][0], answer.readings[0][2][0].numbers) == (
        "answer",
        "thousand",
        (40.0, 30.0, 160.0, 150.0),
    )
    assert "read as pixels: all numbers lie within the image." in target.why
    assert "read as 0–1000: <box> usually counts in thousandths." in answer.why
    assert figure.iou == "1.000"


def test_a_box_of_the_row_is_drawn_where_the_target_has_none_and_xywh_is_said(media):
    doc = {"bbox": [40, 30, 160, 150], "bbox_format": "xywh"}
    figure = shown_image(media, "Which animal?", "cat", "cat", doc=doc)
    (layer,) = figure.layers
    assert layer.readings[0][2][0].numbers == (40.0, 30.0, 160.0, 150.0)
    assert layer.why.startswith("from the row's 'bbox'; left, top, width and height, as the row says; read as pixels")


def test_lists_of_a_question_about_numbers_are_not_drawn(media):
    assert shown_image(media, "Sort these numbers.", "[1, 2, 3, 4]", "[1, 2, 3, 4]").layers == ()


def test_drawn_shapes_are_in_words_too(media):
    file = picture(media)
    stored = sample(
        0, target="[40, 30, 200, 180]", answer="none", exchanges=[exchange(file, "Where is the box?", "none")]
    )
    page = html(media, stored)
    assert 'role="img" aria-label="Drawn over the image: target: 1 shape"' in page
    assert "box 40, 30 to 200, 180" in page


# --- choices


def weighed(values: list[float | None], texts: list[str], **more: Any) -> dict[str, Any]:
    asked = exchange(None, "Which?", "")
    asked["request"]["ask"] = {"kind": "loglikelihood", "continuations": texts}
    asked["response"]["outputs"] = [{"logprobs": [[value, False, 2] for value in values]}]
    return sample(0, exchanges=[asked], **more)


def test_choices_have_probabilities_and_the_chosen_and_right_one_marked(media):
    stored = weighed([-2.0, -1.0, -3.0], [" red", " green", " blue"], target="red", answer="green")
    (question,) = made(media, stored)["choices"].data
    assert [(choice.is_taken, choice.is_right) for choice in question.choices] == [
        (False, True),
        (True, False),
        (False, False),
    ]
    assert [round(choice.percent, 1) for choice in question.choices] == [24.5, 66.5, 9.0]
    assert (question.choices[0].logprob, question.choices[0].per_token) == ("-2.0000", "-1.0000")
    assert question.note == ""


def test_what_cannot_be_told_is_said(media):
    stored = weighed([-2.0, -1.0], ["red", "green"], target="purple", answer=None)
    (question,) = made(media, stored)["choices"].data
    assert question.choices[1].is_taken
    assert not any(choice.is_right for choice in question.choices)
    assert "the likeliest is marked as chosen" in question.note
    assert "No choice is marked as right" in question.note


def test_a_choice_without_a_number_has_no_bar(media):
    (question,) = made(media, weighed([None, -1.0], ["a", "b"], target="a", answer="b"))["choices"].data
    assert (question.choices[0].percent, question.choices[0].width, question.choices[0].logprob) == (None, 0.0, "none")
    assert question.choices[1].percent == 100.0


@pytest.mark.parametrize(
    ("value", "place"),
    [(" green", 1), ("GREEN", 1), ("B", 1), ("(b)", 1), ("1", 1), (1, 1), ("9", None), (None, None), ("z", None)],
)
def test_a_target_names_its_choice_by_text_letter_or_number(value, place):
    assert matching(value, ["red", " green", "blue"]) == place


def test_probabilities_sum_to_one_however_small():
    assert sum(probabilities([-1000.0, -1001.0, float("-inf")])) == pytest.approx(1.0)
    assert probabilities([float("-inf")] * 2) == [0.0, 0.0]


# --- chat and judges


def test_rounds_do_not_repeat_what_stands_above(media):
    first = exchange(None, "Which shape?", "square")
    second = exchange(None, "Which shape?", "orange")
    second["request"]["messages"] += [
        {"role": "assistant", "parts": [{"text": "square"}]},
        {"role": "user", "parts": [{"text": "Which colour?"}]},
    ]
    shown = made(media, sample(0, exchanges=[first, second]))["chat"].data.exchanges
    assert [one.title for one in shown] == ["Request 1", "Request 2"]
    assert texts(shown[1]) == [("user", "Which colour?")]
    assert shown[1].above == "after 2 messages above"


def test_an_answer_that_was_changed_on_its_way_is_shown(media):
    first, second = exchange(None, "Which shape?", "square"), exchange(None, "Which shape?", "orange")
    second["request"]["messages"].append({"role": "assistant", "parts": [{"text": "circle"}]})
    shown = made(media, sample(0, exchanges=[first, second]))["chat"].data.exchanges
    assert texts(shown[1]) == [("assistant", "circle")]


def test_repeats_are_told_apart_by_their_seeds(media):
    asked = [exchange(None, "Say something.", f"answer {n}", seeds=[n]) for n in range(3)]
    shown = made(media, sample(0, exchanges=asked))["chat"].data.exchanges
    assert [one.title for one in shown] == ["Request 1", "Request 1, repeat 2", "Request 1, repeat 3"]
    assert shown[2].above == "the same prompt as above"
    assert "seed 2" in shown[2].facts


def test_reasoning_is_folded_and_tool_calls_have_names_and_arguments(media):
    asked = exchange(None, "weather?", "")
    calls = [
        {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Zürich"}'}},
        {"type": "tool_use", "name": "search", "input": {"q": "<b>"}},
        {"functionCall": {"name": "draw", "args": {"n": 1}}},
        {"function": {"name": "broken", "arguments": '{"city": '}},
    ]
    asked["response"]["outputs"] = [
        {"text": "", "reasoning": "I think.", "tool_calls": calls, "finish_reason": "length"}
    ]
    answer = made(media, sample(0, exchanges=[asked]))["chat"].data.exchanges[0].answers[0]
    assert [call.name for call in answer.tool_calls] == ["get_weather", "search", "draw", "broken"]
    assert "".join(run.text for run in answer.tool_calls[0].arguments.runs) == '{\n  "city": "Zürich"\n}'
    assert "".join(run.text for run in answer.tool_calls[3].arguments.runs).startswith('{"city":')
    assert "reached the token limit" in answer.facts
    page = html(media, sample(0, exchanges=[asked]))
    assert re.search(r"<details[^>]*><summary>Reasoning</summary>", page)


def test_a_panel_shows_each_judge_with_prompt_verdict_and_value(media):
    file = picture(media)
    stored = sample(
        0,
        exchanges=[
            exchange(None, "question", "answer"),
            {**exchange(file, "grade this", "A", role="judge"), "model": "0123456789abcdef"},
            {**exchange(None, "grade this", "perhaps", role="judge_2"), "model": "fedcba"},
        ],
        judge_rules=["the whole answer", ""],
        log={"judges": {"judge": {"acc,none": 1.0}}, "judges_without_verdict": {"judge_2": "no verdict in it"}},
    )
    panel = made(media, stored, results={"judges": {"models": {"judge": "strict-1"}}})["judges"].data
    first, second = panel.judges
    assert (first.role, first.model, first.values) == ("judge", "strict-1", (("acc", "1.0000"),))
    assert (second.model, second.failure) == ("fedcba", "no verdict in it")
    call, _ = first.calls[0]
    assert any(part.picture for part in call.turns[0].parts)
    assert "".join(run.text for run in call.answers[0].text.runs) == "A"
    assert panel.rules == ("the whole answer",)


def test_a_single_judge_has_the_rule_at_each_call(media):
    calls = [exchange(None, f"grade {n}", "A", role="judge") for n in range(2)]
    panel = made(media, sample(0, exchanges=calls, judge_rules=["last line", ""]))["judges"].data
    assert [rule for _, rule in panel.judges[0].calls] == ["last line", ""]


# --- generated images


@pytest.fixture
def edited(media) -> dict[str, Any]:
    run = DrawnRun()
    for name, data in run.files.items():
        put(media, name, data)
    return run.by_task["edits"][0]


def test_an_edit_stands_between_input_and_reference_with_a_slider(media, edited):
    shown = made(media, edited)
    assert [drawing.label for drawing in shown["drawn"].data.drawings] == ["Input", "Output", "Reference"]
    slider = shown["compare"].data
    assert (slider.shown[slider.left].label, slider.shown[slider.right].label) == ("Input", "Output")
    assert "pictures" not in shown
    page = Elements(html(media, edited))
    (bar,) = [one for one in page.all("input") if one.get("type") == "range"]
    assert (bar["min"], bar["max"]) == ("0", "100")
    # Without a script the slider is not there, and the images stand side by side.
    assert "hidden" in next(one for one in page.all("section") if "data-c-compare" in one)


def test_several_images_have_their_seeds_and_no_slider(media):
    run = DrawnRun()
    for name, data in run.files.items():
        put(media, name, data)
    shown = made(media, run.by_task["paint"][1])
    facts = [drawing.facts[0] for drawing in shown["drawn"].data.drawings]
    assert facts == ["seed 1000", "seed 1001", "seed 1002"]
    assert "compare" not in shown


def test_an_image_that_is_gone_is_said_to_be(media, edited):
    (media.folder / "bl" / "blue.png").unlink()
    shown = made(media, edited)
    assert "compare" not in shown
    assert "no longer in the run" in shown["drawn"].data.drawings[1].picture.why_absent


# --- pages


def test_two_samples_on_a_page_share_no_id(media):
    stored = weighed([-1.0, -2.0], ["a", "b"], target="a", answer="a")
    both = "".join(html(media, stored, key=key) for key in ("one", "two"))
    ids = [attributes["id"] for _, attributes in Elements(both).found if "id" in attributes]
    assert len(ids) == len(set(ids)) > 0


def test_the_row_and_the_log_are_there_without_images(media, edited):
    tables = made(media, edited)["row"].data
    assert [table.title for table in tables] == ["Row of the dataset", "Log of the scoring"]
    assert [name for name, _ in tables[1].rows] == ["steps"]
