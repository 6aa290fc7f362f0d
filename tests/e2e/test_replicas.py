"""Runs whose model is in several processes: the same results as in one, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api.result import RunResult
from polymeter.core.model import ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.core.records.progress import Silence
from polymeter.store.exports.export import read_samples
from tests.e2e.kit import polymeter as command
from tests.helpers.colours import folder_of_colours, wrapper_file

N_ROWS = 12
MODEL = '''
import os, re, signal, threading
from pathlib import Path
from polymeter import BatchModel, ModelTraits, Response, register_model


@register_model("odd")
class Odd(BatchModel):
    """Repeats what it is asked, and dies of some words."""

    batch_hint = 2

    def __init__(self, folder):
        self.traits = ModelTraits(family="odd", requests={"generate": True}, modalities={"text": True})
        self._folder = Path(folder)

    @property
    def identity(self):
        return {"backend": "odd"}

    def load(self):
        if (self._folder / "unloadable").exists():
            raise RuntimeError("the weights are torn")

    def respond(self, requests):
        return [self._answer(request.text) for request in requests]

    def _answer(self, text):
        with open(self._folder / "asked", "a") as log:
            log.write(f"{os.getpid()} {text}\\n")
        if "poison" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if "driver" in text and self._is_first("driver"):
            os.kill(os.getppid(), signal.SIGKILL)
            threading.Event().wait()
        if "grip" in text and self._is_first("grip"):
            os.kill(os.getppid(), signal.SIGKILL)
            re.match("(a+)+b", "a" * 64)  # for years, and no other thread of this process gets a turn
        if "hang" in text and self._is_first("hang"):
            threading.Event().wait()
        if "once" in text and self._is_first("once"):
            print("the last words")
            os._exit(7)
        return Response.of_text(text)

    def _is_first(self, word):
        try:
            (self._folder / word).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
'''
YAML = """\
task: echo
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
doc_to_text: "{{text}}"
doc_to_target: text
metric_list: [{metric: exact_match}]
"""


class Odd:
    """A model and a task that a test may make difficult.

    Attributes:
        folder: Where everything lies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "odd.py").write_text(MODEL)

    def write(self, *words: str) -> None:
        """Write rows, some of them with a word; the words stand in the middle."""
        texts = [f"row {number}" for number in range(N_ROWS)]
        for place, word in enumerate(words, start=4):
            texts[place] += f" {word}" if word else ""
        (self.folder / "rows.csv").write_text("\n".join(["text", *texts, ""]))
        (self.folder / "echo.yaml").write_text(YAML)

    def run(self, name: str = "run", **options: Any) -> RunResult:
        """Run the task in this process."""
        return polymeter.evaluate(
            "odd",
            str(self.folder / "echo.yaml"),
            model_args={"folder": str(self.folder)},
            imports=[self.folder / "odd.py"],
            output=self.folder / name,
            cache_dir=self.folder / "cache",
            **options,
        )

    def asked(self) -> Counter[str]:
        """How often each text was asked."""
        lines = (self.folder / "asked").read_text().splitlines()
        return Counter(line.partition(" ")[2] for line in lines)

    def processes(self) -> set[int]:
        """The processes that answered."""
        return {int(line.split()[0]) for line in (self.folder / "asked").read_text().splitlines()}


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Odd:
    monkeypatch.setattr(MODELS, "_users", dict(MODELS._users))
    return Odd(tmp_path)


def replicas_of(result: RunResult) -> dict[str, Any]:
    """What the last part of a run tells of its replicas."""
    return dict(result.folder.read_manifest(is_whole=True)["sessions"][-1]["lanes"]["model"]["replicas"])


def is_alive(process: int) -> bool:
    """Whether a process computes or may still do so."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def answers(result: RunResult, task: str) -> list[list[dict[str, Any]]]:
    """The answers of every sample without their times."""
    return [
        [{**exchange["response"], "latency_ms": None} for exchange in sample["exchanges"]]
        for sample in read_samples(result.folder, task)
    ]


def test_a_request_that_kills_its_replica_twice_is_that_samples_error(odd: Odd) -> None:
    odd.write("poison")
    result = odd.run(replicas=2)
    assert result.status == "complete"
    failed = [sample for sample in read_samples(result.folder, "echo") if sample["status"] != "ok"]
    assert [sample["doc"]["text"] for sample in failed] == ["row 4 poison"]
    assert "Replicas were lost 2 times while computing this request" in failed[0]["error"]["message"]
    assert "SIGKILL" in failed[0]["error"]["message"]
    state = replicas_of(result)
    assert (state["planned"], state["n_lost"], state["n_given_up"]) == (2, 2, 1)
    asked = odd.asked()
    assert asked.pop("row 4 poison") == 2
    assert max(asked.values()) <= 2, "only what shared its batch is asked again"
    assert sum(asked.values()) <= N_ROWS


def test_a_replica_that_dies_and_one_that_hangs_cost_no_sample(odd: Odd) -> None:
    odd.write("once", "", "", "hang long enough to be no neighbour", "as long as that and so beside it")
    notes: list[str] = []

    class Notes(Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    result = odd.run(replicas=2, lease_timeout_s=4.0, progress=Notes())
    assert (result.status, result.n_failed) == ("complete", 0)
    assert result.value("echo", "exact_match") == 1.0
    told = "\n".join(notes)
    assert "its process ended with status 7. Its last output:\nthe last words" in told
    assert "it gave no answer within 4 s (--lease-timeout)" in told
    state = replicas_of(result)
    assert state["n_lost"] == 2
    assert all(count <= 2 for count in odd.asked().values())
    assert not any(is_alive(process) for process in odd.processes()), "whoever hangs is ended"


def test_a_run_whose_driver_died_goes_on_with_another_number_of_replicas(odd: Odd) -> None:
    odd.write("", "", "driver")
    words = ["run", "-m", "odd", "-t", "echo.yaml", "--import", "odd.py", "-a", f"folder={odd.folder}", "-o", "run"]
    killed = command(*words, "--replicas", "2", "--cache-dir", "cache", cwd=odd.folder)
    assert killed.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while any(map(is_alive, odd.processes())):
        assert time.monotonic() < deadline, "replicas outlive their driver"
    before = odd.asked()
    goes_on = command("resume", "run", "--replicas", "1", cwd=odd.folder)
    assert goes_on.returncode == 0, goes_on.stderr
    resumed = polymeter.open_run(odd.folder / "run")
    assert (resumed.status, resumed.n_failed) == ("complete", 0)
    assert resumed.value("echo", "exact_match") == 1.0
    again = odd.asked() - before
    assert "row 6 driver" in again
    assert replicas_of(resumed)["planned"] == 1
    assert odd.run().status == "complete", "a finished run needs no replica"
    assert odd.asked() == before + again


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has somebody to watch")
def test_a_replica_that_lets_no_other_thread_run_ends_with_its_driver(odd: Odd) -> None:
    odd.write("", "", "grip")
    words = ["run", "-m", "odd", "-t", "echo.yaml", "--import", "odd.py", "-a", f"folder={odd.folder}", "-o", "run"]
    killed = command(*words, "--replicas", "2", "--cache-dir", "cache", cwd=odd.folder)
    assert killed.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 30
    try:
        while any(map(is_alive, odd.processes())):
            assert time.monotonic() < deadline, "a replica outlives its driver"
    finally:
        for process in filter(is_alive, odd.processes()):
            os.kill(process, signal.SIGKILL)


def test_a_model_that_cannot_be_loaded_ends_the_run_with_its_error(odd: Odd) -> None:
    odd.write()
    (odd.folder / "unloadable").touch()
    with pytest.raises(
        polymeter.PlanError, match=r"Loading the model raised RuntimeError: the weights are torn"
    ) as told:
        odd.run(replicas=2)
    assert "odd.py:" in told.value.where
    (odd.folder / "unloadable").unlink()
    assert odd.run().n_failed == 0, "the run goes on without replicas"


@pytest.mark.needs_system("lmms_eval")
def test_wrapped_models_find_their_rows_in_replicas(tmp_path: Path) -> None:
    folder_of_colours(tmp_path / "tasks")
    wrapper_file(
        tmp_path,
        """
        def generate_until(self, requests):
            answers = []
            for request in requests:
                context, settings, visual, doc, task, split = request.args
                row = self.task_dict[task][split][doc]
                answers.append(f"{row['colour']} {[picture.getpixel((0, 0)) for picture in visual(row)]}")
            return answers

        def generate_until_multi_round(self, requests):
            answers = []
            for context, settings, visual, text, doc, task, split in [request.args for request in requests]:
                row, said, info = self.task_dict[task][split][doc], [], None
                for number in range(1, 9):
                    pictures, asked, is_over, said, info = text(
                        row, previous_output=said, round_idx=number, previous_round_info=info
                    )
                    if is_over:
                        break
                    said = [*said, f"{asked} {len(pictures)}"]
                answers.append(said)
            return answers
        """,
    )
    results = [
        polymeter.evaluate(
            "lmms:Mine",
            ["colours", "asked"],
            model_path=str(tmp_path / "mine.py"),
            include_paths=[tmp_path / "tasks"],
            output=tmp_path / f"run{replicas}",
            cache_dir=tmp_path / "cache",
            replicas=replicas,
        )
        for replicas in (None, 2)
    ]
    for task in ("colours", "asked"):
        alone, shared = (answers(result, task) for result in results)
        assert alone == shared
    assert "red [(255, 0, 0)]" in json.dumps(answers(results[1], "colours"))
    assert results[0].results == results[1].results


def test_generated_images_come_back_as_they_were_drawn(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    pytest.importorskip("skimage")
    results = [
        polymeter.evaluate(
            "shapes", "demo_t2i", limit=6, output=tmp_path / f"run{replicas}", replicas=replicas, cache_dir=tmp_path
        )
        for replicas in (None, 2)
    ]
    alone, shared = (answers(result, "demo_t2i") for result in results)
    assert alone == shared, "the files are named by what the images show"
    assert results[0].results == results[1].results


@pytest.mark.slow
def test_a_checkpoint_answers_as_in_one_process(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    tasks = ["demo_vlm_generate", "demo_vlm_loglikelihood", "demo_vlm_rounds"]
    results = [
        polymeter.evaluate(
            "tiny_vlm", tasks, limit=4, output=tmp_path / f"run{replicas}", replicas=replicas, cache_dir=tmp_path
        )
        for replicas in (None, 2)
    ]
    assert results[0].results == results[1].results
    for task in tasks:
        for alone, shared in zip(*(answers(result, task) for result in results), strict=True):
            for one, other in zip(alone, shared, strict=True):
                same = [{**each["outputs"][0], "logprobs": None} for each in (one, other)]
                assert same[0] == same[1]
                numbers = [[choice[0] for choice in each["outputs"][0].get("logprobs", ())] for each in (one, other)]
                assert numbers[0] == pytest.approx(numbers[1], abs=1e-4)


def test_a_judge_stays_in_this_process(odd: Odd) -> None:
    odd.write()
    result = odd.run(replicas=2, roles={"judge": "mock"})
    lanes = result.folder.read_manifest(is_whole=True)["sessions"][-1]["lanes"]
    assert "replicas" in lanes["model"]
    assert "replicas" not in lanes["judge"]
    assert os.getpid() not in odd.processes()


def test_what_cannot_cross_is_refused_before_anything_is_begun(odd: Odd) -> None:
    odd.write()
    task = str(odd.folder / "echo.yaml")

    class Here(polymeter.BatchModel):
        traits = polymeter.ModelTraits(family="here")
        identity = {"backend": "here"}  # noqa: RUF012

        def respond(self, requests: Any) -> Any:
            raise AssertionError("never asked")

    with pytest.raises(polymeter.PlanError, match="a Python object of this process"):
        polymeter.evaluate(Here(), task, output=odd.folder / "a", replicas=2)
    MODELS.register("here", Here, place="notebook")
    with pytest.raises(polymeter.PlanError, match=r"'here' is registered in this process only; replicas"):
        polymeter.evaluate("here", task, output=odd.folder / "b", replicas=2)
    with pytest.raises(polymeter.PlanError, match="--address apply to replicas, but the run has none"):
        polymeter.evaluate("mock", task, output=odd.folder / "c", cpus_per_replica=2)
    with pytest.raises(polymeter.PlanError, match="--address names a Ray cluster, but the run does not use one"):
        polymeter.evaluate("mock", task, output=odd.folder / "c", replicas=2, address="auto")
    with pytest.raises(polymeter.PlanError, match=r"This machine has no GPU|4 replicas with 99 GPUs each do not fit"):
        polymeter.evaluate("mock", task, output=odd.folder / "d", replicas=4, gpus_per_replica=99)
    assert not [place for place in "abcd" if (odd.folder / place).exists()]


ADAPTER = """
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(name='four', dataset_id='example/four', metric_list=['AverageAccuracy'], eval_split='test')
class FourAdapter(DataAdapter):
    def load(self, **kwargs):
        return {'default': {'test': [{'q': str(i)} for i in range(4)]}}
    def gen_prompt(self, input_d, **kwargs):
        return self.gen_prompt_data(input_d['q'])
    def get_gold_answer(self, input_d):
        return input_d['q']
    def match(self, gold, pred):
        return exact_match(gold, pred)
"""


@pytest.mark.needs_system("evalscope")
def test_an_adapter_is_judged_as_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "four").mkdir()
    (tmp_path / "four" / "four_adapter.py").write_text(ADAPTER)
    results = [
        polymeter.evaluate(
            "mock",
            "four",
            model_args={"mode": "echo"},
            roles={"judge": ModelSpec("mock", args={"answer": "A"})},
            dialect_options={"adapter": {"judge_strategy": "llm"}},
            include_paths=[tmp_path],
            output=tmp_path / f"run{replicas}",
            cache_dir=tmp_path / "cache",
            replicas=replicas,
        )
        for replicas in (None, 2)
    ]
    alone, shared = (answers(result, "four") for result in results)
    assert alone == shared
    assert len(alone[0]) == 2, "the model's answer and the judge's"
    assert results[0].results == results[1].results
    assert results[1].value("four", "AverageAccuracy") == 1.0


SCRIPT = """
import sys
from pathlib import Path
import polymeter
from evalscope.benchmarks import Benchmark, DataAdapter

print("the script runs")


@Benchmark.register(name='here', dataset_id='example/here', metric_list=['AverageAccuracy'], eval_split='test')
class HereAdapter(DataAdapter):
    def load(self, **kwargs):
        return {'default': {'test': [{'q': str(i)} for i in range(4)]}}
    def gen_prompt(self, input_d, **kwargs):
        return self.gen_prompt_data(input_d['q'])
    def get_gold_answer(self, input_d):
        return input_d['q']
    def match(self, gold, pred):
        return exact_match(gold, pred)


result = polymeter.evaluate(sys.argv[1], "here", replicas=1, output=sys.argv[2], **eval(sys.argv[3]))
print("scored", result.value("here", "AverageAccuracy"))
"""


@pytest.mark.needs_system("evalscope")
@pytest.mark.needs_system("lmms_eval")
def test_a_task_of_a_script_is_measured_but_not_opened_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    wrapper_file(tmp_path, "def generate_until(self, requests):\n    return ['0' for _ in requests]\n")
    told = "{'model_args': {'mode': 'echo'}}"
    measured = command("python", "script.py", "mock", "run", told, cwd=tmp_path)
    assert measured.returncode == 0, measured.stderr
    assert measured.stdout.splitlines() == ["the script runs", "scored 1.0"]
    wrapped = command("python", "script.py", "lmms:Mine", "other", "{'model_path': 'mine.py'}", cwd=tmp_path)
    assert "cannot open task 'here': it is written in the script that is running" in wrapped.stderr
    assert not (tmp_path / "other").exists()
