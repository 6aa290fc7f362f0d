"""``SIGTERM`` and ``SIGHUP`` end a run like Ctrl-C, wherever it is; what a killed run left half-written is swept."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import COMMAND, capitals, polymeter

RUN = ("run", "--tasks", "capitals", "--include-path", "tasks", "-o", "run")
NEVER_DONE = ("-m", "mock", "-a", "delay_ms=600000")
SLOW_IMPORT = """\
import sys, time

print("importing", file=sys.stderr, flush=True)
time.sleep(600)


def text(doc):
    return doc["country"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working directory with a task of three samples."""
    capitals(tmp_path / "tasks")
    return tmp_path


def started(*words: str, cwd: Path, until: str, wrapper: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
    """A command that has come so far as to print some line."""
    process = subprocess.Popen(
        [*wrapper, *COMMAND, *words],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)],
        **options,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if until in line:
            return process
    raise AssertionError(f"{until!r} never came: {lines}")


def ended(process: subprocess.Popen[str], number: signal.Signals) -> str:
    """What a process says that gets a signal and ends."""
    process.send_signal(number)
    return process.communicate(timeout=60)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_interrupted_with_the_command_that_resumes_it(
    place: Path, number: signal.Signals
) -> None:
    process = started(*RUN, *NEVER_DONE, cwd=place, until="3 samples")
    said = ended(process, number)
    assert process.returncode == 128 + number, said
    assert "polymeter resume run" in said
    assert "Traceback" not in said
    assert json.loads((place / "run" / "run.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_modules_are_imported_ends_the_command_in_order(place: Path, number: signal.Signals) -> None:
    yaml = place / "tasks" / "capitals.yaml"
    yaml.write_text(yaml.read_text().replace('"What is the capital of {{country}}?"', "!function utils.text"))
    (place / "tasks" / "utils.py").write_text(SLOW_IMPORT)
    process = started(*RUN, "-m", "mock", cwd=place, until="importing")
    said = ended(process, number)
    assert process.returncode == 128 + number, said
    assert "Interrupted" in said
    assert "Traceback" not in said


def test_a_signal_while_a_model_is_loaded_ends_the_run_as_interrupted(place: Path) -> None:
    (place / "slow.py").write_text(
        "import sys, time\nimport polymeter.extend as pm\n\n"
        "@pm.register_model('slow')\nclass Slow(pm.AsyncModel):\n"
        "    traits = pm.ModelTraits(family='slow')\n    identity = {'backend': 'slow'}\n\n"
        "    def load(self):\n"
        "        print('loading', file=sys.stderr, flush=True)\n        time.sleep(600)\n\n"
        "    async def respond(self, request):\n        return pm.Response((pm.Output('x'),))\n"
    )
    process = started(*RUN, "-m", "slow", "--import", "slow.py", cwd=place, until="loading")
    said = ended(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "polymeter resume run" in said
    assert "Traceback" not in said
    assert json.loads((place / "run" / "run.json").read_text())["status"] == "interrupted"


def test_a_signal_while_an_endpoint_does_not_answer_the_first_question_ends_the_run(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        words = (*RUN, "-m", "openai:m", "--model-args", f"base_url={url}")
        process = started(*words, cwd=place, until="asking the endpoint", env={**os.environ, "OPENAI_API_KEY": "x"})
        connection, _ = silent.accept()
        with connection:
            said = ended(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "Traceback" not in said


def test_a_signal_before_the_first_sample_of_a_resumed_run_says_how_to_resume_it(place: Path) -> None:
    ended(started(*RUN, *NEVER_DONE, cwd=place, until="3 samples"), signal.SIGINT)
    process = started("resume", "run", cwd=place, until="planning")
    said = ended(process, signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "polymeter resume run" in said
    assert "Traceback" not in said


def test_a_second_signal_ends_a_process_at_once(place: Path) -> None:
    yaml = place / "tasks" / "capitals.yaml"
    yaml.write_text(yaml.read_text().replace('"What is the capital of {{country}}?"', "!function utils.text"))
    says = 'print("importing", file=sys.stderr, flush=True)'
    stubborn = SLOW_IMPORT.replace(
        f"{says}\ntime.sleep(600)",
        f"try:\n    {says}\n    time.sleep(600)\nexcept KeyboardInterrupt:\n"
        "    print('caught', file=sys.stderr, flush=True)\n    time.sleep(600)",
    )
    assert "caught" in stubborn
    (place / "tasks" / "utils.py").write_text(stubborn)
    process = started(*RUN, "-m", "mock", cwd=place, until="importing")
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    assert any("caught" in line for line in process.stderr)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)


@pytest.mark.control
def test_a_signal_that_is_ignored_when_the_run_starts_stays_ignored(place: Path) -> None:
    capitals(place / "tasks", n_rows=4)
    words = (*RUN, "-m", "mock", "-a", "delay_ms=300", "-b", "1")
    process = started(*words, cwd=place, until="4 samples", wrapper=("nohup",))
    said = ended(process, signal.SIGHUP)
    assert process.returncode == 0, said
    assert json.loads((place / "run" / "run.json").read_text())["status"] == "complete"


DEADLY = """\
import os
import signal

real = os.replace


def replace(source, target, **options):
    if os.environ.get("DIES_AT", "?") in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(source, target, **options)


os.replace = os.rename = replace
"""


def test_what_a_killed_run_left_half_written_is_swept_when_it_is_resumed(place: Path) -> None:
    (place / "tasks" / "show.yaml").write_text(
        "task: show\ndataset_path: json\ndataset_kwargs: {data_files: {test: show.jsonl}}\ntest_split: test\n"
        "doc_to_visual: !function utils.visual\ndoc_to_text: '{{q}}'\ndoc_to_target: a\n"
        "generation_kwargs: {max_new_tokens: 4}\nmetric_list: [{metric: exact_match}]\n"
    )
    (place / "tasks" / "show.jsonl").write_text('{"q": "x", "a": "x"}\n')
    (place / "tasks" / "utils.py").write_text(
        "from PIL import Image\n\ndef visual(doc):\n    return [Image.effect_noise((600, 600), 80).convert('RGB')]\n"
    )
    (place / "deadly.py").write_text(DEADLY)
    words = ("run", "-m", "mock", "-a", "mode=echo", "--tasks", "show", "--include-path", "tasks", "-o", "run")
    killed = polymeter(*words, "--import", "deadly.py", cwd=place, env={"DIES_AT": "/media/"})
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    media = place / "run" / "media"
    left = [path for path in media.rglob("*") if path.is_file()]
    assert left, "the run was killed before it wrote anything"
    resumed = polymeter("resume", "run", cwd=place)
    assert resumed.returncode == 0, resumed.stderr
    assert not [path for path in left if path.exists()]
    assert not [name for _, _, names in os.walk(media) for name in names if name.startswith(".")]
    assert [path for path in media.rglob("*") if path.is_file()], "the preview is written after all"
