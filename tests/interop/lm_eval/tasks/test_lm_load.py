"""Groups, tags and overrides; the fields of a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig, config_of
from tests.interop.lm_eval.tasks.folders import ROWS, catalog, load, open_in, task_text, write


def tree(folder: Path, name: str) -> dict[str, tuple[str, ...]]:
    return {group.name: group.members for group in load(folder, name).groups}


def test_a_group_hands_its_keys_to_its_tasks(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "t.yaml": task_text("num_fewshot: 1\ndescription: own\n"),
            "u.yaml": task_text(name="u"),
            "inner.yaml": "group: inner\ndescription: inner\nrepeats: 2\ntask: [u]\n",
            "g.yaml": "group: g\ndescription: outer\nnum_fewshot: 3\ntask:\n  - {task: t, num_fewshot: 5}\n  - inner\n",
        },
    )
    configs = {spec.name: config_of(spec) for spec in load(tmp_path, "g").tasks}
    assert {name: (c.description, c.num_fewshot, c.repeats) for name, c in configs.items()} == {
        "t": ("outer", 5, 1),
        "u": ("outer", 3, 2),  # who names a group wins over the group
    }
    assert tree(tmp_path, "g") == {"g": ("t", "inner"), "inner": ("u",)}
    assert config_of(load(tmp_path, "inner").tasks[0]).description == "inner"


def test_subgroups_and_tasks_written_inside_a_group_are_named_after_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "_base": "dataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n",
            "t.yaml": task_text(),
            "g.yaml": """\
                group: g
                task:
                  - group: sub
                    aggregate_metric_list: {metric: acc}
                    task: [t]
                  - task: made
                    include: _base
                    doc_to_text: "{{q}}?"
                    doc_to_target: a
            """,
        },
    )
    assert tree(tmp_path, "g") == {"g": ("g::sub", "g::made"), "g::sub": ("t",)}
    tasks = {spec.name: spec for spec in load(tmp_path, "g").tasks}
    assert config_of(tasks["g::made"]).test_split == "train"
    assert tasks["g::made"].file == tmp_path / "g.yaml"


def test_a_tag_stands_for_its_tasks_in_order_of_their_names(tmp_path: Path) -> None:
    files = {f"{name}.yaml": task_text("tag: some\n", name=name) for name in "cab"}
    write(tmp_path, {**files, "g.yaml": "group: g\ntask: [{task: some, num_fewshot: 2}]\n"})
    assert tree(tmp_path, "g") == {"g": ("a", "b", "c")}
    assert {config_of(spec).num_fewshot for spec in load(tmp_path, "g").tasks} == {2}


def test_a_group_as_task_with_overrides_is_that_group(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "t.yaml": task_text(),
            "s.yaml": "group: s\ntask: t\ntask: [t]\n",
            "g.yaml": "group: g\ntask: [{task: s, repeats: 2}]\n",
        },
    )
    assert tree(tmp_path, "g") == {"g": ("s",), "s": ("t",)}
    assert config_of(load(tmp_path, "g").tasks[0]).repeats == 2


def test_one_task_in_two_ways_has_two_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"t.yaml": task_text(), "g.yaml": "group: g\ntask: [t, {task: t, repeats: 2}, {task: t, repeats: 2}]\n"},
    )
    assert tree(tmp_path, "g") == {"g": ("t", "t-1")}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("[tt]", "There is no task, group or tag 'tt'"),
        ("[{task: tt, num_fewshot: 1}]", "There is no task, group or tag 'tt'"),
        ("[{description: x}]", "needs 'task' or 'group'; it has 'description'"),
        ("[g]", "These groups contain each other: g → g"),
    ],
)
def test_members_that_cannot_be(tmp_path: Path, members: str, message: str) -> None:
    write(tmp_path, {"t.yaml": task_text(), "g.yaml": f"group: g\ntask: {members}\n"})
    with pytest.raises(PlanError) as caught:
        load(tmp_path, "g")
    assert message in caught.value.what
    assert caught.value.where == f"{tmp_path / 'g.yaml'}:2"


def test_what_a_group_makes_of_its_tasks(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text(), "g.yaml": "group: g\ntask: [t]\naggregate_metric_list: {metric: acc}\n"})
    (made,) = load(tmp_path, "g").groups[0].aggregates
    assert (made["metric"], made["weight_by_size"], made["filter_list"]) == ("acc", True, ())


@pytest.mark.parametrize(
    ("extra", "message", "hint"),
    [
        ("doc_to_visual: q\n", "lm-eval's tasks have no field 'doc_to_visual'", ""),
        ("gen_prefx: q\n", "lm-eval's tasks have no field 'gen_prefx'", "gen_prefix"),
        ("output_type: rolling\n", "Task field 'output_type'", ""),
        ("fewshot_config: {sampel: x}\n", "there is no key 'sampel'", "sampler"),
        ("repeats: 0\n", "Task field 'repeats'", ""),
    ],
)
def test_fields_that_cannot_be(tmp_path: Path, extra: str, message: str, hint: str) -> None:
    write(tmp_path, {"t.yaml": task_text(extra)})
    with pytest.raises(PlanError) as caught:
        load(tmp_path, "t")
    assert message in caught.value.what
    assert hint in f"{caught.value.what} {caught.value.hint}"


def test_null_is_the_default_but_for_unsafe_code() -> None:
    made = LmTaskConfig(task="t", repeats=None, description=None, unsafe_code=None, metadata=3, dataset_name=False)
    assert (made.repeats, made.description, made.is_unsafe, made.metadata) == (1, "", True, {"_metadata": 3})
    assert made.dataset_name is None
    assert not LmTaskConfig(task="t").is_unsafe


def test_what_is_missing_is_told_before_data_is_opened(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": "task: t\ndataset_path: json\ndoc_to_text: q\ndoc_to_target: a\n"}, rows=None)
    with pytest.raises(PlanError, match="has no test_split or validation_split"):
        open_in(tmp_path)
    write(tmp_path, {"t.yaml": task_text("output_type: multiple_choice\n")}, rows=None)
    with pytest.raises(PlanError, match="has no doc_to_choice"):
        open_in(tmp_path)


def test_what_is_checked_without_running_code(tmp_path: Path) -> None:
    from polymeter.interop.lm_eval.tasks import FORMAT

    write(
        tmp_path,
        {
            "t.yaml": task_text(
                """\
                description: "{{broken"
                process_docs: !function utils.missing
                metric_list: [{metric: exact_match, aggregation: meen}]
                filter_list: [{name: a, filter: [{function: regexx}]}]
                """
            ),
            "utils.py": "raise RuntimeError('never run')\n",
        },
    )
    found = catalog(tmp_path)
    messages = " ".join(problem.message for problem in FORMAT.check(found.get("t"), found))
    for part in (
        "utils.py defines no 'missing'",
        "no aggregation 'meen'",
        "no filter 'regexx'",
        "description is not valid",
    ):
        assert part in messages, messages
    assert ("test_split", "train") in [row[:2] for row in FORMAT.describe(found.get("t"), found)]
    assert "task: t" in FORMAT.flatten(found.get("t"), found)


def test_names_that_code_defines_as_it_runs_are_not_missed(tmp_path: Path) -> None:
    from polymeter.interop.lm_eval.tasks import FORMAT

    code = "for name in ('one', 'two'):\n    globals()[f'process_{name}'] = lambda data: data\n"
    write(tmp_path, {"t.yaml": task_text("process_docs: !function utils.process_two\n"), "utils.py": code})
    found = catalog(tmp_path)
    assert FORMAT.check(found.get("t"), found) == []
    assert len(open_in(tmp_path).samples) == len(ROWS)


def test_what_an_author_says_of_a_missing_package_is_shown(tmp_path: Path) -> None:
    code = "raise ModuleNotFoundError('please install them with: pip install made-up[math]')\n"
    write(tmp_path, {"t.yaml": task_text("process_docs: !function utils.docs\n"), "utils.py": code})
    with pytest.raises(PlanError, match=r"please install them with: pip install made-up\[math\]") as caught:
        open_in(tmp_path)
    assert "utils.py:1" in caught.value.where
