"""Subtitles of videos as tasks of every kind and runs state them: what endpoints get, what is recorded and refused."""

from __future__ import annotations

import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.cli.show import show
from polymeter.core.content import Text, Video
from polymeter.core.errors import DataError, PlanError
from polymeter.core.identity import request_fingerprint
from polymeter.core.media.showing import VideoRule, read_showing
from polymeter.core.model import ModelTraits
from polymeter.core.request import Generate, Message, Request
from polymeter.data.showing.row_subtitles import subtitles_of_row
from polymeter.models.mock import MockBatch, MockModel
from polymeter.models.openai.model import OpenAIModel
from polymeter.models.video_parts import BESIDE_VIDEO
from polymeter.report.table import footnotes
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from tests.helpers.clips import clip
from tests.helpers.openai_stub import OpenAIStub, chat

pytestmark = pytest.mark.skipif(util.find_spec("av") is None, reason="the extra [video] is not installed")

SRT = """\
1
00:00:00,100 --> 00:00:00,300
Good morning

2
00:00:00,900 --> 00:00:01,100
Where is it?

3
00:00:01,800 --> 00:00:02,000
Over there
"""
STATED = "{rule: even, frames: 2, subtitles: interleaved, subtitles_from: subtitle_path}"
YAML = """\
task: in_yaml
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_visual: film
doc_to_text: "What happens?"
doc_to_target: answer
video: {video}
{more}
"""
RULE = {"rule": "even", "frames": 2, "subtitles": "interleaved", "subtitles_from": "subtitle_path"}
PYTHON = f"""\
import pathlib
import polymeter

ROWS = [{{"film": "a.mp4", "subtitle_path": "subs/a.srt", "answer": "ok"}}]

@polymeter.task(rows=ROWS, reference="answer", video={RULE!r})
def in_python(row):
    return [pathlib.Path(row["film"]), "What happens?"]
"""
ADAPTER = f"""\
from pathlib import Path
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(
    name="in_adapter", dataset_id="made/it", metric_list=["AverageAccuracy"], eval_split="test",
    extra_params={{"video": {RULE!r}}},
)
class Made(DataAdapter):
    def load(self, **kwargs):
        film = str(Path(__file__).parent / "a.mp4")
        return {{"default": {{"test": [{{"film": film, "subtitle_path": "subs/a.srt", "answer": "ok"}}]}}}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        content = [{{"type": "video", "video": input_d["film"]}}, {{"type": "text", "text": "What happens?"}}]
        return {{"messages": [{{"role": "user", "content": content}}]}}

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result

    def match(self, gold, pred):
        return float(gold == pred)
"""
TABLE = f"""\
from pathlib import Path
import pandas as pd
from ulmeval.dataset.text_base import TextBaseDataset

class InTable(TextBaseDataset):
    TYPE = "QA"
    SHOWN = {{"video": {RULE!r}}}

    @classmethod
    def supported_datasets(cls):
        return ["in_table"]

    def load_data(self, dataset):
        return pd.DataFrame({{"index": [0], "question": ["?"], "subtitle_path": ["subs/a.srt"], "answer": ["ok"]}})

    def build_prompt(self, line):
        film = str(Path(__file__).parent / "a.mp4")
        return [{{"type": "video", "value": film}}, {{"type": "text", "value": "What happens?"}}]

    def evaluate_sample(self, line, prediction, **kwargs):
        return {{"hit": 1.0}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clip(tmp_path / "a.mp4")
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / "a.srt").write_text(SRT)
    return tmp_path


def write_yaml(folder: Path, *subtitles: Any, video: str = STATED, more: str = "") -> str:
    """A task with one row for each value of its column of subtitles."""
    rows = [
        {"film": str(folder / "a.mp4"), "name": "a", "number": 1.5, "subtitle_path": one, "answer": "ok"}
        for one in subtitles or ("subs/a.srt",)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "in_yaml.yaml").write_text(YAML.format(video=video, more=more))
    return str(folder / "in_yaml.yaml")


def measured(folder: Path, task: str, model: Any = None, **more: Any) -> Any:
    model = MockModel(answer="ok") if model is None else model
    return polymeter.evaluate(model, [task], include_paths=(folder,), output=folder / "run", is_restart=True, **more)


def sent(folder: Path, task: str, **more: Any) -> list[list[str]]:
    """The pieces of each request that an endpoint got: texts, and the kinds of the others."""
    with OpenAIStub(lambda received: chat("ok")) as stub:
        measured(folder, task, OpenAIModel("made", base_url=stub.base_url), **more)
        bodies = [body for body in stub.bodies if "messages" in body]
    contents = [body["messages"][-1]["content"] for body in bodies]
    return [
        [piece.get("text", piece["type"]) for piece in content] for content in contents if not isinstance(content, str)
    ]


INTERLEAVED = ["image_url", "Good morning\nWhere is it?\n", "image_url", "Over there\n", "What happens?"]


def shown_in(folder: Path, task: str) -> Any:
    (line,) = read_samples(open_folder(folder / "run"), task)
    assert line["status"] == "ok"
    (record,) = line["shown_media"].values()
    return record["sent"]["subtitles"]["show"], record["sent"]["subtitles"]["cues"]


def test_a_task_yaml(folder: Path) -> None:
    task = write_yaml(folder)
    assert sent(folder, task) == [INTERLEAVED]
    measured(folder, task)
    assert shown_in(folder, "in_yaml") == ("interleaved", 3)


def test_lm_evals_dialect(folder: Path) -> None:
    more = "output_type: generate_until\nrepeats: 1\nfilter_list: []"
    task = write_yaml(folder, more=more)
    assert sent(folder, task) == [INTERLEAVED]


def test_a_python_task(folder: Path) -> None:
    (folder / "made.py").write_text(PYTHON)
    assert sent(folder, "in_python") == [INTERLEAVED]
    measured(folder, "in_python")
    assert shown_in(folder, "in_python") == ("interleaved", 3)


@pytest.mark.needs_system("evalscope")
def test_an_adapter(folder: Path) -> None:
    (folder / "made_adapter.py").write_text(ADAPTER)
    assert sent(folder, "in_adapter") == [INTERLEAVED]
    measured(folder, "in_adapter")
    assert shown_in(folder, "in_adapter") == ("interleaved", 3)


@pytest.mark.needs_system("ulmeval")
def test_a_table_class(folder: Path) -> None:
    (folder / "made.py").write_text(TABLE)
    assert sent(folder, "in_table") == [INTERLEAVED]
    measured(folder, "in_table")
    assert shown_in(folder, "in_table") == ("interleaved", 3)


def test_options_of_a_run_win(folder: Path) -> None:
    task = write_yaml(folder)
    (whole,) = sent(folder, task, video={"subtitles": "whole"})
    assert whole == [
        "image_url",
        "image_url",
        "Subtitles of the video:\nGood morning\nWhere is it?\nOver there\n",
        "What happens?",
    ]
    (none,) = sent(folder, task, video={"subtitles": "none"})
    assert none == ["image_url", "image_url", "What happens?"]
    (timed,) = sent(folder, task, video={"timestamps": "text"})
    assert timed == ["<0.0 seconds>", "image_url", INTERLEAVED[1], "<1.8 seconds>", *INTERLEAVED[2:]]


def test_none_is_a_word_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--model", "mock", "--tasks", write_yaml(folder), "--output", str(folder / "cli")]
    assert main([*arguments, "--video", "subtitles=none,timestamps=none,fps=none"]) == 0
    (task,) = open_folder(folder / "cli").read_manifest()["tasks"]
    assert task["showing"] == {"video": {"rule": "even", "frames": 2, "timestamps": "none"}}


def test_a_task_may_say_where_they_are_for_runs_that_show_them(folder: Path) -> None:
    task = write_yaml(folder, video='{frames: 2, subtitles_from: "subs/{{ name }}.srt"}')
    assert sent(folder, task) == [["image_url", "image_url", "What happens?"]]
    (manifest,) = open_folder(folder / "run").read_manifest()["tasks"]
    assert manifest["showing"] == {"video": {"frames": 2}}
    assert sent(folder, task, video={"subtitles": "interleaved"}) == [INTERLEAVED]


def test_a_column_may_hold_the_text(folder: Path) -> None:
    assert sent(folder, write_yaml(folder, SRT)) == [INTERLEAVED]


def test_tasks_with_the_same_videos_are_shown_each_its_own(folder: Path) -> None:
    row = {"film": str(folder / "a.mp4"), "answer": "ok"}
    texts = {name: f"00:00:00,000 --> 00:00:02,000\n{name}\n" for name in ("hello", "hallo")}
    (folder / "rows.jsonl").write_text(json.dumps({**row, **texts}) + "\n")
    for name in texts:
        video = f"{{frames: 1, subtitles: whole, subtitles_from: {name}}}"
        text = YAML.format(video=video, more="").replace("in_yaml", name)
        (folder / f"{name}.yaml").write_text(text)
    with OpenAIStub(lambda received: chat("ok")) as stub:
        model = OpenAIModel("made", base_url=stub.base_url)
        polymeter.evaluate(model, [str(folder / f"{name}.yaml") for name in texts], output=folder / "run")
        bodies = "".join(json.dumps(body) for body in stub.bodies)
    for name in texts:
        assert bodies.count(f"Subtitles of the video:\\n{name}") == 1
        (line,) = read_samples(open_folder(folder / "run"), name)
        (record,) = line["shown_media"].values()
        assert record["rule"]["subtitles_from"] == name


def test_rows_without_subtitles_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = write_yaml(folder, "subs/a.srt", None, "")
    result = measured(folder, task)
    manifest = open_folder(folder / "run").read_manifest()
    assert "2 of 3 samples: no subtitles (samples 1, 2): they are asked without." in str(manifest["notes"])
    videos = result.results["tasks"]["in_yaml"]["shown"]["video"]
    assert (videos["n_subtitled"], videos["n_unsubtitled"]) == (1, 1), "two rows show one and the same"
    assert any("1 of 2 videos has no subtitles and was shown without" in note for note in footnotes(result.results))
    show(folder / "run", sample="0")
    show(folder / "run", sample="1")
    printed = capsys.readouterr().out
    assert "3 subtitles (interleaved)" in printed
    assert "no subtitles" in printed
    page = (folder / "run" / "report.html").read_text()
    assert "1 with subtitles, 1 without subtitles" in page


def test_a_stated_file_that_is_missing_or_broken_fails_its_sample(folder: Path) -> None:
    (folder / "subs" / "broken.srt").write_text("00:00 --> soon\nHello\n")
    task = write_yaml(folder, "subs/a.srt", "subs/b.srt", "subs/broken.srt")
    measured(folder, task)
    lines = [*read_samples(open_folder(folder / "run"), "in_yaml")]
    assert [line["status"] for line in lines] == ["ok", "error", "error"]
    assert "subs/b.srt' does not exist" in lines[1]["error"]["message"]
    assert "The time of a subtitle is" in lines[2]["error"]["message"]
    notes = str(open_folder(folder / "run").read_manifest()["notes"])
    assert "1 of 3 samples: the file of subtitles does not exist (sample 1). They fail." in notes


def test_a_path_without_a_file_may_mean_that_there_are_none(folder: Path) -> None:
    video = STATED.replace("}", ", subtitles_missing: none}")
    result = measured(folder, write_yaml(folder, "subs/a.srt", "subs/b.srt", video=video))
    assert result.results["tasks"]["in_yaml"]["statuses"] == {"ok": 2}
    assert result.results["tasks"]["in_yaml"]["shown"]["video"]["n_unsubtitled"] == 1


@pytest.mark.parametrize(
    ("video", "options", "said"),
    [
        ("{subtitles: whole}", {}, "nothing states where the subtitles are"),
        ("{frames: 2}", {"subtitles": "whole"}, "nothing states where the subtitles are"),
        ("{subtitles: between}", {}, "video.subtitles is 'between'"),
        ("{subtitles_from: 3}", {}, "video.subtitles_from is 3"),
        ('{subtitles_from: "{{name | lower}}.srt", subtitles: whole}', {}, "column 'name | lower'"),
        ('{subtitles_from: "{% if name %}{{name}}{% endif %}"}', {}, "no path with columns in it"),
        ("{subtitles_from: subtitle_pat, subtitles: whole}", {}, "column 'subtitle_pat', which the rows do not have"),
        ('{subtitles_from: "no/{{name}}.srt", subtitles: whole}', {}, "No file of subtitles of task 'in_yaml' exists"),
        ("{subtitles_from: number, subtitles: whole}", {}, "'number' holds a value of type float, and no subtitles"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_first_request(
    video: str, options: dict[str, Any], said: str, folder: Path
) -> None:
    with pytest.raises(PlanError) as caught:
        measured(folder, write_yaml(folder, video=video), video=options)
    assert said in caught.value.what
    assert not (folder / "run" / "journal.db").exists()


def test_a_path_that_no_file_can_have_is_named_in_short(folder: Path) -> None:
    with pytest.raises(PlanError, match="No file of subtitles") as caught:
        measured(folder, write_yaml(folder, "s" * 5000))
    assert len(caught.value.what) < 400


class OnePiece(MockBatch):
    """A model that gets a video in one piece."""

    shows_subtitles = BESIDE_VIDEO
    subtitles_hint = " As images it gets texts between them."


def test_tasks_without_videos_have_none_whatever_the_run_states(folder: Path) -> None:
    (folder / "text.py").write_text(
        "import polymeter\n"
        "@polymeter.task(rows=[{'q': 'one', 'a': 'ok'}], reference='a')\n"
        "def in_text(row): return row['q']\n"
    )
    foreign = MockBatch(lambda request: "ok", ModelTraits(family="w", is_foreign=True))
    assert measured(folder, "in_text", foreign, video={"subtitles": "whole", "subtitles_from": "a"}).n_failed == 0
    mixed = PYTHON.replace("ROWS = [{", 'ROWS = [{"film": None, "answer": "ok"}, {').replace(
        'pathlib.Path(row["film"])', '*([pathlib.Path(row["film"])] if row["film"] else [])'
    )
    (folder / "mixed.py").write_text(mixed)
    assert sent(folder, "in_python") == [INTERLEAVED], "the other request is a text"
    with pytest.raises(PlanError, match="shows no subtitles"):
        measured(folder, "in_python", foreign)


def test_a_model_that_gets_videos_in_one_piece_is_refused_texts_between_frames(folder: Path) -> None:
    with pytest.raises(PlanError, match="gets a video in one piece and no texts between its frames") as caught:
        measured(folder, write_yaml(folder), OnePiece(lambda request: "ok"))
    assert (
        caught.value.hint == "Choose another model, or --video subtitles=whole. As images it gets texts between them."
    )
    assert (
        measured(folder, write_yaml(folder), OnePiece(lambda request: "ok"), video={"subtitles": "whole"}).n_failed == 0
    )


def test_a_model_that_cannot_be_shown_them_is_refused(folder: Path) -> None:
    modalities = {"text": True, "image": True, "audio": False, "video": True}
    wrapped = MockBatch(lambda request: "ok", ModelTraits(family="w", modalities=modalities, is_foreign=True))
    with pytest.raises(PlanError, match=r"shows no subtitles, which task 'in_yaml' sets") as caught:
        measured(folder, write_yaml(folder), wrapped)
    assert "--video subtitles=none" in caught.value.hint
    assert measured(folder, write_yaml(folder), wrapped, video={"subtitles": "none"}).status == "complete"
    plain = folder / "plain.yaml"
    plain.write_text(YAML.format(video="{frames: 2}", more="").replace("in_yaml", "plain"))
    tasks = [write_yaml(folder), str(plain)]
    run = polymeter.evaluate(wrapped, tasks, output=folder / "others", skip_unfit=True)
    assert [*run.results["tasks"]] == ["plain"], "the others are run"
    assert "shows no subtitles" in run.results["skipped"]["in_yaml"]


def test_a_comparison_of_runs_with_other_subtitles_is_refused(folder: Path) -> None:
    task = write_yaml(folder)
    for name, how in (("whole", "whole"), ("none", "none"), ("between", "interleaved")):
        polymeter.evaluate(MockModel(answer="ok"), [task], output=folder / name, video={"subtitles": how})
    (folder / "subs" / "a.srt").write_text(SRT.replace("morning", "evening"))
    polymeter.evaluate(MockModel(answer="ok"), [task], output=folder / "evening", video={"subtitles": "whole"})
    for other, said in (
        ("none", r"subtitles differ \(3 whole against none\)"),
        ("between", r"subtitles differ \(3 whole against 3 interleaved\)"),
        ("evening", r"texts of subtitles differ \(digest "),
    ):
        with pytest.raises(PlanError, match=said):
            polymeter.compare(folder / "whole", folder / other)


def test_they_are_part_of_the_identity(folder: Path) -> None:
    measured(folder, write_yaml(folder))
    with pytest.raises(PlanError, match="video differs"):
        polymeter.evaluate(
            MockModel(answer="ok"), [write_yaml(folder)], output=folder / "run", video={"subtitles": "whole"}
        )
    task = write_yaml(folder, video=STATED.replace("interleaved", "whole"))
    with pytest.raises(PlanError, match="shows of its media changed"):
        polymeter.evaluate(MockModel(answer="ok"), [task], output=folder / "run")

    def asked(subtitles: Any, mode: Any = "whole", source: str = "here") -> tuple[str, str]:
        rule = VideoRule(frames=2, subtitles=mode, subtitles_from=source)
        film = Video(folder / "a.mp4", rule=rule, subtitles=subtitles)
        request = Request((Message("user", (film, Text("?"))),), Generate())
        return request_fingerprint(request), request_fingerprint(request, by_content=True)

    file = folder / "subs" / "a.srt"
    (folder / "b.srt").write_text(SRT)
    by_file, other = asked(file), folder / "b.srt"
    assert by_file == asked(other, source="there"), "the content counts, not its place"
    assert len({by_file, asked(file, "interleaved"), asked(None), asked(SRT.replace("morning", "day"))}) == 4
    silent = Video(folder / "a.mp4", rule=VideoRule(frames=2))
    assert silent.shown_hash() == Video(folder / "a.mp4", rule=VideoRule(frames=2), subtitles=file).shown_hash()


def test_a_run_asks_again_about_a_file_that_has_changed(folder: Path) -> None:
    task = write_yaml(folder)
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "ok"

    for text, n_asked in ((SRT, 1), (SRT, 1), (SRT.replace("morning", "evening"), 2)):
        if text != SRT:
            (folder / "subs" / "a.srt").write_text(text)
        polymeter.evaluate(MockBatch(answer, identity={"m": 1}), [task], output=folder / "run")
        assert len(asked) == n_asked
    assert shown_in(folder, "in_yaml") == ("interleaved", 3)


def test_a_run_is_scored_again_without_the_files(folder: Path) -> None:
    measured(folder, write_yaml(folder))
    (folder / "subs" / "a.srt").unlink()
    assert polymeter.score(folder / "run").results["tasks"]["in_yaml"]["statuses"] == {"ok": 1}


def test_the_subtitles_of_several_videos_stand_in_a_list(folder: Path) -> None:
    rule = VideoRule(subtitles="whole", subtitles_from="subs")
    file = folder / "subs" / "a.srt"
    assert subtitles_of_row(rule, {"subs": ["subs/a.srt", None]}, (folder,), 2) == [file, None]
    assert subtitles_of_row(rule, {}, (folder,), 2) == [None, None]
    with pytest.raises(DataError, match="the subtitles of 1 video, and the request shows 2"):
        subtitles_of_row(rule, {"subs": "subs/a.srt"}, (folder,), 2)
    with pytest.raises(DataError, match="holds a value of type float, and no subtitles"):
        subtitles_of_row(rule, {"subs": 3.5}, (folder,), 1)
    assert read_showing({"video": {"subtitles": "none"}}, "here").video == VideoRule(subtitles="none")
