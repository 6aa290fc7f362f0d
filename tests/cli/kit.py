"""Commands as a user types them, in this process, in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from polymeter.cli.main import main

CAPITALS = """\
task: capitals
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
"""


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


class Typing:
    """Types commands in a folder.

    Args:
        folder: The working directory.
        capsys: Captures what is printed.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def __call__(self, words: str) -> Done:
        self._capsys.readouterr()
        code = main(words.split())
        return Done(code, *self._capsys.readouterr())

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
