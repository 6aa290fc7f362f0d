"""Planning, listing and checking construct no wrapper, since that is where wrappers read their weights; nor does a run
whose answers are all there, also where the wrapper made the prompts itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from tests.helpers.toy_datasets import write_class
from tests.tasks.yaml.kit import task_text, write, write_rows

WRAPPERS = """
import os
from functools import partial
from pathlib import Path

from PIL import Image
from ulmeval.ulm.base import BaseModel

HERE = Path(os.environ["HEAVY"])

class Plain(BaseModel):
    def __init__(self, size="small"):
        with open(HERE / "constructed", "a") as file:
            file.write(size + "\\n")
        if (HERE / "forbidden").exists():
            raise RuntimeError("weights were read")

    def generate_inner(self, message, dataset=None):
        text = message[-1]["value"]
        return Image.new("RGB", (4, 4), "red") if dataset == "Toy" else f"answer to {text}"

class Prompts(Plain):
    def use_custom_prompt(self, dataset):
        return True

    def build_prompt(self, line, dataset=None):
        return [{"type": "text", "value": f"mine: {line['prompt' if dataset == 'Toy' else 'q']}"}]

def made(**arguments):
    return Prompts(**arguments)

supported_ULM["of-class"] = partial(Prompts, size="large")
supported_ULM["of-function"] = made
supported_ULM["of-both"] = partial(partial(made, size="small"), size="large")
"""
NAMES = ["Plain", "Prompts", "of-class", "of-function", "of-both"]
OWN_PROMPTS = NAMES[1:]
SCORING = """
process_results: !function utils.process
metric_list: [{metric: right, aggregation: mean}]
"""
EVALUATE = """
def evaluate(self, eval_file, **judge_kwargs):
    return {'images': sum(len(cell) for cell in load(eval_file)['prediction'])}
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with wrappers, and with benchmarks of two kinds."""
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.setenv("HEAVY", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"heavy.py": WRAPPERS, "lib/t.yaml": task_text(SCORING, text="q")})
    process = "def process(doc, results):\n    return {'right': float(results[0].endswith(doc['q']))}\n"
    write(tmp_path, {"lib/utils.py": process, "lib/lost.yaml": task_text(name="lost").replace("rows.", "none.")})
    write_rows(tmp_path / "lib")
    write_class(tmp_path / "lib", EVALUATE)
    (tmp_path / "forbidden").touch()
    return tmp_path


def polymeter(*words: str) -> int:
    return main([*words])


def run(name: str, tasks: str, output: str = "run", *words: str) -> int:
    told = ["--model", f"ulm:{name}", "--model-path", "heavy.py", "--tasks", tasks, "--include-path", "lib"]
    return main(["run", *told, "--output", output, "--quiet", *words])


def is_constructed(place: Path) -> bool:
    return (place / "constructed").exists()


def values(output: str, task: str) -> dict[str, object]:
    document = RunFolder(Path(output)).read_results()
    return {result["metric"]: result["value"] for result in document["tasks"][task]["results"]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t,nothing_of_that_name",), "There is no task, group or tag 'nothing_of_that_name'"),
        (("t,lost",), "none.jsonl"),
        (("Toy", "run", "--limit", "0"), "limit"),
    ],
)
def test_what_planning_refuses_is_refused_before_a_wrapper_is_constructed(
    place: Path, name: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, *words) == 2
    assert message in capsys.readouterr().err
    assert not is_constructed(place)


@pytest.mark.parametrize("tasks", ["t", "Toy"])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_plans_whole_and_then_constructs_once(
    place: Path, name: str, tasks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, tasks) == 2
    assert "weights were read" in capsys.readouterr().err
    assert len((place / "constructed").read_text().splitlines()) == 1
    manifest = RunFolder(Path("run")).read_manifest()
    assert [task["name"] for task in manifest["tasks"]] == [tasks], "the plan was whole before"


@pytest.mark.parametrize(
    "words",
    [
        ("tasks", "--include-path", "lib"),
        ("models",),
        ("models", "ulm"),
        ("check", "lib/t.yaml"),
        ("check", "lib/t.yaml", "--prompts", "2"),
        ("check", "lib/t.yaml", "--run-gold"),
        ("check", "lib/toy.py"),
        ("docs", "Toy", "--include-path", "lib", "--output", "pages"),
        ("ulmeval", "mlist"),
        ("ulmeval", "dlist", "lib"),
        ("python", "--model-path", "heavy.py", "names.py"),
    ],
    ids=lambda words: "-".join(words[:2]) + f"-{len(words)}",
)
def test_listing_and_checking_construct_nothing(place: Path, words: tuple[str, ...]) -> None:
    names = "from ulmeval.config import supported_ULM\nassert {'of-class', 'of-function'} <= {*supported_ULM}\n"
    (place / "names.py").write_text(names)
    assert polymeter(*words) in (0, 1)
    assert not is_constructed(place)


@pytest.mark.parametrize("tasks", ["t", "Toy"])
@pytest.mark.parametrize("name", OWN_PROMPTS)
def test_a_run_with_own_prompts_is_scored_and_resumed_without_its_model(place: Path, name: str, tasks: str) -> None:
    (place / "forbidden").unlink()
    assert run(name, tasks) == 0
    asked = [sample["exchanges"][0]["request"]["messages"] for sample in read_samples(RunFolder(Path("run")), tasks)]
    assert all("mine: " in str(messages) for messages in asked)
    (place / "forbidden").touch()
    os.remove("constructed")
    assert polymeter("resume", "run", "--quiet") == 0
    assert run(name, tasks) == 0
    assert polymeter("score", "run", "--output", "scored", "--quiet") == 0
    os.remove("heavy.py")
    assert polymeter("score", "run", "--output", "without_file", "--quiet") == 0
    assert values("without_file", tasks) == values("scored", tasks) == values("run", tasks)
    assert not is_constructed(place)


@pytest.mark.parametrize("name", OWN_PROMPTS)
def test_a_changed_scoring_is_replayed_over_the_prompts_that_are_kept(place: Path, name: str) -> None:
    (place / "forbidden").unlink()
    assert run(name, "t") == 0
    before = values("run", "t")
    (place / "forbidden").touch()
    os.remove("constructed")
    (place / "lib/utils.py").write_text("def process(doc, results):\n    return {'right': 0.5}\n")
    assert polymeter("resume", "run", "--quiet") == 0
    assert (before, values("run", "t")) == ({"right": 1.0}, {"right": 0.5})
    assert not is_constructed(place)
