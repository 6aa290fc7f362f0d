"""Whole runs of YAML tasks that ask for images: drawn, gone on with, scored again."""

import pytest
from PIL import Image

import polymeter
from polymeter.catalog.trying import check_references
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Output, Response
from polymeter.models.mock import MockBatch
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from tests.tasks.yaml.kit import write, write_rows

N_ROWS = 4
TASK = """\
task: field
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_image
doc_to_text: "a field of grey {{number}}"
generation_kwargs: {n: 2, size: 16x16}
process_results: !function utils.process_results
metric_list:
  - {metric: right, aggregation: mean}
  - {metric: n, aggregation: mean}
"""
CODE = """
def process_results(doc, results):
    greys = {image.getpixel((0, 0))[0] for image in results}
    return {"right": float(greys == {doc["number"]}), "n": len(results)}
"""


class Painter:
    """Draws the grey that a prompt names, and its seed into a corner; remembers what it was asked."""

    def __init__(self, broken=""):
        self.broken = broken
        self.asked = []

    def __call__(self, request):
        self.asked.append(request.text)
        if self.broken and self.broken in request.text:
            raise ModelError("out of paint", kind="permanent")
        grey = int(request.text.rsplit(" ", 1)[1])
        return Response((self._output(grey, request.parameters.seed, request.parameters.size),))

    def _output(self, grey, seed, size):
        image = Image.new("RGB", size, (grey, grey, grey))
        image.putpixel((15, 15), (seed % 256, seed // 256 % 256, seed // 65536 % 256))
        return Output(images=(image,))


@pytest.fixture
def task(tmp_path):
    write_rows(tmp_path, [{"number": 40 * (number + 1)} for number in range(N_ROWS)])
    return write(tmp_path, {"field.yaml": TASK, "utils.py": CODE}) / "field.yaml"


def run(painter, task, folder, **options):
    model = MockBatch(painter, identity={"backend": "painter"})
    return polymeter.evaluate(model, [str(task)], output=folder, **options)


def images(folder):
    return [
        image
        for sample in read_samples(RunFolder(folder), "field")
        for exchange in sample["exchanges"]
        for output in exchange["response"]["outputs"]
        for image in output["images"]
    ]


def test_images_are_scored_by_the_task_and_kept(task, tmp_path):
    done = run(Painter(), task, tmp_path / "run")
    assert (done.value("field", "right"), done.value("field", "n")) == (1.0, 2.0)
    assert len(set(images(tmp_path / "run"))) == 2 * N_ROWS, "every image has a seed of its own"


def test_only_what_failed_is_drawn_again_and_the_images_are_those_of_an_unbroken_run(task, tmp_path):
    painter = Painter(broken="120")
    first = run(painter, task, tmp_path / "run")
    assert (first.n_failed, len(painter.asked)) == (1, 2 * N_ROWS)
    painter.broken = ""
    painter.asked.clear()
    again = run(painter, task, tmp_path / "run")
    assert painter.asked == ["a field of grey 120"] * 2
    assert again.value("field", "right") == 1.0
    run(Painter(), task, tmp_path / "whole")
    assert images(tmp_path / "run") == images(tmp_path / "whole")


def test_a_run_is_scored_again_without_drawing(task, tmp_path):
    painter = Painter()
    run(painter, task, tmp_path / "run")
    n_asked = len(painter.asked)
    (tmp_path / "utils.py").write_text(CODE.replace('doc["number"]', "40"))
    again = polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert again.value("field", "right") == 1 / N_ROWS
    assert len(painter.asked) == n_asked


def test_the_batch_changes_no_image(task, tmp_path):
    run(Painter(), task, tmp_path / "one", batch_size=1)
    run(Painter(), task, tmp_path / "all", batch_size=N_ROWS)
    assert images(tmp_path / "one") == images(tmp_path / "all")


def test_the_gold_answer_of_an_image_scores_full_marks(tmp_path):
    pytest.importorskip("skimage")
    (tmp_path / "images").mkdir()
    for grey in (10, 20):
        Image.new("RGB", (16, 16), (grey, grey, grey)).save(tmp_path / "images" / f"{grey}.png")
    text = TASK.partition("dataset_path")[0] + (
        "dataset_path: imagefolder\ndataset_kwargs: {data_dir: images}\ntest_split: train\n"
        "output_type: generate_image\ndoc_to_text: draw it\ndoc_to_target: image\nmetric_list: [psnr, ssim]\n"
    )
    write(tmp_path, {"gold.yaml": text})
    (found,) = check_references(tmp_path / "gold.yaml")
    assert [(item.metric, item.value, item.verdict) for item in found.results] == [
        ("psnr", 100.0, "full"),
        ("ssim", 1.0, "full"),
    ]


def test_shapes_draws_what_a_yaml_asks_for(task, tmp_path):
    (tmp_path / "field.yaml").write_text(
        TASK.replace("a field of grey {{number}}", "a red circle").replace("16x16", "64x48")
    )
    (tmp_path / "utils.py").write_text(
        "def process_results(doc, results):\n"
        "    return {'right': float(all(p.size == (64, 48) for p in results)), 'n': len(results)}\n"
    )
    done = polymeter.evaluate("shapes", [str(tmp_path / "field.yaml")], output=tmp_path / "run", limit=2)
    assert (done.value("field", "right"), done.value("field", "n")) == (1.0, 2.0)
    assert done.result("field", "right").n == 2


@pytest.mark.parametrize("model", ["ocr", pytest.param("lmms", marks=pytest.mark.needs_system("lmms_eval"))])
def test_a_model_that_cannot_draw_is_refused_before_anything_is_asked(task, tmp_path, model):
    if model == "ocr":
        pytest.importorskip("rapidocr")
    wrapper = """
        from lmms_eval.api.model import lmms
        from lmms_eval.api.registry import register_model

        @register_model("talker")
        class Talker(lmms):
            def generate_until(self, requests):
                raise AssertionError("asked")

            def loglikelihood(self, requests):
                raise AssertionError("asked")
        """
    write(tmp_path / "models", {"talker.py": wrapper})
    named = {"ocr": ("ocr", ""), "lmms": ("lmms:talker", str(tmp_path / "models" / "talker.py"))}
    name, path = named[model]
    with pytest.raises(PlanError, match=r"Task 'field' asks for 'generate_image', which model .* cannot do"):
        polymeter.evaluate(name, [str(task)], model_path=path, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()
