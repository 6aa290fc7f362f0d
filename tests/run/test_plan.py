"""From names to tasks: exact names, tags, files, globs, groups; and what is said when nothing fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.errors import PlanError, Problem
from polymeter.core.format import Loaded
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.options import RunOptions
from polymeter.core.task import GroupSpec, TaskSpec
from polymeter.run.plan import selection as selections
from polymeter.run.plan.plan import cache_folder, samples_to_run
from polymeter.run.plan.selection import SelectedTasks, describe_selection, select


class FakeDialect:
    """Makes specs of catalog entries without reading anything."""

    name = "fake"

    def __init__(self) -> None:
        self.loaded: list[str] = []

    def load(self, entry: Entry, catalog: Catalog) -> Loaded:
        self.loaded.append(entry.name)
        tasks: dict[str, TaskSpec] = {}
        groups: list[GroupSpec] = []
        self._collect(entry, catalog, tasks, groups)
        return Loaded(tuple(tasks.values()), tuple(groups))

    def _collect(self, entry: Entry, catalog: Catalog, tasks: dict[str, TaskSpec], groups: list[GroupSpec]) -> None:
        if entry.kind == "task":
            tasks[entry.name] = TaskSpec(entry.name, "fake", entry.file, {}, "hash")
            return
        groups.append(GroupSpec(entry.name, entry.name.upper(), entry.members))
        for member in entry.members:
            self._collect(catalog.get(member), catalog, tasks, groups)


def entry(name: str, *, members: Sequence[str] = (), **settings: Any) -> Entry:
    kind = "group" if members else "task"
    file = settings.pop("file", Path(f"/tasks/{name}.yaml"))
    return Entry(name, kind, "fake", file, members=tuple(members), **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def dialect(monkeypatch: pytest.MonkeyPatch) -> FakeDialect:
    made = FakeDialect()
    monkeypatch.setattr(selections, "format_of", lambda entry: made)
    return made


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog()
    for one in (
        entry("mmbench_en", tags=("chart",)),
        entry("mmbench_cn"),
        entry("docvqa", tags=("chart", "text")),
        entry("inner", members=["docvqa"]),
        entry("outer", members=["inner", "mmbench_cn"]),
    ):
        made.add(one)
    return made


def names(selection: SelectedTasks) -> list[str]:
    return [spec.name for spec in selection.tasks]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["docvqa"], ["docvqa"]),
        (["docvqa", "mmbench_en"], ["docvqa", "mmbench_en"]),
        (["chart"], ["mmbench_en", "docvqa"]),
        (["mmbench*"], ["mmbench_cn", "mmbench_en"]),
        (["mmbench_?n", "docvqa"], ["mmbench_cn", "mmbench_en", "docvqa"]),
        (["*_[ce]n"], ["mmbench_cn", "mmbench_en"]),
        (["outer"], ["docvqa", "mmbench_cn"]),
        (["docvqa", "docvqa", "text", "inner"], ["docvqa"]),
        (["mmbench_cn", "outer"], ["mmbench_cn", "docvqa"]),
        (["out*"], ["docvqa", "mmbench_cn"]),
    ],
)
def test_tasks_come_once_in_the_order_in_which_they_are_named(
    catalog: Catalog, patterns: list[str], expected: list[str]
) -> None:
    assert names(select(patterns, catalog)) == expected


def test_a_glob_that_fits_tasks_leaves_groups_alone(catalog: Catalog) -> None:
    assert select(["*n*"], catalog).groups == ()


def test_the_layout_shows_groups_as_they_were_written(catalog: Catalog) -> None:
    selection = select(["outer", "mmbench_en"], catalog)
    assert selection.layout == (
        ("group", "outer", 0),
        ("group", "inner", 1),
        ("task", "docvqa", 2),
        ("task", "mmbench_cn", 1),
        ("task", "mmbench_en", 0),
    )
    assert [group.name for group in selection.groups] == ["outer", "inner"]
    assert describe_selection(selection) == {
        "tasks": ["docvqa", "mmbench_cn", "mmbench_en"],
        "groups": {"outer": ["inner", "mmbench_cn"], "inner": ["docvqa"]},
        "layout": [list(line) for line in selection.layout],
    }


def test_only_what_is_named_is_loaded(catalog: Catalog, dialect: FakeDialect) -> None:
    select(["docvqa"], catalog)
    assert dialect.loaded == ["docvqa"]


def test_a_file_stands_for_all_that_is_in_it(tmp_path: Path) -> None:
    file = (tmp_path / "mine.yaml").resolve()
    file.touch()
    catalog = Catalog()
    catalog.add(entry("one", file=file))
    catalog.add(entry("two", file=file))
    assert names(select([str(file)], catalog)) == ["one", "two"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("mmbench_eng", r"no task, group or tag 'mmbench_eng'.*'mmbench_en'"),
        ("outr", r"'outer'"),
        ("zzzzzzz", r"'polymeter tasks' lists them; --include-path"),
        ("zzz*", r"no task, group or tag 'zzz\*'"),
        ("MMBench_en", r"'mmbench_en'"),
        ("none.yaml", r"There is no file 'none\.yaml'.*It is looked for in"),
    ],
)
def test_a_name_that_fits_nothing_is_an_error_with_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog, pattern: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError, match=message) as caught:
        select([pattern], catalog)
    assert caught.value.where == "--tasks"


def test_nothing_named_is_an_error(catalog: Catalog) -> None:
    with pytest.raises(PlanError, match=r"No task is named.*--tasks"):
        select([], catalog)


@pytest.mark.parametrize("pattern", ["broken", "/tasks/broken.yaml"])
def test_a_task_whose_file_is_broken_says_where_it_is_broken(catalog: Catalog, pattern: str) -> None:
    catalog.problems.append(Problem("/tasks/broken.yaml:3", "mapping values are not allowed here"))
    with pytest.raises(PlanError, match="mapping values are not allowed here") as caught:
        select([pattern], catalog)
    assert caught.value.where == "/tasks/broken.yaml:3"


def test_a_name_of_two_files_is_an_error_only_when_it_is_named(catalog: Catalog) -> None:
    catalog.add(entry("docvqa", file=Path("/other/docvqa.yaml")))
    assert names(select(["mmbench_en"], catalog)) == ["mmbench_en"]
    with pytest.raises(PlanError, match="Two files define 'docvqa'") as caught:
        select(["docvqa"], catalog)
    assert caught.value.where == "/tasks/docvqa.yaml and /other/docvqa.yaml"


def test_a_users_task_in_place_of_a_built_in_one_is_noted_once(catalog: Catalog) -> None:
    catalog.add(entry("docvqa", file=Path("/mine/docvqa.yaml"), is_user=True))
    selection = select(["docvqa", "outer"], catalog)
    assert selection.notes == ("Your 'docvqa' (/mine/docvqa.yaml) is used in place of the built-in one.",)
    assert selection.tasks[0].file == Path("/mine/docvqa.yaml")


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(0, 6000), st.none() | st.integers(1, 6000) | st.floats(0.001, 0.999))
def test_offset_and_limit_leave_a_range_within_the_samples(n: int, offset: int, limit: float | None) -> None:
    played = samples_to_run(n, RunOptions(offset=offset, limit=limit))
    assert played.start == min(offset, n)
    assert played.stop <= n
    if limit is None:
        assert played.stop == n
    elif limit >= 1:
        assert len(played) == min(int(limit), n - played.start)
    elif offset < n:
        assert 1 <= len(played) <= n * limit + 1


@pytest.mark.parametrize(("limit", "n_played"), [(0.5, 5), (0.01, 1), (0.11, 2), (1, 1), (3.7, 3), (99, 10)])
def test_a_share_is_rounded_up_and_a_count_is_a_count(limit: float, n_played: int) -> None:
    assert len(samples_to_run(10, RunOptions(limit=limit))) == n_played


def test_the_cache_is_where_it_was_told_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "environment"))
    assert cache_folder(RunOptions(cache_dir=tmp_path / "option")) == tmp_path / "option"
    assert cache_folder(RunOptions()) == tmp_path / "environment"
    monkeypatch.delenv("POLYMETER_CACHE_DIR")
    assert cache_folder(RunOptions()).name == "polymeter"
