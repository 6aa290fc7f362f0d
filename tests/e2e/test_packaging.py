"""What is published: the wheel holds all that runs, and works in an environment that has only what it asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

import polymeter

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("build", "hatchling")), reason="the extra [dev] is not installed"
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make dist`` builds, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


def tracked(folder: str = ".") -> set[str]:
    words = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("the source is no clone, so nothing says which files belong to it")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("polymeter/")}
    assert packed == {name.removeprefix("src/") for name in tracked("src/polymeter")}
    for kind in (".yaml", ".parquet", ".tsv", ".safetensors", ".jinja", ".html", ".css", ".js", "py.typed"):
        assert any(name.endswith(kind) for name in packed), f"no {kind} at all"


def test_the_source_archive_builds_and_tests_itself(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        packed = {name.partition("/")[2] for name in opened.getnames()}
    left_out = {name for name in tracked() - packed if not name.startswith((".ci/", ".git"))}
    assert left_out == set()


def test_its_metadata_says_what_it_is(wheel: Path) -> None:
    assert wheel.name == f"polymeter-{polymeter.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as opened:
        (place,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        text = opened.read(place).decode()
    said = text.partition("\n\n")[0]
    for line in (f"Version: {polymeter.__version__}", "License-Expression: Apache-2.0", "Requires-Python: >=3.10"):
        assert line in said
    assert "Provides-Extra: all" in said
    assert "Description-Content-Type: text/markdown" in said, "the index shows the README"


def test_the_wheel_runs_the_demo_where_only_its_requirements_are(wheel: Path, tmp_path: Path) -> None:
    if any(find_spec(name) is None for name in ("rapidocr", "onnxruntime")):
        pytest.skip("the extra [ocr] is not installed")
    python = environment(tmp_path / "venv", wheel)
    home = str(tmp_path / "nobody")
    left_out = ("PYTHONPATH", "POLYMETER_SETTINGS")
    done = subprocess.run(
        [str(python.parent / "polymeter"), "run", "--model", "ocr", "--tasks", "demo", "--limit", "8", "-o", "run"],
        cwd=tmp_path,
        env={
            **{name: value for name, value in os.environ.items() if name not in left_out},
            "XDG_CONFIG_HOME": home,
            "POLYMETER_CACHE_DIR": home,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["groups"]["demo"]["results"][0]["value"] > 0.5
    assert all(task["n_scored"] == 8 for task in results["tasks"].values())
    has_more = subprocess.run([str(python), "-c", "import torch"], capture_output=True, check=False).returncode == 0
    assert not has_more, "the environment holds only what is required"


def environment(folder: Path, wheel: Path) -> Path:
    """A new environment with the wheel, and what it and its extra ``ocr`` require: linked from the tests' own
    environment, because nothing here may need a network. Returns its Python.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (info,) = site.glob("polymeter-*.dist-info")
    for package in required(metadata.PathDistribution(info), frozenset({"ocr"})):
        for place in {(file.parts[0], package.locate_file(file.parts[0])) for file in package.files or ()}:
            link = site / place[0]
            if place[0] not in ("..", "__pycache__") and not link.exists():
                link.symlink_to(str(place[1]))
    return python


def required(first: metadata.Distribution, extras: frozenset[str]) -> Iterator[metadata.Distribution]:
    """All packages that a package requires with these extras, and so on: each once."""
    from packaging.requirements import Requirement

    known: set[tuple[str, frozenset[str]]] = set()
    waiting = [(first, extras)]
    while waiting:
        package, chosen = waiting.pop()
        for line in package.requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in chosen or {""}):
                continue
            key = (requirement.name.lower(), frozenset(requirement.extras))
            if key in known:
                continue
            known.add(key)
            found = metadata.distribution(requirement.name)
            waiting.append((found, key[1]))
            yield found
