"""Registries: lazy, with errors that name both places, the nearest name, or the missing extra."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError, Problem
from polymeter.core.names import registry as registries
from polymeter.core.names.installing import pip_install
from polymeter.core.names.registries import AGGREGATIONS, DETECTORS, FORMATS, METRICS, MODELS
from polymeter.core.names.registry import Registry, Target, place_of, processor_of


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_nothing_is_imported_before_it_is_asked_for(module_folder: Path) -> None:
    (module_folder / "polymeter_lazy_example.py").write_text("thing = object()")
    shelf: Registry[Any] = Registry("thing", {"a": Target("polymeter_lazy_example:thing", "builtin", summary="an a")})
    assert "a" in shelf
    assert list(shelf) == ["a"]
    assert shelf.find("a").summary == "an a"
    assert "polymeter_lazy_example" not in sys.modules
    thing = shelf.get("a")
    assert thing is sys.modules.pop("polymeter_lazy_example").thing


def test_an_unknown_name_names_the_nearest() -> None:
    shelf: Registry[Any] = Registry("metric", {"accuracy": Target(1, "x"), "bleu": Target(2, "y")})
    with pytest.raises(PlanError) as caught:
        shelf.get("acuracy")
    assert str(caught.value) == "There is no metric 'acuracy'. Did you mean 'accuracy'?"
    with pytest.raises(PlanError, match=r"Known: accuracy, bleu\."):
        shelf.get("zzz")


def test_a_users_definition_wins_over_a_built_in_one_and_it_shows() -> None:
    shelf: Registry[Any] = Registry("metric", {"acc": Target("builtin", "polymeter")})
    assert shelf.shadowed("acc") is None
    mine = object()
    shelf.register("acc", mine, place="mine.py:1")
    assert shelf.get("acc") is mine
    assert shelf.shadowed("acc") == Target("builtin", "polymeter")
    assert list(shelf) == ["acc"]


def test_two_definitions_of_users_are_an_error_that_names_both_places() -> None:
    shelf: Registry[Any] = Registry("metric", {})
    shelf.register("mine", 1, place="/a/one.py:3")
    shelf.register("mine", 2, place="/a/one.py:3")
    assert shelf.get("mine") == 2, "a module that is loaded again registers again"
    with pytest.raises(PlanError) as caught:
        shelf.register("mine", 3, place="/b/two.py:9")
    assert caught.value.what == "Two metrics are named 'mine'."
    assert "/a/one.py:3" in caught.value.where
    assert "/b/two.py:9" in caught.value.where
    assert shelf.get("mine") == 2


def test_two_classes_of_one_file_with_one_name_are_an_error_too() -> None:
    shelf: Registry[Any] = Registry("model", {})

    class First: ...

    class Second: ...

    shelf.register("m", First)
    with pytest.raises(PlanError) as caught:
        shelf.register("m", Second)
    assert "First" in caught.value.where
    assert "Second" in caught.value.where
    assert __file__ in caught.value.where


def test_a_missing_package_names_the_extra_that_brings_it(module_folder: Path) -> None:
    (module_folder / "polymeter_needs_more.py").write_text("import polymeter_no_such_package.deep")
    target = Target("polymeter_needs_more:thing", "builtin", extra="hf")
    shelf: Registry[Any] = Registry("model", {"big": target})
    with pytest.raises(PlanError) as caught:
        shelf.get("big")
    assert "'polymeter_no_such_package'" in caught.value.what
    assert "model 'big'" in caught.value.what
    assert pip_install(extra="hf") in caught.value.hint


def test_without_an_extra_the_package_itself_is_named(module_folder: Path) -> None:
    shelf: Registry[Any] = Registry("model", {"big": Target("polymeter_no_such_module:x", "user")})
    with pytest.raises(PlanError, match="pip install polymeter_no_such_module"):
        shelf.get("big")


def test_a_missing_module_of_our_own_is_a_bug_and_not_a_missing_package() -> None:
    shelf: Registry[Any] = Registry("model", {"big": Target("polymeter.models.no_such_thing:x", "polymeter")})
    with pytest.raises(ModuleNotFoundError):
        shelf.get("big")


def test_installed_packages_add_theirs_through_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def entry_points(*, group: str) -> EntryPoints:
        asked.append(group)
        return EntryPoints([EntryPoint("plugged", "json:dumps", group)])

    monkeypatch.setattr(registries, "entry_points", entry_points)
    shelf: Registry[Any] = Registry("model", {}, group="polymeter.things")
    assert asked == [], "not looked for before anything is asked for"
    assert "plugged" in shelf
    assert shelf.get("plugged")([1]) == "[1]"
    assert list(shelf) == ["plugged"]
    assert asked == ["polymeter.things"]
    assert "entry point" in shelf.find("plugged").place


def test_a_name_that_a_system_brings_is_not_a_built_in_one_too() -> None:
    taken = {"mock": Target("quiz:Mock", "quiz")}
    shelf: Registry[Any] = Registry("model", {"mock": Target("m:Mock", "polymeter")}, more=lambda: taken)
    for _ in range(2):
        with pytest.raises(PlanError, match=r"Two models are named 'mock'\. \[polymeter and quiz\]"):
            shelf.get("mock")


def test_a_miss_says_what_could_not_be_read() -> None:
    problem = Problem("quiz", "Reading the system 'quiz' raised ImportError.")
    shelf: Registry[Any] = Registry("model", {"mock": Target(1, "x")}, problems=lambda: [problem])
    with pytest.raises(
        PlanError, match=r"no model 'quiz'\. Known: mock\. Reading the system 'quiz' raised ImportError"
    ):
        shelf.get("quiz")


@pytest.mark.parametrize("source", ["raise RuntimeError('no')", "other = 1"], ids=["raises", "lacks it"])
def test_an_outside_package_that_is_broken_is_named(module_folder: Path, source: str) -> None:
    name = f"polymeter_broken_{len(source)}"
    (module_folder / f"{name}.py").write_text(source)
    shelf: Registry[Any] = Registry("model", {"big": Target(f"{name}:thing", "the package 'big-models'")})
    with pytest.raises(
        PlanError, match=r"Importing model 'big' raised .* the package 'big-models'; reinstall or remove"
    ):
        shelf.get("big")


def test_the_place_of_a_thing_is_where_it_is_written() -> None:
    def function() -> None: ...

    assert place_of(function) == f"{__file__}:{function.__code__.co_firstlineno}"
    assert place_of("json:dumps") == "json:dumps"
    assert place_of(Registry) == f"{registries.__file__} (Registry)"
    assert place_of(3) == "builtins"


@pytest.mark.parametrize("shelf", [MODELS, FORMATS, METRICS, AGGREGATIONS, DETECTORS], ids=lambda shelf: shelf.kind)
def test_every_built_in_target_exists(shelf: Registry[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "_users", {})  # other tests may have registered things
    for name in shelf:
        assert shelf.get(name) is not None
        assert shelf.find(name).summary, f"{shelf.kind} {name!r} has no summary"


@pytest.mark.parametrize(
    "raised",
    [
        ImportError("Qwen2VLVideoProcessor requires the Torchvision library but it was not found in your environment."),
        ValueError("Unrecognized video processor in tiny."),
        PlanError("Reading the processor of 'tiny' raised ImportError: AutoVideoProcessor requires torchvision."),
    ],
)
def test_a_processor_that_needs_torchvision_names_the_extra(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries.importlib.util, "find_spec", lambda name: None)
    words = "'torchvision', needed by the processor of 'tiny', is not"
    with pytest.raises(PlanError, match=words) as caught, processor_of("'tiny'"):
        raise raised
    assert caught.value.hint == f"Install it with: {pip_install(extra='vision')}"


def test_other_errors_of_a_processor_pass_unchanged() -> None:
    with pytest.raises(OSError, match="no such file"), processor_of("'tiny'"):
        raise OSError("no such file")


def test_every_extra_that_is_named_exists() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert '\nvision = ["torch>=' in project
    assert "torchvision" in project


def test_a_package_that_is_installed_later_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(name: str, kind: str) -> None:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[polymeter.{kind}]\n{name} = json:dumps\n")

    monkeypatch.syspath_prepend(str(tmp_path))
    install("first", "things")
    assert [point.name for point in registries.entry_points(group="polymeter.things")] == ["first"]
    assert registries.entry_points(group="polymeter.others") == ()
    install("second", "others")
    assert [point.name for point in registries.entry_points(group="polymeter.others")] == ["second"]


def test_folders_of_the_search_path_that_are_not_there_declare_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half-1.0.dist-info").write_text("no folder")
    monkeypatch.setattr("sys.path", [str(tmp_path / "absent"), str(tmp_path)])
    assert registries.entry_points(group="polymeter.things") == ()
