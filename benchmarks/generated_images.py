"""Prints what it costs to keep generated images: 2,000 of 512x512, journaled, as lossless files.

Usage: ``python -m benchmarks.generated_images [N]``. The model hands out photographs with the noise that diffusion
models leave, each with pixels of its own, at no cost worth mentioning. Beside Polymeter stand two plain loops over the
same images: one that only makes them, and one that saves each with Pillow at its fastest level. Then the model computes
for a while before each image, as one on an accelerator keeps one core busy with waiting for it: what storing adds to
that is what it costs off the model's thread. Whole processes, start-up included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Measured, measure, polymeter

DELAY_S = 0.02
"""How long the model that computes takes for an image."""
_TASK = """\
task: bench_generated
output_type: generate_image
dataset_path: json
dataset_kwargs: {data_files: {test: prompts.jsonl}}
test_split: test
doc_to_text: "{{prompt}}"
doc_to_target: prompt
generation_kwargs: {size: [512, 512]}
process_results: !function utils.score
metric_list: [{metric: width, aggregation: mean, higher_is_better: true}]
"""
_UTILS = """\
def score(doc, results):
    image = results[0][0] if isinstance(results[0], list) else results[0]
    return {"width": float(image.width)}
"""
_IMAGES = '''\
"""The images that are kept: photographs, rotated by one column for each number."""
import numpy as np
from PIL import Image

SIDE = 512
N_PHOTOGRAPHS = 8


def photographs():
    made = []
    for seed in range(N_PHOTOGRAPHS):
        generator = np.random.default_rng(seed)
        coarse = Image.fromarray(generator.integers(0, 256, (30, 30, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=np.float32)
        made.append(np.clip(smooth + generator.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8))
    return made


def image(photographs, number):
    pixels = photographs[number % N_PHOTOGRAPHS]
    return Image.fromarray(np.roll(pixels, number // N_PHOTOGRAPHS, axis=1))
'''
_MODEL = """\
import os, time

import polymeter
from images import image, photographs
from polymeter.extend import Output


@polymeter.register_model("bench_camera")
class Camera(polymeter.BatchModel):
    batch_hint = 4
    identity = {"version": 1}

    def __init__(self):
        self.traits = polymeter.ModelTraits(
            family="bench_camera", requests={"generate": False, "loglikelihood": False, "generate_image": True}
        )

    def load(self):
        self.photographs = photographs()

    def respond(self, requests):
        time.sleep(len(requests) * float(os.environ.get("BENCH_DELAY_S", 0)))
        numbers = [int(request.messages[-1].text.split()[-1]) for request in requests]
        return [polymeter.Response((Output(images=(image(self.photographs, number),)),)) for number in numbers]
"""
_LOOP = """\
import os, sys, time
from images import image, photographs

made = photographs()
for number in range(int(sys.argv[1])):
    time.sleep(float(os.environ.get("BENCH_DELAY_S", 0)))
    one = image(made, number)
    if sys.argv[2:]:
        one.save(f"{sys.argv[2]}/{number}.png", compress_level=1)
"""


def main() -> None:
    """Measure both loops and Polymeter, and print one line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generated_images")
    parser.add_argument("n", nargs="?", type=int, default=2_000, metavar="N", help="the number of images")
    n = parser.parse_args().n
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    folder = Path(tempfile.mkdtemp(prefix="polymeter-bench-"))
    os.environ["POLYMETER_CACHE_DIR"] = str(folder / "cache")
    os.environ["HF_HOME"] = str(folder / "hf")
    try:
        costs = measured(folder, n)
        print(f"{n:,} generated images of 512x512, beside a loop that makes them and keeps none")
        for name, one in (("saved by a loop with Pillow", costs.saved), ("stored by Polymeter", costs.stored)):
            _show(name, one, costs.made, n)
        _show(f"stored beside {1000 * DELAY_S:.0f} ms of model each", costs.stored_beside, costs.made_slowly, n)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Costs:
    """The processes that make images, save them with Pillow, and store them with Polymeter; then those that make them
    slowly, and store them meanwhile.
    """

    made: Measured
    saved: Measured
    stored: Measured
    made_slowly: Measured
    stored_beside: Measured


def measured(folder: Path, n: int) -> Costs:
    """Measure all of them in an empty folder."""
    (folder / "prompts.jsonl").write_text("".join(json.dumps({"prompt": f"photo {i}"}) + "\n" for i in range(n)))
    files = {"task.yaml": _TASK, "utils.py": _UTILS, "images.py": _IMAGES, "camera.py": _MODEL, "loop.py": _LOOP}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "saved").mkdir()
    loop = [sys.executable, "loop.py", str(n)]
    words = ("run", "--import", "camera.py", "--model", "bench_camera", "--tasks", "task.yaml", "--quiet", "--output")
    env = {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
    slow = {**env, "BENCH_DELAY_S": str(DELAY_S)}
    return Costs(
        made=measure(loop, cwd=folder),
        saved=measure([*loop, "saved"], cwd=folder),
        stored=polymeter(*words, "run", cwd=folder, env=env),
        made_slowly=measure(loop, cwd=folder, env=slow),
        stored_beside=polymeter(*words, "run-slow", cwd=folder, env=slow),
    )


def _show(name: str, one: Measured, made: Measured, n: int) -> None:
    cpu_ms, wall_ms = (one.cpu_s - made.cpu_s) / n * 1000, (one.wall_s - made.wall_s) / n * 1000
    print(f"  {name:<30} {cpu_ms:5.1f} ms CPU, {wall_ms:5.1f} ms wall each   {one.peak_mb:5.0f} MB", flush=True)


if __name__ == "__main__":
    main()
