"""Identity: what can change a number, in one place.

Cache, resume and reports all use the functions of this module. Every option of a run is either *identity* (it can
change an output) or *runtime* (it cannot); ``polymeter.core.options`` marks each, and a test fails when one is
unmarked.

A request has two fingerprints. Within a run an image of the dataset is identified by the dataset's fingerprint, row
and column, without reading it. Everywhere else (the cache across runs, exports) it is identified by its content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any, Generic, TypeVar

from polymeter.core.acting.episodes import Act
from polymeter.core.acting.tools import tools_identity, write_call
from polymeter.core.content import Text, beside, under_rule
from polymeter.core.media.showing import SHOWING_VERSION, stated
from polymeter.core.media.sources import digest
from polymeter.core.request import Generate, Loglikelihood, Message, Parameters, Request
from polymeter.core.text.codec import json_encoder
from polymeter.core.text.secrets import without_secrets

T = TypeVar("T")
_SEED_BITS = 31
_MOST_SETTINGS = 64
_ascii_json = json_encoder(is_ascii=True)
_ascii_string = encode_basestring_ascii


class OfSettings:
    """A function of the further settings of requests, computed once for those that thousands of requests share.

    Args:
        compute: The function.
    """

    def __init__(self, compute: Callable[[Mapping[str, Any]], Any]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[Mapping[str, Any], Any]] = {}

    def __call__(self, settings: Mapping[str, Any]) -> Any:
        """Return the result of the function; nobody may change it."""
        known = self._known.get(id(settings))
        if known is not None and known[0] is settings:
            return known[1]
        made = self._compute(settings)
        if len(self._known) >= _MOST_SETTINGS:
            self._known.clear()
        self._known[id(settings)] = (settings, made)  # held, so that no other settings get its number
        return made


class OfParameters(Generic[T]):
    """A function of the parameters of a request for text that counts neither seed nor number, computed once for those
    that thousands of requests share.

    Args:
        compute: The function.
    """

    def __init__(self, compute: Callable[[Generate], T]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[Generate, T]] = {}

    def __call__(self, parameters: Generate) -> T:
        """Return the result of the function; nobody may change it."""
        known = self._known.get(id(parameters.extra))
        if known is not None:
            of = known[0]
            # The same objects and not only equal ones: 0 and 0.0 are equal, and written differently.
            if (
                of.extra is parameters.extra
                and of.max_new_tokens is parameters.max_new_tokens
                and of.temperature is parameters.temperature
                and of.top_p is parameters.top_p
                and of.stop is parameters.stop
                and of.template == parameters.template
                and of.tools is parameters.tools
                and of.tool_choice == parameters.tool_choice
            ):
                return known[1]
        made = self._compute(parameters)
        if len(self._known) >= _MOST_SETTINGS:
            self._known.clear()
        self._known[id(parameters.extra)] = (parameters, made)  # held, so that no other settings get its number
        return made


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
        by_content: Identify all media by their bytes, and by the rules by which these are shown, as the cache across
            runs must. Inside a run, media from the
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
    messages = []
    for message in request.messages:
        parts = [
            _ascii_string(part.text)
            if isinstance(part, Text)
            else _ascii_json([part.modality, _media_identity(part, by_content)])
            for part in message.parts
        ]
        messages.append(f"[{_ascii_string(message.role)},[{','.join(parts)}]{_of_calls(message)}]")
    # Inside a run the row says all that stood beside its texts and media.
    written = "".join([f",{_ascii_json(each)}" for each in written_beside(request)]) if by_content else ""
    parameters = _parameters_identity(request.parameters, n, seeds)
    return digest(f"[[{','.join(messages)}],{parameters}{written}]".encode())


def _of_calls(message: Message) -> str:
    """Return what a message of a conversation with tools has besides its parts; empty for any other, whose identity
    stays that of earlier versions.
    """
    if not message.calls and not message.call_id and not message.carried:
        return ""
    carried = None if message.carried is None else canonical(message.carried)
    return f",{_ascii_json([[write_call(call) for call in message.calls], message.call_id, carried])}"


def written_beside(request: Request) -> list[str]:
    """Return the items in the messages of a request beside roles, texts and media, each with its place, as text that is
    the same if the values are.
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


def act_fingerprint(act: Act, attempt: int = 0) -> str:
    """Identity of an act within its sample: the opening of an episode, or a call in it.

    Args:
        act: The act. Neither its scene nor the id of its call counts.
        attempt: How many times the sample was started anew before.
    """
    call = None if act.call is None else [act.call.name, canonical(act.call.arguments)]
    return digest(_ascii_json(["act", act.environment, act.episode, attempt, call]).encode())


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
        named = ["key", part.key, getattr(part, "start_s", None), getattr(part, "end_s", None)]
        return named if part.rule is None else [*named, SHOWING_VERSION, stated(part.rule)]
    return part.shown_hash() if by_content else under_rule(part.content_hash(), part.rule)


def _seeds(request: Request) -> tuple[int, ...]:
    """The seed as a list, the form that fingerprints have always used."""
    seed = None if isinstance(request.parameters, Loglikelihood) else request.parameters.seed
    return () if seed is None else (seed,)


def _parameters_identity(parameters: Parameters, n: int, seeds: Sequence[int]) -> str:
    if isinstance(parameters, Generate):
        before, after = _around_seeds(parameters)
        written = [repr(seed) if type(seed) is int else _ascii_json(seed) for seed in seeds]
        return f"{before},{n},[{','.join(written)}],{after}"
    if isinstance(parameters, Loglikelihood):
        as_usual = parameters.template == "auto" and not parameters.is_last_token and not parameters.is_rolling
        otherwise: list[str | bool] = [] if as_usual else [parameters.template, parameters.is_last_token]
        otherwise += ["rolling"] if parameters.is_rolling else []
        return _ascii_json([parameters.kind, parameters.continuations, *otherwise])
    extra = _extra_identity(parameters.extra) if parameters.extra else None
    return _ascii_json([parameters.kind, n, parameters.size, seeds, extra])


# Of the process: the result depends on the settings alone, and only the last ones are held.
_extra_identity = OfSettings(lambda extra: without_secrets(canonical(extra)))


def _written_around_seeds(parameters: Generate) -> tuple[str, str]:
    """Return the parts before and behind the number of repeats and their seeds in the identity of parameters."""
    before = [parameters.kind, parameters.max_new_tokens, parameters.temperature, parameters.top_p, parameters.stop]
    extra = _extra_identity(parameters.extra) if parameters.extra else None
    # Absent as long as it is as usual: fingerprints of earlier versions stay unchanged.
    template = "" if parameters.template == "auto" else f",{_ascii_json(parameters.template)}"
    tools = ""
    if parameters.tools or parameters.tool_choice != "auto":
        tools = f",{_ascii_json({'tools': tools_identity(parameters.tools, parameters.tool_choice)})}"
    return _ascii_json(before)[:-1], f"{_ascii_json(extra)}{template}{tools}]"


# Of the process: the result depends on the settings alone, and only the last ones are held.
_around_seeds = OfParameters(_written_around_seeds)
