"""What dotted names of a tool's tree mean to a file in a user's folder, or in a copy of the tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.guests.loading.neighbours import tree_file

NAME = "lm_eval.tasks.words.helper"


def helper(folder: Path) -> Path:
    file = folder / "words" / "helper.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    return file


@pytest.mark.needs_system("lm_eval")
def test_in_a_copy_of_the_tool_a_name_means_what_it_means_there(tmp_path: Path) -> None:
    root = tmp_path / "lm_eval" / "tasks"
    of_root, nearer = helper(root), helper(root / "board")
    assert tree_file(NAME, root / "board" / "words") == of_root
    assert tree_file("lm_eval.tasks.board.words.helper", root / "board" / "words") == nearer


@pytest.mark.needs_system("lm_eval")
def test_elsewhere_the_nearest_folder_counts(tmp_path: Path) -> None:
    helper(tmp_path)
    nearer = helper(tmp_path / "board")
    assert tree_file(NAME, tmp_path / "board" / "words") == nearer
