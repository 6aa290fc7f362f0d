"""Filters and order of the samples shown, all of them in the address of the page. A filter with several values lets
each of them pass; a sample must pass all filters. The index holds the compared values, so that no sample is read for
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from polymeter.core.errors import PlanError
from polymeter.core.records.truncation import EMPTY, IMAGES, KINDS, LENGTH, PROMPT
from polymeter.store.verdicts import Kind
from polymeter.viewer.sample_index import CUT, FIELD, LONGEST_TEXT, NONE, SCORE, Main, Mask, Positions, SampleIndex

_LONGEST_PATTERN = 200
Query = Sequence[tuple[str, str]]
STATES = ("right", "wrong", "failed", "unscored")
FAILED = ("error", "refused", "truncated")
PLACES = {name: name for name in ("prompt", "answer", "target", "file", "judge", "id")}
ANYWHERE = ("id", "prompt", "answer", "target", "judge", "file")
VERDICTS: Mapping[str, Kind | None] = {"scored": "score", "labelled": "label", "excluded": "exclude", "any": None}
"""The kinds of verdicts of people, by their names in an address."""
SORTS = {"": "Dataset order", "worst": "Worst first", "best": "Best first", "longest": "Longest answer first"}
"""The orders without the name of a metric; ``worst:`` and ``best:`` are followed by one."""
CUTS = {
    LENGTH: "at the token limit",
    EMPTY: "empty after reasoning",
    IMAGES: "images scaled down",
    PROMPT: "prompt truncated",
}
"""The kinds of truncation in a few words."""
BLIND = {"yes": "answered blind", "no": "not answered blind"}
"""The two values of the filter for samples that were answered right without their media, in words."""
VIEWS = {"": "Rows", "dense": "Dense", "grid": "Grid"}
NAMES = (
    "state",
    "status",
    "cut",
    "subset",
    "category",
    "metric",
    "min",
    "max",
    "q",
    "in",
    "tag",
    "flipped",
    "verdict",
    "blind",
    "sort",
    "view",
)
"""The names of all filters in an address, and of the view."""
_ORDER_AND_LOOK = ("sort", "in", "metric", "view")
"""Those of them that leave no sample out."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of an address.

    Attributes:
        states: ``right``, ``wrong``, ``failed`` or ``unscored``.
        statuses: Statuses of samples.
        subsets: Their subsets.
        categories: Pairs of a field of the row and its value.
        metric: The metric whose numbers are limited.
        least: Its least value; ``None``: any.
        most: Its greatest value; ``None``: any.
        texts: Texts that must all occur, in any case.
        place: The text that is searched: ``prompt``, ``answer``, ``target``, ``judge`` or ``id``; empty: anywhere.
        tags: Tags that people left, each of which a sample must have; ``*``: any note or tag.
        flipped: The key of a run in which samples are right where they are wrong in this one, or the other way round.
        sort: A key of ``SORTS``, or ``worst:`` or ``best:`` and the name of a metric.
        view: A key of ``VIEWS``.
        verdicts: Kinds of verdicts of people, keys of ``VERDICTS``, one of which a sample must have.
        cuts: Kinds of truncation, one of which an answer to a sample must have.
        blind: A key of ``BLIND``: whether a sample was answered right without its media; empty: either.
    """

    states: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    categories: tuple[tuple[str, str], ...] = ()
    metric: str = ""
    least: float | None = None
    most: float | None = None
    texts: tuple[str, ...] = ()
    place: str = ""
    tags: tuple[str, ...] = ()
    flipped: str = ""
    sort: str = ""
    view: str = ""
    verdicts: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    blind: str = ""
    key: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """The part of the query that identifies these filters."""

    @classmethod
    def of_query(cls, query: Query) -> Filters:
        """Return the filters in a query. Unknown names and values are ignored."""
        told = tuple(dict.fromkeys((name, value) for name, value in query if name in NAMES and value))
        last = dict(told)

        def every(name: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(value for key, value in told if key == name))

        return cls(
            tuple(state for state in STATES if state in every("state")),
            every("status"),
            every("subset"),
            tuple((pair[0], pair[2]) for value in every("category") if (pair := value.partition(":"))[1]),
            last.get("metric", ""),
            _number(last.get("min", "")),
            _number(last.get("max", "")),
            every("q"),
            last["in"] if last.get("in") in PLACES else "",
            every("tag"),
            last.get("flipped", ""),
            last.get("sort", "") if _is_sort(last.get("sort", "")) else "",
            last["view"] if last.get("view") in VIEWS else "",
            tuple(verdict for verdict in VERDICTS if verdict in every("verdict")),
            tuple(kind for kind in KINDS if kind in every("cut")),
            last["blind"] if last.get("blind") in BLIND else "",
            told,
        )

    @property
    def is_empty(self) -> bool:
        """True if all samples pass."""
        return not any(name not in _ORDER_AND_LOOK for name, _ in self.key)

    @property
    def text(self) -> str:
        """The last of the texts; empty if there is none."""
        return self.texts[-1] if self.texts else ""

    @property
    def selecting(self) -> Query:
        """The part of the query that determines the samples and their order."""
        return tuple(pair for pair in self.key if pair[0] != "view")

    def query_with(self, name: str, value: str) -> Query:
        """The query with another value of a name; an empty value leaves it out."""
        rest = tuple(pair for pair in self.key if pair[0] != name)
        return (*rest, (name, value)) if value else rest

    def chips(self) -> Iterator[tuple[str, Query]]:
        """The texts of the filters, each with the query without it."""
        for name, value in self.key:
            said = _SAID.get(name)
            if said is not None:
                rest = [pair for pair in self.key if pair != (name, value)]
                yield said(value), rest


@dataclass(frozen=True, slots=True)
class FilteredSamples:
    """The samples that a filter leaves, as places in the index, in the order in which they are shown."""

    positions: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.positions)

    def place_of(self, position: int) -> int | None:
        """The place of a sample among these; ``None`` if it is not one of them."""
        found = np.flatnonzero(self.positions == position)
        return int(found[0]) if len(found) else None


@dataclass(frozen=True, slots=True)
class OtherRun:
    """The index of another run, and the metric by which its samples are right or wrong."""

    index: SampleIndex
    main: Main | None


def select(
    index: SampleIndex,
    filters: Filters,
    main: Main | None,
    *,
    lower_is_better: Collection[str] = (),
    tagged: Callable[[str], Collection[str]] = lambda tag: (),
    judged: Callable[[str], Collection[str]] = lambda verdict: (),
    blind: Collection[str] = (),
    other: OtherRun | None = None,
) -> FilteredSamples:
    """The samples that pass all filters.

    Args:
        index: The samples.
        filters: The filters.
        main: The metric by which samples are right or wrong.
        lower_is_better: The metrics, besides this one, of which less is better.
        tagged: The ids of the samples with a tag.
        judged: The ids of the samples with a kind of verdict.
        blind: The ids of the samples that were answered right without their media.
        other: The run that ``flipped`` names.

    Raises:
        PlanError: if a filter needs something that the samples do not have.
    """
    masks = [*_masks(index, filters, main)]
    masks += [_with_ids(index, tagged(tag)) for tag in filters.tags]
    if filters.verdicts:
        masks.append(np.logical_or.reduce([_with_ids(index, judged(verdict)) for verdict in filters.verdicts]))
    if filters.blind:
        is_blind = _with_ids(index, blind)
        masks.append(is_blind if filters.blind == "yes" else ~is_blind)
    if filters.flipped:
        if other is None:
            raise PlanError("The run to compare with does not exist.", where="flipped")
        masks.append(flipped(index, main, other))
    mask = np.logical_and.reduce(masks) if masks else None
    for text in filters.texts:  # last, because it is the slowest: only samples that pass the others are searched
        mask = with_text(index, text, (PLACES[filters.place],) if filters.place else ANYWHERE, mask)
    positions = np.arange(index.n, dtype=np.int32) if mask is None else np.flatnonzero(mask).astype(np.int32)
    return FilteredSamples(_sorted(index, filters, main, lower_is_better, positions))


def flipped(index: SampleIndex, main: Main | None, other: OtherRun) -> Mask:
    """The samples that are right in one run and wrong in the other."""
    theirs = aligned(index, other.index)
    is_in_both = theirs != NONE
    right, wrong = (
        np.where(is_in_both, mask[theirs] if len(mask) else False, False)
        for mask in (other.index.is_right(other.main), other.index.is_wrong(other.main))
    )
    return (index.is_right(main) & wrong) | (index.is_wrong(main) & right)


def aligned(index: SampleIndex, other: SampleIndex, names: Mapping[str, str] | None = None) -> Positions:
    """For each sample, its place in the index of another run; ``NONE`` where that has no sample of this id.

    Args:
        index: The samples.
        other: The index of the other run.
        names: The ids in ``index`` of the other run's samples, by their own ids; default: they are the same.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    own, theirs = index.texts("id"), other.texts("id")
    if names:
        theirs = pa.chunked_array([[names.get(one, one) for one in theirs.to_pylist()]], type=theirs.type)
    if index.n == other.n and own.equals(theirs):  # the usual case, and much cheaper than a lookup
        return np.arange(index.n, dtype=np.int64)
    found = pc.index_in(own, value_set=theirs.combine_chunks())
    return np.asarray(pc.fill_null(found, NONE).to_numpy(), dtype=np.int64)


def _masks(index: SampleIndex, filters: Filters, main: Main | None) -> Iterator[Mask]:
    if filters.states:
        yield np.logical_or.reduce([_in_state(index, state, main) for state in filters.states])
    if filters.statuses:
        yield index.codes("status", [*filters.statuses], index.statuses)
    if filters.cuts:
        yield np.logical_or.reduce([index.column(CUT + kind) > 0 for kind in filters.cuts])
    if filters.subsets:
        yield np.logical_or.reduce([_in_subset(index, subset) for subset in filters.subsets])
    fields = index.fields
    for name in dict.fromkeys(name for name, _ in filters.categories):
        if name not in fields:
            raise PlanError(f"The rows have no category {name!r}.", hint="Remove this filter.")
        yield index.codes(FIELD + name, [value for own, value in filters.categories if own == name], fields[name])
    if filters.metric and (filters.least is not None or filters.most is not None):
        if filters.metric not in index.metrics:
            raise PlanError(f"No sample has a number for {filters.metric!r}.", hint="Remove this filter.")
        values = index.column(SCORE + filters.metric)
        mask = ~np.isnan(values)
        if filters.least is not None:
            mask &= values >= filters.least
        if filters.most is not None:
            mask &= values <= filters.most
        yield mask


def _in_subset(index: SampleIndex, subset: str) -> Mask:
    """The samples of a subset, at any depth; results also name the subsets that a field of the rows makes."""
    wanted = [name for name in index.subsets if name == subset or name.startswith(f"{subset}/")]
    field, _, value = subset.partition("/")
    counts = index.fields.get(field, {})
    if not wanted and value in counts:
        return index.codes(FIELD + field, [value], counts)
    return index.codes("subset", wanted, index.subsets)


def _in_state(index: SampleIndex, state: str, main: Main | None) -> Mask:
    if state == "failed":
        return index.codes("status", [*FAILED], index.statuses)
    if state == "unscored":
        return index.codes("status", ["unscored"], index.statuses)
    return index.is_wrong(main) if state == "wrong" else index.is_right(main)


def n_in_state(index: SampleIndex, state: str, main: Main | None) -> int:
    """The number of samples in one of ``STATES``."""
    if state in ("failed", "unscored"):  # counted already
        return sum(index.statuses.get(status, 0) for status in (FAILED if state == "failed" else ("unscored",)))
    return int(_in_state(index, state, main).sum())


def _with_ids(index: SampleIndex, ids: Collection[str]) -> Mask:
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(ids), pa.large_string())
    return np.asarray(pc.is_in(index.texts("id"), value_set=wanted).to_numpy(), dtype=np.bool_)


def with_text(index: SampleIndex, text: str, columns: Sequence[str] = ANYWHERE, mask: Mask | None = None) -> Mask:
    """The samples in which a text occurs.

    Args:
        index: The samples.
        text: The text, in any case.
        columns: The texts that are searched.
        mask: The samples to search; ``None``: all.
    """
    import pyarrow.compute as pc

    sought = text[:LONGEST_TEXT].lower().encode("utf-8", "replace")
    wanted, in_bytes = sought.decode(), re.compile(re.escape(sought))
    rest = np.ones(index.n, dtype=np.bool_) if mask is None else mask
    found = np.zeros(index.n, dtype=np.bool_)
    for column in columns:
        if column == "file" and not index.has_files:
            continue
        start = 0
        for piece in index.texts(column).chunks:
            here = slice(start, start + len(piece))
            start += len(piece)
            if (rest[here] & ~found[here]).any():
                # Ids are kept as they are, all else is in lower case already.
                folded = pc.utf8_lower(piece) if column == "id" else piece
                # A text that is not in the bytes of a piece is in none of its rows; this look takes a seventh of the
                # time, and most texts that people search are in few pieces.
                if in_bytes.search(folded.buffers()[2] or b""):
                    found[here] |= np.asarray(_occurs(folded, wanted).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return rest & found


def _occurs(texts: Any, wanted: str) -> Any:
    """Return whether a text occurs in each of an array. As a pattern a short one is found in half of the time."""
    import pyarrow.compute as pc

    if len(wanted) <= _LONGEST_PATTERN:
        return pc.match_substring_regex(texts, re.escape(wanted))
    return pc.match_substring(texts, wanted)


def sorting_metric(index: SampleIndex, filters: Filters, main: Main | None) -> str:
    """The metric by which samples are sorted; empty if by none."""
    way, _, name = filters.sort.partition(":")
    if way not in ("worst", "best"):
        return ""
    if name:
        return name if name in index.metrics else ""
    return filters.metric if filters.metric in index.metrics else main.name if main else ""


def _is_sort(value: str) -> bool:
    way, colon, name = value.partition(":")
    return value in SORTS or (way in ("worst", "best") and bool(colon and name))


def _sorted(
    index: SampleIndex,
    filters: Filters,
    main: Main | None,
    lower_is_better: Collection[str],
    positions: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    if filters.sort == "longest":
        return positions[np.argsort(-index.column("answer_chars")[positions], kind="stable")]
    name = sorting_metric(index, filters, main)
    if name:
        is_lower_better = name in lower_is_better or (main is not None and name == main.name and main.is_lower_better)
        is_worst_first = filters.sort.startswith("worst")
        values = index.column(SCORE + name)[positions]
        # Samples without a number are last, in the order of the dataset.
        order = np.argsort(values if is_worst_first != is_lower_better else -values, kind="stable")
        return positions[order]
    return positions


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", ".")) if len(text) < 40 else float("nan")
    except ValueError:
        return None
    return None if value != value else value  # noqa: PLR0124  (NaN is what differs from itself)


_SAID: Mapping[str, Callable[[str], str]] = {
    "state": lambda value: value,
    "status": lambda value: f"ended: {value}",
    "cut": lambda value: CUTS.get(value, value),
    "subset": lambda value: f"subset: {value}",
    "category": lambda value: value.replace(":", " = ", 1),
    "min": lambda value: f"at least {value}",
    "max": lambda value: f"at most {value}",
    "q": lambda value: f"“{value}”",
    "tag": lambda value: "with a note" if value == "*" else f"tag: {value}",
    "flipped": lambda value: f"flipped against {value}",
    "blind": lambda value: BLIND.get(value, value),
    "verdict": lambda value: "with a verdict" if value == "any" else f"{value} by a person",
}


def found_in(values: Mapping[str, Any], most: int) -> list[tuple[str, Any]]:
    """The most frequent values of a field, for a list to choose from."""
    return sorted(values.items(), key=lambda pair: -pair[1])[:most]
