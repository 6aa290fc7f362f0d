"""Runs that replicas must end as a single process does, and a model that notes what it is asked, and dies or hangs on
purpose.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.records.progress import Silence
from polymeter.store.reading.comparing import first_difference

ROOT = Path(__file__).parents[2]
_GUESTS = ROOT / "tests" / "oracle" / "inputs" / "guests"
_METHODS = ROOT / "tests" / "conformance" / "evalscope" / "guests" / "adapter_methods"
_LONGEST_S = 100


def _checkpoint(folder: Path) -> dict[str, Any]:
    """Task YAML on a model with weights: log-likelihood, and several rounds whose questions the task's hooks make. Who
    shares a batch with whom, and on how many threads it is computed, changes the last digits of log-probabilities.
    """
    return {
        "model": "tiny_vlm",
        "tasks": ["demo_vlm_loglikelihood", "demo_vlm_rounds"],
        "limit": 6,
        "batch_size": 1,
    }


def _adapter(folder: Path) -> dict[str, Any]:
    """A data adapter whose answers a judge reads."""
    (folder / "pets").mkdir()
    for subset in ("cats", "dogs"):
        for split, n in (("dev", 2), ("test", 5)):
            rows = [{"question": f"{split} {subset} {i}?", "answer": f"{subset[0]}{i}"} for i in range(n)]
            (folder / "pets" / f"{subset}_{split}.json").write_text(json.dumps(rows))
    return {
        "model": "mock",
        "model_args": {"mode": "echo", "batch_size": 2},
        "tasks": ["guide_judge"],
        "include_paths": (_METHODS,),
        "data": {"example/guide_judge": str(folder / "pets")},
        "dialect_options": {"adapter": {"judge_strategy": "llm"}},
        "roles": {"judge": polymeter.ModelSpec("mock", args={"answer": "A"})},
    }


def _table(folder: Path) -> dict[str, Any]:
    """Tables from which images are generated and edited, and measured."""
    return {
        "model": "shapes",
        "model_args": {"error_rate": 0.4},
        "tasks": ["demo_t2i", "demo_edit"],
        "limit": 5,
        "generation": {"num_generations": 2},
    }


def _wrapper(folder: Path) -> dict[str, Any]:
    """An ``lmms`` wrapper that asks its task's rows for images, choices and the next round."""
    return {
        "model": "lmms:oracle_lmms",
        "model_path": str(_GUESTS / "lmms_wrapper.py"),
        "model_args": {"scale": 3},
        "tasks": ["choices", "rounds", "sums"],
        "include_paths": (_GUESTS / "tasks",),
    }


KINDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "checkpoint": _checkpoint,
    "adapter": _adapter,
    "table": _table,
    "wrapper": _wrapper,
}
"""For each kind of run, what makes its files in a folder and gives the arguments of ``evaluate``."""


def assert_equal_runs(kind: str, folder: Path, **replicated: Any) -> polymeter.RunResult:
    """Run a kind in one process and with replicas, and compare every request, answer, score and result.

    Args:
        kind: A key of ``KINDS``.
        folder: Where to; nothing is in it.
        **replicated: The options that make replicas, of one core each.

    Returns:
        The run with replicas.
    """
    asked = KINDS[kind](folder)
    with _one_thread() if kind == "checkpoint" else nullcontext():
        single = polymeter.evaluate(**asked, output=folder / "single")
    other = polymeter.evaluate(**asked, output=folder / "replicated", **replicated)
    assert (single.status, other.status) == ("complete", "complete"), other.reason
    assert single.n_failed == other.n_failed == 0
    difference = first_difference(single.folder, other.folder)
    assert difference is None, f"{kind}: {difference}"
    assert replicas_of(other)["n_lost"] == 0, replicas_of(other)
    return other


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread, as a replica with one core does."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def replicas_of(result: polymeter.RunResult) -> dict[str, Any]:
    """What a run recorded of its replicas."""
    history: dict[str, Any] = result.folder.read_manifest()["sessions"][-1]["lanes"]["model"]["replicas"]
    return history


COUNTING = '''
import os, signal, threading, time
from pathlib import Path
import polymeter

POLL = threading.Event()
LONGEST_S = 100

@polymeter.register_model("counting")
class Counting(polymeter.BatchModel):
    """Adds numbers, and notes each question with its process. Slow enough for a lease to hold one batch."""

    batch_hint = 2

    def __init__(self, log, dies_at="", hangs_at="", always=False, gate=0, after=0):
        self.log, self.dies_at, self.hangs_at, self.always = Path(log), dies_at, hangs_at, always
        self.gate, self.after = gate, after
        self.traits = polymeter.ModelTraits(family="counting", modalities={"text": True})

    @property
    def identity(self):
        return {"backend": "counting"}

    def load(self):
        self._note("loaded")

    def respond(self, requests):
        for request in requests:
            self._note(request.text)
        for request in requests:
            if self.dies_at and self.dies_at in request.text and self._is_first("died"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.hangs_at and self.hangs_at in request.text and self._is_first("hung"):
                POLL.wait(LONGEST_S)
        lines = self.log.read_text().splitlines()
        POLL.wait(0.06)
        end = time.monotonic() + LONGEST_S
        while len(lines) > self.after and len({line.split()[0] for line in lines}) < self.gate:
            assert time.monotonic() < end, "nobody else came"
            POLL.wait(0.02)
            lines = self.log.read_text().splitlines()
        return [polymeter.Response.of_text(str(sum(map(int, r.text.split()[2:5:2])))) for r in requests]

    def _is_first(self, what):
        if self.always:
            return True
        try:
            self.log.with_suffix("." + what).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _note(self, text):
        with open(self.log, "a") as log:
            log.write(f"{os.getpid()} {text}\\n")
'''
_SUMS = """\
task: adding
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "What is {{a}} + {{b}} ?"
doc_to_target: "{{a + b}}"
metric_list: [{metric: exact_match}]
"""


class Counted:
    """Sums asked of the model that notes its questions.

    Args:
        folder: Where to; nothing is in it.
        n: How many sums.
    """

    def __init__(self, folder: Path, n: int = 40) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.n = folder, n
        (folder / "counting.py").write_text(COUNTING)
        rows = [{"a": number, "b": 1} for number in range(n)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "adding.yaml").write_text(_SUMS.replace("rows.jsonl", str(folder / "rows.jsonl")))
        self.log = folder / "asked.log"

    def arguments(self, **model_args: Any) -> dict[str, Any]:
        """The arguments of ``evaluate``."""
        return {
            "model": "counting",
            "model_args": {"log": str(self.log), **model_args},
            "tasks": [str(self.folder / "adding.yaml")],
            "imports": (self.folder / "counting.py",),
            "output": self.folder / "run",
        }

    def words(self, **model_args: Any) -> list[str]:
        """The same for the command line."""
        args = [f"--model-args={name}={value}" for name, value in {"log": self.log, **model_args}.items()]
        asked = self.arguments()
        files = ["-t", asked["tasks"][0], "--import", str(asked["imports"][0]), "-o", str(asked["output"])]
        return ["run", "-m", "counting", *args, *files, "-q"]

    def lines(self) -> list[tuple[int, str]]:
        """The process and the text of each note so far."""
        if not self.log.exists():
            return []
        return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in self.log.read_text().splitlines()]

    def asked(self) -> Counter[str]:
        """How often each question was asked."""
        return Counter(text for _, text in self.lines() if text != "loaded")

    def processes(self) -> list[int]:
        """The processes in which a model was loaded, in order."""
        return [process for process, text in self.lines() if text == "loaded"]

    def await_processes(self, n: int) -> None:
        """Wait until the model was loaded in so many processes."""
        end = time.monotonic() + _LONGEST_S
        while len(self.processes()) < n:
            assert time.monotonic() < end, "too few processes"
            time.sleep(0.02)

    def assert_whole(self, result: polymeter.RunResult, *, n_most_twice: int, n_failed: int = 0) -> None:
        """Nothing was lost, and nothing asked twice but what was in flight."""
        assert (result.status, result.n_failed) == ("complete", n_failed), result.reason
        assert result.value("adding", "exact_match") == 1.0
        asked = self.asked()
        assert len(asked) == self.n
        assert max(asked.values()) <= 2 + (n_failed > 0), asked.most_common(3)
        twice = [text for text, times in asked.items() if times > 1]
        assert len(twice) <= n_most_twice, twice


class When(Silence):
    """Does something once, when so many samples have ended."""

    def __init__(self, n: int, do: Callable[[], None]) -> None:
        self._n, self._do = n, do
        self.notes: list[str] = []

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        self._n -= ended
        if self._n <= 0 < self._n + ended:
            self._do()

    def note(self, text: str) -> None:
        self.notes.append(text)


def kill(process: int) -> None:
    """End a process at once."""
    os.kill(process, 9)
