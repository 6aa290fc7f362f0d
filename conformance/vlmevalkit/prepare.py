"""Runs in VLMEvalKit's environment: makes tables that its classes can read, and the book of answers to their rows.

A class's constructor, ``build_prompt`` and ``evaluate`` are called on generated rows; when one fails, the form of a
column that the failure points at is changed, and so on. A set that cannot be made to read generated rows is named in
the book with the last failure.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.answers import generator
from conformance.made_rows.answering import Chosen, candidates, choose, largest_gap, scripted_answers
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import Shape, make_rows
from conformance.made_rows.schema import Use
from conformance.vlmevalkit.hints import EXCLUDED, hints_for, rows_for
from conformance.vlmevalkit.original import Original
from conformance.vlmevalkit.tables import cell_of, is_circular, with_rotations, write_table
from conformance.vlmevalkit.videos import write_videos

JUDGE, RULES = "gpt-4o-mini", "exact_matching"
N_ROWS, MOST_REPAIRS, SECONDS = 10, 25, 30
MOST_SETS = 5
IMAGE = "image"


class Preparation:
    """One set on its way to rows and answers.

    Args:
        original: VLMEvalKit.
        name: The set.
        cls: Its class.
        work: Where the table is written.
        seed: The seed of rows and answers.
        known: The entry of another set of the class.
    """

    def __init__(
        self, original: Original, name: str, cls: Any, work: Path, seed: int, known: Mapping[str, Any]
    ) -> None:
        self.original, self.name, self.cls, self.seed, self.known = original, name, cls, seed, known
        inner = name
        if name in original.dataset.supported_video_datasets:
            preset = original.dataset.supported_video_datasets[name]
            inner = preset.keywords.get("dataset") or preset.func.supported_datasets()[0]
        self.work = work
        self.table = work / "data" / f"{inner}.tsv"
        self.members: Sequence[str] = getattr(cls, "DATASET_SETS", {}).get(name, ())
        columns = Use()
        for column in ("question", "answer", *known.get("keys", ())):
            columns.key(column)
        if getattr(cls, "MODALITY", "IMAGE") == "IMAGE":
            columns.key(IMAGE)
        self.shape = Shape(
            columns, {**_of_class(known, name), **hints_for(*(base.__name__ for base in cls.__mro__), name)}
        )
        self.rows: list[dict[str, Any]] = []
        self.is_video = getattr(cls, "MODALITY", "") == "VIDEO"

    def prepare(self) -> dict[str, Any]:
        """The book's entry."""
        if self.name in EXCLUDED:
            return {"class": self.cls.__name__, "failure": EXCLUDED[self.name]}
        repairs = Repairs(self.shape, Path(self.original.dataset.__file__).parent)
        failure = ""
        for _ in range(MOST_REPAIRS):
            try:
                with contained.time_limit(SECONDS), quiet():
                    made = self._try()
                keys = [*self.shape.columns.keys]
                return {"class": self.cls.__name__, "keys": keys, "columns": dict(self.shape.kinds), **made}
            except (Exception, SystemExit, contained.OutOfTime) as error:
                failure = contained.reason(error)
                is_final = isinstance(error, (ImportError, contained.OutOfTime, NotImplementedError))
                if is_final or not self.rows or not repairs.repair(error, _as_read(self.rows[0])):
                    break
        return {"class": self.cls.__name__, "failure": failure}

    def _try(self) -> dict[str, Any]:
        self._write()
        dataset = self.original.dataset.build_dataset(self.name)
        if len(dataset) < 2:
            raise LookupError(f"{len(dataset)} rows are left")
        lines = [dict(dataset.data.iloc[number]) for number in range(len(dataset))]
        for number in range(len(dataset)):
            dataset.build_prompt(*(number, False) if self.is_video else (dataset.data.iloc[number],))
        targets = [candidates(_shown(line), line.get("answer"), None) for line in lines]
        judges = self._judges(dataset, [one[0] for one in targets])
        chosen = self._chosen(dataset, targets)
        answers = scripted_answers(chosen, 1, (self.seed, self.name))
        book = {
            model: {str(lines[number]["index"]): self._said(lines[number], said[0]) for number, said in of_rows.items()}
            for model, of_rows in answers.items()
        }
        columns = [[one[place] for one in targets] for place in range(min(map(len, targets)))]
        which = columns.index(list(chosen.column))
        made = {
            "n": len(lines),
            "gap": chosen.gap,
            "dress": chosen.dress,
            "which": which,
            "judges": judges,
            "answers": book,
        }
        return {**made, "family": family_of(self.name, self.cls), "members": [*self.members]}

    def _judges(self, dataset: Any, answers: Sequence[str]) -> list[str]:
        """The judges that the class can be scored with: the scripted one, and the rules alone."""
        before: list[int] = []
        self.original.heard = lambda _asked: before.append(1)
        self._scores(dataset, answers)
        try:
            by_rules = self._scores(dataset, answers, RULES)
        except Exception:
            return [JUDGE]
        return [JUDGE, RULES] if before and by_rules else [JUDGE]

    def _said(self, line: Mapping[str, Any], text: str) -> Any:
        """An answer, or one for each turn."""
        if getattr(self.cls, "TYPE", "") != "MT":
            return text
        turns = self.original.file.toliststr(line["question"])
        return [f"{text} ({turn})" for turn in range(len(turns))]

    def _chosen(self, dataset: Any, targets: Sequence[Sequence[str]]) -> Chosen:
        """What the rows are answered with: as another set of the class, or what its scoring is found to read."""
        which = self.known.get("which", len(targets[0]))
        if which < min(map(len, targets)):
            return Chosen([one[which] for one in targets], self.known["dress"], self.known["gap"], is_slow=False)
        return choose(targets, lambda column, dress: self._gap(dataset, column, dress))

    def _write(self) -> None:
        if self.members:
            self._write_members()
            return
        names = (*(base.__name__ for base in self.cls.__mro__), self.name)
        made = make_rows(self.shape, rows_for(N_ROWS, self.name, *names), f"{self.seed}:{self.table.stem}")
        self.rows = [{"index": number + 1, **row} for number, row in enumerate(made)]
        if self.shape.kinds.get("index") == "id":
            self.rows = [{**row, "index": number + 1} for number, row in enumerate(self.rows)]
        if {IMAGE, "image_path"} <= self.rows[0].keys():
            images: dict[str, Any] = {}
            for row in self.rows:
                row[IMAGE] = images.setdefault(str(row["image_path"]), row[IMAGE])
        if is_circular(self.name, self.cls):
            self.rows = with_rotations(self.rows)
        write_table(self.rows, self.table)
        # An image that is there is not written again, whatever the table has now.
        shutil.rmtree(self.table.parent / "images", ignore_errors=True)

    def _write_members(self) -> None:
        """Write the tables of a collection's sets, but for those that were prepared as sets of their own."""
        classes = self.original.classes()
        for member in self.members:
            made = Preparation(self.original, member, classes[member], self.work, self.seed, {})
            if not made.table.exists():
                made._write()
        shutil.rmtree(self.table.parent / "images", ignore_errors=True)

    def _gap(self, dataset: Any, column: Sequence[str], dress: str) -> float | None:
        """How far apart right and wrong answers are in the class's own numbers; nothing if it cannot score them."""
        wrong = [
            other if (other := column[(number + 1) % len(column)]) != one else "qwzx"
            for number, one in enumerate(column)
        ]
        try:
            right_scores = self._scores(dataset, [dress.format(one) for one in column])
            wrong_scores = self._scores(dataset, [dress.format(one) for one in wrong])
        except Exception:
            return None
        return largest_gap(right_scores, wrong_scores)

    def _scores(self, dataset: Any, answers: Sequence[str], judge: str = JUDGE) -> dict[str, float]:
        """The numbers that ``evaluate`` gives for answers."""
        data = dataset.data.drop(columns=[IMAGE], errors="ignore").copy()
        lines = data.to_dict("records")
        data["prediction"] = [self._said(line, text) for line, text in zip(lines, answers, strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / f"scripted_{self.name}.xlsx")
            self.original.file.dump(data, file)
            return dict(numbers_in(dataset.evaluate(file, **judge_kwargs(judge))))


_FAMILIES = {
    "ImageMCQDataset": "multiple choice", "ImageYORNDataset": "yes or no", "ImageVQADataset": "VQA",
    "ImageShortQADataset": "short answers", "ImageMTDataset": "several turns", "ConcatDataset": "collections",
    "ImageBaseDataset": "other images", "TextBaseDataset": "text", "VideoBaseDataset": "video",
}  # fmt: skip


def family_of(name: str, cls: type) -> str:
    """The kind of a set, by the nearest base of its class."""
    if is_circular(name, cls):
        return "circular choice"
    return next((_FAMILIES[base.__name__] for base in cls.__mro__ if base.__name__ in _FAMILIES), "other")


def judge_kwargs(judge: str) -> dict[str, Any]:
    """The arguments of ``evaluate``, those that Polymeter gives it too."""
    return {"nproc": 4, "verbose": False, "retry": 3, "model": judge}


def numbers_in(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Every number in what ``evaluate`` returned, and where it stands; numbers that are spelled out too."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        for number, row in enumerate(value.to_dict("records")):
            yield from numbers_in(row, f"{place}/{number}")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from numbers_in(one, f"{place}/{key}")
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from numbers_in(one, f"{place}/{number}")
    else:
        try:
            yield place, float(value)
        except (TypeError, ValueError):
            return


def _of_class(known: Mapping[str, Any], name: str) -> dict[str, str]:
    """The forms of columns that another set of a class has, but for those that are only its own."""
    own = hints_for(known.get("name", "")).keys() - hints_for(name).keys()
    return {column: kind for column, kind in known.get("columns", {}).items() if column not in own}


def _shown(line: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in (IMAGE, "index", "question")}


def _as_read(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as a class reads it from the table."""
    return {name: cell_of(value) for name, value in row.items()}


class quiet:
    """Nothing that classes print is kept."""

    def __enter__(self) -> None:
        self._both = redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO())
        for one in self._both:
            one.__enter__()

    def __exit__(self, *_: Any) -> None:
        for one in reversed(self._both):
            one.__exit__(None, None, None)


def _chosen_sets(
    classes: Mapping[str, type], presets: frozenset[str], only: str, seed: int
) -> Iterator[tuple[str, type]]:
    """The sets to prepare: those that are named, else some of each class, drawn by the seed."""
    if only != "*":
        patterns = only.split(",")
        yield from (one for one in classes.items() if any(fnmatch.fnmatchcase(one[0], part) for part in patterns))
        return
    by_class: dict[type, list[str]] = {}
    for name, cls in classes.items():
        by_class.setdefault(cls, []).append(name)
    for cls, every in by_class.items():
        # A preset says how many frames of a video are shown; the class's own name does not.
        is_video = getattr(cls, "MODALITY", "") == "VIDEO"
        names = [name for name in every if name in presets] if is_video and not presets.isdisjoint(every) else every
        most = MOST_SETS * (4 if len(names) > 10 * MOST_SETS else 1)
        drawn = generator("sets", seed, cls.__name__).sample(names, min(most, len(names)))
        yield from ((name, cls) for name in drawn)


def _forms_in(book: Path) -> dict[str, dict[str, Any]]:
    """The entries of a book by the names of sets, and one for each class."""
    entries = [json.loads(line) for line in book.read_text(encoding="utf-8").splitlines()]
    good = [one for one in entries if "failure" not in one]
    return {**{one["class"]: one for one in reversed(good)}, **{one["name"]: one for one in good}}


def main() -> None:
    """Write the book of a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--forms", type=Path, help="the book of another seed, whose forms of columns are tried first")
    options = parser.parse_args()
    contained.only_this_machine()
    write_videos(options.work / "data" / "videos", options.seed)
    original = Original(options.checkout, options.work / "data")
    known = _forms_in(options.forms) if options.forms else {}
    failed: set[str] = set()
    book = options.work / "book.jsonl"
    book.unlink(missing_ok=True)
    presets = frozenset(original.dataset.supported_video_datasets)
    for name, cls in _chosen_sets(original.classes(), presets, options.only, options.seed):
        if options.only == "*" and cls.__name__ in failed:
            continue
        entry = Preparation(
            original, name, cls, options.work, options.seed, known.get(name) or known.get(cls.__name__, {})
        ).prepare()
        if "failure" in entry:
            failed.update({cls.__name__} - known.keys())
        else:
            known.setdefault(cls.__name__, {"name": name, **entry})
        said = entry.get("failure") or f"{entry['n']} rows, gap {entry['gap']:.2f}"
        print(f"{name} ({cls.__name__}): {said}", flush=True)
        with book.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"name": name, **entry}) + "\n")


if __name__ == "__main__":
    main()
