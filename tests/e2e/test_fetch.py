"""``polymeter fetch`` and ``--offline``: what tasks read is downloaded once, checked, and enough without a network.

Commands run in processes of their own: the tests' process is offline from its start.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.fake_hub import Hub, fake_hub
from tests.helpers.fetching import Machine
from tests.helpers.file_server import Reply, serve

_TASK = """\
task: {name}
dataset_path: made/colours
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
metric_list:
  - metric: exact_match
{more}
"""


def table(n: int, *answers: str) -> bytes:
    """Rows as a Parquet file."""
    content = io.BytesIO()
    given = answers or ("red",)
    rows = pa.table({"question": [f"patch {i}" for i in range(n)], "answer": [given[i % len(given)] for i in range(n)]})
    pq.write_table(rows, content)
    return content.getvalue()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with fake_hub() as hub:
        yield hub


@pytest.fixture
def machine(tmp_path: Path, hub: Hub) -> Machine:
    machine = Machine(tmp_path, {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_TELEMETRY": "1"})
    add_task(machine, "colours")
    return machine


def add_task(machine: Machine, name: str, more: str = "") -> None:
    machine.add(f"{name}.yaml", _TASK.format(name=name, more=more))


def test_what_was_fetched_is_enough_without_a_network(machine: Machine, hub: Hub) -> None:
    commit = hub.add("made/colours", {"README.md": b"# Colours\n", "data/test-00000-of-00001.parquet": table(5)})
    done = machine.fetch("colours", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["datasets"] == [
        {
            "id": "made/colours",
            "name": None,
            "hub": "huggingface",
            "commit": commit,
            "n_files": 1,
            "n_bytes": len(table(5)),
            "n_bytes_to_download": len(table(5)),
            "is_at_most": False,
            "tasks": ["colours"],
        }
    ]
    assert document["n_samples"] == {"colours": 5}
    assert document["revisions"] == {"colours": {"made/colours": commit}}
    hub.asked.clear()
    done = machine.run("--tasks", "colours", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert not hub.asked
    assert machine.task_of()["dataset_revisions"] == {"made/colours": commit}


def test_the_size_is_told_first_and_nothing_is_fetched_twice(machine: Machine, hub: Hub) -> None:
    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5000)})
    size = f"{len(table(5000)) / 1000:.1f} kB"
    said = machine.fetch("colours", "--dry-run")
    assert f"{size}, {size} to download" in said.stdout, said.stderr
    assert not (machine.folder / "cache" / "datasets").exists()
    before = hub.sent_bytes
    assert machine.fetch("colours").returncode == 0
    assert hub.sent_bytes - before < 2 * len(table(5000)), "the file was sent more than once"
    before = hub.sent_bytes
    said = machine.fetch("colours")
    assert f"{size}, here" in said.stdout
    assert "0 B to download" in said.stdout
    assert hub.sent_bytes == before


def test_a_download_that_broke_off_goes_on(machine: Machine, hub: Hub) -> None:
    content = table(240, *(os.urandom(50_000).hex() for _ in range(240)))  # more than the library keeps in memory
    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": content})
    hub.cut_after = len(content) * 3 // 4
    for _ in range(2):  # the library tries again by itself; a process that was killed would be started again
        if machine.fetch("colours").returncode == 0:
            break
    assert machine.run("--tasks", "colours", "--limit", "3", "--offline", has_network=False).returncode == 0
    assert any(hub.starts), "what had arrived was sent again"


def test_a_file_with_another_content_is_refused(machine: Machine, hub: Hub) -> None:
    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    hub.damaged.add("data/test.parquet")
    done = machine.fetch("colours")
    assert done.returncode == 2
    assert "data/test.parquet of dataset made/colours has arrived with other content than the hub states" in done.stderr
    hub.damaged.clear()
    assert machine.fetch("colours").returncode == 0


def test_a_revision_is_read_and_recorded(machine: Machine, hub: Hub) -> None:
    first = hub.add("made/colours", {"README.md": b"# 1\n", "data/test.parquet": table(5)})
    newest = hub.add("made/colours", {"README.md": b"# 2\n", "data/test.parquet": table(7, "blue")})
    for commit, n in ((first, 5), (newest, 7)):
        words = ("--revision", f"made/colours={commit}")
        assert machine.fetch("colours", *words).returncode == 0
        done = machine.run("--tasks", "colours", *words, "--offline", output=commit, has_network=False)
        assert done.returncode == 0, done.stderr
        task = machine.task_of(commit)
        assert (task["n_samples"], task["dataset_revisions"]) == (n, {"made/colours": commit})
    done = machine.run("--tasks", "colours", output="main")
    assert machine.task_of("main")["dataset_revisions"] == {"made/colours": newest}


def test_without_a_network_a_commit_that_is_not_here_is_missing(machine: Machine, hub: Hub) -> None:
    first = hub.add("made/colours", {"README.md": b"# 1\n", "data/test.parquet": table(5)})
    newest = hub.add("made/colours", {"README.md": b"# 2\n", "data/test.parquet": table(7)})
    assert machine.fetch("colours").returncode == 0
    done = machine.run("--tasks", "colours", "--revision", f"made/colours={first}", "--offline", has_network=False)
    assert done.returncode == 2
    assert f"This machine has commit {newest} of dataset made/colours, not {first}." in done.stderr


def test_a_run_goes_on_with_the_commit_that_it_began_with(machine: Machine, hub: Hub) -> None:
    first = hub.add("made/colours", {"README.md": b"# 1\n", "data/test.parquet": table(5)})
    assert machine.run("--tasks", "colours").returncode == 0
    manifest = machine.folder / "run" / "run.json"
    stored = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**stored, "status": "interrupted"}))
    hub.add("made/colours", {"README.md": b"# 2\n", "data/test.parquet": table(7, "blue")})
    done = machine.polymeter("resume", "run")
    assert done.returncode == 0, done.stderr
    assert machine.task_of()["dataset_revisions"] == {"made/colours": first}


def test_named_files_of_a_repository_are_enough_without_a_network(machine: Machine, hub: Hub) -> None:
    files = {"README.md": b"# x\n", "a/one.parquet": table(3), "b/two.parquet": table(4)}
    hub.add("made/colours", files)
    add_task(machine, "some", "dataset_kwargs: {data_files: {test: b/two.parquet}}")
    done = machine.fetch("some", "--json")
    assert done.returncode == 0, done.stderr
    (dataset,) = json.loads(done.stdout)["datasets"]
    assert (dataset["n_files"], dataset["n_bytes"]) == (1, len(table(4)))
    done = machine.run("--tasks", "some", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert machine.task_of()["n_samples"] == 4


def test_gated_data_is_told_with_what_to_do(machine: Machine, hub: Hub) -> None:
    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    hub.is_gated = True
    done = machine.fetch("colours")
    assert done.returncode == 2
    assert "Dataset made/colours is gated or private" in done.stderr
    assert "hf auth login" in done.stderr


def test_an_unknown_dataset_and_a_misspelt_option_are_told(machine: Machine) -> None:
    done = machine.fetch("colours")
    assert done.returncode == 2
    assert "made/colours" in done.stderr
    done = machine.fetch("colours", "--revision", "made/colours")
    assert "'made/colours' is not of the form ID=REVISION." in done.stderr


def test_a_revision_of_a_dataset_that_no_task_reads_is_told(machine: Machine, hub: Hub) -> None:
    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    for done in (
        machine.fetch("colours", "--revision", "made/colour=x"),
        machine.run("--tasks", "colours", "--revision", "made/colour=x"),
    ):
        assert done.returncode == 2
        assert "'made/colour'" in done.stderr
        assert "Did you mean 'made/colours'?" in done.stderr
    done = machine.run("--tasks", "colours", "--revision", "else/where=x")
    assert "--revision else/where: no task of this run asks for it, so it was not used." in done.stderr


def test_local_data_needs_no_fetching(machine: Machine) -> None:
    (machine.folder / "test.parquet").write_bytes(table(2))
    done = machine.fetch("colours", "--data", "made/colours=test.parquet", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["datasets"], document["n_samples"]) == ([], {"colours": 2})


_CLASS = """\
from ulmeval.dataset.text_base import TextBaseDataset

class Quiz(TextBaseDataset):
    DATASET_URL = {{"QUIZ": "{url}/quiz.tsv"}}
    DATASET_MD5 = {{"QUIZ": "{md5}"}}
"""


def test_the_table_of_a_class_is_sized_first_and_goes_on_where_it_broke_off(machine: Machine) -> None:
    rows = "".join(f"{i}\tpatch {os.urandom(9_000).hex()}\tred\n" for i in range(160))
    content = f"index\tquestion\tanswer\n{rows}".encode()
    with serve({"/quiz.tsv": Reply(content, has_ranges=True, cut_after=1_300_000)}) as server:
        md5 = hashlib.md5(content).hexdigest()
        machine.environment["LMUData"] = str(machine.folder / "tables")
        machine.add("quiz.py", _CLASS.format(url=server.url, md5=md5))
        size = f"{len(content) / 1e6:.1f} MB"
        said = machine.fetch("QUIZ", "--dry-run")
        assert f"QUIZ from {server.url}/quiz.tsv  {size}, {size} to download" in said.stdout, said.stderr
        assert not (machine.folder / "tables" / "QUIZ.tsv").exists()
        done = machine.fetch("QUIZ")
        assert done.returncode == 1
        assert "QUIZ: Fetching" in done.stderr
        server.replies["/quiz.tsv"] = Reply(content, has_ranges=True)
        done = machine.fetch("QUIZ", "--json")
        assert done.returncode == 0, done.stderr
        assert server.starts[-1] == 2 << 20, "what had arrived was sent again"
        assert json.loads(done.stdout)["n_samples"] == {"QUIZ": 160}
        assert f"{size}, here" in machine.fetch("QUIZ").stdout
    done = machine.run("--tasks", "QUIZ", "--limit", "2", "--offline", has_network=False)
    assert done.returncode == 0, done.stderr


def test_a_table_that_is_not_at_its_address_is_told_before_anything_is_fetched(machine: Machine) -> None:
    with serve({}) as server:
        machine.add("quiz.py", _CLASS.format(url=server.url, md5="0" * 32))
        done = machine.fetch("QUIZ")
    assert done.returncode == 2
    assert "/quiz.tsv answers 404 Not Found." in done.stderr


def test_a_hub_id_that_moved_is_found_by_its_mirrors(machine: Machine, hub: Hub) -> None:
    commit = hub.add("there/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    stated = "protocol: {name: official, mirrors: [nobody/colours, there/colours]}"
    add_task(machine, "moved", stated)
    done = machine.run("--tasks", "moved", output="online")
    assert done.returncode == 0, done.stderr
    assert "mirror there/colours" in done.stdout + done.stderr
    online = machine.task_of("online")
    assert online["dataset_revisions"] == {"there/colours": commit}

    done = machine.fetch("moved", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["datasets"][0]["id"] == "there/colours"
    hub.asked.clear()
    done = machine.run("--tasks", "moved", "--offline", output="offline", has_network=False)
    assert done.returncode == 0, done.stderr
    assert not hub.asked

    hub.add("made/colours", {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    done = machine.run("--tasks", "moved", output="own")
    assert done.returncode == 0, done.stderr
    own = machine.task_of("own")
    assert [*own["dataset_revisions"]] == ["made/colours"]
    assert own["dataset_fingerprint"] == online["dataset_fingerprint"], "where rows come from is no identity"


def test_a_mirror_is_no_way_around_a_hub_that_refuses(machine: Machine, hub: Hub) -> None:
    for name in ("made/colours", "there/colours"):
        hub.add(name, {"README.md": b"# Colours\n", "data/test.parquet": table(5)})
    hub.refused.add("made/colours")
    add_task(machine, "moved", "protocol: {name: official, mirrors: [there/colours]}")
    for done in (machine.fetch("moved"), machine.run("--tasks", "moved")):
        assert done.returncode == 2
        assert "made/colours" in done.stderr
        assert "there/colours" not in done.stdout + done.stderr


def test_without_any_mirror_the_error_names_all(machine: Machine, hub: Hub) -> None:
    add_task(machine, "moved", "protocol: {name: official, mirrors: [nobody/colours]}")
    done = machine.run("--tasks", "moved")
    assert done.returncode == 2
    assert "made/colours" in done.stderr
    assert "nobody/colours" in done.stderr
