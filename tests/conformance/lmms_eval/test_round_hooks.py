"""A wrapper that drives rounds calls the task's own function: it goes through the door like any other hook, whatever
thread of the wrapper's it is called on. It runs alone, and what it draws depends on sample, round and seed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.store.exports.export import read_samples
from tests.tasks.yaml.kit import write

N_ROWS, N_ROUNDS = 6, 3
TASK = """\
task: drawn_rounds
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until_multi_round
doc_to_text: !function utils.ask
doc_to_visual: !function utils.visuals
doc_to_target: q
process_results: !function utils.process
metric_list: [{metric: drawn, aggregation: mean}]
"""
HOOKS = """\
import random
import threading
import time
from contextlib import contextmanager
from random import random as by_name

import numpy as np

INSIDE = threading.Lock()
OVERLAPS = []


@contextmanager
def alone():
    is_alone = INSIDE.acquire(blocking=False)
    OVERLAPS.extend([] if is_alone else ["overlap"])
    try:
        yield
    finally:
        if is_alone:
            INSIDE.release()


def draw():
    drawn = []
    for _ in range(3):
        drawn += [random.random(), by_name(), float(np.random.rand()), random.randrange(1000)]
        time.sleep(0.002)  # lets another thread in, if there is a way
    return " ".join(f"{one:.6f}" for one in drawn)


def ask(doc, previous_output=None, round_idx=None, previous_round_info=None):
    with alone():
        text = f"{doc['q']} round {round_idx}: {draw()}"
    if round_idx is None:
        return text
    return None, text, round_idx == 3, previous_output, None


def visuals(doc):
    with alone():
        draw()
    return []


def process(doc, results):
    with alone():
        return {"drawn": random.random(), "overlaps": len(OVERLAPS)}
"""
WRAPPERS = """\
import random
import threading
from pathlib import Path

import numpy as np
from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model


class Driver(lmms):
    def __init__(self, folder="", backwards=False, batch_size=1, **kwargs):
        super().__init__()
        self.folder, self.backwards = folder, backwards

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until(self, requests):
        raise NotImplementedError

    def noise(self):
        return random.random() + np.random.rand()

    def rounds(self, request):
        context, gen_kwargs, doc_to_visual, doc_to_text, doc_id, task, split = request.args
        doc = self.task_dict[task][split][doc_id]
        if self.folder and doc["q"] == "q3" and Path(self.folder, "stop").exists():
            raise KeyboardInterrupt
        doc_to_visual(doc)
        outputs, info, round_idx = [], None, 0
        while True:
            outputs.append(context)
            round_idx += 1
            self.noise()
            _, context, is_last, outputs, info = doc_to_text(
                doc, previous_output=outputs, round_idx=round_idx, previous_round_info=info
            )
            if is_last:
                return (*outputs, context)


@register_model("direct")
class Direct(Driver):
    def generate_until_multi_round(self, requests):
        order = requests[::-1] if self.backwards else requests
        answers = [self.rounds(request) for request in order]
        return answers[::-1] if self.backwards else answers


@register_model("threads")
class Threads(Driver):
    def generate_until_multi_round(self, requests):
        answers, problems = {}, []

        def answer(place):
            try:
                answers[place] = self.rounds(requests[place])
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=answer, args=(place,)) for place in range(len(requests))]
        for thread in threads[::-1] if self.backwards else threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.noise()
        if problems:
            raise problems[0]
        return [answers[place] for place in range(len(requests))]


@register_model("chat_rounds")
class ChatRounds(Driver):
    is_simple = False

    def rounds(self, request):
        context, doc_to_messages, gen_kwargs, doc_id, task, split = request.args
        doc = self.task_dict[task][split][doc_id]
        if self.folder and doc["q"] == "q3" and Path(self.folder, "stop").exists():
            raise KeyboardInterrupt
        messages, outputs, info, round_idx = doc_to_messages(doc), [], None, 0
        while True:
            outputs.append(messages[0]["content"][-1]["text"] if messages else "")
            round_idx += 1
            self.noise()
            messages, is_last, outputs, info = doc_to_messages(
                doc, previous_output=outputs, round_idx=round_idx, previous_round_info=info
            )
            if is_last:
                return tuple(outputs)

    def generate_until_multi_round(self, requests):
        return [self.rounds(request) for request in requests]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the task and the wrappers."""
    rows = "".join(json.dumps({"q": f"q{number}"}) + "\n" for number in range(N_ROWS))
    write(tmp_path, {"tasks/rounds.yaml": TASK, "tasks/utils.py": HOOKS, "wrappers.py": WRAPPERS})
    (tmp_path / "tasks/rows.jsonl").write_text(rows)
    return tmp_path


def run(place: Path, name: str, wrapper: str, model_args: dict[str, Any] | None = None, **options: Any) -> Any:
    return polymeter.evaluate(
        f"lmms:{wrapper}",
        ["drawn_rounds"],
        model_path=str(place / "wrappers.py"),
        model_args=model_args,
        include_paths=[place / "tasks"],
        output=place / name,
        cache_dir=place / "cache",
        **options,
    )


def drawn(outcome: Any) -> dict[str, list[str]]:
    """The texts that each sample's rounds showed, with what was drawn for them. No hook overlapped another one."""
    texts = {}
    for sample in read_samples(outcome.folder, "drawn_rounds"):
        assert sample["status"] == "ok", sample
        assert sample["log"]["overlaps"] == 0, "two hooks ran at the same time"
        outputs = sample["exchanges"][0]["response"]["outputs"]
        texts[sample["id"]] = [output["text"] for output in outputs]
    return texts


@pytest.mark.parametrize("wrapper", ["direct", "threads", "chat_rounds"])
def test_what_a_round_draws_depends_on_sample_round_and_seed_alone(place: Path, wrapper: str) -> None:
    whole = drawn(run(place, "whole", wrapper))
    assert len(whole) == N_ROWS
    later = [text for texts in whole.values() for text in texts[1:N_ROUNDS]]
    assert len({text.partition(":")[2] for text in later}) == len(later) == N_ROWS * (N_ROUNDS - 1)
    assert drawn(run(place, "limited", wrapper, limit=2)) == {id_: whole[id_] for id_ in list(whole)[:2]}
    assert drawn(run(place, "offset", wrapper, offset=4)) == {id_: whole[id_] for id_ in list(whole)[4:]}
    assert drawn(run(place, "batched", wrapper, batch_size=4)) == whole
    backwards = run(place, "backwards", wrapper, {"backwards": True}, batch_size=3)
    assert drawn(backwards) == whole
    assert not set(later) & {text for texts in drawn(run(place, "other", wrapper, seed=1)).values() for text in texts}


@pytest.mark.parametrize("wrapper", ["direct", "threads"])
def test_a_resumed_run_draws_what_an_uninterrupted_one_draws(place: Path, wrapper: str) -> None:
    told = {"folder": str(place)}
    whole = drawn(run(place, "whole", wrapper, told))
    (place / "stop").touch()
    assert run(place, "run", wrapper, told).exit_code == 130
    (place / "stop").unlink()
    outcome = polymeter.resume(place / "run")
    assert outcome.exit_code == 0
    assert drawn(outcome) == whole
