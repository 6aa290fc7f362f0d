"""What a model was shown, in the journal of a run, its files and its results."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.cli.show import show
from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.core.role_client import RoleClient
from polymeter.core.task import Rollout, Sample, Score
from polymeter.models.mock import MockBatch
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.repairing import find_damage
from polymeter.store.shown_media import SHOWN_MEDIA, digests_in
from tests.helpers.showing import Shows, media_task, showing_model
from tests.helpers.tasks import ListTask, ask, docs, run_tasks


def lines_of(folder: RunFolder, task: str = "media") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder.samples / f"{task}.jsonl").read_text().splitlines()]


def test_each_distinct_medium_is_recorded_once(tmp_path: Path) -> None:
    folder = run_tasks([media_task(3)], showing_model(8, wanted=64), tmp_path / "run").folder
    with closing(Journal(folder.journal)) as journal:
        named = [digests_in(body) for _, _, body in journal.model_answers("media")]
        assert len(named) == 3
        assert named[0] == named[1] == named[2]
        records = [json.loads(body) for body in journal.shown(named[0]).values()]
        assert [record["modality"] for record in records] == ["video", "image", "audio"]
        assert len([*journal.shown_in("media")]) == 3
    assert records[0]["numbers"] == [0, 30, 60, 90, 120, 150, 180, 210]
    assert records[0]["times"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert records[0]["n_wanted"] == 64
    assert "by" not in records[0]
    assert "numbers" not in records[1]

    for line in lines_of(folder):
        (exchange,) = line["exchanges"]
        assert [*line[SHOWN_MEDIA]] == exchange["response"][SHOWN_MEDIA] == named[0]
        assert [*line[SHOWN_MEDIA].values()] == records
    assert folder.read_results()["tasks"]["media"]["shown"] == {
        "video": {
            "n": 1,
            "n_fewer": 1,
            "n_scaled": 1,
            "frames": {"min": 8, "max": 8},
            "width": {"min": 640, "max": 640},
            "height": {"min": 360, "max": 360},
        },
        "image": {
            "n": 1,
            "n_scaled": 1,
            "width": {"min": 640, "max": 640},
            "height": {"min": 360, "max": 360},
        },
        "audio": {
            "n": 1,
            "rate": {"min": 16_000, "max": 16_000},
            "channels": {"min": 1, "max": 1},
            "seconds": {"min": 3.5, "max": 3.5},
        },
    }


def test_what_records_nothing_stays_as_it_was(tmp_path: Path) -> None:
    tasks = [ListTask(docs(2)), media_task()]
    folder = run_tasks(tasks, MockBatch(lambda request: "a0", identity={"m": 1}), tmp_path / "run").folder
    assert SHOWN_MEDIA not in (folder.samples / "list.jsonl").read_text() + (folder.samples / "media.jsonl").read_text()
    assert not any("shown" in task for task in folder.read_results()["tasks"].values())


def test_a_medium_without_a_record_keeps_its_place(tmp_path: Path) -> None:
    class Half(Shows):
        def __call__(self, request: Request) -> str:
            _, image, _ = request.media()
            image.record_sent(self.record(image))
            return "a0"

    folder = run_tasks([media_task(1)], MockBatch(Half(), identity={"m": 1}), tmp_path / "run").folder
    (line,) = lines_of(folder)
    first, second, third = line["exchanges"][0]["response"][SHOWN_MEDIA]
    assert (first, third) == (None, None)
    assert [*line[SHOWN_MEDIA]] == [second]


def test_records_survive_an_interruption_and_are_not_made_again(tmp_path: Path) -> None:
    class Breaks(Shows):
        is_broken = True

        def __call__(self, request: Request) -> str:
            if self.is_broken and "q1" in request.text:
                raise ModelError("not now", kind="permanent")
            return super().__call__(request)

    shows = Breaks(8)
    model = MockBatch(shows, identity={"m": 1})
    run_tasks([media_task()], model, tmp_path / "run")
    shows.is_broken, shows.frames, shows.n_calls = False, 4, 0
    folder = run_tasks([media_task()], model, tmp_path / "run").folder
    assert shows.n_calls == 1
    frames = [next(iter(line[SHOWN_MEDIA].values()))["sent"]["frames"] for line in lines_of(folder)]
    assert frames == [8, 4]
    assert folder.read_results()["tasks"]["media"]["shown"]["video"]["frames"] == {"min": 4, "max": 8}


def test_show_prints_what_was_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_tasks([media_task()], showing_model(8, wanted=64), tmp_path / "run").folder
    show(folder.path)
    out = capsys.readouterr().out
    assert "shown    media: 1 image, 640 × 360 px, 1 scaled; 1 video, frames: 8 (1 video had fewer)" in out
    assert "media: 1 of 1 video was shown with fewer frames than asked for." in out
    show(folder.path, sample="0")
    assert (
        "video clips/a.mp4: 8 of 240 frames (rule cut, 64 were asked for, the header says 250)"
        in capsys.readouterr().out
    )


def test_what_a_judge_was_shown_is_in_the_sample_and_not_in_the_summary(tmp_path: Path) -> None:
    image = pil.new("RGB", (32, 18), "teal")

    def score(sample: Sample, played: Rollout, ask_role: RoleClient) -> Score:
        ask_role("judge", ask("rate", image=image))
        return Score({("acc", "none"): 1.0})

    tasks = [ListTask(docs(1), score=score, roles=("judge",))]
    model = MockBatch(lambda request: "a0", identity={"m": 1})
    judge = MockBatch(Shows(), identity={"j": 1})
    folder = run_tasks(tasks, model, tmp_path / "run", roles={"judge": judge}).folder
    (line,) = lines_of(folder, "list")
    by_role = {exchange["role"]: exchange["response"].get(SHOWN_MEDIA) for exchange in line["exchanges"]}
    assert by_role == {"model": None, "judge": [*line[SHOWN_MEDIA]]}
    assert "shown" not in folder.read_results()["tasks"]["list"]


def test_a_killed_run_has_the_records_of_all_its_answers(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from polymeter.models.mock import MockBatch
from tests.helpers.showing import Shows, media_task
from tests.helpers.tasks import run_tasks

class Dies(Shows):
    def __call__(self, request):
        if "q30" in request.text:
            os._exit(9)
        return super().__call__(request)

run_tasks([media_task(40)], MockBatch(Dies(8), identity={{"m": 1}}, batch_size=1), Path({str(tmp_path)!r}) / "run")
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 9
    folder = RunFolder(tmp_path / "run")

    def n_answers() -> int:
        with closing(Journal(folder.journal)) as journal:
            named = [digests_in(body) for _, _, body in journal.model_answers("media")]
            assert all(len(journal.shown(filter(None, digests))) == 3 for digests in named)
            return len(named)

    n_before = n_answers()
    shows = Shows(8)
    run_tasks([media_task(40)], MockBatch(shows, identity={"m": 1}), folder.path)
    assert (n_answers(), shows.n_calls) == (40, 40 - n_before)
    assert not find_damage(folder.journal)
