"""Where outputs lie, and the links to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.interop.ulmeval.results import Place, plain_name, show_files
from polymeter.store.folder import RunFolder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "out" / "m", "20260102", "0a1b2c3d", "d")


def write(run: RunFolder, *names: str, dataset: str = "d") -> None:
    folder = run.artifacts / dataset
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"{run.path.name} {name}")


def test_names_of_folders(place: Place) -> None:
    assert place.run("infer").path == place.root / "T20260102_G0a1b2c3d" / "runs" / "d" / "infer"
    assert plain_name("a/b:c").startswith("a_b_c")
    assert plain_name("MMBench_DEV_EN") == "MMBench_DEV_EN"


def test_files_are_linked_relatively_into_both_folders(place: Place) -> None:
    run = place.run("all_x")
    write(run, "m_d.pkl", "m_d_score.csv", "evaluate.json")
    files, notes = show_files(run, place.folder, "m", "d", "d")
    assert [file.name for file in files] == ["m_d_evaluate.json", "m_d.pkl", "m_d_score.csv"]
    assert not notes
    for folder in (place.folder, place.root):
        link = folder / "m_d_score.csv"
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.read_text() == "all_x m_d_score.csv"


def test_a_later_scoring_takes_the_links_over_and_leaves_none_dangling(place: Place) -> None:
    first, second = place.run("all_x"), place.run("all_y")
    write(first, "m_d.pkl", "m_d_old.csv")
    show_files(first, place.folder, "m", "d", "d")
    write(second, "m_d.pkl")
    show_files(second, place.folder, "m", "d", "d")
    assert (place.root / "m_d.pkl").read_text() == "all_y m_d.pkl"
    assert (place.root / "m_d_old.csv").exists()
    (first.artifacts / "d" / "m_d_old.csv").unlink()
    show_files(second, place.folder, "m", "d", "d")
    assert not (place.folder / "m_d_old.csv").is_symlink()
    assert not (place.root / "m_d_old.csv").is_symlink()


def test_links_are_named_after_what_the_dataset_is_called(place: Place) -> None:
    run = place.run("all_x")
    write(run, "m_d.pkl", "m_d_score.csv")
    files, _ = show_files(run, place.folder, "m", "d", "mine")
    assert [file.name for file in files] == ["m_mine.pkl", "m_mine_score.csv"]


def test_somebodys_own_file_is_left_alone(place: Place) -> None:
    run = place.run("all_x")
    write(run, "m_d.pkl")
    place.root.mkdir(parents=True, exist_ok=True)
    (place.root / "m_d.pkl").write_text("precious")
    _, notes = show_files(run, place.folder, "m", "d", "d")
    assert (place.root / "m_d.pkl").read_text() == "precious"
    assert (place.folder / "m_d.pkl").read_text() == "all_x m_d.pkl"
    assert "is a file of its own and was left as it is" in notes[0]


def test_files_are_copied_where_links_cannot_be_made(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    run = place.run("all_x")
    write(run, "m_d.pkl")
    (run.artifacts / "d" / "m_d_pages").mkdir()
    show_files(run, place.folder, "m", "d", "d")
    assert (place.root / "m_d.pkl").read_text() == "all_x m_d.pkl"
    assert (place.root / "m_d_pages").is_dir()
    show_files(run, place.folder, "m", "d", "d")


def test_a_run_without_files_has_no_links(place: Place) -> None:
    assert show_files(place.run("all_x"), place.folder, "m", "d", "d") == ([], [])
