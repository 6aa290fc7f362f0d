"""Multiple choice over images as whole processes, start-up included: a Polymeter run, and a script written by hand.

The script reads the same JSON lines and images, shares the prefix of each of eight questions between its choices, and
prints the accuracy.

Usage: ``python -m benchmarks.local_choices FOLDER`` is that script; ``whole_process`` compares the two.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.local_by_hand import PROMPT, ByHand
from benchmarks.measure import Measured, measure, polymeter

N_TOGETHER = 8
_TASK = """\
task: bench_choices
dataset_path: json
dataset_kwargs:
  data_files:
    test: choices.jsonl
test_split: test
output_type: multiple_choice
doc_to_visual: image
doc_to_text: "{{text}}"
doc_to_choice: choices
doc_to_target: answer
target_delimiter: ""
metric_list:
  - metric: acc
"""


def whole_process(
    home: Path, checkpoint: Path, asked: Sequence[tuple[str, Any, tuple[str, ...]]], n_rounds: int
) -> tuple[str, list[Measured]]:
    """Ask the questions both ways in turn.

    Args:
        home: An empty folder, made if need be.
        checkpoint: The model.
        asked: Questions, images and choices.
        n_rounds: How often.

    Returns:
        A line with Polymeter's time beside the script's and both accuracies, and the processes: Polymeter's, then the
        script's.
    """
    home.mkdir(exist_ok=True)
    task = _write(home / "task", asked)
    words = ("run", "--model", f"hf:{checkpoint}", "--model-args", "device=cpu", "--batch-size", str(N_TOGETHER))
    script = [sys.executable, "-m", "benchmarks.local_choices", str(checkpoint), str(task)]
    ours: list[Measured] = []
    hand: list[Measured] = []
    for number in range(n_rounds):
        run = home / f"run-{number}"
        log = home / "by-hand.log"
        ours.append(polymeter(*words, "--tasks", str(task / "bench_choices.yaml"), "--output", str(run), cwd=home))
        hand.append(measure(script, cwd=Path.cwd(), log=log))
    results = json.loads((run / "results.json").read_text())
    told = float(log.read_text().splitlines()[-1])
    found = _accuracy(results)
    wall, cpu = (
        statistics.median(getattr(one, name) / getattr(other, name) for one, other in zip(hand, ours, strict=True))
        for name in ("wall_s", "cpu_s")
    )
    line = (
        f"{wall:.2f} x by hand ({min(one.wall_s for one in ours):.1f} s; processor time {cpu:.2f} x), "
        f"accuracy {found:.3f} (by hand {told:.3f})"
    )
    return line, [*ours, *hand]


def _write(folder: Path, asked: Sequence[tuple[str, Any, tuple[str, ...]]]) -> Path:
    folder.mkdir(parents=True)
    with (folder / "choices.jsonl").open("w") as file:
        for number, (text, picture, choices) in enumerate(asked):
            picture.save(folder / f"{number}.png")
            row = {"text": text, "image": f"{number}.png", "choices": list(choices), "answer": number % len(choices)}
            file.write(json.dumps(row) + "\n")
    (folder / "bench_choices.yaml").write_text(_TASK)
    return folder


def _accuracy(results: Any) -> float:
    """The first value named ``acc`` in what a run leaves."""
    if isinstance(results, dict):
        if results.get("metric") == "acc" and isinstance(results.get("value"), float):
            return float(results["value"])
        results = list(results.values())
    if isinstance(results, list):
        return next((found for one in results if (found := _accuracy(one)) >= 0), -1.0)
    return -1.0


def main(checkpoint: Path, task: Path) -> None:
    """The script written by hand."""
    from PIL import Image

    model = ByHand(checkpoint)
    rows = [json.loads(line) for line in (task / "choices.jsonl").read_text().splitlines()]
    n_right = 0
    for start in range(0, len(rows), N_TOGETHER):
        batch = rows[start : start + N_TOGETHER]
        images = [Image.open(task / row["image"]).convert("RGB") for row in batch]
        texts = [PROMPT.format(row["text"]) for row in batch]
        for row, scores in zip(
            batch, model.shared_prefix(texts, images, [row["choices"] for row in batch]), strict=True
        ):
            n_right += scores.index(max(scores)) == row["answer"]
    print(n_right / len(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
