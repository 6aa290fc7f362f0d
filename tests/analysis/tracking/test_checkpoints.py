"""Checkpoints in a folder: their steps, and when all of one is there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from polymeter.analysis.tracking.checkpoints import Checkpoint, Settling, content_of, find_checkpoints, lacks, stamp_of
from polymeter.core.errors import PlanError


def write(folder: Path, *names: str, **contents: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(contents.get(name.partition(".")[0], b"{}"))
    return folder


def safetensors(n_bytes: int = 4) -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, n_bytes]}}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(n_bytes)


def checkpoint(path: Path) -> Checkpoint:
    return Checkpoint(path.name, path, 1)


def missing(path: Path, *, has_state: bool = False, by_config: bool = True) -> str:
    return lacks(checkpoint(path), is_loaded_by_config=by_config, has_state=has_state)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-500", 500),
        ("global_step1000", 1000),
        ("step_20", 20),
        ("epoch=3-step=700", 700),
        ("epoch_2", 2),
        ("iter_0004000", 4000),
        ("run-7b-checkpoint-12", 12),
        ("model.30", 30),
        ("400", 400),
    ],
)
def test_the_step_is_in_the_name(tmp_path: Path, name: str, step: int) -> None:
    write(tmp_path / name)
    assert [found.step for found in find_checkpoints(tmp_path)[0]] == [step]


def test_steps_are_in_natural_order_and_other_folders_are_left_alone(tmp_path: Path) -> None:
    for name in ("checkpoint-1000", "checkpoint-500", "checkpoint-2000", "logs", "tmp-checkpoint-7", ".cache-3"):
        write(tmp_path / name)
    (tmp_path / "notes-9.md").write_text("x")
    (tmp_path / "model_step_1500.pt").write_bytes(b"x")
    found, notes = find_checkpoints(tmp_path)
    assert [(one.step, one.name) for one in found] == [
        (500, "checkpoint-500"),
        (1000, "checkpoint-1000"),
        (1500, "model_step_1500.pt"),
        (2000, "checkpoint-2000"),
    ]
    assert notes == []
    assert [one.step for one in find_checkpoints(tmp_path, "checkpoint-*00")[0]] == [500, 1000, 2000]


def test_the_trainers_state_tells_the_step_of_a_name_without_one(tmp_path: Path) -> None:
    write(tmp_path / "final", "trainer_state.json", trainer_state=b'{"global_step": 42}')
    write(tmp_path / "nothing", "trainer_state.json", trainer_state=b'{"global_')
    assert [(one.name, one.step) for one in find_checkpoints(tmp_path)[0]] == [("final", 42)]


def test_two_of_one_step_are_told(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint-5")
    write(tmp_path / "epoch-5")
    found, notes = find_checkpoints(tmp_path)
    assert [one.name for one in found] == ["checkpoint-5"]
    assert notes == ["epoch-5 is left out: checkpoint-5 has the same step 5. Select one by name with --name."]


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="does not exist"):
        find_checkpoints(tmp_path / "nowhere")


def test_a_checkpoint_needs_configuration_and_weights(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1")
    assert missing(place) == "config.json"
    assert missing(place, by_config=False) == ""
    write(place, "config.json")
    assert missing(place) == "its weights"
    write(place, "optimizer.pt", "rng_state.pth", "training_args.bin", "trainer_state.json")
    assert missing(place) == "its weights"
    write(place, "model.safetensors", model=safetensors())
    assert missing(place) == ""


def test_what_is_half_written_is_not_complete(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json", "model.safetensors", model=safetensors(64)[:-60])
    assert missing(place) == "the rest of model.safetensors"
    write(place, "model.safetensors", model=safetensors(64)[:5])
    assert missing(place) == "the rest of model.safetensors"
    write(place, "model.safetensors", model=safetensors(64))
    assert missing(place) == ""
    write(place, "config.json", config=b'{"model_type": "ll')
    assert missing(place) == "the rest of config.json"


def test_all_shards_must_be_there(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json", "model-00001-of-00003.bin", "model-00003-of-00003.bin")
    assert missing(place) == "model-00002-of-00003.bin"
    write(place, "model-00002-of-00003.bin")
    assert missing(place) == ""
    index = json.dumps({"weight_map": {"a": "model-00001-of-00003.bin", "b": "other.bin"}}).encode()
    (place / "model.bin.index.json").write_bytes(index[:-9])
    assert missing(place) == "the rest of model.bin.index.json"
    (place / "model.bin.index.json").write_bytes(index)
    assert missing(place) == "other.bin"


def test_the_trainer_writes_its_state_last(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json", "pytorch_model.bin")
    assert missing(place) == ""
    assert missing(place, has_state=True) == "trainer_state.json"  # its neighbours have one
    write(place, "training_args.bin")
    assert missing(place) == "trainer_state.json"
    write(place, "trainer_state.json")
    assert missing(place, has_state=True) == ""


def test_an_adapter_and_a_pipeline_are_checkpoints(tmp_path: Path) -> None:
    adapter = write(tmp_path / "a-1", "adapter_config.json", "adapter_model.bin")
    assert missing(adapter) == ""
    pipeline = write(tmp_path / "p-1")
    parts = {"_class_name": "X", "unet": ["diffusers", "U"], "safety_checker": [None, None], "size": 3}
    (pipeline / "model_index.json").write_text(json.dumps(parts))
    assert missing(pipeline) == "unet"
    (pipeline / "unet").mkdir()
    assert missing(pipeline) == ""


def test_the_optimizer_may_go_and_the_model_may_not_change(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json", "model.bin", "optimizer.pt", "trainer_state.json")
    before = stamp_of(checkpoint(place))
    assert [name for name, *_ in before] == ["checkpoint-1/config.json", "checkpoint-1/model.bin"]
    (place / "optimizer.pt").unlink()
    assert stamp_of(checkpoint(place)) == before
    (place / "model.bin").write_bytes(b"other")
    assert stamp_of(checkpoint(place)) != before


def test_content_is_of_every_part_of_a_file(tmp_path: Path) -> None:
    one, two = (write(tmp_path / name, "config.json") for name in ("checkpoint-1", "copy-1"))
    weights = bytearray(os.urandom(3 * 2**20))
    contents = set()
    for place in (None, 0, 2**20 + 7, len(weights) - 1):
        if place is not None:
            weights[place] ^= 1
        (one / "model.bin").write_bytes(weights)
        (one / "optimizer.pt").write_bytes(os.urandom(8))
        contents.add(content_of(checkpoint(one)))
    assert len(contents) == 4
    (two / "model.bin").write_bytes(weights)
    assert content_of(checkpoint(two)) == content_of(checkpoint(one))


def test_a_checkpoint_settles_by_the_time_of_its_files(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json")
    for path in (place, place / "config.json"):
        os.utime(path, (1000, 1000))
    for now, left in ((1003.0, 7.0), (1010.0, 0.0)):
        assert Settling(10, lambda now=now: now, lambda: 0.0).left_s(checkpoint(place)) == left


def test_a_clock_that_is_behind_does_not_make_it_wait_for_ever(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint-1", "config.json")
    clock = [0.0]
    settling = Settling(10, lambda: 0.0, lambda: clock[0])
    assert settling.left_s(checkpoint(place)) == 10
    clock[0] = 6.0
    write(place, "more.json")
    assert settling.left_s(checkpoint(place)) == 10
    clock[0] = 16.0
    assert settling.left_s(checkpoint(place)) == 0
