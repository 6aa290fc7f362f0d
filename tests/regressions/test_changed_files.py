"""Files that a benchmark rests on, changed while its run stands still.

A run that goes on gives what one unbroken run over the changed files gives: nothing that an earlier part of it found
in the old files counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.extend import BatchModel, ModelError, ModelTraits, Request, Response

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}
MODALITIES = {"text": True, "image": True}


class Namer(BatchModel):
    """Names the colour of the image it is shown; without one it says what the text says.

    It answers as many requests as it is told and then fails, which is how a run is left half done here.
    """

    def __init__(self, answers: int | None = None) -> None:
        self.traits = ModelTraits(family="namer", requests={"generate": True}, modalities=MODALITIES)
        self.left = answers
        self.n_asked = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "namer"}

    def respond(self, requests: list[Request]) -> list[Response]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Response:
        self.n_asked += 1
        if self.left is not None and self.n_asked > self.left:
            return Response.failed(ModelError("Out of answers."))
        images = list(request.images())
        if not images:
            return Response.of_text(request.text.split()[-1])
        pixel = images[0].open().convert("RGB").getpixel((0, 0))
        return Response.of_text(next(name for name, colour in COLOURS.items() if colour == pixel))


def paint(file: Path, colour: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (16, 16), COLOURS[colour]).save(file, format="BMP")  # of one size, whatever the colour
    return file


def run(folder: Path, output: str, answers: int | None = None, tasks: str = "colours", **options: Any) -> Namer:
    namer = Namer(answers)
    polymeter.evaluate(
        namer,
        tasks,
        output=folder / output,
        include_paths=(folder / "task",),
        cache_dir=folder / "cache",
        batch_size=1,
        window=1,
        **options,
    )
    return namer


def scores(folder: Path, output: str) -> list[Any]:
    """The answers and scores of all samples, in order."""
    found = []
    for file in sorted((folder / output / "samples").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found.append({name: row[name] for name in ("id", "status", "answer", "scores") if name in row})
    return found


def results(folder: Path, output: str) -> Any:
    return json.loads((folder / output / "results.json").read_text())["tasks"]


def write(folder: Path, yaml: str, utils: str = "") -> Path:
    task = folder / "task"
    task.mkdir(parents=True, exist_ok=True)
    (task / "colours.yaml").write_text(textwrap.dedent(yaml))
    if utils:
        (task / "utils.py").write_text(textwrap.dedent(utils))
    return task


def rows(folder: Path, **columns: Any) -> None:
    lines = [json.dumps(dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)]
    (folder / "task" / "rows.jsonl").write_text("\n".join(lines) + "\n")


HOOKED = """
    task: colours
    dataset_path: rows.jsonl
    test_split: test
    output_type: generate_until
    doc_to_visual: !function utils.visual
    doc_to_text: !function utils.text
    doc_to_target: answer
    generation_kwargs: {max_new_tokens: 8}
    metric_list:
      - metric: exact_match
"""
PATHS = """
    def visual(doc):
        return [doc["image"]]

    def text(doc):
        return "Which colour is it?"
"""
OPENED = """
    from PIL import Image

    def visual(doc):
        return [Image.open(doc["image"]).convert("RGB")]

    def text(doc):
        return "Which colour is it?"
"""
CAST = """
    import datasets

    def cast(dataset):
        return dataset.cast_column("image", datasets.Image())

    def visual(doc):
        return [doc["image"].convert("RGB")]

    def text(doc):
        return "Which colour is it?"
"""


def half_done_run_over_images(tmp_path: Path, kind: str) -> None:
    """Four images, of which a model has been shown three when it stops."""
    images = [str(paint(tmp_path / "images" / f"{n}.bmp", "red")) for n in range(4)]
    if kind == "table":
        (tmp_path / "task").mkdir()
        lines = [f"{n}\tWhich colour is it?\tred\t{image}" for n, image in enumerate(images)]
        (tmp_path / "task" / "colours.tsv").write_text("\n".join(["index\tquestion\tanswer\timage_path", *lines]))
    else:
        hooks = {"paths": PATHS, "opened": OPENED, "cast": CAST, "column": CAST}[kind]
        yaml = HOOKED + ("    process_docs: !function utils.cast\n" if hooks is CAST else "")
        yaml = yaml.replace("!function utils.visual", "image") if kind == "column" else yaml
        write(tmp_path, yaml, hooks)
        rows(tmp_path, image=images, answer=["red"] * 4)
    first = run(tmp_path, "broken", 3)
    assert first.n_asked >= 4


KINDS = ["table", "paths", "opened", "cast", "column"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_behind_a_path_that_was_replaced_is_shown_again(tmp_path: Path, kind: str) -> None:
    half_done_run_over_images(tmp_path, kind)
    for n in (1, 3):
        paint(tmp_path / "images" / f"{n}.bmp", "blue")
    again = run(tmp_path, "broken")
    run(tmp_path, "whole")
    assert scores(tmp_path, "broken") == scores(tmp_path, "whole")
    assert results(tmp_path, "broken") == results(tmp_path, "whole")
    assert again.n_asked == 2  # the one that was replaced, and the one that was owed


@pytest.mark.control
@pytest.mark.parametrize("kind", KINDS)
def test_an_image_that_was_only_touched_is_not_shown_again(tmp_path: Path, kind: str) -> None:
    half_done_run_over_images(tmp_path, kind)
    for n in range(4):
        os.utime(tmp_path / "images" / f"{n}.bmp", ns=(1, 1))
    assert run(tmp_path, "broken").n_asked == 1


@pytest.mark.parametrize("kind", ["paths", "table"])
def test_an_image_that_is_replaced_again_and_again_counts_as_it_is(tmp_path: Path, kind: str) -> None:
    half_done_run_over_images(tmp_path, kind)
    for colour in ("blue", "green", "red"):
        paint(tmp_path / "images" / "1.bmp", colour)
        run(tmp_path, "broken")
        run(tmp_path, f"whole-{colour}")
        assert scores(tmp_path, "broken") == scores(tmp_path, f"whole-{colour}")


# --- files that task code reads -------------------------------------------------------------------------------------

WORDS = """
    task: colours
    dataset_path: rows.jsonl
    test_split: test
    output_type: generate_until
    doc_to_text: !function utils.text
    doc_to_target: answer
    process_results: !function utils.judge
    metric_list:
      - metric: points
        aggregation: mean
        higher_is_better: true
"""
TEXT_AND_JUDGE = """
    def text(doc):
        return doc["word"]

    def judge(doc, results):
        return {"points": points() if results[0] == doc["answer"] else 0.0}
"""
READERS = {
    "open": "import json\nwith open(CONFIG) as file:\n    POINTS = json.load(file)['points']\n",
    "path": "import json\nfrom pathlib import Path\nPOINTS = json.loads(Path(CONFIG).read_text())['points']\n",
    "pandas": "import pandas\nPOINTS = float(pandas.read_json(CONFIG, typ='series')['points'])\n",
    "yaml": "import yaml\nfrom pathlib import Path\nPOINTS = yaml.safe_load(Path(CONFIG).read_bytes())['points']\n",
}
LATE = {
    "kept": """
        import functools, json
        from pathlib import Path

        @functools.lru_cache
        def points():
            return json.loads(Path(CONFIG).read_text())["points"]
    """,
    "each time": """
        import json
        from pathlib import Path

        def points():
            return json.loads(Path(CONFIG).read_text())["points"]
    """,
}


def half_done_run_of_words(tmp_path: Path, utils: str, points: float = 1.0) -> None:
    write(tmp_path, WORDS, "")
    config = tmp_path / "elsewhere" / "cfg.json"
    config.parent.mkdir(exist_ok=True)
    set_points(tmp_path, points)
    (tmp_path / "task" / "utils.py").write_text(f"CONFIG = {str(config)!r}\n{textwrap.dedent(utils)}")
    rows(tmp_path, word=["a", "b", "c", "d"], answer=["a", "b", "c", "d"])
    run(tmp_path, "broken", 2)


def set_points(tmp_path: Path, points: float) -> None:
    (tmp_path / "elsewhere" / "cfg.json").write_text(json.dumps({"points": points}))


def goes_on_as_one_run(tmp_path: Path, n_asked: int = 2) -> None:
    again = run(tmp_path, "broken")
    run(tmp_path, "whole")
    assert scores(tmp_path, "broken") == scores(tmp_path, "whole")
    assert results(tmp_path, "broken") == results(tmp_path, "whole")
    assert again.n_asked == n_asked


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_task_code_reads_when_it_loads_is_a_source(tmp_path: Path, reader: str) -> None:
    points = "\n    def points():\n        return POINTS\n"
    half_done_run_of_words(tmp_path, READERS[reader] + textwrap.dedent(points + TEXT_AND_JUDGE))
    set_points(tmp_path, 0.5)
    goes_on_as_one_run(tmp_path)


@pytest.mark.parametrize("reader", LATE)
def test_a_file_that_a_hook_reads_is_one_that_scores_rest_on(tmp_path: Path, reader: str) -> None:
    half_done_run_of_words(tmp_path, textwrap.dedent(LATE[reader]) + textwrap.dedent(TEXT_AND_JUDGE))
    set_points(tmp_path, 0.5)
    goes_on_as_one_run(tmp_path)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("is_package", [False, True])
def test_a_module_outside_the_folder_is_a_source(tmp_path: Path, is_package: bool, is_late: bool) -> None:
    place = tmp_path / "shared" / ("grading/__init__.py" if is_package else "grading.py")
    place.parent.mkdir(parents=True)
    place.write_text("POINTS = 1.0\n")
    (tmp_path / "shared" / "naming.py").write_text("NAME = 'words'\n")
    head = f"import sys\nsys.path.insert(0, {str(tmp_path / 'shared')!r})\nfrom naming import NAME\n"
    points = "def points():\n    from grading import POINTS\n    return POINTS\n"
    early = "from grading import POINTS\n\ndef points():\n    return POINTS\n"
    half_done_run_of_words(tmp_path, head + (points if is_late else early) + textwrap.dedent(TEXT_AND_JUDGE))
    place.write_text("POINTS = 0.25\n")
    goes_on_as_one_run(tmp_path)
    assert [row["status"] for row in scores(tmp_path, "whole")] == ["ok"] * 4


def test_a_file_that_only_one_row_names_is_asked_about_again_for_that_row_alone(tmp_path: Path) -> None:
    utils = """
        from pathlib import Path

        def text(doc):
            return Path(doc["word"]).read_text()

        def judge(doc, results):
            return {"points": float(results[0] == doc["answer"])}
    """
    write(tmp_path, WORDS, utils)
    words = [tmp_path / "words" / f"{n}.txt" for n in range(4)]
    words[0].parent.mkdir()
    for word in words:
        word.write_text("a")
    rows(tmp_path, word=[str(word) for word in words], answer=["a"] * 4)
    run(tmp_path, "broken", 3)
    words[1].write_text("b")
    os.utime(words[0], ns=(1, 1))
    goes_on_as_one_run(tmp_path, 2)


@pytest.mark.control
def test_files_that_task_code_writes_itself_are_not_sources(tmp_path: Path) -> None:
    points = """
        from pathlib import Path

        def points():
            memory = Path(CONFIG + ".memory")
            n = int(memory.read_text()) if memory.exists() else 0
            memory.write_text(str(n + 1))
            return 1.0
    """
    half_done_run_of_words(tmp_path, textwrap.dedent(points) + textwrap.dedent(TEXT_AND_JUDGE))
    goes_on_as_one_run(tmp_path)


def test_the_run_names_the_sources_that_were_opened(tmp_path: Path) -> None:
    points = "\n    def points():\n        return POINTS\n"
    half_done_run_of_words(tmp_path, READERS["open"] + textwrap.dedent(points + TEXT_AND_JUDGE))
    (task,) = json.loads((tmp_path / "broken" / "run.json").read_text())["tasks"]
    assert str(tmp_path / "elsewhere" / "cfg.json") in task["sources"]


ADAPTER = """
    import json
    from evalscope.benchmarks import Benchmark, DataAdapter

    {early}

    @Benchmark.register(name='colours', dataset_id='rows', metric_list=['AverageAccuracy'], subset_list=['default'],
                        eval_split='test', few_shot_num=0, prompt_template='{{query}}')
    class ColoursAdapter(DataAdapter):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            {late}

        def gen_prompt(self, input_d, few_shot_list, **kwargs):
            return self.gen_prompt_data(input_d['word'])

        def get_gold_answer(self, input_d):
            return input_d['answer']

        def parse_pred_result(self, result, raw_input_d=None, **kwargs):
            return result

        def match(self, gold, pred):
            return {points} if gold == pred else 0.0
"""
READS = "points = json.load(file)['points']"
IN_ADAPTERS = {
    "loading": {"early": f"with open(CONFIG) as file: {READS}", "late": "pass", "points": "points"},
    "constructing": {"early": "", "late": f"with open(CONFIG) as file: self.{READS}", "points": "self.points"},
}


@pytest.mark.parametrize("when", IN_ADAPTERS)
@pytest.mark.needs_system("evalscope")
def test_a_file_that_an_adapter_reads_is_a_source(tmp_path: Path, when: str) -> None:
    code = textwrap.dedent(ADAPTER).format(**IN_ADAPTERS[when])
    config = tmp_path / "elsewhere" / "cfg.json"
    config.parent.mkdir()
    set_points(tmp_path, 1.0)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "colours_adapter.py").write_text(f"CONFIG = {str(config)!r}\n{code}")
    words = ["a", "b", "c", "d"]
    (tmp_path / "rows").mkdir()
    lines = [json.dumps({"word": word, "answer": word}) for word in words]
    (tmp_path / "rows" / "test.jsonl").write_text("\n".join(lines) + "\n")
    options = {"data": {"rows": str(tmp_path / "rows")}}
    run(tmp_path, "broken", 2, **options)
    set_points(tmp_path, 0.5)
    again = run(tmp_path, "broken", **options)
    run(tmp_path, "whole", **options)
    assert results(tmp_path, "broken") == results(tmp_path, "whole")
    assert again.n_asked == 2


WRAPPER = """
    import json
    from lmms_eval.api.model import lmms
    from lmms_eval.api.registry import register_model

    with open(CONFIG) as file:
        ANSWER = json.load(file)["answer"]

    @register_model("speaker")
    class Speaker(lmms):
        def generate_until(self, requests):
            return [ANSWER for _ in requests]

        def loglikelihood(self, requests):
            raise NotImplementedError
"""


@pytest.mark.needs_system("lmms_eval")
def test_a_file_that_a_wrapper_reads_when_it_loads_is_a_source_of_the_model(tmp_path: Path) -> None:
    write(
        tmp_path, HOOKED.replace("doc_to_visual: !function utils.visual\n    ", "").replace("!function utils.text", "q")
    )
    rows(tmp_path, q=["?", "?"], answer=["a", "a"])
    config = tmp_path / "answer.json"
    config.write_text(json.dumps({"answer": "a"}))
    (tmp_path / "speaker.py").write_text(f"CONFIG = {str(config)!r}\n{textwrap.dedent(WRAPPER)}")
    options = {"output": tmp_path / "broken", "include_paths": (tmp_path / "task",), "cache_dir": tmp_path / "cache"}
    wrapper = {"model_path": str(tmp_path / "speaker.py")}
    polymeter.evaluate("lmms:speaker", "colours", **wrapper, **options)
    polymeter.score(tmp_path / "broken", output=tmp_path / "scored")
    assert results(tmp_path, "scored") == results(tmp_path, "broken")
    config.write_text(json.dumps({"answer": "b"}))
    with pytest.raises(polymeter.PolymeterError, match="differs"):
        polymeter.evaluate("lmms:speaker", "colours", **wrapper, **options)


def command(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "400", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_of_their_own_processes_notice_all_of_it(tmp_path: Path) -> None:
    utils = """
        import json, os, sys
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "shared"))
        from pathlib import Path
        from grading import POINTS

        SHARE = json.loads(Path(CONFIG).read_text())["points"]

        def text(doc):
            if os.environ.get("STOPS") and doc["word"] in "cd":
                raise ValueError("stops here")
            return doc["word"]

        def points():
            return POINTS * SHARE
    """
    write(tmp_path, WORDS)
    (tmp_path / "shared").mkdir()
    (tmp_path / "elsewhere").mkdir()
    config = str(tmp_path / "elsewhere" / "cfg.json")
    code = textwrap.dedent(utils) + "def judge" + textwrap.dedent(TEXT_AND_JUDGE).partition("def judge")[2]
    (tmp_path / "task" / "utils.py").write_text(f"CONFIG = {config!r}\n{code}")
    rows(tmp_path, word=["a", "b", "c", "d"], answer=["a", "b", "c", "d"])
    words = ("--model", "mock", "--model-args", "mode=echo", "--tasks", "colours", "--include-path", "task")
    values = []
    for points, share in ((1.0, 1.0), (0.5, 1.0), (0.5, 0.5)):
        (tmp_path / "shared" / "grading.py").write_text(f"POINTS = {points}\n")
        set_points(tmp_path, share)
        if not values:
            done = command(tmp_path, "run", *words, "--output", "broken", STOPS="1")
            assert done.returncode == 1, done.stderr
        resumed = command(tmp_path, "resume", "broken")
        assert resumed.returncode == 0, resumed.stderr
        whole = command(tmp_path, "run", *words, "--output", f"whole-{points}-{share}")
        assert whole.returncode == 0, whole.stderr
        assert results(tmp_path, "broken") == results(tmp_path, f"whole-{points}-{share}")
        values.append(scores(tmp_path, "broken"))
    assert values[0] != values[1] != values[2]


READS_BESIDE = """
    import json
    from pathlib import Path

    WORDS = json.loads((Path(__file__).parent / "words.json").read_text())
"""
NEIGHBOURS = {
    "beside": "import helpers\nWORDS = helpers.WORDS\n",
    "elsewhere": "import sys\nsys.path.insert(0, {shared!r})\nfrom helpers import WORDS\n",
}


@pytest.mark.parametrize("order", ["one,two", "two,one"])
@pytest.mark.parametrize("place", NEIGHBOURS)
def test_modules_of_one_name_in_two_folders_are_sources_of_their_own_tasks_alone(
    tmp_path: Path, place: str, order: str
) -> None:
    for name in ("one", "two"):
        folder = tmp_path / "tasks" / name
        shared = tmp_path / "shared" / name if place == "elsewhere" else folder
        folder.mkdir(parents=True)
        shared.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(textwrap.dedent(WORDS).replace("task: colours", f"task: {name}"))
        (folder / "rows.jsonl").write_text(json.dumps({"word": "a", "answer": "a"}) + "\n")
        head = NEIGHBOURS[place].format(shared=str(shared))
        points = "\n    def points():\n        return 1.0\n"
        (folder / "utils.py").write_text(head + textwrap.dedent(points + TEXT_AND_JUDGE))
        (shared / "helpers.py").write_text(textwrap.dedent(READS_BESIDE))
        (shared / "words.json").write_text(json.dumps([name]))
        (shared / "unused.py").write_text("")

    def planned(tasks: str) -> dict[str, tuple[str, list[str]]]:
        words = ("--model", "mock", "--tasks", tasks, "--include-path", "tasks", "--output", f"run-{tasks}")
        done = command(tmp_path, "run", *words)
        assert done.returncode == 0, done.stderr
        entries = json.loads((tmp_path / f"run-{tasks}" / "run.json").read_text())["tasks"]
        return {entry["name"]: (entry["source_hash"], entry["sources"]) for entry in entries}

    second = order.partition(",")[2]
    alone = planned(second)[second]
    assert planned(order)[second] == alone
    assert {"helpers.py", "words.json"} <= {Path(file).name for file in alone[1]}
    assert str(tmp_path / "shared" / second / "unused.py") not in alone[1]
