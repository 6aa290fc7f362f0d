"""Whole runs with small pipelines, as a user starts them."""

from __future__ import annotations

import base64
import io
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from PIL import Image as Pictures

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.models.diffusers.draw import Artist, Drawn
from polymeter.models.diffusers.rows import ImageRow
from polymeter.store.journal import Journal
from tests.models.diffusers.kill_child import SETTINGS, UNSCORED

STEPS = {"num_inference_steps": 2}
PROMPTS = ("a red circle", "two blue squares left of a triangle", "a star", "nothing at all", "a yellow square")


def text_to_image(folder: Path) -> Path:
    file = folder / "prompts.tsv"
    rows = [f"{number}\t{prompt}" for number, prompt in enumerate(PROMPTS)]
    file.write_text("\n".join(["index\tprompt", *rows]) + "\n")
    return file


def editing(folder: Path) -> Path:
    file = folder / "edits.tsv"
    rows = []
    for number, prompt in enumerate(PROMPTS):
        buffer = io.BytesIO()
        Pictures.new("RGB", (32, 32), (40 * number, 100, 200)).save(buffer, "PNG")
        rows.append(f"{number}\t{base64.b64encode(buffer.getvalue()).decode()}\t{prompt}")
    file.write_text("\n".join(["index\timage\tprompt", *rows]) + "\n")
    return file


def drawn(folder: Path) -> dict[str, list[str]]:
    """What each sample of a run got: the names of image files, which are digests of what is in them."""
    rows = [json.loads(line) for file in (folder / "samples").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    return {
        row["id"]: [
            name
            for exchange in row["exchanges"]
            for output in exchange["response"]["outputs"]
            for name in output["images"]
        ]
        for row in rows
    }


@pytest.mark.parametrize(
    ("pipeline", "task"), [("stable_diffusion", text_to_image), ("stable_diffusion", editing), ("pix2pix", editing)]
)
def test_batch_size_changes_no_image(
    pipeline_folder: Callable[..., Path], tmp_path: Path, pipeline: str, task: Callable[[Path], Path]
) -> None:
    file = str(task(tmp_path))
    found = {}
    for size in (1, 4):
        output = tmp_path / f"run{size}"
        model = f"diffusers:{pipeline_folder(pipeline)}"
        polymeter.evaluate(model, [file], generation=STEPS, batch_size=size, output=output, **UNSCORED)
        found[size] = drawn(output)
    assert found[1] == found[4]
    assert len({name for names in found[1].values() for name in names}) == len(PROMPTS)


def test_the_command_line_draws(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    command = ["run", "--model", f"diffusers:{pipeline_folder('stable_diffusion')}"]
    command += ["--tasks", str(text_to_image(tmp_path)), "--output", str(tmp_path / "run")]
    command += ["--dialect-option", "tsv.predict_only=true"]
    assert main([*command, "--gen-kwargs", "num_inference_steps=2,negative_prompt=blue,n=2"]) == 0
    assert [len(set(names)) for names in drawn(tmp_path / "run").values()] == [2] * len(PROMPTS)


def test_a_slip_of_the_pen_is_found_before_anything_is_spent(
    pipeline_folder: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="Did you mean 'num_inference_steps'"):
        polymeter.evaluate(
            f"diffusers:{pipeline_folder('stable_diffusion')}",
            [str(text_to_image(tmp_path))],
            generation={"num_inferense_steps": 2},
            output=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def answered(run: Path) -> set[tuple[str, int]]:
    """Prompt and seed of each image in a run's journal."""
    journal = Journal(run / "journal.db")
    asked = [json.loads(request) for _, _, _, request, _ in journal.exchanges("prompts")]
    journal.close()
    return {(one["messages"][0]["parts"][0]["text"], seed) for one in asked for seed in one["ask"]["seeds"]}


def test_a_run_that_is_killed_goes_on_with_what_it_has(
    pipeline_folder: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file, run = str(pipeline_folder("stable_diffusion")), str(text_to_image(tmp_path)), tmp_path / "run"
    child = subprocess.run(
        [sys.executable, "-m", "tests.models.diffusers.kill_child", folder, file, "prompts", str(run)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    kept, asked = answered(run), []
    draw = Artist.draw

    def logged(self: Artist, rows: Sequence[ImageRow]) -> list[Drawn]:
        asked.extend((row.prompt, row.seed) for row in rows)
        return draw(self, rows)

    monkeypatch.setattr(Artist, "draw", logged)
    for output in (run, tmp_path / "whole"):
        polymeter.evaluate(f"diffusers:{folder}", [file], output=output, **SETTINGS)
    every = answered(tmp_path / "whole")
    assert 0 < len(kept) < len(every) == 2 * len(PROMPTS)
    assert Counter(asked) == Counter(every - kept) + Counter(every)  # what was kept is not drawn again
    assert drawn(run) == drawn(tmp_path / "whole")


def test_a_pipeline_that_only_edits_is_not_asked_to_draw(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    model = f"diffusers:{pipeline_folder('pix2pix')}"
    with pytest.raises(PlanError, match=r"Task 'prompts' shows no image to the model, and .* needs one"):
        polymeter.evaluate(model, [str(text_to_image(tmp_path))], output=tmp_path / "run", **UNSCORED)
    assert not (tmp_path / "run").exists()


def test_a_pipeline_is_not_asked_for_text(pipeline_folder: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"asks for 'generate', which model .* cannot do"):
        polymeter.evaluate(
            f"diffusers:{pipeline_folder('stable_diffusion')}", ["demo_signs"], output=tmp_path / "run", limit=1
        )
