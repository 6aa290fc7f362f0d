"""The samples of a task by their place, from its file or from the journal."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from polymeter.core.request import Error
from polymeter.core.task import SampleStatus, Score
from polymeter.store.exports.export import write_samples
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.media import media_path, media_size, read_media
from polymeter.store.reading.sample_table import SampleTables
from tests.store.rows import answer_row, sample_row, score_row


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Five samples, the third failed; the texts have lengths of their own and are not all ASCII."""
    folder = RunFolder(tmp_path)
    writer = JournalWriter(folder.journal, ["mme", "other"])
    writer.put("requests", [("f", '{"ask":{}}')])
    for place in range(5):
        writer.put("responses", [answer_row(1, place, "é" * place)])
    scores = [Score({("acc", "none"): place / 4}, answer="\ud83d" if place == 4 else "✓") for place in range(5)]
    writer.put("scores", [score_row(1, place, scores[place]) for place in (0, 1, 3, 4)])
    writer.put("samples", [sample_row(1, place, doc={"q": "ß" * place}) for place in (0, 1, 3, 4)])
    writer.put("samples", [sample_row(1, 2, SampleStatus.ERROR, error=Error("score", "no such key"))])
    writer.close()
    with closing(Journal(folder.journal)) as journal:
        write_samples(folder, journal, "mme")
    return folder


@pytest.mark.parametrize("is_by_journal", [False, True])
def test_any_sample_is_read_by_its_place(folder: RunFolder, is_by_journal: bool) -> None:
    with SampleTables(folder, is_by_journal=is_by_journal) as tables:
        table = tables("mme")
        assert len(table) == 5
        whole = [dict(sample) for sample in table]
        assert [sample["index"] for sample in whole] == [0, 1, 2, 3, 4]
        assert [sample["status"] for sample in whole] == ["ok", "ok", "error", "ok", "ok"]
        for place in (3, 0, 4, 2, 1):
            assert dict(table[place]) == whole[place]
        assert dict(table[-1]) == whole[4]
        assert [sample["index"] for sample in table[1:3]] == [1, 2]
        with pytest.raises(IndexError):
            table[5]


@pytest.mark.parametrize("is_by_journal", [False, True])
def test_a_task_of_which_nothing_is_stored_has_no_samples(tmp_path: Path, is_by_journal: bool) -> None:
    with SampleTables(RunFolder(tmp_path), is_by_journal=is_by_journal) as tables:
        assert list(tables("mme")) == []


def test_the_size_of_a_medium_is_told_without_reading_it(tmp_path: Path) -> None:
    path = media_path(tmp_path / "media", "ab12.png")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n....")
    (tmp_path / "secret").write_bytes(b"secret")
    assert media_size(tmp_path / "media", "ab12.png") == 12
    for name in ("cd.png", "../../secret", "a\0b"):
        assert media_size(tmp_path / "media", name) is None
        assert read_media(tmp_path / "media", name) is None
