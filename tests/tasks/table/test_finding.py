"""Finding a table: what the run names, the folder of tables, a verified download."""

import hashlib
import logging

import pytest

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context_with
from polymeter.tasks.table.files.finding import table_file, table_here
from tests.helpers.file_server import Reply, serve

TABLE = b"index\tprompt\n1\ta\n"
MD5 = hashlib.md5(TABLE).hexdigest()
MINE = b"index\tprompt\n1\tmine\n"
MINE_MD5 = hashlib.md5(MINE).hexdigest()


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    (tmp_path / "lmu").mkdir()
    return tmp_path / "lmu"


@pytest.fixture
def server():
    with serve({"/Set.tsv": Reply(TABLE)}) as running:
        yield running


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_download_is_kept_under_the_datasets_name_and_made_once(server, root):
    for _ in range(2):
        assert table_file("X", f"{server.url}/Set.tsv", MD5) == root / "X.tsv"
    assert server.asked["/Set.tsv"] == 1
    assert contents(root) == {"X.tsv": TABLE}


@pytest.mark.parametrize("name", ["X.tsv", "Set.tsv"])
@pytest.mark.parametrize("md5", [None, MD5, MD5.upper()])
def test_a_local_file_is_found_under_both_names(server, root, name, md5):
    (root / name).write_bytes(TABLE)
    assert table_file("X", f"{server.url}/Set.tsv", md5) == root / name
    assert not server.asked


def test_of_two_local_files_the_md5_chooses(server, root):
    (root / "X.tsv").write_bytes(MINE)
    (root / "Set.tsv").write_bytes(TABLE)
    assert table_file("X", f"{server.url}/Set.tsv", MD5) == root / "Set.tsv"
    assert table_file("X", f"{server.url}/Set.tsv", None) == root / "X.tsv"


def test_a_table_of_another_md5_is_fetched_again_and_the_old_one_is_kept(server, root, caplog):
    (root / "X.tsv").write_bytes(MINE)
    with caplog.at_level(logging.WARNING):
        assert table_file("X", f"{server.url}/Set.tsv", MD5).read_bytes() == TABLE
    assert contents(root) == {"X.tsv": TABLE, f"X.tsv.{MINE_MD5[:8]}.old": MINE}
    assert f"has MD5 {MINE_MD5}, not {MD5}" in caplog.text
    assert "is kept as" in caplog.text


def test_where_no_right_table_can_be_fetched_both_md5_are_named_and_nothing_changes(server, root):
    (root / "X.tsv").write_bytes(MINE)
    server.replies["/Set.tsv"] = Reply(b"wrong too")
    with pytest.raises(
        DataError, match=f"X.tsv has MD5 {MINE_MD5}, not {MD5}, and no right one could be fetched: The file"
    ):
        table_file("X", f"{server.url}/Set.tsv", MD5)
    assert contents(root) == {"X.tsv": MINE}
    with (
        guest_context_with(data={}, is_offline=True),
        pytest.raises(DataError, match=r"no right one .*: .* the run is offline"),
    ):
        table_file("X", f"{server.url}/Set.tsv", MD5)


def test_without_a_url_a_wrong_md5_is_refused(root):
    (root / "X.tsv").write_bytes(MINE)
    with pytest.raises(DataError, match=rf"X\.tsv has MD5 {MINE_MD5}, not {MD5}\..*--data"):
        table_file("X", "", MD5)
    assert contents(root) == {"X.tsv": MINE}


def test_a_wrong_download_leaves_nothing(server, root):
    with pytest.raises(DataError, match="it was deleted"):
        table_file("X", f"{server.url}/Set.tsv", "0" * 32)
    assert contents(root) == {}


def test_a_table_that_is_nowhere_says_where_it_was_looked_for(root):
    with pytest.raises(
        DataError, match=r"no table for dataset 'X'.*lmu.*Looked for X\.tsv and Set\.tsv.*--data X=FILE"
    ):
        table_file("X", "Set.tsv", None)


def test_the_run_puts_a_file_in_its_place(root, tmp_path, caplog):
    (root / "X.tsv").write_bytes(TABLE)
    (tmp_path / "mine.tsv").write_bytes(MINE)
    with guest_context_with(data={"X": str(tmp_path / "mine.tsv")}), caplog.at_level(logging.WARNING):
        assert table_file("X", "", MD5) == tmp_path / "mine.tsv"
    assert f"has MD5 {MINE_MD5}; the published table has {MD5}" in caplog.text


def test_a_local_path_may_stand_for_the_url(tmp_path):
    (tmp_path / "t.tsv").write_bytes(TABLE)
    assert table_file("X", str(tmp_path / "t.tsv"), MD5) == tmp_path / "t.tsv"
    with pytest.raises(DataError, match=f"has MD5 {MD5}, not {MINE_MD5}"):
        table_file("X", str(tmp_path / "t.tsv"), MINE_MD5)


def test_a_name_leads_nowhere_else(server, root):
    path = table_file("../../X", f"{server.url}/Set.tsv", MD5)
    assert path.parent == root


def test_a_table_beside_the_class_is_used_where_the_folder_of_tables_has_none(server, root, tmp_path):
    beside = tmp_path / "benchmarks"
    beside.mkdir()
    (beside / "Set.tsv").write_bytes(TABLE)
    with guest_context_with(data={}, folder=beside):
        assert table_file("Set", f"{server.url}/Set.tsv", MD5) == beside / "Set.tsv"
        assert table_here("Set", "", MD5) == beside / "Set.tsv"
        (root / "Set.tsv").write_bytes(TABLE)
        assert table_file("Set", f"{server.url}/Set.tsv", MD5) == root / "Set.tsv"
    assert not server.asked


def test_a_table_of_another_md5_beside_the_class_is_left_alone(server, root, tmp_path):
    beside = tmp_path / "benchmarks"
    beside.mkdir()
    (beside / "Set.tsv").write_text("index\n")
    with guest_context_with(data={}, folder=beside):
        assert table_file("Set", f"{server.url}/Set.tsv", MD5) == root / "Set.tsv"
    assert contents(beside) == {"Set.tsv": b"index\n"}
