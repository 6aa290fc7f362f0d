"""Helpers of wrappers: the loop of chat wrappers, ranks of processes, progress, prompts of the first Qwen-VL.

Every request of a batch is answered with its own conversation, and an error is left to the run: it is not an answer. A
run shows its own progress, which a second bar would overwrite, so a wrapper's progress only counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.core.errors import PlanError
from polymeter.interop.lmms_eval.shim.lmms_eval.logs import eval_logger
from polymeter.interop.lmms_eval.shim.lmms_eval.protocol import ChatMessages
from polymeter.interop.lmms_eval.shim.lmms_eval.utils import Collator

if TYPE_CHECKING:
    from polymeter.interop.lm_family.models.base import CacheHook

VIDEO_KWARGS = {"fps": 2, "max_frames": 16, "max_pixels": 384 * 384}
IMAGE_KWARGS = {"max_pixels": 512 * 512}

Conversation = Callable[[Any], Sequence[Mapping[str, Any]]]


class ChatMixin:
    """Gives a wrapper ``generate_until``; its author writes ``_infer_one``.

    Attributes:
        video_kwargs: Limits for a video, for ``ChatMessages.to_hf_messages``.
        image_kwargs: Limits for an image.
    """

    is_simple = False
    video_kwargs: ClassVar[Mapping[str, Any]] = VIDEO_KWARGS
    image_kwargs: ClassVar[Mapping[str, Any]] = IMAGE_KWARGS

    if TYPE_CHECKING:
        batch_size: int
        cache_hook: CacheHook
        task_dict: dict[str, Any]

    def _infer_one(self, chat_messages: ChatMessages, gen_kwargs: dict[str, Any]) -> str:
        """The answer to a conversation."""
        raise NotImplementedError(f"{type(self).__name__} cannot answer: it has no _infer_one.")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """The answer to each request."""
        collator = Collator(
            [request.args for request in requests], lambda args: args[0], group_fn=lambda args: args[2], grouping=True
        )
        answers = []
        for chunk in collator.get_batched(n=self.batch_size):
            for context, doc_to_messages, generation, doc_id, task, split in chunk:
                conversation: Conversation = doc_to_messages
                messages = ChatMessages(messages=conversation(self.task_dict[task][split][doc_id]))  # type: ignore[arg-type]
                answer = self._infer_one(messages, dict(generation))
                self.cache_hook.add_partial("generate_until", (context, generation), answer)
                answers.append(answer)
        return collator.get_original(answers)


@dataclass(frozen=True)
class ParallelPlan:
    """A process's rank among those of a launcher; ``tp_size`` processes share one model."""

    global_rank: int
    local_rank: int
    world_size: int
    tp_size: int = 1

    @classmethod
    def from_env(cls, tp_size: int = 1) -> ParallelPlan:
        """The plan from the environment variables that ``torchrun`` sets; a single process if they are unset."""
        rank, local, size = (int(os.environ.get(name, "0")) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        return cls(rank, local, max(1, size), int(tp_size))

    @property
    def dp_size(self) -> int:
        """The number of models."""
        return max(1, self.world_size // max(1, self.tp_size))

    def device_str(self) -> str:
        """This process's device, as torch names it."""
        import torch

        return f"cuda:{self.local_rank}" if torch.cuda.is_available() else "cpu"


def resolve_local_rank_device(device: str, plan: ParallelPlan | None = None) -> str:
    """The given device; each of several processes on CUDA gets its own."""
    plan = plan or ParallelPlan.from_env()
    if plan.world_size <= 1 or not str(device).startswith("cuda"):
        return str(device)
    import torch

    n_devices = torch.cuda.device_count()
    return f"cuda:{plan.local_rank % n_devices}" if n_devices else str(device)


class SlurmProgress:
    """Counts progress, with tqdm's interface: ``update``, ``set_postfix``, ``set_description``, ``close``.

    Args:
        total: The number of steps.
        desc: The description.
        disable: Whether to log nothing.
        log_interval: Seconds between two log lines.
    """

    def __init__(
        self, total: int | None = None, desc: str = "Progress", disable: bool = False, log_interval: float = 30.0
    ) -> None:
        self.total, self.desc, self.disable, self.log_interval = total, desc, disable, log_interval
        self.n = 0
        self._next_line = time.monotonic() + log_interval

    def update(self, n: int = 1) -> None:
        self.n += n
        if not self.disable and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + self.log_interval
            eval_logger.debug(f"{self.desc}: {self.n} of {self.total}")

    def set_description(self, desc: str | None = None, refresh: bool = True) -> None:
        self.desc = desc or ""

    def set_postfix(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: a note beside the bar is not shown."""

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> SlurmProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_progress(
    total: int, desc: str = "Progress", disable: bool = False, log_interval: float = 30.0
) -> SlurmProgress:
    """A counter with tqdm's interface."""
    return SlurmProgress(total=total, desc=desc, disable=disable, log_interval=log_interval)


_BEGIN, _END = "<|im_start|>", "<|im_end|>"


def make_context(
    tokenizer: Any,
    query: str,
    history: Sequence[tuple[str, str | None]] | None = None,
    system: str = "",
    max_window_size: int = 6144,
    chat_format: str = "chatml",
) -> tuple[str, list[int]]:
    """A conversation as text and as tokens, up to the beginning of the assistant's turn.

    Args:
        tokenizer: Qwen's own, which has ``im_start_id``, ``im_end_id`` and ``IMAGE_ST``.
        query: The user's turn; with ``raw`` it is the whole conversation.
        history: Earlier turns: pairs of the user's and the assistant's text.
        system: The system prompt.
        max_window_size: Maximum number of tokens of system prompt and earlier turns; the oldest turns are dropped.
        chat_format: ``chatml`` or ``raw``.

    Raises:
        PlanError: if the format is another one.
    """
    if chat_format == "raw":
        return query, list(tokenizer.encode(query))
    if chat_format != "chatml":
        raise PlanError(f"There is no chat format {chat_format!r}.", hint="Known: chatml, raw.")
    line = list(tokenizer.encode("\n"))

    def turn(role: str, content: str) -> tuple[str, list[int]]:
        special = set(tokenizer.IMAGE_ST)
        inner = [
            *tokenizer.encode(role, allowed_special=special),
            *line,
            *tokenizer.encode(content, allowed_special=special),
        ]
        return f"{_BEGIN}{role}\n{content}{_END}", [tokenizer.im_start_id, *inner, tokenizer.im_end_id]

    text, tokens = turn("system", system)
    earlier: list[tuple[str, list[int]]] = []
    for question_text, answer in reversed(history or ()):
        turns = [turn("user", question_text), *([turn("assistant", answer)] if answer is not None else [])]
        piece = "".join(f"\n{part}" for part, _ in turns), [token for _, part in turns for token in (*line, *part)]
        if len(tokens) + len(piece[1]) + sum(len(part) for _, part in earlier) >= max_window_size:
            break
        earlier.insert(0, piece)
    question = turn("user", query)
    text += "".join(part for part, _ in earlier) + f"\n{question[0]}\n{_BEGIN}assistant\n"
    tokens += [token for _, part in earlier for token in part]
    tokens += [*line, *question[1], *line, tokenizer.im_start_id, *tokenizer.encode("assistant"), *line]
    return text, tokens
