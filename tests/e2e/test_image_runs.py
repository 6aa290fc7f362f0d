"""Whole runs that generate images: kept with prompt, seed and settings; killed and resumed; from a bad endpoint."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

import polymeter
from polymeter.core.request import Output, Response
from polymeter.core.stored_image import StoredImage
from polymeter.models.mock import MockBatch
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.media import media_path
from tests.e2e.kit import polymeter as command
from tests.helpers.fault_server import FaultServer
from tests.helpers.fault_weather import Weather

ROOT = Path(__file__).parents[2]
N_ROWS = 12
UNSCORED = ("--dialect-option", "tsv.predict_only=true")
DATASET_CLASS = """
import numpy as np
from .text_base import TextBaseDataset
from ..smp import *


class Drawn(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'drawn': 'drawn.tsv'}
    NUM_GENERATIONS = 2
    METRICS = {'right': True, 'shade': True}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        numbers = [np.asarray(image)[0, 0] for image in prediction]
        wanted = int(line['prompt'].rsplit(' ', 1)[1])
        return {'right': all(number[0] == wanted for number in numbers), 'shade': float(np.mean(numbers))}
"""

ADAPTER = """
from PIL import Image
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name='drawn',
    dataset_id='example/drawn',
    model_adapter=OutputType.IMAGE_GENERATION,
    output_types=[OutputType.IMAGE_GENERATION],
    metric_list=['AverageAccuracy'],
    eval_split='test',
)
class DrawnAdapter(DataAdapter):

    def load(self, **kwargs):
        return {'default': {'test': [{'prompt': f'picture number {n}'} for n in range(12)]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d['prompt'])

    def get_gold_answer(self, input_d):
        return input_d['prompt']

    def match(self, gold, pred):
        with Image.open(pred) as picture:
            return float(picture.getpixel((0, 0))[0] == int(gold.rsplit(' ', 1)[1]))
"""


def table(folder: Path, n_rows: int = N_ROWS) -> Path:
    """A TSV of prompts that end in their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["index\tprompt", *(f"{number}\tpicture number {number}" for number in range(n_rows))]
    (folder / "drawn.tsv").write_text("\n".join(lines) + "\n")
    return folder / "drawn.tsv"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A dataset class over a TSV; its scores rest on the pixels."""
    folder = tmp_path_factory.mktemp("benchmark")
    table(folder / "LMUData")
    (folder / "drawn.py").write_text(DATASET_CLASS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMUData", str(folder / "LMUData"))
        yield folder / "drawn.py"


def run_child(file: Path, run: Path, log: Path, instant: str = "none", occurrence: int = 1) -> int:
    words = (str(file), "drawn", str(run), str(log), instant, str(occurrence))
    done = subprocess.run(
        [sys.executable, "-m", "tests.e2e.image_child", *words],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def drawn(log: Path) -> Counter[str]:
    """Every drawing that was asked for: prompt and seed."""
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def answered(run: Path) -> dict[str, list[str]]:
    """Prompt and seed of each image in the journal, and its file."""
    journal = Journal(run / "journal.db")
    found: dict[str, list[str]] = {}
    for _, _, _, request, response in journal.exchanges("drawn"):
        asked = json.loads(request)
        prompt = asked["messages"][0]["parts"][0]["text"]
        outputs = json.loads(response)["outputs"]
        for seed, output in zip(asked["ask"]["seeds"], outputs, strict=True):
            found[f"{prompt}\t{seed}"] = output["images"]
    journal.close()
    return found


def pixels(run: Path, file: str) -> tuple[str, tuple[int, int], bytes]:
    """What an image of a run shows."""
    with pil.open(media_path(run / "media", file)) as image:
        return image.mode, image.size, image.tobytes()


@pytest.fixture(scope="module")
def whole(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody killed."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_child(benchmark, folder / "run", folder / "log") == 0
    assert set(drawn(folder / "log").values()) == {1}
    return folder / "run"


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize(
    ("instant", "occurrence"),
    [
        ("before_media", 1),
        ("after_media", 8),
        ("before_answers", 3),
        ("after_answers", 2),
        ("mid_transaction", 5),
        ("after_end", 2),
        ("before_reduce", 1),
        ("mid_results", 1),
    ],
)
def test_killed_and_resumed(benchmark: Path, whole: Path, tmp_path: Path, instant: str, occurrence: int) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    assert run_child(benchmark, run, log, instant, occurrence) == -signal.SIGKILL
    known = answered(run)
    before = drawn(log)
    log.unlink()
    assert run_child(benchmark, run, log) == 0
    after = drawn(log)
    assert set(before.values()) == {1}
    assert not known.keys() & after.keys(), "what the journal holds is not drawn again"
    assert set(after.values()) <= {1}
    assert (run / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    assert answered(run) == answered(whole), "the same images"
    for (file,) in answered(run).values():
        assert pixels(run, file) == pixels(whole, file), "ISA-L may compress the same pixels differently"


@pytest.mark.needs_system("evalscope")
@pytest.mark.parametrize(("instant", "occurrence"), [("after_media", 5), ("after_answers", 2), ("mid_transaction", 9)])
def test_an_adapters_run_is_killed_and_resumed(tmp_path: Path, instant: str, occurrence: int) -> None:
    file = tmp_path / "drawn_adapter.py"
    file.write_text(ADAPTER)
    run, log, whole = tmp_path / "run", tmp_path / "log", tmp_path / "whole"
    assert run_child(file, whole, tmp_path / "other") == 0
    assert run_child(file, run, log, instant, occurrence) == -signal.SIGKILL
    known = answered(run)
    log.unlink()
    assert run_child(file, run, log) == 0
    assert not known.keys() & drawn(log).keys()
    assert (run / "results.json").read_bytes() == (whole / "results.json").read_bytes()
    assert json.loads((run / "results.json").read_text())["tasks"]["drawn"]["results"][0]["value"] == 1
    assert answered(run) == answered(whole)


@pytest.mark.needs_system("ulmeval")
def test_every_image_stands_with_its_prompt_seed_and_settings(whole: Path) -> None:
    samples = list(read_samples(RunFolder(whole), "drawn"))
    assert len(samples) == N_ROWS
    for number, sample in enumerate(samples):
        assert len(sample["exchanges"]) == 2
        for exchange in sample["exchanges"]:
            asked, (output,) = exchange["request"], exchange["response"]["outputs"]
            assert asked["messages"][0]["parts"] == [{"text": f"picture number {number}"}]
            assert asked["ask"].keys() == {"kind", "seeds"}
            (seed,) = asked["ask"]["seeds"]
            with pil.open(media_path(whole / "media", output["images"][0])) as picture:
                assert picture.getpixel((3, 3)) == (number, seed & 0xFF, seed >> 8 & 0xFF)
        assert {score["metric"]: score["value"] for score in sample["scores"]}["right"] in (1, 1.0, True)
    results = json.loads((whole / "results.json").read_text())["tasks"]["drawn"]["results"]
    assert next(result["value"] for result in results if result["metric"] == "right") == 1
    assert "data:image" in (whole / "report.html").read_text()


@pytest.mark.needs_system("ulmeval")
def test_an_image_that_was_deleted_is_drawn_again_where_it_is_needed(benchmark: Path, tmp_path: Path) -> None:
    run, log = tmp_path / "run", tmp_path / "log"
    assert run_child(benchmark, run, log) == 0
    results = (run / "results.json").read_bytes()
    name, (file,) = next(iter(answered(run).items()))
    media_path(run / "media", file).unlink()
    with sqlite3.connect(run / "journal.db") as journal:  # as if it had been killed before this sample ended
        journal.execute("DELETE FROM samples WHERE sample=0")
    log.unlink()
    assert run_child(benchmark, run, log) == 0
    assert drawn(log)[name] == 1
    assert len(drawn(log)) == 1, "the image that is gone, and no other"
    assert media_path(run / "media", file).is_file()
    assert (run / "results.json").read_bytes() == results
    samples = list(read_samples(RunFolder(run), "drawn"))
    assert all(len(sample["exchanges"]) == 2 for sample in samples)


@pytest.mark.needs_system("ulmeval")
def test_scores_see_the_stored_image_and_no_pixels_are_held(benchmark: Path, tmp_path: Path) -> None:
    seen = []

    def draw(request: Any) -> Response:
        return Response((Output(images=(pil.new("RGBA", (4, 4), (1, 2, 3, 4)),)),))

    file = tmp_path / "drawn.py"
    look = "\n        from builtins import SEEN\n        SEEN.extend(prediction)\n        return {'one': 1}\n"
    file.write_text(DATASET_CLASS.partition("        numbers =")[0].rstrip() + look)
    import builtins

    builtins.SEEN = seen  # type: ignore[attr-defined]
    try:
        model = MockBatch(draw, identity={"backend": "here"})
        run = polymeter.evaluate(model, ["drawn"], include_paths=(file,), output=tmp_path / "run", limit=2)
    finally:
        del builtins.SEEN  # type: ignore[attr-defined]
    assert run.exit_code == 0
    assert [type(picture) for picture in seen] == [StoredImage] * 4
    assert {picture.getpixel((0, 0)) for picture in seen} == {(1, 2, 3, 4)}
    assert len(list((tmp_path / "run" / "media").rglob("*.png"))) == 1, "equal pixels are kept once"


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ((Output(text="I cannot draw."),), "text and no image: 'I cannot draw.'"),
        ((Output(images=("/tmp/a.png",)),), "gave a str in place of an image"),  # type: ignore[arg-type]
        ((Output(images=(pil.new("F", (2, 2)),)),), "mode 'F' cannot be stored without loss"),
        ((Output(images=(pil.new("RGB", (2, 2)),)),) * 2, "gave 2 outputs where 1 image(s) were asked for"),
    ],
)
def test_what_is_no_image_fails_its_sample_and_says_what_came(
    benchmark: Path, tmp_path: Path, outputs: tuple[Output, ...], words: str
) -> None:
    good = (Output(images=(pil.new("RGB", (2, 2)),)),)
    model = MockBatch(lambda asked: Response(outputs if asked.text.endswith(" 1") else good))
    run = polymeter.evaluate(model, ["drawn"], include_paths=(benchmark,), output=tmp_path / "run", limit=3)
    assert run.n_failed == 1
    statuses = [sample["status"] for sample in read_samples(run.folder, "drawn")]
    assert statuses == ["ok", "error", "ok"]
    assert words in list(read_samples(run.folder, "drawn"))[1]["error"]["message"]


def test_an_endpoint_with_a_bad_day_draws_every_image(tmp_path: Path) -> None:
    weather = Weather(shares={"rate_limit": 0.1, "internal": 0.1, "reset": 0.1, "truncated": 0.05})
    table(tmp_path)
    with FaultServer(weather) as server:
        model = ("--model", "openai:fault", "--model-args", f"base_url={server.base_url},api=images")
        done = command("run", *model, "--tasks", "drawn.tsv", "--output", "run", "--seed", "3", *UNSCORED, cwd=tmp_path)
        stormy = dict(server.stats.faults)
    assert done.returncode < 2, done.stderr
    assert stormy
    samples = list(read_samples(RunFolder(tmp_path / "run"), "drawn"))
    asked = [exchange for sample in samples for exchange in sample["exchanges"]]
    assert len(asked) == N_ROWS
    assert len({exchange["response"]["outputs"][0]["images"][0] for exchange in asked}) == N_ROWS


def test_a_tsv_of_edits_shows_input_and_output(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pil.new("RGB", (6, 4), "red").save(buffer, "PNG")
    cell = base64.b64encode(buffer.getvalue()).decode()
    (tmp_path / "edits.tsv").write_text(f"index\timage\tprompt\n0\t{cell}\tmake it blue\n")
    done = command("run", "--model", "mock", "--tasks", "edits.tsv", "--output", "run", *UNSCORED, cwd=tmp_path)
    assert done.returncode < 2, done.stderr
    (sample,) = read_samples(RunFolder(tmp_path / "run"), "edits")
    (exchange,) = sample["exchanges"]
    kinds = [next(iter(part)) for part in exchange["request"]["messages"][0]["parts"]]
    assert sorted(kinds) == ["image", "text"]
    assert len(exchange["response"]["outputs"][0]["images"]) == 1
