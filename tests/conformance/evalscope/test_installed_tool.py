"""Benchmarks inside an installed tool, and answers as people's checkouts and models give them."""

from pathlib import Path

import pytest

from polymeter.guests.reading.sources import files_behind


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_packages_beside_an_installed_tool_are_no_part_of_its_benchmarks(tmp_path: Path, folder: str) -> None:
    tool, other = tmp_path / folder / "tool", tmp_path / folder / "other"
    for package in (tool, tool / "benchmarks", other):
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    (tool / "helpers.py").write_text("")
    (other / "big.py").write_text("")
    file = tool / "benchmarks" / "a_adapter.py"
    file.write_text("import other.big\nfrom tool import helpers\nfrom ..helpers import x\n")
    found = {path.name for path in files_behind([file])}
    assert "helpers.py" in found
    assert "big.py" not in found
