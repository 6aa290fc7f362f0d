"""A script that only imports a benchmark's code gets in each run what it gets without the import.

Everything here goes through the command line and public names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.regressions.copies import command

YAML = """
task: words
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: q
doc_to_target: a
process_docs: !function utils.prepared
process_results: !function utils.scored
metric_list: [{metric: mark, aggregation: mean, higher_is_better: true}]
"""
UTILS = """
from sys import modules

from counting import Counter, count, seen

total = 0
table = None
parts = {"seen": []}


def prepared(docs):
    global table
    table = table or (lambda text: text)
    return docs


def scored(doc, results):
    global total
    total += 1
    modules["noted"] = modules[__name__]
    Counter.total += 1
    parts["seen"].append(1)
    return {"mark": 10000 * total + 1000 * Counter.total + 100 * len(parts["seen"]) + 10 * count() + len(seen)}
"""
COUNTING = """
called = 0
seen = set()


class Counter:
    total = 0


def count():
    global called
    called += 1
    seen.add(called)
    return called
"""
RUN = """
import json
import polymeter


def run(name):
    made = polymeter.evaluate("mock", ["words"], output=name)
    manifest = json.loads((made.folder.path / "run.json").read_text())
    print("VALUE", made.results["tasks"]["words"]["results"][0]["value"], manifest["tasks"][0]["source_hash"])


"""
IMPORT = "from lmms_eval.tasks.words import utils\n"
SCRIPTS = {
    "of a function": RUN + IMPORT.replace("words import utils", "words.utils import scored") + "run('a')\nrun('b')\n",
    "before the runs": RUN + IMPORT + "run('a')\nrun('b')\n",
    "between the runs": RUN + "run('a')\n" + IMPORT + "run('b')\n",
    "through another module": RUN + "from lmms_eval.tasks.words.counting import Counter\nrun('a')\nrun('b')\n",
}
DATASET = """
import pandas as pd
from ulmeval.dataset.text_base import TextBaseDataset


class Notes(TextBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"notes": ""}
    DATASET_MD5 = {"notes": None}

    def load_data(self, dataset):
        return pd.DataFrame({"index": [0], "prompt": ["one"]})

    def evaluate(self, eval_file, **judge_kwargs):
        return {"mark": 0.25}


TextBaseDataset.latest = Notes  # keeps it alive
"""
BUILD = """
import polymeter
from ulmeval.dataset import build_dataset

polymeter.evaluate("mock", ["notes"], output="a", include_paths=["ulm"])
polymeter.evaluate("mock", ["words"], output="b")
print("VALUE", type(build_dataset("notes") or 0).__name__)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    files = {
        "tasks/words/words.yaml": YAML,
        "tasks/words/utils.py": UTILS,
        "tasks/words/counting.py": COUNTING,
        "tasks/words/rows.jsonl": '{"q": "one", "a": "1"}\n',
        "ulm/notes.py": DATASET,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def values(here: Path, script: str) -> list[str]:
    """What a script printed of its runs."""
    (here / "s.py").write_text(script)
    ended = command("python", "--include-path", "tasks", "s.py", cwd=here)
    assert ended.returncode == 0, ended.stderr
    return [line for line in ended.stdout.splitlines() if line.startswith("VALUE")]


@pytest.mark.control
@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize("imported", SCRIPTS)
def test_an_import_changes_neither_value_nor_source_of_any_run(imported: str, here: Path) -> None:
    (plain,) = values(here, RUN + "run('plain')\n")
    assert plain.startswith("VALUE 11111.0 ")
    assert values(here, SCRIPTS[imported]) == [plain, plain]


@pytest.mark.needs_system("lmms_eval")
def test_what_a_script_sets_after_a_run_stays_for_all_that_follow(here: Path) -> None:
    script = RUN + IMPORT + "run('a')\nutils.total = 5\nutils.parts['seen'].append(1)\nrun('b')\nrun('c')\n"
    first, second, third = values(here, script)
    assert [line.split()[1] for line in (first, second, third)] == ["11111.0", "61211.0", "61211.0"]
    assert second == third
    assert first.split()[2] != second.split()[2]


@pytest.mark.needs_system("lmms_eval")
def test_what_a_run_adds_to_what_is_not_the_benchmark_s_stays(here: Path) -> None:
    """A list of the script, and the loaded modules, which the benchmark has by a name of its own."""
    own = "import sys\nmine = utils.parts['mine'] = []\nutils.parts['seen'] = mine\n"
    script = RUN + IMPORT + own + "run('a')\nprint('VALUE', mine, 'noted' in sys.modules)\n"
    assert values(here, script)[1:] == ["VALUE [1] True"]


@pytest.mark.control
@pytest.mark.needs_system("lmms_eval", "ulmeval")
def test_a_dataset_class_whose_module_is_forgotten_can_be_built(here: Path) -> None:
    assert values(here, BUILD) == ["VALUE Notes"]
