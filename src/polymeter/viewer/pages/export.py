"""The samples that pass the filters as a file: CSV, Parquet or JSON lines, a page of them in memory at a time.

The verdicts of people stand beside the scores of the run, which they do not change here, as on the page of a sample.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from polymeter.core.records.human_scores import HumanScores
from polymeter.core.records.stored_samples import (
    answer_digest,
    answer_text,
    error_text,
    first_messages,
    named,
    numbers_of,
    text_of,
    tokens_of,
)
from polymeter.core.text.json_text import json_text
from polymeter.core.text.spreadsheets import csv_lines
from polymeter.viewer.browsing import Browsed, browsed
from polymeter.viewer.pages.verdicts import mark_of
from polymeter.viewer.site import NotFoundError, PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_AT_ONCE = 500
_HEAD = (
    "run", "task", "id", "index", "subset", "status", "error", "prompt", "answer", "target", "explanation",
    "input_tokens", "output_tokens", "tags", "notes",
)  # fmt: skip
_OF_VERDICTS = ("verdict", "why_excluded")
_HUMAN = "human_"
Rows = Iterator[list[dict[str, Any]]]


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The file."""
    from starlette.responses import StreamingResponse

    kind = asked.path["kind"]
    if kind not in _WRITERS:
        raise NotFoundError(f"Samples cannot be exported as {kind!r}.", hint=f"Known formats: {', '.join(_WRITERS)}.")
    own = browsed(viewer, asked)
    positions = own.selection().positions
    mime, write = _WRITERS[kind]
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in f"{own.run.key}-{own.task}")
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"', "cache-control": "no-store"}
    return StreamingResponse(write(own, positions), media_type=mime, headers=headers)


def _pages(own: Browsed, positions: Any) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(positions), _AT_ONCE):
        yield own.read([int(position) for position in positions[start : start + _AT_ONCE]])


def _rows(own: Browsed, positions: Any) -> Rows:
    for page in _pages(own, positions):
        human = _human(own, page)
        yield [_row(own, sample, human) for sample in page]


def _human(own: Browsed, page: list[dict[str, Any]]) -> HumanScores:
    """Return the verdicts that count on some samples: those about the answers that the run has."""
    digests = {str(sample["id"]): answer_digest(sample) for sample in page if str(sample["id"]) in own.judged}
    return own.verdicts.scores({own.task: digests}).get(own.task, HumanScores()) if digests else HumanScores()


def _row(own: Browsed, sample: Mapping[str, Any], human: HumanScores) -> dict[str, Any]:
    """A sample as one flat row."""
    notes = own.notes_on(str(sample["id"]))
    tokens = tokens_of(sample) or (None, None)
    values = (
        *(own.run.name, own.task, str(sample["id"]), int(sample["index"]), "/".join(map(str, sample["subset"] or ()))),
        *(str(sample["status"]), error_text(sample), text_of(first_messages(sample)), answer_text(sample)),
        *(_text(sample["target"]), _text(sample["explanation"]), *tokens),
        *(", ".join(dict.fromkeys(tag for note in notes for tag in note.tags)), "\n".join(note.text for note in notes)),
    )
    numbers = {f"score_{named(*key)}": value for key, value in numbers_of(sample).items()}
    name = str(sample["id"])
    verdicts: dict[str, Any] = {"verdict": mark_of(own.judged.get(name, ())), "why_excluded": human.excluded.get(name)}
    verdicts |= {f"{_HUMAN}{metric}": value for metric, value in human.values.get(name, {}).items()}
    return {**dict(zip(_HEAD, values, strict=True)), **numbers, **(verdicts if own.judged else {})}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _columns(own: Browsed) -> list[str]:
    scores = [f"score_{name}" for name in (own.found.index.metrics if own.found.index else ())]
    given = dict.fromkeys(name for one in own.verdicts.valid if one.task == own.task for name in one.values)
    return [*_HEAD, *scores, *((*_OF_VERDICTS, *(f"{_HUMAN}{name}" for name in given)) if own.judged else ())]


def _csv(own: Browsed, positions: Any) -> Iterator[bytes]:
    columns = _columns(own)
    for rows in chain([[dict(zip(columns, columns, strict=True))]], _rows(own, positions)):
        cells = ([row.get(name) for name in columns] for row in rows)
        yield "".join(csv_lines(cells)).encode("utf-8", "replace")


def _jsonl(own: Browsed, positions: Any) -> Iterator[bytes]:
    """Everything that is known about each sample, and the notes on it."""
    for page in _pages(own, positions):
        human = _human(own, page)
        for sample in page:
            notes = [
                {"text": note.text, "tags": list(note.tags), "by": note.by, "at": note.at}
                for note in own.notes_on(str(sample["id"]))
            ]
            line = {"run": own.run.name, "task": own.task, **sample, **({"notes": notes} if notes else {})}
            if (name := str(sample["id"])) in own.judged:
                line["human"] = {"scores": human.values.get(name, {}), "why_excluded": human.excluded.get(name)}
            yield json_text(line, is_compact=True).encode("utf-8", "replace") + b"\n"


def _parquet(own: Browsed, positions: Any) -> Iterator[bytes]:
    """The rows of the CSV file, with types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole, real = ("index", "input_tokens", "output_tokens"), ("score_", _HUMAN)
    schema = pa.schema(
        [
            (
                name,
                pa.int64() if name in whole else pa.float64() if name.startswith(real) else pa.large_string(),
            )
            for name in _columns(own)
        ]
    )
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for rows in _rows(own, np.asarray(positions)):
            columns = [pa.array([_storable(row.get(field.name)) for row in rows], field.type) for field in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _storable(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class _Sink(io.RawIOBase):
    """A file whose written bytes are taken out as it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()
        self._n_taken = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def tell(self) -> int:
        return self._n_taken + len(self._written)

    def taken(self) -> bytes:
        """Return the bytes that were written since the last call."""
        data = bytes(self._written)
        self._n_taken += len(data)
        self._written.clear()
        return data


_WRITERS: Mapping[str, tuple[str, Callable[[Browsed, Any], Iterator[bytes]]]] = {
    "csv": ("text/csv", _csv),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "jsonl": ("application/x-ndjson", _jsonl),
}

PAGES = (ViewerPage("/run/{run}/export.{kind}", show),)
