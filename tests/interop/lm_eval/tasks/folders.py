"""Helpers: write a folder of lm-eval's task files, open a task in it, and see what it asks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.format import Loaded, OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Root
from polymeter.core.request import ChoiceLogprob, Output, Request, Response
from polymeter.core.task import Task
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks import FORMAT
from polymeter.interop.lm_eval.tasks.contexts.prompts import ChatText
from polymeter.tasks.yaml import FORMAT as YAML

ROWS = [{"q": f"q{i}", "a": f"a{i}", "k": i % 3} for i in range(6)]


def write(folder: Path, files: Mapping[str, str], rows: Sequence[Mapping[str, Any]] | None = ROWS) -> Path:
    """Write task files and, as ``rows.jsonl``, their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), "utf-8")
    if rows is not None:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def task_text(extra: str = "", *, name: str = "t", text: str = '"{{q}}"', target: str = "a") -> str:
    """A minimal task over ``rows.jsonl``."""
    head = f"""\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
doc_to_text: {text}
doc_to_target: {target}
"""
    return head + textwrap.dedent(extra)


def catalog(*folders: Path, cache_dir: Path | None = None) -> Catalog:
    """The catalog of folders of lm-eval's files."""
    return YAML.index([Root(folder, dialect="lm_eval") for folder in folders], cache_dir)


def load(folder: Path, name: str) -> Loaded:
    """What a name of a folder stands for."""
    found = catalog(folder)
    return FORMAT.load(found.get(name), found)


def open_in(folder: Path, name: str = "t", **context: Any) -> Task:
    """Open a task of a folder."""
    made = OpenContext(**{"cache_dir": folder / "cache", **context})
    return FORMAT.compile(load(folder, name).tasks[0], ModelTraits("mock"), made)


def opened(folder: Path, extra: str = "", rows: Sequence[Mapping[str, Any]] = ROWS, **kwargs: Any) -> Task:
    """Write a minimal task and its rows, and open it."""
    keys = {key: kwargs.pop(key) for key in ("text", "target") if key in kwargs}
    write(folder, {"t.yaml": task_text(extra, **keys)}, rows)
    return open_in(folder, **kwargs)


def ask(task: Task, index: int = 0) -> tuple[Request, ...]:
    """The requests of a sample."""
    asked = next(task.rollout(task.samples[index]))
    assert isinstance(asked, tuple)
    return asked


def context_of(task: Task, index: int = 0) -> str:
    """The context of a sample's first request."""
    return ask(task, index)[0].messages[-1].text


def instances_of(task: Task, index: int, *responses: Response) -> list[Instance]:
    """The instances of a sample, with these answers."""
    steps = task.rollout(task.samples[index])
    next(steps)
    try:
        steps.send(responses)
    except StopIteration as end:
        return list(end.value)
    raise AssertionError("the rollout asks again")


def logprobs(*values: float, greedy: int = -1) -> Response:
    """A response of log-probabilities."""
    return Response((Output(logprobs=tuple(ChoiceLogprob(v, i == greedy, 1) for i, v in enumerate(values))),))


def plain(instance: Instance) -> list[Any]:
    """An instance as it is recorded: a chat is its messages, then whether the answer is begun."""
    arguments = [_written(item) if isinstance(item, ChatText) else item for item in instance.args]
    return [instance.request_type, instance.doc_id, instance.idx, instance.repeats, arguments]


def _written(chat: ChatText) -> str:
    is_begun = chat.history[-1][0] == "assistant"
    return json.dumps([list(turn) for turn in chat.history]) + ("|cont" if is_begun else "|gen")
