"""Layer two: what there is, without running code."""

import pickle

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Root
from polymeter.tasks.yaml import FORMAT
from polymeter.tasks.yaml.files.load import provenance
from polymeter.tasks.yaml.own import OWN_DIALECT
from tests.tasks.yaml.kit import catalog, spec, task_text, write, write_rows


def load(folder, name):
    found = catalog(folder)
    return FORMAT.load(found.get(name), found)


def test_tasks_groups_tags_and_templates_are_told_apart(tmp_path):
    write(
        tmp_path,
        {
            "a.yaml": "task: a\ntag: [x, y]\ntask_alias: A\n",
            "b.yaml": "task: b\ngroup: x\n",
            "g.yaml": "group: g\ngroup_alias: G\ntask: [a, {task: b, num_fewshot: 1}, {group: h, task: [a]}]\n",
            "c.yaml": "task: c\nclass: !function utils.Cls\n",
            "template.yaml": "dataset_path: json\n",
            "_template_yaml": "task: never\n",
        },
    )
    found = catalog(tmp_path)
    assert sorted(found.entries) == ["a", "b", "c", "g"]
    assert found.tags() == {"x": ["a", "b"], "y": ["a"]}
    assert found.get("a").alias == "A"
    assert found.get("g").members == ("a", "b", "h")
    assert not found.problems


def test_listing_never_runs_code(tmp_path):
    write(tmp_path, {"a.yaml": "task: a\nf: !function utils.fn\n", "utils.py": "raise SystemExit\n"})
    assert "a" in catalog(tmp_path).entries


def test_a_broken_file_is_a_problem_with_its_line(tmp_path):
    write(tmp_path, {"a.yaml": "task: a\nx: [1\n", "b.yaml": "task: b\n"})
    found = catalog(tmp_path)
    assert list(found.entries) == ["b"]
    assert found.problems[0].where.startswith(str(tmp_path / "a.yaml"))


def test_names_come_through_includes(tmp_path):
    write(tmp_path, {"base_yaml": "tag: x\n", "a.yaml": "include: base_yaml\ntask: a\n"})
    assert catalog(tmp_path).tags() == {"x": ["a"]}


def test_a_root_may_be_a_single_file(tmp_path):
    write(tmp_path, {"a.yaml": "task: a\n", "b.yaml": "task: b\n"})
    assert list(FORMAT.index([Root(tmp_path / "a.yaml")], None).entries) == ["a"]


def test_the_disk_cache_notices_changes_of_the_file_and_of_its_includes(tmp_path):
    folder = write(tmp_path / "tasks", {"base_yaml": "tag: x\n", "a.yaml": "include: base_yaml\ntask: a\n"})
    cache = tmp_path / "cache"
    assert catalog(folder, cache_dir=cache).tags() == {"x": ["a"]}
    assert catalog(folder, cache_dir=cache).tags() == {"x": ["a"]}
    write(folder, {"base_yaml": "tag: longer\n"})
    assert catalog(folder, cache_dir=cache).tags() == {"longer": ["a"]}
    write(folder, {"a.yaml": "include: base_yaml\ntask: other\n"})
    assert list(catalog(folder, cache_dir=cache).entries) == ["other"]
    (folder / "a.yaml").unlink()
    assert not catalog(folder, cache_dir=cache).entries
    for file in cache.iterdir():
        file.write_text("not json")
    assert not catalog(folder, cache_dir=cache).entries


@pytest.mark.needs_system("lmms_eval")
def test_packages_are_third_party_top_level_imports_of_the_functions_modules(tmp_path):
    code = '''
    """import docs"""
    import os, numpy as np
    from .helper import x
    import sibling
    from lmms_eval.utils import y
    try:
        import optional
    except ImportError:
        pass
    '''
    write(
        tmp_path,
        {
            "a.yaml": "task: a\nf: !function utils.fn\n",
            "utils.py": code,
            "helper.py": "import pandas.core\n",
            "sibling.py": "from loguru import logger\n",
            "unrelated.py": "import torch\n",
        },
    )
    assert catalog(tmp_path).get("a").packages == ("loguru", "numpy", "pandas")


def test_groups_nest_and_override_their_members(tmp_path):
    write_rows(tmp_path)
    write(
        tmp_path,
        {
            "a.yaml": task_text("tag: x\n", name="a"),
            "b.yaml": task_text("tag: x\n", name="b"),
            "inner.yaml": "group: inner\ntask: [a, {task: b, repeats: 2}]\nnum_fewshot: 1\n",
            "outer.yaml": """\
                group: outer
                task: [inner, x]
                target_delimiter: ":"
                aggregate_metric_list:
                  - {metric: acc, weight_by_size: true}
                """,
        },
    )
    loaded = load(tmp_path, "outer")
    assert [group.name for group in loaded.groups] == ["outer", "inner"]
    assert loaded.groups[0].members == ("inner", "a-1", "b-1")
    assert loaded.groups[0].aggregates[0] == {
        "metric": "acc",
        "aggregation": "mean",
        "weight_by_size": True,
        "filter_list": ("none",),
    }
    configs = {task.name: task.config for task in loaded.tasks}
    assert configs["b"]["repeats"] == 2
    assert configs["a"]["num_fewshot"] == 1
    assert "num_fewshot" not in configs["a-1"]
    assert configs["a-1"]["target_delimiter"] == ":"
    assert pickle.loads(pickle.dumps(loaded)) == loaded


def test_inline_groups_and_inline_tasks(tmp_path):
    write(
        tmp_path,
        {
            "a.yaml": task_text(name="a"),
            "g.yaml": """\
                group: g
                task:
                  - group: inner
                    task: [a]
                    aggregate_metric_list: [{metric: acc}]
                  - task: inline
                    dataset_path: json
                    test_split: train
                    doc_to_text: q
                """,
        },
    )
    loaded = load(tmp_path, "g")
    assert [group.name for group in loaded.groups] == ["g", "inner"]
    assert [task.name for task in loaded.tasks] == ["a", "inline"]


def test_a_missing_member_and_a_circle_are_errors(tmp_path):
    write(
        tmp_path,
        {"a.yaml": task_text(name="alpha"), "g.yaml": "group: g\ntask: [alpa]\n", "h.yaml": "group: h\ntask: [h]\n"},
    )
    with pytest.raises(PlanError, match=r"'alpa'.*g\.yaml:2.*'alpha'"):
        load(tmp_path, "g")
    with pytest.raises(PlanError, match="h → h"):
        load(tmp_path, "h")


def test_an_unknown_key_names_file_line_and_the_nearest_key(tmp_path):
    write(tmp_path, {"a.yaml": "task: a\ndataset_path: json\ndoc_to_txt: q\n"})
    with pytest.raises(PlanError, match=r"'doc_to_txt'.*a\.yaml:3.*'doc_to_text'"):
        load(tmp_path, "a")


def test_a_web_copy_without_indentation_is_recognised(tmp_path):
    write(tmp_path, {"a.yaml": "dataset_kwargs:\ntoken: True\ntask: a\n"})
    with pytest.raises(PlanError, match="lost its indentation"):
        load(tmp_path, "a")


def test_a_value_of_the_wrong_type_names_its_place(tmp_path):
    write(tmp_path, {"a.yaml": task_text("generation_kwargs: 3\n", name="a")})
    with pytest.raises(PlanError, match=r"'generation_kwargs'.*a\.yaml:8"):
        load(tmp_path, "a")


def test_metadata_as_a_list_is_merged_so_its_version_shows(tmp_path):
    write(tmp_path, {"a.yaml": task_text("metadata:\n  - version: 1.5\n  - num_fewshot: 3\n", name="a")})
    assert load(tmp_path, "a").tasks[0].version == "1.5"


def test_the_source_hash_covers_yaml_includes_and_code_but_not_the_place(tmp_path):
    files = {
        "base": "tag: x\n",
        "t.yaml": task_text("include: base\nprocess_results: !function utils.f\n"),
        "utils.py": "x=1\n",
    }
    one, two = write(tmp_path / "one", files), write(tmp_path / "two", files)
    assert spec(one).source_hash == spec(two).source_hash
    write(two, {"utils.py": "x=2\n"})
    assert spec(one).source_hash != spec(two).source_hash


def test_a_flattened_task_loads_again_from_elsewhere(tmp_path):
    one = write(
        tmp_path / "one",
        {
            "base": "tag: x\nprocess_results: !function utils.f\n",
            "t.yaml": task_text("include: base\n"),
            "utils.py": "",
        },
    )
    two = tmp_path / "two"
    two.mkdir()
    found = catalog(one)
    (two / "t.yaml").write_text(FORMAT.flatten(found.get("t"), found))
    again = spec(two).config
    changed = {"process_results": 0, "dataset_kwargs": 0}
    assert {**again, **changed} == {**spec(one).config, **changed}
    assert again["process_results"].source_file().resolve() == one / "utils.py"


def test_provenance_shows_where_each_value_was_written(tmp_path):
    write(tmp_path, {"base": "tag: x\n", "t.yaml": task_text("include: base\n")})
    found = provenance(spec(tmp_path), OWN_DIALECT)
    assert found["tag"] == f"{tmp_path / 'base'}:1"
    assert found["task"] == f"{tmp_path / 't.yaml'}:1"


def problems(folder, name="t"):
    found = catalog(folder)
    return [(problem.where, problem.message) for problem in FORMAT.check(found.get(name), found)]


def test_describe_gives_values_as_written_with_their_files(tmp_path):
    write(tmp_path, {"base": "process_results: !function utils.f\n", "t.yaml": task_text("include: base\n")})
    found = catalog(tmp_path)
    described = {key: (value, file) for key, value, file in FORMAT.describe(found.get("t"), found)}
    assert described["process_results"] == ("!function utils.f", tmp_path / "base")
    assert described["task"] == ("t", tmp_path / "t.yaml")


def test_flatten_of_an_entry_loads_again_beside_it(tmp_path):
    write(
        tmp_path,
        {"base": "process_results: !function utils.f\n", "t.yaml": task_text("include: base\n"), "utils.py": ""},
    )
    found = catalog(tmp_path)
    (tmp_path / "t.yaml").write_text(FORMAT.flatten(found.get("t"), found))
    assert "include" not in (tmp_path / "t.yaml").read_text()
    assert spec(tmp_path).config["process_results"].source_file() == tmp_path / "utils.py"


def test_check_finds_what_is_wrong_without_running_code(tmp_path):
    extra = """
    description: "{{ oops"
    description: "{{ oops }"
    filter_list: [{name: f, filter: [{function: regx}]}]
    metric_list: [{metric: exact_mach}, {metric: acc, aggregation: meen}]
    doc_to_choice: !function utils.choises
    doc_to_visual: !function nothing.fn
    """
    write(
        tmp_path,
        {"t.yaml": task_text(extra), "utils.py": "raise SystemExit\nimport not_there_at_all\ndef choices(): pass\n"},
    )
    messages = " ".join(message for _, message in problems(tmp_path))
    for expected in ("'description' is written twice", "template of description", "'regex'", "'exact_match'", "'mean'"):
        assert expected in messages
    for expected in ("'choices'", "no nothing.py", "'not_there_at_all'"):
        assert expected in messages
    assert all(".yaml" in where for where, _ in problems(tmp_path))


def test_check_of_a_sound_task_finds_nothing(tmp_path):
    write(tmp_path, {"t.yaml": task_text("process_results: !function utils.f\n"), "utils.py": "f = print\n"})
    assert problems(tmp_path) == []
    write(tmp_path, {"g.yaml": "group: g\ntask: [t]\n", "h.yaml": "group: h\ntask: [nope]\n"})
    assert problems(tmp_path, "g") == []
    assert "'nope'" in problems(tmp_path, "h")[0][1]


OTHERS = {
    "docker-compose.yml": "services:\n  db: {image: postgres}\n",
    "ci.yaml": "name: CI\non: [push]\njobs: {a: {runs-on: x}}\n",
    "gitlab.yml": "include:\n  - local: x.yml\nclass: a\n",
    "blip.yaml": "image_root: x\ntrain_file: [a]\ntask: vqa\nbatch_size: 3\nvit: base\n",
    "list.yml": "- a\n- b\n",
    "tags.yaml": "a: !!python/name:os.system\nb: !custom {c: d}\n",
    "many.yaml": "apiVersion: v1\n---\nkind: x\n",
    "cookie.yaml": "name: {{ cookiecutter.x }}\nfoo: [\n",
    "detector.yaml": "MODEL: {META: Foo}\nSOLVER: {LR: 0.1}\n",
}


def test_other_peoples_files_in_a_folder_are_passed_over(tmp_path):
    write(tmp_path, {"mine.yaml": "task: mine\ndataset_path: json\n", **OTHERS})
    found = catalog(tmp_path)
    assert list(found.entries) == ["mine"]
    assert found.problems == []


@pytest.mark.parametrize("name", ["list.yml", "tags.yaml", "many.yaml", "cookie.yaml"])
def test_a_file_that_is_named_is_meant(tmp_path, name):
    write(tmp_path, OTHERS)
    assert len(catalog(tmp_path / name).problems) == 1


@pytest.mark.parametrize(
    "text",
    ["task: a\nx: [1\n", "dataset_path: a\n---\nb: c\n", "task: [a]\ndataset_path: x\n", "tag: {a: b}\ntask: x\n"],
)
def test_what_is_about_tasks_and_broken_is_still_a_problem(tmp_path, text):
    write(tmp_path, {"a.yaml": text})
    assert len(catalog(tmp_path).problems) == 1


def test_a_misspelt_field_does_not_make_it_somebody_elses(tmp_path):
    write(tmp_path, {"a.yaml": "task: a\ndataset_pth: x\n"})
    assert "a" in catalog(tmp_path).entries
