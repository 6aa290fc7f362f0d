"""Benchmarks of installed packages: found without importing them, by names that say which is meant."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate, resume
from polymeter.api import build_catalog
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog
from polymeter.core.names.installed import SWITCH, installed_packages
from polymeter.core.names.registries import FORMATS
from polymeter.run.plan.selection import matching, select
from tests.helpers.installed import install, write_rows

pytestmark = pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install(tmp_path, monkeypatch)


def names(pattern: str, catalog: Catalog) -> list[str]:
    return [entry.qualified_name for entry in matching(pattern, catalog)]


def test_packages_are_found_and_not_imported(site: Path) -> None:
    before = set(sys.modules)  # shims of these names, which other tests have left
    catalog = build_catalog()
    assert [str(package) for package in installed_packages()] == [
        "evalscope 0.17.0",
        "lm_eval 0.4.13",
        "lmms_eval 0.7.2",
    ]
    assert {name: sorted(one.entries) for name, one in catalog.packages.items()} == {
        "evalscope": ["counting"],
        "lm-eval": ["more_sizes", "sizes"],
        "lmms-eval": ["colours", "painting", "sizes"],
    }
    imported = {name.partition(".")[0] for name in sys.modules.keys() - before}
    assert not {"lmms_eval", "lm_eval", "evalscope"} & imported, "a real package was imported"


def test_they_are_not_found_where_that_is_switched_off(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    assert build_catalog().packages == {}
    with pytest.raises(PlanError, match="no task, group or tag 'colours'"):
        select(["colours"], build_catalog())


def test_a_name_that_one_package_has_needs_no_qualifier(site: Path) -> None:
    catalog = build_catalog()
    assert names("colours", catalog) == names("lmms-eval:colours", catalog) == ["lmms-eval:colours"]
    (spec,) = select(["colours"], catalog).tasks
    assert (spec.name, spec.package) == ("colours", "lmms_eval 0.7.2")


def test_a_name_that_several_have_is_refused_with_the_names_that_say_which(site: Path) -> None:
    catalog = build_catalog()
    with pytest.raises(PlanError) as caught:
        select(["sizes"], catalog)
    assert caught.value.what == "'sizes' is ambiguous: lm-eval and lmms-eval have it."
    assert caught.value.hint == "Say which is meant: lm-eval:sizes or lmms-eval:sizes."
    assert names("lm-eval:sizes", catalog) == ["lm-eval:sizes"]


def test_what_comes_with_polymeter_does_not_win_over_a_package(site: Path) -> None:
    other = site / "lmms_eval/tasks/demo_signs.yaml"
    other.write_text((site / "lmms_eval/tasks/sizes.yaml").read_text().replace("task: sizes", "task: demo_signs"))
    catalog = build_catalog()
    with pytest.raises(PlanError, match="polymeter and lmms-eval have it"):
        select(["demo_signs"], catalog)
    assert names("polymeter:demo_signs", catalog) == ["polymeter:demo_signs"]
    assert select(["polymeter:demo_signs"], catalog).tasks[0].package == ""


@pytest.fixture
def with_protocols(site: Path) -> Path:
    """An installed package with two tasks whose names, or beginnings, are those of protocols that come along."""
    text = (site / "lmms_eval/tasks/sizes.yaml").read_text()
    for name in ("mmstar", "mmau", "mmau_test"):
        (site / f"lmms_eval/tasks/{name}.yaml").write_text(text.replace("task: sizes", f"task: {name}"))
    return site


def test_a_task_of_a_package_wins_over_a_protocol_that_only_shares_its_name(with_protocols: Path) -> None:
    catalog = build_catalog()
    assert names("mmstar", catalog) == ["lmms-eval:mmstar"]
    assert catalog.get("mmstar").qualified_name == "lmms-eval:mmstar"
    for name in ("mmstar@official", "polymeter:mmstar"):
        assert names(name, catalog) == ["polymeter:mmstar@official"]
    assert names("screenspot_pro", catalog) == ["polymeter:screenspot_pro@official"]
    catalog.preferred = ("polymeter",)
    assert names("mmstar", catalog) == ["polymeter:mmstar@official"]


def test_a_resumed_run_finds_the_tasks_that_it_began_with(with_protocols: Path) -> None:
    """Whatever the order of the places that its tasks came from, which it prefers."""
    before, catalog = build_catalog(), build_catalog()
    for catalog.preferred in (("polymeter", "lmms-eval"), ("lmms-eval", "polymeter")):
        for pattern in ("mmstar", "mmau*", "demo_s*", "colours"):
            assert names(pattern, catalog) == names(pattern, before)


def test_a_glob_means_tasks_of_a_package_before_protocols_that_come_along(with_protocols: Path) -> None:
    catalog = build_catalog()
    assert names("mmau*", catalog) == ["lmms-eval:mmau", "lmms-eval:mmau_test"]
    assert names("mmau*@*", catalog) == ["polymeter:mmau_test_mini@official"]
    catalog.preferred = ("polymeter",)
    assert names("mmau*", catalog) == ["polymeter:mmau_test_mini@official"]


def test_a_glob_is_looked_for_in_preferred_packages_first(site: Path, tmp_path: Path) -> None:
    (site / "lm_eval/tasks/demo_zz.yaml").write_text("include: sizes/sizes.yaml\ntask: demo_zz\n")
    catalog = build_catalog()
    catalog.preferred = ("lmms-eval", "lm-eval")
    assert names("demo_*", catalog) == ["lm-eval:demo_zz"]
    assert names("siz*", catalog) == ["lmms-eval:sizes"]
    mine = tmp_path / "mine" / "demo_own.yaml"
    mine.parent.mkdir()
    mine.write_text((site / "lmms_eval/tasks/sizes.yaml").read_text().replace("task: sizes", "task: demo_own"))
    catalog = build_catalog([mine.parent])
    catalog.preferred = ("lm-eval",)
    assert "demo_own" in names("demo_*", catalog)


def test_a_name_on_an_include_path_wins(site: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "sizes.yaml"
    mine.parent.mkdir()
    mine.write_text((site / "lmms_eval/tasks/sizes.yaml").read_text())
    catalog = build_catalog([mine.parent])
    assert select(["sizes"], catalog).tasks[0].file == mine
    assert select(["lm-eval:sizes"], catalog).tasks[0].package == "lm_eval 0.4.13"


def test_a_user_who_takes_a_built_in_name_still_reaches_the_built_in_one(site: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "demo_signs.yaml"
    mine.parent.mkdir()
    mine.write_text((site / "lmms_eval/tasks/sizes.yaml").read_text().replace("task: sizes", "task: demo_signs"))
    catalog = build_catalog([mine.parent])
    assert select(["demo_signs"], catalog).tasks[0].file == mine
    assert "library" in str(select(["polymeter:demo_signs"], catalog).tasks[0].file)


def test_groups_hold_the_tasks_of_their_own_package(site: Path) -> None:
    selection = select(["lmms-eval:painting"], build_catalog())
    assert {spec.name: spec.package for spec in selection.tasks} == dict.fromkeys(
        ("colours", "sizes"), "lmms_eval 0.7.2"
    )
    assert [group.members for group in selection.groups] == [("colours", "sizes")]


def test_a_group_of_the_users_may_hold_tasks_of_packages(site: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "both.yaml"
    mine.parent.mkdir()
    mine.write_text("group: both\ntask: [lmms-eval:colours, more_sizes]\n")
    selection = select(["both"], build_catalog([mine.parent]))
    assert [spec.package for spec in selection.tasks] == ["lmms_eval 0.7.2", "lm_eval 0.4.13"]
    assert selection.groups[0].members == ("colours", "more_sizes")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("lmms-eval:*", ["lmms-eval:colours", "lmms-eval:sizes"]),
        ("lm-eval:*size*", ["lm-eval:more_sizes", "lm-eval:sizes"]),
        ("col*rs", ["lmms-eval:colours"]),
        ("paint", ["lmms-eval:colours"]),
        ("lmms-eval:paint", ["lmms-eval:colours"]),
        ("measure", ["lm-eval:sizes", "lm-eval:more_sizes"]),
    ],
)
def test_globs_and_tags_select_too(site: Path, pattern: str, expected: list[str]) -> None:
    assert sorted(names(pattern, build_catalog())) == sorted(expected)


def test_a_glob_stays_with_what_comes_with_polymeter_if_it_matches_there(site: Path) -> None:
    (site / "lm_eval/tasks/demo_zz.yaml").write_text("include: sizes/sizes.yaml\ntask: demo_zz\n")
    found = names("demo_*", build_catalog())
    assert found
    assert all(name.startswith("polymeter:") for name in found)


def test_a_glob_that_matches_in_several_packages_is_refused(site: Path) -> None:
    with pytest.raises(PlanError) as caught:
        select(["siz*"], build_catalog())
    assert caught.value.hint == "Name one of them: lm-eval:siz* (1), lmms-eval:siz* (1)."


def test_one_run_has_one_task_of_a_name(site: Path) -> None:
    with pytest.raises(PlanError, match="Two tasks of this run would be called 'sizes'"):
        select(["lmms-eval:sizes", "lm-eval:sizes"], build_catalog())


def test_a_misspelt_name_is_told_with_the_package_that_has_a_similar_one(site: Path) -> None:
    with pytest.raises(PlanError) as caught:
        select(["colourz"], build_catalog())
    assert caught.value.hint == "Did you mean 'lmms-eval:colours'?"


def test_a_file_that_a_package_was_published_without_is_told_with_where_it_is_had(site: Path) -> None:
    for pattern in ("lmms-eval:broken", "broken"):
        with pytest.raises(PlanError) as caught:
            select([pattern], build_catalog())
        told = f"{caught.value.what} {caught.value.hint}"
        assert "'_template_that_was_left_out' does not exist" in told
        assert "git clone https://github.com/EvolvingLMMs-Lab/lmms-eval" in told


def test_the_index_is_kept_until_a_file_changes(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = build_catalog(cache_dir=cache)
    read: list[Any] = []
    real = FORMATS.get("task_yaml").index
    monkeypatch.setattr("polymeter.run.plan.package_index._indexed", lambda *_: read.append(1) or real([], None))
    second = build_catalog(cache_dir=cache)
    assert not read, "the packages were read again"
    assert {name: one.entries for name, one in second.packages.items()} == {
        name: one.entries for name, one in first.packages.items()
    }
    assert [p.message for p in second.packages["lmms-eval"].problems] == [
        p.message for p in first.packages["lmms-eval"].problems
    ]
    monkeypatch.undo()
    monkeypatch.setenv(SWITCH, "on")
    monkeypatch.syspath_prepend(str(site))
    (site / "lmms_eval/tasks/new.yaml").write_text("include: sizes.yaml\ntask: new\n")
    assert "new" in build_catalog(cache_dir=cache).packages["lmms-eval"].entries


def test_one_run_of_all_of_them_is_one_report(site: Path, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "rows")
    tasks = ["lmms-eval:colours", "lm-eval:sizes", "evalscope:counting", "polymeter:demo_signs"]
    run = evaluate("mock", tasks, model_args={"mode": "gold"}, data=data, output=tmp_path / "run", limit=3)
    assert run.status == "complete"
    assert run.n_failed == 0
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert {task["name"]: task.get("package") for task in manifest["tasks"]} == {
        "colours": "lmms_eval 0.7.2",
        "sizes": "lm_eval 0.4.13",
        "counting": "evalscope 0.17.0",
        "demo_signs": None,
    }
    samples = (tmp_path / "run" / "samples" / "colours.jsonl").read_text()
    assert "PLEASE: PATCH 0?" in samples, "the task's neighbours in its package were not found"
    report = (tmp_path / "run" / "report.html").read_text()
    assert all(text in report for text in ("colours", "Counting", "sizes", "lmms_eval 0.7.2"))
    assert not {"lmms_eval.tasks.colours", "lmms_eval.tasks.shared"} & sys.modules.keys()


def test_a_run_goes_on_when_its_names_have_become_ambiguous(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "one", monkeypatch, "lmms_eval")
    data = write_rows(tmp_path / "rows")
    evaluate("mock", ["sizes"], model_args={"mode": "gold"}, data=data, output=tmp_path / "run")
    install(tmp_path / "two", monkeypatch, "lm_eval")
    with pytest.raises(PlanError, match="is ambiguous"):
        select(["sizes"], build_catalog())
    assert resume(tmp_path / "run").status == "complete"


@pytest.mark.parametrize(("prefer", "package"), [("lm-eval", "lm_eval 0.4.13"), ("lmms-eval", "lmms_eval 0.7.2")])
def test_a_caller_may_prefer_a_package(site: Path, tmp_path: Path, prefer: str, package: str) -> None:
    data = write_rows(tmp_path / "rows")
    evaluate("mock", ["sizes"], model_args={"mode": "gold"}, data=data, output=tmp_path / "run", prefer=(prefer,))
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [task["package"] for task in manifest["tasks"]] == [package]


def test_the_command_of_a_tool_means_the_tools_own_benchmarks(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polymeter.cli.main import main

    monkeypatch.chdir(tmp_path)
    data = ";".join(f"{name}={place}" for name, place in write_rows(tmp_path / "rows").items())
    monkeypatch.setenv("POLYMETER_DATA", data)
    words = ["lmms-eval", "--model", "mock", "--tasks", "sizes", "--output_path", "out"]
    assert main(words) in (0, 1)
    (manifest,) = tmp_path.glob("out/**/run.json")
    assert [task["package"] for task in json.loads(manifest.read_text())["tasks"]] == ["lmms_eval 0.7.2"]


def test_a_collection_reaches_the_users_adapters_beside_those_of_a_package(site: Path, tmp_path: Path) -> None:
    """EvalScope's package has an adapter of collections too, whose catalog would know its own benchmarks alone."""
    folder = site / "evalscope" / "benchmarks"
    text = (folder / "counting" / "counting_adapter.py").read_text()
    (folder / "data_collection").mkdir()
    (folder / "data_collection" / "data_collection_adapter.py").write_text(text.replace("counting", "data_collection"))
    mine = tmp_path / "mine" / "capitals_adapter.py"
    mine.parent.mkdir()
    mine.write_text(text.replace("counting", "capitals"))
    catalog = build_catalog([mine.parent], tmp_path / "cache")
    (task,) = select(["data_collection"], catalog).tasks
    assert not task.file.is_relative_to(site)
    assert task.config["benchmarks"]["capitals"] == str(mine)
    assert task.config["benchmarks"]["counting"] == str(folder / "counting" / "counting_adapter.py")
