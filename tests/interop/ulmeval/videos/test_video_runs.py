"""Runs of VLMEvalKit's classes over videos: what a model is shown, and what a broken video or a kill costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.drawn_videos import encode, number_of
from tests.helpers.toy_datasets import samples_of, write_table
from tests.helpers.video_datasets import CLASS, make_clips, run_clips

SEES_IMAGES = ModelTraits("eyes", requests={"generate": True}, modalities={"text": True, "image": True, "video": False})


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


class Seen:
    """Answers A, and keeps what it was shown."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> str:
        self.requests.append(request)
        return "A"

    def numbers(self) -> dict[str, list[int]]:
        """Question → the numbers on the frames that it was shown with."""
        return {
            request.text: [number_of(np.asarray(image.shown())) for image in request.images()]
            for request in self.requests
        }


def seeing(traits: ModelTraits | None = SEES_IMAGES) -> tuple[Seen, MockBatch]:
    seen = Seen()
    return seen, MockBatch(seen, traits=traits, identity={"backend": "seen"})


@pytest.mark.parametrize(
    ("arguments", "pond", "roof"),
    [
        ({"nframe": 4}, [8, 16, 24, 32], [6, 12, 18, 24]),
        ({"fps": 2.5}, [0, 10, 20, 30], [0, 4, 8, 12, 16, 20, 24]),
    ],
)
def test_a_model_without_videos_gets_the_frames_of_the_original(
    arguments: dict[str, Any], pond: list[int], roof: list[int], tmp_path: Path
) -> None:
    seen, model = seeing()
    run = run_clips(make_clips(tmp_path), tmp_path / "run", model=model, arguments=arguments)
    assert seen.numbers() == {"What swims?": pond, "How many ducks?": pond, "What falls?": roof}
    assert run.value("Clips", "acc") == pytest.approx(200 / 3)
    assert run.value("Clips", "n") == 3


def test_a_model_that_takes_videos_gets_them_whole_with_the_stated_number_of_frames(tmp_path: Path) -> None:
    seen, model = seeing(None)
    run_clips(make_clips(tmp_path), tmp_path / "run", model=model, arguments={"nframe": 4})
    (video,) = (
        {part for request in seen.requests for message in request.messages for part in message.parts[:1]}.pop(),
    )
    assert (video.modality, video.rule.frames, video.rule.rule) == ("video", 4, None)
    seen, model = seeing(None)
    run_clips(make_clips(tmp_path), tmp_path / "b", model=model, arguments={"nframe": 4}, whole_videos=False)
    assert {len(numbers) for numbers in seen.numbers().values()} == {4}


def test_another_video_of_the_same_name_never_shows_the_frames_of_the_first(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    run_clips(file, tmp_path / "a", model=seeing()[1], arguments={"nframe": 4})
    make_clips(tmp_path, n_frames=60)
    seen, model = seeing()
    run_clips(file, tmp_path / "b", model=model, arguments={"nframe": 4})
    assert seen.numbers()["What swims?"] == [12, 24, 36, 48]


NEARBY = CLASS.replace(
    'self.save_video_frames(line["video"])', 'self.save_nearby(line["folder"], line["video"])'
).replace('osp.join(root, "video")', "root")
SAVE_NEARBY = """
    def save_nearby(self, folder, video):
        import decord
        from PIL import Image
        reader = decord.VideoReader(osp.join(self.data_root, folder, video + ".mp4"))
        paths = self.frame_paths(video)
        for number, path in enumerate(paths, 1):
            if not osp.exists(path):
                Image.fromarray(reader[int(number * len(reader) / (self.nframe + 1))].asnumpy()).save(path)
        return paths
"""


def test_videos_of_one_name_in_two_folders_have_frames_of_their_own(tmp_path: Path) -> None:
    file = make_clips(tmp_path, SAVE_NEARBY, code=NEARBY)
    (tmp_path / "repo/other").mkdir()
    encode(tmp_path / "repo/other/pond.mp4", 60, 25, (64, 48))
    rows = {
        "index": [0, 1],
        "video": ["pond"] * 2,
        "folder": ["video", "other"],
        "question": ["a", "b"],
        "answer": "AA",
    }
    write_table(tmp_path / "repo/clips.tsv", rows)
    seen, model = seeing()
    run_clips(file, tmp_path / "run", model=model, arguments={"nframe": 4})
    assert seen.numbers() == {"a": [8, 16, 24, 32], "b": [12, 24, 36, 48]}


NAMED_BY_QUESTION = CLASS.replace('self.save_video_frames(line["video"])', "self.save_clue(line)")
SAVE_CLUE = """
    def save_clue(self, line):
        import os
        import decord
        from PIL import Image
        path = osp.join(self.frame_root, str(line["index"]), "clue.jpg")
        os.makedirs(osp.dirname(path), exist_ok=True)
        if not osp.exists(path):
            reader = decord.VideoReader(osp.join(self.data_root, line["video"] + ".mp4"))
            Image.fromarray(reader[len(reader) // 2].asnumpy()).save(path)
        return [path]
"""


def test_files_that_a_class_names_itself_are_kept_by_content_too(tmp_path: Path) -> None:
    file = make_clips(tmp_path, SAVE_CLUE, code=NAMED_BY_QUESTION)
    seen, model = seeing()
    run_clips(file, tmp_path / "a", model=model, arguments={"nframe": 1})
    assert seen.numbers()["What swims?"] == [20]
    make_clips(tmp_path, SAVE_CLUE, code=NAMED_BY_QUESTION, n_frames=60)
    seen, model = seeing()
    run_clips(file, tmp_path / "b", model=model, arguments={"nframe": 1})
    assert seen.numbers()["What swims?"] == [30]


def test_a_frame_that_a_killed_process_left_unfinished_is_written_anew(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    run_clips(file, tmp_path / "a", model=seeing()[1], arguments={"nframe": 4})
    frame = next((tmp_path / "LMUData/images/Clips").rglob("pond/*/frame-2-of-4.jpg"))
    frame.write_bytes(frame.read_bytes()[:200])
    seen, model = seeing()
    run_clips(file, tmp_path / "b", model=model, arguments={"nframe": 4})
    assert seen.numbers()["What swims?"] == [8, 16, 24, 32]
    assert pil.open(frame).size == (64, 48)


def test_a_missing_or_broken_video_is_a_failed_sample_and_the_others_are_scored(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    (tmp_path / "repo/video/roof.mp4").write_bytes(b"no video")
    run = run_clips(file, tmp_path / "run", model=seeing()[1], arguments={"nframe": 4})
    (failed,) = [sample for sample in samples_of(run, "Clips") if sample["error"]]
    assert failed["id"] == "2"
    assert "roof.mp4" in str(failed["error"])
    assert run.value("Clips", "n") == 2
    (tmp_path / "repo/video/roof.mp4").unlink()
    run = run_clips(file, tmp_path / "two", model=seeing()[1], arguments={"nframe": 4})
    (failed,) = [sample for sample in samples_of(run, "Clips") if sample["error"]]
    assert "does not exist" in str(failed["error"])


def test_a_run_that_stops_asks_nothing_twice(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    good = (tmp_path / "repo/video/roof.mp4").read_bytes()
    (tmp_path / "repo/video/roof.mp4").unlink()
    first, model = seeing()
    run_clips(file, tmp_path / "run", model=model, arguments={"nframe": 4})
    (tmp_path / "repo/video/roof.mp4").write_bytes(good)
    second, model = seeing()
    run = run_clips(file, tmp_path / "run", model=model, arguments={"nframe": 4})
    assert (len(first.requests), list(second.numbers())) == (2, ["What falls?"])
    assert run.value("Clips", "n") == 3


def test_data_that_is_not_here_is_named_with_its_repository(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    with pytest.raises(DataError, match=r"'Clips' is not on this machine, and made/Clips cannot be fetched") as caught:
        run_clips(file, tmp_path / "run", arguments={"nframe": 4}, data={})
    assert "--data made/Clips=FOLDER" in str(caught.value.hint)


def test_a_benchmark_without_a_number_of_frames_needs_a_model_of_videos(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no number of frames"):
        run_clips(make_clips(tmp_path), tmp_path / "run", model=seeing()[1])
    assert run_clips(make_clips(tmp_path), tmp_path / "whole").exit_code == 0


PACKED = """
    def load_pack_answers(self, answers):
        import json
        table = self.data.copy()
        found = {video: json.loads(text) for video, text in answers.items()}
        said = zip(table["video"], table["index"])
        table["prediction"] = [found.get(video, {}).get(str(index)) for video, index in said]
        return table, {}
"""
PACKING = CLASS.replace(
    "        if isinstance(line, int):\n",
    "        if self.pack:\n            return self.all_about(line)\n        if isinstance(line, int):\n",
)
ALL_ABOUT = """
    def all_about(self, video):
        shown = [dict(type="image", value=path) for path in self.save_video_frames(video)]
        asked = self.data[self.data["video"] == video]
        return [*shown, dict(type="text", value="; ".join(asked["question"]))]
"""


def test_packed_questions_are_asked_once_for_each_video_and_scored_each(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(request.text)
        return '{"0": "A", "1": "B"}' if "ducks" in request.text else '{"2": "C"}'

    file = make_clips(tmp_path, PACKED + ALL_ABOUT, code=PACKING.replace('"Clips"]', '"Clips"]\n'))
    run = run_clips(file, tmp_path / "run", model=MockBatch(answer), arguments={"nframe": 2, "pack": True})
    assert sorted(asked) == ["What falls?", "What swims?; How many ducks?"]
    assert run.value("Clips", "acc") == pytest.approx(200 / 3)
    assert run.value("Clips", "n") == 3


def test_a_class_that_reads_no_packed_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="packed questions"):
        run_clips(make_clips(tmp_path), tmp_path / "run", arguments={"nframe": 2, "pack": True})


CONCAT = """

from .video_concat_dataset import ConcatVideoDataset


class Falls(Clips):
    TYPE = "Video-VQA"

    @classmethod
    def supported_datasets(cls):
        return ["Falls"]

    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        return {"falls": [1, len(load(eval_file))]}


class Swims(Falls):
    @classmethod
    def supported_datasets(cls):
        return ["Swims"]

    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        return {"swims": [int(load(eval_file)["index"].sum()), 3]}


class All(ConcatVideoDataset):
    def __init__(self, dataset="All", nframe=0, fps=-1):
        self.DATASET_SETS[dataset] = ["Falls", "Swims"]
        super().__init__(dataset=dataset, nframe=nframe, fps=fps)

    @classmethod
    def supported_datasets(cls):
        return ["All"]
"""


def test_a_concatenation_asks_and_scores_each_part_by_its_own_class(tmp_path: Path) -> None:
    seen, model = seeing()
    file = make_clips(tmp_path, CONCAT)
    run = run_clips(file, tmp_path / "run", model=model, tasks="All", arguments={"nframe": 4})
    assert len(seen.requests) == 6
    assert run.value("All", "falls/acc") == 33.3
    assert run.value("All", "swims/acc") == 100.0
    assert (tmp_path / "run/artifacts/All").is_dir()


def test_frames_have_the_pixels_of_the_video(tmp_path: Path) -> None:
    file = make_clips(tmp_path)
    run_clips(file, tmp_path / "run", model=seeing()[1], arguments={"nframe": 4})
    encode(tmp_path / "again.mp4", 40, 25, (64, 48), options={"g": "8", "bf": "2"})
    from polymeter.data.video import picked_frames

    expected = picked_frames(tmp_path / "again.mp4", lambda times, end: [8, 16, 24, 32])
    for number, image in enumerate(expected, 1):
        image.save(tmp_path / "frame.jpg")
        written = next((tmp_path / "LMUData/images/Clips").rglob(f"pond/*/frame-{number}-of-4.jpg"))
        assert (np.asarray(pil.open(written)) == np.asarray(pil.open(tmp_path / "frame.jpg"))).all()
