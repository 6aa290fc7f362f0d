"""The structure of the source, as ``scripts/structure.py`` shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.structure import MOST_FILES, main


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package without circles: its ``__init__`` brings together what its modules import from each other."""
    folder = tmp_path / "made_house"
    folder.mkdir()
    (folder / "__init__.py").write_text("from made_house.upper import top\n")
    (folder / "upper.py").write_text("from made_house import lower\n\ntop = lower.BASE\n")
    (folder / "lower.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from made_house.upper import top\n\nBASE = 1\n"
    )
    return folder


def test_polymeter_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


def test_what_is_in_order_is_not_shown(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(package)]) == 0
    assert capsys.readouterr().out == "circles: none\nfolders: none\nclasses: none\noptions: none\n"


@pytest.mark.parametrize(
    ("module", "source", "circle"),
    [
        ("lower", "def late():\n    from made_house.upper import top\n", "made_house.lower, made_house.upper"),
        ("lower", "import made_house.middle\n", "made_house.lower, made_house.middle, made_house.upper"),
        ("lower", "from made_house import top\n", "made_house, made_house.lower, made_house.upper"),
    ],
    ids=["in-a-function", "through-another", "through-the-init"],
)
def test_a_circle_is_shown_with_its_imports(
    package: Path, capsys: pytest.CaptureFixture[str], module: str, source: str, circle: str
) -> None:
    (package / "middle.py").write_text("from made_house.upper import top\n")
    (package / f"{module}.py").write_text(source)
    assert main(["--circles", str(package)]) == 1
    first, *imports = capsys.readouterr().out.splitlines()[1:]
    assert first == f"  {circle.count(',') + 1} modules: {circle}"
    assert "      made_house.upper imports made_house.lower in line 1" in imports
    assert main(["--folders", "--classes", str(package)]) == 0


def test_a_full_folder_and_a_shared_name_are_shown(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room = package / "room"
    room.mkdir()
    for number in range(MOST_FILES + 1):
        (room / f"m{number}.py").write_text("class Row:\n    pass\n" if number < 2 else "")
    assert main(["--folders", "--classes", str(package)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "folders:",
        "  room has 16 files, 1 too many",
        "classes:",
        "  Row is 2 classes: room/m0.py:1, room/m1.py:1",
    ]
    assert main(["--circles", str(package)]) == 0


def test_an_option_that_a_command_spells_itself_is_shown(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (package / "core").mkdir()
    (package / "core" / "options.py").write_text(
        'a = flag("--limit", panel=P)\nb = flag("--output", commands=("run",))\n'
    )
    (package / "cli").mkdir()
    (package / "cli" / "score.py").write_text(
        '@takes_options("track")\ndef f(a=Option("--limit"), b=Option("--output")): ...\n'
    )
    assert main(["--options", str(package)]) == 1
    assert capsys.readouterr().out == "options:\n  score.py:2 spells --limit, which core/options.py has\n"
