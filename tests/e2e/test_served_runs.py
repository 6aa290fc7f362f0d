"""Runs against servers that they start, with a program that has vLLM's command line.

That command line (``vllm serve MODEL --host --port --served-model-name``), its ``/health``, ``/v1/models`` and the form
of ``prompt_logprobs`` are those of vLLM's documentation, *OpenAI-Compatible Server* and *Server Arguments* of 0.30.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api import RunResult
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.records.progress import Silence
from tests.helpers import vllm_stub

N = 24
WAIT_S = 30
SUMS = """\
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
doc_to_text: "What is {{a}} + {{b}}?"
doc_to_target: "{{a + b}}"
metric_list: [{metric: exact_match}]
"""
CHOICES = """\
task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "What is {{a}} + {{b}}?"
doc_to_choice: "{{ [a, a + b, a + b + 1] }}"
doc_to_target: 1
metric_list: [{metric: acc}]
"""


JUDGED = """\
from polymeter.judge import LLMJudge

judge = LLMJudge()


def judged(doc, results):
    return {"judged": float(judge(f"{doc['a']} + {doc['b']}") == str(doc["a"] + doc["b"]))}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tasks, in which ``vllm`` is the stub."""
    vllm_stub.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    rows = [{"a": n, "b": n * n % 7 + 1} for n in range(N)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "sums.yaml").write_text(SUMS, encoding="utf-8")
    (tmp_path / "choices.yaml").write_text(CHOICES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pids(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that started servers write their ids into."""
    file = here / "pids.txt"
    monkeypatch.setenv("VLLM_STUB", f"pid:{file}")
    return file


def evaluate(tasks: Any = "sums.yaml", **more: Any) -> RunResult:
    options = {"output": Path("run"), **more}
    return polymeter.evaluate(options.pop("model", "vllm:toy"), tasks, **options)


def value_of(result: RunResult, task: str = "sums", metric: str = "exact_match") -> float:
    values = {entry["metric"]: entry["value"] for entry in result.results["tasks"][task]["results"]}
    return float(values[metric])


def servers_of(result: RunResult) -> list[dict[str, Any]]:
    return result.folder.read_manifest()["sessions"][-1]["lanes"]["model"]["servers"]  # type: ignore[no-any-return]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    try:
        return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_ended(pid: int) -> bool:
    """Wait until a process has ended."""
    return _soon(lambda: not is_running(pid))


def _soon(is_so: Any) -> bool:
    pause, deadline = threading.Event(), time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    return True


def log_name(here: Path) -> str:
    (log,) = (here / "run" / "logs").iterdir()
    return log.name


def started(pids: Path) -> list[int]:
    return [int(line.split()[0]) for line in pids.read_text(encoding="utf-8").splitlines()]


# --- a run ------------------------------------------------------------------------------------------------------------


def test_a_server_is_started_asked_recorded_and_stopped(here: Path, pids: Path) -> None:
    told: list[str] = []

    class Told(Silence):
        def waiting(self, text: str) -> None:
            told.append(text)

    result = evaluate(model_args={"server_args": "--dtype float16 -tp 1"}, progress=Told())
    assert (result.status, result.exit_code) == ("complete", 0)
    assert value_of(result) == 1.0
    (server,) = servers_of(result)
    assert server["versions"][0] == f"vllm {vllm_stub.VERSION}"
    words = server["command"].split()
    assert words[:3] == [str(here / "bin" / "vllm"), "serve", "toy"]
    assert words[-6:] == ["--dtype", "float16", "-tp", "1", "--generation-config", "vllm"]
    assert words[3:9:2] == ["--host", "--port", "--served-model-name"]
    assert words[4] == "127.0.0.1"
    log = result.folder.path / server["log"]
    assert log.parent == result.folder.logs
    assert "Application startup complete." in log.read_text(encoding="utf-8")
    assert told[-1] == "", "the wait is over"
    (pid,) = started(pids)
    assert has_ended(pid)
    report = result.report.read_text(encoding="utf-8")
    assert "Servers that the run started" in report


def test_log_likelihoods_come_from_the_prompt_s_log_probabilities(here: Path) -> None:
    result = evaluate("choices.yaml")
    assert value_of(result, "choices", "acc") == 1.0
    row = json.loads((result.folder.samples / "choices.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "prompt_logprobs" in json.dumps(row)


def test_the_model_is_its_name_and_settings_and_neither_port_nor_number(here: Path, pids: Path) -> None:
    first = evaluate(limit=5, model_args={"server_args": "--dtype float16"})
    more = {"server_args": "--dtype=float16 --gpu-memory-utilization 0.5", "replicas": 2}
    again = evaluate(limit=5, model_args=more)
    assert again.folder.read_manifest()["identity"] == first.folder.read_manifest()["identity"]
    assert len(started(pids)) == 1, "all is answered, so nothing is started"
    with pytest.raises(PlanError, match="holds another run: model differs"):
        evaluate(limit=5, model_args={"server_args": "--dtype bfloat16"})


def test_a_run_goes_on_with_other_arguments_that_change_no_answer(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", "error")
    assert evaluate(limit=3, model_args={"server_args": "--dtype half -tp 8"}).status == "stopped"
    monkeypatch.delenv("VLLM_STUB")
    with pytest.raises(PlanError, match="model differs"):
        polymeter.resume("run", model_args={"server_args": "--dtype float16"})
    command = [
        sys.executable,
        "-m",
        "polymeter",
        "resume",
        "run",
        "--server-args",
        "--dtype half -tp 1",
        "--replicas",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    result = polymeter.open_run("run")
    assert len(servers_of(result)) == 2
    assert all("-tp 1" in server["command"] for server in servers_of(result))


def test_planning_starts_nothing(here: Path, pids: Path) -> None:
    with pytest.raises(PlanError, match="no task"):
        evaluate("nothing_of_that_name")
    assert not pids.exists()


def test_a_judge_may_be_a_started_server_also_when_a_run_is_scored_again(here: Path, pids: Path) -> None:
    scoring = "process_results: !function utils.judged\nmetric_list: [{metric: judged, aggregation: mean}]\n"
    (here / "judged.yaml").write_text(SUMS.replace("sums\n", "judged\n", 1).partition("metric_list")[0] + scoring)
    (here / "utils.py").write_text(JUDGED)
    first = evaluate("judged.yaml", model="mock", roles={"judge": "vllm:toy"}, limit=3)
    assert value_of(first, "judged", "judged") == 1.0
    again = polymeter.score("run", roles={"judge": ModelSpec("vllm", "other", {"server_args": "--dtype half"})})
    assert value_of(again, "judged", "judged") == 1.0
    assert len(started(pids)) == 2
    assert all(has_ended(pid) for pid in started(pids))


def test_a_judge_may_be_several_started_servers_beside_a_model_that_is_none(here: Path, pids: Path) -> None:
    scoring = "process_results: !function utils.judged\nmetric_list: [{metric: judged, aggregation: mean}]\n"
    (here / "judged.yaml").write_text(SUMS.replace("sums\n", "judged\n", 1).partition("metric_list")[0] + scoring)
    (here / "utils.py").write_text(JUDGED)
    first = evaluate("judged.yaml", model="mock", roles={"judge": "vllm:toy"}, limit=3, judge_replicas=2)
    assert value_of(first, "judged", "judged") == 1.0
    assert len(started(pids)) == 2
    again = polymeter.score("run", roles={"judge": ModelSpec("vllm", "other")}, judge_replicas=2)
    assert value_of(again, "judged", "judged") == 1.0
    assert len(started(pids)) == 4
    assert all(has_ended(pid) for pid in started(pids))


def test_servers_of_a_judge_that_find_no_gpu_are_refused_by_the_name_of_their_option(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(PlanError, match="2 replicas with 1 GPUs each do not fit") as refused:
        evaluate(model="mock", roles={"judge": "vllm:toy"}, judge_replicas=2)
    assert refused.value.where == "--judge-replicas"


def test_a_judge_that_is_the_measured_model_shares_its_server(here: Path, pids: Path) -> None:
    scoring = "process_results: !function utils.judged\nmetric_list: [{metric: judged, aggregation: mean}]\n"
    (here / "judged.yaml").write_text(SUMS.replace("sums\n", "judged\n", 1).partition("metric_list")[0] + scoring)
    (here / "utils.py").write_text(JUDGED)
    result = evaluate("judged.yaml", roles={"judge": "vllm:toy"}, limit=3)
    assert value_of(result, "judged", "judged") == 1.0
    assert len(started(pids)) == 1, "two would not fit on one GPU"


def test_what_several_servers_answered_can_be_verified(here: Path) -> None:
    result = evaluate(replicas=2, limit=6)
    assert polymeter.verify(result.folder.path).is_sound, polymeter.verify(result.folder.path)


def test_guided_choices_reach_the_server_in_its_words(here: Path) -> None:
    result = evaluate(limit=4, generation={"guided_choice": ["yes", "no"]})
    rows = [json.loads(line) for line in (result.folder.samples / "sums.jsonl").read_text().splitlines()]
    assert {row["answer"] for row in rows} == {"yes"}


# --- several servers --------------------------------------------------------------------------------------------------


def test_replicas_share_the_requests_and_the_gpus(here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    result = evaluate(replicas=2, gpus_per_replica=2, concurrency=2)
    assert value_of(result) == 1.0
    gpus = sorted(line.split()[1] for line in pids.read_text(encoding="utf-8").splitlines())
    assert gpus == ["4,5", "6,7"]
    manifest = result.folder.read_manifest()
    shares = manifest["requests_by_address"]["model"]
    assert list(shares) == ["toy in server 1 of 2", "toy in server 2 of 2"]
    assert sum(one["requests"] for one in shares.values()) == N
    assert all(one["requests"] > 0 for one in shares.values())
    assert any("% from toy in server 1 of 2 (" in note for note in result.results["notes"])
    assert all(has_ended(pid) for pid in started(pids))


def test_when_one_server_dies_the_others_answer_for_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", f"die-once:{here / 'first'}")
    notes: list[str] = []

    class Noted(Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    result = evaluate(replicas=2, concurrency=2, progress=Noted())
    assert (result.status, value_of(result), result.n_failed) == ("complete", 1.0, 0)
    lost = [note for note in notes if "server has ended" in note]
    assert len(lost) == 1
    assert "illegal memory access" in lost[0], "the end of its log is told"
    assert "exit code was 3" in lost[0]
    assert lost[0].endswith("The other address takes over.")


def test_a_refusal_is_told_with_the_log_of_who_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("VLLM_STUB", "refuses-on:1")
    result = evaluate(replicas=2)
    assert result.status == "stopped"
    assert "The server did not accept a test request: The endpoint does not know the model 'toy'" in result.reason
    assert "-2.log:" in result.reason
    assert "  ERROR This one refuses." in result.reason


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_server_that_prints_an_error_and_ends(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", "error")
    result = evaluate()
    assert result.status == "stopped"
    assert "cannot be started: The server ended with exit code 1 before it was ready." in result.reason
    assert "CUDA out of memory" in result.reason
    assert "\x1b" not in result.reason
    assert str(result.folder.logs) in result.reason
    monkeypatch.delenv("VLLM_STUB")
    resumed = polymeter.resume(result.folder.path)
    assert (resumed.status, value_of(resumed)) == ("complete", 1.0)


def test_the_end_of_the_log_is_shown_line_by_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", "error")
    words = [sys.executable, "-m", "polymeter", "run", "-m", "vllm:toy", "-t", "sums.yaml", "-o", "run"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("Stopped: the model cannot be started"))
    assert lines[place].endswith(f"The last lines of its log, run/logs/{log_name(here)}:")
    assert lines[place + 1 : place + 5] == [
        f"  INFO vLLM API server version {vllm_stub.VERSION}",
        "  INFO Loading weights of toy",
        "  ERROR EngineCore failed to start.",
        "  torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
    ]
    assert lines[place + 6].strip() == "polymeter resume run"
    assert sum("OutOfMemoryError" in line for line in lines) == 1, "it is told once"


def test_a_server_that_is_never_ready(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", f"never-healthy,pid:{here / 'pids'}")
    result = evaluate(model_args={"start_timeout_s": 1.0})
    assert result.status == "stopped"
    assert "was not ready within 1 s, the limit of --server-timeout" in result.reason
    assert "Loading weights of toy" in result.reason
    assert all(has_ended(pid) for pid in started(here / "pids"))


def test_a_server_that_dies_in_the_middle(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", "die-after:8")
    result = evaluate(concurrency=1)
    assert result.status == "stopped"
    assert "its server has ended. Its exit code was 3." in result.reason
    assert "illegal memory access" in result.reason
    answered = sum(task["n_scored"] for task in result.results["tasks"].values())
    assert answered >= 5, "what was answered is kept"
    monkeypatch.delenv("VLLM_STUB")
    resumed = polymeter.resume(result.folder.path)
    assert (resumed.status, value_of(resumed), resumed.n_failed) == ("complete", 1.0, 0)
    sessions = resumed.folder.read_manifest()["sessions"]
    assert sessions[-1]["lanes"]["model"]["concurrency"]["failures"] == 0


def test_a_wrong_argument_is_told_in_the_server_s_own_words(here: Path) -> None:
    result = evaluate(model_args={"server_args": "--max-modell-len 5"})
    assert result.status == "stopped"
    assert "unrecognized arguments: --max-modell-len" in result.reason


def test_a_port_that_somebody_took_meanwhile_is_changed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STUB", f"port-taken:{here / 'first'}")
    result = evaluate(limit=3)
    assert result.status == "complete"
    (server,) = servers_of(result)
    log = result.folder.path / server["log"]
    assert log.read_text(encoding="utf-8").count("$ ") == 2, "the log has both starts"
    evaluate(limit=3, is_restart=True)
    assert log.read_text(encoding="utf-8").count("$ ") == 1, "what is thrown away takes its logs along"


# --- its end ----------------------------------------------------------------------------------------------------------

_SCRIPT = """\
import polymeter
import polymeter.models.served.process as process
process.GRACE_S = 0.2
polymeter.evaluate("vllm:toy", "sums.yaml", output="run", concurrency=1)
"""


def begun(here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch, faults: str, command: list[str]) -> Any:
    """A run in a process of its own whose server waits for ever."""
    monkeypatch.setenv("VLLM_STUB", f"{faults},pid:{pids}")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert _soon(lambda: pids.exists() and bool(pids.read_text(encoding="utf-8").strip())), "no server was started"
    return process


@pytest.mark.parametrize("faults", ["never-healthy", "never-healthy,deaf"])
def test_a_server_dies_with_a_run_that_is_killed(
    here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch, faults: str
) -> None:
    child = here / "child.txt"
    process = begun(here, pids, monkeypatch, f"{faults},child:{child}", [sys.executable, "-c", _SCRIPT])
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert all(has_ended(pid) for pid in started(pids))
    assert has_ended(int(child.read_text(encoding="utf-8"))), "and what the server started"


def test_ctrl_c_stops_the_server_and_the_run_can_go_on(here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "polymeter", "run", "-m", "vllm:toy", "-t", "sums.yaml", "-o", "run", "-q"]
    process = begun(here, pids, monkeypatch, "never-healthy", command)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "polymeter resume run" in output
    assert all(has_ended(pid) for pid in started(pids))
    monkeypatch.delenv("VLLM_STUB")
    assert polymeter.resume("run").status == "complete"


def test_a_server_that_does_not_end_when_asked_is_killed(
    here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polymeter.models.served.process.GRACE_S", 0.2)
    monkeypatch.setenv("VLLM_STUB", f"deaf,pid:{pids}")
    assert evaluate(limit=2).status == "complete"
    assert all(has_ended(pid) for pid in started(pids))


# --- planning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "args", "message", "hint"),
    [
        ("sglang:toy", {}, "SGLang is not installed: 'sglang.launch_server' was not found", "install 'sglang[all]'"),
        ("llamacpp:none.gguf", {}, "The file 'none.gguf' does not exist", ""),
        ("llamacpp:sums.yaml", {}, "llama.cpp is not installed: 'llama-server' was not found", "llama.cpp/releases"),
        ("vllm:toy", {"executable": "/no/where"}, "The program '/no/where' does not exist", ""),
        ("vllm:toy", {"start_timeout_s": 0}, "must be above 0, not 0", ""),
        ("vllm:toy", {"server_arg": "-x"}, "has no argument 'server_arg'", "Did you mean 'server_args'?"),
        ("vllm:toy", {"base_url": "http://a"}, "has no argument 'base_url'", ""),
        ("vllm:toy", {"replicas": 0}, "must be a whole number from 1, or auto, not 0", ""),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_opened(
    here: Path, model: str, args: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(PlanError) as refused:
        evaluate(model=model, model_args=args)
    assert message in refused.value.what
    assert hint in refused.value.hint
    assert not Path("run", "run.json").exists()


def test_vllm_that_is_missing_is_told_with_how_to_install_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "bin" / "vllm").unlink()
    with pytest.raises(PlanError, match="vLLM is not installed") as refused:
        evaluate()
    assert "pip install vllm" in refused.value.hint
    assert "executable=" in refused.value.hint


def test_replicas_of_somebody_else_s_endpoint_are_refused(here: Path) -> None:
    with pytest.raises(PlanError, match="no replicas to start") as refused:
        evaluate(model="openai:toy", model_args={"base_url": "http://localhost:1/v1"}, replicas=2)
    assert "--base-url A,B,C" in refused.value.hint


def test_servers_are_not_started_through_ray(here: Path) -> None:
    with pytest.raises(PlanError, match="not through Ray"):
        evaluate(replicas=2, executor="ray")


def test_a_setting_that_a_server_does_not_have_is_refused(here: Path) -> None:
    pytest.importorskip("openai", reason="transformers serve needs it")
    with pytest.raises(PlanError, match="knows no generation setting 'guided_choice'"):
        evaluate(model="transformers-serve:toy", generation={"guided_choice": ["a", "b"]})


@pytest.mark.parametrize(
    ("args", "shown", "expected"),
    [
        ({"replicas": 2}, "0,1", ["0", "1"]),
        ({"replicas": 1}, "0,1", ["0,1"]),
        ({"replicas": "auto", "server_args": "-tp 2"}, "0,1,2,3", ["0,1", "2,3"]),
        ({"replicas": 2, "gpus_per_replica": 0.5}, "3", ["3", "3"]),
        ({"replicas": 2, "gpus_per_replica": 0}, "0,1", ["", ""]),
        ({"replicas": "auto"}, "", [""]),
    ],
)
def test_each_server_sees_its_own_gpus(
    here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch, args: dict[str, Any], shown: str, expected: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    assert evaluate(limit=1, model_args=args).status == "complete"
    lines = pids.read_text(encoding="utf-8").splitlines()
    assert sorted(line.partition(" ")[2] for line in lines) == expected


def test_too_few_gpus_are_told_before_anything_starts(here: Path, pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    with pytest.raises(PlanError, match="do not fit on the 3"):
        evaluate(replicas=2, model_args={"server_args": "--tensor-parallel-size 2"})
    assert not pids.exists()


def test_a_base_model_is_asked_through_completions(here: Path) -> None:
    result = evaluate("choices.yaml", model_args={"api": "completions"}, limit=6)
    rows = [json.loads(line) for line in (result.folder.samples / "choices.jsonl").read_text().splitlines()]
    assert all("echo, without a chat template" in json.dumps(row["exchanges"]) for row in rows)
    assert result.n_failed == 0
