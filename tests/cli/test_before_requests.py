"""Mistakes that show before the first request: an error is refused with nothing sent, a warning is printed before the
model is asked, and ``--strict`` makes it an error. Each case says how many requests are sent.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import wave
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

import polymeter
from polymeter.core.errors import PlanError
from tests.cli.kit import CAPITALS, Done, Typing
from tests.helpers.openai_stub import OpenAIStub, chat

N_ROWS = 12
SENT = "THE FIRST REQUEST"
MODEL = """\
import sys
from pathlib import Path

import polymeter
from polymeter.extend import ChoiceLogprob, Generate, Loglikelihood, Output, Response

SENT = Path("sent")


@polymeter.register_model("NAME")
class Counting(polymeter.BatchModel):
    def __init__(self):
        kinds, media = ("generate", "loglikelihood"), ("text", "image", "audio", "video")
        self.traits = polymeter.ModelTraits(
            family="default", requests=dict.fromkeys(kinds, True), modalities=dict.fromkeys(media, True), TRAITS
        )

    @property
    def identity(self):
        return {}

    def ignores(self, parameters):
        return IGNORES

    def respond(self, requests):
        if not SENT.exists():
            print("THE FIRST REQUEST", file=sys.stderr, flush=True)
        with SENT.open("a") as file:
            file.write("." * len(requests))
        return [self._answer(request.parameters) for request in requests]

    def _answer(self, parameters):
        if isinstance(parameters, Loglikelihood):
            return Response((Output(logprobs=tuple(ChoiceLogprob(-1.0, False, 1) for _ in parameters.continuations)),))
        return Response.of_text("x")
"""
_names = (f"counting{number}" for number in itertools.count())


_AGENT = """\
from evalscope.api.benchmark import AgentLoopAdapter, BenchmarkMeta
from evalscope.api.registry import register_benchmark


class Base(AgentLoopAdapter):
    pass


@register_benchmark(BenchmarkMeta(name="geo", dataset_id="geo"))
class GeoAdapter(Base):
    pass
"""


@dataclass(frozen=True)
class Case:
    """A mistake.

    Attributes:
        what: What is wrong.
        says: What is printed before the first request.
        files: What differs from a sound task over a CSV of twelve capitals.
        words: What follows ``run``.
        sent: How many requests are sent.
        at: The place of an error.
        code: How the run ends; 2: it is refused.
        traits: Further traits of the model.
        ignores: The settings that the model ignores.
        system: The system that the case needs.
    """

    what: str
    says: tuple[str, ...]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    words: str = "--tasks t.yaml"
    sent: int = 0
    at: str = ""
    code: int = 2
    traits: str = ""
    ignores: str = "{}"
    system: str = ""


def warned(what: str, *says: str, files: Mapping[str, str | bytes], sent: int = N_ROWS, **more: object) -> Case:
    """A case that is measured, with a warning before the first request."""
    return Case(what, ("warning: ", *says), files, sent=sent, **{"code": 0, **more})  # type: ignore[arg-type]


ROWS = [(f"Country {number}", f"City {number}") for number in range(N_ROWS)]
TASK = CAPITALS.replace("task: capitals", "task: t")


def csv_of(rows: list[tuple[str, ...]], *columns: str) -> str:
    return "".join(",".join(row) + "\n" for row in [columns or ("country", "capital"), *rows])


def lines(*changed: str) -> dict[str, str | bytes]:
    """The YAML with some of its lines replaced, or added."""
    text = TASK
    for line in changed:
        key = line.partition(":")[0]
        kept = [old for old in text.splitlines(keepends=True) if not old.startswith(f"{key}:")]
        text = "".join(kept) + line + "\n"
    return {"t.yaml": text}


def image(value: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (value, 0, 0)).save(file, "PNG")
    return file.getvalue()


def sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(8000)
        written.writeframes(b"\0\0" * 800)
    return file.getvalue()


BASE: dict[str, str | bytes] = {"t.yaml": TASK, "capitals.csv": csv_of(ROWS)}
OF_FOLDER = ("dataset_path: imagefolder", "dataset_kwargs: {data_dir: photos}", "test_split: train")
ASKED = ('doc_to_text: "{{question}}"', "doc_to_target: answer")
QUESTIONS = [(f"{number}.png", f"What is {number}?", f"a{number}") for number in range(3)]
PHOTOS: dict[str, str | bytes] = {
    **{f"photos/{number}.png": image(number) for number in range(3)},
    "photos/metadata.csv": csv_of(QUESTIONS, "file_name", "question", "answer"),
}
BY_PATH: dict[str, str | bytes] = {
    "capitals.csv": csv_of(
        [(f"photos/{name}", question, answer) for name, question, answer in QUESTIONS],
        "image_path",
        "question",
        "answer",
    ),
    **{name: content for name, content in PHOTOS.items() if name.endswith(".png")},
}
SOUNDS: dict[str, str | bytes] = {
    "photos/0.wav": sound(),
    "photos/1.wav": sound(),
    "photos/metadata.csv": csv_of([("0.wav", "Who?", "a"), ("1.wav", "What?", "b")], "file_name", "question", "answer"),
}
CHAT = "def chat(doc):\n    return [{'role': 'user', 'content': [{'type': 'text', 'text': doc['question']}]}]\n"
CODE = "def ask(doc):\n    return TEXT\n"
TABLE = "index\tquestion\tanswer\n"
ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name="caps", pretty_name="Caps", dataset_id="caps", model_adapter=OutputType.GENERATION,
    subset_list=["default"], metric_list=["AverageAccuracy"], few_shot_num=0, eval_split="test",
)
class Caps(DataAdapter):
    def load(self, *args, **kwargs):
        return {"default": {"test": [{"question": QUESTION, "answer": ANSWER} for n in range(12)]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def match(self, gold, pred):
        return float(gold == pred)
"""
CLASS = """\
from ulmeval.dataset.image_base import ImageBaseDataset


class Own(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"own": ""}

    def build_prompt(self, line):
        return [dict(type="text", value=line["question"])]

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {"a": 1.0}
"""


def encoded_image() -> str:
    import base64

    return base64.b64encode(image()).decode()


ENCODINGS = [
    Case(
        "one row in Latin-1",
        ("capitals.csv is not UTF-8: line 3 has the byte 0xf4.", "encoding: cp1252"),
        {"capitals.csv": "country,capital\nFrance,Paris\nCôte d'Ivoire,Yamoussoukro\n".encode("latin-1")},
        at="t.yaml:3",
    ),
    Case(
        "a target in Latin-1",
        ("capitals.csv is not UTF-8: line 2 has the byte 0xed.",),
        {"capitals.csv": "country,capital\nParaguay,Asunción".replace("ó", "í").encode("latin-1")},
        at="t.yaml:3",
    ),
    Case(
        "rows in GBK",
        ("capitals.csv is not UTF-8: line 2 has the byte 0xd6.",),
        {"capitals.csv": "country,capital\n中国,北京\n".encode("gbk")},
        at="t.yaml:3",
    ),
    Case(
        "one of several files in Latin-1",
        ("b.csv is not UTF-8: line 2 has the byte 0xe9.",),
        {
            **lines('dataset_kwargs: {data_files: {test: "*.csv"}}'),
            "b.csv": "country,capital\nRéunion,Saint-Denis\n".encode("latin-1"),
        },
        at="t.yaml:",
    ),
    Case(
        "JSON lines in cp1252",
        ("rows.jsonl is not UTF-8: line 2 has the byte 0x93.", "Save it as UTF-8."),
        {
            **lines("dataset_path: json", "dataset_kwargs: {data_files: {test: rows.jsonl}}"),
            "rows.jsonl": '{"country": "a", "capital": "b"}\n{"country": "“c”", "capital": "d"}\n'.encode("cp1252"),
        },
        at="t.yaml:",
    ),
    Case(
        "a table in Latin-1",
        ("q.tsv is not UTF-8: line 3 has the byte 0xfc.",),
        {"q.tsv": (TABLE + "1\tWho?\ta\n2\tMünchen?\tb\n").encode("latin-1")},
        "--tasks q.tsv",
        at="q.tsv:3",
    ),
    Case(
        "a file in place of a dataset in Latin-1",
        ("other.csv is not UTF-8: line 2 has the byte 0xf4.",),
        {
            **lines("dataset_path: org/capitals", "dataset_kwargs: {}"),
            "other.csv": "country,capital\nCôte,Ya\n".encode("latin-1"),
        },
        "--tasks t.yaml --data org/capitals=other.csv",
        at="t.yaml:",
    ),
    Case(
        "a task file in Shift-JIS",
        ("is not UTF-8 text: byte 0x8e",),
        {"t.yaml": TASK.replace("What is", "首都").encode("shift-jis")},
        at="t.yaml:5",
    ),
]
SYNTAX = [
    Case(
        "a full-width colon in the first line",
        ("'：' (column 5) is a full-width colon", "Write ':' and a space."),
        {"t.yaml": TASK.replace("task: t", "task： t")},
        at="t.yaml:1",
    ),
    Case(
        "a full-width colon in the last line",
        ("'：' (column 14) is a full-width colon",),
        {"t.yaml": TASK.replace("doc_to_target:", "doc_to_target：")},
        at="t.yaml:6",
    ),
    Case(
        "a full-width colon in braces",
        ("'：' (column 35) is a full-width colon",),
        lines("generation_kwargs: {max_new_tokens：8}"),
        at="t.yaml:7",
    ),
    Case(
        "a full-width comma in braces",
        ("'，' (column 38) is a full-width comma", "Write ','."),
        lines("generation_kwargs: {max_new_tokens: 8，temperature: 0}"),
        at="t.yaml:7",
    ),
    Case(
        "full-width braces around settings",
        ("'｛' (column 20) is a full-width brace", "Write '{'."),
        lines("generation_kwargs: ｛max_new_tokens: 8｝"),
        at="t.yaml:7",
    ),
    Case(
        "a full-width space before a key",
        ("There is no task field '\\u3000test_split'.", "Did you mean 'test_split'?"),
        {"t.yaml": TASK.replace("test_split", "\u3000test_split")},
        at="t.yaml:4",
    ),
    Case(
        "one line with a full-width colon",
        ("is one text", "'：' (column 5) is a full-width colon"),
        {"t.yaml": "task： t\n"},
        at="t.yaml:1",
    ),
    Case(
        "a full-width comma between choices",
        ("has one choice, 'yes，no', and '，' (character 4) is a full-width comma",),
        lines("output_type: multiple_choice", "doc_to_choice: [yes，no]"),
        at="t.yaml:",
    ),
    Case(
        "a path of Windows in double quotes",
        ("in double quotes, \\U begins an escape (column 40)", "single quotes", "/ in place of \\"),
        lines(r'dataset_kwargs: {data_files: {test: "C:\Users\me\capitals.csv"}}'),
        at="t.yaml:6",
    ),
    Case(
        "a path of Windows whose backslashes mean something",
        ("There is no file", "In double quotes YAML reads \\n, \\t and \\b as characters", "single quotes"),
        lines(r'dataset_kwargs: {data_files: {test: "C:\new\table.csv"}}'),
        at="t.yaml:6",
    ),
]
DATA = [
    Case(
        "a folder where a file is needed",
        ("in data_files is a folder, not a file.", "Name a file in it: capitals.csv"),
        lines("dataset_kwargs: {data_files: {test: .}}"),
        at="t.yaml:6",
    ),
    Case(
        "a folder of images where a file is needed",
        ("'photos' in data_files is a folder", "dataset_path: imagefolder"),
        {**lines("dataset_kwargs: {data_files: {test: photos}}"), "photos/0.png": image()},
        at="t.yaml:6",
    ),
    Case(
        "a folder where a task file is included",
        ("The include 'parts' is a folder, and a task file is needed.", "Name a file in it."),
        {**lines("include: parts"), "parts/x.yaml": "test_split: test\n"},
        at="t.yaml:7",
    ),
    Case("a task file of other columns", ("is 'captial', which is not a column",), lines("doc_to_target: captial")),
]
MEDIA = [
    warned(
        "images that no prompt shows",
        "Task 't': The rows have images (column 'image'), but no prompt shows any.",
        "Write doc_to_visual: image.",
        files={**lines(*OF_FOLDER, *ASKED), **PHOTOS},
        sent=3,
    ),
    warned(
        "files of images that no prompt shows",
        "The rows name files with images (column 'image_path'), but no prompt shows any.",
        files={**lines(*ASKED), **BY_PATH},
        sent=3,
    ),
    warned(
        "images that a chat of code leaves out",
        "The rows have images (column 'image'), but no prompt shows any.",
        files={**lines(*OF_FOLDER, *ASKED, "doc_to_messages: !function code.chat"), **PHOTOS, "code.py": CHAT},
        sent=3,
    ),
    warned(
        "multiple choice about images that no prompt shows",
        "The rows have images (column 'image'), but no prompt shows any.",
        files={
            **lines(*OF_FOLDER, *ASKED, "output_type: multiple_choice", "doc_to_choice: [a0, a1, a2]"),
            **PHOTOS,
        },
        sent=3,
    ),
    warned(
        "sounds that no prompt plays",
        "The rows have audio (column 'audio'), but no prompt shows any.",
        files={**lines("dataset_path: audiofolder", *OF_FOLDER[1:], *ASKED), **SOUNDS},
        sent=2,
    ),
    warned(
        "images that a dataset class leaves out",
        "Task 'own': The rows have images, but no prompt shows any.",
        files={
            "own.py": CLASS,
            "own.tsv": "index\timage\tquestion\tanswer\n"
            f"1\t{encoded_image()}\tWho?\ta\n2\t{encoded_image()}\tWhy?\tb\n",
        },
        words="--tasks own.py --data own=own.tsv",
        sent=2,
        system="ulmeval",
    ),
    warned(
        "one file of several that does not exist",
        "1 of 3 samples names a file that does not exist (sample 1; 'photos/1.png' was looked for",
        "It is not sent to the model and fails.",
        files={**lines(*ASKED, "doc_to_visual: image_path"), **{k: v for k, v in BY_PATH.items() if "1.png" not in k}},
        sent=2,
        code=1,
    ),
    warned(
        "one file of a folder's table that does not exist",
        "1 of 3 rows names a file that does not exist (2.png). It is not sent to the model and fails.",
        files={
            **lines(*OF_FOLDER, *ASKED, "doc_to_visual: image"),
            **{name: content for name, content in PHOTOS.items() if "2.png" not in name},
        },
        sent=2,
        code=1,
    ),
    warned(
        "a row that names no image",
        "1 of 2 samples: nothing in column 'image_path' (sample 1): they are asked without a medium.",
        files={
            **lines(*ASKED, "doc_to_visual: image_path"),
            **BY_PATH,
            "capitals.csv": "image_path,question,answer\nphotos/0.png,Who?,a\n,What?,b\n",
        },
        sent=2,
    ),
    Case(
        "no file of any row exists",
        ("None of the files that the rows of task 't' name exists: sample 0 names 'a/0.png'.", "It was looked for"),
        {
            **lines(*ASKED, "doc_to_visual: image_path"),
            "capitals.csv": "image_path,question,answer\na/0.png,Who?,a\na/1.png,What?,b\n",
        },
        at="t.yaml:",
    ),
]
PROMPTS = [
    warned(
        "full-width braces around a column",
        "shows '｛｛country｝｝' as written: ｛ and ｝ are full-width braces.",
        f"All {N_ROWS} prompts looked at are the same.",
        "Write {{country}}.",
        files=lines('doc_to_text: "Capital of ｛｛country｝｝？"'),
    ),
    warned(
        "full-width braces beside a column",
        "shows '｛｛capital｝｝' as written",
        files=lines('doc_to_text: "{{country}}: ｛｛capital｝｝"'),
    ),
    warned(
        "one brace of two that is full-width",
        "shows '{｛country｝}' as written",
        files=lines('doc_to_text: "Capital of {｛country｝}?"'),
    ),
    warned(
        "one prompt for all rows",
        f"The prompt is the same in all {N_ROWS} samples looked at: 'What is the capital?'.",
        "Name a column in it, such as {{question}}.",
        files=lines('doc_to_text: "What is the capital?"'),
    ),
    warned(
        "one prompt for all rows from code",
        f"The prompt is the same in all {N_ROWS} samples looked at: 'Which?'.",
        files={**lines("doc_to_text: !function code.ask"), "code.py": CODE.replace("TEXT", "'Which?'")},
    ),
    warned(
        "an empty prompt for all rows",
        f"The prompt is the same in all {N_ROWS} samples looked at: ''.",
        files={**lines("doc_to_text: !function code.ask"), "code.py": CODE.replace("TEXT", "''")},
    ),
    warned(
        "a template that code returns",
        "The prompt of sample 0 holds '{{country}}', which is not rendered.",
        files={
            **lines("doc_to_text: !function code.ask"),
            "code.py": CODE.replace("TEXT", "doc['country'] + ' or {{country}}?'"),
        },
    ),
    warned(
        "one prompt for all records of an adapter",
        f"Task 'caps': The prompt is the same in all {N_ROWS} samples looked at: 'Who?'.",
        files={"caps_adapter.py": ADAPTER.replace("QUESTION", "'Who?'").replace("ANSWER", "str(n)")},
        words="--tasks caps_adapter.py",
        system="evalscope",
    ),
    warned(
        "one question in all rows of a table",
        "Task 'q': The prompt is the same in all 3 samples looked at",
        files={"q.tsv": TABLE + "1\tWho?\ta\n2\tWho?\tb\n3\tWho?\tc\n"},
        words="--tasks q.tsv",
        sent=3,
    ),
    warned(
        "an empty cell in a prompt",
        "1 of 2 samples: nothing in column 'country' (sample 1)",
        files={"capitals.csv": "country,capital\nFrance,Paris\n,Rome\n"},
        sent=2,
    ),
]
TARGETS = [
    warned(
        "a word that is no column",
        "The target is 'solution' in every sample: a model that always gives this answer gets full marks.",
        "It is a constant, and no column. The rows have the columns: country, capital.",
        files=lines("doc_to_target: solution"),
    ),
    warned(
        "a column of one value",
        "The target is 'x' in every sample",
        files={"capitals.csv": csv_of([(country, "x") for country, _ in ROWS])},
    ),
    warned(
        "a table with one answer",
        "Task 'q': The target is 'yes' in every sample",
        files={"q.tsv": TABLE + "".join(f"{n}\tIs it {n}?\tyes\n" for n in range(N_ROWS))},
        words="--tasks q.tsv",
    ),
    warned(
        "an adapter with one reference",
        "Task 'caps': The target is 'b' in every sample",
        files={"caps_adapter.py": ADAPTER.replace("QUESTION", "f'Who is {n}?'").replace("ANSWER", "'b'")},
        words="--tasks caps_adapter.py",
        system="evalscope",
    ),
    warned(
        "one row without an answer",
        "1 of 3 samples has no target: column 'capital' is empty in sample 1. It is not sent to the model and fails.",
        "Write the answer into the data, or leave the row out.",
        files={"capitals.csv": "country,capital\nFrance,Paris\nJapan,\nPeru,Lima\n"},
        sent=2,
        code=1,
    ),
    warned(
        "several rows without an answer",
        "2 of 4 samples have no target: column 'capital' is empty in samples 0, 2. They are not sent",
        files={
            **lines("dataset_path: json", "dataset_kwargs: {data_files: {test: rows.jsonl}}"),
            "rows.jsonl": "".join(
                json.dumps({"country": f"c{n}", "capital": None if n % 2 == 0 else "x y z"[n]}) + "\n" for n in range(4)
            ),
        },
        sent=2,
        code=1,
    ),
    warned(
        "a choice without a right one",
        "1 of 3 samples has no target: column 'capital' is empty in sample 2",
        files={
            **lines("output_type: multiple_choice", "doc_to_choice: [Paris, Rome]"),
            "capitals.csv": "country,capital\nFrance,Paris\nItaly,Rome\nPeru,\n",
        },
        sent=2,
        code=1,
    ),
    Case(
        "no answer in any row",
        ("Column 'capital', the target of task 't', is empty in all 2 rows.",),
        {"capitals.csv": "country,capital\nFrance,\nJapan,\n"},
        at="t.yaml:6",
    ),
    warned(
        "numbers of choices that count from 1",
        "doc_to_target gives numbers, which are indices from 0, and none of the 24 rows looked at has index 0.",
        "If they count from 1, write doc_to_target:",
        files={
            **lines("output_type: multiple_choice", "doc_to_choice: [a, b, c, d]", "doc_to_target: number"),
            "capitals.csv": csv_of([(c, str(1 + n % 3)) for n, (c, _) in enumerate(2 * ROWS)], "country", "number"),
        },
        sent=24,
    ),
    warned(
        "two choices of one text",
        f"{N_ROWS} of the {N_ROWS} rows looked at have equal choices",
        files={
            **lines("output_type: multiple_choice", "doc_to_choice: [ja, nein, nein]", "doc_to_target: word"),
            "capitals.csv": csv_of([(c, ("ja", "nein")[n % 2]) for n, (c, _) in enumerate(ROWS)], "country", "word"),
        },
    ),
]
SETTINGS = [
    Case(
        "a misspelt setting",
        ("Task 't' has the generation setting 'temprature', which no model knows.", "Did you mean 'temperature'?"),
        lines("generation_kwargs: {max_new_tokens: 8, temprature: 0}"),
        at="t.yaml:7",
    ),
    Case(
        "a misspelt limit",
        ("'max_new_token', which no model knows.", "Did you mean 'max_new_tokens'?"),
        lines("generation_kwargs: {max_new_token: 8}"),
        at="t.yaml:7",
    ),
    Case(
        "a temperature below zero",
        ("'temperature' must be a number of at least 0, not -1", "Write temperature: 0.7"),
        lines("generation_kwargs: {temperature: -1}"),
        at="t.yaml:7",
    ),
    Case(
        "no tokens at all",
        ("'max_new_tokens' must be a whole number of at least 1, not 0.", "Write max_new_tokens: 256"),
        lines("generation_kwargs: {max_new_tokens: 0}"),
        at="t.yaml:7",
    ),
    Case(
        "a share above one",
        ("'top_p' must be a number from 0 to 1, not 2",),
        lines("generation_kwargs: {top_p: 2}"),
        at="t.yaml:7",
    ),
    Case(
        "a misspelt setting in an included file",
        ("'num_beam', which no model knows.", "Did you mean 'num_beams'?"),
        {**lines("include: _base.yaml"), "_base.yaml": "generation_kwargs:\n  num_beam: 2\n"},
        at="_base.yaml:2",
    ),
    warned(
        "a setting that nobody knows",
        "has no known generation setting 'zeal' (task 't'): it is passed on.",
        files=lines("generation_kwargs: {zeal: 3}"),
        words="--model mock --tasks t.yaml",
        sent=0,
    ),
    Case(
        "a full-width comma between settings",
        ("'，' (character 14) is a full-width comma.", "Write ','."),
        words="--tasks t.yaml --gen-kwargs temperature=0，max_new_tokens=8",
        at="--gen-kwargs",
    ),
    Case(
        "a full-width equals sign",
        ("'＝' (character 12) is a full-width equals sign.", "Write '='."),
        words="--tasks t.yaml --gen-kwargs temperature＝0",
        at="--gen-kwargs",
    ),
    warned(
        "data that no task asks for",
        "--data org/other: no task of this run asks for it",
        files={},
        words="--tasks t.yaml --data org/other=capitals.csv",
    ),
]
FIELDS = [
    Case(
        "a misspelt field", ("There is no task field 'doc_to_txt'.", "'doc_to_text'?"), lines("doc_to_txt: a"), at=":7"
    ),
    Case(
        "a column of images that is misspelt",
        ("doc_to_visual of task 't' names 'imge_path', which the dataset does not have.", "Did you mean 'image_path'?"),
        {**lines(*ASKED, "doc_to_visual: imge_path"), **BY_PATH},
        at="t.yaml:",
    ),
    Case(
        "a column of clusters that is misspelt",
        ("cluster_key of task 't' is 'contry', which is not a column", "Did you mean 'country'?"),
        lines("cluster_key: contry"),
        at="t.yaml:7",
    ),
    Case(
        "a metric with two letters swapped",
        ("There is no metric 'exact_macth'.", "Did you mean 'exact_match'"),
        lines("metric_list: [{metric: exact_macth}]"),
        at="t.yaml:7",
    ),
    Case(
        "a setting of the data that is misspelt",
        ("dataset_kwargs has no setting 'data_file'.", "Did you mean 'data_files'?"),
        lines("dataset_kwargs: {data_file: {test: capitals.csv}}"),
        at="t.yaml:6",
    ),
    Case(
        "an output type of another name",
        ("Task field 'output_type'", "Did you mean 'generate_until'?"),
        lines("output_type: generate"),
        at="t.yaml:7",
    ),
]
NAMES = [
    Case(
        "a full-width comma between tasks",
        ("'，' (character 7) is a full-width comma.",),
        words="--tasks t.yaml，other",
        at="--tasks",
    ),
    Case(
        "an agent of EvalScope 1.x",
        ("This is written for EvalScope 1.x's agents: its AgentLoopAdapter lets the model call tools",),
        {"geo_adapter.py": _AGENT},
        "--tasks geo_adapter.py",
        at="geo_adapter.py",
        system="evalscope",
    ),
    Case(
        "an agent of EvalScope 1.x by its benchmark's name",
        ("This is written for EvalScope 1.x's agents: its AgentLoopAdapter lets the model call tools",),
        {"geo_adapter.py": _AGENT},
        "--tasks geo --include-path .",
        at="geo_adapter.py",
        system="evalscope",
    ),
    Case(
        "an adapter of EvalScope 1.x under a name that only running it gives",
        ("The name of this benchmark is not written as a text",),
        {"geo_adapter.py": "from evalscope.api.registry import register_benchmark\nregister_benchmark(make('geo'))\n"},
        "--tasks geo_adapter.py",
        at="geo_adapter.py",
        system="evalscope",
    ),
    Case(
        "a task of Inspect",
        ("This is a task of Inspect (inspect_ai), which Polymeter does not run.", "polymeter import"),
        {"geo.py": "from inspect_ai import Task, task\n\n\n@task\ndef geo():\n    return Task()\n"},
        "--tasks geo.py",
        at="geo.py",
        system="inspect_ai",
    ),
    Case(
        "a task of lm-eval before 0.4",
        ("This is a task of lm-eval before 0.4",),
        {"geo.py": "from lm_eval.base import Task, rf\n\n\nclass Geo(Task):\n    VERSION = 0\n"},
        "--tasks geo.py",
        at="geo.py",
        system="lm_eval",
    ),
    Case(
        "a task of lighteval",
        ("This is a task of lighteval, which Polymeter does not run.",),
        {"geo.py": "from lighteval.tasks.lighteval_task import LightevalTaskConfig\nTASKS = [LightevalTaskConfig()]\n"},
        "--tasks geo.py",
        at="geo.py",
    ),
    Case(
        "a scenario of HELM",
        ("This is a scenario or run specification of HELM",),
        {"geo.py": "from helm.benchmark.scenarios.scenario import Scenario\n\n\nclass Geo(Scenario):\n    pass\n"},
        "--tasks geo.py",
        at="geo.py",
    ),
    Case(
        "a configuration of promptfoo",
        ("This is a configuration of promptfoo",),
        {"geo.yaml": "prompts: ['{{q}}']\nproviders: [x]\ntests: [{vars: {q: a}}]\n"},
        "--tasks geo.yaml",
        at="geo.yaml",
    ),
]
MODELS = [
    warned(
        "a model that never sees the question",
        "never sees the questions of task 't': it returns the text in the image.",
        files={},
        traits='ignores_text="it returns the text in the image"',
    ),
    warned(
        "a model that ignores a limit",
        "cannot honour 'max_new_tokens', which task 't' sets: it returns all text.",
        files=lines("generation_kwargs: {max_new_tokens: 8}"),
        ignores='{"max_new_tokens": "it returns all text."} if isinstance(parameters, Generate) else {}',
    ),
]
PYTHON = "import polymeter\n\nROWS = [{'country': 'Peru', 'capital': 'Lima'}]\n\n\n"
IN_PYTHON = [
    Case(
        "a misspelt reference in Python",
        ("reference of task 't' names the column 'capitol'", "Did you mean 'capital'?"),
        {
            "bench.py": f"{PYTHON}@polymeter.task(rows=ROWS, reference='capitol')\n"
            "def t(row):\n    return row['country']\n"
        },
        "--tasks bench.py",
        at="bench.py:6",
    ),
    Case(
        "a prompt that reads a column that is missing",
        ("The prompt of task 't' raised KeyError: 'land'", "The rows have: country, capital."),
        {"bench.py": f"{PYTHON}@polymeter.task(rows=ROWS, reference='capital')\ndef t(row):\n    return row['land']\n"},
        "--tasks bench.py",
        at="bench.py:8",
    ),
    Case(
        "a file that has no task",
        ("bench.py", "polymeter.task"),
        {"bench.py": "import polymeter\n\n\ndef t(row):\n    return row['country']\n"},
        "--tasks bench.py",
    ),
    Case(
        "a file that Python cannot read",
        ("This is not valid Python: invalid syntax. Perhaps you forgot a comma?\n",),
        {"bench.py": f"{PYTHON}@polymeter.task(rows=ROWS reference='capital')\ndef t(row): return 'a'\n"},
        "--tasks bench.py",
    ),
]
OPTIONS = [
    Case("a limit in percent", ("--limit", "0.1"), words="--tasks t.yaml --limit 10%"),
    Case("a misspelt option", ("--limits", "--limit"), words="--tasks t.yaml --limits 3"),
    Case(
        "a setting of generation among the arguments of a model",
        ("--gen-kwargs temperature=1",),
        words="--tasks t.yaml --model mock --model-args temperature=1",
        at="--model-args",
    ),
    Case(
        "an argument of a model with a comma",
        ("answer=", "quote"),
        words="--tasks t.yaml --model mock --model-args answer=Paris,Texas",
        at="--model-args",
    ),
    Case(
        "a number of examples that is no number",
        ("--num-fewshot",),
        words="--tasks t.yaml --num-fewshot five",
    ),
]
KINDS = {
    "python": IN_PYTHON,
    "option": OPTIONS,
    "encoding": ENCODINGS,
    "syntax": SYNTAX,
    "data": DATA,
    "media": MEDIA,
    "prompt": PROMPTS,
    "target": TARGETS,
    "field": FIELDS,
    "setting": SETTINGS,
    "name": NAMES,
    "model": MODELS,
}
ALL = {f"{kind}: {case.what}": case for kind, cases in KINDS.items() for case in cases}
WARNED = {name: case for name, case in ALL.items() if case.says[0] == "warning: "}


def params(cases: Mapping[str, Case]) -> list[object]:
    return [
        pytest.param(case, id=name, marks=[pytest.mark.needs_system(case.system)] if case.system else [])
        for name, case in cases.items()
    ]


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def run(typing: Typing, case: Case, words: str = "") -> Done:
    """Run a case with a model that counts its requests."""
    name = next(_names)
    model = MODEL.replace("NAME", name).replace("TRAITS", case.traits).replace("IGNORES", case.ignores)
    typing.write({**BASE, **case.files, "counting.py": model})
    of_model = "" if "--model " in case.words else f"--import counting.py --model {name} "
    return typing(f"run {of_model}{case.words} -o run{words}")


def n_sent(folder: Path) -> int:
    sent = folder / "sent"
    return len(sent.read_text()) if sent.exists() else 0


@pytest.mark.parametrize("case", params(ALL))
def test_a_mistake_shows_before_the_first_request(typing: Typing, case: Case) -> None:
    done = run(typing, case)
    assert done.code == case.code, done.said
    before = done.err.partition(SENT)[0].partition(" samples\n")[0]
    for fragment in case.says:
        assert fragment in before, f"{fragment!r} not in {done.err}"
    if case.at:
        (place,) = [line for line in done.err.splitlines() if line.startswith("  at ")]
        assert case.at in place
    assert n_sent(typing.folder) == case.sent
    assert "Traceback" not in done.said
    if case.code == 2:
        assert not (typing.folder / "run").exists()
    else:
        assert any(
            case.says[1] in note for note in json.loads((typing.folder / "run/results.json").read_text())["notes"]
        )


@pytest.mark.parametrize("case", params(WARNED))
def test_a_warning_is_an_error_of_a_strict_run(typing: Typing, case: Case) -> None:
    done = run(typing, case, " --strict")
    assert done.code == 2, done.said
    assert "With --strict" in done.err
    for fragment in case.says[1:]:
        assert fragment in done.err, f"{fragment!r} not in {done.err}"
    assert n_sent(typing.folder) == 0
    assert not (typing.folder / "run").exists()


_CHECKED = {
    name: case
    for name, case in ALL.items()
    if name.partition(":")[0] in ("encoding", "syntax", "media", "prompt", "target", "name")
    and case.words.startswith("--tasks ")
    and "，" not in case.words
    and "--tasks geo " not in case.words
}


@pytest.mark.parametrize("case", params(_CHECKED))
def test_check_says_the_same(typing: Typing, case: Case) -> None:
    typing.write({**BASE, **case.files})
    file, *more = case.words.removeprefix("--tasks ").split()
    done = typing(" ".join(["check", file, *more, "--strict"]))
    assert done.code == 2, done.said
    assert "no problems found" not in done.said
    fails = "It is not sent" in str(case.says) or case.code == 1  # a row that cannot be scored is a problem of its own
    says = [re.sub(r"^Task '\w+': ", "", fragment) for fragment in case.says[1:]]
    for fragment in says if case in WARNED.values() and not fails else ():
        assert fragment in done.said, f"{fragment!r} not in {done.said}"


def test_check_is_strict_only_if_asked(typing: Typing) -> None:
    typing.write({**BASE, **lines('doc_to_text: "What is the capital?"')})
    relaxed, strict = typing("check t.yaml"), typing("check t.yaml --strict")
    assert (relaxed.code, strict.code) == (0, 2)
    assert "1 warning found, and with --strict a warning is an error." in strict.err


def test_findings_of_a_check_are_data(typing: Typing) -> None:
    typing.write({**BASE, **lines('doc_to_text: "What is the capital?"')})
    document = json.loads(typing("check t.yaml --json").out)
    (finding,) = document["plays"][0]["details"]
    assert (finding["id"], finding["severity"], finding["task"]) == ("equal-prompts", "warning", "t")
    assert finding["place"].endswith("t.yaml:6")


def test_several_warnings_are_listed_by_task(typing: Typing) -> None:
    typing.write({**BASE, "b.yaml": TASK.replace("task: t", "task: b").replace("{{country}}", "it")})
    (typing.folder / "t.yaml").write_text(TASK.replace("doc_to_target: capital", "doc_to_target: solution"))
    done = typing("run --model mock --tasks t.yaml,b.yaml -o run --strict")
    assert done.code == 2
    assert "With --strict warnings are errors, and there are 2 warnings:" in done.err
    assert done.err.index("1. Task 't': The target") < done.err.index("2. Task 'b': The prompt")


def test_python_refuses_too_and_says_why(typing: Typing) -> None:
    typing.write({**BASE, **lines("doc_to_target: solution")})
    with pytest.raises(PlanError, match="With --strict a warning is an error: Task 't': The target is 'solution'"):
        polymeter.evaluate("mock", "t.yaml", output="run", is_strict=True)
    assert polymeter.evaluate("mock", "t.yaml", output="run").exit_code == 0


def test_a_strict_run_without_warnings_is_measured(typing: Typing) -> None:
    typing.write(BASE)
    done = typing("run --model mock --tasks t.yaml -o run --strict")
    assert done.code == 0, done.err
    assert "warning" not in done.err


def test_strictness_is_no_part_of_what_a_run_is(typing: Typing) -> None:
    typing.write(BASE)
    assert typing("run --model mock --tasks t.yaml -o run --strict").code == 0
    again = typing("run --model mock --tasks t.yaml -o run")
    assert again.code == 0, again.err
    assert typing("resume run --strict").code == 0


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub(lambda received: chat("x")) as stub:
        yield stub


AT_ENDPOINT = ["encoding: one row in Latin-1", "setting: a misspelt limit", "media: images that no prompt shows"]


@pytest.mark.parametrize("name", AT_ENDPOINT)
def test_an_endpoint_gets_its_probe_and_no_request_of_a_task(
    typing: Typing, stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    case = ALL[name]
    typing.write({**BASE, **case.files})
    done = typing(f"run --model openai:x --base-url {stub.base_url} {case.words} -o run --strict")
    assert done.code == 2, done.said
    assert case.says[-1] in done.err
    assert len(stub.received) <= 1


def test_one_row_without_a_target_is_not_sent_to_an_endpoint(
    typing: Typing, stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    typing.write({**BASE, "capitals.csv": "country,capital\nFrance,Paris\nJapan,\nPeru,Lima\n"})
    done = typing(f"run --model openai:x --base-url {stub.base_url} --tasks t.yaml -o run")
    assert done.code == 1, done.said
    asked = [body for body in stub.bodies if "capital of" in json.dumps(body)]
    assert len(asked) == 2
    assert not any("Japan" in json.dumps(body) for body in asked)
