"""Ablations of models that were written for other systems: what their own code sees."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from tests.helpers.colours import COLOURS, answers, run_wrapper, wrapper_file
from tests.helpers.toy_datasets import png_base64, write_class

LOOKS = """
def generate_until(self, requests):
    said = []
    for context, kwargs, doc_to_visual, doc_id, task, split in [one.args for one in requests]:
        pictures = doc_to_visual(self.task_dict[task][split][doc_id])
        said.append(" ".join([context, *(str(picture.convert("RGB").getpixel((0, 0))) for picture in pictures)]))
    return said
"""
ROUNDS = (
    LOOKS
    + """
def generate_until_multi_round(self, requests):
    return ["red"] * len(requests)
"""
)
CUSTOM = """
from ulmeval.ulm.base import BaseModel

class Mine(BaseModel):
    def use_custom_prompt(self, dataset):
        return True

    def build_prompt(self, line, dataset=None):
        images = self.dump_image(line, dataset)
        text = {"type": "text", "value": f"mine: {line['question']}"}
        return [*({"type": "image", "value": image} for image in images), text]

    def generate_inner(self, message, dataset=None):
        from PIL import Image
        images = [Image.open(item["value"]) for item in message if item["type"] == "image"]
        texts = [item["value"] for item in message if item["type"] == "text"]
        return " ".join([*texts, *(str(image.convert("RGB").getpixel((0, 0))) for image in images)])
"""
PIXELS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 128, 0)}


@pytest.mark.needs_system("lmms_eval")
def test_visuals_of_a_wrapper_are_those_of_the_ablation(tmp_path: Path) -> None:
    wrapper = wrapper_file(tmp_path, LOOKS)

    def said(ablation: str) -> list[str]:
        result = run_wrapper(tmp_path, "colours", wrapper, output=ablation or "whole", ablation=ablation)
        return answers(result, "colours")

    asked = [f"Which colour{'?' * (place + 1)}" for place in range(len(COLOURS))]
    assert said("") == [f"{text} {PIXELS[colour]}" for text, colour in zip(asked, COLOURS, strict=True)]
    assert said("no-image") == asked
    assert said("blank") == [f"{text} (128, 128, 128)" for text in asked]
    lent = said("shuffled-image")
    assert all(str(PIXELS[colour]) not in text for text, colour in zip(lent, COLOURS, strict=True))
    assert [text.partition(" (")[0] for text in lent] == asked
    assert [text.strip() for text in said("no-question")] == [str(PIXELS[colour]) for colour in COLOURS]


@pytest.mark.needs_system("lmms_eval")
def test_a_wrapper_that_leads_the_rounds_itself_is_refused(tmp_path: Path) -> None:
    wrapper = wrapper_file(tmp_path, ROUNDS)
    with pytest.raises(
        PlanError, match="the model makes the prompts of later rounds itself, and they cannot be changed"
    ):
        run_wrapper(tmp_path, "asked", wrapper, ablation="no-image")


@pytest.mark.needs_system("ulmeval")
def test_prompts_of_a_wrappers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    (tmp_path / "mine.py").write_text(textwrap.dedent(CUSTOM))
    names = [*PIXELS]
    table = {
        "index": range(3),
        "question": [f"what is number {place}?" for place in range(3)],
        "answer": names,
        "image": [png_base64(name) for name in names],
    }
    body = """
        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            return {'n': len(data)}
        """
    toy = write_class(tmp_path / "lib", body, columns=table, base="ImageBaseDataset", type_="VQA")

    def said(ablation: str) -> list[str]:
        result = polymeter.evaluate(
            "ulm:Mine", ["Toy"], model_path=str(tmp_path / "mine.py"), include_paths=(toy,),
            output=tmp_path / (ablation or "whole"), ablation=ablation,
        )  # fmt: skip
        found: list[Any] = [*polymeter.open_run(result.folder.path).samples("Toy")]
        return [one.answer for one in found]

    asked = [f"mine: what is number {place}?" for place in range(3)]
    assert said("") == [f"{text} {PIXELS[name]}" for text, name in zip(asked, names, strict=True)]
    assert said("no-image") == asked
    assert said("blank") == [f"{text} (128, 128, 128)" for text in asked]
    assert said("no-question") == [f"mine:  {PIXELS[name]}" for name in names]
    lent = said("shuffled-image")
    assert all(str(PIXELS[name]) not in text for text, name in zip(lent, names, strict=True))
    assert sorted(text.partition(" (")[2] for text in lent) == sorted(str(PIXELS[name])[1:] for name in names)
    assert json.loads((tmp_path / "blank/run.json").read_text())["identity"]["options"]["ablation"] == "blank"
