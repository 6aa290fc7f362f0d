"""The task that a table is by itself: its fields, what it asks and expects, and why some tables are none."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.api import evaluate
from polymeter.catalog.trying import first_prompt, open_spec
from polymeter.core.content import Text
from polymeter.core.errors import DataError, PlanError
from polymeter.tasks.guessed.guess import guess_table
from tests.tasks.guessed.kit import KINDS, Row, draw, selected, spec_of, write_table

ROWS: list[Row] = [
    {"question": "What is the capital of France?", "answer": "Paris"},
    {"question": "And of Côte d’Ivoire?", "answer": "Yamoussoukro"},
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def prompts(place: Path) -> list[tuple[tuple[str, ...], str]]:
    """What each sample shows, a text or the kind of a medium, and what is expected."""
    task = open_spec(spec_of(place))
    found = []
    for sample in task.samples:
        (request,) = first_prompt(task, sample).requests
        parts = [part.text if isinstance(part, Text) else part.modality for part in request.messages[-1].parts]
        assert task.row_functions.target is not None
        found.append((tuple(parts), task.row_functions.target(sample.index)))
    return found


def value_of(place: Path, **options: Any) -> float:
    run = evaluate("mock", [str(place)], model_args={"mode": "gold"}, output="run", is_restart=True, **options)
    assert run.exit_code == 0
    (task,) = run.results["tasks"].values()
    assert task["n_scored"] == task["n_samples"]
    return float(task["results"][0]["value"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_each_kind_asks_its_questions(kind: str) -> None:
    table = write_table(Path(f"cap.{kind}"), ROWS)
    assert prompts(table) == [((str(row["question"]),), row["answer"]) for row in ROWS]
    assert selected(table).guesses == (f"cap.{kind}: question → prompt, answer → target, exact_match (ignore_case)",)
    assert value_of(table) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_is_a_task(kind: str) -> None:
    assert len(prompts(write_table(Path(f"one.{kind}"), ROWS[:1]))) == 1


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])
def test_options_in_columns_of_letters_make_multiple_choice(kind: str) -> None:
    rows: list[Row] = [
        {"question": "Which is red?", "A": "rose", "B": "grass", "C": "", "answer": "A"},
        {"question": "Which is green?", "A": "rose", "B": "grass", "C": "sky", "answer": "grass"},
    ]
    table = write_table(Path(f"mc.{kind}"), rows)
    spec = spec_of(table)
    assert spec.config["output_type"] == "multiple_choice"
    assert spec.config["metric_list"] == [{"metric": "acc"}]
    task = open_spec(spec)
    assert task.row_functions.choices is not None
    assert [task.row_functions.choices(number) for number in range(2)] == [
        ["rose", "grass", ""],
        ["rose", "grass", "sky"],
    ]
    assert selected(table).guesses == (f"mc.{kind}: question → prompt, A–C → options, answer → target, acc",)
    assert value_of(table) == 1
    assert value_of(table, mcq="text") == 1


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
@pytest.mark.parametrize("answer", ["B", "grass"])
def test_a_list_of_options_makes_multiple_choice(kind: str, answer: str) -> None:
    rows: list[Row] = [{"prompt": "Which is green?", "choices": ["rose", "grass"], "label": answer}] * 2
    table = write_table(Path(f"mc.{kind}"), rows)
    assert spec_of(table).config["doc_to_choice"] == "choices"
    assert value_of(table) == 1


def test_a_number_of_an_option_counts_from_zero() -> None:
    rows: list[Row] = [{"question": "Which?", "options": ["a", "b", "c"], "answer": 2}]
    assert value_of(write_table(Path("mc.jsonl"), rows)) == 1


@pytest.mark.parametrize("options", ["['rose', 'grass']", '["rose", "grass"]'])
def test_a_list_of_options_may_be_written_as_text(options: str) -> None:
    rows: list[Row] = [{"question": "Which is green?", "options": options, "answer": "grass"}]
    table = write_table(Path("mc.csv"), rows)
    assert spec_of(table).config["doc_to_choice"] == "{{options}}"
    assert value_of(table) == 1


@pytest.mark.parametrize("column", ["image", "image_path", "file_name", "images"])
def test_paths_of_images_are_relative_to_the_table(column: str) -> None:
    draw(Path("my data/photos/a b.png"))
    rows: list[Row] = [{column: "photos/a b.png", "question": "What colour?", "answer": "red"}]
    table = write_table(Path("my data/cap.csv"), rows)
    assert prompts(table) == [(("image", "What colour?"), "red")]
    assert (
        selected(table)
        .guesses[0]
        .startswith(f"cap.csv: question → prompt, answer → target, {column} → image, exact_match")
    )
    assert value_of(table) == 1


@pytest.mark.parametrize(("column", "name"), [("audio", "a.wav"), ("video", "a.mp4"), ("file_name", "a.mp4")])
def test_sound_and_video_are_shown_by_their_columns(column: str, name: str) -> None:
    Path(name).write_bytes(b"RIFF\x24\0\0\0WAVEfmt ")
    kind = "audio" if name.endswith("wav") else "video"
    rows: list[Row] = [{column: name, "question": "What is it?", "answer": "x"}]
    assert prompts(write_table(Path("cap.jsonl"), rows)) == [((kind, "What is it?"), "x")]


def test_a_list_of_images_shows_all_of_them() -> None:
    draw(Path("a.png"))
    draw(Path("b.png"), "blue")
    rows: list[Row] = [{"images": ["a.png", "b.png"], "question": "Which differs?", "answer": "x"}]
    assert prompts(write_table(Path("cap.jsonl"), rows)) == [(("image", "image", "Which differs?"), "x")]


def test_images_in_a_parquet_file_are_shown() -> None:
    import datasets

    draw(Path("a.png"))
    features = datasets.Features(
        {"image": datasets.Image(), "question": datasets.Value("string"), "answer": datasets.Value("string")}
    )
    rows = {"image": ["a.png"], "question": ["What colour?"], "answer": ["red"]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet("cap.parquet")
    assert prompts(Path("cap.parquet")) == [(("image", "What colour?"), "red")]


def test_a_second_column_of_images_is_named_as_unused() -> None:
    draw(Path("a.png"))
    rows: list[Row] = [{"image_path": "a.png", "image": "a.png", "file_name": "a.png", "question": "?", "answer": "x"}]
    table = write_table(Path("cap.csv"), rows)
    assert spec_of(table).config["doc_to_visual"] == "image"
    assert selected(table).guesses[0].endswith("; not used: image_path")


def test_numbers_under_image_give_way_to_a_column_of_paths() -> None:
    draw(Path("a.png"))
    rows: list[Row] = [{"image": 17, "image_path": "a.png", "question": "?", "answer": "x"}]
    assert spec_of(write_table(Path("cap.jsonl"), rows)).config["doc_to_visual"] == "image_path"


def test_names_of_documents_are_no_media() -> None:
    rows: list[Row] = [{"file_name": "a.pdf", "question": "What?", "answer": "x"}]
    assert prompts(write_table(Path("cap.csv"), rows)) == [(("What?",), "x")]


def test_a_missing_image_fails_alone(capsys: pytest.CaptureFixture[str]) -> None:
    draw(Path("a.png"))
    rows: list[Row] = [{"image": name, "question": "What?", "answer": "x"} for name in ("a.png", "b.png")]
    table = write_table(Path("cap.csv"), rows)
    run = evaluate("mock", [str(table)], output="run")
    assert run.n_failed == 1
    assert any("b.png" in note for note in run.results["notes"])
    with pytest.raises(PlanError, match=r"None of the files .* 'c.png'"):
        evaluate("mock", [str(write_table(Path("none.csv"), [{**rows[0], "image": "c.png"}]))], output="other")


@pytest.mark.parametrize(("separator", "name"), [(";", "semi.csv"), ("\t", "tabs.csv"), ("|", "bars.csv")])
def test_another_separator_is_found(separator: str, name: str) -> None:
    Path(name).write_text(f"question{separator}answer\nWhat?{separator}x, y\n")
    assert prompts(Path(name)) == [(("What?",), "x, y")]


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_byte_order_mark_is_no_part_of_a_name(kind: str) -> None:
    table = write_table(Path(f"cap.{kind}"), ROWS)
    table.write_bytes(table.read_text(encoding="utf-8").encode("utf-8-sig"))
    assert len(prompts(table)) == 2


def test_line_breaks_of_windows_and_quoted_ones_are_read() -> None:
    Path("cap.csv").write_bytes(b'question,answer\r\n"a,\r\nb",x\r\n')
    assert prompts(Path("cap.csv")) == [(("a,\r\nb",), "x")]


@pytest.mark.parametrize(
    ("name", "task"),
    [("my photos.csv", "my_photos"), ("städte.csv", "städte"), ("a, b: c.csv", "a_b_c"), ("CAP.CSV", "CAP")],
)
def test_a_task_is_called_like_its_file(name: str, task: str) -> None:
    table = write_table(Path(name), ROWS)
    spec = spec_of(table)
    assert spec.name == task
    assert value_of(table) == 1


def test_numbers_are_compared_as_they_are_written() -> None:
    Path("cap.csv").write_text("question,answer\nA number?,007\nAnother?,1.50\n")
    assert [target for _, target in prompts(Path("cap.csv"))] == ["007", "1.50"]


def test_a_list_of_answers_has_several_right_ones() -> None:
    rows: list[Row] = [{"question": "What is it?", "answers": ["couch", "sofa"]}]
    table = write_table(Path("cap.jsonl"), rows)
    run = evaluate("mock", [str(table)], model_args={"answer": "Sofa"}, output="run")
    assert run.results["tasks"]["cap"]["results"][0]["value"] == 1


def test_the_rows_are_data_and_no_source_of_the_task() -> None:
    first = spec_of(write_table(Path("cap.csv"), ROWS))
    second = spec_of(write_table(Path("cap.csv"), [*ROWS, *ROWS]))
    assert first.sources == ()
    assert first.source_hash == second.source_hash


# --- tables that are none

_PICTURE = io.BytesIO()
Image.new("RGB", (16, 16)).save(_PICTURE, "PNG")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"country": "France", "capital": "Paris"},
            r"has no column for the prompt or the reference answer\. It has: country, capital\.",
        ),
        ({"question": "What?"}, r"has no column for the reference answer\. It has: question\."),
        ({"answer": "x"}, r"has no column for the prompt\. It has: answer\."),
        ({"question": [1], "answer": "x"}, r"Column 'question' of cap.jsonl must hold text, but it holds '\[1\]'"),
        ({"question": "?", "answer": {"a": 1}}, "Column 'answer' of cap.jsonl must hold text, a number or a list"),
        ({"question": "?", "options": "red|blue", "answer": "x"}, r"must hold a list of options, .* holds 'red\|blue'"),
        ({"question": "?", "choices": {"text": ["a"], "label": ["A"]}, "answer": "A"}, "must hold a list of options"),
        ({"question": "?", "choices": {"B": "b", "A": "a"}, "answer": "A"}, "must hold a list of options"),
        ({"question": "?", "image": 17, "answer": "x"}, "Column 'image' of cap.jsonl must hold media, or paths"),
        (
            {"question": "?", "image": base64.b64encode(_PICTURE.getvalue()).decode(), "answer": "x"},
            r"holds images as text \(base64\), and not paths of files",
        ),
        (
            {"question": "?", "A": "b", "B": "a", "answer": "A"},
            "Options of cap.jsonl are letters, such as 'b', and so are the answers",
        ),
        (
            {"question": "?", "image": "a.png", "audio": "a.wav", "answer": "x"},
            r"has media of several kinds: 'image' \(image\) and 'audio' \(audio\)",
        ),
    ],
)
def test_a_table_that_says_too_little_is_refused(row: Row, says: str) -> None:
    table = write_table(Path("cap.jsonl"), [row])
    with pytest.raises(PlanError, match=says) as refused:
        guess_table(table)
    assert refused.value.hint.endswith("init --from cap.jsonl")
    assert refused.value.where == "cap.jsonl"


def test_the_usual_names_are_said_and_a_near_one_first() -> None:
    table = write_table(Path("cap.csv"), [{"question": "?", "anwser": "x"}])
    with pytest.raises(PlanError) as refused:
        guess_table(table)
    assert refused.value.hint.startswith("Rename 'anwser' to 'answer'? ")
    assert "for the reference answer: answer, target, label, reference or solution" in refused.value.hint
    assert "for the prompt" not in refused.value.hint
    assert refused.value.where == "cap.csv:1"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_file_is_refused(kind: str) -> None:
    Path(f"cap.{kind}").touch()
    with pytest.raises(DataError, match=rf"cap\.{kind} is empty \(0 bytes\)"):
        guess_table(Path(f"cap.{kind}"))


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "parquet"])
def test_a_table_without_rows_is_refused(kind: str) -> None:
    table = Path(f"cap.{kind}")
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"question": pa.array([], pa.string()), "answer": pa.array([], pa.string())}), table)
    elif kind == "xlsx":
        import openpyxl

        workbook = openpyxl.Workbook()
        workbook.active.append(["question", "answer"])
        workbook.save(table)
    else:
        table.write_text("question\tanswer\n" if kind == "tsv" else "question,answer\n")
    with pytest.raises(DataError, match="has column names and no rows"):
        guess_table(table)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("cap.csv", "question,answer\nCôte?,x\n".encode("latin-1"), "cap.csv is not UTF-8: line 2 has the byte 0xf4"),
        ("cap.csv", "question,answer\nWhat?,x\n".encode("utf-16"), "written in UTF-16"),
        ("cap.csv", b"question,question,answer\na,b,c\n", "two columns 'question'"),
        ("cap.csv", b"PK\x03\x04\x14\0\0\0\x08\0,\n\xff\xfe\n", "an archive or a spreadsheet"),
        ("cap.jsonl", b'{"question": 1}\n{"question"\n', "Line 2 of cap.jsonl is not valid JSON"),
        ("cap.jsonl", b"[1]\n", "a line that is not an object"),
        ("cap.json", b"[{]", "is not valid JSON"),
        ("cap.json", b"[1, 2]", "holds no list of rows"),
        ("cap.xlsx", b"PK\x03\x04", "cannot be read as an Excel file"),
        ("cap.parquet", b"PAR1", "Reading cap.parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name: str, content: bytes, says: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(DataError, match=says) as refused:
        guess_table(Path(name))
    assert name in refused.value.where
