"""The packages themselves, where they are installed: one run of a benchmark of each and of one of ours."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.names.installed import SWITCH

_VERSIONS = {"lmms_eval": "0.7.2", "lm_eval": "0.4.13", "evalscope": "0.17.0"}
_TASKS = ("lmms-eval:mme", "lm-eval:arc_easy", "evalscope:gsm8k", "polymeter:demo_vlm_choice")


def _lacking() -> list[str]:
    """The packages that are not installed in these versions."""
    installed = {one.metadata["Name"].replace("-", "_"): one.version for one in metadata.distributions()}
    return [f"{name}=={version}" for name, version in _VERSIONS.items() if installed.get(name) != version]


pytestmark = [
    pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope"),
    pytest.mark.skipif(bool(_lacking()), reason=f"not installed: {', '.join(_lacking())}"),
]


def write_data(folder: Path) -> list[str]:
    """Rows for the tasks, drawn at random from a fixed seed, as words of the command line."""
    import datasets
    from PIL import Image as pil

    draw = random.Random(7)
    features = datasets.Features(
        {
            "question_id": datasets.Value("string"),
            "image": datasets.Image(),
            "question": datasets.Value("string"),
            "answer": datasets.Value("string"),
            "category": datasets.Value("string"),
        }
    )
    seen = []
    for number in range(8):
        colour, asked = draw.choice(["red", "blue"]), draw.choice(["red", "blue"])
        seen.append(
            {
                "question_id": f"color/{number // 2}.png",
                "image": pil.new("RGB", (64, 64), colour),
                "question": f"Is this {asked}? Please answer yes or no.",
                "answer": "Yes" if colour == asked else "No",
                "category": "color",
            }
        )
    (folder / "mme").mkdir(parents=True)
    datasets.Dataset.from_list(seen, features=features).to_parquet(folder / "mme" / "test-00000-of-00001.parquet")
    sums = [(draw.randrange(9), draw.randrange(9)) for _ in range(8)]
    chosen = [
        {
            "id": f"{n}",
            "question": f"What is {a} + {b}?",
            "choices": {"text": [str(a + b), str(a + b + 1)], "label": ["A", "B"]},
            "answerKey": "A",
        }
        for n, (a, b) in enumerate(sums)
    ]
    worked = [{"question": f"What is {a} + {b}?", "answer": f"Add them.\n#### {a + b}"} for a, b in sums]
    for name, rows in (("arc", chosen), ("gsm8k", worked)):
        (folder / name).mkdir()
        for split in ("train", "validation", "test"):
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (folder / name / f"{split}.jsonl").write_text(text)
    places = {"lmms-lab/MME": "mme", "allenai/ai2_arc:ARC-Easy": "arc", "modelscope/gsm8k": "gsm8k"}
    return [word for name, place in places.items() for word in ("--data", f"{name}={folder / place}")]


def command(words: Sequence[str], folder: Path) -> dict[str, Any]:
    """How a child process runs the command line with the packages switched on."""
    return {
        "args": [sys.executable, "-m", "polymeter", *words],
        "env": {**os.environ, SWITCH: "on"},
        "cwd": folder,
        "text": True,
    }


def test_one_run_of_a_benchmark_of_each_resumes_after_a_kill_and_is_one_report(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    run = tmp_path / "run"
    words = ["run", "--model", "tiny_vlm", "--tasks", ",".join(_TASKS), "--num-fewshot", "0", "--limit", "8", *data]
    with subprocess.Popen(
        **command([*words, "--output", str(run)], tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.strip() == "32 samples":  # the run has begun
                process.kill()
                break
        assert said[-1:] == ["32 samples\n"], "".join(said)
    assert json.loads((run / "run.json").read_text())["status"] != "complete"
    done = subprocess.run(**command(["resume", str(run)], tmp_path), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((run / "run.json").read_text())
    assert {task["name"]: task.get("package") for task in manifest["tasks"]} == {
        "mme": "lmms_eval 0.7.2",
        "arc_easy": "lm_eval 0.4.13",
        "gsm8k": "evalscope 0.17.0",
        "demo_vlm_choice": None,
    }
    tasks = json.loads((run / "results.json").read_text())["tasks"]
    assert {name: task["n_scored"] for name, task in tasks.items()} == dict.fromkeys(tasks, 8)
    report = (run / "report.html").read_text()
    assert all(
        name in report for name in ("mme", "arc_easy", "GSM8K", "demo_vlm_choice", *map(" ".join, _VERSIONS.items()))
    )


def test_all_of_them_are_listed_and_searched_and_none_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from polymeter.api import build_catalog\n"
        "from polymeter.catalog.searching import search_benchmarks\n"
        "catalog = build_catalog()\n"
        "print({name: len(one.entries) for name, one in catalog.packages.items()})\n"
        "print([hit.entry.qualified_name for hit in search_benchmarks(catalog, 'chart question answering')[:9]])\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('lmms_eval', 'lm_eval', 'evalscope')])\n"
    )
    environment = {**os.environ, SWITCH: "on"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    counts, found, imported = done.stdout.splitlines()
    assert imported == "[]"
    assert "'evalscope': 45" in counts
    assert "'lmms-eval:chartqa'" in found
