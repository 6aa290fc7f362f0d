"""Runs of the five adapters: by file, by folder and by ``run_task``, killed and continued, scored again, beside a task
YAML's run on the same rows, and on the pages of viewer and report.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.interop.evalscope.v1.from_specification.test_five_adapters import HERE, SAID, SEEN, data_of

NAMES = tuple(SEEN)
GRADES = '{"reasoning": "so", "verdict": "fair"}'


class Shown(NamedTuple):
    """What the pages of a sample show."""

    question: str
    expected: str
    answer: str
    metric: str
    value: str
    metrics: list[str]
    medium: str = ""


SHOWN: Mapping[str, Shown] = {
    "rivers": Shown(
        "Which river flows through Vienna?", "Danube", "Danube", "accuracy", "1.0000", ["accuracy", "exact_match"]
    ),
    "planets": Shown("Which planet is red?", "D", "Danube", "accuracy", "1.0000", ["accuracy"]),
    "colours": Shown("Which colour is the image?", "A", "Danube", "accuracy", "0.0000", ["accuracy"], "<img"),
    "tones": Shown("What do you hear?", "a four", "Danube", "accuracy", "0.0000", ["wer", "accuracy"], "<audio"),
    "essays": Shown("Write an essay about rain.", "rain", "Danube", "quality", "0.5000", ["quality"]),
}


def model(asked: list[str] | None = None, said: str = "The answer is Danube") -> MockBatch:
    """A model that always says the same, and notes what it is asked."""

    def compute(request: Request) -> str:
        if asked is not None:
            asked.append(key_of(request))
        return said

    return MockBatch(compute, identity={"backend": "mock"})


def judge(asked: list[str] | None = None) -> MockBatch:
    def compute(request: Request) -> str:
        if asked is not None:
            asked.append(key_of(request))
        return GRADES

    return MockBatch(compute, identity={"backend": "judge"})


def key_of(request: Request) -> str:
    """The sample that is asked about, and the question as far as it is text."""
    return json.dumps([request.origin.sample if request.origin else "", request.text])


def options(name: str, asked: list[str] | None = None) -> dict[str, Any]:
    """What every run of an adapter has in common. The judge notes its requests as the model does."""
    roles = {"roles": {"judge": judge(asked)}} if name == "essays" else {}
    return {"data": data_of(name), "batch_size": 1, **roles}


def values_of(run: Path) -> Any:
    (task,) = json.loads((run / "results.json").read_text())["tasks"].values()
    return [(one["metric"], one["subset"], one["value"], one["n"]) for one in task["results"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("five")


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    """A whole run of each, by its file."""
    for name in NAMES:
        polymeter.evaluate(model(), [str(HERE / f"{name}_adapter.py")], output=folder / name, **options(name))
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_gives_what_the_file_gives(name: str, runs: Path, tmp_path: Path) -> None:
    polymeter.evaluate(model(), [name], include_paths=[HERE], output=tmp_path / "run", **options(name))
    assert values_of(tmp_path / "run") == values_of(runs / name)


_KILLED = """
import json, os, signal, sqlite3, sys, time
from pathlib import Path
import polymeter
from tests.interop.evalscope.v1.from_specification import test_five_runs as five

folder = Path(sys.argv[1])

def noting(name, make):
    class Noted(list):
        def append(self, key):
            with open(folder / f"{name}.asked", "a") as file:
                print(key, file=file)
            list.append(self, key)
            if len(self) == 2:
                with sqlite3.connect(folder / f"{name}-killed" / "journal.db") as journal:
                    while journal.execute("SELECT COUNT(*) FROM responses").fetchone()[0] < 1:
                        time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
    return Noted()

for name in five.NAMES:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    asked = noting(name, None)
    polymeter.evaluate(
        five.model(asked), [str(five.HERE / f"{name}_adapter.py")],
        output=folder / f"{name}-killed", **five.options(name),
    )
    os._exit(3)
"""


@pytest.fixture(scope="module")
def killed(folder: Path) -> Path:
    """A run of each that is killed when its second question is asked. One process starts them all, before it has any
    thread.
    """
    subprocess.run([sys.executable, "-c", _KILLED, str(folder)], check=True, timeout=300)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_continues_and_asks_nothing_twice(name: str, killed: Path, runs: Path) -> None:
    before = (killed / f"{name}.asked").read_text().splitlines()
    after: list[str] = []
    run = killed / f"{name}-killed"
    assert json.loads((run / "run.json").read_text())["status"] == "running"
    polymeter.resume(run, model=model(after), **({"roles": {"judge": judge()}} if name == "essays" else {}))
    assert values_of(run) == values_of(runs / name)
    assert len(before) == 2
    counts = Counter([*before[:1], *after])  # the second question had no answer when the run was killed
    assert set(counts.values()) == {1}
    assert len(counts) == len(SAID[name])


@pytest.mark.parametrize("name", NAMES)
def test_scoring_again_asks_nobody(name: str, runs: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    roles = {"roles": {"judge": judge(asked)}} if name == "essays" else {}
    polymeter.score(runs / name, output=tmp_path / "again", **roles)
    assert values_of(tmp_path / "again") == values_of(runs / name)
    assert not asked


YAML = """\
task: NAME
dataset_path: json
dataset_kwargs: {data_files: {test: [FILES]}}
test_split: test
output_type: generate_until
doc_to_messages: !function asked.NAME
doc_to_target: !function asked.NAME_target
process_results: !function asked.NAME_results
generation_kwargs: {until: [], max_gen_toks: 64}
metric_list:
  - metric: METRIC
    aggregation: mean
    higher_is_better: true
"""
ASKED = '''
"""The five adapters' questions about the same rows, and another way to score the answers."""
CHOICE = (
    "Answer the following multiple choice question. {where} should be of the following format: 'ANSWER: [LETTER]' "
    "(without quotes) where [LETTER] is one of {letters}.{more}\\n\\n{question}\\n\\n{choices}"
)
ENTIRE = "The entire content of your response"
LAST = "The last line of your response"


def chat(*content, system=""):
    said = [{"role": "user", "content": list(content)}]
    return [{"role": "system", "content": [text(system)]}, *said] if system else said


def text(words):
    return {"type": "text", "text": words}


def choice(doc, where, more=""):
    letters = "ABCD"[: len(doc["options"])]
    choices = "\\n".join(f"{letter}) {option}" for letter, option in zip(letters, doc["options"]))
    filled = {"where": where, "letters": ",".join(letters), "more": more, "choices": choices}
    return text(CHOICE.format(question=doc["question"], **filled))


def rivers(doc, *more):
    return chat(text(f"Question: {doc['question']}\\nAnswer in one word."), system="You know rivers.")


def planets(doc, *more):
    return chat(choice(doc, ENTIRE))


def colours(doc, *more):
    images = [{"type": "image", "url": f"data:image/png;base64,{image}"} for image in doc["images"]]
    return chat(choice(doc, LAST, " Think step by step before answering."), *images)


def tones(doc, *more):
    sound = {"type": "audio", "url": f"data:audio/wav;base64,{doc['audio']}"}
    return chat(sound, text("What do you hear? Say the note."))


def essays(doc, *more):
    return chat(text(f"Write an essay about {doc['topic']}."))


def rivers_target(doc):
    return doc["answer"]


def planets_target(doc):
    return "ABCD"[doc["label"]]


colours_target = rivers_target


def tones_target(doc):
    return doc["note"]


def essays_target(doc):
    return doc["topic"]


def results(name, target, metric):
    return lambda doc, said: {metric: float(target(doc) in said[0])}


rivers_results = results("rivers", rivers_target, "accuracy")
planets_results = results("planets", planets_target, "accuracy")
colours_results = results("colours", colours_target, "accuracy")
tones_results = results("tones", tones_target, "accuracy")
essays_results = results("essays", essays_target, "quality")
'''


@pytest.fixture(scope="module")
def beside(folder: Path) -> Path:
    """A run of each adapter without examples, and one of a task YAML with the same rows and questions."""
    (folder / "asked.py").write_text(ASKED)
    for name in NAMES:
        files = sorted((HERE / "data" / name).glob("*_test.jsonl"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        columns = dict.fromkeys(key for row in rows for key in row)
        together = folder / f"{name}.jsonl"
        together.write_text("".join(json.dumps({**columns, **row}) + "\n" for row in rows))
        task = folder / f"{name}.yaml"
        filled = YAML.replace("NAME", name).replace("FILES", str(together)).replace("METRIC", SHOWN[name].metric)
        task.write_text(filled)
        given = {**options(name), "num_fewshot": 0}
        polymeter.evaluate(model(), [str(HERE / f"{name}_adapter.py")], output=folder / f"{name}-asked", **given)
        given.pop("roles", None)
        polymeter.evaluate(model(said="D"), [str(task)], output=folder / f"{name}-yaml", **given)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_compared_with_a_yaml_tasks_run_on_the_same_rows(
    name: str, beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", str(beside / f"{name}-asked"), str(beside / f"{name}-yaml"), "--json"]
    assert main(command) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "the runs have different samples" in said
    assert "add --pair-by prompt" in said
    known = {"rivers": "samples", "planets": "samples"}.get(name, "")
    allowed = ",".join(filter(None, ["task,data", known, "judge" if name == "essays" else ""]))
    assert main([*command, "--pair-by", "prompt", "--allow", allowed]) == 0
    (other,) = json.loads(capsys.readouterr().out)["others"]
    (line,) = [score for score in other["scores"] if score["is_main"]]
    assert line["n"] == len(SAID[name])
    assert line["metric"] == SHOWN[name].metric


@pytest.fixture(scope="module")
def client(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A viewer over the runs."""
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from polymeter.api.viewing import services
    from polymeter.viewer.guard import Guard
    from polymeter.viewer.indexes import Indexes
    from polymeter.viewer.shelf import Shelf
    from polymeter.viewer.site import Viewer, find_pages, make_site

    indexes = Indexes(tmp_path_factory.mktemp("indexes"))
    viewer = Viewer(Shelf([runs / name for name in NAMES]), indexes, services(), find_pages())
    yield TestClient(Guard(make_site(viewer), ["testserver"], ""), base_url="http://testserver")
    indexes.close()


@pytest.mark.parametrize("name", NAMES)
def test_report_and_sample_page_show_what_was_asked_and_what_it_is_worth(name: str, runs: Path, client: Any) -> None:
    shown = SHOWN[name]
    lines = map(json.loads, (runs / name / f"samples/{name}.jsonl").read_text().splitlines())
    sample = next(line for line in lines if line["target"] == shown.expected)
    page = client.get(f"/run/{name}/sample", params={"task": name, "index": sample["index"]}).text
    report = (runs / name / "report.html").read_text()
    for where in (page, report):
        for expected in (shown.question, shown.expected, shown.answer, shown.metric):
            assert expected in where
    assert shown.medium in page
    assert [one["metric"] for one in sample["scores"]] == shown.metrics, "the author's own score is no metric"
    score = page[page.index(f"<dt>{shown.metric}</dt>") :]
    assert re.search(r'class="value[^"]*">([^<]*)<', score)[1] == shown.value
    media = [file.read_bytes() for file in (runs / name / "media").rglob("*") if file.is_file()]
    assert all(base64.b64encode(medium).decode() in report for medium in media)
    assert bool(media) == bool(shown.medium)
