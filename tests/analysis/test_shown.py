"""Comparisons of runs that showed their models the same samples otherwise."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.analysis.leaderboards.comparability import Terms, differences, task_terms
from polymeter.analysis.leaderboards.reading import BoardRun
from polymeter.core.content import Media
from polymeter.core.errors import PlanError
from polymeter.core.media.showing import NOTHING_STATED, AudioRule, ImageRule, Showing, VideoRule
from polymeter.core.records.shown_media import ShownMedium
from polymeter.models.mock import MockBatch
from tests.helpers.showing import Shows, media_task, showing_model
from tests.helpers.tasks import run_tasks


def run(folder: Path, *args: Any, kinds: str = "via", showing: Showing = NOTHING_STATED, **settings: Any) -> Path:
    task = media_task(kinds=kinds)
    task.showing = showing
    return run_tasks([task], showing_model(*args, **settings), folder).folder.path


def warnings(*runs: Path, allow: str = "") -> str:
    return "\n".join(polymeter.compare(*runs, allow=[allow] if allow else []).others[0].warnings)


@pytest.mark.parametrize("is_by_file", [False, True])
def test_other_numbers_of_frames_are_refused_unless_allowed(tmp_path: Path, is_by_file: bool) -> None:
    runs = run(tmp_path / "a", 8), run(tmp_path / "b", 64)
    if is_by_file:
        (runs[1] / "journal.db").unlink()
    with pytest.raises(PlanError, match=r"frames differ \(8 against 64\), first in 0; 2 of 2 samples") as caught:
        polymeter.compare(*runs)
    assert "--allow shown" in str(caught.value.hint)
    assert "frames differ (8 against 64)" in warnings(*runs, allow="shown")


@pytest.mark.parametrize(
    ("one", "two", "kinds", "expected"),
    [
        ({"seconds": 3.5}, {"seconds": 3.4}, "a", "audio durations differ (3.5 against 3.4 s)"),
        (
            {"digest": "aa" * 16},
            {"digest": "bb" * 16},
            "i",
            "pixels differ (digest aaaaaaaa… against",
        ),
        ({"digest": "aa"}, {"digest": "bb"}, "a", "samples of the sound differ"),
    ],
)
def test_other_pixels_and_sounds_are_refused(
    tmp_path: Path, one: dict[str, Any], two: dict[str, Any], kinds: str, expected: str
) -> None:
    runs = run(tmp_path / "a", kinds=kinds, **one), run(tmp_path / "b", kinds=kinds, **two)
    with pytest.raises(PlanError) as caught:
        polymeter.compare(*runs)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("kinds", "one", "two", "rule", "expected"),
    [
        (
            "a",
            {"rate": 16_000},
            {"rate": 24_000, "seconds": 3.50005},
            Showing(audio=AudioRule(rate=16_000)),
            "audio rates differ (16,000 against 24,000 Hz)",
        ),
        (
            "i",
            {},
            {"width": 320},
            Showing(image=ImageRule(max_pixels=99)),
            "image sizes differ (640×360 against 320×360)",
        ),
        ("v", {}, {"width": 320}, Showing(video=VideoRule(total_pixels=99)), "frame sizes differ"),
    ],
)
def test_sizes_and_rates_of_the_models_own_are_told_and_those_that_are_stated_refused(
    tmp_path: Path, kinds: str, one: dict[str, Any], two: dict[str, Any], rule: Showing, expected: str
) -> None:
    both = Showing(VideoRule(frames=8), ImageRule(format="png"), AudioRule(long="error"))  # no size and no rate
    first = run(tmp_path / "a", kinds=kinds, showing=both, **one)
    found = warnings(first, run(tmp_path / "b", kinds=kinds, showing=both, **two))
    assert expected in found
    assert "durations" not in found
    stated = run(tmp_path / "c", kinds=kinds, showing=rule, **two)
    assert expected in warnings(first, stated, allow="shown")
    with pytest.raises(PlanError, match=expected.partition(" (")[0]):
        polymeter.compare(first, stated)


def test_the_same_is_not_told(tmp_path: Path) -> None:
    assert "differ" not in warnings(run(tmp_path / "a"), run(tmp_path / "b"))


def test_an_older_run_has_no_records_and_is_not_refused(tmp_path: Path) -> None:
    new = run(tmp_path / "a")
    old = tmp_path / "b"
    shutil.copytree(new, old)
    with closing(sqlite3.connect(old / "journal.db")) as db, db:
        db.execute("DROP TABLE shown")
        db.execute("UPDATE responses SET body=substr(body, 1, instr(body, ',\"shown_media\":') - 1) || '}'")
    assert "unknown for 2 samples if both runs were shown the same: b has no record of it." in warnings(new, old)


class Elsewhere(Shows):
    """Records of a video what an endpoint or a wrapper leaves: its settings, and the digest of a whole file."""

    def __init__(self, by: str, rule: dict[str, Any], digest: str = "") -> None:
        super().__init__(digest=digest)
        self.by, self.rule = by, rule

    def record(self, medium: Media) -> ShownMedium:
        sent = {"format": "mp4", "bytes": 9} if self.digest else {}
        return ShownMedium("video", "clips/a.mp4", self.rule, sent=sent, digest=self.digest, by=self.by)


def elsewhere(folder: Path, *args: Any) -> Path:
    model = MockBatch(Elsewhere(*args), identity={"m": 1})
    return run_tasks([media_task(kinds="v")], model, folder).folder.path


def test_settings_that_others_follow_are_compared(tmp_path: Path) -> None:
    runs = [elsewhere(tmp_path / str(fps), "the endpoint", {"fps": fps}, "aa") for fps in (1, 8)]
    with pytest.raises(PlanError, match=r"settings differ \(fps 1 against fps 8\), first in 0; 2 of 2 samples"):
        polymeter.compare(*runs)
    unstated = elsewhere(tmp_path / "own", "the endpoint", {}, "aa")
    assert "stated settings differ (fps against none)" in warnings(runs[0], unstated)
    wrapped = elsewhere(tmp_path / "wrapped", "the wrapper", {"frames": 64})
    with pytest.raises(PlanError, match=r"settings differ \(frames 8 against frames 64\)"):
        polymeter.compare(run(tmp_path / "eight", 8, kinds="v"), wrapped)


def test_a_record_of_nothing_but_who_showed_it_is_unknown(tmp_path: Path) -> None:
    runs = run(tmp_path / "a", kinds="v"), elsewhere(tmp_path / "b", "the wrapper", {})
    assert "unknown for 2 samples if both runs were shown the same: b has no record of it." in warnings(*runs)
    assert "a has no record" not in warnings(*runs)


def test_a_leaderboard_does_not_rank_other_rules_together(tmp_path: Path) -> None:
    def terms(frames: int) -> Terms:
        manifest = {"identity": {"options": {"video": {"frames": frames}}}, "status": "complete", "tasks": []}
        return task_terms(BoardRun(tmp_path, manifest, {}), "t")

    assert [*differences(terms(8), terms(8), ())] == []
    ((sentence, is_refused),) = differences(terms(8), terms(64), ())
    assert is_refused
    assert sentence.startswith("shown otherwise: video")
    assert [is_refused for _, is_refused in differences(terms(8), terms(64), ("shown",))] == [False]
