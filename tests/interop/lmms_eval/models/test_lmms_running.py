"""What wrappers are given and what is made of their answers."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.media.showing import ImageRule, Showing, VideoRule
from polymeter.core.request import Generate, Loglikelihood, Message, Origin, Request, Response
from polymeter.core.rows import RowFunctions, RowView
from polymeter.core.settings.needs import unfollowed_rules
from polymeter.interop.lmms_eval.models import LmmsModel
from polymeter.interop.lmms_eval.models.base import GenerationResult, TokenCounts, lmms
from polymeter.interop.lmms_eval.models.rows import WrapperRow, as_visual, doc_to_messages, doc_to_visual
from polymeter.store.exports.export import read_samples
from tests.helpers.colours import COLOURS, answers, run_wrapper, wrapper_file
from tests.helpers.tasks import ListTask, docs


class Echo(lmms):
    """Gives back what it is told to; remembers what it was asked."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__()
        self.answer = answer or (lambda instance: instance.args[0])
        self.calls: list[list[Any]] = []

    def _all(self, requests: Sequence[Any]) -> list[Any]:
        self.calls.append(list(requests))
        return [self.answer(instance) for instance in requests]

    generate_until = loglikelihood = generate_until_multi_round = _all

    def rows(self, call: int = 0) -> list[Any]:
        """The rows that the requests of a call are about."""
        return [self.task_dict[i.args[4]][i.args[5]][i.args[3]] for i in self.calls[call]]


def picture(colour: str) -> Image:
    return Image(Pictures.new("RGB", (2, 2), colour))


def request(text: str, *parts: Any, ask: Any = None, **origin: Any) -> Request:
    place = Origin(**{"task": "t", "sample": "0", "split": "test", **origin})
    return Request((Message("user", (*parts, Text(text))),), ask or Generate(), place)


def handle(full_doc: Any, **functions: Any) -> RowView:
    return RowView(0, RowFunctions(full_doc, **functions), lambda step: nullcontext())


def ask(wrapper: lmms, *requests: Request, **reading: bool) -> list[Response]:
    model = LmmsModel.around(wrapper, **reading)
    model.load()
    return model.respond(list(requests))


def first_pixel(instance: Any) -> Any:
    """What a wrapper sees that trusts one hook and the row's number."""
    _, _, visual, doc_id, task, split = instance.args
    return str(visual(WRAPPERS[-1].task_dict[task][split][doc_id])[0].getpixel((0, 0)))


WRAPPERS: list[lmms] = []


# --- arguments -------------------------------------------------------------------------------------------------------


def test_a_simple_wrapper_gets_six_elements_and_fresh_settings() -> None:
    echo = Echo()
    written = {"max_new_tokens": 4, "until": ["\n\n"]}
    ask(echo, *(request(f"q{i}", index=i, sample=str(i), generation_kwargs=written) for i in (3, 5)))
    first, second = echo.calls[0]
    context, kwargs, visual, doc_id, task, split = first.args
    assert (context, kwargs, doc_id, task, split) == ("q3", written, 3, "t", "test")
    assert visual is second.args[2] is doc_to_visual
    kwargs.pop("until")
    assert second.args[1] == written
    assert first.request_type == "generate_until"
    assert (first.task_name, first.doc_id, first.repeats, first.metadata["split"]) == ("t", 3, 1, "test")


def test_a_chat_wrapper_gets_six_elements_and_no_stop_string_that_nobody_wrote() -> None:
    class Chat(Echo):
        is_simple = False

    echo = Chat()
    ask(echo, request("q", index=3, generation_kwargs={"max_new_tokens": 4, "until": ["\n\n"]}))
    ask(echo, request("q", ask=Generate(stop=("END",)), generation_kwargs={"until": ["END"]}))
    ask(echo, request("q"))
    context, messages, kwargs, doc_id, task, split = echo.calls[0][0].args
    assert (context, messages, doc_id, task, split) == ("q", doc_to_messages, 3, "t", "test")
    assert kwargs == {"max_new_tokens": 4, "until": []}
    assert [call[0].args[2]["until"] for call in echo.calls[1:]] == [["END"], []]


def test_a_request_from_elsewhere_gets_settings_made_of_its_ask() -> None:
    echo = Echo()
    asked = Generate(max_new_tokens=7, temperature=0.5, stop=("END",), extra={"top_k": 3})
    bare = Request((Message("user", (Text("q"),)),), asked)
    assert ask(echo, bare) == [Response.of_text("q").__class__((echo_output("q"),))]
    kwargs = echo.calls[0][0].args[1]
    assert kwargs == {"max_new_tokens": 7, "temperature": 0.5, "top_k": 3, "do_sample": True, "until": ["END"]}


def echo_output(text: str) -> Any:
    from polymeter.core.request import Output

    return Output(text=text)


def test_repeats_of_a_sample_share_a_call_and_a_row() -> None:
    echo = Echo()
    messages = (Message("user", (picture("red"), Text("q"))),)
    same = [Request(messages, Generate(seed=seed), Origin("t", "0", "test")) for seed in range(3)]
    assert len(ask(echo, *same)) == 3
    assert [len(call) for call in echo.calls] == [3]


def test_several_answers_are_asked_for_one_by_one() -> None:
    count = iter(range(9))
    repeats = [request("q", ask=Generate(repeat=number)) for number in range(3)]
    found = ask(Echo(lambda instance: f"a{next(count)}"), *repeats)
    assert [response.text for response in found] == ["a0", "a1", "a2"]


def test_two_prompts_about_one_row_never_see_each_others_pictures() -> None:
    wrapper = Echo(first_pixel)
    WRAPPERS.append(wrapper)
    found = ask(wrapper, request("q", picture("red")), request("q", picture("blue")), request("q", picture("red")))
    assert [response.text for response in found] == ["(255, 0, 0)", "(0, 0, 255)", "(255, 0, 0)"]
    assert [call[0].args[3] for call in wrapper.calls] == [0, 0, 0], "the row's true number"


def test_choices_become_an_instance_each() -> None:
    echo = Echo(lambda instance: (-float(len(instance.args[1])), instance.idx == 1))
    found = ask(echo, request("q", picture("red"), ask=Loglikelihood((" a", " bcd"))))
    assert [(item.logprob, item.is_greedy) for item in found[0].outputs[0].logprobs] == [(-2.0, False), (-4.0, True)]
    first, second = echo.calls[0]
    assert [item.args[1] for item in (first, second)] == [" a", " bcd"]
    assert first.args[1](None) == " a", "as doc_to_target it can be called"
    assert len(first.args) == 6


def test_calling_one_requests_target_for_anothers_choices_is_refused() -> None:
    class FirstForAll(Echo):
        def loglikelihood(self, requests: Sequence[Any]) -> list[Any]:  # type: ignore[override]
            targets = [instance.args[1] for instance in requests]
            self.calls.append([targets[0](self.task_dict["t"]["test"][i.args[3]]) for i in requests])
            return [(0.0, False)] * len(requests)

    with pytest.raises(ModelError, match="called doc_to_target of one request for others"):
        ask(FirstForAll(), request("q", ask=Loglikelihood(("a", "b"))))
    wrapper = FirstForAll()
    ask(wrapper, *(request("q", index=i, ask=Loglikelihood((f"c{i}",))) for i in range(2)))
    assert wrapper.calls == [["c0", "c1"]], "a row with one continuation gives its own"


def test_a_losss_sign_is_turned_only_when_the_user_says_so() -> None:
    one = request("q", ask=Loglikelihood(("a", "b")))
    losses = Echo(lambda instance: (1.5 if instance.idx else 0.5, 0))
    assert [item.logprob for item in ask(losses, one)[0].outputs[0].logprobs] == [0.5, 1.5]
    assert [item.logprob for item in ask(losses, one, returns_loss=True)[0].outputs[0].logprobs] == [-0.5, -1.5]


# --- rows ------------------------------------------------------------------------------------------------------------


def test_a_row_reads_the_dataset_only_when_a_column_is_looked_at() -> None:
    reads: list[int] = []

    def full_doc() -> dict[str, Any]:
        reads.append(1)
        return {"a": 1, "b": None}

    row = WrapperRow(request("q", picture("red")), handle(lambda index: full_doc()))
    assert doc_to_visual(row)[0].size == (2, 2)
    assert reads == []
    assert (row["a"], row.get("b"), row.get("c", 3), "a" in row, len(row), dict(row)) == (
        1, None, 3, True, 2, {"a": 1, "b": None},
    )  # fmt: skip
    assert {**row} == dict(row.items()) == {"a": 1, "b": None}
    assert reads == [1]
    with pytest.raises(KeyError):
        row["c"]


def test_another_row_is_not_to_be_had() -> None:
    def peek(instance: Any) -> str:
        return str(WRAPPERS[-1].task_dict["t"]["test"][99])

    WRAPPERS.append(Echo(peek))
    with pytest.raises(ModelError, match="row 99, which it was not asked about"):
        ask(WRAPPERS[-1], request("q"))
    with pytest.raises(ModelError, match="a dict that is not a row of its task_dict"):
        doc_to_visual({"a": 1})


def test_media_as_wrappers_expect_them() -> None:
    sound = {"array": [0.0], "sampling_rate": 8}
    assert as_visual(Video(Path("v.mp4"))) == "v.mp4"
    assert as_visual(Video("v.mp4", None, 1.0, 2.5)) == {
        "type": "video", "url": "v.mp4", "video_start": 1.0, "video_end": 2.5,
    }  # fmt: skip
    assert as_visual(Audio(sound)) == sound
    assert as_visual(Audio("a.wav")) == "a.wav"
    cell = {"bytes": b"RIFF", "path": "a.wav"}
    assert as_visual(Audio(cell)) == cell
    red = picture("red")
    chat = doc_to_messages(WrapperRow(request("q", red, Video("v.mp4", None, 1.0), Audio(sound)), None))
    shown = chat[0]["content"][0].pop("url")
    assert shown is not red.open(), "a wrapper may shrink its copy in place"
    assert shown.tobytes() == red.open().tobytes()
    assert chat == [
        {
            "role": "user",
            "content": [
                {"type": "image"},
                {"type": "video", "url": "v.mp4", "start_time": 1.0},
                {"type": "audio", "url": sound},
                {"type": "text", "text": "q"},
            ],
        }
    ]


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ("a", None),
        (GenerationResult("a", TokenCounts(1, 2, 3)), (1, 2, 3)),
        (("a", {"output_tokens": 4}), (None, 4, None)),
        (("a", TokenCounts(5)), (5, None, None)),
    ],
)
def test_an_answer_may_carry_its_counts(answer: Any, usage: Any) -> None:
    output = ask(Echo(lambda instance: answer), request("q"))[0].outputs[0]
    found = output.usage
    assert output.text == "a"
    assert (found and (found.input_tokens, found.output_tokens, found.reasoning_tokens)) == usage


@pytest.mark.parametrize("rounds", [["a", "b"], ("a", "b"), [GenerationResult("a"), "b"]])
def test_rounds_are_one_output_each(rounds: Any) -> None:
    found = ask(Echo(lambda instance: rounds), request("q", protocol="multi_round"))
    assert [output.text for output in found[0].outputs] == ["a", "b"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [(None, "gave nothing in place of text"), (0.5, "gave a float in place of text")],
)
def test_what_is_no_text_is_the_failure_of_its_request_alone(answer: Any, message: str) -> None:
    found = ask(Echo(lambda i: answer if i.args[0] == "bad" else "fine"), request("bad"), request("q", index=1))
    assert found[0].error is not None
    assert message in found[0].error.message
    assert found[1].text == "fine"


def test_what_is_no_pair_is_no_likelihood() -> None:
    found = ask(Echo(lambda instance: 0.5), request("q", ask=Loglikelihood(("a",))))
    assert found[0].error is not None
    assert "a float in place of (log-probability, is_greedy)" in found[0].error.message


def test_no_list_and_too_short_a_list_are_refused() -> None:
    class Short(Echo):
        def generate_until(self, requests: Sequence[Any]) -> Any:  # type: ignore[override]
            return self.answer(requests)

    with pytest.raises(ModelError, match="gave 1 answers to 2 requests"):
        ask(Short(lambda requests: ["a"]), request("q"), request("p", index=1))
    with pytest.raises(ModelError, match="gave nothing in place of a list"):
        ask(Short(lambda requests: None), request("q"))
    with pytest.raises(ModelError, match="gave a str in place of a list"):
        ask(Short(lambda requests: "a"), request("q"))
    assert ask(Short(lambda requests: (text for text in ["a"])), request("q"))[0].text == "a"


def test_the_prompt_is_cut_off_only_when_the_user_says_so() -> None:
    both = Echo(lambda instance: f"USER: {instance.args[0]} ASSISTANT: red {instance.args[0]}")
    assert ask(both, request("q?"))[0].text == "USER: q? ASSISTANT: red q?"
    assert ask(both, request("q?"), strip_prompt=True)[0].text == " ASSISTANT: red q?"
    assert ask(Echo(lambda instance: "red"), request("q?"), strip_prompt=True)[0].text == "red"


@pytest.mark.parametrize("protocol", ["single", "agentic"])
def test_which_method_answers(protocol: str) -> None:
    class Many(Echo):
        def generate_visual_cot(self, requests: Sequence[Any]) -> list[Any]:
            return ["drawn"] * len(requests)

    assert ask(Many(), request("q", protocol=protocol))[0].text == "q"
    assert ask(Many(), request("q", protocol="visual_cot"))[0].text == "drawn"


def test_rounds_have_seven_elements_of_which_one_asks_for_more() -> None:
    def text(row: Any, **rounds: Any) -> Any:
        return [], f"{row['name']} {rounds['round_idx']}", False, rounds["previous_output"], None

    echo = Echo()
    ask(echo, request("q", picture("red"), protocol="multi_round"))
    arguments = echo.calls[0][0].args
    assert len(arguments) == 7
    row = WrapperRow(request("q"), handle(lambda index: {"name": "n"}, next_round=text))
    assert arguments[3](row) == "q"
    assert arguments[3](row, previous_output=["a"], round_idx=1, lmms_eval_specific_kwargs=None)[1] == "n 1"
    assert doc_to_messages(row, round_idx=2, previous_output=[]) == (
        [{"role": "user", "content": [{"type": "text", "text": "n 2"}]}], False, [], None,
    )  # fmt: skip


def test_groups_never_mix_tasks_or_settings() -> None:
    model = LmmsModel.around(Echo())
    keys = [
        model.group_key(request("q")),
        model.group_key(request("q", task="u")),
        model.group_key(request("q", split="train")),
        model.group_key(request("q", protocol="multi_round")),
        model.group_key(request("q", generation_kwargs={"until": ["a"]})),
        model.group_key(request("q", generation_kwargs={"until": ["b"]})),
    ]
    assert len(set(keys)) == len(keys)
    assert model.group_key(request("p", index=4)) == keys[0]


# --- whole runs ------------------------------------------------------------------------------------------------------


def test_repeats_run_in_one_chunk(tmp_path: Path) -> None:
    path = wrapper_file(
        tmp_path, "def generate_until(self, requests):\n    return [str(len(requests))] * len(requests)"
    )
    result = run_wrapper(tmp_path, "repeated", path, batch_size=3, limit=1)
    assert answers(result, "repeated") == [["3", "3", "3"]]


def test_a_wrapper_that_fails_on_one_row_fails_on_no_other(tmp_path: Path) -> None:
    code = """\
    def generate_until(self, requests):
        if any(request.args[3] == 2 for request in requests):
            raise RuntimeError("odd row")
        return [self.task_dict[r.args[4]][r.args[5]][r.args[3]]["colour"] for r in requests]
    """
    path = wrapper_file(tmp_path, code)
    result = run_wrapper(tmp_path, "colours", path, batch_size=4)
    rows = list(read_samples(result.folder, "colours"))
    assert [row["status"] for row in rows] == ["ok", "ok", "error", "ok", "ok", "ok"]
    assert "odd row" in str(rows[2])
    assert f"{path}:4" in str(rows[2])
    assert (result.n_failed, result.exit_code) == (1, 1)


def test_a_task_without_hooks_is_shown_all_the_same(tmp_path: Path) -> None:
    """What a request of another dialect carries is enough: its messages."""
    from polymeter.core.task import RolloutSteps, Sample
    from tests.helpers.tasks import ListTask, run_tasks

    def play(sample: Sample) -> RolloutSteps:
        place = Origin("list", sample.id, "dev", sample.index)
        message = Message("user", (picture(sample.doc["answer"]), Text(sample.doc["question"])))
        yield Request((message,), Generate(max_new_tokens=3), place)

    rows = [{"question": "colour?", "answer": colour} for colour in COLOURS]
    wrapper = Echo(first_pixel)
    WRAPPERS.append(wrapper)
    model = LmmsModel.around(wrapper)
    outcome = run_tasks([ListTask(rows, play=play)], model, tmp_path / "run", batch_size=4)
    given = [row["exchanges"][0]["response"]["outputs"][0]["text"] for row in read_samples(outcome.folder, "list")]
    assert given == [str(Pictures.new("RGB", (1, 1), colour).getpixel((0, 0))) for colour in COLOURS]
    sizes = [len(call) for call in wrapper.calls]
    assert (max(sizes), sum(sizes)) == (4, len(COLOURS))
    kwargs = wrapper.calls[0][0].args[1]
    assert (kwargs["max_new_tokens"], kwargs["do_sample"], kwargs["until"]) == (3, False, [])


def test_a_wrapper_that_loses_an_answer_is_asked_one_by_one(tmp_path: Path) -> None:
    code = """\
    def generate_until(self, requests):
        colours = [self.task_dict[r.args[4]][r.args[5]][r.args[3]]["colour"] for r in requests]
        return colours[:1]
    """
    result = run_wrapper(tmp_path, "colours", wrapper_file(tmp_path, code), batch_size=3)
    assert answers(result, "colours") == list(COLOURS)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    code = """\
    def __init__(self, broken=True):
        self.broken = broken

    def generate_until(self, requests):
        import pathlib
        seen = pathlib.Path({place!r})
        seen.write_text(seen.read_text() + "x" * len(requests) if seen.exists() else "x" * len(requests))
        if len(seen.read_text()) > 3 and not seen.with_name("repaired").exists():
            raise RuntimeError("broken for now")
        return [self.task_dict[r.args[4]][r.args[5]][r.args[3]]["colour"] for r in requests]
    """.replace("{place!r}", repr(str(tmp_path / "asked")))
    path = wrapper_file(tmp_path, code)
    first = run_wrapper(tmp_path, "colours", path)
    assert first.n_failed == 3
    (tmp_path / "repaired").touch()
    second = run_wrapper(tmp_path, "colours", path)
    assert (second.n_failed, second.value("colours", "exact_match")) == (0, 1.0)
    assert len((tmp_path / "asked").read_text()) == 6 + 3


def test_another_source_is_another_model(tmp_path: Path) -> None:
    path = wrapper_file(tmp_path, "def generate_until(self, requests):\n    return ['a'] * len(requests)")
    (tmp_path / "helper.py").write_text("X = 1\n")
    before = LmmsModel(path=str(path)).identity
    assert LmmsModel(path=str(path)).identity == before
    path.write_text(path.read_text() + "\nfrom .helper import X\n")
    imported = LmmsModel(path=str(path)).identity
    assert imported != before
    (tmp_path / "helper.py").write_text("X = 20\n")
    assert LmmsModel(path=str(path)).identity != imported


def test_cleaning_up_harms_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = """\
    def generate_until(self, requests):
        return ["red"] * len(requests)

    def clean(self):
        raise RuntimeError("not clean")
    """
    result = run_wrapper(tmp_path, "colours", wrapper_file(tmp_path, code))
    assert result.exit_code == 0
    assert "Mine.clean failed" in caplog.text


def test_bars_of_a_wrapper_are_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = """\
    def generate_until(self, requests):
        from tqdm import tqdm
        return ["red" for _ in tqdm(requests, desc="Model Responding", disable=(self.rank != 0))]
    """
    run_wrapper(tmp_path, "colours", wrapper_file(tmp_path, code))
    assert "Model Responding" not in "".join(capfd.readouterr())
    from tqdm import tqdm

    list(tqdm([1], desc="shown elsewhere"))
    assert "shown elsewhere" in capfd.readouterr().err


def test_row_numbers_kept_below_the_length_are_kept(tmp_path: Path) -> None:
    def clamped(instance: Any) -> str:
        _, _, visual, doc_id, task, split = instance.args
        rows = WRAPPERS[-1].task_dict[task][split]
        assert (doc_id in rows, 0 in rows, next(iter(rows)) is rows[7]) == (True, False, True)
        return str(visual(rows[min(doc_id, len(rows) - 1)])[0].getpixel((0, 0)))

    WRAPPERS.append(Echo(clamped))
    found = ask(WRAPPERS[-1], request("q", picture("red"), index=7), request("q", picture("blue"), index=9))
    assert [response.text for response in found] == ["(255, 0, 0)", "(0, 0, 255)"]


@pytest.mark.parametrize(
    "answer",
    ["[LMMS_EVAL_REQUEST_FAILED after 5 retries] 503", GenerationResult("[LMMS_EVAL_BUDGET_EXCEEDED]", TokenCounts())],
)
def test_a_failure_that_a_wrapper_writes_as_an_answer_is_a_failure(answer: Any) -> None:
    (found,) = ask(Echo(lambda instance: answer), request("q"))
    assert found.error is not None
    assert "reports that it got no answer: [LMMS_EVAL_" in found.error.message


def test_numbers_that_can_only_be_losses_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    weigh = request("q", ask=Loglikelihood(("a", "b")))
    wrapper = Echo(lambda instance: (2.5 if instance.idx else -1.0, True))
    ask(wrapper, weigh, returns_loss=True)
    assert caplog.text == ""
    ask(wrapper, weigh, request("q", picture("red"), ask=Loglikelihood(("a", "b"))))
    assert caplog.text.count("Echo.loglikelihood gives 2.5, but a log-probability is never above 0") == 1
    assert "--model-args returns_loss=true" in caplog.text


def test_a_batch_that_is_refused_when_asked_names_the_option(tmp_path: Path) -> None:
    code = """\
    def __init__(self, batch_size=1):
        self.batch_size_per_gpu = int(batch_size)

    def generate_until(self, requests):
        assert self.batch_size_per_gpu == 1
        return ["red"] * len(requests)
    """
    path = wrapper_file(tmp_path, code)
    with pytest.raises(PlanError, match=rf"{path}:6\] It refuses batches of 4: run it with --batch-size 1"):
        run_wrapper(tmp_path, "colours", path, batch_size=4)
    assert run_wrapper(tmp_path, "colours", path, output="one").exit_code == 0


def test_what_a_wrapper_logs_for_each_batch_is_not_shown() -> None:
    code = """\
    import sys
    from loguru import logger
    from polymeter.guests.contain import without_chatter

    with without_chatter():
        logger.info("each batch")
        logger.warning("a warning")
    logger.info("elsewhere")
    logger.debug("nobody asked")
    """
    plain = {name: value for name, value in os.environ.items() if name != "LOGURU_LEVEL"}
    words = [sys.executable, "-c", textwrap.dedent(code)]
    said = subprocess.run(words, env=plain, capture_output=True, text=True, check=True).stderr
    assert [text in said for text in ("each batch", "a warning", "elsewhere", "nobody asked")] == [
        False, True, True, False,
    ]  # fmt: skip
    told = subprocess.run(words, env={**plain, "LOGURU_LEVEL": "DEBUG"}, capture_output=True, text=True, check=True)
    assert "each batch" in told.stderr, "who sets a level gets it"


def sampling(tmp_path: Path, **arguments: Any) -> LmmsModel:
    code = """\
    def __init__(self, max_num_frames=32, fps=None):
        self.told = (max_num_frames, fps)

    def generate_until(self, requests):
        return [str(self.told)] * len(requests)
    """
    wrapper_file(tmp_path, textwrap.dedent(code))
    return LmmsModel("", str(tmp_path / "mine.py"), **arguments)


def told(model: LmmsModel) -> str | None:
    model.load()
    return model.respond([request("?")])[0].text


def test_a_wrapper_that_samples_frames_gets_the_rule_as_arguments_that_it_has(tmp_path: Path) -> None:
    rule = VideoRule(rule="cut", frames=64, timestamps="text")
    model = sampling(tmp_path)
    model.plan_showing([Showing(video=rule), Showing(video=rule)])
    why = "the wrapper chooses the frames of videos itself"
    assert model.unfollowed(Showing(video=rule)) == {"video.rule": why, "video.timestamps": why}
    assert told(model) == "(64, None)"
    assert model.own_showing == {"frames": 64}
    assert sampling(tmp_path, fps=2).own_showing == {"frames": 32, "fps": 2}
    assert model.identity == sampling(tmp_path).identity, "the rule is part of every request"
    own = sampling(tmp_path, max_num_frames=4)
    own.plan_showing([Showing(video=rule)])
    assert set(own.unfollowed(Showing(video=rule))) == {"video.rule", "video.frames", "video.timestamps"}
    assert told(own) == "(4, None)"
    several = sampling(tmp_path)
    several.plan_showing([Showing(video=rule), Showing(video=VideoRule(fps=1))])
    assert "state different rules" in several.unfollowed(Showing(video=rule))["video.frames"]
    assert told(several) == "(32, None)"


def test_the_rule_of_one_task_leaves_the_frames_of_another_alone(tmp_path: Path) -> None:
    ruled = replace(ListTask(docs(1)).as_task(), showing=Showing(video=VideoRule(frames=64)))
    seeing = replace(ruled.needs, modalities=frozenset({"text", "video"}))
    ruled, plain = replace(ruled, needs=seeing), replace(ruled, needs=seeing, showing=Showing())
    model = sampling(tmp_path)
    (found,) = unfollowed_rules([ruled, plain], model, "mine")
    assert "video.frames" in found.text
    assert "state different rules, or none" in found.text
    assert told(model) == "(32, None)"
    blind = replace(plain, needs=replace(seeing, modalities=frozenset({"text"})))
    assert not unfollowed_rules([ruled, blind], model, "mine")


def test_rules_of_images_are_applied_to_the_pixels_that_a_wrapper_gets() -> None:
    large = Image(Pictures.new("RGB", (40, 20), "red"), rule=ImageRule(max_side=10))
    assert as_visual(large).size == (10, 5)
    assert large.sent is not None
    assert large.sent.sent["width"] == 10
