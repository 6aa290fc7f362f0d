"""TensorBoard: what its own reader finds in the event files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter import PlanError, TrackerError
from tests.helpers.seen import USED, N

pytest.importorskip("tensorboardX")
accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(folder: Path) -> Any:
    found = accumulators.EventAccumulator(str(folder), size_guidance={"images": 0, "tensors": 0, "scalars": 0})
    found.Reload()
    return found


def text(events: Any, tag: str) -> str:
    (event,) = events.Tensors(f"{tag}/text_summary")
    return str(event.tensor_proto.string_val[0].decode())


def test_numbers_are_scalars(run: polymeter.RunResult, folder: Path) -> None:
    assert polymeter.log_run(run, "tensorboard", folder="tb", step=7) == "tb"
    events = read(folder / "tb" / "run")
    result = run.result("seen", "answer")
    (value,) = events.Scalars("seen/answer")
    (stderr,) = events.Scalars("seen/answer_stderr")
    assert (value.step, value.value, stderr.value) == (7, result.value, result.stderr)
    (requests,) = events.Scalars("usage/model/Teller/requests")
    assert requests.value == USED["requests"]
    assert "seen/exact_match" in text(events, "results").replace("\\", "")


def test_samples_are_text_and_images(run: polymeter.RunResult, folder: Path) -> None:
    polymeter.log_run(run, "tensorboard", folder="tb", samples=3)
    events = read(folder / "tb" / "run")
    assert events.Tags()["images"] == [f"seen/{n}/shown" for n in range(3)]
    (image,) = events.Images("seen/1/shown")
    assert Image.open(io.BytesIO(image.encoded_image_string)).size == (8, 7)
    table = text(events, "seen/samples").splitlines()
    assert len(table) == 2 + 3
    assert "What is 2?" in table[4]


def test_what_others_wrote_is_no_markup(run: polymeter.RunResult, folder: Path) -> None:
    polymeter.log_run(run, "tensorboard", folder="tb", samples=4)
    row = text(read(folder / "tb" / "run"), "seen/samples").splitlines()[5]
    assert r"no \<b\>score\</b\> \| here" in row
    assert row.count(" | ") == 6


def test_sending_again_replaces_and_another_step_is_added(run: polymeter.RunResult, folder: Path) -> None:
    for step in (1, 2, 2):
        polymeter.log_run(run, "tensorboard", folder="tb", name="curve", step=step)
    events = read(folder / "tb" / "curve")
    assert [event.step for event in events.Scalars("seen/answer")] == [1, 2]


def test_all_samples_and_none(run: polymeter.RunResult, folder: Path) -> None:
    polymeter.log_run(run, "tensorboard", folder="all", samples="all")
    polymeter.log_run(run, "tensorboard", folder="none", samples=0)
    assert len(read(folder / "all" / "run").Tags()["images"]) == N
    assert read(folder / "none" / "run").Tags()["images"] == []


def test_arguments_are_checked(run: polymeter.RunResult) -> None:
    with pytest.raises(PlanError, match=r"'few' is not a number of samples.*samples=all"):
        polymeter.log_run(run, "tensorboard", samples="few")
    with pytest.raises(PlanError, match=r"no argument 'foldr'.*Did you mean 'folder'"):
        polymeter.log_run(run, "tensorboard", foldr="x")
    with pytest.raises(PlanError, match="'late' is not a step"):
        polymeter.log_run(run, "tensorboard", step="late")


def test_a_folder_that_cannot_be_is_told(run: polymeter.RunResult, folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(TrackerError, match="Sending the run to 'tensorboard' raised"):
        polymeter.log_run(run, "tensorboard", folder="file/tb")
