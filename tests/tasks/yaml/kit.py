"""Helpers: write a task folder, open its task, run its rollout without an engine."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Root
from polymeter.core.request import ChoiceLogprob, Output, OwnPrompt, Request, Response
from polymeter.core.task import ReduceContext, Result, Rollout, SampleStatus, Score, ScoredRow, TaskSpec
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.tasks.yaml import FORMAT
from polymeter.tasks.yaml.prompts.visuals import from_chat

ROWS = [{"q": f"q{i}", "a": f"a{i}", "k": i} for i in range(4)]


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of a task folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def write_rows(folder: Path, rows: Sequence[Mapping[str, Any]] = ROWS, name: str = "rows.jsonl") -> Path:
    """Write a JSON-lines file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / name


def task_text(extra: str = "", *, name: str = "t", text: str = '"{{q}}"', target: str = "a") -> str:
    """A minimal task over ``rows.jsonl``."""
    head = f"""\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files: rows.jsonl
test_split: train
doc_to_text: {text}
doc_to_target: {target}
"""
    return head + textwrap.dedent(extra)


OWN_PROMPTS: dict[Any, Any] = {}
"""What the model of a task that was opened with ``own_prompt`` gives for a row."""


def catalog(*folders: Path, cache_dir: Path | None = None) -> Catalog:
    """The catalog of folders."""
    return FORMAT.index([Root(folder) for folder in folders], cache_dir)


def spec(folder: Path, name: str = "t") -> TaskSpec:
    """The spec of one task of a folder."""
    found = catalog(folder)
    return FORMAT.load(found.get(name), found).tasks[0]


def open_in(folder: Path, name: str = "t", *, traits: ModelTraits | None = None, **context: Any) -> Any:
    """Open a task of a folder."""
    made = OpenContext(**{"cache_dir": folder / "cache", **context})
    return FORMAT.compile(spec(folder, name), traits or ModelTraits("mock"), made)


def opened(folder: Path, extra: str = "", rows: Sequence[Mapping[str, Any]] = ROWS, **kwargs: Any) -> Any:
    """Write a minimal task and its rows, and open it."""
    write_rows(folder, rows)
    task_keys = {key: kwargs.pop(key) for key in ("text", "target") if key in kwargs}
    (folder / "t.yaml").write_text(task_text(extra, **task_keys))
    own_prompt = kwargs.pop("own_prompt", None)
    if own_prompt is None:
        return open_in(folder, **kwargs)
    task = open_in(folder, traits=ModelTraits("m", has_own_prompts=True), **kwargs)
    OWN_PROMPTS[task] = own_prompt
    return task


def ask(task: Any, index: int = 0) -> Any:
    """What a sample asks first; a model's own prompt is given as its ``own_prompt`` says."""
    steps = task.rollout(task.samples[index])
    first = next(steps)
    if not isinstance(first, OwnPrompt):
        return first
    own = OWN_PROMPTS[task](task.row_functions.prompt_row(index), first.origin.task)
    return steps.send(Response((Output(messages=None if own is None else from_chat(chat(own), None)),)))


def chat(own: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Items, or chat messages, as chat messages."""
    if "role" in own[0]:
        return own
    content = [{"type": item["type"], "text": item["value"], "url": item["value"]} for item in own]
    return [{"role": "user", "content": content}]


def text_of(request: Request) -> str:
    """The text of a request."""
    return request.text


def score(task: Any, index: int, *texts: str) -> Score:
    """Score texts as the answers of a sample, read as a run reads them."""
    reader = AnswerReader()
    responses = tuple(reader.read("model", (), Response.of_text(text), task.reading) for text in texts)
    return task.score(task.samples[index], Rollout(responses))


def logprobs(*values: float, greedy: int = -1) -> Response:
    """A response of log-probabilities."""
    return Response((Output(logprobs=tuple(ChoiceLogprob(v, i == greedy, 1) for i, v in enumerate(values))),))


def rows_of(task: Any, answers: Sequence[str]) -> list[ScoredRow]:
    """Rows as the journal would hold them."""
    rows = []
    for index, answer in enumerate(answers):
        sample = task.samples[index]
        rows.append(ScoredRow(sample.id, index, (), sample.cluster, SampleStatus.OK, score(task, index, answer)))
    return rows


def results(task: Any, answers: Sequence[str], **context: Any) -> dict[tuple[str, str], Result]:
    """Results of a task from one answer for each sample."""
    found = task.reduce(rows_of(task, answers), ReduceContext(output_dir=Path("."), **context))
    return {(result.metric, result.filter): result for result in found}
