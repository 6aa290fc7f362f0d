"""One benchmark, any model: dataset classes on every kind of backend, and benchmarks of the other dialects on wrappers
of ULMEvalKit, none of them changed.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

import polymeter
from tests.conformance.kit import guests_of
from tests.conformance.ulmeval.kit import polymeter_run, results, samples
from tests.helpers.colours import COLOURS, folder_of_colours
from tests.helpers.openai_stub import OpenAIStub, Received, chat, failure, images, png
from tests.helpers.toy_datasets import png_base64, write_table

ANY, KINDS = guests_of("ulmeval") / "ulm_any", guests_of("evalscope") / "adapter_kinds"
BENCHMARK, MODELS = ANY / "benchmark", ANY / "models"
DRAWN = ("red", "blue", "green", "blue")
Modules = dict[str, ModuleType]


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    prompts = [f"a {colour} circle" for colour in DRAWN]
    write_table(folder / "AnyDrawn.tsv", {"index": range(4), "prompt": prompts, "colour": DRAWN})
    cells = [png_base64(colour) for colour in COLOURS]
    questions = ["Which colour is this?"] * len(COLOURS)
    columns = {"index": range(10, 10 + len(COLOURS)), "question": questions, "image": cells, "answer": COLOURS}
    write_table(folder / "AnyAsked.tsv", columns)
    return folder


def run(where: Path, model: str, task: str, *words: str | Path, path: Path | None = None) -> dict[str, Any]:
    """The results of a benchmark's run, all of whose samples have been scored."""
    told = ("--include-path", BENCHMARK, *words)
    assert polymeter_run(where / "run", model, task, *told, path=path) == 0
    assert [sample["status"] for sample in samples(where / "run", task)] == ["ok"] * len(samples(where / "run", task))
    return results(where / "run", task)


# --- a dataset class that wants pictures -----------------------------------------------------------------------------


def test_shapes_draws(tmp_path: Path) -> None:
    assert run(tmp_path, "shapes", "AnyDrawn")["has_colour"] >= 0.5


def test_the_mock_draws(tmp_path: Path) -> None:
    assert set(run(tmp_path, "mock", "AnyDrawn")) == {"has_colour"}
    assert len(samples(tmp_path / "run", "AnyDrawn")) == 4


def test_a_wrapper_draws(tmp_path: Path, guest_modules: Modules) -> None:
    assert run(tmp_path, "ulm:Painter", "AnyDrawn", path=MODELS / "painter.py") == {"has_colour": 1.0}
    assert "AnyDrawn" in guest_modules["painter"].ASKED


def test_a_pipeline_of_diffusers_draws(tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    torch = pytest.importorskip("torch")
    from tests.helpers.diffusion import SIZE, make_pipeline

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = make_pipeline("stable_diffusion", tmp_path / "pipeline")
    run(tmp_path, f"diffusers:{folder}", "AnyDrawn", "--gen-kwargs", "num_inference_steps=1")
    torch.set_num_threads(before)
    (exchange,) = samples(tmp_path / "run", "AnyDrawn")[0]["exchanges"]
    file = exchange["response"]["outputs"][0]["images"][0]
    with Image.open(next((tmp_path / "run/media").rglob(f"*{Path(file).name}*"))) as picture:
        assert picture.size == (SIZE, SIZE)


def test_an_endpoint_draws(tmp_path: Path) -> None:
    def draw(received: Received) -> Any:
        if not received.raw:
            return failure("no listing", 404)
        colour = next(word for word in received.body["prompt"].split() if word in DRAWN)
        return images(*[png(colour)] * received.body.get("n", 1))

    with OpenAIStub(draw) as stub:
        told = f"base_url={stub.base_url},api=images"
        found = run(tmp_path, "openai:gpt-image-1", "AnyDrawn", "--model-args", told)
        assert {received.path for received in stub.received if received.raw} == {"/v1/images/generations"}
    assert found == {"has_colour": 1.0}


# --- a dataset class that asks about pictures ------------------------------------------------------------------------


def test_a_wrapper_answers(tmp_path: Path, guest_modules: Modules) -> None:
    found = run(tmp_path, "ulm:Reader", "AnyAsked", path=MODELS / "reader.py")
    assert found == {"accuracy": 100.0, "rows": 6}
    assert "AnyAsked" in guest_modules["reader"].ASKED


@pytest.mark.needs_system("lmms_eval")
def test_a_wrapper_of_lmms_eval_answers(tmp_path: Path) -> None:
    assert run(tmp_path, "lmms", "AnyAsked", path=MODELS / "seer.py") == {"accuracy": 100.0, "rows": 6}


def test_an_endpoint_answers(tmp_path: Path) -> None:
    names = {(255, 0, 0): "Red", (0, 0, 255): "Blue", (0, 128, 0): "Green"}

    def look(received: Received) -> Any:
        if not received.raw:
            return failure("no listing", 404)
        picture, text = received.body["messages"][-1]["content"]
        assert text["text"] == "Which colour is this?"
        data = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
        return chat(names[Image.open(io.BytesIO(data)).convert("RGB").getpixel((0, 0))])

    with OpenAIStub(look) as stub:
        found = run(tmp_path, "openai:stub", "AnyAsked", "--model-args", f"base_url={stub.base_url}")
    assert found == {"accuracy": 100.0, "rows": 6}


def test_a_model_of_this_machine_answers(tmp_path: Path, data_folder: Path) -> None:
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from datasets import Dataset

    file = Path(polymeter.__file__).parent / "library/demo_vlm/data/generate.parquet"
    rows = list(Dataset.from_parquet(str(file)).select(range(8)))
    cells = []
    for row in rows:
        buffer = io.BytesIO()
        row["image"].save(buffer, "PNG")
        cells.append(base64.b64encode(buffer.getvalue()).decode())
    columns = {"index": range(len(rows)), "image": cells}
    columns |= {name: [row[name] for row in rows] for name in ("question", "answer")}
    write_table(data_folder / "AnyAsked.tsv", columns)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    found = run(tmp_path, "tiny_vlm", "AnyAsked", "--gen-kwargs", "max_new_tokens=4")
    torch.set_num_threads(before)
    assert found["rows"] == len(rows)
    assert found["accuracy"] >= 50


# --- benchmarks of other dialects on wrappers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "prompt"), [("Reader", "Which colour?"), ("OwnWords", "In my own words: Which colour?")]
)
def test_a_yaml_task_on_a_wrapper(tmp_path: Path, guest_modules: Modules, name: str, prompt: str) -> None:
    words = ("--include-path", folder_of_colours(tmp_path / "tasks"))
    assert polymeter_run(tmp_path / "run", f"ulm:{name}", "colours", *words, path=MODELS / "reader.py") == 0
    assert results(tmp_path / "run", "colours") == {"exact_match": 1.0}
    assert "colours" in guest_modules["reader"].ASKED
    parts = samples(tmp_path / "run", "colours")[0]["exchanges"][0]["request"]["messages"][0]["parts"]
    assert parts[1] == {"text": prompt}


@pytest.mark.needs_system("evalscope")
def test_an_adapter_that_wants_pictures_on_a_wrapper(tmp_path: Path, guest_modules: Modules) -> None:
    words = ("--include-path", KINDS)
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "painted", *words, path=MODELS / "painter.py") == 0
    assert results(tmp_path / "run", "painted") == {"Width": 24.0}
    assert "painted" in guest_modules["painter"].ASKED


def test_a_yaml_task_that_wants_pictures_on_a_wrapper(tmp_path: Path, guest_modules: Modules) -> None:
    words = ("--include-path", ANY / "yaml")
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "any_painted", *words, path=MODELS / "painter.py") == 0
    assert results(tmp_path / "run", "any_painted") == {"right": pytest.approx(2 / 3)}, "yellow is none of its paints"
    assert "any_painted" in guest_modules["painter"].ASKED


def test_the_same_pictures_whatever_the_batch(tmp_path: Path) -> None:
    found = []
    for size in (1, 3):
        words = ("--include-path", BENCHMARK, "--batch-size", size)
        assert polymeter_run(tmp_path / f"run{size}", "shapes", "AnyDrawn", *map(str, words)) == 0
        (exchanges, *_) = [sample["exchanges"] for sample in samples(tmp_path / f"run{size}", "AnyDrawn")]
        found.append([output["images"] for output in exchanges[0]["response"]["outputs"]])
    assert found[0] == found[1]
