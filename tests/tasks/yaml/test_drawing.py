"""``generate_image``: asking for images, comparing them, and what is refused."""

import math
from pathlib import Path

import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.request import GenerateImage, Output, Request, Response
from polymeter.core.task import ReduceContext, Rollout, SampleStatus, ScoredRow
from polymeter.tasks.yaml import FORMAT
from tests.tasks.yaml.kit import ask, catalog, open_in, opened, write, write_rows

pytest.importorskip("skimage")

HEAD = """\
task: t
dataset_path: imagefolder
dataset_kwargs: {data_dir: images}
test_split: train
output_type: generate_image
doc_to_text: prompt
"""
EDIT = HEAD + "doc_to_visual: input\n"


def image(grey, size=(16, 16)):
    return Image.new("RGB", size, (grey, grey, grey))


def folder_of_images(home, n=2):
    images = home / "images"
    images.mkdir(parents=True)
    rows = []
    for i in range(n):
        image(10 * i).save(images / f"{i}_in.png")
        image(100 + i).save(images / f"{i}_out.png")
        files = {"input_file_name": f"{i}_in.png", "wanted_file_name": f"{i}_out.png"}
        rows.append({**files, "prompt": f"make it light {i}", "caption": f"a grey field {i}"})
    write_rows(images, rows, "metadata.jsonl")


def task_of(home, text, **kwargs):
    if not (home / "images").exists():
        folder_of_images(home)
    write(home, {"t.yaml": text})
    return open_in(home, **kwargs)


def drawn(*images):
    return Response(tuple(Output(images=(item,)) for item in images))


def scored(task, index, *responses):
    return task.score(task.samples[index], Rollout(responses))


def draw_rows(task, images):
    """Rows as the journal would hold them, from one image for each sample."""
    rows = []
    for index, item in enumerate(images):
        response = drawn(item)
        score = scored(task, index, response)
        rows.append(
            ScoredRow(str(index), index, (), None, SampleStatus.OK, score, lambda response=response: (response,))
        )
    return rows


def problems(home):
    found = catalog(home)
    return [problem.message for problem in FORMAT.check(found.get("t"), found)]


# --- asking ----------------------------------------------------------------------------------------------------------


def test_a_prompt_with_its_image_is_asked_for_images(tmp_path):
    text = (
        EDIT + "doc_to_target: wanted\nmetric_list: [psnr]\ngeneration_kwargs: {size: 32x24, negative_prompt: noise}\n"
    )
    task = task_of(tmp_path, text)
    request = ask(task, 1)
    assert isinstance(request, Request)
    assert request.text == "make it light 1"
    assert [image.size() for image in request.images()] == [(16, 16)]
    asked = request.parameters
    assert (asked.size, asked.extra) == ((32, 24), {"negative_prompt": "noise"})
    assert task.needs.requests == {"generate_image"}
    assert task.needs.modalities == {"text", "image"}
    assert request.origin.generation_kwargs["negative_prompt"] == "noise"


def test_doc_to_image_is_another_name_of_doc_to_visual(tmp_path):
    text = HEAD + "doc_to_image: input\ndoc_to_target: wanted\nmetric_list: [psnr]\n"
    assert len(list(ask(task_of(tmp_path, text)).images())) == 1
    with pytest.raises(PlanError, match="'doc_to_image' is another name of 'doc_to_visual'"):
        task_of(tmp_path, EDIT + "doc_to_image: input\nmetric_list: [psnr]\n")


def test_every_image_has_a_seed_of_its_own(tmp_path):
    text = HEAD + "metric_list: [bypass]\nrepeats: 2\ngeneration_kwargs: {num_generations: 3}\n"
    task = task_of(tmp_path, text)
    seeds = [request.parameters.seed for index in (0, 1) for request in ask(task, index)]
    assert len(seeds) == len(set(seeds)) == 12
    again = [request.parameters.seed for request in ask(task_of(tmp_path, text), 0)]
    assert again == seeds[:6]
    other = [request.parameters.seed for request in ask(task_of(tmp_path, text, seed=7), 0)]
    assert not set(other) & set(seeds)


def test_the_plan_wins_over_the_task_under_any_name(tmp_path):
    text = HEAD + "metric_list: [bypass]\ngeneration_kwargs: {n: 4, width: 64, height: 32, steps: 20}\n"
    asked = [
        request.parameters
        for request in ask(task_of(tmp_path, text, generation={"num_generations": 2, "size": "16x16"}))
    ]
    assert asked == [GenerateImage((16, 16), asked[j].seed, j, {"num_inference_steps": 20}) for j in range(2)]


def test_a_setting_of_the_wrong_type_names_its_line(tmp_path):
    with pytest.raises(PlanError, match=r"'n' must be a number, not 'many'") as caught:
        task_of(tmp_path, HEAD + "metric_list: [bypass]\ngeneration_kwargs: {n: many}\n")
    assert caught.value.where.endswith("t.yaml:8")


# --- scoring ---------------------------------------------------------------------------------------------------------


def test_an_image_is_compared_with_the_column_of_references(tmp_path):
    task = task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [psnr, ssim]\n")
    score = scored(task, 1, drawn(image(101)))
    assert score.values == {("psnr", "none"): 100.0, ("ssim", "none"): 1.0}
    assert score.target is None
    assert score.log["reference"].size == (16, 16)
    worse = scored(task, 1, drawn(image(111)))
    assert worse.values[("psnr", "none")] == pytest.approx(20 * math.log10(255 / 10))
    assert worse.explanation is None


def test_of_several_images_a_metric_is_the_mean(tmp_path):
    task = task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [psnr]\nrepeats: 2\n")
    score = scored(task, 0, drawn(image(100)), drawn(image(110)))
    one = 20 * math.log10(255 / 10)
    assert score.values[("psnr", "none")] == pytest.approx((100 + one) / 2)
    assert score.log["per_picture"] == {"psnr": [100.0, pytest.approx(one)]}


def test_an_image_of_another_size_is_compared_and_said_so(tmp_path):
    task = task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [psnr]\n")
    score = scored(task, 0, drawn(image(100, (32, 20))))
    assert score.values[("psnr", "none")] == 100.0
    assert score.explanation == "An image of 32 × 20 pixels was resized to the reference's size first."


def test_of_several_references_the_nearest_counts_and_texts_are_left_to_others(tmp_path):
    task = task_of(tmp_path, EDIT + "doc_to_target: [input, wanted, caption]\nmetric_list: [psnr]\n")
    score = scored(task, 1, drawn(image(101)))
    assert score.values[("psnr", "none")] == 100.0
    assert score.target == "a grey field 1"
    assert set(score.log) == {"reference 1", "reference 2"}


def test_a_function_may_give_images_paths_and_nothing(tmp_path):
    code = """
        from pathlib import Path

        HERE = Path(__file__).parent / "images"

        def target(doc):
            return [None, doc["input"], [HERE / "1_out.png"]]
        """
    write(tmp_path, {"utils.py": code})
    task = task_of(tmp_path, EDIT + "doc_to_target: !function utils.target\nmetric_list: [psnr]\n")
    assert scored(task, 0, drawn(image(101))).values[("psnr", "none")] == 100.0


@pytest.mark.needs_system("lmms_eval")
def test_a_metric_of_the_tasks_own_gets_images(tmp_path):
    code = """
        from lmms_eval.api.registry import register_metric

        @register_metric(metric="greyer", output_type="generate_image", aggregation="mean")
        def greyer(references, predictions):
            return float(predictions[0].getpixel((0, 0))[0] > references[0].getpixel((0, 0))[0])
        """
    write(tmp_path, {"metrics.py": code})
    task = task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [greyer]\n")
    assert scored(task, 0, drawn(image(200))).values == {("greyer", "none"): 1.0}
    assert scored(task, 0, drawn(image(20))).values == {("greyer", "none"): 0.0}


OWN = """
    def process_results(doc, results):
        greys = [item.getpixel((0, 0))[0] for item in results]
        return {"grey": sum(greys) / len(greys), "n": len(results), "row": sorted(doc), "shown": results[0]}
    """
OWN_TEXT = HEAD + "process_results: !function utils.process_results\nmetric_list: [{metric: grey, aggregation: mean}]\n"


def test_process_results_gets_the_list_of_images(tmp_path):
    write(tmp_path, {"utils.py": OWN})
    task = task_of(tmp_path, OWN_TEXT + "repeats: 2\n")
    score = scored(task, 0, drawn(image(10)), drawn(image(30)))
    assert score.values == {("grey", "none"): 20.0}
    assert score.log["n"] == 2
    assert score.log["row"] == ["caption", "prompt"]
    assert score.log["shown"].size == (16, 16)
    results = task.reduce(draw_rows(task, [image(10), image(20)]), ReduceContext(output_dir=Path(".")))
    assert [(result.metric, result.value, result.n) for result in results] == [("grey", 15.0, 2)]


def test_process_results_is_right_whatever_doc_to_target_does(tmp_path):
    write(tmp_path, {"utils.py": OWN + "\n    def target(doc):\n        return doc['nowhere']\n"})
    task = task_of(tmp_path, OWN_TEXT + "doc_to_target: !function utils.target\n")
    score = scored(task, 0, drawn(image(10)))
    assert score.values == {("grey", "none"): 10.0}
    assert score.target.startswith("doc_to_target failed")


def test_process_results_sees_the_row_with_media_where_it_asks_for_them(tmp_path):
    write(tmp_path, {"utils.py": OWN})
    task = task_of(tmp_path, OWN_TEXT + "process_results_use_image: true\n")
    assert scored(task, 0, drawn(image(10))).log["row"] == ["caption", "input", "prompt", "wanted"]


def test_a_sample_without_an_image_is_no_zero(tmp_path):
    task = task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [psnr]\n")
    with pytest.raises(ScoreError, match="Sample 0 of task 't' has no image to score"):
        scored(task, 0)


def test_bypass_counts_and_looks_at_nothing(tmp_path):
    task = task_of(tmp_path, HEAD + "doc_to_target: '{{caption}}'\nmetric_list: [bypass]\n")
    assert scored(task, 0, drawn(image(1), image(2))).values == {("bypass", "none"): 2}


def test_a_run_that_only_predicts_needs_no_reference(tmp_path):
    text = EDIT + "doc_to_target: caption\nmetric_list: [psnr]\n"
    task = task_of(tmp_path, text, options={"predict_only": True})
    assert scored(task, 0, drawn(image(1))).values == {("bypass", "none"): 1}


# --- all images together -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = {"hidden_size": 4, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    folder = tmp_path_factory.mktemp("network")
    transformers.Dinov2Model(transformers.Dinov2Config(**size, image_size=16, patch_size=8)).save_pretrained(folder)
    sides = {"height": 16, "width": 16}
    transformers.BitImageProcessor(size={"shortest_edge": 16}, crop_size=sides).save_pretrained(folder)
    return folder


def test_the_distance_of_sets_is_of_all_images_and_has_no_value_of_a_sample(tmp_path, network):
    folder_of_images(tmp_path, 6)
    text = (
        EDIT
        + f"doc_to_target: wanted\nmetric_list:\n  - metric: frechet_distance\n    extractor: {network}\n  - psnr\n"
    )
    task = task_of(tmp_path, text)
    assert any("uses the network" in note for note in task.notes)
    context = ReduceContext(output_dir=Path("."))
    rows = draw_rows(task, [image(100 + i) for i in range(6)])
    assert list(rows[0].score.values) == [("psnr", "none")]
    first, second = task.reduce(rows, context)
    assert (first.metric, first.n, first.stderr, first.higher_is_better) == ("frechet_distance", 6, None, False)
    assert first.value == pytest.approx(0, abs=1e-4)
    assert (second.metric, second.value) == ("psnr", 100.0)
    far = task.reduce(draw_rows(task, [image(40 * i) for i in range(6)]), context)
    assert far[0].value > 100 * first.value


def test_too_few_images_take_no_other_metric_along(tmp_path, network):
    text = (
        EDIT
        + f"doc_to_target: wanted\nmetric_list:\n  - psnr\n  - metric: frechet_distance\n    extractor: {network}\n"
    )
    task = task_of(tmp_path, text)
    failures = []
    rows = draw_rows(task, [image(100), image(101)])
    found = task.reduce(rows, ReduceContext(output_dir=Path("."), failed=failures.append))
    assert [(result.metric, result.value) for result in found] == [("psnr", 100.0), ("frechet_distance", None)]
    assert "needs more than 4 images; a set has 2" in str(failures[0])
    with pytest.raises(ScoreError, match="needs more than 4 images"):
        task.reduce(rows, ReduceContext(output_dir=Path(".")))


@pytest.mark.parametrize("metric", ["psnr", "frechet_distance"])
def test_a_row_without_its_reference_has_no_score(tmp_path, network, metric):
    write(tmp_path, {"utils.py": "def target(doc):\n    return doc['wanted'] if doc['prompt'][-1] == '0' else []\n"})
    more = f", extractor: {network}" if metric == "frechet_distance" else ""
    text = EDIT + f"doc_to_target: !function utils.target\nmetric_list: [{{metric: {metric}{more}}}]\n"
    task = task_of(tmp_path, text)
    scored(task, 0, drawn(image(1)))
    with pytest.raises(ScoreError, match=f"'{metric}' finds nothing to compare with in this row's doc_to_target"):
        scored(task, 1, drawn(image(1)))


# --- what is refused before anything is asked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("doc_to_target: wanted", "asks for images, but nothing scores them"),
        ("metric_list: [psnr]", "Metric 'psnr' compares with an image, and task 't' has no doc_to_target"),
        ("doc_to_target: wanted\nmetric_list: [exact_match]", "'exact_match' cannot be computed for output type"),
        ("doc_to_target: wanted\nmetric_list: [{metric: psnr, ceilng: 3}]", "'psnr' does not accept 'ceilng'"),
        (
            "doc_to_target: wanted\nmetric_list: [psnr]\nfilter_list: [{name: x, filter: [{function: take_first}]}]",
            "asks for images and cannot have filter_list",
        ),
        ("doc_to_target: wanted\nmetric_list: [psnr]\nnum_fewshot: 2", "asks for images and cannot have num_fewshot"),
        ("doc_to_choice: [a, b]\nmetric_list: [bypass]", "asks for images and cannot have doc_to_choice"),
    ],
)
def test_what_makes_no_sense_is_refused_and_found_by_check(tmp_path, lines, message):
    with pytest.raises(PlanError, match=message):
        task_of(tmp_path, f"{HEAD}{lines}\n")
    assert any(message in problem for problem in problems(tmp_path))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("doc_to_target: caption\nmetric_list: [psnr]", "doc_to_target of task 't' gives the text 'a grey field 0'"),
        ("doc_to_target: wnted\nmetric_list: [ssim]", "doc_to_target of task 't' is 'wnted', .* but nearly one"),
        ("doc_to_target: other\nmetric_list: [ssim]", "Metric 'ssim' compares with an image.* gives the text 'other'"),
        ("doc_to_target: wanted\nmetric_list: [lpips]", "LPIPS needs a folder with"),
        ("doc_to_target: caption\nmetric_list: [frechet_distance]", "needs a network, and the task names none"),
    ],
)
def test_what_only_the_data_tells_is_refused_when_it_is_opened(tmp_path, lines, message):
    with pytest.raises(PlanError, match=message) as caught:
        task_of(tmp_path, f"{HEAD}{lines}\n")
    assert "t.yaml:" in caught.value.where


def test_clip_score_of_images_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("polymeter.metrics.image.check_network", lambda *args: None)
    with pytest.raises(PlanError, match=r"'clip_score' compares with a text.* gives images only"):
        task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [clip_score]\n")


def test_a_network_that_is_not_there_is_told_at_once(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    lines = f"doc_to_target: caption\nmetric_list: [{{metric: clip_score, weights: {tmp_path / 'none'}}}]\n"
    with pytest.raises(PlanError, match=r"Looking for the network .* of metric 'clip_score'.*Name a folder"):
        task_of(tmp_path, HEAD + lines)


def test_examples_asked_for_on_the_command_line_are_refused(tmp_path):
    with pytest.raises(PlanError, match="cannot have num_fewshot"):
        task_of(tmp_path, EDIT + "doc_to_target: wanted\nmetric_list: [psnr]\n", num_fewshot=3)


def test_rows_without_a_target_are_an_error(tmp_path):
    rows = [{"q": "a", "a": None}, {"q": "b", "a": None}]
    with pytest.raises(PlanError, match="doc_to_target of task 't' gives nothing for a row"):
        opened(tmp_path, "output_type: generate_image\nmetric_list: [psnr]\n", rows)


def test_a_target_that_is_no_image_says_what_it_is(tmp_path):
    write(tmp_path, {"utils.py": "def target(doc):\n    return object()\n"})
    text = EDIT + "doc_to_target: !function utils.target\nmetric_list: [psnr]\n"
    with pytest.raises((PlanError, DataError), match="Cannot show a object to a model"):
        task_of(tmp_path, text)
