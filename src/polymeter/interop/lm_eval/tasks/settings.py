"""The options of a run for lm-eval's tasks, beyond those of every format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.options import Options, identity
from polymeter.interop.lm_eval.tasks.config import MOST_TOKENS, LmTaskConfig

OTHER_SEED = 1234
"""The seed of everything but Python's own generator, unless somebody names one."""


class LmRunOptions(Options):
    """``RunOptions.dialect_options["lm_eval"]``. All of them can change a number."""

    apply_chat_template: bool | str = identity(
        False, "Send chat messages, which the model puts into its template; a name is recorded with the run."
    )
    fewshot_as_multiturn: bool | None = identity(
        None, "Send examples as turns of their own, not as text before the question; default: with a chat template."
    )
    fewshot_seed: int | None = identity(None, "Seed of the few-shot examples; default: the run's seed, else 1234.")
    numpy_seed: int | None = identity(
        None, "Seed of NumPy's generator for process_docs; default: the run's seed, else 1234."
    )
    predict_only: bool = identity(False, "Keep the answers and compute no metric.")
    metadata: dict[str, Any] = identity(dict, "Added to the metadata of every task; custom_dataset gets it.")
    think_end_token: str = identity("", "An answer is what follows the last of these in it; default: all of it.")
    max_gen_toks: int = identity(
        MOST_TOKENS, "Tokens of an answer at most, where a task has settings without a length."
    )
    samples: dict[str, list[int]] = identity(
        dict, "The numbers of the rows to ask, by task; tasks that are not named are asked whole."
    )

    @property
    def is_chat(self) -> bool:
        """True if prompts are chat messages."""
        return bool(self.apply_chat_template)

    @property
    def has_turns(self) -> bool:
        """True if examples are turns of their own."""
        return self.is_chat if self.fewshot_as_multiturn is None else self.fewshot_as_multiturn


def read_run_options(context: OpenContext) -> LmRunOptions:
    """The options of a run.

    Raises:
        PlanError: if an option is unknown, a value has the wrong type, or two contradict each other.
    """
    where = "dialect_options lm_eval"
    options = LmRunOptions.make(context.options, where=where)
    if options.fewshot_as_multiturn and not options.is_chat:
        raise PlanError(
            "fewshot_as_multiturn needs apply_chat_template: only chats have turns.",
            where=where,
            hint="Set both, or neither.",
        )
    if options.max_gen_toks < 1:
        raise PlanError(
            f"max_gen_toks cannot be {options.max_gen_toks}.", where=where, hint="Write a number of tokens."
        )
    return options


def check_way(context: OpenContext, task: str, where: str) -> None:
    """Check that a run asks a task with choices by their log-probabilities.

    Args:
        context: The run.
        task: The task's name.
        where: ``file:line`` of what makes it one, for the message.

    Raises:
        UnfitError: if it asks choices as text.
    """
    if context.is_mcq_text:
        raise UnfitError(
            f"Task {task!r} is one of lm-eval's, which --mcq text cannot ask: its examples and its question are "
            "written for answers that are compared by log-probabilities, not for a letter.",
            where=where,
            hint="Choose a model that gives log-probabilities, or a task that asks for text, as mmlu_generative does.",
        )


def fewshot_count(config: LmTaskConfig, context: OpenContext) -> int:
    """Return the number of examples before a question: the plan's number wins, unless the task sets 0."""
    if context.num_fewshot is None or config.num_fewshot == 0:
        return config.num_fewshot or 0
    return context.num_fewshot


def seed_of(told: int | None, context: OpenContext) -> int:
    """A seed that lm-eval sets to 1234 by default."""
    return told if told is not None else context.seed or OTHER_SEED


def run_metadata(config: LmTaskConfig, options: LmRunOptions, config_source: str) -> Mapping[str, Any]:
    """The metadata of a task with those of the run."""
    return {**config.metadata, **options.metadata, "config_source": config_source}
