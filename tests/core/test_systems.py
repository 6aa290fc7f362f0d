"""Systems: found by folder and by entry point; one that is broken is named and stops nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polymeter.core.names import systems as module
from polymeter.core.names.systems import broken_systems, offered, systems

Install = Callable[[str, str], None]
BUILT_IN = systems()[0]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package with one module, with an entry point to its ``SYSTEM``."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    names = []

    def make(name: str, source: str) -> None:
        names.append(name)
        (site / f"{name}.py").write_text(source)
        metadata = site / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[polymeter.interop]\n{name} = {name}:SYSTEM\n")
        module._found_systems.cache_clear()

    yield make
    module._found_systems.cache_clear()
    for name in names:
        sys.modules.pop(name, None)


RECORD = "from polymeter.extend import System, Target\n\nSYSTEM = System({name!r}, 'Quiz', 'quizzes'{more})\n"


def test_the_built_in_systems_are_found_by_folder() -> None:
    folders = {path.parent.name for path in Path(module.__file__).parents[1].glob("interop/*/__init__.py")}
    families = {folder for folder in folders if folder.endswith("_family")}
    names = {system.name for system in systems()}
    assert folders - families <= names
    assert families.isdisjoint(names)


def test_an_installed_package_adds_a_system(install: Install) -> None:
    install("toy_one", RECORD.format(name="toy_one", more=", formats={'toy': Target('toy_one.nowhere:F', 'toy_one')}"))
    assert systems()[-1].title == "Quiz"
    assert offered(lambda system: system.formats)["toy"].value == "toy_one.nowhere:F"
    assert broken_systems() == ()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "raise RuntimeError('no luck')",
            "Reading the system 'toy_two' of the package 'toy_two' raised RuntimeError: no",
        ),
        ("import no_such_package", "'toy_two' raised ModuleNotFoundError: No module named 'no_such_package'"),
        ("OTHER = 1", "of the package 'toy_two' raised AttributeError"),
        ("SYSTEM = 3", "The entry point 'toy_two' of the package 'toy_two' is not a System."),
        (
            RECORD.format(name=BUILT_IN.name, more=""),
            f"claim the name {BUILT_IN.name!r}: Polymeter's {BUILT_IN.name!r} and the package 'toy_two'",
        ),
    ],
)
def test_a_broken_system_is_named_and_the_others_stay(install: Install, source: str, message: str) -> None:
    before = [system.name for system in systems()]
    install("toy_two", source)
    assert [system.name for system in systems()] == before
    (problem,) = broken_systems()
    assert message in problem.message
    assert "remove" in problem.message.lower()


def test_a_system_that_brings_a_name_another_has_is_left_out(install: Install) -> None:
    root = next(iter(BUILT_IN.import_roots))
    install("toy_four", RECORD.format(name="toy_four", more=f", import_roots={{{root!r}: ()}}"))
    assert "toy_four" not in [system.name for system in systems()]
    (problem,) = broken_systems()
    claim = f"claim the import root {root!r}: Polymeter's {BUILT_IN.name!r} and the package 'toy_four'"
    assert claim in problem.message


def test_a_broken_system_stops_no_command(install: Install, tmp_path: Path) -> None:
    install("toy_three", "raise RuntimeError('no luck')")
    source = Path(module.__file__).parents[2]
    for words in (["--help"], ["models"], ["tasks", "demo_*"]):
        done = subprocess.run(
            [sys.executable, "-m", "polymeter", *words],
            env={"PATH": "", "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path / 'site-packages'}:{source}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert ("of the package 'toy_three' raised RuntimeError: no luck" in done.stderr) == (words[0] == "tasks")
