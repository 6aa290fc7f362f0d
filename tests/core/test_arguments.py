"""What Python callers pass: one name or several, and mappings that may be left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError, nearest
from polymeter.core.settings.arguments import mapping_of, names_of


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("said", ("said",)),
        (Path("a/said.yaml"), (str(Path("a/said.yaml")),)),
        (["said", Path("b.yaml")], ("said", "b.yaml")),
        (("said",), ("said",)),
        ((name for name in ("a", "b")), ("a", "b")),
        ({"said"}, ("said",)),
        ((), ()),
    ],
)
def test_names(given: Any, names: tuple[str, ...]) -> None:
    assert names_of(given, "tasks") == names


@pytest.mark.parametrize("given", [None, 0, 2.5, b"said", [b"said"], [["said"]], [None], {"said": 1}, [{"a": 1}]])
def test_what_is_no_name(given: Any) -> None:
    with pytest.raises(PlanError, match=r"is neither a name nor a path\. \[tasks\]"):
        names_of(given, "tasks")


def test_mappings() -> None:
    told = {"a": 1}
    assert (mapping_of(None, "roles"), mapping_of({}, "roles"), mapping_of(told, "roles")) == ({}, {}, told)
    assert mapping_of(told, "roles") is not told
    for given in (5, "a=b", ["a"], [("a", 1)], {1: 2}):
        with pytest.raises(PlanError, match=r"roles must be a mapping with text as keys"):
            mapping_of(given, "roles")


@pytest.mark.parametrize(
    ("name", "known", "near", "why"),
    [
        ("tset", ["test", "train"], ["test"], "two letters changed places"),
        ("fewshots", ["num_fewshot", "limit"], ["num_fewshot"], "most letters are the same"),
        ("accuracy", ["acc", "acc_norm", "concurrency"], ["acc"], "the beginning of a name"),
        ("mmlu", ["mmlu_pro", "mme"], ["mmlu_pro"], "a name that begins so"),
        ("example", ["demo_page", "report_samples"], [], "only some letters, in this order"),
        ("weather", ["wer", "ter"], [], "a short name inside"),
        ("sonnet", ["reasoning_tags", "offset", "is_offline"], [], "far"),
        ("hf", ["h", "xhf"], ["xhf"], "one letter begins nothing"),
    ],
)
def test_nearest_names(name: str, known: list[str], near: list[str], why: str) -> None:
    assert nearest(name, known) == near, why
