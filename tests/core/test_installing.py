"""Advice about missing packages says what works where it is said."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import polymeter
from polymeter.core.names import installing
from polymeter.core.names.installing import clone_folder, installed_version, pip_install, python_command

SOURCE = Path(polymeter.__file__).parent
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def active(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell's ``pip`` and ``python`` are those of the Python that runs."""
    monkeypatch.setattr(installing.shutil, "which", lambda name: str(Path(sys.executable).parent / name))


def clone(monkeypatch: pytest.MonkeyPatch, folder: Path, *, is_clone: bool = True) -> None:
    """Let Polymeter lie in a clone, or in the packages of an environment."""
    home = folder / ("src" if is_clone else "lib/python3/site-packages") / "polymeter" / "core" / "names"
    home.mkdir(parents=True)
    if is_clone:
        (folder / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(installing, "__file__", str(home / "installing.py"))


@pytest.mark.usefixtures("active")
def test_a_clone_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone(monkeypatch, tmp_path / "clone")
    monkeypatch.chdir(tmp_path / "clone")
    assert pip_install(extra="hf") == "pip install -e '.[hf]'"
    monkeypatch.chdir(tmp_path)
    assert pip_install(extra="hf") == "pip install -e './clone[hf]'"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pip_install(extra="hf") == f"pip install -e '{tmp_path / 'clone'}[hf]'"


@pytest.mark.usefixtures("active")
def test_a_released_package_is_installed_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone(monkeypatch, tmp_path, is_clone=False)
    monkeypatch.setattr(installing, "IS_RELEASED", True)
    assert clone_folder() is None
    assert pip_install(extra="hf") == "pip install 'polymeter[hf]'"
    assert pip_install("nltk") == "pip install nltk"
    assert pip_install("--no-deps", "a>=1") == "pip install --no-deps 'a>=1'"
    assert python_command() == "python"


@pytest.mark.usefixtures("active")
def test_an_extra_is_its_packages_where_no_index_has_polymeter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone(monkeypatch, tmp_path, is_clone=False)
    monkeypatch.setattr(installing, "IS_RELEASED", False)
    assert pip_install(extra="excel") == "pip install 'openpyxl>=3.1'"
    words = pip_install("nltk", extra="excel,video").split()
    assert words[:2] == ["pip", "install"]
    assert set(words[2:]) == {"'openpyxl>=3.1'", "'av>=12'", "nltk"}


@pytest.mark.parametrize("found", [None, "/somewhere/else/bin/pip"])
def test_a_pip_of_another_python_is_not_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: str | None
) -> None:
    monkeypatch.setattr(installing.shutil, "which", lambda name: found)
    monkeypatch.chdir(tmp_path)
    assert pip_install("nltk") == f"{sys.executable} -m pip install nltk"
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    assert pip_install("nltk") == ".venv/bin/python -m pip install nltk"
    assert python_command() == ".venv/bin/python"


def test_this_is_a_clone() -> None:
    assert clone_folder() == PROJECT.parent


def test_all_advice_comes_from_one_place() -> None:
    written = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"pip install(?! the)", re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL))
    ]
    assert written == []


def test_the_extra_all_is_every_extra_but_those_for_developers() -> None:
    project = PROJECT.read_text("utf-8")
    table = project.partition("[project.optional-dependencies]")[2].partition("[project.scripts]")[0]
    extras = set(re.findall(r"^([a-z-]+) = \[", table, re.MULTILINE)) - {"all", "dev", "docs"}
    (named,) = re.findall(r'"polymeter\[([^]]+)\]"', table)
    assert set(named.split(",")) == extras


def test_the_version_stands_in_one_place() -> None:
    project = PROJECT.read_text("utf-8")
    assert 'dynamic = ["version"]' in project
    assert polymeter.__version__ not in project.partition("[project.optional-dependencies]")[0]


def test_the_workflows_test_every_python_that_the_package_names() -> None:
    named = re.findall(r'Python :: (3\.\d+)"', PROJECT.read_text("utf-8"))
    workflows = PROJECT.parent / ".github" / "workflows"
    tested = yaml.safe_load((workflows / "tests.yml").read_text("utf-8"))["jobs"]["test"]["strategy"]["matrix"]
    assert tested["python"] == named
    release = yaml.safe_load((workflows / "release.yml").read_text("utf-8"))
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}, "trusted publishing, without a token"
    for form in (PROJECT.parent / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text("utf-8")), form


def test_versions_are_those_that_the_metadata_hold() -> None:
    names = {package.metadata["Name"] for package in metadata.distributions()}
    assert {name: installed_version(name) for name in names} == {name: metadata.version(name) for name in names}
    assert installed_version("no-such-package") is None


def test_a_version_in_the_text_of_a_package_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, file in (("new-2.0.dist-info", "METADATA"), ("old.egg-info", "PKG-INFO")):
        (tmp_path / folder).mkdir()
        text = f"Metadata-Version: 2.1\nName: {folder[:3]}\nversion:  2.0\n\nVersion: 3.0\n"
        (tmp_path / folder / file).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [installed_version("new"), installed_version("old")] == ["2.0", "2.0"]
