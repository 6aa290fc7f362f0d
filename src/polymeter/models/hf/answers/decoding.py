"""The choice of an answer's tokens: the arguments of ``generate`` for a request's parameters, penalties and noise per
row, and stopping early.

Only special tokens are taken from a checkpoint's ``generation_config.json``: the settings of an answer come from the
task and the plan, so that two checkpoints are measured alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from polymeter.core.request import Generate, Tags
from polymeter.reading.reasoning import last_marks, may_open

FALLBACK_MAX_NEW_TOKENS = 1024
"""Maximum tokens of an answer if neither the task nor the plan sets a limit."""

# In the order in which Transformers applies them.
_WARPERS = (
    ("temperature", "TemperatureLogitsWarper"),
    ("top_h", "TopHLogitsWarper"),
    ("top_k", "TopKLogitsWarper"),
    ("top_p", "TopPLogitsWarper"),
    ("min_p", "MinPLogitsWarper"),
    ("typical_p", "TypicalLogitsWarper"),
    ("epsilon_cutoff", "EpsilonLogitsWarper"),
    ("eta_cutoff", "EtaLogitsWarper"),
)
# Each with the value that changes nothing, in the order in which Transformers applies them.
PENALTIES = {
    "encoder_repetition_penalty": 1,
    "repetition_penalty": 1,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "min_length": 0,
}
_NEUTRAL = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0}
_OURS = {
    "do_sample": "",
    "max_length": "max_new_tokens sets the length of an answer.",
    "num_return_sequences": "n sets the number of answers.",
    "stop_strings": "The stop strings are those of the task and the plan.",
    "return_dict_in_generate": "It changes no answer.",
    "output_scores": "It changes no answer.",
    "output_logits": "It changes no answer.",
    "output_attentions": "It changes no answer.",
    "output_hidden_states": "It changes no answer.",
}
_TOKENS = {"eos_token_id": "", "pad_token_id": "Padding is not part of an answer."}
_NEAR = 0.8
_SLACK_TOKENS = 8
_KNOWN_TAG_BYTES = 32


@dataclass(frozen=True, slots=True)
class Decoding:
    """The meaning of a request's parameters.

    Attributes:
        max_new_tokens: Maximum tokens of an answer; ``None``: the fallback.
        is_sampled: Whether tokens are sampled.
        warpers: Settings that shape the distribution that they are sampled from.
        search: Arguments passed to ``generate`` unchanged (``num_beams``, ``length_penalty``, …).
        penalties: Settings that look back at the prompt (``repetition_penalty``, …); ``OwnTokens`` applies them.
        eos_ids: Tokens that end an answer; empty: those of the checkpoint.
    """

    max_new_tokens: int | None
    is_sampled: bool
    warpers: Mapping[str, Any]
    search: Mapping[str, Any]
    penalties: Mapping[str, Any]
    eos_ids: tuple[int, ...]

    @property
    def has_beams(self) -> bool:
        """True if it is a beam search."""
        return int(self.search.get("num_beams") or 1) > 1


def decoding_of(parameters: Generate) -> Decoding:
    """The meaning of parameters. They are greedy without a temperature above 0, unless ``do_sample`` is set alone."""
    wants = parameters.extra.get("do_sample")
    is_sampled = wants is not False and (
        bool(parameters.temperature) or (wants is True and parameters.temperature is None)
    )
    known = _known_settings()
    values = {
        name: value for name, value in parameters.extra.items() if name in known and name not in (*_OURS, *_TOKENS)
    }
    values |= {"temperature": parameters.temperature, "top_p": parameters.top_p}
    names = [name for name, _ in _WARPERS]
    warpers = {name: values[name] for name in names if is_sampled and _says_something(name, values.get(name))}
    penalties = {
        name: value for name, value in values.items() if name in PENALTIES and value not in (None, PENALTIES[name])
    }
    search = {name: value for name, value in values.items() if name not in (*names, *PENALTIES)}
    return Decoding(
        parameters.max_new_tokens,
        is_sampled,
        warpers,
        search,
        penalties,
        token_ids_of(parameters.extra.get("eos_token_id")),
    )


def token_ids_of(value: Any) -> tuple[int, ...]:
    """Return token ids given as one, as several, or as ``None``."""
    if value is None:
        return ()
    return tuple(int(one) for one in value) if isinstance(value, (list, tuple)) else (int(value),)


def ignored(parameters: Generate) -> dict[str, str]:
    """Settings that have no effect here, each with the reason."""
    known = _known_settings()
    decoding = decoding_of(parameters)
    ours = _OURS | _TOKENS
    reasons = {}
    for name in parameters.extra:
        if name in ours:
            if ours[name]:
                reasons[name] = ours[name]
        elif name not in known:
            near = get_close_matches(name, known - set(ours), n=1, cutoff=_NEAR)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            reasons[name] = f"Transformers has no such generation setting.{hint}"
    if not decoding.is_sampled:
        values = {**parameters.extra, "temperature": parameters.temperature or None, "top_p": parameters.top_p}
        for name, _ in _WARPERS:
            if _says_something(name, values.get(name)):
                reasons[name] = "The answer is greedy: nothing is sampled."
    return reasons


def without_decoding_defaults(config: Any) -> None:
    """Remove from a checkpoint's ``GenerationConfig`` what would shape its answers; special tokens stay."""
    from transformers import GenerationConfig

    fresh = GenerationConfig()
    for name in (*_NEUTRAL, *_OURS, *_SHAPING):
        if hasattr(config, name):
            setattr(config, name, getattr(fresh, name, None))


_SHAPING = (
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
    "min_p",
    "top_h",
    "num_beams",
    "num_beam_groups",
    "diversity_penalty",
    "early_stopping",
    "length_penalty",
    "penalty_alpha",
    "dola_layers",
    "repetition_penalty",
    "encoder_repetition_penalty",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "sequence_bias",
    "guidance_scale",
    "max_time",
    "prompt_lookup_num_tokens",
    "renormalize_logits",
)


class RowNoise:
    """A logits processor that makes greedy search sample from the distribution, each row with its own generator.

    The largest of ``logit + Gumbel noise`` is distributed as the softmax of the logits (Gumbel, 1954; the "Gumbel-max
    trick"), so a row's answer depends on its seed and not on the rest of the batch.

    Args:
        warpers: Settings that shape the distribution first.
        seeds: One per row.
        device: Where the logits are.
    """

    def __init__(self, warpers: Mapping[str, Any], seeds: Sequence[int], device: Any) -> None:
        import torch

        self._warpers = [_warper(name, warpers[name]) for name, _ in _WARPERS if name in warpers]
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores of shape ``(rows, vocabulary)``, shaped and with noise added."""
        import torch

        for warper in self._warpers:
            scores = warper(input_ids, scores)
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return scores - noise.log_()


class OwnTokens:
    """A logits processor that applies penalties to each row without the padding around its prompt.

    Transformers would include the padding. The padding token, which is often the one that ends answers, would then be
    penalised in some rows of a batch and not in others.

    Args:
        penalties: Values by names of ``PENALTIES``.
        inputs: The batch: ``input_ids`` and ``attention_mask`` of shape ``(rows, length)``.
        eos_ids: Tokens that end an answer.
        is_apart: Whether the prompts are an encoder's input, so that answers begin at the first column.
    """

    def __init__(
        self, penalties: Mapping[str, Any], inputs: Mapping[str, Any], eos_ids: Sequence[int], *, is_apart: bool
    ) -> None:
        ids, is_own = inputs["input_ids"], inputs["attention_mask"].bool()
        self._n_before = [0] * len(ids) if is_apart else is_own.int().argmax(dim=1).tolist()
        self._of_rows = [
            _penalty_processors(penalties, row[own][None], eos_ids) for row, own in zip(ids, is_own, strict=True)
        ]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores of shape ``(rows × beams, vocabulary)``, penalised."""
        import torch

        n_beams = len(scores) // len(self._of_rows)
        penalised = []
        for position in range(len(scores)):
            row = position // n_beams
            own, score = input_ids[position : position + 1, self._n_before[row] :], scores[position : position + 1]
            for processor in self._of_rows[row]:
                score = processor(own, score)
            penalised.append(score)
        return torch.cat(penalised)


class StopStrings:
    """A stopping criterion: a row ends when its answer contains a stop string, behind its reasoning and the white space
    before the answer.

    Only the newest tokens are decoded, as many as a stop string can span. What is left of the answer is decided when it
    is read; this only saves computation.

    Args:
        stops: The stop strings.
        decode: Gives the text of tokens.
        is_thinking: For each row, whether its answer begins inside reasoning.
        tags: For each row, the tags around reasoning.
    """

    def __init__(
        self,
        stops: Sequence[str],
        decode: Callable[[Sequence[int]], str],
        is_thinking: Sequence[bool],
        tags: Sequence[Tags | None],
    ) -> None:
        self._stops = stops
        self._decode = decode
        self._is_thinking = list(is_thinking)
        self._tags = tags
        self._tokens: list[list[int]] = [[] for _ in is_thinking]
        self._answers = [0 for _ in is_thinking]
        """For each row, the number of the token with which its answer begins."""
        marks = (mark for own in tags for pair in (own or ()) for mark in pair)
        longest = max((len(text.encode()) for text in (*stops, *marks)), default=0)
        self._window = max(longest, _KNOWN_TAG_BYTES) + _SLACK_TOKENS
        self.ends: list[int | None] = [None] * len(self._tokens)

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        """Return whether each row has ended, as a tensor of shape ``(rows,)``."""
        import torch

        for row, token in enumerate(input_ids[:, -1].tolist()):
            self.add(row, token)
        return torch.tensor([end is not None for end in self.ends], device=input_ids.device)

    def add(self, row: int, token: int) -> None:
        """Add a row's next token; a row that has ended accepts no more."""
        if self.ends[row] is None:
            self._tokens[row].append(token)
            if self._has_stopped(row):
                self.ends[row] = len(self._tokens[row])

    def _has_stopped(self, row: int) -> bool:
        tokens, answer = self._tokens[row], self._answers[row]
        first = max(answer, len(tokens) - self._window)
        text = self._decode(tokens[first:])
        begun, ended = last_marks(text, self._tags[row])
        if max(begun, ended) >= 0:
            # Text behind a closing tag is checked from the next token on.
            self._is_thinking[row] = begun > ended
            self._answers[row] = len(tokens)
            return False
        if self._is_thinking[row]:
            return False
        shown = text.lstrip() if first == answer else text
        found = [place for stop in self._stops if stop and (place := shown.find(stop)) >= 0]
        return bool(found) and not may_open(shown[min(found) :], self._tags[row])


def warper_names() -> tuple[str, ...]:
    """Names of the settings that shape the distribution from which tokens are sampled."""
    return tuple(name for name, _ in _WARPERS)


def known_settings() -> frozenset[str]:
    """Names of generation settings that Transformers has, or that Polymeter handles in another way."""
    return frozenset({*_known_settings(), *_OURS, *_TOKENS})


def _known_settings() -> set[str]:
    from transformers import GenerationConfig

    return {name for name in vars(GenerationConfig()) if not name.startswith("_")} | {name for name, _ in _WARPERS}


def _says_something(name: str, value: Any) -> bool:
    return value is not None and value != _NEUTRAL.get(name)


def _warper(name: str, value: Any) -> Any:
    import transformers

    maker = getattr(transformers, dict(_WARPERS)[name])
    return maker(value)


def _penalty_processors(penalties: Mapping[str, Any], prompt: Any, eos_ids: Sequence[int]) -> list[Callable[..., Any]]:
    import transformers as hf

    makers: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "encoder_repetition_penalty": lambda value: hf.EncoderRepetitionPenaltyLogitsProcessor(float(value), prompt),
        "repetition_penalty": lambda value: hf.RepetitionPenaltyLogitsProcessor(float(value)),
        "no_repeat_ngram_size": hf.NoRepeatNGramLogitsProcessor,
        "encoder_no_repeat_ngram_size": lambda value: hf.EncoderNoRepeatNGramLogitsProcessor(value, prompt),
        "min_length": lambda value: hf.MinLengthLogitsProcessor(value, list(eos_ids), device=str(prompt.device)),
    }
    return [makers[name](penalties[name]) for name in PENALTIES if name in penalties]
