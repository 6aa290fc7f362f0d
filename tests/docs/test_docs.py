"""The user's guide is run: its files are written, its commands are called, and what it says they print is looked for.

A fenced block with a title is a file. In a ``console`` block a line that begins with ``$`` is a command; it must end
well and its output must hold every line that follows it, in order, where ``…`` stands for anything and blanks count as
one.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from polymeter.core.options import RunOptions
from polymeter.formats.task_yaml.config import TaskConfig
from polymeter.metrics.defaults import DEFAULT_METRICS
from tests.helpers.metrics import VALUES

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = (
    "tasks.md",
    "adapters.md",
    "image-generation.md",
    "models.md",
    "judges.md",
    "runs.md",
    "settings.md",
    "extending.md",
    "python.md",
    "json.md",
    "../README.md",
)

_MISSING_PACKAGE = re.compile(r"The package '(?P<name>[\w.]+)', needed by .*, is not installed\.")
_FENCE = re.compile(
    r"^```(?P<language>\w+)?(?:[ ]+title=\"(?P<title>[^\"]+)\")?[ ]*\n(?P<body>.*?)^```[ ]*$", re.M | re.S
)
_MINUTE_S = 60

# Guides, and sections of guides, that run files written for a system.
_NEEDS_SYSTEM = {
    "adapters.md": "evalscope",
    "image-generation.md: A dataset class": "ulmeval",
    "image-generation.md: A model wrapper": "ulmeval",
    "image-generation.md: ULMEvalKit's own command line": "ulmeval",
    "tasks.md: Submission files": "lmms_eval",
    "models.md: A wrapper written for lmms-eval: `lmms`": "lmms_eval",
}


@dataclass(frozen=True)
class Block:
    """A fenced block, and the section it stands in."""

    section: str
    language: str
    title: str | None
    body: str


def blocks(guide: str) -> list[Block]:
    text = (DOCS / guide).read_text(encoding="utf-8")
    heads = [(found.start(), found[1]) for found in re.finditer(r"^##+ (.+)$", text, re.M)]
    made = []
    for found in _FENCE.finditer(text):
        above = [name for place, name in heads if place < found.start()]
        section = above[-1] if above else "top"
        made.append(Block(section, found["language"] or "", found["title"], found["body"]))
    return made


def steps() -> Iterator[object]:
    for guide in GUIDES:
        for section in dict.fromkeys(block.section for block in blocks(guide) if block.language == "console"):
            named = f"{guide}: {section}"
            system = _NEEDS_SYSTEM.get(named, _NEEDS_SYSTEM.get(guide))
            yield pytest.param(
                guide, section, id=named, marks=[pytest.mark.needs_system(system)] if system is not None else []
            )


@pytest.mark.parametrize(("guide", "section"), list(steps()))
def test_what_a_section_says_is_so(guide: str, section: str, tmp_path: Path) -> None:
    everything = blocks(guide)
    last = max(place for place, block in enumerate(everything) if block.section == section)
    for block in everything[: last + 1]:
        if block.title:
            path = tmp_path / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
    for block in everything:
        if block.section == section and block.language == "console":
            for command, expected in commands(block.body):
                said = call(command, tmp_path)
                check(said, expected, command)


def commands(body: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines it is said to print. ``\\`` goes on with the next line."""
    for part in re.split(r"^\$ ", body.replace("\\\n", " "), flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command.strip(), [line for line in output.splitlines() if line.strip()]


def call(command: str, folder: Path) -> str:
    words = shlex.split(command)
    assert words[0] in ("polymeter", "python"), f"only polymeter and python are run: {command}"
    redirect = None
    if ">" in words:
        redirect = folder / words[words.index(">") + 1]
        words = words[: words.index(">")]
    module = [sys.executable, "-m", "polymeter"] if words[0] == "polymeter" else [sys.executable]
    environment = {
        **os.environ,
        "COLUMNS": "160",
        "XDG_CONFIG_HOME": str(folder / "nobody"),
    }
    environment.pop("POLYMETER_SETTINGS", None)
    done = subprocess.run(
        [*module, *words[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3 * _MINUTE_S,
        check=False,
    )
    missing = _MISSING_PACKAGE.search(done.stdout) if done.returncode else None
    if missing is not None:
        pytest.importorskip(missing["name"])
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    if redirect is not None:
        redirect.write_text(done.stdout, encoding="utf-8")
    return done.stdout


def check(said: str, expected: list[str], command: str) -> None:
    place, flat = 0, " ".join(said.split())
    for line in expected:
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in line.split("…"))
        found = re.compile(pattern).search(flat, place)
        assert found, f"$ {command}\nlacks: {line}\nsaid:\n{said}"
        place = found.end()


# --- tables that must not drift --------------------------------------------------------------------------------------


def table(guide: str, section: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    text = (DOCS / guide).read_text(encoding="utf-8")
    body = re.split(r"^##+ ", text.split(f"# {section}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_the_table_of_default_values_is_the_codes() -> None:
    written = {(row[0].strip("`"), row[1].strip("`")): row[2] for row in table("tasks.md", "What a metric computes")}
    assert written == VALUES


def test_the_default_metrics_are_the_codes() -> None:
    text = (DOCS / "tasks.md").read_text(encoding="utf-8")
    for output_type, names in DEFAULT_METRICS.items():
        listed = " and ".join(f"`{name}`" for name in names)
        assert f"`{output_type}`: {listed}" in text


def test_every_task_field_is_explained() -> None:
    names = {name for row in table("tasks.md", "All fields") for name in re.findall(r"`(\w+)`", row[0])}
    fields = {info.alias or name for name, info in TaskConfig.model_fields.items()}
    assert names - {"group", "filters", "include"} == fields


def test_every_option_from_python_is_an_option() -> None:
    names = {name for row in table("python.md", "Options") for name in re.findall(r"`(\w+)`", row[0])}
    assert names == set(RunOptions.model_fields)


def test_the_system_of_the_guide_is_the_one_that_is_tested() -> None:
    source = DOCS.parent / "tests" / "toy_system"
    written = {block.title: block.body for block in blocks("extending.md") if block.section == "A system"}
    files = [path for path in source.rglob("*") if path.suffix in (".py", ".toml")]
    assert written == {path.relative_to(source).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("guide", [*GUIDES, "differences.md"])
def test_links_lead_somewhere(guide: str) -> None:
    text = (DOCS / guide).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert ((DOCS / guide).parent / target).exists(), target
