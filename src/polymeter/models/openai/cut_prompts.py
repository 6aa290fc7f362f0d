"""Prompts that a server truncated, as far as it states it.

========================  ===================================================================================
server                    its statement
========================  ===================================================================================
OpenAI, vLLM, SGLang      none is needed: they refuse a prompt that is too long, unless truncation is requested
vLLM                      of ``truncate_prompt_tokens=N``: a prompt of N tokens; of -1, only its count of these
SGLang                    of ``--allow-auto-truncate``: its count of the prompt's tokens
llama.cpp                 ``truncated``, of an answer that did not end there: the context lost its beginning
Ollama, OpenRouter        their count of the prompt's tokens
========================  ===================================================================================

A token never covers more than one word: tokenizers of chat models split text at white space first. So a prompt whose
tokens are fewer than its words was truncated. Words of other roles do not count: chat templates may leave those out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.records.truncation import PROMPT
from polymeter.core.request import Request, Usage

_LIMIT = "truncate_prompt_tokens"
_OWN_LIMIT = {PROMPT: f"raise {_LIMIT}"}
_CONTEXT = {
    PROMPT: "raise the context length of the server (max_model_len of vLLM, context_length of SGLang, ctx_size of "
    "llama.cpp, num_ctx of Ollama)"
}
_LEAST_WORDS = 512
"""A server truncates no shorter prompt by itself. Below this, its count may leave out anything."""


def n_words(request: Request) -> int:
    """Return the number of words of a request that each take a token at least; 0 if they are too few to matter."""
    texts = [message.text for message in request.messages if message.role == "user"]
    if sum(map(len, texts)) < 2 * _LEAST_WORDS:
        return 0
    n = sum(word.isalpha() for text in texts for word in text.split())
    return n if n >= _LEAST_WORDS else 0


def cut_of(payload: Mapping[str, Any], settings: Mapping[str, Any], usage: Usage | None, n_words: int) -> Any:
    """Return the ``cut`` of the outputs in a server's answer; ``None``: it states none.

    Args:
        payload: The answer.
        settings: All settings that were sent.
        usage: The usage in the answer.
        n_words: As ``n_words`` returns it.
    """
    n_tokens, limit = usage.input_tokens if usage else None, settings.get(_LIMIT)
    if n_tokens and isinstance(limit, int) and 0 < limit <= n_tokens:
        return _OWN_LIMIT
    # Some servers leave tokens of a cached prefix out of the prompt's.
    n_cached = (usage.cached_tokens if usage else None) or 0
    if n_tokens and n_tokens + n_cached < n_words:
        return _CONTEXT
    return _CONTEXT if _states_cut(payload) else None


def _states_cut(payload: Mapping[str, Any]) -> bool:
    """Return whether llama.cpp states that a context lost its beginning. If the answer ended at the limit, the context
    was only full.
    """
    verbose = payload.get("__verbose")
    is_truncated = payload.get("truncated") is True or (
        isinstance(verbose, Mapping) and verbose.get("truncated") is True
    )
    choices = payload.get("choices") or ()
    return is_truncated and not any(
        isinstance(choice, Mapping) and choice.get("finish_reason") == "length" for choice in choices
    )
