"""Classes over videos on models of each kind (an endpoint, a checkpoint that gets videos whole, a wrapper), and how
their runs look.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.records.stored_samples import first_messages, media_of, text_of
from tests.helpers.drawn_videos import number_of
from tests.helpers.openai_stub import OpenAIStub, chat
from tests.helpers.toy_datasets import samples_of
from tests.helpers.video_checkpoints import read_processor_as_made, write_video_checkpoint
from tests.helpers.video_datasets import make_clips, run_clips

POND = [8, 16, 24, 32]
WRAPPER = """
import json
from vlmeval.vlm.base import BaseModel


class Looks(BaseModel):
    INTERLEAVE = True
    VIDEO_LLM = @WHOLE@

    def generate_inner(self, message, dataset=None):
        with open("@SEEN@", "a") as file:
            file.write(json.dumps([dataset, *(item["type"] for item in message)]) + "\\n")
        return "A"
"""


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


def test_an_endpoint_gets_the_frames_as_images_in_their_order(tmp_path: Path) -> None:
    with OpenAIStub(lambda received: chat("A")) as stub:
        run = run_clips(
            make_clips(tmp_path),
            tmp_path / "run",
            model="openai:stub",
            model_args={"base_url": stub.base_url},
            arguments={"nframe": 4},
        )
    assert run.value("Clips", "acc") == pytest.approx(200 / 3)
    shown = {}
    for parts in (body["messages"][-1]["content"] for body in stub.bodies):
        if isinstance(parts, str):
            continue  # a question whether it is there
        urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        images = [pil.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) for url in urls]
        shown[parts[-1]["text"]] = [number_of(np.asarray(image.convert("RGB"))) for image in images]
    assert shown["What swims?"] == POND
    assert len(shown) == 3


def test_a_checkpoint_of_videos_gets_them_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    folder = write_video_checkpoint("qwen2_vl", tmp_path / "checkpoint")
    read_processor_as_made(monkeypatch, "qwen2_vl")
    run = run_clips(
        make_clips(tmp_path),
        tmp_path / "run",
        model=f"hf:{folder}",
        model_args={"device": "cpu"},
        generation={"max_new_tokens": 2},
        arguments={"nframe": 4},
    )
    samples = samples_of(run, "Clips")
    assert [sample["error"] for sample in samples] == [None] * 3
    assert run.value("Clips", "n") == 3
    assert '"frames": 4' in str(samples).replace("'", '"')


@pytest.mark.parametrize(("is_whole", "kinds"), [(True, ["video"]), (False, ["image"] * 4)])
def test_a_wrapper_says_whether_it_takes_videos(is_whole: bool, kinds: list[str], tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    wrapper = tmp_path / "looks.py"
    wrapper.write_text(WRAPPER.replace("@WHOLE@", str(is_whole)).replace("@SEEN@", str(seen)))
    run = run_clips(
        make_clips(tmp_path), tmp_path / "run", model="ulm:Looks", model_path=str(wrapper), arguments={"nframe": 4}
    )
    assert run.value("Clips", "n") == 3
    assert seen.read_text().splitlines() == [str(["Clips", *kinds, "text"]).replace("'", '"')] * 3


def test_frames_and_question_are_in_the_samples_and_in_the_report(tmp_path: Path) -> None:
    run = run_clips(make_clips(tmp_path), tmp_path / "run", arguments={"nframe": 4}, whole_videos=False)
    (sample, *_) = samples_of(run, "Clips")
    messages = first_messages(sample)
    assert text_of(messages) == "What swims?"
    kept = [medium["file"] for _, medium in media_of(messages)]
    assert len(kept) == 4
    assert all((tmp_path / "run/media" / name[:2] / name).is_file() for name in kept)
    report = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert "What swims?" in report
    assert "data:image/" in report
