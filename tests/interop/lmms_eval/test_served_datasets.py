"""Task code that opens another configuration of its dataset by itself gets it from the place that ``--data`` names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main

pytestmark = pytest.mark.needs_system("lmms_eval")

IN_GQAS_IDIOM = """\
import datasets
from datasets import load_dataset


def process_docs(dataset: datasets.Dataset) -> datasets.Dataset:
    words = load_dataset("lmms-lab/GQA", "testdev_balanced_words", split="testdev", token=True)
    by_id = {row["id"]: row["word"] for row in words}
    return dataset.map(lambda doc: {"word": by_id[doc["wordId"]]})
"""
IN_A_HOOK = """\
import datasets


def process_docs(dataset):
    return dataset.map(lambda doc: {"word": ""})


def text(doc):
    words = datasets.load_dataset("lmms-lab/GQA", name="testdev_balanced_words")["testdev"]
    return next(row["word"] for row in words if row["id"] == doc["wordId"])
"""
DOWNLOADING = """\
import json
from huggingface_hub import hf_hub_download, snapshot_download
from pathlib import Path


def process_docs(dataset):
    name = "testdev_balanced_words/testdev.jsonl"
    file = hf_hub_download(repo_id="lmms-lab/GQA", filename=name, repo_type="dataset")
    assert Path(file) == Path(snapshot_download("lmms-lab/GQA", repo_type="dataset")) / name
    by_id = {row["id"]: row["word"] for row in map(json.loads, Path(file).read_text().splitlines())}
    return dataset.map(lambda doc: {"word": by_id[doc["wordId"]]})
"""
YAML = """\
task: words
dataset_path: lmms-lab/GQA
dataset_name: testdev_balanced_instructions
test_split: testdev
process_docs: !function utils.process_docs
doc_to_text: {text}
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
"""
CARD = """\
---
configs:
- config_name: testdev_balanced_instructions
  data_files: [{split: testdev, path: testdev_balanced_instructions/*}]
- config_name: testdev_balanced_words
  data_files: [{split: testdev, path: testdev_balanced_words/*}]
---
"""
WORDS = {f"w{i}": f"word {i}" for i in range(3)}
RUN = ["run", "--model", "mock", "--tasks", "words", "--include-path", "tasks", "--output", "out"]
HERE = ["--data", "lmms-lab/GQA=clone"]


def _rows(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local clone with two configurations, and a task over one of them that reads the other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    clone = tmp_path / "clone"
    asked = [{"wordId": name, "answer": word} for name, word in WORDS.items()]
    _rows(clone / "testdev_balanced_instructions/testdev.jsonl", asked)
    _rows(clone / "testdev_balanced_words/testdev.jsonl", [{"id": name, "word": word} for name, word in WORDS.items()])
    (clone / "README.md").write_text(CARD)
    return tmp_path


def _task(folder: Path, code: str, text: str = "word") -> None:
    (folder / "tasks").mkdir(exist_ok=True)
    (folder / "tasks/utils.py").write_text(code)
    (folder / "tasks/words.yaml").write_text(YAML.format(text=text))


def _prompts(folder: Path) -> list[str]:
    lines = (folder / "out/samples/words.jsonl").read_text().splitlines()
    return [json.loads(line)["exchanges"][0]["request"]["messages"][0]["parts"][0]["text"] for line in lines]


@pytest.mark.parametrize("has_card", [True, False])
@pytest.mark.parametrize(
    ("code", "text"), [(IN_GQAS_IDIOM, "word"), (IN_A_HOOK, "!function utils.text"), (DOWNLOADING, "word")]
)
def test_it_comes_from_the_same_clone(folder: Path, code: str, text: str, has_card: bool) -> None:
    if not has_card:
        (folder / "clone/README.md").unlink()
    _task(folder, code, text)
    assert main([*RUN, *HERE]) == 0
    assert sorted(_prompts(folder)) == sorted(WORDS.values())


def test_a_configuration_may_have_a_place_of_its_own(folder: Path) -> None:
    _task(folder, IN_GQAS_IDIOM)
    places = {"testdev_balanced_instructions": "asked", "testdev_balanced_words": "words"}
    words = []
    for config, place in places.items():
        (folder / "clone" / config).rename(folder / place)
        words += ["--data", f"lmms-lab/GQA:{config}={place}"]
    assert main([*RUN, *words]) == 0
    assert sorted(_prompts(folder)) == sorted(WORDS.values())


def test_a_configuration_that_is_not_there_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _task(folder, IN_GQAS_IDIOM.replace("testdev_balanced_words", "nosuch"))
    assert main([*RUN, *HERE]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "There is no configuration 'nosuch'" in said
    assert "testdev_balanced_words" in said


def test_other_data_is_another_run(folder: Path) -> None:
    """What task code has read itself is among its sources."""
    _task(folder, IN_A_HOOK, "!function utils.text")
    assert main([*RUN, *HERE]) == 0
    sources = [json.loads((folder / "out/run.json").read_text())["tasks"][0]["source_hash"]]
    others = [{"id": name, "word": word.upper()} for name, word in WORDS.items()]
    _rows(folder / "clone/testdev_balanced_words/testdev.jsonl", others)
    assert main([*RUN[:-1], "again", *HERE]) in (0, 1)
    sources.append(json.loads((folder / "again/run.json").read_text())["tasks"][0]["source_hash"])
    assert sources[0] != sources[1]
