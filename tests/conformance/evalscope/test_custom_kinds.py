"""Models of users answer every kind of output, and benchmarks of images run with a model and without."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError, ScoreError
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.model_names import choose_model
from polymeter.interop.evalscope.models.custom import CustomModel
from polymeter.interop.evalscope.shim.evalscope.run import run_task
from tests.conformance.kit import guests_of
from tests.helpers.openai_stub import OpenAIStub, images, png

KINDS = guests_of("evalscope") / "adapter_kinds"
# As EvalScope's manual has it: the data names images that were made elsewhere.
DRAWN = """\
import json
import os

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import Metric, mean, metric_registry


class Lightness:
    def __call__(self, images, texts):
        import torch
        from PIL import Image, ImageStat

        scores = []
        for image in images:
            with Image.open(image) as opened:
                scores.append(torch.tensor([ImageStat.Stat(opened.convert('L')).mean[0]]))
        return scores


@Benchmark.register(
    name='drawn',
    dataset_id='drawn',
    model_adapter=OutputType.IMAGE_GENERATION,
    output_types=[OutputType.IMAGE_GENERATION],
    subset_list=['default'],
    metric_list=['Lightness'],
    eval_split='test',
)
class DrawnAdapter(DataAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        metric_registry.register(Metric(name='Lightness', object=Lightness))
        self.metrics = {name: metric_registry.get(name).object() for name in self.metric_list}

    def load(self, **kwargs):
        with open(self.dataset_id) as file:
            return {'example': {'test': [json.loads(line) for line in file]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(prompt=input_d.get('prompt', ''), id=input_d.get('id', 0))

    def get_gold_answer(self, input_d):
        return input_d.get('prompt', '')

    def parse_pred_result(self, result, raw_input_d=None, eval_type='checkpoint'):
        return result or raw_input_d.get('image_path', '')

    def match(self, gold, pred):
        return {name: scorer(images=[pred], texts=[gold])[0][0].cpu().item() for name, scorer in self.metrics.items()}

    def compute_metric(self, review_res_list, **kwargs):
        items = super().compute_dict_metric(review_res_list, **kwargs)
        return [{'metric_name': name, 'score': mean(values), 'num': len(values)} for name, values in items.items()]
"""


class Answering(CustomModel):
    """Gives the same content each time; remembers what it was asked."""

    def __init__(self, *contents: Any) -> None:
        super().__init__({"model_id": "mine"})
        self.contents = contents
        self.calls: list[dict[str, Any]] = []

    def predict(self, prompts: list[Any], **kwargs: Any) -> list[dict[str, Any]]:
        self.calls.append({"prompts": prompts, **kwargs})
        return [{"choices": [{"message": {"content": content}} for content in self.contents]} for _ in prompts]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from PIL import Image

    place = tmp_path / "benchmarks/drawn"
    place.mkdir(parents=True)
    (place / "drawn_adapter.py").write_text(DRAWN)
    for name, level in (("dark", 10), ("light", 200)):
        Image.new("L", (4, 4), level).save(tmp_path / f"{name}.png")
    records = [{"id": n, "prompt": name, "image_path": f"{name}.png"} for n, name in enumerate(("dark", "light"))]
    (tmp_path / "example.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "bare.jsonl").write_text('{"id": 0, "prompt": "dark"}')
    monkeypatch.setenv("POLYMETER_INCLUDE_PATH", f"{tmp_path / 'benchmarks'}:{KINDS}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drawn(**fields: Any) -> dict[str, Any]:
    data = {"drawn": {"dataset_id": fields.pop("data", "example.jsonl")}}
    return {"model_task": "image_generation", "datasets": ["drawn"], "dataset_args": data, **fields}


def needs_torch() -> None:
    if not find_spec("torch"):
        pytest.skip("torch is not installed")


def test_images_that_were_made_elsewhere_are_scored_without_a_model(here: Path) -> None:
    needs_torch()
    report = run_task(drawn(model_id="T2I-Model"))["drawn"]
    assert (report.score, report.model_name, report.metrics[0].num) == (105, "T2I-Model", 2)
    assert [subset.name for subset in report.metrics[0].categories[0].subsets] == ["example"]


def test_without_a_model_and_without_an_image_nothing_is_scored_and_the_reason_is_told(here: Path) -> None:
    needs_torch()
    with pytest.raises(ScoreError, match=r"no image to score: .*'image_path'"):
        run_task(drawn(model_id="T2I-Model", data="bare.jsonl"))


@pytest.mark.parametrize("content", ["path", "image", "empty"])
def test_a_users_model_answers_with_images(content: str, here: Path) -> None:
    needs_torch()
    from PIL import Image

    given = {"path": str(here / "light.png"), "image": Image.new("RGB", (4, 4), (200,) * 3), "empty": ""}[content]
    mine = Answering(given)
    report = run_task(drawn(model=mine, eval_type="custom", generation_config={"height": 64, "width": 32}))["drawn"]
    assert report.score == (105 if content == "empty" else 200)
    assert mine.calls[0]["infer_cfg"] == {"height": 64, "width": 32}
    assert {call["origin_inputs"][0]["raw_input"]["image_path"] for call in mine.calls} == {"dark.png", "light.png"}


@pytest.mark.parametrize(("mode", "opened"), [("RGBA", "RGBA"), ("LA", "RGBA"), ("P", "RGB"), ("L", "RGB")])
def test_transparent_parts_of_an_image_reach_the_metric(here: Path, mode: str, opened: str) -> None:
    from PIL import Image

    from polymeter.interop.evalscope.models.custom import _opened

    Image.new(mode, (4, 4)).save(here / "clear.png")
    assert _opened(here / "clear.png").mode == opened


def test_an_image_that_cannot_be_opened_is_a_failure(here: Path) -> None:
    needs_torch()
    with pytest.raises(ScoreError, match=r"Opening the image 'nowhere\.png'"):
        run_task(drawn(model=Answering("nowhere.png"), eval_type="custom"))


def test_a_users_model_answers_with_log_probabilities(here: Path) -> None:
    mine = Answering([-3.0, -1.0, -2.0, -9.0])
    reports = run_task({"model": mine, "eval_type": "custom", "datasets": ["continued"]})
    assert reports["continued"].score == 1
    (call,) = mine.calls
    assert call["prompts"] == [("The sky is ", "green")]
    assert len(call["origin_inputs"][0]["data"]) == 4
    (line,) = next(Path("outputs").glob("*/predictions/mine/*.jsonl")).read_text().splitlines()
    assert json.loads(line)["choices"][0]["message"]["content"] == [-3.0, -1.0, -2.0, -9.0]


def test_a_log_probability_that_is_not_a_number_is_a_failure(here: Path) -> None:
    with pytest.raises(ScoreError, match="Nothing was scored"):
        run_task({"model": Answering([float("nan")] * 4), "eval_type": "custom", "datasets": ["continued"]})


def test_a_local_pipeline_draws(here: Path) -> None:
    needs_torch()
    pytest.importorskip("diffusers")
    from tests.helpers.diffusion import SIZE, make_pipeline

    folder = make_pipeline("stable_diffusion", here / "tiny-diffusion")
    told = drawn(
        model=str(folder),
        model_args={"pipeline_cls": "StableDiffusionPipeline", "use_safetensors": True, "torch_dtype": "torch.float32"},
        generation_config={"height": SIZE, "width": SIZE, "num_inference_steps": 2, "guidance_scale": 2.0},
        limit=1,
    )
    report = run_task(told)["drawn"]
    assert report.model_name == "tiny-diffusion"
    assert 0 < report.score < 255


def test_an_endpoint_draws(here: Path) -> None:
    needs_torch()
    with OpenAIStub(lambda received: images(png((50, 50, 50), (4, 4)))) as stub:
        address = f"{stub.base_url}/images/generations"
        report = run_task(drawn(model="painter", eval_type="service", api_url=address))["drawn"]
        assert {received.path for received in stub.received if received.raw} == {"/v1/images/generations"}
    assert report.score == 50


def test_names_of_a_pipelines_arguments() -> None:
    told = {"pipeline_cls": "FluxPipeline", "variant": "fp16", "use_safetensors": True, "precision": "torch.bfloat16"}
    config = TaskConfig(model="org/flux", model_task="image_generation", model_args={**told, "device_map": "cuda:1"})
    spec: Any = choose_model(config).model
    assert (spec.backend, spec.name) == ("diffusers", "org/flux")
    assert spec.args == {"pipeline": "FluxPipeline", "variant": "fp16", "dtype": "bfloat16", "device": "cuda:1"}
    with pytest.raises(PlanError, match="takes no chat_template"):
        choose_model(TaskConfig(model="org/flux", model_task="image_generation", chat_template="x"))
