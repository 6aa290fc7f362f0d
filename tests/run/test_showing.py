"""What a model is shown is stated by tasks and runs, is part of a run's identity, and comes back as a record."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image as Pictures

import polymeter
from polymeter.core.content import Image, Text, Video
from polymeter.core.errors import PlanError
from polymeter.core.identity import request_fingerprint
from polymeter.core.media.showing import ImageRule, Showing, VideoRule, read_showing
from polymeter.core.model import ModelTraits
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import Generate, Message, Request
from polymeter.core.settings.needs import unfollowed_rules
from polymeter.core.task import Sample
from polymeter.data.showing import shown_image
from polymeter.models.mock import MockBatch, MockModel
from polymeter.run.dispatch.computing import BatchComputer
from polymeter.run.schedule.running_samples import RunningSample, RunningTask
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from tests.helpers.tasks import ListTask, answer_of, ask, docs, run_tasks

YAML = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{a}}}}"
{more}
"""
PYTHON = """\
import polymeter

@polymeter.task(rows=[{"q": "one", "a": "one"}], reference="a", video={"rule": "cut", "frames": 64})
def in_python(row):
    return row["q"]
"""
ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(
    name="in_adapter", dataset_id="made/it", metric_list=["AverageAccuracy"], eval_split="test",
    extra_params={"video": {"rule": "cut", "frames": 64}, "image": "theirs"},
)
class Made(DataAdapter):
    def load(self, **kwargs):
        return {"default": {"test": [{"q": "one", "a": "one"}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["q"])

    def get_gold_answer(self, input_d):
        return input_d["a"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result

    def match(self, gold, pred):
        return float(gold == pred)
"""
TABLE = """\
import pandas as pd
from ulmeval.dataset.text_base import TextBaseDataset

class InTable(TextBaseDataset):
    TYPE = "QA"
    SHOWN = {"video": {"rule": "cut", "frames": 64}}
    nframe = 8

    @classmethod
    def supported_datasets(cls):
        return ["in_table"]

    def load_data(self, dataset):
        return pd.DataFrame({"index": [0], "question": ["one"], "answer": ["one"]})

    def evaluate_sample(self, line, prediction, **kwargs):
        return {"hit": 1.0}
"""
STATED = {"video": {"rule": "cut", "frames": 64}}


def write(folder: Path, more: str = "video: {rule: cut, frames: 64}", name: str = "in_yaml") -> Path:
    (folder / "rows.jsonl").write_text(json.dumps({"q": "one", "a": "one"}) + "\n")
    (folder / f"{name}.yaml").write_text(YAML.format(name=name, more=more))
    return folder / f"{name}.yaml"


def shown_in(run: Path) -> Any:
    (task,) = RunFolder(run).read_manifest()["tasks"]
    return task.get("showing")


def measured(folder: Path, task: str, **more: Any) -> Any:
    polymeter.evaluate("mock", task, include_paths=(folder,), output=folder / "run", **more)
    return shown_in(folder / "run")


def test_task_yaml_states_it(tmp_path: Path) -> None:
    assert measured(tmp_path, str(write(tmp_path))) == STATED


def test_lm_evals_dialect_states_it(tmp_path: Path) -> None:
    more = "video: {rule: cut, frames: 64}\noutput_type: generate_until\nrepeats: 1\nfilter_list: []"
    file = write(tmp_path, more, name="in_lm_eval")
    assert measured(tmp_path, str(file)) == STATED


def test_a_python_task_states_it(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(PYTHON)
    assert measured(tmp_path, "in_python") == STATED


@pytest.mark.needs_system("evalscope")
def test_an_adapter_states_it_and_the_run_wins(tmp_path: Path) -> None:
    (tmp_path / "made_adapter.py").write_text(ADAPTER)
    assert measured(tmp_path, "in_adapter") == STATED
    arguments = {"adapter": {"dataset_args": {"in_adapter": {"video": {"frames": 8}}}}}
    shown = measured(tmp_path, "in_adapter", dialect_options=arguments, is_restart=True)
    assert shown == {"video": {"rule": "cut", "frames": 8}}


@pytest.mark.needs_system("evalscope")
def test_a_mapping_with_other_keys_is_a_setting_of_the_adapters_own(tmp_path: Path) -> None:
    (tmp_path / "made_adapter.py").write_text(ADAPTER.replace('"theirs"', '{"max_side": 512, "backend": "cv2"}'))
    assert measured(tmp_path, "in_adapter") == STATED
    arguments = {"adapter": {"dataset_args": {"in_adapter": {"image": {"max_sid": 512}}}}}
    with pytest.raises(PlanError, match="image has no setting 'max_sid'"):
        measured(tmp_path, "in_adapter", dialect_options=arguments, is_restart=True)


@pytest.mark.needs_system("ulmeval")
def test_a_dataset_class_states_it(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(TABLE)
    assert measured(tmp_path, "in_table") == STATED


def test_options_of_a_run_win_setting_by_setting(tmp_path: Path) -> None:
    shown = measured(tmp_path, str(write(tmp_path)), video={"frames": 8}, image={"max_side": 64}, audio={"rate": 8000})
    assert shown == {"video": {"rule": "cut", "frames": 8}, "image": {"max_side": 64}, "audio": {"rate": 8000}}


def test_a_settings_file_states_it_for_runs_that_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "polymeter.yaml").write_text("video: {frames: 3}\nimage: {max_side: 64}\n")
    file = str(write(tmp_path))
    assert measured(tmp_path, file) == {"video": {"rule": "cut", "frames": 3}, "image": {"max_side": 64}}
    shown = measured(tmp_path, file, video={"frames": 5}, is_restart=True)
    assert shown == {"video": {"rule": "cut", "frames": 5}, "image": {"max_side": 64}}
    (tmp_path / "polymeter.yaml").write_text("seed: 1\nvideo: {frames: 0}\n")
    with pytest.raises(PlanError, match=r"video\.frames is 0") as caught:
        measured(tmp_path, file)
    assert caught.value.where.endswith("polymeter.yaml:2")


@pytest.mark.parametrize(
    ("more", "options", "said", "where"),
    [
        ("video: {rule: cutt, frames: 2}", {}, "video.rule is 'cutt'", "in_yaml.yaml:7"),
        ("video: {frames: 0}", {}, "video.frames is 0", "in_yaml.yaml:7"),
        ("video: {rule: inner, fps: 1.0e+308}", {}, "video.fps is 1e+308", "in_yaml.yaml:7"),
        ("video: {rule: inner, frames: 1000000000}", {}, "video.frames is 1000000000", "in_yaml.yaml:7"),
        ("image: {min_pixels: 1000000000000}", {}, "image.min_pixels is 1000000000000", "in_yaml.yaml:7"),
        ("", {"video": {"fps": 1e-300}}, "video.fps is 1e-300", "--video"),
        ("audio: fast", {}, "audio: expected settings, not 'fast'", "in_yaml.yaml:7"),
        ("", {"audio": {"rate": "fast"}}, "audio.rate is 'fast'", "--audio"),
        ("", {"video": {"frame": 2}}, "video has no setting 'frame'", "--video"),
        (
            "image: {max_pixels: 9}",
            {"image": {"min_pixels": 99}},
            "min_pixels is 99, more than max_pixels, 9",
            "--image",
        ),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_its_place(
    more: str, options: dict[str, Any], said: str, where: str, tmp_path: Path
) -> None:
    file = write(tmp_path, more)
    with pytest.raises(PlanError) as caught:
        measured(tmp_path, str(file), **options)
    assert said in caught.value.what
    assert where in caught.value.where
    assert not (tmp_path / "run" / "journal.db").exists()


def test_a_rule_that_states_nothing_is_none(tmp_path: Path) -> None:
    assert read_showing({"image": {}, "video": {"frames": None}}, "here") == Showing()
    assert not measured(tmp_path, str(write(tmp_path, "image: {}")))
    assert not measured(tmp_path, str(write(tmp_path, "")), video={"frames": None}, is_restart=True)
    assert measured(tmp_path, str(write(tmp_path)), video={}, is_restart=True) == STATED


def test_another_rule_is_another_run(tmp_path: Path) -> None:
    file = write(tmp_path)
    measured(tmp_path, str(file))
    with pytest.raises(PlanError, match="holds another run: video differs"):
        measured(tmp_path, str(file), video={"frames": 8})
    write(tmp_path, "video: {rule: cut, frames: 8}")
    with pytest.raises(PlanError, match="What task 'in_yaml' shows of its media changed since this run began: video"):
        measured(tmp_path, str(file))
    write(tmp_path, "")
    with pytest.raises(PlanError, match="shows of its media changed"):
        polymeter.resume(tmp_path / "run")


def test_a_run_goes_on_and_is_scored_again(tmp_path: Path) -> None:
    file = write(tmp_path)
    measured(tmp_path, str(file), image={"max_side": 64})
    assert polymeter.resume(tmp_path / "run").status == "complete"
    assert polymeter.score(tmp_path / "run").status == "complete"
    assert shown_in(tmp_path / "run") == {**STATED, "image": {"max_side": 64}}


def running(showing: Showing | None) -> RunningSample:
    task = ListTask(docs(1), **({} if showing is None else {"showing": showing})).as_task()
    return RunningSample(RunningTask(task, 1, range(1), "seal"), task.samples[0])


def pictured(side: int = 40) -> Request:
    image = Image(Pictures.new("RGB", (side, side // 2), "red"))
    return Request((Message("user", (image, Text("What?"))),), Generate())


def test_without_rules_requests_and_their_fingerprints_are_as_ever() -> None:
    request = pictured()
    for showing in (None, Showing(video=VideoRule(frames=2))):
        pending = running(showing).ask("model", request)
        assert pending.fingerprint == request_fingerprint(request)
    assert running(None).ask("model", request).request is request
    text = ask("Hello")
    assert running(Showing(image=ImageRule(max_side=9))).ask("model", text).request is text
    # As journals hold them.
    stored = Request((Message("user", (Image(b"", key="k"), Text("?"))),), Generate(5))
    assert request_fingerprint(stored) == "9f85f9f5c48257561db30b566aefe3ae"


def test_a_rule_is_part_of_every_medium_that_the_model_is_asked_about_and_no_judge() -> None:
    sample, request = running(Showing(image=ImageRule(max_side=9))), pictured()
    asked = sample.ask("model", request)
    (ruled,), (own,) = asked.to_model.media(), request.media()
    assert (ruled.rule, own.rule) == (ImageRule(max_side=9), None)
    assert asked.fingerprint != request_fingerprint(request)
    assert ruled._memo is own._memo  # it is decoded once
    ruled.record_sent(ShownMedium("image", "with the rule"))
    own.record_sent(ShownMedium("image", "for the judge"))
    assert ruled.sent is not None
    assert ruled.sent.source == "with the rule"
    again = sample.ask("model", Request(request.messages, Generate(seed=1)))
    assert again.to_model.messages is asked.to_model.messages  # as repeats share theirs
    assert sample.ask("judge", request).request is request


def of_pictures(showing: Showing, seen: list[Request]) -> Any:
    def play(sample: Sample) -> Any:
        request = pictured()
        seen.append(request)
        yield Request(request.messages, Generate(), ask("", sample).origin)

    return ListTask(docs(2), play=play, score=None, showing=showing)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_record_is_there_when_a_model_of_this_process_has_answered(is_async: bool, tmp_path: Path) -> None:
    task = of_pictures(Showing(image=ImageRule(max_side=10)), [])
    run_tasks([task], MockModel(is_async=is_async), tmp_path / "run")
    with closing(Journal(tmp_path / "run" / "journal.db")) as journal:
        (record,) = map(json.loads, journal.shown_in("list"))
    assert (record["before"]["width"], record["sent"]["width"], record["rule"]) == (40, 10, {"max_side": 10})


class Sampling(MockBatch):
    """A wrapper whose arguments say how many frames it shows."""

    own_showing: ClassVar = {"frames": 64}


def test_the_arguments_of_a_wrapper_are_part_of_the_records_of_videos(tmp_path: Path) -> None:
    shown = [Video([Pictures.new("RGB", (4, 4))]), Image(Pictures.new("RGB", (4, 4)))]

    def play(sample: Sample) -> Any:
        yield Request((Message("user", (*shown, Text("?"))),), Generate(), ask("", sample).origin)

    wrapped = Sampling(answer_of, ModelTraits(family="w", is_foreign=True))
    run_tasks([ListTask(docs(1), play=play)], wrapped, tmp_path / "run")
    assert shown[0].sent is not None
    assert (shown[0].sent.by, shown[0].sent.sent, shown[0].sent.digest) == ("the wrapper", {}, "")
    assert [medium.sent and medium.sent.rule for medium in shown] == [{"frames": 64}, None]


def test_a_broken_medium_fails_its_sample_alone(tmp_path: Path) -> None:
    def play(sample: Sample) -> Any:
        source = b"no image" if sample.index else Pictures.new("RGB", (4, 4))
        yield Request((Message("user", (Image(source), Text("?"))),), Generate(), ask("", sample).origin)

    task = ListTask(docs(2), play=play, showing=Showing(image=ImageRule(max_side=10)))
    outcome = run_tasks([task], MockModel(), tmp_path / "run")
    assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 1, "error": 1}


def test_a_wrapper_has_no_record_of_what_another_model_was_shown() -> None:
    request = pictured()
    (image,) = request.media()

    def shown_by(answer: Any) -> tuple[str, dict[str, Any]]:
        wrapped = MockBatch(answer, ModelTraits(family="w", modalities={"text": True, "image": True}, is_foreign=True))
        BatchComputer(wrapped).compute([[request]])
        assert image.sent is not None
        return image.sent.by, dict(image.sent.sent)

    size = {"width": 40, "height": 20, "format": "pixels"}
    image.record_sent(ShownMedium("image", "for another model", sent=size))
    assert shown_by(answer_of) == ("the wrapper", {})

    def showing_it(asked: Request) -> str:
        (shown,) = asked.images()
        shown_image(shown, ImageRule())
        return "a"

    for _ in range(2):  # the second time as the first
        assert shown_by(showing_it) == ("polymeter", size)


def needing(*modalities: str, showing: Showing) -> Any:
    task = ListTask(docs(1), showing=showing).as_task()
    return replace(task, needs=replace(task.needs, modalities=frozenset(modalities)))


def test_a_model_that_cannot_follow_a_rule_is_named_before_the_first_request() -> None:
    model = MockBatch(answer_of, ModelTraits(family="deaf", modalities={"text": True, "audio": False}))
    track = Showing(video=VideoRule(frames=2, audio="track"))
    (found,) = unfollowed_rules([needing("text", "video", showing=track)], model, "deaf")
    assert "does not follow video.audio, which task 'list' sets: it accepts no audio" in found.text
    assert (found.place, found.is_warning) == ("--video", True)
    assert not unfollowed_rules([needing("text", showing=track)], model, "deaf")  # it shows no video
    wrapped = MockBatch(answer_of, ModelTraits(family="w", is_foreign=True))
    (found,) = unfollowed_rules([needing("text", "image", showing=Showing(image=ImageRule(max_side=5)))], wrapped, "w")
    assert "the wrapper gets media as the task gives them" in found.text
