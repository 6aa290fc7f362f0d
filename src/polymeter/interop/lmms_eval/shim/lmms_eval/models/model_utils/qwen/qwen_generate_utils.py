"""Stand-in for ``lmms_eval.models.model_utils.qwen.qwen_generate_utils``: prompts of the first Qwen-VL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.core.errors import PlanError

_BEGIN, _END = "<|im_start|>", "<|im_end|>"


def make_context(
    tokenizer: Any,
    query: str,
    history: Sequence[tuple[str, str | None]] | None = None,
    system: str = "",
    max_window_size: int = 6144,
    chat_format: str = "chatml",
) -> tuple[str, list[int]]:
    """A conversation as text and as tokens, up to where the assistant begins to speak.

    Args:
        tokenizer: Qwen's own, which has ``im_start_id``, ``im_end_id`` and ``IMAGE_ST``.
        query: What the user says now; what comes with ``raw`` is this alone.
        history: Earlier turns: what the user said, what the assistant answered.
        system: The system prompt.
        max_window_size: Most tokens of system prompt and earlier turns; the oldest turns are left out.
        chat_format: ``chatml`` or ``raw``.

    Raises:
        PlanError: Another format.
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
    for asked, answered in reversed(history or ()):
        said = [turn("user", asked), turn("assistant", answered)] if answered is not None else [turn("user", asked)]
        piece = "".join(f"\n{part}" for part, _ in said), [token for _, part in said for token in (*line, *part)]
        if len(tokens) + len(piece[1]) + sum(len(part) for _, part in earlier) >= max_window_size:
            break
        earlier.insert(0, piece)
    question = turn("user", query)
    text += "".join(part for part, _ in earlier) + f"\n{question[0]}\n{_BEGIN}assistant\n"
    tokens += [token for _, part in earlier for token in part]
    tokens += [*line, *question[1], *line, tokenizer.im_start_id, *tokenizer.encode("assistant"), *line]
    return text, tokens
