"""Mistakes that people make in their first hour: each ends with exit 2 before anything is asked, and says what is
wrong, where, and what to write instead.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

from polymeter.cli.main import main
from tests.cli.kit import Typing
from tests.e2e.kit import FIRST_YAML

CSV = "country,capital\nFrance,Paris\nJapan,Tokyo\n"
BASE = {"mine/capitals.yaml": FIRST_YAML, "mine/capitals.csv": CSV}
REST = "--include-path mine -q -o run"
RUN = f"run --model mock --tasks capitals {REST}"
MODEL = """\
import polymeter


@polymeter.register_model("NAME")
class Own(polymeter.BatchModel):
    def __init__(self):
        self.traits = polymeter.ModelTraits(family="own")

    @property
    def identity(self):
        return {}

    def respond(self, requests):
        return [polymeter.Response.of_text("x") for request in requests]
"""
RETURNS = 'return [polymeter.Response.of_text("x") for request in requests]'


@dataclass(frozen=True)
class Mistake:
    """What is typed, in which folder, and what is said."""

    what: str
    words: str = RUN
    says: tuple[str, ...] = ()
    at: str = ""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    code: int = 2


def written(old: str, new: str, *more: tuple[str, str]) -> dict[str, str]:
    """The files, with something else in the YAML."""
    text = FIRST_YAML
    for before, after in ((old, new), *more):
        assert before in text
        text = text.replace(before, after)
    return {"mine/capitals.yaml": text}


def own_model(name: str, old: str, new: str) -> dict[str, str]:
    """A file with a model of the user's own, in which something is wrong."""
    assert old in MODEL
    return {"own.py": MODEL.replace(old, new).replace("NAME", name)}


def picture(mode: str = "RGB", ending: str = "PNG") -> bytes:
    """The file of a small image."""
    file = io.BytesIO()
    Image.new(mode, (8, 8)).save(file, ending)
    return file.getvalue()


def with_own(name: str) -> str:
    return f"run --import own.py --model {name} --tasks capitals {REST}"


PHOTOS = {"mine/photos/0.png": picture()}
TABLE = "index\tquestion\tanswer\n1\tWhat?\tx\n"
JSON = ("dataset_path: csv", "dataset_path: json")
JSONL = (*JSON, ("capitals.csv", "capitals.jsonl"))
FOLDER = ("csv\ndataset_kwargs: {data_files: {test: capitals.csv}}", "imagefolder\ndataset_kwargs: {data_dir: photos}")
SPLIT = ("test_split: test", "test_split: train")
LOCAL = "dataset_path: csv\ndataset_kwargs: {data_files: {test: capitals.csv}}"
MINE = "mine/capitals.yaml"
SEE = "from PIL import Image\n\n\ndef see(doc):\n    return [Image.open(doc['country'] + '.png')]\n"
DATA = [
    Mistake(
        "a file of zero bytes",
        says=("capitals.csv is empty (0 bytes)", "first line"),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": ""},
    ),
    Mistake(
        "a header without rows",
        says=("has column names and no rows",),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": "country,capital\n"},
    ),
    Mistake(
        "JSON lines of zero bytes",
        says=("capitals.jsonl is empty (0 bytes)",),
        at=f"{MINE}:3",
        files={**written(*JSONL), "mine/capitals.jsonl": ""},
    ),
    Mistake(
        "a broken line of JSON",
        says=("Line 2 of capitals.jsonl is not valid JSON", "Each line holds a row"),
        at=f"{MINE}:3",
        files={**written(*JSONL), "mine/capitals.jsonl": '{"country": "a"}\n{"country'},
    ),
    Mistake(
        "a comma too many in JSON",
        says=("rows.json is not valid JSON", "a list of rows"),
        at=f"{MINE}:3",
        files={**written(*JSON, ("capitals.csv", "rows.json")), "mine/rows.json": '[{"country": "a"},]'},
    ),
    Mistake(
        "a row with too many cells",
        says=("csv files cannot be read", "line 3"),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": "country,capital\nFrance,Paris\nJapan,Tokyo,x\n"},
    ),
    Mistake(
        "a CSV in another encoding",
        says=("capitals.csv is not UTF-8: line 1 has the byte 0xe9", "encoding: cp1252"),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": "caf\xe9,capital\nFlore,Paris\n".encode("cp1252")},
    ),
    Mistake(
        "types of columns",
        says=("'features' cannot be written in YAML", "compared as written"),
        at=f"{MINE}:3",
        files=written("{data_files: {test: capitals.csv}}", "{data_files: capitals.csv, features: {capital: string}}"),
    ),
    Mistake(
        "no answer in any row",
        says=("'capital', the target of task 'capitals', is empty in all 2 rows",),
        at=f"{MINE}:6",
        files={"mine/capitals.csv": "country,capital\nFrance,\nJapan,\n"},
    ),
    Mistake(
        "a row without an answer",
        says=("1 of 2 samples has no target: column 'capital' is empty in sample 1", "Sample 1 has no target"),
        files={"mine/capitals.csv": "country,capital\nFrance,75.50\nJapan,\n"},
        code=1,
    ),
    Mistake(
        "names of images that lie elsewhere",
        says=("sample 0 names 'Paris.png'", "It was looked for in ", 'doc_to_visual: "photos/{{file}}"'),
        at=f"{MINE}:6",
        files={
            **written("doc_to_target: capital", "doc_to_visual: image\ndoc_to_target: capital"),
            "mine/capitals.csv": "country,capital,image\nFrance,Paris,Paris.png\n",
        },
    ),
    Mistake(
        "a misspelt file",
        says=("There is no file 'captals.csv'", "Did you mean 'capitals.csv'?"),
        at=f"{MINE}:3",
        files=written("test: capitals.csv", "test: captals.csv"),
    ),
    Mistake(
        "a misspelt setting",
        says=("dataset_kwargs has no setting 'data_flies'", "Did you mean 'data_files'?"),
        at=f"{MINE}:3",
        files=written("data_files:", "data_flies:"),
    ),
    Mistake(
        "settings that are a text",
        says=("dataset_kwargs", "dictionary"),
        at=f"{MINE}:3",
        files=written("{data_files: {test: capitals.csv}}", "capitals.csv"),
    ),
    Mistake(
        "a format without files",
        says=("names no data_files", "Write dataset_kwargs: {data_files:"),
        at=f"{MINE}:2",
        files=written("dataset_kwargs: {data_files: {test: capitals.csv}}\n", ""),
    ),
    Mistake(
        "a misspelt format",
        says=("Dataset 'cvs' cannot be loaded", "Did you mean 'csv'?"),
        at=f"{MINE}:2",
        files=written("dataset_path: csv", "dataset_path: cvs"),
    ),
    Mistake(
        "a dataset of the hub without network",
        says=("'org/name' cannot be loaded", "--data org/name=PATH"),
        at=f"{MINE}:2",
        files=written(LOCAL, "dataset_path: org/name"),
    ),
    Mistake(
        "a folder that is not there",
        says=("The dataset folder './rows' does not exist", "It is looked for in"),
        at=f"{MINE}:2",
        files=written(LOCAL, "dataset_path: ./rows"),
    ),
    Mistake(
        "a folder of images that is not there",
        says=("There is no folder 'photos'",),
        at=f"{MINE}:3",
        files=written(*FOLDER),
    ),
    Mistake(
        "a folder without images",
        says=("holds nothing that 'imagefolder' reads", "It holds: notes.md"),
        at=f"{MINE}:3",
        files={**written(*FOLDER), "mine/photos/notes.md": "x"},
    ),
    Mistake(
        "semicolons",
        says=("separated by ';' and not by commas", 'add sep: ";" to dataset_kwargs'),
        at=f"{MINE}:5",
        files={"mine/capitals.csv": CSV.replace(",", ";")},
    ),
    Mistake(
        "tabs in a CSV",
        says=('add sep: "\\t" to dataset_kwargs',),
        at=f"{MINE}:5",
        files={"mine/capitals.csv": CSV.replace(",", "\t")},
    ),
    Mistake(
        "a CSV in UTF-16",
        says=("capitals.csv is written in UTF-16", "CSV UTF-8"),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": CSV.encode("utf-16")},
    ),
    Mistake(
        "a spreadsheet under the name of a CSV",
        says=("capitals.csv is an archive or a spreadsheet", "Save it as CSV"),
        at=f"{MINE}:3",
        files={"mine/capitals.csv": b"PK\x03\x04\x14\0\0\0\x08\0,\n\xff\xfe\n"},
    ),
    Mistake(
        "a spreadsheet as data file",
        says=("capitals.xlsx cannot be read as an Excel file", "Save it again as .xlsx, or as CSV in UTF-8"),
        at=f"{MINE}:3",
        files={**written("test: capitals.csv", "test: capitals.xlsx"), "mine/capitals.xlsx": b"PK\x03\x04"},
    ),
    Mistake(
        "a spreadsheet as format",
        says=("dataset_path 'xlsx' is not a format of data", "Write dataset_path: excel"),
        at=f"{MINE}:2",
        files=written("dataset_path: csv", "dataset_path: xlsx"),
    ),
    Mistake(
        "a column with a blank in its name",
        says=("'capital', which is not a column", "Did you mean ' capital'?"),
        at=f"{MINE}:6",
        files={"mine/capitals.csv": CSV.replace(",", ", ")},
    ),
    Mistake(
        "a column with a letter of another alphabet",
        says=("'capital', which is not a column", "Did you mean 'capit\u0430l'?"),
        at=f"{MINE}:6",
        files={"mine/capitals.csv": CSV.replace("capital", "capit\u0430l")},
    ),
    Mistake(
        "a table of images in which no file is there",
        says=("The file named in the rows of 'photos' does not exist: photos/0.png", "Write '0.png'"),
        at=f"{MINE}:3",
        files={**written(*FOLDER, SPLIT), **PHOTOS, "mine/photos/metadata.csv": "file_name,country\nphotos/0.png,x\n"},
    ),
    Mistake(
        "a table of images without names of files",
        says=("photos/metadata.csv has no column 'file_name'", "Rename 'filename' to 'file_name'"),
        at=f"{MINE}:3",
        files={**written(*FOLDER, SPLIT), **PHOTOS, "mine/photos/metadata.csv": "filename,country\n0.png,x\n"},
    ),
    Mistake(
        "a table of images with semicolons",
        says=("photos/metadata.csv are not separated by commas", "Save it separated by commas"),
        at=f"{MINE}:3",
        files={**written(*FOLDER, SPLIT), **PHOTOS, "mine/photos/metadata.csv": "file_name;country\n0.png;x\n"},
    ),
    Mistake(
        "a table of images in another encoding",
        says=("photos/metadata.csv is not UTF-8: line 2 has the byte 0xe9", "Save it as UTF-8"),
        at=f"{MINE}:3",
        files={
            **written(*FOLDER, SPLIT),
            **PHOTOS,
            "mine/photos/metadata.csv": "file_name,country\n0.png,caf\xe9\n".encode("cp1252"),
        },
    ),
    Mistake(
        "a table beside the folder of images",
        says=("uses 'country'", "capitals.csv beside the folder is not read", "Put it into the folder"),
        at=f"{MINE}:5",
        files={**written(*FOLDER, SPLIT), **PHOTOS},
    ),
    Mistake(
        "a table of images under another name",
        says=("uses 'country'", "labels.csv is not read", "Call it metadata.csv"),
        at=f"{MINE}:5",
        files={**written(*FOLDER, SPLIT), **PHOTOS, "mine/photos/labels.csv": "file_name,country\n0.png,x\n"},
    ),
    Mistake(
        "a misspelt split",
        says=("has no split 'tset'", "Did you mean 'test'?"),
        at=f"{MINE}:4",
        files=written("test_split: test", "test_split: tset"),
    ),
    Mistake(
        "a misspelt name of a split",
        says=("There is no task field 'tset_split'", "Did you mean 'test_split'?"),
        at=f"{MINE}:4",
        files=written("test_split", "tset_split"),
    ),
    Mistake(
        "no split",
        says=("neither a test_split nor", "Write test_split: test"),
        at=f"{MINE}:1",
        files=written("test_split: test\n", ""),
    ),
    Mistake(
        "no rows after process_docs",
        says=("There are no rows in split 'test'", "process_docs"),
        at=f"{MINE}:7",
        files={
            **written("doc_to_target: capital", "doc_to_target: capital\nprocess_docs: !function utils.none"),
            "mine/utils.py": "def none(rows):\n    return rows.select([])\n",
        },
    ),
    Mistake(
        "--data of a misspelt id",
        f"{RUN} --data org/nmae=mine",
        ("No task of this run asks for the data 'org/nmae'", "Did you mean 'org/name'?"),
        "--data",
        {**written(LOCAL, "dataset_path: org/name")},
    ),
    Mistake(
        "--data of a file that is not there",
        f"{RUN} --data csv=nowhere",
        ("There is no file or folder 'nowhere'",),
        "--data csv=nowhere",
    ),
    Mistake(
        "--data without an id",
        f"{RUN} --data mine",
        ("'mine' is not of the form ID=PATH", "Write --data org/name=./folder"),
        "--data",
    ),
]
TASKS = [
    Mistake(
        "a misspelt column in doc_to_text",
        says=("uses 'contry'", "It has the columns: country, capital"),
        at=f"{MINE}:5",
        files=written("{{country}}", "{{contry}}"),
    ),
    Mistake(
        "single braces",
        says=("writes {country} into every prompt", "Write {{country}}, with two braces"),
        at=f"{MINE}:5",
        files=written("{{country}}", "{country}"),
    ),
    Mistake(
        "a slice behind the last row",
        says=("names no rows", "Rows count from 0"),
        at=f"{MINE}:4",
        files=written("test_split: test", 'test_split: "test[5:9]"'),
    ),
    Mistake(
        "an open brace",
        says=("The template of doc_to_text is not valid",),
        at=f"{MINE}:5",
        files=written("{{country}}", "{{country"),
    ),
    Mistake(
        "a misspelt column of images",
        says=("names 'imgae'", "It has the columns"),
        at=f"{MINE}:7",
        files=written("doc_to_target: capital", "doc_to_target: capital\ndoc_to_visual: imgae"),
    ),
    Mistake(
        "no doc_to_text",
        says=("neither doc_to_text nor", 'Write doc_to_text: "{{question}}"'),
        at=f"{MINE}:1",
        files=written('doc_to_text: "What is the capital of {{country}}?"\n', ""),
    ),
    Mistake(
        "choices that are no list",
        says=("must give a list of texts, not 'Paris'", "doc_to_choice: [yes, no]"),
        at=f"{MINE}:6",
        files=written("test_split: test", "test_split: test\noutput_type: multiple_choice\ndoc_to_choice: capital"),
    ),
    Mistake(
        "choices as a list of templates",
        says=("every row has the choice '{{country}}' as written", 'doc_to_choice: "{{ [country, capital] }}"'),
        at="mine/capitals.yaml",
        files=written(
            "test_split: test",
            'test_split: test\noutput_type: multiple_choice\ndoc_to_choice: ["{{country}}", "{{capital}}"]',
        ),
    ),
    Mistake(
        "choices as a list of columns",
        says=("every row has the choices 'country', 'capital' as written", 'doc_to_choice: "{{ [country, capital] }}"'),
        at="mine/capitals.yaml",
        files=written(
            "test_split: test", "test_split: test\noutput_type: multiple_choice\ndoc_to_choice: [country, capital]"
        ),
    ),
    Mistake(
        "multiple choice without choices",
        says=("has no doc_to_choice", "Write doc_to_choice:"),
        at=f"{MINE}:5",
        files=written("test_split: test", "test_split: test\noutput_type: multiple_choice"),
    ),
    Mistake(
        "a misspelt output type",
        says=("'output_type'", "Did you mean 'generate_until'?"),
        at=f"{MINE}:5",
        files=written("test_split: test", "test_split: test\noutput_type: generate_untill"),
    ),
    Mistake(
        "a count that is a word",
        says=("'num_fewshot'", "integer"),
        at=f"{MINE}:5",
        files=written("test_split: test", "test_split: test\nnum_fewshot: two"),
    ),
    Mistake(
        "examples without a split for them",
        f"{RUN} --num-fewshot 2",
        ("no split to draw 2 examples from", "Name a fewshot_split"),
        f"{MINE}:4",
    ),
    Mistake(
        "a function that is not there",
        says=("defines no 'score'",),
        at=f"{MINE}:7",
        files={
            **written("doc_to_target: capital", "doc_to_target: capital\nprocess_results: !function utils.score"),
            "mine/utils.py": "x = 1\n",
        },
    ),
    Mistake(
        "a function's file that is not there",
        says=("There is no utils.py", "It is looked for in"),
        at=f"{MINE}:7",
        files=written("doc_to_target: capital", "doc_to_target: capital\nprocess_results: !function utils.score"),
    ),
    Mistake(
        "a hook that raises",
        says=("doc_to_target of task 'capitals' raised KeyError: 'captial'",),
        at="mine/utils.py:2",
        files={
            **written("doc_to_target: capital", "doc_to_target: !function utils.target"),
            "mine/utils.py": "def target(doc):\n    return doc['captial']\n",
        },
    ),
    Mistake(
        "an image that is not there",
        says=("No such file", "France.png"),
        at="mine/utils.py:5",
        files={
            **written("doc_to_target: capital", "doc_to_target: capital\ndoc_to_visual: !function utils.see"),
            "mine/utils.py": SEE,
        },
    ),
    Mistake(
        "a misspelt metric",
        says=("exact_mach", "exact_match"),
        at=f"{MINE}:8",
        files=written("exact_match", "exact_mach"),
    ),
    Mistake(
        "a misspelt filter",
        says=("There is no filter 'rgex'", "Did you mean 'regex'?"),
        at=f"{MINE}:5",
        files=written("test_split: test", "test_split: test\nfilter_list: [{name: a, filter: [{function: rgex}]}]"),
    ),
    Mistake(
        "a broken pattern",
        says=("Filter 'regex' of task 'capitals'", "Check its arguments"),
        at=MINE,
        files=written(
            "test_split: test",
            "test_split: test\nfilter_list: [{name: a, filter: [{function: regex, regex_pattern: '('}]}]",
        ),
    ),
    Mistake(
        "a tab in the YAML",
        says=("this line has a tab", "Indent it with spaces"),
        at=f"{MINE}:4",
        files=written("test_split", "\ttest_split"),
    ),
    Mistake(
        "no task",
        says=("There is no task, group or tag 'capitals'", "no line 'task: capitals'"),
        at=f"{MINE}:1",
        files=written("task: capitals\n", ""),
    ),
    Mistake(
        "an empty YAML",
        f"run --model mock --tasks {MINE} -q -o run",
        ("capitals.yaml is empty", "task: NAME"),
        f"{MINE}:1",
        {MINE: ""},
    ),
    Mistake(
        "a list",
        f"run --model mock --tasks {MINE} -q -o run",
        ("must be a mapping", "this is a list"),
        f"{MINE}:1",
        {MINE: "- a\n"},
    ),
    Mistake(
        "a YAML to include that is not there",
        says=("The included file '_base' does not exist",),
        at=f"{MINE}:1",
        files=written("task: capitals", "include: _base\ntask: capitals"),
    ),
    Mistake(
        "a member that is not there",
        "run --model mock --tasks g --include-path mine -q -o run",
        ("no task, group or tag 'capitls'", "Did you mean 'capitals'?"),
        "mine/g.yaml:2",
        {"mine/g.yaml": "group: g\ntask: [capitls]\n"},
    ),
    Mistake(
        "two files of one name",
        says=("Two files define 'capitals'", "Rename one"),
        at="mine/b.yaml",
        files={"mine/b.yaml": FIRST_YAML},
    ),
    Mistake(
        "a setting that is no number in the YAML",
        says=("'max_new_tokens' must be a number, not 'eight'",),
        at=f"{MINE}:7",
        files=written("max_new_tokens: 8", "max_new_tokens: eight"),
    ),
]
TABLES = [
    Mistake(
        "a misspelt column",
        "run --model mock --tasks t.tsv -q -o run",
        ("Rename 'questoin' to 'question'?",),
        "t.tsv:1",
        {"t.tsv": TABLE.replace("question", "questoin")},
    ),
    Mistake(
        "a misspelt answer",
        "run --model mock --tasks t.tsv -q -o run",
        ("no column 'answer'", "Rename 'anwser' to 'answer'?"),
        "t.tsv:1",
        {"t.tsv": TABLE.replace("answer", "anwser")},
    ),
    Mistake(
        "a misspelt index",
        "run --model mock --tasks t.tsv -q -o run",
        ("no column 'index'", "Rename 'idx' to 'index'?"),
        "t.tsv:1",
        {"t.tsv": TABLE.replace("index", "idx")},
    ),
    Mistake(
        "no index",
        "run --model mock --tasks t.tsv -q -o run",
        ("no column 'index'", "1, 2, 3"),
        "t.tsv:1",
        {"t.tsv": "questoin\tanswer\nWhat?\tx\n"},
    ),
    Mistake(
        "commas",
        "run --model mock --tasks t.tsv -q -o run",
        ("has no tabs", "save it as tab-separated text"),
        "t.tsv:1",
        {"t.tsv": TABLE.replace("\t", ",")},
    ),
    Mistake(
        "a cell too many",
        "run --model mock --tasks t.tsv -q -o run",
        ("A row of t.tsv has 4 cells, and there are 3 columns", "the tab too many"),
        "t.tsv:3",
        {"t.tsv": TABLE + "2\ta\tb\tc\n"},
    ),
    Mistake("zero bytes", "run --model mock --tasks t.tsv -q -o run", ("is empty",), "t.tsv:1", {"t.tsv": ""}),
    Mistake(
        "a header without rows",
        "run --model mock --tasks t.tsv -q -o run",
        ("The data of 't' has no rows", "the rows come below it"),
        "t.tsv",
        {"t.tsv": TABLE.splitlines()[0]},
    ),
    Mistake(
        "a CSV as task",
        "run --model mock --tasks mine/capitals.csv -q -o run",
        (
            "capitals.csv has no column for the prompt or the reference answer",
            "It has: country, capital",
            "init --from",
        ),
        "mine/capitals.csv:1",
    ),
    Mistake(
        "JSON lines as task",
        "run --model mock --tasks q.jsonl -q -o run",
        ("q.jsonl has no column for the prompt or the reference answer", "init --from q.jsonl"),
        "q.jsonl",
        {"q.jsonl": "{}\n"},
    ),
    Mistake(
        "a CSV that is not there",
        "run --model mock --tasks mine/captals.csv -q -o run",
        ("There is no file 'mine/captals.csv'", "Did you mean 'capitals.csv'?"),
        "--tasks",
    ),
    Mistake(
        "a YAML that is not there",
        "run --model mock --tasks mine/captals.yaml -q -o run",
        ("There is no file 'mine/captals.yaml'", "Did you mean 'capitals.yaml'?"),
        "--tasks",
    ),
    Mistake(
        "a TSV that is not there",
        "run --model mock --tasks other.tsv -q -o run",
        ("There is no file 'other.tsv'", "It is looked for in"),
        "--tasks",
    ),
    Mistake(
        "a folder without tasks",
        "run --model mock --tasks photos -q -o run",
        ("There is no task in the folder 'photos'", "metadata.csv"),
        "--tasks",
        {"photos/0.png": picture()},
    ),
    Mistake(
        "a YAML without a task",
        "run --model mock --tasks mine/capitals.yaml -q -o run",
        ("holds no task or group", "task: NAME"),
        "--tasks",
        written("task: capitals\n", ""),
    ),
    Mistake(
        "a misspelt task",
        f"run --model mock --tasks capitls {REST}",
        ("no task, group or tag 'capitls'", "Did you mean 'capitals'?"),
        "--tasks",
    ),
    Mistake(
        "no include path",
        "run --model mock --tasks capitals -q -o run",
        ("no task, group or tag 'capitals'", "--include-path adds"),
        "--tasks",
    ),
    Mistake(
        "an include path that is not there",
        RUN.replace("mine", "mien"),
        ("'mien' does not exist", "Did you mean 'mine'?"),
        "--include-path",
    ),
]
ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name="caps",
    pretty_name="caps",
    dataset_id="./rows",
    model_adapter=OutputType.GENERATION,
    subset_list=["near"],
    metric_list=["AverageAccuracy"],
    eval_split="test",
    prompt_template="Capital of {country}?",
)
class Caps(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(**input_d))

    def get_gold_answer(self, input_d):
        return input_d["capital"]

    def parse_pred_result(self, result, **kwargs):
        return result

    def match(self, gold, pred):
        return gold == pred
"""
CLASS = """\
from ulmeval.dataset.text_base import TextBaseDataset


class Own(TextBaseDataset):
    TYPE = "T2I"
    DATASET_URL = {
        "own": "",
    }

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {"a": 1.0}
"""
ADAPTED = "run --model mock --tasks caps_adapter.py -q -o run"
CLASSED = "run --model shapes --tasks own.py -q -o run"
CODE = [
    Mistake(
        "an adapter's folder that is not there",
        ADAPTED,
        ("The dataset folder './rows' does not exist", "--data ./rows=./FOLDER"),
        "caps_adapter.py:8",
        {"caps_adapter.py": ADAPTER},
    ),
    Mistake(
        "an adapter's subset that is not there",
        ADAPTED,
        ("has no records of subset 'near'", "It holds: far_test.json"),
        "caps_adapter.py:10",
        {"caps_adapter.py": ADAPTER, "rows/far_test.json": "[{}]"},
    ),
    Mistake(
        "an adapter's split that is not there",
        ADAPTED,
        ("There is no split 'test'", "It has: train"),
        "caps_adapter.py:12",
        {"caps_adapter.py": ADAPTER, "rows/near/train.jsonl": "{}\n"},
    ),
    Mistake(
        "an adapter's file with a broken line",
        ADAPTED,
        ("Line 2 of near_test.jsonl is not valid JSON",),
        "caps_adapter.py:8",
        {"caps_adapter.py": ADAPTER, "rows/near_test.jsonl": '{"a": "b"}\n{"a'},
    ),
    Mistake(
        "an adapter's empty file",
        ADAPTED,
        ("near_test.jsonl is empty",),
        "rows/near_test.jsonl",
        {"caps_adapter.py": ADAPTER, "rows/near_test.jsonl": ""},
    ),
    Mistake(
        "a column that an adapter's prompt names",
        ADAPTED,
        ("raised KeyError: 'country'",),
        "caps_adapter.py:17",
        {"caps_adapter.py": ADAPTER, "rows/near_test.jsonl": '{"contry": "b"}\n'},
    ),
    Mistake(
        "a dataset class without its table",
        CLASSED,
        ("There is no table for dataset 'own'", "--data own=FILE"),
        "own.py:7",
        {"own.py": CLASS},
    ),
    Mistake(
        "a dataset class whose table cannot be fetched",
        CLASSED,
        ("own.tsv is not fetched",),
        "own.py:7",
        {"own.py": CLASS.replace('""', '"https://example.invalid/own.tsv"')},
    ),
    Mistake(
        "a dataset class with a table without rows",
        CLASSED,
        ("The data of 'own' has no rows",),
        "own.py:7",
        {"own.py": CLASS, "own.tsv": "index\tprompt\n"},
    ),
    Mistake(
        "a dataset class with an empty table",
        CLASSED,
        ("own.tsv is empty (0 bytes)",),
        "own.tsv:1",
        {"own.py": CLASS, "own.tsv": ""},
    ),
]
MODELS = [
    Mistake(
        "a checkpoint without hf",
        f"run --model Qwen/Qwen2.5-VL-3B-Instruct --tasks capitals {REST}",
        ("no model 'Qwen/", "Write --model hf:Qwen/Qwen2.5-VL-3B-Instruct."),
        "--model",
    ),
    Mistake(
        "a folder without hf",
        f"run --model ./weights --tasks capitals {REST}",
        ("Write --model hf:./weights.",),
        "--model",
    ),
    Mistake(
        "a pipeline without diffusers",
        f"run --model black-forest-labs/FLUX.1-dev --tasks capitals {REST}",
        ("Write --model diffusers:black-forest-labs/FLUX.1-dev.",),
        "--model",
    ),
    Mistake(
        "GPT without openai",
        f"run --model gpt-4o --tasks capitals {REST}",
        ("Write --model openai:gpt-4o.",),
        "--model",
    ),
    Mistake(
        "Claude without anthropic",
        f"run --model claude-sonnet-4 --tasks capitals {REST}",
        ("Write --model anthropic:claude-sonnet-4.",),
        "--model",
    ),
    Mistake("a judge without its backend", f"{RUN} --judge gpt-4o", ("Write --judge openai:gpt-4o.",), "--judge"),
    Mistake("a misspelt model", f"run --model mokc --tasks capitals {REST}", ("Did you mean 'mock'",), "--model"),
    Mistake(
        "hf without a name",
        f"run --model hf --tasks capitals {REST}",
        ("Model 'hf' needs 'name'", "Write --model hf:NAME"),
        "--model",
    ),
    Mistake(
        "a misspelt argument", f"{RUN} --model-args anwser=x", ("no argument 'anwser'", "'answer'"), "--model-args"
    ),
    Mistake(
        "an argument without a value",
        f"{RUN} --model-args answer",
        ("'answer' is not of the form key=value", "Write --model-args key=value"),
        "--model-args",
    ),
    Mistake(
        "an address for a model on this machine",
        f"{RUN} --base-url http://localhost",
        ("--base-url is not for this model",),
        "--base-url",
    ),
    Mistake(
        "a file that registers nothing",
        with_own("shouter"),
        ("There is no model 'shouter'", "own.py registers no model", "@polymeter.register_model('shouter')"),
        "--model",
        {"own.py": "x = 1\n"},
    ),
    Mistake(
        "a file that registers another",
        with_own("wisper"),
        ("There is no model 'wisper'", "own.py registers 'whisper'"),
        "--model",
        own_model("whisper", "NAME", "NAME"),
    ),
    Mistake(
        "a model of one's own as a wrapper",
        f"run --model mine_only --model-path own.py --tasks capitals {REST}",
        ("--import own.py", "@polymeter.register_model('mine_only')"),
        "--model",
        own_model("mine_only", "NAME", "NAME"),
    ),
    Mistake(
        "a wrapper's file that defines none",
        f"run --model lmms:mine --model-path own.py --tasks capitals {REST}",
        ("own.py' defines no model", "subclass of lmms"),
        "--model-path",
        {"own.py": "x = 1\n"},
    ),
    Mistake(
        "a wrapper's file that is not there",
        f"run --model lmms:mine --model-path nope.py --tasks capitals {REST}",
        ("There is no file, package or module 'nope.py'",),
        "--model-path",
    ),
    Mistake(
        "a file that is no Python",
        with_own("broken"),
        ("Loading own.py raised SyntaxError",),
        "own.py:1",
        {"own.py": "def x(:\n"},
    ),
    Mistake(
        "no identity",
        with_own("m_none"),
        ("Own has no identity", "@property def identity(self)"),
        "own.py:4",
        own_model("m_none", "    @property\n    def identity(self):\n        return {}\n", ""),
    ),
    Mistake(
        "identity as a method",
        with_own("m_method"),
        ("identity of Own is a method", "Write @property above it"),
        "own.py:4",
        own_model("m_method", "    @property\n", ""),
    ),
    Mistake(
        "an identity that is no data",
        with_own("m_object"),
        ("The identity of Own is not plain data", "Return a dict"),
        "own.py",
        own_model("m_object", "return {}", "return {'x': object()}"),
    ),
    Mistake(
        "an identity that raises",
        with_own("m_raises"),
        ("The identity of Own raised ZeroDivisionError",),
        "own.py:11",
        own_model("m_raises", "return {}", "return {'x': 1 / 0}"),
    ),
    Mistake(
        "no respond",
        with_own("m_mute"),
        ("Own has no respond", "def respond(self, requests)"),
        "own.py:4",
        own_model("m_mute", "def respond(", "def responds("),
    ),
    Mistake(
        "no traits",
        with_own("m_traits"),
        ("Own has no traits", "self.traits = polymeter.ModelTraits("),
        "own.py:4",
        own_model("m_traits", 'self.traits = polymeter.ModelTraits(family="own")', "pass"),
    ),
    Mistake(
        "not derived from BatchModel",
        with_own("m_plain"),
        ("neither a BatchModel nor an AsyncModel",),
        "own.py:4",
        own_model("m_plain", "(polymeter.BatchModel)", ""),
    ),
    Mistake(
        "an async respond of a batch model",
        with_own("m_async"),
        ("respond of Own is async", "polymeter.AsyncModel"),
        "own.py:13",
        own_model("m_async", "def respond(", "async def respond("),
    ),
    Mistake(
        "too few responses",
        with_own("m_few"),
        ("The model gave 0 responses to 1 requests", "own.py:13", "one Response for each request"),
        "",
        own_model("m_few", RETURNS, "return []"),
    ),
    Mistake(
        "too many responses",
        with_own("m_many"),
        ("The model gave 2 responses to 1 requests", "own.py:13", "one Response for each request"),
        "",
        own_model("m_many", RETURNS, f"{RETURNS} * 2"),
    ),
    Mistake(
        "texts in place of responses",
        with_own("m_text"),
        ("a str in place of a Response", "Response.of_text(text) makes one"),
        "",
        own_model("m_text", RETURNS, 'return ["x" for request in requests]'),
    ),
    Mistake(
        "one text in place of a list",
        with_own("m_one"),
        ("a str in place of a list of responses", "own.py:13"),
        "",
        own_model("m_one", RETURNS, 'return "x"'),
    ),
    Mistake(
        "nothing returned",
        with_own("m_nothing"),
        ("a NoneType in place of a list of responses", "own.py:13"),
        "",
        own_model("m_nothing", RETURNS, "pass"),
    ),
    Mistake(
        "a respond that raises",
        with_own("m_bad"),
        ("The model raised ValueError: no way", "own.py:14"),
        "",
        own_model("m_bad", RETURNS, 'raise ValueError("no way")'),
    ),
]
SETTINGS = [
    Mistake(
        "no equals sign",
        f"{RUN} --gen-kwargs temperature",
        ("'temperature' is not of the form key=value", "Write --gen-kwargs key=value"),
        "--gen-kwargs",
    ),
    Mistake(
        "a colon",
        f"{RUN} --gen-kwargs temperature:0",
        ("'temperature:0' is not of the form key=value",),
        "--gen-kwargs",
    ),
    Mistake(
        "a temperature that is a word",
        f"{RUN} --gen-kwargs temperature=hot",
        ("must be a number of at least 0, not 'hot'", "temperature=0.7"),
        "--gen-kwargs",
    ),
    Mistake("a temperature below zero", f"{RUN} --gen-kwargs temperature=-1", ("at least 0, not -1",), "--gen-kwargs"),
    Mistake(
        "a number of tokens that is a word",
        f"{RUN} --gen-kwargs max_new_tokens=many",
        ("'max_new_tokens' must be a whole number", "max_new_tokens=256"),
        "--gen-kwargs",
    ),
    Mistake(
        "no tokens",
        f"{RUN} --gen-kwargs max_tokens=0",
        ("'max_tokens' must be a whole number of at least 1, not 0",),
        "--gen-kwargs",
    ),
    Mistake(
        "half a token",
        f"{RUN} --gen-kwargs max_new_tokens=1.5",
        ("must be a whole number of at least 1, not 1.5",),
        "--gen-kwargs",
    ),
    Mistake(
        "a share above one",
        f"{RUN} --gen-kwargs top_p=90",
        ("'top_p' must be a number from 0 to 1, not 90",),
        "--gen-kwargs",
    ),
    Mistake(
        "a limit of nothing",
        f"{RUN} --limit 0",
        ("neither a number of samples nor a share", "0.1 for a tenth"),
        "--limit",
    ),
    Mistake("a sample and a half", f"{RUN} --limit 1.5", ("neither a number of samples nor a share",), "--limit"),
    Mistake("a limit that is no number", f"{RUN} --limit nan", ("neither a number of samples nor a share",), "--limit"),
    Mistake("fewer examples than none", f"{RUN} --num-fewshot -1", ("'num_fewshot' must be at least 0, not -1",)),
    Mistake("a window of nothing", f"{RUN} --window 0", ("'window' must be at least 1, not 0",)),
    Mistake("no time at all", f"{RUN} --timeout 0", ("'timeout_s' must be more than 0, not 0.0",)),
    Mistake("no time to score", f"{RUN} --score-timeout -1", ("'score_timeout_s' must be more than 0, not -1.0",)),
    Mistake("no memory to score", f"{RUN} --score-memory 0", ("'score_memory_mb' must be at least 256, not 0",)),
    Mistake("images without pixels", f"{RUN} --max-image-pixels 0", ("must be at least 1, not 0",)),
    Mistake("fewer retries than none", f"{RUN} --max-retries -1", ("'max_retries' must be at least 0, not -1",)),
    Mistake("a concurrency that is a word", f"{RUN} --concurrency many", ("Write a number, or auto",), "--concurrency"),
    Mistake(
        "weights that are not there",
        f"{RUN} --weights org/x=./nowhere",
        ("There is no file or folder './nowhere'", "after the '='"),
        "--weights org/x=./nowhere",
    ),
    Mistake(
        "a file in place of the cache",
        f"{RUN} --cache-dir kept",
        ("The cache folder is a file", "--cache-dir"),
        "kept",
        {"kept": "x"},
    ),
    Mistake(
        "an address without its scheme",
        f"run --model openai:x --base-url localhost:8000/v1 --tasks capitals {REST}",
        ("'localhost:8000/v1' is not valid", "http://localhost:8000/v1"),
        "base_url",
    ),
    Mistake(
        "a misspelt metric to compare with",
        f"{RUN} --fail-under capitals.exact_mach=1",
        ("no metric 'exact_mach'", "Did you mean 'exact_match'?"),
        "--fail-under",
    ),
    Mistake("a misspelt way to ask", f"{RUN} --mcq letters", ("'letters' is not one of 'loglikelihood', 'text'",)),
    Mistake("a limit below nothing", f"{RUN} --limit -5", ("neither a number of samples nor a share",), "--limit"),
    Mistake(
        "a batch of nothing",
        f"{RUN} --batch-size 0",
        ("not a positive whole number", "Write a number, or auto"),
        "--batch-size",
    ),
    Mistake("a misspelt option", f"{RUN} --limt 3", ("No such option: --limt", "--limit")),
    Mistake(
        "data to check",
        "check mine/capitals.csv",
        ("capitals.csv has no column for the prompt or the reference answer", "It has: country, capital"),
    ),
    Mistake(
        "a folder to check without benchmarks",
        "check photos",
        ("There is no benchmark in 'photos'", "task: NAME"),
        "photos",
        {"photos/0.png": picture()},
    ),
    Mistake("a misspelt command", "rnu --model mock", ("No such command 'rnu'", "Did you mean 'run'?")),
    Mistake("a command of another tool", "eval --model mock", ("No such command 'eval'", "Did you mean 'run'?")),
    Mistake("a command of another tool's viewer", "serve runs", ("No such command 'serve'", "Did you mean 'view'?")),
    Mistake("a command that nothing is like", "zzzz", ("No such command 'zzzz'", "'polymeter --help' lists")),
    Mistake("a percentage as the limit", f"{RUN} --limit 10%", ("'10%' is neither", "Write 0.1 for 10%."), "--limit"),
    Mistake("words as the limit", f"{RUN} --limit ten", ("'ten' is neither", "Write 100, or 0.1 for a tenth.")),
    Mistake("no limit at all", f"{RUN} --limit 0", ("0 is neither a number of samples nor a share",), "--limit"),
    Mistake(
        "a generation setting among the model's arguments",
        f"{RUN.replace('mock', 'openai:x --base-url http://127.0.0.1:9/v1')} --model-args tempature=1",
        ("has no argument 'tempature'", "--gen-kwargs temperature=1"),
        "--model-args",
    ),
    Mistake(
        "a comma in a value",
        f"{RUN} --model-args answer=Paris,Texas",
        ("'Texas' is not of the form key=value", "If the value of 'answer' contains the comma, quote it", "'…,Texas'"),
        "--model-args",
    ),
    Mistake("a misspelt system", f"{RUN} --parity lmms", ("no system 'lmms'", "Did you mean 'lmms-eval'?"), "--parity"),
    Mistake(
        "a misspelt key in the settings file",
        RUN,
        ("There is no setting 'include_path'", "Did you mean 'include_paths'?"),
        "polymeter.yaml:1",
        {"polymeter.yaml": "include_path: [mine]\n"},
    ),
    Mistake(
        "a text where folders are listed",
        RUN,
        ("must be a list of folders", "Write include_paths: [mine]"),
        "polymeter.yaml:2",
        {"polymeter.yaml": "cache_dir: c\ninclude_paths: mine\n"},
    ),
    Mistake(
        "a list where places are mapped",
        RUN,
        ("'data' must be a mapping", "Write data: {ID: PATH}"),
        "polymeter.yaml:1",
        {"polymeter.yaml": "data: [mine]\n"},
    ),
    Mistake(
        "a folder of the settings that is not there",
        RUN,
        ("'mien' in include_paths does not exist",),
        "polymeter.yaml:1",
        {"polymeter.yaml": "include_paths: [mien]\n"},
    ),
    Mistake(
        "a settings file that is no YAML",
        RUN,
        ("not valid YAML",),
        "polymeter.yaml:1",
        {"polymeter.yaml": "include_paths: [mine\n"},
    ),
    Mistake("a file in place of the run folder", RUN, ("There is a file in its place",), "run", {"run": "x"}),
    Mistake("a run that is not there", "resume run", ("There is no run folder at run",)),
    Mistake("a run to show that is not there", "show run", ("There is no run folder at run",)),
    Mistake("a folder that is no run", "show mine", ("The folder mine is not a run folder.", "with a run.json")),
    Mistake(
        "the folder of all runs",
        "show runs",
        ("The folder runs is not a run folder.", "Name one of its run folders: runs/one."),
        files={"runs/one/run.json": "{}"},
    ),
]
FAILURES = [
    Mistake(
        "a scorer that raises",
        RUN,
        (
            "2 × process_results of task 'capitals' raised KeyError: 'captial' [mine/utils.py:2]",
            "polymeter show run --sample 0",
        ),
        "",
        {
            **written("doc_to_target: capital", "doc_to_target: capital\nprocess_results: !function utils.score"),
            "mine/utils.py": "def score(doc, results):\n    return doc['captial']\n",
        },
        1,
    ),
    Mistake(
        "an image of a table that is not there",
        "run --model mock --tasks t.tsv -q -o run",
        ("1 × The image 'nowhere.png'", "does not exist", "polymeter show run --sample 1"),
        "",
        {"t.tsv": "index\tquestion\tanswer\timage_path\n1\tW?\tx\tnowhere.png\n"},
        1,
    ),
]
FAILURES += [
    Mistake(
        f"an image of another kind ({name})",
        f"run --model tiny_vlm --tasks capitals {REST}",
        (f"1 × Cannot read the image photos/{name}: it is {kind}", "Save it as PNG or JPEG."),
        "",
        {
            **written(*FOLDER, SPLIT, ("doc_to_target: capital", "doc_to_target: capital\ndoc_to_visual: image")),
            f"mine/photos/{name}": content,
            "mine/photos/metadata.csv": f"file_name,country,capital\n{name},x,y\n",
        },
        1,
    )
    for name, content, kind in (
        ("0.jpg", b"\0\0\0\x18ftypheic" + bytes(50), "of a format that Pillow does not support."),
        ("0.png", b"<svg/>", "SVG, not "),
    )
]
ALL = {
    f"{kind}: {mistake.what}": mistake
    for kind, mistakes in (
        ("data", DATA),
        ("task", TASKS),
        ("table", TABLES),
        ("code", CODE),
        ("model", MODELS),
        ("setting", SETTINGS),
        ("failure", FAILURES),
    )
    for mistake in mistakes
}


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """The system that a mistake is about, if it is about one."""
    systems = {ADAPTED: "evalscope", CLASSED: "ulmeval"}
    return [pytest.mark.needs_system(systems[words])] if (words := ALL[name].words) in systems else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in ALL])
def test_a_mistake_is_said_with_its_place_and_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mistake = ALL[name]
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write({**BASE, **mistake.files})
    done = typing(mistake.words)
    assert done.code == mistake.code, done.said
    for fragment in mistake.says:
        assert fragment in done.said, f"{fragment!r} not in {done.said}"
    if mistake.at:
        (place,) = [line for line in done.err.splitlines() if line.startswith("  at ")]
        assert mistake.at in place
    assert "site-packages" not in done.said
    assert "Traceback" not in done.said
    if mistake.code == 2 and not (tmp_path / "run").is_file():
        assert not (tmp_path / "run/results.json").exists()


@pytest.mark.parametrize("had_runs", [False, True], ids=["no runs yet", "an empty folder of runs"])
@pytest.mark.parametrize(
    "words",
    ["", " --gen-kwargs temprature=1", " --fail-under capitals.nothing=1"],
    ids=["data", "settings", "threshold"],
)
def test_a_run_that_is_refused_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, had_runs: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write({**BASE, **({} if words else {"mine/capitals.csv": "country,capital\n"})})
    if had_runs:
        (tmp_path / "runs").mkdir()
    command = f"run --model mock --tasks mine/capitals.yaml -q{words}"
    assert typing(command).code == 2
    assert [*tmp_path.glob("runs*")] == ([tmp_path / "runs"] if had_runs else [])
    assert [*tmp_path.glob("runs/*")] == []
    (tmp_path / "given").mkdir()
    assert typing(f"{command} -o given").code == 2
    assert (tmp_path / "given").is_dir()


def test_paths_with_blanks_and_commas_are_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {"my, own/capitals.yaml": FIRST_YAML, "my, own/capitals.csv": CSV}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(content.replace("\n", "\r\n").encode("utf-8-sig"))
    assert main(["run", "--model", "mock", "--tasks", "my, own/capitals.yaml", "-q", "-o", "a run"]) == 0
    assert main(["run", "--model", "mock", "--tasks", "capitals", "--include-path", "my, own", "-q", "-o", "b"]) == 0


def test_the_first_hour_has_more_than_a_hundred_ways_to_go_wrong() -> None:
    assert len(ALL) > 100
