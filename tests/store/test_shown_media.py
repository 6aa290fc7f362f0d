"""Records of what was shown in journals: of this version, of older ones, damaged ones and copied ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polymeter.core.acting.tools import read_call
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import ChoiceLogprob, Output, Response
from polymeter.core.text.codec import parse_json
from polymeter.store.exports.copying import take_answers
from polymeter.store.exports.export import sample_lines
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, Session
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.reading.shown_summary import shown_summary
from polymeter.store.repairing import find_damage, repair
from polymeter.store.schema import upgrade
from polymeter.store.shown_media import SHOWN_MEDIA, digests_in, write_shown
from polymeter.store.wire import read_response, write_response
from tests.store.rows import answer_row, sample_row

PART = Session(7, "code", {})


def video(frames: int, wanted: int | None = None) -> tuple[str, str]:
    return write_shown(ShownMedium("video", f"{frames}.mp4", sent={"frames": frames}, n_wanted=wanted))


def body(*shown: str | None, text: str = "x", logprob: float = 0.0) -> str:
    output = Output(text=text, logprobs=(ChoiceLogprob(logprob, False, 1),))
    return write_response(Response((output,)), str, shown=shown)


def answer(sample: int, written: str, **where: Any) -> tuple[Any, ...]:
    return (*answer_row(1, sample, **where)[:-1], written)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.path.mkdir()
    eight, four = video(8), video(4, wanted=8)
    writer = JournalWriter(made.journal, ["task"], PART)
    writer.put("shown", [eight, four, eight])
    writer.put(
        "responses",
        [
            answer(0, body(eight[0], None, logprob=float("nan"))),
            answer(1, body(four[0], eight[0])),
            answer(2, body(text=f'"{SHOWN_MEDIA}":["{eight[0]}"]')),
        ],
    )
    writer.put("samples", [sample_row(1, sample) for sample in range(3)])
    writer.close()
    writer.check()
    return made


def summary(folder: RunFolder) -> Any:
    with closing(Journal(folder.journal)) as journal:
        return shown_summary(journal, "task")


def test_a_record_is_written_short_and_strict() -> None:
    shown = ShownMedium(
        "video",
        sent={"width": np.int64(4), "fps": float("nan")},
        numbers=(np.int64(0), 3),  # type: ignore[arg-type]
        times=(0.0, 0.1 + 0.2),
        by="the wrapper",
    )
    digest, written = write_shown(shown)
    assert parse_json(written) == {
        "modality": "video",
        "sent": {"width": 4, "fps": None},
        "numbers": [0, 3],
        "times": [0.0, 0.3],
        "by": "the wrapper",
    }
    assert (digest, written) == write_shown(shown)


def test_digests_are_found_only_where_an_answer_names_them() -> None:
    assert digests_in(body("ab", None)) == ["ab", None]
    assert digests_in(body(text=f'"{SHOWN_MEDIA}":["ab"]')) == []
    assert read_response(body("ab"), str).text == "x"
    assert body() == write_response(Response((Output(text="x", logprobs=(ChoiceLogprob(0.0, False, 1),)),)), str)


def calling(*shown: str | None, arguments: Any) -> str:
    call = read_call("c", "draw", {SHOWN_MEDIA: arguments})
    return write_response(Response((Output(text="", calls=(call,)),)), str, shown=shown)


@pytest.mark.parametrize("arguments", [["ab"], ["no digest"], {"a": 1}, "x", [None]])
def test_a_tool_call_with_a_key_of_the_same_name_names_no_record(folder: RunFolder, arguments: Any) -> None:
    assert digests_in(calling(arguments=arguments)) == []
    assert digests_in(calling("ab", None, arguments=arguments)) == ["ab", None]
    before = summary(folder)
    writer = JournalWriter(folder.journal, ["task"], PART)
    sixteen = video(16)
    writer.put("shown", [sixteen])
    writer.put("responses", [answer(3, calling(arguments=arguments))])
    writer.close()
    assert summary(folder) == before
    writer = JournalWriter(folder.journal, ["task"], PART)
    writer.put("responses", [answer(4, calling(sixteen[0], arguments=arguments))])
    writer.close()
    assert summary(folder)["video"]["frames"] == {"min": 4, "max": 16}


def test_distinct_media_are_summed_beside_numbers_that_json_does_not_have(folder: RunFolder) -> None:
    assert summary(folder) == {"video": {"n": 2, "n_fewer": 1, "frames": {"min": 4, "max": 8}}}


def test_a_line_of_samples_has_each_record_once(folder: RunFolder) -> None:
    with closing(Journal(folder.journal)) as journal:
        lines = [parse_json(line) for line in sample_lines(journal, "task", is_strict=True)]
    assert [len(line.get(SHOWN_MEDIA, ())) for line in lines] == [1, 2, 0]
    assert [*lines[1][SHOWN_MEDIA]] == lines[1]["exchanges"][0]["response"][SHOWN_MEDIA]


@pytest.mark.parametrize("version", [2, 3])
def test_an_older_journal_is_read_and_gone_on_with(folder: RunFolder, version: int) -> None:
    with closing(sqlite3.connect(folder.journal)) as db, db:
        db.execute("DROP TABLE shown")
        if version == 2:
            db.execute("DROP TABLE failed_tries")
            for table in ("requests", "responses", "scores", "samples"):
                for column in ("checksum", *(("part",) if table != "requests" else ())):
                    db.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
            db.execute("DROP TABLE parts")
            db.execute("PRAGMA user_version=2")
    assert not find_damage(folder.journal)
    assert summary(folder) is None
    with closing(Journal(folder.journal)) as journal:
        assert not any(SHOWN_MEDIA in parse_json(line) for line in sample_lines(journal, "task"))
    upgrade(folder.journal)
    writer = JournalWriter(folder.journal, ["task"], PART)
    writer.put("shown", [video(8)])
    writer.close()
    assert summary(folder) == {"video": {"n": 1, "frames": {"min": 8, "max": 8}}}


def test_a_damaged_record_is_found_and_the_others_are_kept(folder: RunFolder) -> None:
    with closing(sqlite3.connect(folder.journal)) as db, db:
        db.execute("UPDATE shown SET body=replace(body, '4.mp4', '5.mp4')")
    assert find_damage(folder.journal).describe() == "1 record of a shown medium not matching its checksum"
    repair(folder.journal)
    assert not find_damage(folder.journal)
    assert summary(folder) == {"video": {"n": 1, "frames": {"min": 8, "max": 8}}}


def test_taken_answers_bring_their_records(folder: RunFolder) -> None:
    target = RunFolder(folder.path.with_name("target"))
    target.path.mkdir()
    for _ in range(2):
        take_answers(folder, target)
    assert summary(target) == summary(folder)
    assert not find_damage(target.journal)
