"""What a script changes in a benchmark's code is what runs, and the run says that the script was part of it.

Everything here goes through the command line and public names.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.regressions.copies import command

ADAPTER = """
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.benchmarks.quiz import marks


@Benchmark.register(
    name="quiz", dataset_id="quiz", metric_list=["AverageAccuracy"], eval_split="test", prompt_template="{query}"
)
class QuizAdapter(DataAdapter):
    def load(self, **kwargs):
        return {"default": {"test": [{"q": "one", "a": "1"}, {"q": "two", "a": "2"}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["q"])

    def get_gold_answer(self, input_d):
        return input_d["a"]

    def parse_pred_result(self, result, raw_input_d=None, eval_type="checkpoint"):
        return result

    def match(self, gold, pred):
        return marks.mark(gold, pred)
"""
MARKS = "def mark(gold, pred):\n    return 0.25\n"
DATASET = """
import pandas as pd
from ulmeval.dataset.text_base import TextBaseDataset


class Notes(TextBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"notes": ""}
    DATASET_MD5 = {"notes": None}

    def load_data(self, dataset):
        return pd.DataFrame({"index": [0, 1], "prompt": ["one", "two"]})

    def evaluate(self, eval_file, **judge_kwargs):
        return {"mark": 0.25}
"""
YAML = """
task: words
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: q
doc_to_target: a
process_results: !function utils.words_process_results
metric_list: [{metric: mark, aggregation: mean, higher_is_better: true}]
"""
UTILS = 'def words_process_results(doc, results):\n    return {"mark": 0.25}\n'
RUN = """
import polymeter
print("VALUE", polymeter.evaluate("mock", ["TASK"], output="run").results["tasks"]["TASK"]["results"][0]["value"])
"""
AS_EVALSCOPE = """
from evalscope import TaskConfig, run_task
print("VALUE", run_task(TaskConfig(model=None, datasets=["quiz"], use_cache="work"))["quiz"].score)
"""
ONE = "lambda *args, **kwargs: 1.0"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Benchmarks in the layouts of three tools, all of which give a quarter."""
    files = {
        "evalscope/benchmarks/quiz/quiz_adapter.py": ADAPTER,
        "evalscope/benchmarks/quiz/marks.py": MARKS,
        "lmms_eval/tasks/words/words.yaml": YAML,
        "lmms_eval/tasks/words/utils.py": UTILS,
        "lmms_eval/tasks/words/rows.jsonl": '{"q": "one", "a": "1"}\n',
        "ulm/notes.py": DATASET,
        "more/extra/extra_adapter.py": ADAPTER.replace("quiz", "extra").replace("Quiz", "Extra"),
        "more/extra/marks.py": MARKS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def value(here: Path, script: str, name: str = "s.py") -> float:
    """What a script's evaluation gives under ``polymeter python``."""
    (here / name).write_text(script)
    folders = ("evalscope/benchmarks", "lmms_eval/tasks", "ulm")
    included = [word for folder in folders for word in ("--include-path", folder)]
    ended = command("python", *included, name, cwd=here)
    shown = [line for line in ended.stdout.splitlines() if line.startswith("VALUE")]
    assert shown, ended.stderr
    return float(shown[0].removeprefix("VALUE"))


def source_hash(here: Path) -> str:
    """What the only run there says that its task's scores rest on; the run is then removed."""
    (file,) = [*here.glob("run/run.json"), *here.glob("work/run_*/run.json")]
    manifest = json.loads(file.read_text())
    file.parent.rename(here / f"seen{len(list(here.glob('seen*')))}")
    return str(manifest["tasks"][0]["source_hash"])


CHANGES = {
    "the adapter's class": (
        f"from evalscope.benchmarks.quiz.quiz_adapter import QuizAdapter\nQuizAdapter.match = {ONE}\n",
        AS_EVALSCOPE,
    ),
    "a function of its neighbour": (
        f"import evalscope.benchmarks.quiz.marks\nevalscope.benchmarks.quiz.marks.mark = {ONE}\n",
        AS_EVALSCOPE,
    ),
    "the class that Benchmark.get knows": (
        f"from evalscope.benchmarks import Benchmark\nBenchmark.get('quiz').data_adapter.match = {ONE}\n",
        AS_EVALSCOPE,
    ),
    "another class in a registration": (
        "from evalscope.benchmarks import Benchmark\nmeta = Benchmark.get('quiz')\n"
        f"meta.data_adapter = type('Mine', (meta.data_adapter,), {{'match': {ONE}, '__module__': '__main__'}})\n",
        AS_EVALSCOPE,
    ),
    "an adapter in a folder on the package's path": (
        "import evalscope.benchmarks\nevalscope.benchmarks.__path__.append('more')\n"
        f"from evalscope.benchmarks.extra.extra_adapter import ExtraAdapter\nExtraAdapter.match = {ONE}\n",
        AS_EVALSCOPE.replace("quiz", "extra"),
    ),
    "a function of a task's utils": (
        "import lmms_eval.tasks.words.utils\n"
        "lmms_eval.tasks.words.utils.words_process_results = lambda doc, results: {'mark': 1.0}\n",
        RUN.replace("TASK", "words"),
    ),
    "a dataset class by its module": (
        "from ulmeval.dataset.notes import Notes\nNotes.evaluate = lambda *args, **kwargs: {'mark': 1.0}\n",
        RUN.replace("TASK", "notes"),
    ),
    "a dataset class by its name": (
        "from ulmeval.dataset import Notes\nNotes.evaluate = lambda *args, **kwargs: {'mark': 1.0}\n",
        RUN.replace("TASK", "notes"),
    ),
    "the class of a dataset that was built": (
        "from ulmeval.dataset import build_dataset\n"
        "type(build_dataset('notes')).evaluate = lambda *args, **kwargs: {'mark': 1.0}\n",
        RUN.replace("TASK", "notes"),
    ),
}


@pytest.mark.needs_system("evalscope", "lmms_eval", "ulmeval")
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_script_changed_is_what_runs_and_counts_among_its_sources(change: str, here: Path) -> None:
    before, run = CHANGES[change]
    assert value(here, before + run) == 1.0
    changed = source_hash(here)
    plain = "import evalscope.benchmarks\nevalscope.benchmarks.__path__.append('more')\n" if "path" in change else ""
    assert value(here, plain + run) == 0.25
    assert source_hash(here) != changed


@pytest.mark.needs_system("evalscope")
def test_a_folder_on_the_path_of_a_package_is_searched(here: Path) -> None:
    begin = "import evalscope.benchmarks\nevalscope.benchmarks.__path__.append('more')\n"
    assert value(here, begin + AS_EVALSCOPE.replace("quiz", "extra")) == 0.25


@pytest.mark.needs_system("evalscope")
def test_benchmark_get_knows_what_run_task_would_find(here: Path) -> None:
    script = (
        "from evalscope.benchmarks import Benchmark\nprint('VALUE', Benchmark.get('quiz').data_adapter.__name__ == "
        "'QuizAdapter')\ntry:\n    Benchmark.get('quizz')\nexcept Exception as error:\n    print(error)\n"
    )
    (here / "s.py").write_text(script)
    said = command("python", "--include-path", "evalscope/benchmarks", "s.py", cwd=here).stdout
    assert "VALUE True" in said
    assert "Did you mean 'quiz'" in said


@pytest.mark.needs_system("evalscope")
@pytest.mark.control
def test_what_a_script_only_imports_is_what_the_file_says(here: Path) -> None:
    assert value(here, AS_EVALSCOPE) == 0.25
    plain = source_hash(here)
    assert value(here, "from evalscope.benchmarks.quiz.quiz_adapter import QuizAdapter\n" + AS_EVALSCOPE) == 0.25
    assert source_hash(here) == plain


@pytest.mark.needs_system("evalscope")
def test_a_second_run_of_a_script_counts_what_it_changed_since_the_first(here: Path) -> None:
    """The answers stay; the scores are made anew, in the same run folder."""
    begin = "from evalscope.benchmarks.quiz.quiz_adapter import QuizAdapter\n"
    print_first = AS_EVALSCOPE.replace('"VALUE"', '"FIRST"')
    assert value(here, begin + print_first + f"QuizAdapter.match = {ONE}\n" + AS_EVALSCOPE) == 1.0
