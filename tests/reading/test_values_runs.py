"""What is wrong with the values of a task's data is said before its model is asked anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter import evaluate
from polymeter.core.errors import PolymeterError

YAML = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: {train: train.jsonl, test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
SHOTS = "fewshot_split: train\nnum_fewshot: 2\n"
TRAIN = [{"q": f"example {number}", "a": str(number)} for number in range(3)]


def written(folder: Path, *lines: str, rows: list[dict[str, Any]] | str, train: list[dict[str, Any]] = TRAIN) -> Path:
    """A task with some of its lines replaced or added, and its rows."""
    text = YAML
    for line in lines:
        key = line.partition(":")[0]
        text = "".join(old for old in text.splitlines(keepends=True) if not old.startswith(f"{key}:")) + f"{line}\n"
    (folder / "t.yaml").write_text(text)
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in train))
    content = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(content)
    return folder / "t.yaml"


def refused(file: Path, **options: Any) -> str:
    """The error of a run that asked nothing."""
    output = file.parent / "run"
    with pytest.raises(PolymeterError) as caught:
        evaluate("mock", str(file), output=output, **options)
    assert not list(output.glob("**/journal*")), "nothing was asked"
    return str(caught.value)


def noted(file: Path, **options: Any) -> list[str]:
    """The notes of a run whose model never answers: they are there without any answer."""
    run = evaluate(
        "mock",
        str(file),
        output=file.parent / "run",
        model_args={"failure_rate": 1.0, "failure": "permanent"},
        **options,
    )
    assert not [sample for sample in run.samples() if sample.status == "ok"]
    manifest = json.loads((file.parent / "run" / "run.json").read_text())
    return [note for task in manifest["tasks"] for note in task.get("notes", [])] + list(manifest.get("notes", []))


def csv_task(folder: Path, *lines: str, text: str, name: str = "rows.csv") -> Path:
    file = written(folder, f"dataset_kwargs: {{data_files: {{test: {name}}}}}", "dataset_path: csv", *lines, rows=[])
    (folder / name).write_text(text)
    return file


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("rows.csv", "q,a,a\nx,1,2\n", ""),
        ("rows.csv", '\ufeff"a",q,"a"\n1,x,2\n', ""),
        ("rows.csv", "q;a;a\nx;1;2\n", ', sep: ";"'),
        ("rows.csv", "q,a,a\nx,18446744073709551616,2\n", ""),
        ("rows.tsv", "q\ta\ta\nx\t1\t2\n", ', sep: "\\t"'),
    ],
    ids=["plain", "with a byte order mark", "semicolons", "that the library cannot read", "tabs"],
)
def test_two_columns_of_one_name(tmp_path: Path, name: str, text: str, settings: str) -> None:
    kwargs = f"dataset_kwargs: {{data_files: {{test: {name}}}{settings}}}"
    said = refused(csv_task(tmp_path, kwargs, text=text, name=name))
    assert f"The table {name} has two columns 'a'." in said
    assert f"{name}:1" in said


def test_two_columns_of_one_name_in_a_tsv_of_data(tmp_path: Path) -> None:
    file = written(tmp_path, "dataset_path: org/rows", "dataset_kwargs: {}", rows=[])
    (tmp_path / "other.tsv").write_text("q\ta\ta\nx\t1\t2\n")
    assert "has two columns 'a'" in refused(file, data={"org/rows": str(tmp_path / "other.tsv")})


@pytest.mark.parametrize("header", ["index\tquestion\tanswer\tanswer", "index\tquestion\tquestion\tanswer"])
def test_two_columns_of_one_name_in_a_table(tmp_path: Path, header: str) -> None:
    (tmp_path / "t.tsv").write_text(f"{header}\n0\tx\ty\tz\n")
    assert "has two columns" in refused(tmp_path / "t.tsv")


@pytest.mark.parametrize(
    "rows",
    [
        '{"q": "x", "a": 1, "a": 2}\n',
        '{"q": "x", "a": "1", "m": {"k": 1, "k": 2}}\n',
        '{"q": "x", "a": 1}\n{"q": "y", "a": "b", "q": "z"}\n',
        '[{"q": "x", "a": 1.5, "a": 2}]',
    ],
    ids=["numbers", "within an object", "in a later row of mixed types", "in an array"],
)
def test_two_keys_of_one_name_in_an_object(tmp_path: Path, rows: str) -> None:
    said = refused(written(tmp_path, rows=rows))
    assert "twice" in said
    assert "rows.jsonl" in said


@pytest.mark.parametrize(
    ("step", "column"),
    [("{function: code, prefix: head}", "head"), ("{function: multi_choice_regex}", "choices")],
)
def test_a_filter_that_reads_a_column_which_no_row_has(tmp_path: Path, step: str, column: str) -> None:
    line = f"filter_list: [{{name: f, filter: [{step}, {{function: take_first}}]}}]"
    said = refused(written(tmp_path, line, rows=[{"q": "x", "a": "1", "heads": "y"}]))
    assert f"reads the column '{column}', which no row has" in said
    assert "t.yaml" in said


def test_a_filter_whose_column_some_row_has_is_run(tmp_path: Path) -> None:
    line = "filter_list: [{name: f, filter: [{function: code, prefix: head}, {function: take_first}]}]"
    file = written(tmp_path, line, rows=[{"q": "x", "a": "y", "head": ""}])
    run = evaluate("mock", str(file), model_args={"answer": "y"}, output=tmp_path / "run")
    assert run.value("t", "exact_match", filter="f") == 1.0


def test_a_cluster_that_no_row_has(tmp_path: Path) -> None:
    assert "cluster_key" in refused(written(tmp_path, "cluster_key: grp", rows=[{"q": "x", "a": "1", "group": "y"}]))


def test_an_empty_cell_in_a_column_of_paths(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    rows = [{"q": "x", "a": "1", "image": "a.png"}, {"q": "y", "a": "2", "image": ""}, {"q": "z", "a": "3"}]
    (note,) = noted(written(tmp_path, "doc_to_visual: image", rows=rows))
    assert "2 of 3 samples: nothing in column 'image' (samples 1, 2)" in note
    assert "asked without a medium" in note


def test_an_empty_cell_in_a_column_of_a_csv(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    file = csv_task(tmp_path, "doc_to_visual: image", text="q,a,image\nx,1,a.png\ny,2,\n")
    assert any("1 of 2 samples: nothing in column 'image' (sample 1)" in note for note in noted(file))


def test_an_empty_cell_in_a_column_of_images(tmp_path: Path) -> None:
    import datasets

    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    features = datasets.Features(
        {"q": datasets.Value("string"), "a": datasets.Value("string"), "image": datasets.Image()}
    )
    rows = {"q": ["x", "y"], "a": ["1", "2"], "image": [str(tmp_path / "a.png"), None]}
    datasets.Dataset.from_dict(rows, features).to_parquet(tmp_path / "rows.parquet")
    kwargs = "dataset_kwargs: {data_files: {test: rows.parquet}}"
    file = written(tmp_path, "dataset_path: parquet", kwargs, "doc_to_visual: image", rows=[])
    assert any("1 of 2 samples: nothing in column 'image' (sample 1)" in note for note in noted(file))


def test_an_empty_image_in_a_table(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    text = "index\timage_path\tquestion\tanswer\n0\ta.png\tx\ty\n7\t\tx\ty\n"
    (tmp_path / "t.tsv").write_text(text)
    assert any("1 of 2 rows have nothing in 'image_path' (row 7)" in note for note in noted(tmp_path / "t.tsv"))


def test_an_empty_cell_of_a_prompt_is_nothing(tmp_path: Path) -> None:
    file = csv_task(tmp_path, text="q,a\nx,1\n,2\n")
    assert any("their prompts are empty there" in note for note in noted(file))


@pytest.mark.parametrize("line", ['doc_to_text: "{{q}}"', "doc_to_text: q"])
def test_a_null_of_a_prompt_is_nothing(tmp_path: Path, line: str) -> None:
    rows = [{"q": "x", "a": "1"}, {"q": None, "a": "2"}, {"q": "None", "a": "3"}]
    (note,) = noted(written(tmp_path, "dataset_kwargs: {data_files: {test: rows.jsonl}}", line, rows=rows))
    assert "1 of 3 samples: nothing in column 'q' (sample 1)" in note
    assert "their prompts are empty there" in note


def test_a_null_that_code_gets_is_what_the_library_gives(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("def found(doc):\n    return doc['a']\n")
    rows = [{"q": "x", "a": "1"}, {"q": None, "a": "2"}]
    line = "doc_to_target: !function utils.found"
    file = written(tmp_path, "dataset_kwargs: {data_files: {test: rows.jsonl}}", line, rows=rows)
    assert noted(file) == []
    assert [sample.prompt for sample in evaluate("mock", str(file), output=tmp_path / "asked").samples()] == [
        "x",
        "None",
    ]


@pytest.mark.parametrize("sampler", ["default", "first_n"])
def test_an_example_that_is_the_question(tmp_path: Path, sampler: str) -> None:
    train = [{"q": "same", "a": "1", "id": 7}, {"q": "other", "a": "2", "id": 8}, {"q": "third", "a": "3", "id": 9}]
    rows = [{"q": "same", "a": "1", "id": 0}, {"q": "new", "a": "9", "id": 1}]
    lines = (SHOTS.strip().replace("\n", "\n"), f"fewshot_config: {{sampler: {sampler}}}")
    file = written(tmp_path, *lines, rows=rows, train=train)
    (note,) = noted(file)
    assert "1 of 2 samples: an example that was drawn asks the same question (sample 0) and is left out" in note
    run = evaluate("mock", str(file), output=tmp_path / "again")
    shown = [str(sample.prompt) for sample in run.samples()]
    assert shown[0].count("same") == 1
    assert all(word in shown[0] for word in ("other", "third")), "another stands in its place"


def test_an_example_with_other_choices_or_another_image_is_another_question(tmp_path: Path) -> None:
    for number in range(2):
        Image.new("RGB", (4, 4), (number * 200, 0, 0)).save(tmp_path / f"{number}.png")
    train = [{"q": "What is it?", "a": "1", "image": "1.png"} for _ in range(3)]
    rows = [{"q": "What is it?", "a": "1", "image": "0.png"}]
    assert noted(written(tmp_path, SHOTS.strip(), "doc_to_visual: image", rows=rows, train=train)) == []
    choices = [{"q": "Which?", "c": ["a", "b"], "a": 0} for _ in range(3)]
    lines = ("output_type: multiple_choice", "doc_to_choice: c", "metric_list: [{metric: acc}]")
    rows = [{"q": "Which?", "c": ["c", "d"], "a": 0}]
    folder = tmp_path / "choices"
    folder.mkdir()
    assert noted(written(folder, SHOTS.strip(), *lines, rows=rows, train=choices)) == []


def test_splits_whose_columns_have_other_types_are_read_row_by_row(tmp_path: Path) -> None:
    rows = [{"q": "x", "a": "1969-07-20"}, {"q": "y", "a": "1970-01-01"}]
    file = written(tmp_path, SHOTS.strip(), rows=rows)
    run = evaluate("mock", str(file), model_args={"answer": "1969-07-20"}, output=tmp_path / "run")
    assert run.value("t", "exact_match") == 0.5
    assert "example" in str(next(iter(run.samples())).prompt)


def test_two_columns_of_one_name_are_told_by_check(tmp_path: Path) -> None:
    from polymeter.core.names.catalog import Entry
    from polymeter.tasks.table.index import check

    (tmp_path / "t.tsv").write_text("index\tquestion\tanswer\tanswer\n0\tx\ty\tz\n")
    (problem,) = check(Entry("t", "task", "table", tmp_path / "t.tsv", True))
    assert "two columns 'answer'" in problem.message


def test_hooks_get_what_the_library_reads_and_targets_are_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(
        "import datetime\n"
        "def ask(doc):\n"
        "    assert type(doc['a']) is datetime.datetime and type(doc['n']) is float\n"
        "    return doc['q']\n"
    )
    rows = [{"q": "x", "a": "1969-07-20", "n": 5}, {"q": "y", "a": "1970-01-01", "n": 2.5}]
    kwargs = "dataset_kwargs: {data_files: {test: rows.jsonl}}"
    file = written(tmp_path, kwargs, "doc_to_text: !function utils.ask", rows=rows)
    run = evaluate("mock", str(file), model_args={"answer": "1969-07-20"}, output=tmp_path / "run")
    assert run.value("t", "exact_match") == 0.5
    assert [sample.target for sample in run.samples()] == ["1969-07-20", "1970-01-01"]


ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter


@Benchmark.register(
    name="own", dataset_id="org/rows", subset_list=["default"], metric_list=["AverageAccuracy"], eval_split="test"
)
class Own(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["q"])

    def get_gold_answer(self, input_d):
        return input_d["solution"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result

    def match(self, gold, pred):
        return float(gold == pred)
"""


@pytest.mark.needs_system("evalscope")
def test_an_adapter_that_reads_a_column_which_no_record_has(tmp_path: Path) -> None:
    (tmp_path / "own_adapter.py").write_text(ADAPTER)
    (tmp_path / "rows.jsonl").write_text('{"q": "x", "solutions": "1"}\n')
    said = refused_by_name("own", tmp_path)
    assert "reads 'solution' for its reference, which no record has" in said
    assert "solutions" in said


def refused_by_name(name: str, folder: Path) -> str:
    with pytest.raises(PolymeterError) as caught:
        evaluate(
            "mock", name, include_paths=[folder], output=folder / "run", data={"org/rows": str(folder / "rows.jsonl")}
        )
    assert not list((folder / "run").glob("**/journal*")), "nothing was asked"
    return str(caught.value)


def images_asked_with(folder: Path, file: Path) -> list[int]:
    """How many images each sample of a run was asked with; nothing else but text was sent."""
    run = evaluate("mock", str(file), output=folder / "asked")
    journals = [path.read_bytes() for path in (folder / "asked").glob("**/*journal*") if path.is_file()]
    assert journals
    assert not any(b'"video"' in journal for journal in journals)
    samples = [*run.samples()]
    assert [sample.status for sample in samples] == ["ok"] * len(samples)
    return [len(sample.media) for sample in samples]


NO_MEDIUM = [
    ("", "an empty text"),
    ("  ", "white space"),
    ("\t\n", "white space of other kinds"),
    ("nan", "the word that pandas writes for nothing"),
    ("NaN", "the same in another case"),
    (None, "null"),
    ([], "an empty list"),
    ([None], "a list of nothing"),
    (["", " "], "a list of empty texts"),
]


@pytest.mark.parametrize(
    ("visual", "cell", "why"),
    [("pic", *case) for case in NO_MEDIUM] + [('"{{pic}}"', *case) for case in NO_MEDIUM[:5]],
)
def test_an_empty_cell_is_no_medium(tmp_path: Path, visual: str, cell: Any, why: str) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "p.png")
    is_list = isinstance(cell, list)
    rows = [{"q": "x", "a": "1", "pic": ["p.png"] if is_list else "p.png"}, {"q": "y", "a": "2", "pic": cell}]
    file = written(tmp_path, f"doc_to_visual: {visual}", rows=rows)
    (note,) = noted(file)
    assert "1 of 2 samples: nothing in" in note, why
    assert "(sample 1)" in note
    assert "asked without a medium" in note
    assert images_asked_with(tmp_path, file) == [1, 0], why


def test_an_empty_place_in_a_list_of_media(tmp_path: Path) -> None:
    for number, name in enumerate("po"):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / f"{name}.png")
    rows = [{"q": "x", "a": "1", "pic": ["p.png", ""]}, {"q": "y", "a": "2", "pic": ["p.png", "o.png"]}]
    file = written(tmp_path, "doc_to_visual: pic", rows=rows)
    (note,) = noted(file)
    assert "1 of 2 samples: nothing in a place of the list in column 'pic' (sample 0)" in note
    assert images_asked_with(tmp_path, file) == [1, 2]


@pytest.mark.parametrize("cell", ["", " ", "nan", '"  "'])
@pytest.mark.parametrize(("name", "sign"), [("rows.csv", ","), ("rows.tsv", "\t")])
def test_an_empty_cell_of_a_csv_is_no_medium(tmp_path: Path, name: str, sign: str, cell: str) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "p.png")
    kwargs = f"dataset_kwargs: {{data_files: {{test: {name}}}, sep: {json.dumps(sign)}}}"
    text = f"q,a,pic\nx,1,p.png\ny,2,{cell}\n".replace(",", sign)
    file = csv_task(tmp_path, kwargs, "doc_to_visual: pic", text=text, name=name)
    assert any("1 of 2 samples: nothing in column 'pic' (sample 1)" in note for note in noted(file))
    assert images_asked_with(tmp_path, file) == [1, 0]


@pytest.mark.parametrize("given", ["doc['pic']", "{'type': 'image', 'url': doc['pic']}", "{'url': doc['pic']}"])
def test_a_function_that_gives_an_empty_path_fails_with_a_reason(tmp_path: Path, given: str) -> None:
    (tmp_path / "utils.py").write_text(f"def see(doc):\n    return [{given}]\n")
    Image.new("RGB", (4, 4)).save(tmp_path / "p.png")
    rows = [{"q": "x", "a": "1", "pic": str(tmp_path / "p.png")}, {"q": "y", "a": "2", "pic": " "}]
    file = written(tmp_path, "doc_to_visual: !function utils.see", rows=rows)
    run = evaluate("mock", str(file), output=tmp_path / "run")
    first, second = run.samples()
    assert (first.status, second.status) == ("ok", "error")
    assert "An empty text names no medium" in str(second.error)


@pytest.mark.parametrize("cell", [" ", "nan"])
def test_an_empty_image_cell_of_a_table(tmp_path: Path, cell: str) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "t.tsv").write_text(f"index\timage_path\tquestion\tanswer\n0\ta.png\tx\ty\n7\t{cell}\tx\ty\n")
    assert any("1 of 2 rows have nothing in 'image_path' (row 7)" in note for note in noted(tmp_path / "t.tsv"))
    assert images_asked_with(tmp_path, tmp_path / "t.tsv") == [1, 0]


_EQUAL = ["q", "a", "a"]


@pytest.mark.parametrize(
    ("lines", "names", "where"),
    [
        (("dataset_path: parquet", "dataset_kwargs: {data_files: {test: t.parquet}}"), _EQUAL, "t.parquet"),
        (("dataset_path: parquet", "dataset_kwargs: {data_files: {test: t.parquet}}"), [*_EQUAL, "d"], "t.parquet"),
        (("dataset_path: parquet", "dataset_kwargs: {data_files: {test: 't*.parquet'}}"), _EQUAL, "t.yaml"),
        (("dataset_path: data", "dataset_kwargs: {}"), _EQUAL, "test-0.parquet"),
        (
            (
                "dataset_path: parquet",
                "dataset_kwargs: {data_files: {test: t.parquet}}",
                "process_docs: !function utils.same",
            ),
            _EQUAL,
            "t.yaml",
        ),
    ],
    ids=["plain", "with dates", "a pattern", "a folder", "before a function"],
)
def test_two_columns_of_one_name_in_parquet(
    tmp_path: Path, lines: tuple[str, ...], names: list[str], where: str
) -> None:
    import datetime

    import pyarrow as pa
    from pyarrow.parquet import write_table

    file = written(tmp_path, *lines, rows=[])
    (tmp_path / "utils.py").write_text("def same(dataset):\n    return dataset\n")
    (tmp_path / "data").mkdir()
    cells = [pa.array(["x"]), pa.array(["1"]), pa.array(["2"]), pa.array([datetime.date(2020, 1, 1)])]
    table = pa.Table.from_arrays(cells[: len(names)], names=names)
    for place in ("t.parquet", "data/test-0.parquet"):
        write_table(table, tmp_path / place)
    said = refused(file)
    assert "has two columns 'a'" in said
    assert where in said


@pytest.mark.parametrize(
    ("choices", "n"),
    [(["a", "b", "a"], 1), (["a", "A"], 0), (["a", "", ""], 0), (["a", " a"], 0), ([1.5, "1.5"], 1)],
    ids=["equal", "another case", "empty ones are none", "white space is shown", "a number and its text"],
)
def test_choices_that_are_the_same_text(tmp_path: Path, choices: list[Any], n: int) -> None:
    rows = [{"q": "x", "c": ["yes", "no"], "a": 1}, {"q": "y", "c": choices, "a": 0}]
    lines = ("output_type: multiple_choice", "doc_to_choice: c", "metric_list: [{metric: acc}]")
    kwargs = "dataset_kwargs: {data_files: {test: rows.jsonl}}"
    notes = noted(written(tmp_path, kwargs, *lines, rows=rows))
    assert sum("1 of the 2 rows looked at have equal choices (the first is sample 1)" in note for note in notes) == n
    assert len(notes) == n


_ASKS = "def ask(doc):\n    return f\"{doc['q']}  {doc.get('more', '')}\"\ndef see(doc):\n    return [doc['pic']]\n"


@pytest.mark.parametrize(
    ("train", "row", "notes"),
    [
        ({"q": "same", "id": 5}, {"q": "same", "id": 9}, ["shows its answer"]),
        ({"q": "same", "more": "x", "id": 5}, {"q": " same", "more": "x\n", "id": 5}, ["shows its answer"]),
        ({"q": "caf\u00e9", "id": 5}, {"q": "cafe\u0301", "id": 5}, ["shows its answer"]),
        ({"q": "same", "id": 5}, {"q": "same", "id": 5}, ["is left out"]),
        ({"q": "same", "id": 5}, {"q": "other", "id": 5}, []),
    ],
    ids=["another number", "other white space", "another form of Unicode", "the whole row", "another question"],
)
def test_an_example_that_shows_the_question_of_a_task_with_code(
    tmp_path: Path, train: dict[str, Any], row: dict[str, Any], notes: list[str]
) -> None:
    (tmp_path / "utils.py").write_text(_ASKS)
    shown = [{**train, "a": "1"}, {"q": "second", "id": 6, "a": "2"}]
    lines = ("doc_to_text: !function utils.ask", "fewshot_split: train\nnum_fewshot: 1")
    file = written(tmp_path, *lines, "fewshot_config: {sampler: first_n}", rows=[{**row, "a": "1"}], train=shown)
    said = noted(file)
    assert len(said) == len(notes)
    assert all(end in note and "(sample 0)" in note for note, end in zip(said, notes, strict=True))
    (sample,) = evaluate("mock", str(file), output=tmp_path / "asked").samples()
    is_first = sample.prompt.startswith(train["q"])
    assert is_first == (notes != ["is left out"]), "prompts of tasks with code stay what they were"


@pytest.mark.parametrize(("name", "n"), [("equal.png", 1), ("other.png", 0)])
def test_media_of_code_are_compared_by_content(tmp_path: Path, name: str, n: int) -> None:
    (tmp_path / "utils.py").write_text(_ASKS)
    for file, red in (("p.png", 0), ("equal.png", 0), ("other.png", 200)):
        Image.new("RGB", (4, 4), (red, 0, 0)).save(tmp_path / file)
    train = [
        {"q": "same", "a": "1", "pic": str(tmp_path / "p.png")},
        {"q": "x", "a": "2", "pic": str(tmp_path / "p.png")},
    ]
    rows = [{"q": "same", "a": "1", "pic": str(tmp_path / name)}]
    lines = ("doc_to_visual: !function utils.see", "fewshot_split: train\nnum_fewshot: 1")
    said = noted(written(tmp_path, *lines, "fewshot_config: {sampler: first_n}", rows=rows, train=train))
    assert sum("shows its answer" in note for note in said) == n


@pytest.mark.parametrize("question", ["a  same", "a same\n", "a\u00a0same"])
def test_an_example_that_is_the_question_but_for_white_space(tmp_path: Path, question: str) -> None:
    train = [{"q": "a same", "a": "1", "id": 7}, {"q": "other", "a": "2", "id": 8}, {"q": "third", "a": "3", "id": 9}]
    file = written(tmp_path, SHOTS.strip(), rows=[{"q": question, "a": "1", "id": 0}], train=train)
    (note,) = noted(file)
    assert "is left out" in note


@pytest.mark.parametrize(("name", "n"), [("p.png", 1), ("other.png", 0)])
def test_files_that_a_template_names_are_media_of_the_question(tmp_path: Path, name: str, n: int) -> None:
    for file, red in (("p.png", 0), ("other.png", 200)):
        Image.new("RGB", (4, 4), (red, 0, 0)).save(tmp_path / file)
    train = [{"q": "same", "a": "1", "pic": "p"}, {"q": "x", "a": "2", "pic": "p"}]
    rows = [{"q": "same", "a": "1", "pic": name.removesuffix(".png")}]
    lines = ('doc_to_visual: "{{pic}}.png"', "fewshot_split: train\nnum_fewshot: 1")
    said = noted(written(tmp_path, *lines, "fewshot_config: {sampler: first_n}", rows=rows, train=train))
    assert sum("is left out" in note for note in said) == n
