"""The user's guide is run: its files are written, its commands are called, and what it says they print is looked for.

How, and what stands in for what this machine lacks, is said in ``tests.helpers.guides``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.helpers.guides import DOCS, ROOT, TINY_VLM, blocks, extras, run_section

GUIDES = (
    "index.md",
    "getting-started.md",
    "recipes.md",
    "coming-from.md",
    "by-name.md",
    "tasks.md",
    "python-benchmarks.md",
    "tools.md",
    "adapters.md",
    "image-generation.md",
    "models.md",
    "servers.md",
    "judges.md",
    "runs.md",
    "settings.md",
    "extending.md",
    "python.md",
    "statistics.md",
    "scale.md",
    "cost.md",
    "ablation.md",
    "tracking.md",
    "importing.md",
    "exporting.md",
    "json.md",
    "trackers.md",
    "../README.md",
)
_RUN_THROUGHOUT = ("index.md", "getting-started.md", "recipes.md")
"""Guides in which no block is only shown."""

# Guides, and sections of guides, that run files written for a system.
_NEEDS_SYSTEM = {
    "adapters.md": "evalscope",
    "importing.md": "lm_eval",
    "importing.md: EvalScope": "evalscope",
    "importing.md: Inspect": "inspect_ai",
    "importing.md: VLMEvalKit": "ulmeval",
    "exporting.md: Export a run": "inspect_ai",
    "coming-from.md: lmms-eval": "lmms_eval",
    "image-generation.md: A dataset class": "ulmeval",
    "image-generation.md: A model wrapper": "ulmeval",
    "recipes.md: Reproduce a published score": "lmms_eval",
    "tasks.md: Submission files": "lmms_eval",
    "models.md: A wrapper written for lmms-eval: `lmms`": "lmms_eval",
    "models.md: A model written for lm-eval: `lm`": "lm_eval",
}


def _two_checkpoints(folder: Path) -> None:
    for step in (100, 200):
        link = folder / "checkpoints" / f"step-{step}"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(TINY_VLM)


def _three_signs(folder: Path) -> None:
    (folder / "photos" / "images").mkdir(parents=True)
    for word in ("EXIT", "MUSEUM", "HARBOUR"):
        image = Image.new("RGB", (640, 160), "white")
        ImageDraw.Draw(image).text((40, 30), word, fill="black", font=ImageFont.load_default(size=90))
        image.save(folder / "photos" / "images" / f"{word.lower()}.png")


def _a_run_over_photos(folder: Path) -> None:
    run_section("getting-started.md", "Your own photos", folder)


def _ran(guide: str, *sections: str) -> Callable[[Path], None]:
    """Return what runs sections that come before one in their guide."""

    def run(folder: Path) -> None:
        for section in sections:
            run_section(guide, section, folder)

    return run


def _a_tracked_training(folder: Path) -> None:
    run_section("tracking.md", "A curve", folder)


def _a_run(folder: Path) -> None:
    run_section("trackers.md", "A run to send", folder)


def _log_of_lm_eval(folder: Path) -> None:
    shutil.copytree(ROOT / "tests" / "interop" / "lm_eval" / "logs", folder / "results")
    shutil.copy(ROOT / "conformance" / "logs" / "made_tasks" / "sums.jsonl", folder)


def _log(system: str, source: str, target: str) -> Callable[[Path], None]:
    """Makes the log of a tool that a reader has."""

    def copy(folder: Path) -> None:
        shutil.copytree(ROOT / "tests" / "interop" / system / "logs" / source, folder / target)

    return copy


def _ray(folder: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")


_READER_HAS = {
    "getting-started.md: Compare two models": _a_run_over_photos,
    "getting-started.md: Look at the answers": _a_run_over_photos,
    "getting-started.md: The same benchmark in Python": _a_run_over_photos,
    "trackers.md: Send a run": _a_run,
    "trackers.md: Samples as Parquet": _a_run,
    "recipes.md: Follow the checkpoints of a training run": _two_checkpoints,
    "recipes.md: Measure a folder of images": _three_signs,
    "judges.md: Judge again": _ran("judges.md", "Judge a task"),
    "judges.md: Measure how well judges agree": _ran("judges.md", "Judge a task", "Judge again"),
    "python.md: Reading a run": _ran("python.md", "Evaluating"),
    "importing.md: Compare it with your own run": _log_of_lm_eval,
    "importing.md: EvalScope": _log("evalscope", "0.17", "outputs/20261123_123111"),
    "importing.md: Import a log": _log_of_lm_eval,
    "importing.md: Inspect": _log("inspect_ai", "eval", "logs"),
    "importing.md: VLMEvalKit": _log("ulmeval", "xlsx/speaker", "outputs/speaker"),
    "runs.md: Checking a run folder": _ran("runs.md", "Looking at a run"),
    "runs.md: Partial results": _ran("runs.md", "Looking at a run"),
    "runs.md: Resuming": _ran("runs.md", "Looking at a run"),
    "runs.md: Running it again": _ran("runs.md", "Looking at a run"),
    "runs.md: The HTML report": _ran("runs.md", "Looking at a run"),
    "scale.md: Ray": _ray,
    "scale.md: Slurm": _ray,
    "statistics.md: Different samples": _ran("statistics.md", "Compare models"),
    "statistics.md: A gate for training and CI": _ran("statistics.md", "Compare models"),
    "statistics.md: How many samples you need": _ran("statistics.md", "Compare models"),
    "statistics.md: Look at the samples": _ran("statistics.md", "Compare models"),
    "statistics.md: Many models": _ran("statistics.md", "Compare models"),
    "tracking.md: A gate": _a_tracked_training,
}
"""What the reader of a section has before it begins."""


def steps() -> Iterator[object]:
    for guide in GUIDES:
        for section in dict.fromkeys(block.section for block in blocks(guide) if block.is_run):
            named = f"{guide}: {section}"
            system = _NEEDS_SYSTEM.get(named, _NEEDS_SYSTEM.get(guide))
            yield pytest.param(
                guide, section, id=named, marks=[pytest.mark.needs_system(system)] if system is not None else []
            )


@pytest.mark.slow
@pytest.mark.parametrize(("guide", "section"), list(steps()))
def test_what_a_section_says_is_so(guide: str, section: str, tmp_path: Path) -> None:
    _READER_HAS.get(f"{guide}: {section}", lambda folder: None)(tmp_path)
    run_section(guide, section, tmp_path)


@pytest.mark.parametrize("guide", _RUN_THROUGHOUT)
def test_no_block_is_only_shown(guide: str) -> None:
    run = {block.section for block in blocks(guide) if block.is_run}
    for block in blocks(guide):
        assert block.is_run or block.title, block.body
        assert block.section in run or block.section == "top", f"the files of {block.section!r} are never used"


def test_the_container_file_installs_what_there_is() -> None:
    steps = [line for line in (ROOT / "Containerfile").read_text().splitlines() if line and line[0] not in "# \t"]
    assert {step.split()[0] for step in steps} <= {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "ENTRYPOINT", "CMD"}
    text = "\n".join(steps)
    (named,) = re.findall(r"'\.\[([\w,-]+)\]'", text)
    assert {"vision", "ray"} <= set(named.split(",")) <= extras()
    copied = {name for step in steps if step.startswith("COPY") for name in step.split()[1:-1]}
    kept = {line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == {name for name in copied if (ROOT / name).exists()}
    assert {name.removeprefix("./") for name in copied} == kept, "what is copied must not be ignored"


# --- pages that must not drift ----------------------------------------------------------------------------------------


def test_the_dialect_of_the_guide_is_the_one_that_is_tested() -> None:
    section = "A dialect of task YAML"
    written = {block.title: block.body for block in blocks("extending.md") if block.section == section}
    assert written
    for name, body in written.items():
        assert (DOCS.parent / "tests" / "toy_dialect" / name).read_text(encoding="utf-8") == body


_LINKED_TO_SYSTEMS = pytest.param(
    "coming-from.md", marks=pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval")
)


@pytest.mark.parametrize(
    "guide",
    [
        *(guide for guide in GUIDES if guide != "coming-from.md"),
        "differences.md",
        "fields.md",
        "metrics.md",
        "options.md",
        _LINKED_TO_SYSTEMS,
    ],
)
def test_links_lead_somewhere(guide: str) -> None:
    text = (DOCS / guide).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert ((DOCS / guide).parent / target).exists(), target
