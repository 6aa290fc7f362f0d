"""Adapters of EvalScope 1.x, written into files, for tests."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HEAD = """\
import random
from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.evaluator import InferenceResult
from evalscope.api.messages import ChatMessageUser
from evalscope.api.metric import Score
from evalscope.api.registry import register_benchmark


"""
CAPITALS = [
    {"question": "the capital of France", "answer": "Paris"},
    {"question": "the capital of Italy", "answer": "Rome"},
    {"question": "the capital of Spain", "answer": "Madrid"},
]
META: Mapping[str, Any] = {
    "name": "capitals",
    "dataset_id": "made/capitals",
    "eval_split": "test",
    "metric_list": ["exact_match"],
    "prompt_template": "What is {question}?",
}


def write_adapter(
    folder: Path,
    body: str = "",
    rows: Sequence[Mapping[str, Any]] = CAPITALS,
    *,
    file: str = "capitals_adapter.py",
    base: str = "DefaultDataAdapter",
    **meta: Any,
) -> Path:
    """Write an adapter and its rows, which lie beside it and are read as local files.

    Args:
        folder: Where; made if it does not exist.
        body: Methods of the class.
        rows: The rows of the split ``test`` of the subset ``default``.
        file: The name of the file.
        base: The class's base.
        **meta: Fields of the registration, in place of those of ``META``; ``None`` leaves one out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fields = {key: value for key, value in {**META, **meta}.items() if value is not None}
    data = folder / "data" / str(fields["name"])
    write_rows(data / "default_test.jsonl", rows)
    fields["dataset_id"] = str(data)
    methods = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    arguments = "".join(f"        {key}={value!r},\n" for key, value in fields.items())
    path = folder / file
    path.write_text(
        f"{HEAD}@register_benchmark(\n    BenchmarkMeta(\n{arguments}    )\n)\nclass Made({base}):\n"
        "    def load_from_disk(self, **kwargs):\n"
        "        return super().load_from_disk(use_local_loader=True)\n\n"
        "    def record_to_sample(self, record):\n"
        "        return Sample(\n"
        '            input=record["question"], target=record.get("answer", ""),\n'
        '            subset_key=record.get("subset"), metadata=dict(record.get("more", {})),\n'
        "        )\n\n"
        f"{methods}\n",
        encoding="utf-8",
    )
    return path


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
