"""Code that a model wrote keeps within its folder, its memory and its share of the disk, whatever is around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

YAML = """\
task: programs
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
unsafe_code: true
doc_to_text: "{{name}}"
doc_to_target: "assert done"
metric_list: [{metric: pass@1, memory_mb: 256}]
"""
HONEST = {
    copy: f"import os, shutil\nopen('a', 'w').write('x')\nshutil.{copy}('a', 'b')\ndone = open('b').read() == 'x'"
    for copy in ("copyfile", "copy", "copy2")
}
HONEST["touch"] = (
    "import pathlib\npathlib.Path('a').touch()\npathlib.Path('a').chmod(0o600)\ndone = pathlib.Path('a').exists()"
)
ATTACKS = {
    "mode": "import os\nos.chmod({target!r}, 0o777)\ndone = os.stat({target!r}).st_mode & 0o777 == 0o777",
    "time": "import os\nos.utime({target!r}, (1, 1))\ndone = os.stat({target!r}).st_mtime == 1",
    "opened": "import os\nos.open({target!r}, 3)\ndone = True",
    "memory": "import os\nfile = os.memfd_create('x')\n"
    "for _ in range(30): os.write(file, bytes(10 * 2**20))\ndone = os.fstat(file).st_size > 256 * 2**20",
    "disk": "for i in range(6): open(str(i), 'wb').write(bytes(50 * 2**20))\ndone = True",
    "socket": "import socket\nsocket.socket(socket.AF_UNIX)\ndone = True",
}
"""Programs that pass if they reach what they must not."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system can forbid it")
@pytest.mark.parametrize(
    "path", [os.environ["PATH"], "/nowhere"], ids=["the best walls", "no program that makes walls"]
)
def test_a_hostile_program_reaches_nothing(path: str, tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("kept")
    target.chmod(0o640)
    before = target.stat()
    programs = HONEST | {name: attack.format(target=str(target)) for name, attack in ATTACKS.items()}
    (tmp_path / "programs.yaml").write_text(YAML)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"name": name}) + "\n" for name in programs))
    answers = {str(i): program for i, program in enumerate(programs.values())}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    command = [sys.executable, "-m", "polymeter", "run", "--model", "mock", "-a", "answers=answers.json", "-o", "out"]
    done = subprocess.run(
        [*command, "--tasks", "programs.yaml", "--allow-generated-code"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out/samples/programs.jsonl").read_text().splitlines()]
    passed = {row["doc"]["name"]: row["scores"][0]["value"] for row in rows}
    assert passed == dict.fromkeys(HONEST, 1.0) | dict.fromkeys(ATTACKS, 0.0)
    after = target.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
