"""``lm_eval.utils``: the helpers that tasks and models import."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from polymeter.tasks.yaml.prompts.templates import compile_template

T = TypeVar("T")
eval_logger = logging.getLogger("lm-eval")


def weighted_f1_score(items: Sequence[tuple[Any, Any]]) -> float:
    """The mean of all classes' F1, weighted by how often each is right, from pairs of reference and prediction."""
    from sklearn.metrics import f1_score

    references, predictions = zip(*items, strict=True)
    return float(f1_score(references, predictions, average="weighted"))


def general_detokenize(string: str) -> str:
    """A text without the spaces that a tokeniser of words puts around marks."""
    for spaced, joined in ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"')):
        string = string.replace(spaced, joined)
    return re.sub(r" (['.,])", r"\1", string)


def softmax(x: Any) -> Any:
    """Probabilities from scores."""
    weights = np.exp(np.asarray(x) - np.max(x))
    return weights / weights.sum()


def regex_replace(string: str, pattern: str, repl: str, count: int = 0) -> str:
    """A text with the matches of a pattern replaced."""
    return re.sub(pattern, repl, string, count=count)


def apply_template(template: str, doc: Mapping[str, Any]) -> str:
    """A Jinja template rendered with a row; a column that it names and the row does not have is an error."""
    return compile_template(template, None, field="template", where="apply_template", keeps_newline=True)(doc)


def handle_non_serializable(o: Any) -> Any:
    """Return the value that ``json`` writes for an object that it does not know."""
    if isinstance(o, np.generic):
        return o.item()
    return list(o) if isinstance(o, set) else str(o)


def sanitize_model_name(model_name: str) -> str:
    """A model's name as part of a file's."""
    return re.sub(r"[\"<>:/|\\?*\[\]]+", "__", model_name)


def create_iterator(raw_iterator: Iterable[T], *, rank: int = 0, world_size: int = 1, limit: int | None = None) -> Any:
    """Every ``world_size``-th item from number ``rank`` on, below ``limit``."""
    return islice(raw_iterator, rank, limit, world_size)


def get_rolling_token_windows(
    token_list: Sequence[int], prefix_token: int, max_seq_len: int, context_len: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Windows over a long text, each as the tokens that go in and those that are predicted; every token is predicted
    once, and ``context_len`` tokens before a window are seen again.
    """
    if not 1 <= context_len <= max_seq_len:
        raise ValueError("context_len must lie between 1 and max_seq_len.")
    tokens = list(token_list)
    first = min(max_seq_len, len(tokens))
    if tokens:
        yield [prefix_token, *tokens[: first - 1]], tokens[:first]
    predicted, step = first, max_seq_len - context_len + 1
    while predicted < len(tokens):
        end = predicted + min(len(tokens) - predicted, step)
        yield tokens[end - max_seq_len - 1 : end - 1], tokens[predicted:end]
        predicted = end


def make_disjoint_window(pair: tuple[Sequence[int], Sequence[int]]) -> tuple[list[int], list[int]]:
    """A window whose first part does not repeat tokens of the second."""
    before, predicted = pair
    return list(before[: len(before) - (len(predicted) - 1)]), list(predicted)


def positional_deprecated(fn: Callable[..., T]) -> Callable[..., T]:
    """Return a function unchanged; lm-eval warns of arguments without names."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> T:
        return fn(*args, **kwargs)

    return wrapped


def setup_logging(verbosity: Any = logging.INFO) -> None:
    """Nothing: Polymeter decides what is logged."""
