"""Tasks whose model acts for six turns, one of each effect, for tests that kill and resume them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from polymeter.core.acting.tools import read_call
from polymeter.core.request import Output, Request, Response, Usage
from polymeter.models.mock import MockBatch

TURNS = 6
_YAML = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
output_type: generate_with_tools
{acts}
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list: [exact_match, turns, calls]
"""
_MODULE = '''\
import os
from pathlib import Path

from polymeter.extend import Observation, Text, Tool

SCHEMA = {{"type": "object", "properties": {{"n": {{"type": "integer"}}}}, "required": ["n"]}}
HERE = Path(__file__).parent


def note(text):
    with open(HERE / "acts.log", "a") as file:
        file.write(text + "\\n")


def add(n: int, row: dict) -> str:
    """Add the row's number."""
    note(f"{{row['question']}} {{n}}")
    return str(n + row["number"])


class Counter:
    effect = "{effect}"
    tools = [Tool("add", "Add to the counter.", SCHEMA)]

    def __init__(self, row, seed):
        self.row = row
        self.total = row["number"]
        self.shift = int((HERE / "shift").read_text()) if (HERE / "shift").exists() else 0

    def begin(self):
        return f"The counter shows {{self.total}}."

    def act(self, call):
        note(f"{{self.row['question']}} {{call.arguments['n']}}")
        self.total += call.arguments["n"] + self.shift
        return Observation((Text(str(self.total)),), reward=self.total / 100, state={{"total": self.total}})
'''


def write_task(folder: Path, effect: str, n_rows: int = 2) -> Path:
    """Write a task of an effect; returns its file. What is enacted is appended to ``acts.log`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"question": f"q{number}", "number": number, "answer": "done"} for number in range(n_rows)]
    (folder / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    acts = "tools: [!function acts.add]" if effect == "pure" else "environment: !function acts.Counter"
    (folder / "acts.py").write_text(_MODULE.format(effect="local" if effect == "pure" else effect))
    file = folder / f"{effect}.yaml"
    file.write_text(_YAML.format(name=f"acting_{effect}", acts=acts))
    return file


def asking_model(log: Path) -> MockBatch:
    """A model that calls ``add`` in each of its turns but the last, and appends what it is asked to a file."""

    def compute(request: Request) -> Response:
        turn = sum(message.role == "assistant" for message in request.messages)
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{request.messages[0].text} {turn} {request.messages[-1].text}\n")
        calls = () if turn == TURNS - 1 else (read_call("", "add", {"n": turn}),)
        text = "done" if turn == TURNS - 1 else ""
        return Response((Output(text, calls=calls, finish_reason="stop", usage=Usage(10, 5)),))

    return MockBatch(compute, identity={"backend": "asking"}, batch_size=1)


def lines_of(file: Path) -> Sequence[str]:
    """The lines of a log; none if nothing was logged."""
    return file.read_text().splitlines() if file.exists() else []
