"""The catalog: a user's definition wins, two of one kind clash, and the order of adding does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.errors import PlanError, Problem
from polymeter.core.names.catalog import Catalog, Claims, Entry


def entry(file: str = "a.yaml", name: str = "mme", *, is_user: bool = False, tags: tuple[str, ...] = ()) -> Entry:
    return Entry(name, "task", "task_yaml", Path(file), is_user=is_user, tags=tags)


def catalog_of(*entries: Entry) -> Catalog:
    catalog = Catalog()
    for one in entries:
        catalog.add(one)
    return catalog


@pytest.mark.parametrize("is_user_first", [False, True])
def test_a_users_file_wins_over_a_built_in_one(is_user_first: bool) -> None:
    ours, mine = entry("ours.yaml"), entry("mine.yaml", is_user=True)
    catalog = catalog_of(*((mine, ours) if is_user_first else (ours, mine)))
    assert catalog.get("mme") == mine
    assert catalog.shadowed == {"mme": ours}
    assert list(catalog) == [mine]


@pytest.mark.parametrize("is_user", [False, True])
def test_two_files_of_one_kind_clash_and_both_are_named(is_user: bool) -> None:
    catalog = catalog_of(entry("one.yaml", is_user=is_user), entry("two.yaml", is_user=is_user))
    with pytest.raises(PlanError) as caught:
        catalog.get("mme")
    assert caught.value.what == "Two files define 'mme'."
    assert caught.value.where == "one.yaml and two.yaml"


def test_the_same_file_found_twice_does_not_clash() -> None:
    assert catalog_of(entry(), entry()).get("mme") == entry()


def test_an_unknown_name_names_the_nearest_task_or_tag() -> None:
    catalog = catalog_of(entry(name="mmbench", tags=("chinese",)))
    with pytest.raises(PlanError, match="'mmbench'"):
        catalog.get("mmbenh")
    with pytest.raises(PlanError, match="'chinese'"):
        catalog.get("chines")
    with pytest.raises(PlanError, match="--include-path"):
        catalog.get("zzzzzzzzzzzz")


def test_tags_list_their_tasks_in_catalog_order() -> None:
    catalog = catalog_of(entry(name="b", tags=("x", "y")), entry("b.yaml", "a", tags=("x",)))
    assert catalog.tags() == {"x": ["b", "a"], "y": ["b"]}


def test_problems_of_both_catalogs_are_kept() -> None:
    one, other = Catalog(problems=[Problem("a:1", "x")]), Catalog(problems=[Problem("b:2", "y")])
    one.update(other)
    assert [problem.where for problem in one.problems] == ["a:1", "b:2"]


def outcome(catalog: Catalog) -> Path | frozenset[Path] | None:
    """The file that the name stands for, or all that clash over it."""
    if "mme" in catalog.clashes:
        with pytest.raises(PlanError):
            catalog.get("mme")
        return frozenset(catalog.clashes["mme"])
    return catalog.entries["mme"].file if "mme" in catalog.entries else None


entries = st.lists(st.builds(entry, st.sampled_from(["a", "b", "c"]), is_user=st.just(False)), max_size=3).flatmap(
    lambda ours: st.lists(st.builds(entry, st.sampled_from(["x", "y"]), is_user=st.just(True)), max_size=3).flatmap(
        lambda mine: st.permutations(ours + mine)
    )
)


@settings(deadline=None)
@given(entries, st.integers(0, 6))
def test_what_a_name_stands_for_does_not_depend_on_the_order_of_finding(found: list[Entry], split: int) -> None:
    catalog = catalog_of(*found[:split])
    catalog.update(catalog_of(*found[split:]))
    mine = {one.file for one in found if one.is_user}
    ours = {one.file for one in found if not one.is_user}
    decisive = mine or ours
    expected = frozenset(decisive) if len(decisive) > 1 else next(iter(decisive), None)
    assert outcome(catalog) == expected


def test_claims_of_catalogs_are_joined() -> None:
    one, other = Catalog(), Catalog()
    one.claims.names.add("a")
    other.claims.names.add("b")
    other.claims.unread.append(Path("broken.py"))
    one.update(other)
    assert one.claims == Claims({"a", "b"}, [Path("broken.py")])
