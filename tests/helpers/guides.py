"""The blocks of a guide, and a place where its commands are run.

A fenced block with a title is a file. In a ``console`` block a line that begins with ``$`` is a command; it must end
well and its output must hold every line that follows it, in order, where ``…`` stands for anything and blanks count as
one. In an ``sh`` block every line is a command of another tool, and of a workflow of GitHub the steps are run.

What this machine lacks has a stand-in. ``http://localhost:8000/v1`` is a server that answers questions about capitals
and grades such answers; ``Qwen/Qwen2.5-VL-3B-Instruct`` is the small model of the library; ``sbatch`` and ``srun`` are
scripts that do here what Slurm does on its nodes; ``vllm`` has vLLM's command line and a toy model. A quantisation
whose package is missing must get as far as that, and the run is then repeated in half precision.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.helpers.prepared_start import COMMAND

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TINY_VLM = ROOT / "src" / "polymeter" / "library" / "tiny_vlm"
SERVER = "http://localhost:8000/v1"
CHECKPOINT = "Qwen/Qwen2.5-VL-3B-Instruct"
WORKFLOWS = ".github/workflows/"
_STAND_INS = ROOT / "tests" / "docs" / "stand_ins"
_MISSING_PACKAGE = re.compile(r"The package '(?P<name>[\w.]+)', needed by .*, is not installed\.")
_FENCE = re.compile(
    r"^```(?P<language>\w+)?(?:[ ]+title=\"(?P<title>[^\"]+)\")?[ ]*\n(?P<body>.*?)^```[ ]*$", re.M | re.S
)
_LIMIT_S = 240
_CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi", "Peru": "Lima"}
_RUN_AS = {
    ("python", "-m", "lmms_eval"): ("polymeter", "python", "-m", "lmms_eval"),
    ("python", "-m", "lm_eval"): ("polymeter", "python", "-m", "lm_eval"),
    ("lm_eval",): ("polymeter", "lm-eval"),
    ("evalscope",): ("polymeter", "evalscope"),
    ("python", "run.py"): ("polymeter", "ulmeval"),
    ("python", "evaluate.py"): ("polymeter", "ulmeval", "evaluate"),
}
"""Commands of other systems, and how a guide says to run them here."""
_REGISTERED = {"Painter": ("--model-path", "mine/painter.py", "--include-path", "mine")}
"""What a system finds in tables of its own package, and how a guide says to name it here."""
_READ_ONLY = ("python3 -m venv", ". .venv/bin/activate", "vllm serve", "hf download", "git clone", "cd ")
"""Commands that install, fetch or serve something, which a test does not do: their syntax is all that is checked."""
_NOT_HERE = {"quantization=": "requires bitsandbytes"}
"""An argument that needs what this machine has not, and what the run says when it gets as far as that."""


@dataclass(frozen=True)
class Block:
    """A fenced block, and the section it stands in."""

    section: str
    language: str
    title: str | None
    body: str

    @property
    def is_run(self) -> bool:
        """Whether it holds commands that a test runs."""
        return self.language in ("console", "sh") or (self.title or "").startswith(WORKFLOWS)


def blocks(guide: str) -> list[Block]:
    """All fenced blocks of a page below ``docs``, in order."""
    text = (DOCS / guide).read_text(encoding="utf-8")
    heads = [(found.start(), found[1]) for found in re.finditer(r"^##+ (.+)$", text, re.M)]
    made = []
    for found in _FENCE.finditer(text):
        above = [name for place, name in heads if place < found.start()]
        section = above[-1] if above else "top"
        made.append(Block(section, found["language"] or "", found["title"], found["body"]))
    return made


def commands(body: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines it is said to print. ``\\`` goes on with the next line."""
    for part in re.split(r"^\$ ", body.replace("\\\n", " "), flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command.strip(), [line for line in output.splitlines() if line.strip()]


def shell_lines(body: str) -> Iterator[str]:
    """The commands of an ``sh`` block. ``\\`` goes on with the next line."""
    yield from filter(None, map(str.strip, body.replace("\\\n", " ").splitlines()))


def run_section(guide: str, section: str, folder: Path) -> None:
    """Write the files of a guide as far as a section, and run the section's commands."""
    everything = blocks(guide)
    for script in re.findall(r"\]\(([\w-]+\.sbatch)\)", (DOCS / guide).read_text(encoding="utf-8")):
        shutil.copy(DOCS / script, folder)
    last = max(place for place, block in enumerate(everything) if block.section == section)
    with ExitStack() as stack:
        text = "".join(block.body for block in everything[: last + 1])
        server = stack.enter_context(OpenAIStub(_answered)).base_url if SERVER in text else SERVER
        place = Workplace(folder, server)
        for block in reversed(everything[: last + 1]):
            place.write(block)  # a file that the guide changes begins as it is first shown
        for block in (block for block in everything if block.section == section):
            place.follow(block)


@dataclass(frozen=True)
class Workplace:
    """Where the reader of a guide works.

    Attributes:
        folder: The working directory.
        server: What stands in for ``SERVER``.
    """

    folder: Path
    server: str = SERVER

    def write(self, block: Block) -> None:
        """Write the file that a block is, if it is one; a script's syntax is checked."""
        if not block.title:
            return
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.body.replace(SERVER, self.server), encoding="utf-8")
        if block.language in ("bash", "sh"):
            subprocess.run(["bash", "-n", str(path)], check=True)

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        self.write(block)
        if block.language == "console":
            for command, expected in commands(block.body):
                check(self.call(command), expected, command)
        elif block.language == "sh" and not block.title:
            for line in shell_lines(block.body):
                self.call_other(line)
        elif block.title and block.title.startswith(WORKFLOWS):
            for command in workflow_commands(block.body):
                self.call_other(command)

    def call(self, command: str) -> str:
        """Run a command that must end well; returns what it said."""
        words = shlex.split(command.replace(SERVER, self.server))
        assert words[0] in ("polymeter", "python", "sbatch"), f"only polymeter, python and sbatch are run: {command}"
        redirect = None
        if ">" in words:
            redirect = self.folder / words[words.index(">") + 1]
            words = words[: words.index(">")]
        code, said = self._run(words)
        for argument, lack in _NOT_HERE.items():
            if code and argument in command and lack in said:
                value = next(word for word in words if word.startswith(argument))
                code, said = self._run(["dtype=bfloat16" if word == value else word for word in words] + ["--restart"])
        missing = _MISSING_PACKAGE.search(said) if code else None
        if missing is not None:
            pytest.importorskip(missing["name"])
        assert code == 0, f"$ {command}\n{said}"
        if redirect is not None:
            redirect.write_text(said, encoding="utf-8")
        return said

    def call_other(self, command: str) -> None:
        """Run or check a command of another tool.

        A command of a system is run as the guide says to run it here; ``pip install`` must name extras that there are.
        What installs, fetches or serves is only read.
        """
        words = shlex.split(command)
        for theirs, ours in _RUN_AS.items():
            if tuple(words[: len(theirs)]) == theirs:
                named = [word for name in words for word in _REGISTERED.get(name, ())]
                self.call(shlex.join([*ours, *words[len(theirs) :], *named]))
                return
        if words[:2] == ["pip", "install"]:
            assert set(re.findall(r"[\[,](\w[\w-]*)", " ".join(words))) <= extras(), command
        elif words[0] == "make":
            subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        elif words[0] in ("polymeter", "python"):
            self.call(command)
        else:
            assert command.startswith(_READ_ONLY), f"nothing says how to check this: {command}"
            subprocess.run(["bash", "-n", "-c", command], check=True)

    def _run(self, words: list[str]) -> tuple[int, str]:
        environment = {
            **os.environ,
            "COLUMNS": "160",
            "OPENAI_API_KEY": "none",
            "PATH": f"{_STAND_INS}{os.pathsep}{os.environ['PATH']}",
            "POLYMETER_WEIGHTS": f"{CHECKPOINT}={TINY_VLM}",
            "PYTHON": sys.executable,
            "RAY_AUTH_TOKEN": "0123456789abcdef" * 4,  # else Ray writes one into the home folder
            "TMPDIR": str(self.folder / "node"),
            "XDG_CONFIG_HOME": str(self.folder / "nobody"),
        }
        environment.pop("POLYMETER_SETTINGS", None)
        (self.folder / "node").mkdir(exist_ok=True)
        if words[:2] == ["polymeter", "view"]:
            return self._view(words[2:], environment)
        is_ours = words[0] == "polymeter"
        done = subprocess.run(
            [*(COMMAND if is_ours else (str(_STAND_INS / words[0]),)), *words[1:]],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        return done.returncode, done.stdout

    def _view(self, words: list[str], environment: dict[str, str]) -> tuple[int, str]:
        """Start the viewer, open its first page in place of a browser, and end it with Ctrl-C."""
        with subprocess.Popen(
            [*COMMAND, "view", *words, "--no-open"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as viewer:
            assert viewer.stdout is not None
            said = viewer.stdout.readline()
            if address := re.search(r"http://\S+", said):
                urllib.request.urlopen(address[0]).close()
            viewer.send_signal(signal.SIGINT)
            said += viewer.communicate(timeout=_LIMIT_S)[0]
        return viewer.returncode, said


def check(said: str, expected: list[str], command: str) -> None:
    """Fail unless the lines were said, in order."""
    place, flat = 0, " ".join(said.split())
    for line in expected:
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in line.split("…"))
        found = re.compile(pattern).search(flat, place)
        assert found, f"$ {command}\nlacks: {line}\nsaid:\n{said}"
        place = found.end()


def workflow_commands(body: str) -> list[str]:
    """The commands of all steps of a workflow."""
    jobs = yaml.safe_load(body)["jobs"].values()
    return [line for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()]


def extras() -> set[str]:
    """The names of Polymeter's extras."""
    section = re.search(
        r"^\[project\.optional-dependencies\]\n(.*?)^\[", (ROOT / "pyproject.toml").read_text(), re.M | re.S
    )
    assert section
    return set(re.findall(r"^([\w-]+) = ", section[1], re.M))


def _answered(received: Received) -> object:
    """An answer to a question about a capital, or the grade of such an answer."""
    if received.path.endswith("/models"):
        return {"object": "list", "data": [{"id": "my-model"}]}
    content = received.body["messages"][-1]["content"]
    text = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
    capital = next((capital for country, capital in _CAPITALS.items() if country in text), "unknown")
    if "<candidate>" in text:
        candidate = text.partition("<candidate>")[2].partition("</candidate>")[0].strip()
        return chat("A" if candidate == capital else "B")
    return chat(capital)
