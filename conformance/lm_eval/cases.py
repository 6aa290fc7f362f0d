"""Which published tasks are compared, and how each of them is asked: shots, chat template, system instruction.

A case is one task asked in one way; its name says which: ``arc_easy``, ``arc_easy@3``, ``arc_easy@2-chat``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.lm_eval.published import Published

PER_PLACE = 2
RESAMPLES = 100  # for the errors that lm-eval states by bootstrap
SYSTEM = "You are a careful reader. Answer in one word."


@dataclass(frozen=True)
class Way:
    """How a task is asked.

    Attributes:
        shots: Number of examples; ``None``: as the task says.
        is_chat: Whether prompts are put into the model's chat template.
        is_multiturn: Whether examples are turns of their own there.
        has_system: Whether there is a system instruction.
    """

    shots: int | None = None
    is_chat: bool = False
    is_multiturn: bool = False
    has_system: bool = False

    @property
    def name(self) -> str:
        words = ["" if self.shots is None else str(self.shots)]
        words += ["chat" if self.is_multiturn else "chat-one-turn"] if self.is_chat else []
        words += ["system"] if self.has_system else []
        return "-".join(word for word in words if word)


@dataclass(frozen=True)
class Case:
    """One task asked in one way."""

    task: str
    way: Way

    @property
    def name(self) -> str:
        return f"{self.task}@{self.way.name}" if self.way.name else self.task

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Case:
        return cls(data["task"], Way(**data["way"]))


OTHER_WAYS = (
    Way(3),
    Way(2, is_chat=True, is_multiturn=True),
    Way(2, is_chat=True, has_system=True),
    Way(0, is_chat=True, is_multiturn=True),
    Way(1, has_system=True),
    Way(5),
)
"""The ways beside the task's own, of which each task gets one."""


def chosen_tasks(tasks: Iterable[Published], per_place: int = PER_PLACE) -> list[Published]:
    """Of each folder of tasks, those that are unlike every other one; of rare output types, all that are."""
    tasks = sorted(tasks, key=lambda task: task.name)
    n_kinds = Counter(task.kind_key for task in tasks)
    chosen, seen, counts = [], set[str](), Counter[str]()
    # Kinds that stand for many tasks come first.
    for task in sorted(tasks, key=lambda task: -n_kinds[task.kind_key]):
        is_rare = task.output_type.startswith("loglikelihood")
        if "dataset_path" not in task.config or "custom_dataset" in task.config:  # its code makes rows, or fetches them
            continue
        if task.kind_key in seen or counts[task.place] >= per_place * (3 if is_rare else 1):
            continue
        seen.add(task.kind_key)
        counts[task.place] += 1
        chosen.append(task)
    return sorted(chosen, key=lambda task: task.name)


def main() -> None:
    """Write the names of the tasks to try, and make the checkpoint that answers them; in lm-eval's environment."""
    import argparse

    from conformance.lm_eval import installed
    from conformance.lm_eval.published import published_tasks
    from tests.helpers.checkpoints import make_checkpoint

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--positions", type=int, required=True, help="the longest text that the checkpoint reads")
    arguments = parser.parse_args()
    if not arguments.checkpoint.exists():
        make_checkpoint("llama", arguments.checkpoint, positions=arguments.positions)
    tasks = [task for task in published_tasks(installed.contained_manager({})).values() if not task.is_class]
    arguments.out.write_text(json.dumps([task.name for task in chosen_tasks(tasks)]), encoding="utf-8")


if __name__ == "__main__":
    main()
