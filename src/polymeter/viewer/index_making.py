"""Makes the index of a task's samples, in a process of its own: it reads every sample once.

Usage: ``python -m polymeter.viewer.index_making RUN JOURNAL_DIR TASK FOLDER STATE``. It writes how many samples it has
read to ``FOLDER/progress`` as it goes. One sample is in memory at a time, and the columns of numbers.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.machine.files import replacing
from polymeter.core.records.attempts import is_of_part
from polymeter.core.records.stored_samples import (
    answer_text,
    media_names,
    messages_of,
    model_exchanges,
    model_outputs,
    named,
    numbers_of,
    text_of,
)
from polymeter.core.records.truncation import KINDS
from polymeter.core.task import USUAL_READING
from polymeter.core.text.json_text import json_text
from polymeter.reading.cuts import cuts_in
from polymeter.report.formatting import one_line
from polymeter.store.exports.export import read_samples_at
from polymeter.store.folder import RunFolder
from polymeter.viewer.plots.choice_columns import ChoiceColumns
from polymeter.viewer.sample_index import (
    CUT,
    FACTS,
    FIELD,
    LONGEST_TEXT,
    NONE,
    NUMBERS,
    SCORE,
    TEXT_COLUMNS,
    TEXTS,
    VERSION,
)

_AT_ONCE = 5_000
_MOST_CHARACTERS = 16_000_000
"""A piece of the table of texts ends at either of these."""
_MOST_METRICS = 256
_MOST_VALUES = 200
"""A field of rows with more different values puts them into no categories."""
_MOST_FIELDS = 40
_LONGEST_VALUE = 80
_COUNTS = ("prompt_chars", "answer_chars", "input_tokens", "output_tokens")
_NAN = float("nan")


def make_index(run: RunFolder, task: str, folder: Path, state: str) -> None:
    """Write the index of a task.

    Args:
        run: The run.
        task: The task.
        folder: Where to; it exists.
        state: The name of the state of the run, to know later whether the index is of the same state.

    Raises:
        StorageError: if the run cannot be read, or the index cannot be written.
    """
    import pyarrow as pa

    columns = _Columns()
    schema = pa.schema([(name, pa.large_string()) for name in TEXT_COLUMNS])
    with pa.OSFile(str(folder / TEXTS), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for piece in _pieces(run, task, columns):
            writer.write_batch(pa.record_batch([pa.array(texts, pa.large_string()) for texts in piece], schema=schema))
            (folder / "progress").write_text(str(columns.n))
    arrays = columns.arrays()
    table = pa.table({name: pa.array(values) for name, values in arrays.items()})
    with pa.OSFile(str(folder / NUMBERS), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with replacing(folder / FACTS, is_synced=False) as file:
        file.write(json_text({"version": VERSION, "task": task, "state": state, **columns.facts()}))


def _pieces(run: RunFolder, task: str, columns: _Columns) -> Iterator[list[list[str]]]:
    """The texts of the samples, a column each, some samples at a time; their numbers go to ``columns``."""
    piece: list[list[str]] = [[] for _ in TEXT_COLUMNS]
    n_characters = 0
    for offset, sample in read_samples_at(run, task):
        texts = columns.add(sample, offset)
        for column, text in zip(piece, texts, strict=True):
            column.append(text)
        n_characters += sum(map(len, texts))
        if len(piece[0]) >= _AT_ONCE or n_characters > _MOST_CHARACTERS:
            yield piece
            piece, n_characters = [[] for _ in TEXT_COLUMNS], 0
    if piece[0]:
        yield piece


class _Codes:
    """A column of values as codes, with how often each occurs."""

    def __init__(self, n_before: int = 0) -> None:
        self.codes = array("i", [NONE]) * n_before
        self.counts: dict[str, int] = {}
        self._places: dict[str, int] = {}

    def add(self, value: str | None) -> None:
        """One more row."""
        if value is None:
            self.codes.append(NONE)
            return
        self.codes.append(self._places.setdefault(value, len(self._places)))
        self.counts[value] = self.counts.get(value, 0) + 1


class _Columns:
    """The numbers of samples, a column each."""

    def __init__(self) -> None:
        self.n = 0
        self._index = array("q")
        self._offset = array("q")
        self._status, self._subset = _Codes(), _Codes()
        self._fields: dict[str, _Codes] = {}
        self._too_many: set[str] = set()
        self._scores: dict[str, array[float]] = {}
        self._counts = {name: array("i") for name in _COUNTS}
        self._latency = array("d")
        self._cuts = {kind: array("b") for kind in KINDS}
        self._labels = ChoiceColumns()
        self._has_files = False

    def add(self, sample: Mapping[str, Any], offset: int) -> tuple[str, ...]:
        """One more sample.

        Returns:
            Its texts, as they are searched.
        """
        self._index.append(int(sample["index"]))
        self._offset.append(offset)
        self._status.add(str(sample["status"]))
        self._subset.add("/".join(one_line(str(part)) for part in sample["subset"]) if sample["subset"] else None)
        self._add_fields(sample["doc"])
        self._labels.add(sample)
        for key, value in numbers_of(sample).items():
            if is_of_part(key[1]):
                continue
            name = named(*key)
            if name not in self._scores and len(self._scores) < _MOST_METRICS:
                self._scores[name] = array("d", [_NAN]) * self.n
            if name in self._scores:
                self._scores[name].append(value)
        self.n += 1
        for column in self._scores.values():
            if len(column) < self.n:
                column.append(_NAN)
        return self._add_exchanges(sample)

    def _add_fields(self, doc: Any) -> None:
        row = doc if isinstance(doc, Mapping) else {}
        for name in row:
            if name not in self._fields and len(self._fields) < _MOST_FIELDS and name not in self._too_many:
                self._fields[name] = _Codes(self.n)
        for name, codes in [*self._fields.items()]:
            codes.add(_category(row.get(name)))
            if len(codes.counts) > _MOST_VALUES:
                self._too_many.add(name)
                del self._fields[name]

    def _add_exchanges(self, sample: Mapping[str, Any]) -> tuple[str, ...]:
        exchanges = model_exchanges(sample)
        longest = max((messages_of(exchange) for exchange in exchanges), key=len, default=())
        prompt = text_of(longest)
        outputs = model_outputs(sample)
        answer = answer_text(sample)
        written = [str(output["text"]) for output in outputs if output.get("text") is not None]
        # Where an answer was taken out of the model's text, both are found.
        answers = "\n".join(dict.fromkeys([*([] if answer is None else [answer]), *written]))
        usages = [output["usage"] for output in outputs if output.get("usage")]
        self._counts["prompt_chars"].append(_fitting(len(prompt)))
        self._counts["answer_chars"].append(_fitting(sum(map(len, written))) if written else NONE)
        self._counts["input_tokens"].append(_fitting(sum(usage[0] or 0 for usage in usages)) if usages else NONE)
        self._counts["output_tokens"].append(_fitting(sum(usage[1] or 0 for usage in usages)) if usages else NONE)
        cuts = {kind for exchange in exchanges for kind in cuts_in(exchange["response"]["outputs"], USUAL_READING)}
        for kind, column in self._cuts.items():
            column.append(kind in cuts)
        waits = [exchange["response"].get("latency_ms") for exchange in exchanges]
        self._latency.append(sum(known) if (known := [wait for wait in waits if wait is not None]) else _NAN)
        names = "\n".join(media_names(longest))
        self._has_files = self._has_files or bool(names)
        texts = (str(sample["id"]), prompt, answers, str(sample["target"] or ""), _judged(sample), names)
        return (texts[0].encode("utf-8", "replace").decode(), *map(_searched, texts[1:]))

    def arrays(self) -> dict[str, array[Any]]:
        """The columns by name."""
        fields = {FIELD + name: codes.codes for name, codes in self._categories().items()}
        scores = {SCORE + name: values for name, values in self._scores.items()}
        head = {"index": self._index, "offset": self._offset, "status": self._status.codes}
        head["subset"] = self._subset.codes
        cuts = {CUT + kind: column for kind, column in self._cuts.items()}
        return {
            **head,
            **self._counts,
            **cuts,
            "latency_ms": self._latency,
            **self._labels.arrays(),
            **fields,
            **scores,
        }

    def facts(self) -> dict[str, Any]:
        """The facts on the columns."""
        ends = {name: [value for value in values if value == value] for name, values in self._scores.items()}  # noqa: PLR0124
        return {
            "n": self.n,
            "statuses": self._status.counts,
            "subsets": self._subset.counts,
            "fields": {name: codes.counts for name, codes in self._categories().items()},
            "metrics": {name: [min(values), max(values)] for name, values in ends.items() if values},
            "has_files": self._has_files,
            "cuts": {kind: n for kind, column in self._cuts.items() if (n := sum(column))},
            **self._labels.facts(),
        }

    def _categories(self) -> dict[str, _Codes]:
        """The fields that put rows into categories: their values occur more than once, and there are at least two."""
        return {
            name: codes
            for name, codes in self._fields.items()
            if 1 < len(codes.counts) <= max(2, sum(codes.counts.values()) // 2)
        }


def _fitting(n: int) -> int:
    return min(n, 2**31 - 1)


def _category(value: Any) -> str | None:
    if isinstance(value, (str, bool, int)) and value != "":
        text = one_line(str(value))
        return text if 0 < len(text) <= _LONGEST_VALUE else None
    return None


def _judged(sample: Mapping[str, Any]) -> str:
    """The text of the judges on a sample, and of the values made from it."""
    said = [
        str(output["text"])
        for exchange in sample["exchanges"]
        if exchange["role"] != "model"
        for output in exchange["response"].get("outputs") or ()
        if output.get("text") is not None
    ]
    return "\n".join([*said, str(sample["explanation"] or "")])


def _searched(text: str) -> str:
    # Most samples have no judge, and those of texts no file.
    return text[:LONGEST_TEXT].lower().encode("utf-8", "replace").decode() if text else ""


def main(arguments: list[str]) -> int:
    """Make one index; an error is one line on the standard error, as JSON."""
    run, journal_dir, task, folder, state = arguments
    try:
        make_index(RunFolder(Path(run), Path(journal_dir) if journal_dir else None), task, Path(folder), state)
    except PolymeterError as error:
        sys.stderr.write(json.dumps({"what": error.what, "where": error.where, "hint": error.hint}) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
