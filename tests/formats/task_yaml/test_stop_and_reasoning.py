"""Stop strings do not count in visible reasoning, whatever tags a task or a run names for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate
from tests.formats.task_yaml.kit import task_text, write_rows

SAID = "<deep>One.\n\nTwo.</deep>yes\n\nand more"
OWN = '[["<deep>", "</deep>"]]'
STOPS = 'generation_kwargs: {until: ["\\n\\n"]}\nmetric_list: [{metric: exact_match}]\n'


def _score(folder: Path, extra: str = "", said: str = SAID, **options: Any) -> Any:
    write_rows(folder, [{"q": "x", "a": "yes"}])
    (folder / "t.yaml").write_text(task_text(STOPS + extra))
    run = evaluate("mock", str(folder / "t.yaml"), model_args={"answer": said}, output=folder / "run", **options)
    return run.value("t", "exact_match")


def test_tags_of_the_task(tmp_path: Path) -> None:
    assert _score(tmp_path, f"reasoning_tags: {OWN}\n") == 1.0


def test_tags_of_the_run(tmp_path: Path) -> None:
    assert _score(tmp_path, dialect_options={"task_yaml": {"reasoning_tags": OWN}}) == 1.0


@pytest.mark.parametrize("extra", ["", "reasoning_tags: none\n"])
def test_other_tags_are_text(tmp_path: Path, extra: str) -> None:
    assert _score(tmp_path, extra) == 0.0
    assert _score(tmp_path / "again", extra, said="yes\n\n<deep>and</deep>") == 1.0


def test_the_usual_tags_without_any_named(tmp_path: Path) -> None:
    assert _score(tmp_path, said=SAID.replace("deep", "think")) == 1.0
