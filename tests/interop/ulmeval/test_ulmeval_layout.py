"""Where outputs lie, and the links to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.interop.ulmeval.results import Outputs, link_files, plain_name
from polymeter.store.folder import RunFolder


@pytest.fixture
def outputs(tmp_path: Path) -> Outputs:
    return Outputs(tmp_path / "out" / "m", "20260102", "0a1b2c3d", "d")


def write(run: RunFolder, *names: str, dataset: str = "d") -> None:
    folder = run.artifacts / dataset
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"{run.path.name} {name}")


def test_names_of_folders(outputs: Outputs) -> None:
    assert outputs.run("infer").path == outputs.root / "T20260102_G0a1b2c3d" / "runs" / "d" / "infer"
    assert plain_name("a/b:c").startswith("a_b_c")
    assert plain_name("MMBench_DEV_EN") == "MMBench_DEV_EN"


def test_files_are_linked_relatively_into_both_folders(outputs: Outputs) -> None:
    run = outputs.run("all_x")
    write(run, "m_d.pkl", "m_d_score.csv", "evaluate.json")
    files, notes = link_files(run, outputs.folder, "m", "d", "d")
    assert [file.name for file in files] == ["m_d_evaluate.json", "m_d.pkl", "m_d_score.csv"]
    assert not notes
    for folder in (outputs.folder, outputs.root):
        link = folder / "m_d_score.csv"
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.read_text() == "all_x m_d_score.csv"


def test_a_later_scoring_takes_the_links_over_and_leaves_none_dangling(outputs: Outputs) -> None:
    first, second = outputs.run("all_x"), outputs.run("all_y")
    write(first, "m_d.pkl", "m_d_old.csv")
    link_files(first, outputs.folder, "m", "d", "d")
    write(second, "m_d.pkl")
    link_files(second, outputs.folder, "m", "d", "d")
    assert (outputs.root / "m_d.pkl").read_text() == "all_y m_d.pkl"
    assert (outputs.root / "m_d_old.csv").exists()
    (first.artifacts / "d" / "m_d_old.csv").unlink()
    link_files(second, outputs.folder, "m", "d", "d")
    assert not (outputs.folder / "m_d_old.csv").is_symlink()
    assert not (outputs.root / "m_d_old.csv").is_symlink()


def test_links_are_named_after_what_the_dataset_is_called(outputs: Outputs) -> None:
    run = outputs.run("all_x")
    write(run, "m_d.pkl", "m_d_score.csv")
    files, _ = link_files(run, outputs.folder, "m", "d", "mine")
    assert [file.name for file in files] == ["m_mine.pkl", "m_mine_score.csv"]


def test_somebodys_own_file_is_left_alone(outputs: Outputs) -> None:
    run = outputs.run("all_x")
    write(run, "m_d.pkl")
    outputs.root.mkdir(parents=True, exist_ok=True)
    (outputs.root / "m_d.pkl").write_text("precious")
    _, notes = link_files(run, outputs.folder, "m", "d", "d")
    assert (outputs.root / "m_d.pkl").read_text() == "precious"
    assert (outputs.folder / "m_d.pkl").read_text() == "all_x m_d.pkl"
    assert "is not a link that Polymeter made, so it is unchanged" in notes[0]


def test_files_are_copied_where_links_cannot_be_made(outputs: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    run = outputs.run("all_x")
    write(run, "m_d.pkl")
    (run.artifacts / "d" / "m_d_pages").mkdir()
    link_files(run, outputs.folder, "m", "d", "d")
    assert (outputs.root / "m_d.pkl").read_text() == "all_x m_d.pkl"
    assert (outputs.root / "m_d_pages").is_dir()
    link_files(run, outputs.folder, "m", "d", "d")


def test_a_run_without_files_has_no_links(outputs: Outputs) -> None:
    assert link_files(outputs.run("all_x"), outputs.folder, "m", "d", "d") == ([], [])
