"""``polymeter fetch`` and ``run`` with datasets of ModelScope, as EvalScope's adapters read them: its own client asks a
hub on this machine.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.fake_modelscope import ModelScope, fake_modelscope
from tests.helpers.fetching import Machine

_ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(name="colours", dataset_id="made/colours", subset_list={subsets}, eval_split="test",
                    metric_list=["AverageAccuracy"], prompt_template="{{query}}")
class ColoursAdapter(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def match(self, gold, pred):
        return float(gold == pred)

{more}
"""
_CONFIG = """\
- config_name: {name}
  data_files:
  - split: test
    path: {name}/test.jsonl
"""


def lines(n: int, answer: str = "red") -> bytes:
    """Rows as JSON lines."""
    return "".join(json.dumps({"question": f"patch {i}", "answer": answer}) + "\n" for i in range(n)).encode()


def card(*names: str) -> bytes:
    """A dataset card with configurations."""
    return f"---\nconfigs:\n{''.join(_CONFIG.format(name=name) for name in names)}---\n# Colours\n".encode()


@pytest.fixture
def hub() -> Iterator[ModelScope]:
    with fake_modelscope() as hub:
        yield hub


@pytest.fixture
def machine(tmp_path: Path, hub: ModelScope) -> Machine:
    few = {"MODELSCOPE_API_MAX_RETRIES": "1", "MODELSCOPE_DOWNLOAD_MAX_RETRIES": "1"}
    machine = Machine(tmp_path, {"MODELSCOPE_ENDPOINT": hub.url, **few})
    add_adapter(machine, "['default']")
    return machine


def add_adapter(machine: Machine, subsets: str, more: str = "") -> None:
    machine.add("colours/colours_adapter.py", _ADAPTER.format(subsets=subsets, more=more))


def test_what_was_fetched_is_enough_without_a_network(machine: Machine, hub: ModelScope) -> None:
    files = {"README.md": card("old", "new", "other"), "old/test.jsonl": lines(3), "new/test.jsonl": lines(4)}
    commit = hub.add("made/colours", {**files, "other/test.jsonl": lines(900)})
    add_adapter(machine, "['old', 'new']")
    size = sum(map(len, files.values()))
    said = machine.fetch("colours", "--dry-run")
    assert f"made/colours at {commit[:10]} from ModelScope  {size} B, {size} B to download" in said.stdout, said.stderr
    done = machine.fetch("colours", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert "INFO" not in done.stderr, "the client's own log"
    (dataset,) = document["datasets"]
    assert (dataset["hub"], dataset["commit"], dataset["n_files"]) == ("modelscope", commit, 3)
    assert document["n_samples"] == {"colours": 7}
    assert document["revisions"] == {"colours": {"made/colours": commit}}
    assert hub.sent == {name: len(content) for name, content in files.items()}, "more was sent than is read, or twice"
    assert "here" in machine.fetch("colours").stdout
    listed = json.loads(machine.polymeter("tasks", "colours", "--include-path", "tasks", "--json").stdout)
    assert listed["task"]["is_cached"] is True
    hub.asked.clear()
    done = machine.run("--tasks", "colours", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert not hub.asked
    assert machine.task_of()["dataset_revisions"] == {"made/colours": commit}
    assert machine.task_of()["n_samples"] == 7


def test_a_download_that_was_killed_goes_on(machine: Machine, hub: ModelScope) -> None:
    content = lines(1, answer="red") + b"".join(
        json.dumps({"question": os.urandom(40_000).hex(), "answer": "red"}).encode() + b"\n" for _ in range(60)
    )
    hub.add("made/colours", {"test.jsonl": content})
    hub.waits_after = len(content) // 2
    words = [sys.executable, "-m", "polymeter", "fetch", "--include-path", "tasks", "colours"]
    fetching = subprocess.Popen(words, **machine.surroundings(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(part.stat().st_size for part in machine.folder.rglob("*.incomplete")):
        assert time.monotonic() < deadline
        assert fetching.poll() is None, fetching.communicate()
        time.sleep(0.02)
    fetching.send_signal(signal.SIGKILL)
    fetching.communicate()
    hub.go_on()
    before = hub.sent["test.jsonl"]
    done = machine.fetch("colours")
    assert done.returncode == 0, done.stderr
    assert hub.starts[-1] > 0, "what had arrived was sent again"
    assert hub.sent["test.jsonl"] - before < len(content)
    assert machine.run("--tasks", "colours", "--offline", has_network=False).returncode == 0
    assert machine.task_of()["n_samples"] == 61


def test_a_file_with_another_content_is_refused(machine: Machine, hub: ModelScope) -> None:
    hub.add("made/colours", {"test.jsonl": lines(5)})
    hub.damaged.add("test.jsonl")
    done = machine.fetch("colours")
    assert done.returncode == 1
    assert "colours: Fetching files of dataset made/colours" in done.stderr
    assert "0 of 1 tasks are ready" in done.stdout
    hub.damaged.clear()
    assert machine.fetch("colours").returncode == 0


def test_a_revision_is_read_and_recorded(machine: Machine, hub: ModelScope) -> None:
    first = hub.add("made/colours", {"test.jsonl": lines(5)})
    newest = hub.add("made/colours", {"test.jsonl": lines(7)})
    for commit, n in ((first, 5), (newest, 7)):
        words = ("--revision", f"made/colours={commit}")
        assert machine.fetch("colours", *words).returncode == 0
        done = machine.run("--tasks", "colours", *words, "--offline", output=commit, has_network=False)
        assert done.returncode == 0, done.stderr
        task = machine.task_of(commit)
        assert (task["n_samples"], task["dataset_revisions"]) == (n, {"made/colours": commit})


def test_a_run_goes_on_with_the_commit_that_it_began_with(machine: Machine, hub: ModelScope) -> None:
    first = hub.add("made/colours", {"test.jsonl": lines(5), "test-more.jsonl": lines(1)})
    assert machine.run("--tasks", "colours").returncode == 0
    manifest = machine.folder / "run" / "run.json"
    stored = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**stored, "status": "interrupted"}))
    hub.add("made/colours", {"test.jsonl": lines(7, "blue")})
    assert machine.run("--tasks", "colours", output="newest").returncode == 0
    assert machine.task_of("newest")["n_samples"] == 7
    done = machine.polymeter("resume", "run")
    assert done.returncode == 0, done.stderr
    assert machine.task_of()["dataset_revisions"] == {"made/colours": first}


def test_files_that_a_branch_has_removed_are_not_read_any_more(machine: Machine, hub: ModelScope) -> None:
    hub.add("made/colours", {"test-00000-of-00002.jsonl": lines(5), "test-00001-of-00002.jsonl": lines(5)})
    assert machine.fetch("colours").returncode == 0
    hub.add("made/colours", {"test-00000-of-00001.jsonl": lines(6)})
    assert machine.fetch("colours").returncode == 0
    assert machine.run("--tasks", "colours", "--offline", has_network=False).returncode == 0
    assert machine.task_of()["n_samples"] == 6


def test_an_adapter_that_loads_by_itself_gets_the_files_that_it_asks_for(machine: Machine, hub: ModelScope) -> None:
    files = {"some/a.jsonl": lines(3), "large.jsonl": lines(900)}
    commit = hub.add("made/colours", files)
    asked = "{'default': ['some/a.jsonl']}"
    own = f"    def load(self, **kwargs):\n        return super().load_with_snapshot({asked}, **kwargs)"
    add_adapter(machine, "['default']", own)
    said = machine.fetch("colours")
    assert said.returncode == 0, said.stderr
    assert "up to " in said.stdout
    assert list(hub.sent) == ["some/a.jsonl"]
    done = machine.run("--tasks", "colours", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert machine.task_of()["dataset_revisions"] == {"made/colours": commit}


def test_without_the_files_and_a_network_it_is_said_what_to_do(machine: Machine, hub: ModelScope) -> None:
    done = machine.run("--tasks", "colours", "--offline", has_network=False)
    assert done.returncode == 2
    assert "Dataset made/colours of ModelScope, revision master, is not on this machine" in done.stderr
    assert "polymeter fetch" in done.stderr
    hub.add("made/colours", {"README.md": card("old", "new"), "old/test.jsonl": lines(3), "new/test.jsonl": lines(4)})
    add_adapter(machine, "['old']")
    assert machine.fetch("colours").returncode == 0
    add_adapter(machine, "['old', 'new']")
    done = machine.run("--tasks", "colours", "--offline", has_network=False)
    assert done.returncode == 2
    assert "new/test.jsonl" in done.stderr


def test_a_hub_that_cannot_be_reached_leaves_what_is_here(machine: Machine, hub: ModelScope) -> None:
    hub.add("made/colours", {"test.jsonl": lines(5)})
    assert machine.fetch("colours").returncode == 0
    machine.environment["MODELSCOPE_ENDPOINT"] = "http://127.0.0.1:9"
    done = machine.run("--tasks", "colours")
    assert done.returncode == 0, done.stderr
    assert "The copy on this machine is read." in done.stderr


def test_a_dataset_that_is_not_given_is_told_with_what_to_do(machine: Machine, hub: ModelScope) -> None:
    done = machine.fetch("colours")
    assert done.returncode == 2
    assert "ModelScope has no dataset made/colours" in done.stderr
    assert "--data made/colours=" in done.stderr
    hub.is_private = True
    done = machine.fetch("colours")
    assert done.returncode == 2
    assert "private or gated" in done.stderr
    assert "MODELSCOPE_API_TOKEN" in done.stderr


def test_a_dataset_with_a_program_of_its_own_needs_modelscopes_loader(machine: Machine, hub: ModelScope) -> None:
    hub.add("made/colours", {"colours.py": b"raise SystemExit", "data.zip": b""})
    said = machine.fetch("colours", "--dry-run")
    assert "colours  its code chooses what it downloads; not all sizes are known in advance" in said.stdout
    done = machine.run("--tasks", "colours")
    assert done.returncode == 2
    assert "read by a program of its own (colours.py)" in done.stderr
    assert "modelscope[datasets]" in done.stderr


def test_local_data_needs_no_fetching(machine: Machine) -> None:
    (machine.folder / "test.jsonl").write_bytes(lines(2))
    done = machine.fetch("colours", "--data", "made/colours=test.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["datasets"], document["n_samples"]) == ([], {"colours": 2})
