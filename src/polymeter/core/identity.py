"""Identity: what can change a number, in one place.

Cache, resume and reports all use the functions of this module. Every option of a run is either *identity* (it can
change an output) or *runtime* (it cannot); ``polymeter.core.options`` marks each, and a test fails when one is
unmarked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from polymeter.core.parts import Text, beside
from polymeter.core.request import Generate, Loglikelihood, Parameters, Request
from polymeter.core.secrets import without_secrets
from polymeter.core.sources import digest

_SEED_BITS = 31


def canonical(value: Any) -> Any:
    """Plain data that means the same whenever the value does: sorted keys, tuples as lists, paths as text, dataclasses
    by field.

    Raises:
        TypeError: if the value has no stable meaning (a function, an open file).
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (set, frozenset)):
        return sorted((canonical(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, bytes):
        return {"bytes": digest(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: canonical(getattr(value, f.name)) for f in fields(value) if f.compare}
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return canonical(value.tolist())
    raise TypeError(f"A {type(value).__name__} has no stable identity.")


def fingerprint(value: Any) -> str:
    """Hex digest of a value's canonical form."""
    return digest(json.dumps(canonical(value), separators=(",", ":"), sort_keys=True).encode())


def request_fingerprint(request: Request, *, by_content: bool = False) -> str:
    """Identity of a request.

    Args:
        request: The request. Its origin is provenance and does not count, nor does its number among repeats: repeats
            differ in their seeds, and equal requests in their occurrence.
        by_content: Identify all media by their bytes, as the cache across runs must. Inside a run, media from the
            dataset is identified by its ``key`` (dataset fingerprint, row, position), so nothing is read.
    """
    return _fingerprint(request, by_content, 1, _seeds(request))


def joint_fingerprint(repeats: Sequence[Request]) -> str:
    """Identity of several repeats as one request. Older journals hold one row for all repeats of a prompt, under this
    fingerprint, and that row answers them.
    """
    seeds = [seed for request in repeats for seed in _seeds(request)]
    return _fingerprint(repeats[0], False, len(repeats), seeds)


def _fingerprint(request: Request, by_content: bool, n: int, seeds: Sequence[int]) -> str:
    messages = [
        (
            message.role,
            [
                part.text if isinstance(part, Text) else [part.modality, _media_identity(part, by_content)]
                for part in message.parts
            ],
        )
        for message in request.messages
    ]
    # Inside a run the row says all that stood beside its texts and media.
    written = written_beside(request) if by_content else []
    parameters = _parameters_identity(request.parameters, n, seeds)
    return digest(json.dumps([messages, parameters, *written], separators=(",", ":")).encode())


def written_beside(request: Request) -> list[str]:
    """What the author wrote in the messages of a request beside roles, texts and media, each with its place, as text
    that is the same whenever the values are.
    """
    written = []
    for number, message in enumerate(request.messages):
        if message.written is not None and (more := beside(message.written, ("role", "content"))):
            written.append(f"{number}: {more}")
        for place, part in enumerate(message.parts):
            item = part.item if isinstance(part, Text) else part.given and part.given.item
            times = ("start_time", "end_time") if part.modality == "video" else ()
            if item and (more := beside(item, ("type", "url", part.modality, *times))):
                written.append(f"{number}.{place}: {more}")
    return written


def own_prompt_fingerprint() -> str:
    """Identity of the request for a model's own prompt: within its sample and role there is only one."""
    return digest(b"own prompt")


def seed_for(run_seed: int, *parts: str | int) -> int:
    """A seed that depends only on the run's seed and on its purpose. It has 31 bits, which every library accepts."""
    text = "\x1f".join([str(run_seed), *map(str, parts)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> (64 - _SEED_BITS)


def source_hash(files: Iterable[Path], config: Any = None) -> str:
    """Hash over the names and contents of files, wherever they are, and over a configuration."""
    state = hashlib.blake2b(digest_size=16)
    for name, content in sorted((file.name, file.read_bytes()) for file in set(files)):
        state.update(name.encode() + b"\0" + content + b"\0")
    state.update(json.dumps(canonical(config), sort_keys=True).encode())
    return state.hexdigest()


def _media_identity(part: Any, by_content: bool) -> Any:
    if part.key is not None and not by_content:
        return ["key", part.key, getattr(part, "start_s", None), getattr(part, "end_s", None)]
    return part.content_hash()


def _seeds(request: Request) -> tuple[int, ...]:
    """The seed as a list, the form that fingerprints have always used."""
    seed = None if isinstance(request.parameters, Loglikelihood) else request.parameters.seed
    return () if seed is None else (seed,)


def _parameters_identity(parameters: Parameters, n: int, seeds: Sequence[int]) -> Any:
    if isinstance(parameters, Loglikelihood):
        as_usual = parameters.template == "auto" and not parameters.is_last_token
        otherwise = [] if as_usual else [parameters.template, parameters.is_last_token]
        return [parameters.kind, parameters.continuations, *otherwise]
    extra = without_secrets(canonical(parameters.extra)) if parameters.extra else None
    if isinstance(parameters, Generate):
        return [
            parameters.kind,
            parameters.max_new_tokens,
            parameters.temperature,
            parameters.top_p,
            parameters.stop,
            n,
            seeds,
            extra,
        ]
    return [parameters.kind, n, parameters.size, seeds, extra]
