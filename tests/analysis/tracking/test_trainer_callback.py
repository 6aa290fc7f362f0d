"""The callback for Transformers' Trainer: by hand, and in a real training of a few steps."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from tests.helpers.checkpoint_folders import MODEL_ARGS, save, write_task

PREFIX = "eval_polymeter/"


class Training:
    """What the Trainer hands to callbacks, and calls them for."""

    def __init__(self, callback: polymeter.TrackCallback, folder: Path, *, world_size: int = 1, is_main: bool = True):
        self.callback = callback
        self.args = SimpleNamespace(output_dir=str(folder), world_size=world_size, device="cpu")
        self.control = SimpleNamespace(should_training_stop=False)
        self.state = SimpleNamespace(is_world_process_zero=is_main, global_step=0, epoch=0.5, log_history=[])

    def save(self, step: int, n_right: int, start: int = 0) -> None:
        self.state.global_step = step
        save(Path(self.args.output_dir), step, n_right, start)
        returned = self.callback.on_save(self.args, self.state, self.control, model=None)
        assert returned is self.control

    def logged(self) -> list[tuple[int, float]]:
        return [(entry[f"{PREFIX}step"], entry[f"{PREFIX}sums/exact_match"]) for entry in self.state.log_history]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    task = write_task(tmp_path)

    def make(**options: Any) -> polymeter.TrackCallback:
        return polymeter.TrackCallback([str(task)], model="mock", model_args=MODEL_ARGS, **options)

    return make


def test_each_checkpoint_is_measured_and_logged(made: Any, tmp_path: Path) -> None:
    training = Training(made(output="curve"), tmp_path / "out")
    training.save(10, 30)
    training.save(20, 45)
    assert training.logged() == [(10, 0.5), (20, 0.75)]
    entry = training.state.log_history[1]
    assert entry[f"{PREFIX}sums/exact_match_low"] < 0.75 < entry[f"{PREFIX}sums/exact_match_high"]
    assert (entry["step"], entry["epoch"]) == (20, 0.5)
    assert Path("curve/curve.html").exists()
    assert training.callback.document["new"] == [20]
    assert not training.control.should_training_stop


def test_a_regression_stops_the_training_if_that_is_wanted(made: Any, tmp_path: Path, caplog: Any) -> None:
    for stops in (False, True):
        training = Training(
            made(output=f"curve-{stops}", max_regression=0.1, stop_on_regression=stops), tmp_path / f"out-{stops}"
        )
        training.save(10, 50)
        training.save(20, 20)
        assert training.control.should_training_stop is stops
    assert "Regression: sums (exact_match): step 20 is 0.5000 worse than step 10" in caplog.text
    with pytest.raises(PlanError, match="needs the largest tolerated loss"):
        made(stop_on_regression=True)


def test_a_measurement_that_fails_is_told_and_the_training_goes_on(made: Any, tmp_path: Path, caplog: Any) -> None:
    training = Training(made(limit=-1), tmp_path / "out")
    with caplog.at_level(logging.WARNING, "polymeter"):
        training.save(10, 30)
    assert "The checkpoint was not measured: the measurement ended with 2: …Option 'limit' must be" in caplog.text
    assert training.logged() == []
    training = Training(made(), tmp_path / "out")
    folder = save(tmp_path / "out", 20, 30)
    (folder / "answers.json").write_text("{")
    training.callback.on_save(training.args, training.state, training.control)
    assert "checkpoint-20 was not measured: The answers file cannot be read" in caplog.text


def test_a_measurement_that_cannot_start_leaves_the_training_alone(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def gone(words: list[str], **settings: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([words[0], "-c", "raise SystemExit('no room left')"], **settings)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return process

    ours = SimpleNamespace(**vars(subprocess) | {"Popen": gone})
    monkeypatch.setattr("polymeter.core.children.child.subprocess", ours)
    training = Training(made(output="curve"), tmp_path / "out")
    training.save(10, 30)
    assert training.logged() == []
    assert "no room left" in caplog.text


def test_a_measurement_that_takes_too_long_is_ended(made: Any, tmp_path: Path, caplog: Any) -> None:
    training = Training(made(timeout_s=0.0), tmp_path / "out")
    training.save(10, 30)
    assert "The checkpoint was not measured: the measurement ended with -9" in caplog.text


def test_several_processes_measure_beside_the_training(made: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "nowhere.invalid")
    training = Training(made(), tmp_path / "out", world_size=2)
    training.save(10, 30)
    training.save(20, 45)  # measured after the first
    assert training.callback._child is not None
    training.state.global_step = 25
    training.callback.on_train_end(training.args, training.state, training.control)
    assert [value for step, value in training.logged() if step == 20] == [0.75]
    assert {step for step, _ in training.logged()} == {10, 20}
    assert training.callback._child is None


def test_only_the_main_process_measures(made: Any, tmp_path: Path) -> None:
    training = Training(made(), tmp_path / "out", is_main=False)
    training.save(10, 30)
    training.callback.on_step_end(training.args, training.state, training.control)
    training.callback.on_train_end(training.args, training.state, training.control)
    assert (training.state.log_history, Path("runs").exists()) == ([], False)


def test_events_of_later_trainers_are_left_alone(made: Any) -> None:
    callback = made()
    assert callback.on_something_new("args", "state", "control", model=1) is None
    with pytest.raises(AttributeError):
        callback.something_else  # noqa: B018


def test_what_no_other_process_could_be_handed_is_refused(made: Any) -> None:
    with pytest.raises(PlanError, match="Silence is not plain data"):
        made(progress=polymeter.core.records.progress.Silence())
    made(output=Path("curve"), allow={"prompts"})


def test_polymeter_imports_no_trainer() -> None:
    heavy = "[name for name in sys.modules if name in ('torch', 'transformers')]"
    code = f"import sys, polymeter; polymeter.TrackCallback; print({heavy})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "[]"


def test_all_processes_of_a_training_stop_together(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from polymeter.analysis.tracking.trainer_callback import _any_process

    args = SimpleNamespace(device="cpu")
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        assert [_any_process(is_so, args) for is_so in (False, True)] == [False, True]
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_a_real_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two checkpoints of a small network, measured as they are saved; the Trainer's other callbacks see the values."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    import torch

    from tests.helpers.checkpoints import llama

    monkeypatch.chdir(tmp_path)
    task = write_task(tmp_path)
    network, tokenizer = llama()
    ids = tokenizer("What is 1 + 1? 2", return_tensors="pt")["input_ids"][0]
    rows = [{"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)} for _ in range(8)]
    seen: list[dict[str, float]] = []

    class Tracker(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            seen.append(dict(logs))

    arguments = transformers.TrainingArguments(
        output_dir="out", max_steps=4, save_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True,
        disable_tqdm=True, logging_steps=100,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=network, args=arguments, train_dataset=rows, processing_class=tokenizer, callbacks=[Tracker()]
    )
    callback = polymeter.TrackCallback(
        [str(task)], limit=4, generation={"max_new_tokens": 4}, model_args={"dtype": "float32"}
    ).attach(trainer)
    trainer.train()
    name = f"{PREFIX}sums/exact_match"
    steps = [logs[f"{PREFIX}step"] for logs in seen if name in logs]
    assert steps == [2, 4]
    assert [entry["step"] for entry in trainer.state.log_history if name in entry] == [2, 4]
    assert [point["status"] for point in callback.document["checkpoints"]] == ["measured", "measured"]
    record = json.loads(Path("runs/track/out/track.json").read_text())
    assert [entry["name"] for entry in record["checkpoints"]] == ["checkpoint-2", "checkpoint-4"]
    polymeter.track("out", [str(task)], limit=4, generation={"max_new_tokens": 4}, model_args={"dtype": "float32"})
    assert json.loads(Path("runs/track/out/track.json").read_text()) == record
