"""Facts that lm-eval's files record of a checkpoint on this machine: its tokenizer's tokens, its window, its chat
template.

It is read once more after a run, from files that the run has read: what cannot be read is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from polymeter.core.names.parity import Parity
from polymeter.interop.lm_eval.files.sample_lines import Render

_LENGTHS = ("n_positions", "max_position_embeddings", "n_ctx")
_DEFAULT_LENGTH = 2048
_NO_LIMIT = 10**29
_TOKENS = ("pad", "eos", "bos")


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """A checkpoint's tokenizer and configuration.

    Attributes:
        tokenizer: Its tokenizer.
        config: Its configuration.
        arguments: What the model was made with.
    """

    tokenizer: Any
    config: Any
    arguments: Mapping[str, Any]

    @property
    def template(self) -> str | None:
        """The text of its chat template, if it has one."""
        template = getattr(self.tokenizer, "chat_template", None)
        return template if isinstance(template, str) else None

    @property
    def max_length(self) -> int:
        """The tokens of prompt and answer that fit: as told, else as the configuration or the tokenizer has it."""
        told = self.arguments.get("max_length")
        text = getattr(self.config, "text_config", None) or self.config
        found = next((getattr(text, name) for name in _LENGTHS if getattr(text, name, None)), None)
        own = getattr(self.tokenizer, "model_max_length", None)
        return int(told or found or (own if own and own < _NO_LIMIT else _DEFAULT_LENGTH))

    def facts(self) -> dict[str, Any]:
        """The entries of a results document about it."""
        tokens = {
            f"tokenizer_{name}_token": [
                getattr(self.tokenizer, f"{name}_token", None),
                str(getattr(self.tokenizer, f"{name}_token_id", None)),
            ]
            for name in _TOKENS
        }
        return {**tokens, "eot_token_id": self.tokenizer.eos_token_id, "max_length": self.max_length}

    def render(self, parity: Parity) -> Render:
        """Its chat template as a function of the turns.

        Args:
            parity: Whose prompts the run sent.
        """
        from jinja2 import TemplateError

        make: Callable[..., str] = self.tokenizer.apply_chat_template
        variables = self.arguments.get("chat_template_args") or {}

        def render(turns: list[dict[str, str]]) -> str:
            is_begun = turns[-1]["role"] == "assistant"
            how = {"add_generation_prompt": not is_begun, "continue_final_message": is_begun, **variables}
            tried = [turns]
            if parity.on("refused-system"):
                tried.append([turn for turn in turns if turn["role"] != "system"])
            for sent in tried:
                with suppress(TemplateError, ValueError):
                    return make(sent, tokenize=False, **how)
            return json.dumps(turns, ensure_ascii=False)

        return render


def read_checkpoint(spec: str, arguments: Mapping[str, Any]) -> CheckpointFacts | None:
    """The checkpoint of a model as Polymeter names it; ``None`` if it is not on this machine, or cannot be read.

    Args:
        spec: The model, such as ``hf:NAME``.
        arguments: Its arguments.
    """
    backend, _, place = spec.partition(":")
    if backend != "hf":
        return None
    from transformers import AutoConfig, AutoTokenizer

    source = {
        "revision": arguments.get("revision", "main"),
        "trust_remote_code": bool(arguments.get("trust_remote_code")),
    }
    try:
        tokenizer = AutoTokenizer.from_pretrained(arguments.get("tokenizer") or place, **source)
        return CheckpointFacts(tokenizer, AutoConfig.from_pretrained(place, **source), arguments)
    except (OSError, ValueError):
        return None
