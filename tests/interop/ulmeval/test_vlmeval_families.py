"""A class of each family of VLMEvalKit's: killed and resumed, scored again without its model, and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api.viewing import bundle
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.drawn_videos import encode
from tests.helpers.toy_datasets import png_base64, write_table

GUESTS = Path(__file__).parent / "guests"
CLASSES = GUESTS / "vlmeval/dataset/families.py"
COLLECTION = GUESTS / "collection/vlmeval/dataset"
OPTIONS = {"A": "a cat", "B": "a dog", "C": "a cow"}
MT = {"question": "['Who barks?', 'And who purrs?']", "answer": "['a dog', 'a cat']"}


def choices(index: int, answer: str, turn: int = 0, **cells: str) -> dict[str, Any]:
    texts = list(OPTIONS.values())
    options = dict(zip("ABC", texts[-turn:] + texts[:-turn] if turn else texts, strict=True))
    return {"index": index, "question": f"question {index}", "answer": answer, **options, **cells}


def asked(index: int, answer: str, **cells: str) -> dict[str, Any]:
    return {"index": index, "question": f"question {index}", "answer": answer, **cells}


@dataclass(frozen=True)
class Family:
    """Rows by table, the answer to each request, and the numbers that follow."""

    rows: list[dict[str, Any]]
    answer: Callable[[Request], str]
    numbers: dict[str, float]
    shown: tuple[str, ...]
    judge: str = ""
    n_requests: int = 0
    n_images: int = 1
    files: tuple[str, ...] = field(default=())
    prepare: Callable[[str, Path], dict[str, Any]] | None = None


def by_row(*said: str) -> Callable[[Request], str]:
    return lambda request: said[request.origin.index]


def clips(name: str, folder: Path) -> dict[str, Any]:
    """Write the repository of a class of videos, and return how to run it."""
    write(name, folder / "repo")
    encode(folder / "repo/pond.mp4", 12, 10, (64, 48))
    told = {"arguments": {"nframe": 2}, "whole_videos": False}
    return {"data": {"made/Clips": str(folder / "repo")}, "dialect_options": {"tsv": told}}


def parts(name: str, folder: Path) -> dict[str, Any]:
    """Write the tables of a collection, and return how to run it."""
    rows = FAMILIES[name].rows
    write(name, folder, "Part_a", rows[:2])
    write(name, folder, "Part_b", rows[2:])
    return {"include_paths": [COLLECTION], "data": {}}


TURNS = [{**MT, "index": n} for n in range(3)]
FAMILIES = {
    "PlainChoice": Family(
        [choices(0, "A", category="x"), choices(1, "B", category="y"), choices(2, "C", category="y")],
        by_row("A", "The answer is B, for it barks all day and all night", "it moos"),
        {"none/Overall": 2 / 3, "none/x": 1.0, "none/y": 0.5},
        ("question 1", "it moos"),
        judge="A",
        files=("_acc.csv", "_result.pkl", "_result.xlsx", ".xlsx"),
    ),
    "CircularChoice": Family(
        [choices(turn * 1_000_000 + n, "ABC"[turn], turn) for turn in range(3) for n in (1, 2)],
        by_row("A", "A", "B", "B", "C", "A"),
        {"none/Overall": 0.5},
        ("question 2", "a cow"),
    ),
    "TextChoice": Family(
        [choices(0, "A", split="val"), choices(1, "B", split="test"), choices(2, "C", split="test")],
        by_row("a cat", "a dog", "a dog"),
        {"val/Overall": 1.0, "test/Overall": 0.5},
        ("question 1", "a dog"),
        n_images=0,
    ),
    "YesNo": Family([asked(0, "Yes"), asked(1, "No"), asked(2, "No")], by_row("yes", "yes", "no"),
                    {"Overall": 200 / 3}, ("question 2",)),
    "OpenAnswers": Family(
        [asked(0, "red", category="x"), asked(1, "two", category="x"), asked(2, "grey", category="y")],
        by_row("Red", "007", "grey"),
        {"Overall": 200 / 3, "x": 50.0, "y": 100.0},
        ("question 1", "007"),
        files=("_results.xlsx",),
    ),
    "ShortAnswers": Family(
        [choices(0, "A"), choices(1, "B"), choices(2, "C")],
        by_row("A", "A", "moo"),
        {"hit": 1 / 3},
        ("moo",),
        judge="A",
    ),
    "Caption": Family([{"index": n, "answer": "x"} for n in range(3)], by_row("a", "abc", "abcde"), {"length": 3.0},
                      ("Please describe this image.", "abcde")),
    "Conversation": Family(
        TURNS,
        lambda request: "a dog" if len(request.messages) == 1 else f"after {request.messages[1].text}: a cat",
        {"turns": 6, "right": 0.5},
        ("And who purrs?", "after a dog: a cat"),
        n_requests=6,
    ),
    "Judged": Family(
        [asked(0, "red"), asked(1, "blue"), asked(2, "grey")],
        by_row("crimson", "sky", "no idea"),
        {"score": 1.0},
        ("crimson",),
        judge="yes",
        files=("_score.xlsx",),
    ),
    "Clips": Family(
        [asked(n, answer, video="pond") for n, answer in enumerate(("a duck", "a frog", "a fish"))],
        by_row("a duck", "a frog", "a boat"),
        {"acc": 200 / 3},
        ("question 2", "a boat", "a fish"),
        n_images=2,
        files=("_score.xlsx",),
        prepare=clips,
    ),
    "Whole": Family(
        [asked(0, "red"), asked(1, "blue"), asked(0, "grey"), asked(1, "pink")],
        by_row("red", "blue", "green", "pink"),
        {"Part_a:right": 2, "Part_b:right": 1},
        ("question 1", "green", "grey"),
        files=("_Part_a.xlsx", "_Part_b.xlsx", "_score.json"),
        prepare=parts,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    monkeypatch.delenv("EVAL_FORMAT", raising=False)
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))


def write(name: str, folder: Path, table: str = "", rows: list[dict[str, Any]] | None = None) -> Path:
    family = FAMILIES[name]
    image = {"image": png_base64("red", (16, 16))} if family.n_images == 1 else {}
    made = [{**image, **row} for row in rows or family.rows]
    return write_table(folder / f"{table or name}.tsv", {column: [row[column] for row in made] for column in made[0]})


def plain(name: str, folder: Path) -> dict[str, Any]:
    """Write the table of a class, and return how to run it."""
    return {"data": {name: str(write(name, folder))}}


def numbers(run: polymeter.RunResult, name: str) -> dict[str, float]:
    return {item["metric"]: item["value"] for item in run.results["tasks"][name]["results"]}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    n_asked = 0

    def answer(request: Request, *, at_most: int | None = None) -> str:
        nonlocal n_asked
        if at_most is not None and n_asked >= at_most:
            raise KeyboardInterrupt
        n_asked += 1
        return family.answer(request)

    judge = MockBatch(lambda request: family.judge, identity={"backend": "mock", "name": "judge"})
    roles = {"judge": judge} if family.judge else {}

    def run(function: Callable[[Request], str]) -> polymeter.RunResult:
        model = MockBatch(function, identity={"backend": "mock", "name": "m"}, batch_size=1)
        told = {"include_paths": [CLASSES], **(family.prepare or plain)(name, tmp_path)}
        return polymeter.evaluate(model, name, output=tmp_path / "run", roles=roles, **told)

    killed = run(lambda request: answer(request, at_most=2))
    assert killed.status == "interrupted"
    ended = run(answer)
    assert ended.exit_code == 0, ended.results["notes"]
    assert n_asked == (family.n_requests or len(family.rows)), "nothing was asked twice"
    assert numbers(ended, name) == pytest.approx(family.numbers)
    beside = [file.name for file in (ended.folder.artifacts / name).iterdir()]
    assert all(any(one.endswith(ending) for one in beside) for ending in family.files), beside
    assert numbers(polymeter.score(ended.folder.path, output=tmp_path / "scored", roles=roles), name) == numbers(
        ended, name
    )
    report = (ended.folder.path / "report.html").read_text(encoding="utf-8")
    samples = json.loads(report.partition('id="data">')[2].partition("</script>")[0])["samples"]
    assert [str(one["target"]) for one in samples] == [row["answer"] for row in family.rows]
    assert {one["status"] for one in samples} == {"ok"}
    assert report.count(':"data:image/') == family.n_images, "the rows share their images"
    bundle([ended.folder.path], tmp_path / "site")
    pages = {page.name: page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("sample-*.html")}
    assert len(pages) == len(samples)
    assert all(page.count("<figure") >= family.n_images for page in pages.values())
    for text in family.shown:
        assert text in report
        assert any(text in page for page in pages.values())
    table = (tmp_path / "site/run/run/index.html").read_text(encoding="utf-8")
    assert all(metric in table and str(value)[:5] in table for metric, value in family.numbers.items())
