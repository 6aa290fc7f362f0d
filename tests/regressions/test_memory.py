"""Images that were scored are gone; those of samples in progress are bounded.

Each test runs an evaluation in a process of its own, with the collector of cycles turned off: what a run lets go of is
then freed by counting references alone, and whatever hangs in a cycle stays and is counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

N_SAMPLES = 60
SIDE_PX = 1024
_MOST_LOADED = 44
"""Decoded images at a time: those of the budget (96 MB are 24 of these), of chunks that have begun, and copies."""
_MOST_GROWTH_MB = {"yaml": 80, "table": 80, "large table": 110, "scenes": 200, "judged": 180, "judged pictures": 190}
"""Over what a small evaluation of the same kind takes. One image of each sample, if they stayed, is 190 MB more."""
_MOST_PREPARING_MB = 240
"""While a Parquet file of 300 MB is prepared. Reading it ahead takes that much more."""
_MMAP_FROM_BYTES = "131072"
"""glibc raises this limit as it runs. Held where it begins, pixels that were freed leave the process at once, and the
same code takes 10 MB more or less; otherwise 50 MB, by how the heap happens to be cut up.
"""

_CHILD = '''
import base64, gc, io, json, os, sys, threading, weakref
from pathlib import Path

from PIL import Image, ImageDraw

import polymeter
from polymeter import BatchModel, ModelTraits, Output, Response
from polymeter.extend import ALL_READY

kind, n_rows, full_side, work = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
born = {}
first = Image.Image.__init__


def remember(self, *args):
    first(self, *args)
    born[id(self)] = weakref.ref(self)


Image.Image.__init__ = remember


def loaded(images=None):
    """How many images have their pixels in memory."""
    if images is None:
        images = [image for reference in list(born.values()) if (image := reference()) is not None]
    return sum(vars(image).get("_im") is not None or vars(image).get("im") is not None for image in images)


class Model(BatchModel):
    """Answers, and draws."""

    traits = ModelTraits(
        family="test",
        requests={"generate": True, "generate_image": True},
        modalities={"text": True, "image": True},
    )
    identity = {"backend": "test"}
    batch_hint = ALL_READY
    most = 0

    def __init__(self, side):
        self.side = side

    def respond(self, requests):
        answers = [self.answer(request) for request in requests]
        Model.most = max(Model.most, loaded())
        return answers

    def answer(self, request):
        for image in request.images():
            image.open()
        if type(request.parameters).__name__ != "GenerateImage":
            return Response((Output(text="A" if "grade" in request.text else "Good. Rating: [[7]]"),))
        side = self.side
        drawn = Image.new("RGB", (side, side), "white")
        ImageDraw.Draw(drawn).ellipse((side // 4, side // 4, side // 2, side // 2), fill="red")
        drawn.putpixel((hash(request.text) % side, 0), (0, 0, 255))
        return Response((Output(images=(drawn,)),))


def jpeg(number, side):
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (number % 256, 90, 10)).save(buffer, "JPEG")
    return buffer.getvalue()


TASK = """task: seen
dataset_path: parquet
dataset_kwargs: {data_files: {test: rows.parquet}}
test_split: test
doc_to_visual: VISUAL
doc_to_text: "{{q}}"
doc_to_target: a
SCORE
"""
EXACT = "metric_list: [{metric: exact_match}]"
HOOK = "process_results: !function utils.score\\nmetric_list: [{metric: m, aggregation: mean, higher_is_better: true}]"
UTILS = """
def visual(doc):
    return [doc["image"].convert("RGB")]


def score(doc, results):
    from polymeter.judge import LLMJudge

    judge = LLMJudge()
    return {"m": judge.get_score(judge(judge.build_prompt(results[0], doc["a"], doc["q"])))}
"""


def parquet(home, n, side):
    import pyarrow as pa
    import pyarrow.parquet as pq

    shape = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    images = [jpeg(number, side) for number in range(60)]
    if kind == "broken":
        images = [image[:900] for image in images]
    if kind == "photographs":  # as large; decoders ignore what follows an image
        images = [image + os.urandom(200_000) for image in images]
    cells = [{"bytes": images[number % 60], "path": None} for number in range(n)]
    table = pa.table({"image": pa.array(cells, shape), "q": ["x"] * n, "a": ["A"] * n})
    text = {"dtype": "string", "_type": "Value"}
    features = {"info": {"features": {"image": {"_type": "Image"}, "q": text, "a": text}}}
    table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
    # Without a dictionary, in which equal images would be written once.
    pq.write_table(table, home / "rows.parquet", row_group_size=100, use_dictionary=False)
    visual, score = ("!function utils.visual", HOOK) if kind == "judged" else ("image", EXACT)
    (home / "utils.py").write_text(UTILS)
    (home / "seen.yaml").write_text(TASK.replace("VISUAL", visual).replace("SCORE", score))


def table(home, n, side):
    scene = json.dumps({"include": [{"class": "circle", "count": 1, "color": "red"}]})
    images = "index\\timage\\tquestion\\tanswer"
    large = os.urandom(200_000) if kind == "large table" else b""  # decoders ignore what follows an image
    cells = (base64.b64encode(jpeg(number, side) + large).decode() for number in range(n))
    rows = [images] + [f"{number}\\t{cell}\\tq\\tA" for number, cell in enumerate(cells)]
    lines = {
        "table": rows,
        "large table": rows,
        "scenes": ["index\\tprompt\\tscene"] + [f"{number}\\tcircle {number}\\t{scene}" for number in range(n)],
        "judged pictures": ["index\\tprompt"] + [f"{number}\\tcircle {number}" for number in range(n)],
    }[kind]
    (home / "seen.tsv").write_text("\\n".join([*lines, ""]))


def status(name):
    return int(Path("/proc/self/status").read_text().split(name)[1].split()[0]) / 1000


def evaluate(home, n, side):
    home.mkdir(exist_ok=True)
    maker = os.fork()  # so that memory which making the data has taken is not there to be used again
    if maker == 0:
        make = parquet if kind in ("yaml", "judged", "broken", "photographs") else table
        make(home, n, side)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(maker, 0)[1] == 0
    (task,) = home.glob("seen.*")
    judge = {"judge": Model(side)} if kind.startswith("judged") else None
    before = status("VmRSS:")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    places = {"output": home / "out", "cache_dir": home / "cache"}
    done = polymeter.evaluate(Model(side), str(task), roles=judge, limit=60, **places)
    return done, status("VmHWM:") - before


gc.disable()
gc.enable = lambda: None  # a run may change how often cycles are collected: here, never
import datasets, pandas, pyarrow.parquet

evaluate(work / "small", 2, 16)  # whatever a run imports is there from here on
Model.most = 0
done, growth_mb = evaluate(work, n_rows, full_side)
left = [item for item in gc.get_objects() if isinstance(item, Image.Image)]
print(json.dumps({"status": done.status, "failed": done.n_failed, "end": loaded(left), "most": Model.most,
                  "growth_mb": growth_mb}))
'''


def _measured(home: Path, kind: str, n_rows: int = N_SAMPLES) -> dict[str, Any]:
    child = home / "child.py"
    child.write_text(_CHILD)
    words = [sys.executable, str(child), kind, str(n_rows), str(SIDE_PX), str(home)]
    env = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(home / "hf"),
        "POLYMETER_CACHE_DIR": str(home / "cache"),
        "MALLOC_MMAP_THRESHOLD_": _MMAP_FROM_BYTES,
    }
    run = subprocess.run(words, cwd=home, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts memory as Linux does")
@pytest.mark.parametrize("kind", ["yaml", "table", "scenes", "judged", "judged pictures"])
def test_images_that_were_scored_do_not_stay_in_memory(tmp_path: Path, kind: str) -> None:
    found = _measured(tmp_path, kind)
    assert (found["status"], found["failed"]) == ("complete", 0)
    assert found["end"] == 0
    assert found["most"] <= _MOST_LOADED
    assert found["growth_mb"] <= _MOST_GROWTH_MB[kind]


def test_images_that_could_not_be_decoded_do_not_stay_in_memory(tmp_path: Path) -> None:
    found = _measured(tmp_path, "broken")
    assert found["failed"] == N_SAMPLES
    assert found["end"] == 0


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts memory as Linux does")
def test_a_parquet_file_is_not_held_in_memory_when_it_is_prepared(tmp_path: Path) -> None:
    found = _measured(tmp_path, "photographs", n_rows=1_500)
    assert (found["status"], found["failed"]) == ("complete", 0)
    assert found["growth_mb"] <= _MOST_PREPARING_MB


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts memory as Linux does")
def test_the_images_of_a_large_table_are_not_held_in_memory(tmp_path: Path) -> None:
    """A table of 270 MB, of which pandas takes twice that to read it whole."""
    found = _measured(tmp_path, "large table", n_rows=1_000)
    assert (found["status"], found["failed"]) == ("complete", 0)
    assert found["end"] == 0
    assert found["most"] <= _MOST_LOADED
    assert found["growth_mb"] <= _MOST_GROWTH_MB["large table"]
