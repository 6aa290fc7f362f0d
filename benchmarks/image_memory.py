"""Prints the peak memory of runs over 2,000 images of 1024x1024, whole processes.

Usage: ``python -m benchmarks.image_memory [N]``. Peak resident memory counts the interpreter, all packages and the
pages of files that are mapped. The budget is 400 MB, whatever the number of images. As measured on 2 cores:

=============================  ======
task YAML, its Parquet file
prepared first                 328 MB
task YAML, endpoint            246 MB
hooks and a judge              361 MB
table                          302 MB
generated, scored by a hook    368 MB
generated, scored by scenes    222 MB
=============================  ======

The table has 407 MB. From 64 MiB on, the images of a table stay in a temporary file.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.data import image_bytes, image_task
from benchmarks.measure import polymeter

SIDE_PX = 1024
BUDGET_MB = 400
_SCENE = {"include": [{"class": "circle", "count": 1, "color": "red"}]}
_DRAWN_TASK = """\
task: bench_drawn
output_type: generate_image
dataset_path: json
dataset_kwargs: {data_files: {test: prompts.jsonl}}
test_split: test
doc_to_text: "{{prompt}}"
doc_to_target: prompt
generation_kwargs: {size: [1024, 1024]}
process_results: !function utils.score
metric_list: [{metric: seen, aggregation: mean, higher_is_better: true}]
"""
_DRAWN_UTILS = """\
def score(doc, results):
    image = results[0][0] if isinstance(results[0], list) else results[0]
    return {"seen": float(image.convert("L").getpixel((0, 0)) >= 0)}
"""
_JUDGED_TASK = """\
task: bench_judged
dataset_path: parquet
dataset_kwargs: {data_files: {test: images.parquet}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "{{question}}"
doc_to_target: answer
process_results: !function utils.score
metric_list: [{metric: judged, aggregation: mean, higher_is_better: true}]
"""
_JUDGED_UTILS = """\
from polymeter.judge import LLMJudge


def visual(doc):
    return [doc["image"].convert("RGB")]


def score(doc, results):
    judge = LLMJudge()
    prompt = judge.build_prompt(results[0], doc["answer"], doc["question"])
    return {"judged": judge.get_score(judge(prompt))}
"""


def main() -> None:
    """Measure every kind of run and print one line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.image_memory")
    parser.add_argument("n", nargs="?", type=int, default=2_000, metavar="N", help="the number of images")
    n = parser.parse_args().n
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    folder = Path(tempfile.mkdtemp(prefix="polymeter-bench-"))
    os.environ["POLYMETER_CACHE_DIR"] = str(folder / "cache")
    os.environ["HF_HOME"] = str(folder / "hf")
    try:
        for name, words in _runs(folder, n):
            run = folder / "run"
            measured = polymeter("run", *words, "--output", str(run), "--quiet", cwd=folder)
            shutil.rmtree(run)
            print(f"{n:,} images of 1024x1024, {name:<28} {measured.peak_mb:5.0f} MB   (at most {BUDGET_MB} MB)")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _runs(folder: Path, n: int) -> Iterator[tuple[str, list[str]]]:
    mock = ["--model", "mock"]
    home = image_task(folder / "yaml", n, size=(SIDE_PX, SIDE_PX))
    yield "task YAML", [*mock, "--tasks", str(home / "bench_images.yaml")]
    endpoint = ["--model-args", "is_async=true"]
    yield "task YAML, endpoint", [*mock, *endpoint, "--tasks", str(home / "bench_images.yaml")]
    (home / "utils.py").write_text(_JUDGED_UTILS)
    (home / "bench_judged.yaml").write_text(_JUDGED_TASK)
    judge = ["--judge", "mock", "--judge-args", "answer=A"]
    yield "hooks and a judge", [*mock, *judge, "--tasks", str(home / "bench_judged.yaml")]
    yield "table", [*mock, "--tasks", str(_table(folder / "table", n))]
    yield "generated, scored by a hook", [*mock, "--tasks", str(_drawn(folder / "drawn", n))]
    yield "generated, scored by scenes", ["--model", "shapes", "--tasks", str(_scenes(folder / "scenes", n))]


def _table(folder: Path, n: int) -> Path:
    def line(number: int) -> str:
        return f"{number}\t{base64.b64encode(image_bytes(number, (SIDE_PX, SIDE_PX))).decode()}\tWhat?\tmock"

    return _lines(folder / "bench_table.tsv", "index\timage\tquestion\tanswer", line, n)


def _scenes(folder: Path, n: int) -> Path:
    scene = json.dumps(_SCENE)
    path = folder / "bench_scenes.tsv"
    return _lines(path, "index\tprompt\tscene", lambda number: f"{number}\ta red circle\t{scene}", n)


def _lines(path: Path, header: str, line: Callable[[int], str], n: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        file.write(header + "\n")
        file.writelines(line(number) + "\n" for number in range(n))
    return path


def _drawn(folder: Path, n: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = (json.dumps({"prompt": f"picture {number}"}) + "\n" for number in range(n))
    (folder / "prompts.jsonl").write_text("".join(rows))
    (folder / "utils.py").write_text(_DRAWN_UTILS)
    (folder / "bench_drawn.yaml").write_text(_DRAWN_TASK)
    return folder / "bench_drawn.yaml"


if __name__ == "__main__":
    main()
