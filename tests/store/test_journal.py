"""The journal: what was put is what is read, in the order that makes a killed run safe."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.core.request import Error
from polymeter.core.task import SampleStatus, Score
from polymeter.store import database
from polymeter.store import journal_writer as journals
from polymeter.store.database import JournalError
from polymeter.store.journal import STALE, AnswerKey, Journal
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.wire import read_score
from tests.store.journal_child import N_FLUSHED
from tests.store.rows import answer_row, sample_row, score_row

ROOT = Path(__file__).parents[2]
TASKS = ["first", "second"]
Model = dict[str, dict[tuple[Any, ...], tuple[Any, ...]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def writer(path: Path) -> Iterator[JournalWriter]:
    made = JournalWriter(path, TASKS)
    yield made
    made.close()


@pytest.fixture
def reader(writer: JournalWriter, path: Path) -> Iterator[Journal]:
    made = Journal(path)
    yield made
    made.close()


# --- against a model made of dictionaries -----------------------------------------------------------------------------

numbers = st.integers(1, 2)
places = st.integers(0, 4)
answers = st.tuples(
    st.just("responses"),
    numbers,
    places,
    st.sampled_from(["model", "judge"]),
    st.sampled_from("fg"),
    st.integers(0, 1),
    st.text(max_size=4),
)
ends = st.tuples(
    st.just("samples"),
    numbers,
    places,
    st.sampled_from(list(SampleStatus)),
    st.sampled_from(["old", "new", None]),
    st.lists(st.text(max_size=3), max_size=2).map(tuple),
    st.none() | st.text(max_size=3),
)
scores = st.tuples(st.just("scores"), numbers, places, st.floats() | st.just({1}), st.sampled_from("de"))
moves = st.tuples(
    st.just("turns"), numbers, places, st.sampled_from(["model", "judge"]), st.sampled_from("fg"), st.booleans()
)
puts = st.lists(st.lists(st.one_of(answers, ends, scores, moves), min_size=1, max_size=3), max_size=12)


def row_of(put: tuple[Any, ...], turn: int) -> tuple[Any, ...]:
    table, number, place, *rest = put
    if table == "responses":
        role, mark, occurrence, text = rest
        return answer_row(number, place, text, role=role, fingerprint=mark, occurrence=occurrence, turn=turn)
    if table == "samples":
        status, seal, subset, cluster = rest
        return sample_row(number, place, status, seal=seal, subset=subset, cluster=cluster, doc={"turn": turn})
    if table == "turns":
        role, mark, is_stale = rest
        return (STALE if is_stale else turn, number, place, role, f"{role}-print", mark, 0)
    value, digest = rest
    return score_row(number, place, Score({("m", "none"): value}), digest)


@settings(deadline=None, max_examples=50)
@given(puts, st.sets(st.integers(0, 11)))
def test_what_is_read_agrees_with_a_model(groups: list[list[tuple[Any, ...]]], flushes: set[int]) -> None:
    model: Model = {"responses": {}, "samples": {}, "scores": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.db"
        writer = JournalWriter(path, TASKS)
        turn = 0
        for number, group in enumerate(groups):
            for put in group:
                turn += 1
                row = row_of(put, turn)
                writer.put(put[0], [row])
                apply(model, put[0], row)
            if number in flushes:
                writer.flush()
        writer.close()
        with closing(Journal(path)) as journal:
            for number, task in enumerate(TASKS, start=1):
                check(journal, task, number, model)


def apply(model: Model, table: str, row: tuple[Any, ...]) -> None:
    if table == "turns":
        answer = model["responses"].get(row[1:])
        if answer is not None:
            model["responses"][row[1:]] = (*answer[:6], row[0], answer[7])
    else:
        model[table][row[:6] if table == "responses" else row[:2]] = row


def check(journal: Journal, task: str, number: int, model: Model) -> None:
    asked = sorted(row for row in model["responses"].values() if row[0] == number)
    ended = sorted((row for row in model["samples"].values() if row[0] == number), key=lambda row: row[1])
    scored = {row[1]: row for row in model["scores"].values() if row[0] == number}
    for place in range(5):
        here = [row for row in asked if row[1] == place]
        assert journal.answers(task, place) == {AnswerKey(*row[2:6]): row[7] for row in here}
        for role in ("model", "judge"):
            in_order = sorted((row for row in here if row[2] == role and row[6] != STALE), key=lambda row: row[6])
            assert journal.turns(task, place, role) == [row[7] for row in in_order]
    assert journal.statuses(task) == dict(Counter(row[5] for row in ended))
    assert list(journal.marks(task, "answered", 5)) == [int(any(row[1] == n for row in asked)) for n in range(5)]
    for seal in ("old", "new"):
        sealed = {row[1] for row in ended if row[9] == seal}
        assert list(journal.marks(task, "completed", 5, seal)) == [int(n in sealed) for n in range(5)]
    rows = list(journal.rows(task))
    assert [row.index for row in rows] == [row[1] for row in ended]
    for found, put in zip(rows, ended, strict=True):
        assert (found.id, found.cluster, found.status.value, found.doc) == (put[2], put[4], put[5], put[7])
        assert found.subset == tuple(json.loads(put[3]) if put[3] else ())
        score = scored.get(found.index)
        if score is None:
            assert (found.score, found.score_digest, found.score_is_exact) == (None, None, False)
        else:
            assert (found.score_digest, found.score_is_exact, found.score) == (score[2], bool(score[3]), score[4])
    exchanged = [(sample, role, body) for sample, role, _, _, body in journal.exchanges(task)]
    in_order = sorted((row for row in asked if row[6] != STALE), key=lambda row: (row[1], row[2], row[6]))
    assert exchanged == [(row[1], row[2], row[7]) for row in in_order]


# --- one row at a time ------------------------------------------------------------------------------------------------


def test_tasks_keep_their_numbers_when_a_run_goes_on_with_more(path: Path) -> None:
    JournalWriter(path, ["b", "a"]).close()
    writer = JournalWriter(path, ["c", "a"])
    assert writer.task_ids == {"b": 1, "a": 2, "c": 3}
    writer.close()


def test_a_journal_of_another_schema_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE tasks (name TEXT)")
    with pytest.raises(
        PlanError, match="journal has schema version 0; this version of Polymeter writes schema version"
    ) as caught:
        JournalWriter(path, TASKS)
    assert caught.value.where == str(path)


def test_what_a_reduction_asked_belongs_to_no_sample(writer: JournalWriter, reader: Journal) -> None:
    writer.put("responses", [answer_row(1, -1, "verdict", role="judge"), answer_row(1, 0)])
    writer.flush()
    assert len(reader.answers("first", -1)) == 1
    assert [sample for sample, *_ in reader.exchanges("first")] == [0]


def test_eight_repeats_are_eight_rows(writer: JournalWriter, reader: Journal) -> None:
    writer.put("responses", [answer_row(1, 0, f"a{n}", occurrence=n, turn=n) for n in range(8)])
    writer.flush()
    assert len(reader.answers("first", 0)) == 8
    assert ["a" + str(n) in body for n, body in enumerate(reader.turns("first", 0))] == [True] * 8


def test_an_unknown_task_has_nothing(reader: Journal) -> None:
    assert list(reader.rows("third")) == []
    assert reader.answers("third", 0) == {}
    assert reader.returned("third", 0) is None
    assert reader.statuses("third") == {}
    assert not any(reader.marks("third", "completed", 3, "seal"))


def test_marks_beyond_the_length_of_the_task_do_not_count(writer: JournalWriter, reader: Journal) -> None:
    writer.put("samples", [sample_row(1, 2), sample_row(1, 7)])
    writer.flush()
    assert reader.marks("first", "completed", 4, "seal") == bytearray([0, 0, 1, 0])


def test_an_error_is_read_as_it_was_written(writer: JournalWriter, reader: Journal) -> None:
    error = Error("data", 'row "3" is\nbroken')
    writer.put("samples", [sample_row(1, 0, SampleStatus.ERROR, error=error, returned='["x"]')])
    writer.flush()
    (row,) = reader.rows("first")
    assert row.error == {"kind": "data", "message": 'row "3" is\nbroken'}
    assert reader.returned("first", 0) == '["x"]'


def test_the_models_own_answers_that_reached_their_limit_are_counted(writer: JournalWriter, reader: Journal) -> None:
    said = '"finish_reason":"length"'
    writer.put(
        "responses",
        [
            answer_row(1, 0, said),
            answer_row(1, 1, finish="length"),
            answer_row(1, 2, finish="length", turn=STALE),
            answer_row(1, 3, finish="length", role="judge"),
            answer_row(2, 0, finish="length"),
        ],
    )
    writer.flush()
    assert len([*reader.answer_bodies("first")]) == 2


def test_a_request_is_kept_once_however_often_it_is_asked(writer: JournalWriter, reader: Journal) -> None:
    writer.put("requests", [("f", '"one"'), ("f", '"two"')])
    writer.put("responses", [answer_row(1, place) for place in range(3)])
    writer.flush()
    assert [request for _, _, _, request, _ in reader.exchanges("first")] == ['"one"'] * 3


# --- writing ----------------------------------------------------------------------------------------------------------


def test_rows_of_many_threads_all_arrive(writer: JournalWriter, reader: Journal) -> None:
    def put(role: str) -> None:
        for place in range(200):
            writer.put("responses", [answer_row(1, place, role=role)])

    threads = [threading.Thread(target=put, args=(f"role{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.flush()
    assert all(len(reader.answers("first", place)) == 4 for place in range(200))


def test_a_reader_in_the_middle_of_reading_is_not_disturbed(writer: JournalWriter, reader: Journal) -> None:
    writer.put("samples", [sample_row(1, place) for place in range(100)])
    writer.flush()
    rows = reader.rows("first")
    assert next(rows).index == 0
    writer.put("samples", [sample_row(1, place) for place in range(100, 200)])
    writer.flush()
    assert len(list(rows)) == 99, "it sees the journal as it was when it began"
    assert len(list(reader.rows("first"))) == 200


def test_half_a_character_survives(writer: JournalWriter, reader: Journal) -> None:
    half = "cut \ud83d"
    writer.put("requests", [("f", json.dumps(half, ensure_ascii=False))])
    writer.put("responses", [answer_row(1, 0, half)])
    writer.put("scores", [score_row(1, 0, Score({("m", "none"): half}, answer=half))])
    writer.put("samples", [sample_row(1, 0, doc={"question": half})])
    writer.flush()
    (row,) = reader.rows("first")
    assert row.score is not None
    assert row.doc is not None
    assert read_score(row.score) == Score({("m", "none"): half}, answer=half)
    assert json.loads(row.doc) == {"question": half}
    assert json.loads(reader.turns("first", 0)[0])["outputs"][0]["text"] == half


def connect_to_small_disk(path: Path, *, may_create: bool = False) -> sqlite3.Connection:
    db = journals_connect(path, may_create=may_create)
    db.execute("PRAGMA max_page_count=40")
    return db


journals_connect = journals.connect


def test_a_statement_that_somebody_still_holds_stops_no_transaction(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []

    class Held(database._Cursor):
        def __init__(self, connection: sqlite3.Connection) -> None:
            super().__init__(connection)
            held.append(self)  # as a profiler holds what stands in the frames that it looks at

    monkeypatch.setattr(database._Connection, "cursor", lambda db: sqlite3.Connection.cursor(db, Held))
    writer = JournalWriter(path, TASKS)
    writer.put("responses", [answer_row(1, 0)])
    writer.flush()
    writer.close()
    assert held
    with closing(Journal(path)) as reader:
        assert len([*reader.answer_bodies("first")]) == 1


def test_a_full_disk_is_an_error_and_what_was_written_is_safe(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "connect", connect_to_small_disk)
    writer = JournalWriter(path, TASKS)
    writer.put("samples", [sample_row(1, place) for place in range(10)])
    writer.flush()
    writer.put("responses", [answer_row(1, 0, "x" * 1_000_000)])
    with pytest.raises(JournalError, match="disk is full") as caught:
        writer.flush()
    assert caught.value.where == str(path)
    assert "Free some space" in caught.value.hint
    with pytest.raises(JournalError):
        writer.put("samples", [sample_row(1, 11)])
    writer.close()
    monkeypatch.undo()
    with closing(Journal(path)) as journal:
        assert [row.index for row in journal.rows("first")] == list(range(10))
        assert journal.turns("first", 0) == []


def test_a_journal_without_tables_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
    with pytest.raises(JournalError, match="no such table") as caught:
        Journal(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("value", [object(), 2**70], ids=["object", "huge"])
def test_a_value_that_sqlite_cannot_hold_is_an_error_and_never_a_hang(path: Path, value: Any) -> None:
    writer = JournalWriter(path, TASKS)
    writer.put("requests", [("f", value)])
    with pytest.raises(JournalError, match="cannot be used"):
        writer.flush()
    writer.close()


def test_a_writer_killed_at_any_moment_leaves_whole_transactions(path: Path) -> None:
    command = [sys.executable, "-m", "tests.store.journal_child", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "flushed\n"
        child.kill()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with closing(Journal(path)) as journal:
        rows = list(journal.rows("task"))
        assert len(rows) >= N_FLUSHED, "what was flushed is there"
        assert [row.index for row in rows] == list(range(len(rows)))
        for row in rows:
            assert row.score is not None, "no end is durable before its score"
            assert len(journal.answers("task", row.index)) == 2, "nor before its answers"
        answered = sum(journal.marks("task", "answered", 200_000))
        assert all(len(journal.answers("task", place)) == 2 for place in range(len(rows), answered))
    JournalWriter(path, ["task"]).close()


def test_of_rows_with_one_key_the_last_counts_wherever_they_stand(writer: JournalWriter, reader: Journal) -> None:
    writer.put("samples", [sample_row(1, place % 50, cluster=f"c{place}") for place in range(300)])
    writer.flush()
    assert [row.cluster for row in reader.rows("first")] == [f"c{place}" for place in range(250, 300)]


def test_nobody_waits_for_rows_that_gather(
    writer: JournalWriter, reader: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "_GATHER_S", 3600.0)
    n = 3 * journals._MAX_PENDING
    for start in range(0, n, 1000):  # more than the queue holds
        writer.put("samples", [sample_row(1, place) for place in range(start, min(start + 1000, n))])
    writer.flush()
    writer.put("samples", [sample_row(1, n)])
    writer.flush()
    assert sum(reader.statuses("first").values()) == n + 1


def test_the_answers_of_neighbours_are_those_of_each(writer: JournalWriter, reader: Journal) -> None:
    writer.put("responses", [answer_row(1, place, f"a{place}", turn=1) for place in (0, 1, 3, 4)])
    writer.put("responses", [answer_row(1, 3, "b3", fingerprint="e", turn=2), answer_row(1, 3, "j", role="judge")])
    writer.put("responses", [answer_row(1, 1, "stale", fingerprint="e", turn=-1), answer_row(2, 2, "other")])
    writer.flush()
    expected = {place: [(body, ()) for body in reader.turns("first", place)] for place in range(1, 4)}
    assert reader.turns_between("first", 1, 4) == expected
    assert [len(bodies) for bodies in expected.values()] == [1, 0, 2]


def test_an_answer_of_a_neighbour_comes_with_the_stop_strings_of_its_request(
    writer: JournalWriter, reader: Journal
) -> None:
    writer.put("requests", [("e", '{"messages":[],"ask":{"kind":"generate","stop":["\\n\\n","END"]}}')])
    writer.put("responses", [answer_row(1, 1, "a", fingerprint="e", turn=1)])
    writer.flush()
    ((_, stops),) = reader.turns_between("first", 1, 2)[1]
    assert stops == ("\n\n", "END")
