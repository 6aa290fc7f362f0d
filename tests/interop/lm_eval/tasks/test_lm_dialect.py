"""Which files are lm-eval's, and how they are read as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.api.settings import read_settings
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Root
from polymeter.core.names.systems import told_system
from polymeter.interop.lm_eval.tasks.dialect import make_reader
from polymeter.run.plan.selection import build_catalog, named_place, select
from polymeter.tasks.yaml import FORMAT as YAML
from tests.interop.lm_eval.tasks.folders import catalog, task_text, write

PLAIN = "task_yaml"
THEIRS = "lm_eval"


def formats(*folders: Path, **root: Any) -> dict[str, str]:
    return {entry.name: entry.format for entry in YAML.index([Root(folder, **root) for folder in folders], None)}


def test_files_that_could_be_either_are_ours(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text()})
    assert formats(tmp_path) == {"t": PLAIN}


@pytest.mark.parametrize(
    "sign",
    [
        "gen_prefix: 'A:'",
        "custom_dataset: !function utils.make",
        "output_type: loglikelihood_rolling",
        "doc_to_audio: q",
        "gen_prefix: null",
    ],
)
def test_a_field_that_only_lm_eval_has_shows_what_the_folder_is(tmp_path: Path, sign: str) -> None:
    write(tmp_path, {"t.yaml": task_text(), "u.yaml": task_text(f"{sign}\n", name="u")})
    assert formats(tmp_path) == {"t": THEIRS, "u": THEIRS}


@pytest.mark.needs_system("lmms_eval")
def test_code_that_imports_lm_eval_shows_it(tmp_path: Path) -> None:
    code = "from lm_eval.api.filter import Filter\ndef text(doc): return doc['q']\n"
    write(tmp_path, {"t.yaml": task_text(text="!function utils.text"), "utils.py": code})
    assert formats(tmp_path) == {"t": THEIRS}
    (tmp_path / "utils.py").write_text(f"import lmms_eval\n{code}")
    assert formats(tmp_path) == {"t": PLAIN}


def test_a_field_that_lm_eval_lacks_outweighs_all_signs(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text("gen_prefix: 'A:'\n"), "u.yaml": task_text("cluster_key: q\n", name="u")})
    assert formats(tmp_path) == {"t": PLAIN, "u": PLAIN}


def test_each_folder_of_a_root_shows_for_itself_what_it_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, {"t.yaml": task_text("gen_prefix: 'A:'\n"), "deep/v.yaml": task_text(name="v")})
    write(other, {"u.yaml": task_text(name="u")})
    assert formats(tmp_path) == {"t": THEIRS, "v": THEIRS, "u": PLAIN}


def test_a_copy_of_the_package_needs_no_sign(tmp_path: Path) -> None:
    folder = write(tmp_path / "lm_eval" / "tasks" / "mine", {"t.yaml": task_text()})
    assert formats(tmp_path) == {"t": THEIRS}
    assert formats(folder) == {"t": THEIRS}


def test_a_root_can_say_it(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text()})
    assert formats(tmp_path, dialect="lm_eval") == {"t": THEIRS}
    for told in ("lm-eval", "lm_eval"):
        found = build_catalog([Path(f"{told}:{tmp_path}")], None)
        assert select(["t"], found).tasks[0].format == THEIRS
    assert select(["t"], build_catalog([tmp_path], None)).tasks[0].format == PLAIN


def test_the_system_before_an_include_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "lm-eval:odd").mkdir()
    assert told_system(Path("lm-eval:here")) == ("lm_eval", Path("here"))
    assert told_system(Path("lm-eval:odd")) == ("", Path("lm-eval:odd")), "a place of the whole name is meant"
    assert told_system(Path("other:here")) == ("", Path("other:here"))
    assert named_place(Path("lm-eval:here")) == Path(f"lm_eval:{tmp_path}/here")
    with pytest.raises(PlanError, match="The include path 'missing' does not exist"):
        build_catalog([Path("lm-eval:missing")], None)


def test_the_last_include_wins_and_is_looked_for_beside_the_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path / "tasks",
        {
            "t.yaml": "include: [one, two]\ntask: t\n",
            "one": "description: one\ntest_split: one\ntask_list: [a]\n",
            "two": "description: two\nmetadata: {a: 1}\n",
            "v.yaml": "include: elsewhere\ntask: v\n",
        },
        rows=None,
    )
    read = make_reader().read(tmp_path / "tasks" / "t.yaml")
    assert read.values == {"task": "t", "description": "two", "test_split": "one", "metadata": {"a": 1}}
    (tmp_path / "elsewhere").write_text("description: x\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError, match="'elsewhere' does not exist"):
        make_reader().read(tmp_path / "tasks" / "v.yaml")


def test_a_file_that_two_include_is_no_circle(tmp_path: Path) -> None:
    files = {"t.yaml": "include: [a, b]\ntask: t\n", "a": "include: c\n", "b": "include: c\n", "c": "test_split: x\n"}
    write(tmp_path, files, rows=None)
    assert make_reader().read(tmp_path / "t.yaml").values["test_split"] == "x"
    (tmp_path / "c").write_text("include: a\n")
    with pytest.raises(PlanError, match="include each other: a → c → a"):
        make_reader().read(tmp_path / "t.yaml")


def test_kinds_of_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "class.yaml": "task: c\nclass: !function utils.Mine\ngroup: g0\n",
            "group.yaml": "group: g\ngroup_alias: G\ntag: ignored\ntask: [t, {group: s, task: [u]}, {task: v}]\n",
            "label.yaml": "group: alone\ntask: t\n",
            "template.yaml": "test_split: x\n",
            "t.yaml": task_text("tag: [one, two]\ntask_alias: T\n"),
            "utils.py": "import numpy, lm_eval, made_up_package\nclass Mine: pass\n",
        },
    )
    found = catalog(tmp_path)
    assert not found.problems
    assert {entry.name: (entry.kind, entry.tags) for entry in found} == {
        "c": ("task", ()),
        "g": ("group", ()),
        "alone": ("group", ()),
        "t": ("task", ("one", "two")),
    }
    assert found.get("g").members == ("t", "s", "v")
    assert found.get("alone").members == ()
    assert (found.get("g").alias, found.get("t").alias) == ("G", "T")
    assert found.get("c").packages == ("made_up_package", "numpy")


def test_of_two_files_with_one_name_the_first_counts_and_the_other_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": task_text(name="t"), "b.yaml": task_text(name="t")})
    found = catalog(tmp_path)
    assert found.get("t").file == tmp_path / "a.yaml"
    assert [problem.where for problem in found.problems] == [str(tmp_path / "b.yaml")]
    assert "a.yaml defines 't' already" in found.problems[0].message


def test_names_must_be_names(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": "task: [a]\ntest_split: x\n", "u.yaml": "task: u\ntag: {a: b}\ntest_split: x\n"})
    messages = {Path(problem.where.rpartition(":")[0]).name: problem.message for problem in catalog(tmp_path).problems}
    assert messages == {
        "t.yaml": "'task' must be a name, not ['a'].",
        "u.yaml": "'tag' must be a name, not {'a': 'b'}.",
    }


def test_the_index_is_remembered_for_each_way_of_reading(tmp_path: Path) -> None:
    folder = write(tmp_path / "tasks", {"t.yaml": task_text(), "g.yaml": "group: g\ntask: t\n"})
    cache = tmp_path / "cache"
    for _ in range(2):
        assert {entry.name: entry.kind for entry in catalog(folder, cache_dir=cache)} == {"t": "task", "g": "group"}
        natively = YAML.index([Root(folder)], cache).entries
        assert {entry.name: entry.format for entry in natively.values()} == {"t": PLAIN}, "there a group is a tag"
    (folder / "t.yaml").write_text(task_text("tag: new\n"))
    assert catalog(folder, cache_dir=cache).get("t").tags == ("new",)


def test_settings_can_say_whose_a_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "tasks", {"t.yaml": task_text()})
    (tmp_path / "polymeter.yaml").write_text("include_paths: ['lm-eval:tasks']\n")
    monkeypatch.chdir(tmp_path)
    (place,) = read_settings().include_paths
    assert told_system(place) == ("lm_eval", tmp_path / "tasks")
    (tmp_path / "polymeter.yaml").write_text("include_paths: ['lm-eval:missing']\n")
    with pytest.raises(PlanError, match="The folder 'lm-eval:missing' in include_paths does not exist"):
        read_settings()
