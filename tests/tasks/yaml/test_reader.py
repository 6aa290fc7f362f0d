"""Layer one: YAML as pure data."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.guests import FunctionRef
from polymeter.tasks.yaml.files.reader import YamlReader, parse
from tests.tasks.yaml.kit import write


def read(file: Path):
    return YamlReader().read(file)


def test_own_keys_win_over_includes_and_earlier_includes_over_later(tmp_path):
    write(tmp_path, {"a": "x: a\ny: a\n", "b": "x: b\ny: b\nz: b\n", "t.yaml": "include: [a, b]\nx: own\n"})
    assert read(tmp_path / "t.yaml").values == {"x": "own", "y": "a", "z": "b"}


def test_merging_is_shallow(tmp_path):
    write(tmp_path, {"a": "g: {x: 1, y: 2}\n", "t.yaml": "include: a\ng: {x: 3}\n"})
    assert read(tmp_path / "t.yaml").values == {"g": {"x": 3}}


def test_includes_chain_and_resolve_beside_the_including_file(tmp_path):
    write(tmp_path, {"base/c": "x: 1\n", "base/b": "include: c\ny: 2\n", "t/t.yaml": "include: ../base/b\n"})
    assert read(tmp_path / "t" / "t.yaml").values == {"x": 1, "y": 2}


def test_beside_the_file_comes_before_the_working_directory(tmp_path, monkeypatch):
    write(
        tmp_path,
        {"cwd/a": "x: cwd\n", "cwd/only": "y: cwd\n", "t/a": "x: beside\n", "t/t.yaml": "include: [a, only]\n"},
    )
    monkeypatch.chdir(tmp_path / "cwd")
    assert read(tmp_path / "t" / "t.yaml").values == {"x": "beside", "y": "cwd"}


def test_a_circle_of_includes_is_named(tmp_path):
    write(tmp_path, {"a": "include: b\n", "b": "include: a\n"})
    with pytest.raises(PlanError, match="a → b → a"):
        read(tmp_path / "a")


def test_a_missing_include_names_file_line_and_the_nearest(tmp_path):
    write(tmp_path, {"_default_template_yaml": "x: 1\n", "t.yaml": "task: t\ninclude: _default_templat_yaml\n"})
    with pytest.raises(PlanError, match=r"t\.yaml:2.*'_default_template_yaml'"):
        read(tmp_path / "t.yaml")


def test_a_tag_in_a_template_resolves_in_the_templates_folder(tmp_path):
    write(tmp_path, {"base/tmpl": "f: !function utils.fn\n", "t/t.yaml": "include: ../base/tmpl\n"})
    ref = read(tmp_path / "t" / "t.yaml").values["f"]
    assert ref == FunctionRef("utils", "fn", tmp_path / "base", tmp_path / "base" / "tmpl", 1)


def test_the_last_part_of_a_tag_is_the_attribute(tmp_path):
    write(tmp_path, {"t.yaml": "f: !function a.b.c\n"})
    ref = read(tmp_path / "t.yaml").values["f"]
    assert (ref.module, ref.attribute) == ("a.b", "c")


def test_provenance_knows_file_and_line_of_each_value(tmp_path):
    write(tmp_path, {"a": "x: 1\ny: 2\n", "t.yaml": "include: a\ny: 3\n"})
    found = read(tmp_path / "t.yaml")
    assert found.where("x") == f"{tmp_path / 'a'}:1"
    assert found.where("y") == f"{tmp_path / 't.yaml'}:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\nb: 2\n", r"not valid YAML.*:2"),
        ("a: !!python/object:os.system x\n", r"not valid YAML.*:1"),
        ("- 1\n", "must be a mapping"),
        ("f: !function nodot\n", r"module\.function.*:1"),
    ],
)
def test_broken_files_say_where(tmp_path, text, message):
    write(tmp_path, {"t.yaml": text})
    with pytest.raises(PlanError, match=message):
        parse(tmp_path / "t.yaml")


def test_a_key_written_twice_is_noticed_and_the_later_one_wins(tmp_path):
    write(tmp_path, {"t.yaml": "a: 1\nb: {c: 1, c: 2}\na: 3\n"})
    found = parse(tmp_path / "t.yaml")
    assert found.values == {"a": 3, "b": {"c": 2}}
    assert sorted(found.duplicates) == [("a", 3), ("c", 2)]


keys = st.sampled_from("abcdef")
values = st.dictionaries(keys, st.integers(0, 9), max_size=4)


@given(own=values, includes=st.lists(values, max_size=4))
def test_merging_equals_laying_mappings_over_each_other(own, includes):
    folder = Path(tempfile.mkdtemp())
    try:
        for i, value in enumerate(includes):
            (folder / f"i{i}").write_text("".join(f"{k}: {v}\n" for k, v in value.items()))
        head = f"include: [{', '.join(f'i{i}' for i in range(len(includes)))}]\n" if includes else ""
        (folder / "t.yaml").write_text(head + "".join(f"{k}: {v}\n" for k, v in own.items()))
        expected: dict[str, int] = {}
        for value in [*reversed(includes), own]:
            expected.update(value)
        assert read(folder / "t.yaml").values == expected
    finally:
        shutil.rmtree(folder)
        assert not os.path.exists(folder)
