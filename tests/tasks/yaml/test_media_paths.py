"""Relative paths of images in a column are looked for where the user put the images."""

from pathlib import Path

import pytest
from PIL import Image

import polymeter

TASK = """task: signs
dataset_path: csv
dataset_kwargs: {data_files: DATA}
test_split: train
output_type: generate_until
doc_to_visual: image
doc_to_text: Read the sign.
doc_to_target: text
metric_list: [{metric: exact_match}]
"""


@pytest.mark.parametrize("data", ["signs.csv", "data/signs.csv"])
@pytest.mark.parametrize("beside", ["yaml", "data", "working directory"])
def test_images_are_found_beside_the_benchmark_its_data_or_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, beside: str
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    table = home / data
    for folder in (table.parent, elsewhere):
        folder.mkdir(parents=True)
    (home / "signs.yaml").write_text(TASK.replace("DATA", data))
    table.write_text("image,text\nphotos/one.png,mock\n")
    place = {"yaml": home, "data": table.parent, "working directory": elsewhere}[beside]
    (place / "photos").mkdir()
    Image.new("RGB", (8, 8), "red").save(place / "photos" / "one.png")
    monkeypatch.chdir(elsewhere)

    result = polymeter.evaluate("mock", str(home / "signs.yaml"), output=tmp_path / "run")

    assert result.results["tasks"]["signs"]["statuses"] == {"ok": 1}


def test_paths_that_a_function_gives_are_looked_for_beside_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    visual = "!function utils.visual\nimage: {max_side: 4}"  # with a rule, the image is opened
    (home / "signs.yaml").write_text(
        TASK.replace("DATA", "data/signs.csv").replace("doc_to_visual: image", f"doc_to_visual: {visual}")
    )
    (home / "utils.py").write_text("def visual(doc):\n    return [[doc['image']]]\n")
    (home / "data/signs.csv").write_text("image,text\none.png,mock\n")
    Image.new("RGB", (8, 8), "red").save(home / "data/one.png")
    monkeypatch.chdir(tmp_path)

    result = polymeter.evaluate("mock", str(home / "signs.yaml"), output=tmp_path / "run")

    assert result.results["tasks"]["signs"]["statuses"] == {"ok": 1}
