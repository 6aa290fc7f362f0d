"""``lmms_eval.api.samplers``: for code that draws its few-shot examples itself.

``tasks.yaml.prompts.prompt`` draws those of YAML tasks, seeded for each sample, so that the order of requests does not
matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ContextSampler:
    """Draws examples from the rows of a split and writes them as text.

    Args:
        docs: The rows.
        task: Gives ``doc_to_text``, ``doc_to_target``, ``doc_to_choice`` and, in ``config``, the delimiters.
        fewshot_indices: Numbers of the rows to draw from; default: all.
        rnd: A ``random.Random``.
    """

    def __init__(self, docs: Any, task: Any, fewshot_indices: Sequence[int] | None = None, rnd: Any = None) -> None:
        self.rnd = rnd
        self.task = task
        self.config = task.config
        self.docs = docs.select(fewshot_indices) if fewshot_indices else docs

    def sample(self, n: int) -> list[Any]:
        """``n`` rows."""
        numbers = self.rnd.sample(range(len(self.docs)), n)
        return [self.docs[number] for number in numbers]

    def get_context(self, doc: Any, num_fewshot: int) -> str:
        """``num_fewshot`` examples without the row itself, each followed by the delimiter."""
        is_same_split = self.config.fewshot_split == self.config.test_split
        drawn = self.sample(num_fewshot + is_same_split)
        chosen = [row for row in drawn if row != doc][:num_fewshot]
        return "".join(self._example(row) + str(self.config.fewshot_delimiter) for row in chosen)

    def _example(self, row: Any) -> str:
        question, answer = self.task.doc_to_text(row), self.task.doc_to_target(row)
        choices = self.task.doc_to_choice(row) if self.config.doc_to_choice is not None else None
        if isinstance(answer, list):
            answer = answer[0]
        elif choices is not None and isinstance(answer, int):
            answer = choices[answer]
        if choices is not None and isinstance(question, int):
            question = choices[question]
        return f"{question}{self.config.target_delimiter}{answer}"


class FirstNSampler(ContextSampler):
    """Takes the first rows."""

    def sample(self, n: int) -> list[Any]:
        """The first ``n`` rows."""
        assert n <= len(self.docs), f"{n} examples are needed, but there are only {len(self.docs)} rows"
        return [self.docs[number] for number in range(n)]


SAMPLER_REGISTRY: dict[str, type[ContextSampler]] = {"default": ContextSampler, "first_n": FirstNSampler}


def get_sampler(name: str) -> type[ContextSampler]:
    """The sampler of that name."""
    if name not in SAMPLER_REGISTRY:
        raise ValueError(f"There is no few-shot sampler {name!r}. Known: {', '.join(SAMPLER_REGISTRY)}.")
    return SAMPLER_REGISTRY[name]
