"""A terminal that knows ASCII alone gets plain signs, not escapes."""

from __future__ import annotations

import re
from pathlib import Path

from polymeter.cli.plain_text import PLAIN, register
from tests.e2e.kit import capitals, polymeter

ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}


def test_tables_have_plain_signs(tmp_path: Path) -> None:
    capitals(tmp_path)
    words = ("run", "--model", "mock", "--model-args", "mode=gold", "--tasks", "capitals.yaml", "-q", "-o", "run")
    done = polymeter(*words, cwd=tmp_path, env=ASCII)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\\u" not in done.stdout
    assert re.search(r"exact_match +\|\^ +\|1\.0000", done.stdout), done.stdout


def test_what_has_no_plain_sign_is_escaped() -> None:
    register()
    assert "\u0391 \u2192 B \ud800".encode("ascii", PLAIN) == b"\\u0391 -> B \\ud800"
