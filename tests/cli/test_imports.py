"""Commands import what they use: each hundred modules are paid by every one that is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.cli.main import main

COMPUTING = ("numpy", "pyarrow", "PIL", "yaml", "polymeter.run", "polymeter.guests", "polymeter.stats")
NOT_FOR_A_TABLE = ("datasets", "httpx", "aiohttp", "asyncio", "polymeter.judge.rubrics")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "sums.tsv"
    path.write_text("index\tquestion\tanswer\n1\tWhat is 2+2?\t4\n2\tAnd 3+3?\t6\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def finished(table):
    assert main(["run", "--model", "mock", "--tasks", str(table), "--output", str(table.parent / "run")]) == 0
    return table.parent / "run"


def imported_by(arguments: list[str], folder: Path) -> set[str]:
    """The modules that a command leaves behind."""
    code = (
        "import sys; from polymeter.cli.main import main; code = main(sys.argv[2:]);"
        "open(sys.argv[1], 'w').write('\\n'.join(sys.modules)); sys.exit(code)"
    )
    listing = folder / "modules"
    subprocess.run(
        [sys.executable, "-c", code, str(listing), *arguments],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    return set(listing.read_text().split())


@pytest.mark.parametrize("command", ["show", "report"])
def test_what_reads_a_finished_run_computes_nothing(command, finished, tmp_path):
    assert not set(COMPUTING) & imported_by([command, str(finished)], tmp_path)


def test_a_table_needs_no_datasets_and_no_network(table, tmp_path):
    arguments = ["run", "--model", "mock", "--tasks", str(table), "--output", str(tmp_path / "run")]
    found = imported_by(arguments, tmp_path)
    assert not set(NOT_FOR_A_TABLE) & found
    assert not {name for name in found if name.startswith(("polymeter.analysis.comparison", "polymeter.stats.p"))}
