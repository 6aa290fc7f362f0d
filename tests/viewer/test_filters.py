"""Filters of samples: each alone, combined, in the address, and compared with what the samples say."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.core.logs import LoggedExchange, LoggedOutput
from polymeter.store.folder import RunFolder
from polymeter.viewer.filters import NAMES, Filters, OtherRun, _occurs, aligned, select
from polymeter.viewer.index_making import make_index
from polymeter.viewer.sample_index import SampleIndex
from tests.helpers.viewed_runs import TASK, hostile_sample, sample, write_run

RESULT = {
    "results": [{"metric": "exact_match", "filter": "none", "value": 0.5, "bounds": [0, 1], "higher_is_better": True}]
}
N = 120
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def index_of(folder, samples) -> SampleIndex:
    run = write_run(folder / "run", samples)
    (folder / "index").mkdir()
    make_index(RunFolder(run), TASK, folder / "index", "state")
    found = SampleIndex.at(folder / "index")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> SampleIndex:
    samples = [sample(n, right=n % 4 != 0) for n in range(N - 2)]
    samples += [sample(N - 2, status="error"), sample(N - 1, status="unscored")]
    return index_of(tmp_path_factory.mktemp("index"), samples)


def test_kinds_of_truncation_are_filters(tmp_path):
    cut = [
        replace(sample(1), exchanges=(LoggedExchange((LoggedOutput("Par", finish_reason="length"),)),)),
        replace(sample(2), exchanges=(LoggedExchange((LoggedOutput("<think>hm</think>", finish_reason="stop"),)),)),
    ]
    index = index_of(tmp_path, [sample(0), *cut, sample(3)])
    assert index.cuts == {"length": 1, "empty": 1}
    assert chosen(index, ("cut", "length")) == [1]
    assert chosen(index, ("cut", "length"), ("cut", "empty")) == [1, 2]
    assert chosen(index, ("cut", "prompt")) == []
    assert [said for said, _ in Filters.of_query((("cut", "empty"),)).chips()] == ["empty after reasoning"]


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> SampleIndex:
    """Another run of a part of the samples, in another order of ids."""
    samples = [sample(n, id=f"row-{N - 1 - n:04}", right=n % 3 != 0) for n in range(N // 2)]
    return index_of(tmp_path_factory.mktemp("other"), samples)


def chosen(index: SampleIndex, *query: tuple[str, str], **more) -> list[int]:
    filters = Filters.of_query(query)
    found = select(index, filters, index.main(RESULT), **more)
    return [int(n) for n in index.column("index")[found.positions]]


def those(wanted) -> list[int]:
    return [n for n in range(N) if wanted(n)]


def is_right(n: int) -> bool:
    return n < N - 2 and n % 4 != 0


def is_wrong(n: int) -> bool:
    return n < N - 2 and n % 4 == 0


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ([], lambda n: True),
        ([("state", "wrong")], is_wrong),
        ([("state", "right")], is_right),
        ([("state", "failed")], lambda n: n == N - 2),
        ([("state", "wrong"), ("state", "unscored")], lambda n: is_wrong(n) or n == N - 1),
        ([("status", "error")], lambda n: n == N - 2),
        ([("subset", "north")], lambda n: n % 2),
        ([("subset", "south")], lambda n: not n % 2),
        ([("subset", "south/far")], lambda n: not n % 2),
        ([("subset", "sou")], lambda n: False),
        ([("subset", "continent/Asia")], lambda n: n % 3 == 1),
        ([("category", "continent:Asia")], lambda n: n % 3 == 1),
        ([("category", "continent:Asia"), ("category", "continent:Africa")], lambda n: n % 3 < 2),
        ([("metric", "f1"), ("min", "0.25")], lambda n: is_right(n) or (is_wrong(n) and n % 10 / 20 >= 0.25)),
        ([("metric", "f1"), ("min", "0.1"), ("max", "0.3")], lambda n: is_wrong(n) and 0.1 <= n % 10 / 20 <= 0.3),
        ([("metric", "f1"), ("max", "0,3")], lambda n: is_wrong(n) and n % 10 / 20 <= 0.3),
        ([("q", "COUNTRY 17?")], lambda n: n == 17),
        ([("q", "lyon")], is_wrong),
        ([("q", "lyon"), ("in", "prompt")], lambda n: False),
        ([("q", "verdict"), ("in", "judge")], lambda n: n % 5 == 0),
        ([("q", "row-001")], lambda n: 10 <= n < 20),
        ([("q", "row-001"), ("q", "country 12")], lambda n: n == 12),
        ([("q", "row-001"), ("in", "file")], lambda n: False),
        ([("q", "paris"), ("in", "target"), ("state", "wrong"), ("subset", "north")], lambda n: False),
        (
            [("q", "what is"), ("state", "wrong"), ("category", "continent:Europe")],
            lambda n: is_wrong(n) and n % 3 == 2,
        ),
        ([("min", "nonsense"), ("state", "nonsense"), ("foreign", "x")], lambda n: True),
    ],
)
def test_filters_let_through_what_they_say(index, query, wanted):
    assert chosen(index, *query) == those(wanted)


def test_tags_are_those_of_the_notes(index):
    tagged = {"odd": {"row-0003", "row-0005"}, "*": {"row-0003", "row-0005", "row-0004"}}.get
    assert chosen(index, ("tag", "odd"), tagged=tagged) == [3, 5]
    assert chosen(index, ("tag", "*"), tagged=tagged) == [3, 4, 5]
    assert chosen(index, ("tag", "odd"), ("state", "wrong"), tagged=tagged) == []


def test_flipped_samples_are_right_in_one_run_and_wrong_in_the_other(index, other):
    flipped = chosen(index, ("flipped", "other"), other=OtherRun(other, other.main(RESULT)))

    def is_flipped(n: int) -> bool:
        theirs = N - 1 - n
        if not 0 <= theirs < N // 2 or n >= N - 2:
            return False
        return is_right(n) != (theirs % 3 != 0)

    assert flipped == those(is_flipped)
    assert flipped


def test_samples_are_aligned_by_id(index, other):
    places = aligned(index, other)
    assert places[0] == -1
    assert places[N - 1] == 0
    assert places[N // 2] == N // 2 - 1
    assert (aligned(index, index) == np.arange(N)).all()


def test_order(index):
    worst = chosen(index, ("sort", "worst"))
    assert worst[: len(those(is_wrong))] == those(is_wrong)
    assert worst[-2:] == [N - 2, N - 1]
    best = chosen(index, ("sort", "best"), ("metric", "f1"))
    assert best[: len(those(is_right))] == those(is_right)
    assert chosen(index, ("sort", "best:f1")) == best
    assert chosen(index, ("sort", "worst:f1"), lower_is_better=["f1"]) == best
    assert chosen(index, ("sort", "worst:bleu")) == chosen(index)


def test_a_metric_of_which_less_is_better(index):
    result = {"results": [{**RESULT["results"][0], "higher_is_better": False}]}
    main = index.main(result)
    assert int(index.is_wrong(main).sum()) == len(those(is_right))


def test_what_samples_do_not_have_is_an_error_not_an_empty_page(index):
    with pytest.raises(PlanError, match="no category"):
        chosen(index, ("category", "colour:red"))
    with pytest.raises(PlanError, match="No sample has a number"):
        chosen(index, ("metric", "bleu"), ("min", "0"))


def test_hostile_texts_can_be_searched(tmp_path):
    index = index_of(tmp_path, [hostile_sample(0), sample(1)])
    assert chosen(index, ("q", "<SCRIPT>")) == [0]
    assert chosen(index, ("q", "a\0b")) == [0]
    assert chosen(index, ("q", "%_*")) == []


@given(TEXT.filter(bool), TEXT, TEXT)
def test_a_text_is_found_whatever_stands_in_it(wanted, before, behind):
    texts = pa.array([before + wanted + behind, before, "", wanted], pa.large_string())
    found = _occurs(texts, wanted).to_pylist()
    assert found == [wanted in text for text in texts.to_pylist()]


def test_a_long_text_is_found():
    wanted = "a.b*(" * 300
    assert _occurs(pa.array([f"x{wanted}y", "a.b*("], pa.large_string()), wanted).to_pylist() == [True, False]


def test_a_task_without_samples_has_an_index(tmp_path):
    index = index_of(tmp_path, [])
    assert index.n == 0
    assert chosen(index, ("q", "x"), ("sort", "worst")) == []


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.text(max_size=12)), max_size=12))
def test_an_address_leads_to_the_same_filters_again(query):
    filters = Filters.of_query(query)
    assert Filters.of_query(filters.key) == filters
    assert len([*filters.chips()]) <= len(filters.key)


def test_a_link_stands_for_every_state(client):
    page = client.get(
        "/run/first/samples?state=wrong&category=continent:Asia&q=capital&sort=worst&min=0&metric=f1"
    ).text
    assert 'value="capital"' in page
    assert re.search(r'value="wrong" checked', page)
    assert re.search(r'value="continent:Asia" selected', page)
    assert re.search(r'value="worst:f1" selected', page)
    first = re.search(r'href="(/run/first/sample\?[^"]+)"', page)[1].replace("&amp;", "&")
    shown = client.get(first).text
    assert "that pass" in shown
    following = re.search(r'href="([^"]+)" rel="next"', shown)[1]
    assert "state=wrong" in following
    assert "category=continent%3AAsia" in following


def test_pages_of_samples(client):
    page = client.get("/run/first/samples?page=3").text
    assert "row-0100" in page
    assert "row-0099" not in page
    assert "row-0119" in client.get("/run/first/samples?page=9999").text
    assert client.get("/run/first/samples?page=-1").status_code == 200
