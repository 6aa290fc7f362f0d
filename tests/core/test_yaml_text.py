"""What a YAML text stands for is counted before anything is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.text.yaml_text import DEEPEST, MOST_REPEATED, parse_yaml, read_yaml


def test_aliases_that_repeat_little_are_shared_as_before() -> None:
    read = parse_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n", where="t.yaml")
    assert read == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert read["a"] is read["b"]


def test_a_long_list_without_aliases_is_read() -> None:
    n = MOST_REPEATED + 10
    assert len(parse_yaml("- 1\n" * n, where="t.yaml")) == n


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: &a [*a]\n", "t.yaml:1", "no end"),
        ("a: &a {<<: *a}\n", "t.yaml:1", "no end"),
        (f"a: &a [{'x, ' * 1000}x]\nb: [{'*a, ' * 200}*a]\n", "t.yaml:2", "100,000"),
        (f"a: &a {'x' * 1_000_000}\nb: [{'*a, ' * 200}*a]\n", "t.yaml:2", "100,000"),
        ("a:\n  - " + "- " * DEEPEST + "x\n", "t.yaml:2", "inside one another"),
        ("a: {" * (DEEPEST + 1), "t.yaml:1", "inside one another"),
        ("a: 1\nb: !!int x\n", "t.yaml:2", "column 4"),
        ("a: 1\nb: !!bool x\n", "t.yaml:2", "column 4"),
        ("a: 1\n--- \nb: 2\n", "t.yaml:2", "column"),
        ("a: !!python/object:os.system x\n", "t.yaml:1", "constructor"),
    ],
)
def test_what_cannot_be_read_has_its_place(text: str, place: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as raised:
        parse_yaml(text, where="t.yaml")
    assert raised.value.where == place


def test_bytes_that_are_no_text_have_their_place(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(PlanError, match=r"0xff in column 4") as raised:
        read_yaml(tmp_path / "t.yaml")
    assert raised.value.where == f"{tmp_path / 't.yaml'}:2"
