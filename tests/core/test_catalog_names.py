"""The names in a catalog, by what they stand for."""

from __future__ import annotations

from pathlib import Path

from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.catalog_names import CatalogNames, pattern_match

OWN = Entry("mine", "task", "yaml", Path("mine.yaml"), is_user=True, tags=("colours",))
COMES_WITH = Entry("set", "group", "yaml", Path("set.yaml"), is_user=False, members=("mine",))


def test_names_are_told_by_what_they_stand_for() -> None:
    names = CatalogNames(Catalog({entry.name: entry for entry in (OWN, COMES_WITH)}))
    assert (names.all_subtasks, names.all_groups, names.all_tags) == (["mine"], ["set"], ["colours"])
    assert names.all_tasks == ["colours", "mine", "set"]
    assert names.kinds_and_files() == {
        "colours": ("tag", None),
        "mine": ("task", Path("mine.yaml")),
        "set": ("group", Path("set.yaml")),
    }
    assert names.match_tasks(["m*", "s?t"]) == ["mine", "set"]


def test_what_the_user_did_not_name_can_be_left_out() -> None:
    catalog = Catalog({entry.name: entry for entry in (OWN, COMES_WITH)})
    names = CatalogNames(catalog, include_defaults=False)
    assert names.all_tasks == ["colours", "mine"]
    assert names.catalog is catalog


def test_patterns_name_each_once() -> None:
    assert pattern_match(["a*", "*b"], ["b", "ab", "ab", "c"]) == ["ab", "b"]
    assert pattern_match("c", iter("abc")) == ["c"]
