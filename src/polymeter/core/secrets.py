"""Keys and tokens never reach a log, a manifest or a report.

They are found in two ways. *By name*: the value of a setting that is named like a credential, of every header and
cookie, and of the user part of a URL is replaced wherever plain data or a text is written down; the name stays. *By
value*: what the settings of this process hold under such names is remembered, and removed from every error message and
traceback, because a server or a guest may repeat it anywhere.

A secret is never part of an identity, not even as a digest: short ones could be guessed from it, and another key gives
the same answers.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"

_VENDORS = (
    "openai|azure|anthropic|gemini|google|aws|hf|hub|huggingface|modelscope|dashscope|deepseek|mistral|cohere|groq"
    "|together|openrouter|xai"
)
_OWNERS = f"api|access|secret|private|account|subscription|auth|app|signing|encryption|{_VENDORS}"
_NAME = re.compile(
    rf"(?:\w+_)?(?:{_OWNERS}|master|functions)_?keys?"
    rf"|(?:\w+_)?(?:{_OWNERS}|bearer|refresh|session|security|csrf|xsrf|jwt|sdk|github|gh|gitlab|bot)_?tokens?"
    r"|(?:\w+_)?(?:secrets?|passwords?|passwd|pwd|passphrase|credentials?|authorization|cookies?|bearer|jwt)"
    r"|token|key|auth|basic_auth|proxy_auth|sig|(?:x_amz_|x_goog_)?signature|x_(?:amz|goog)_credential|awsaccesskeyid"
)
"""The one table of names, in lower case with underscores. ``max_tokens``, ``pad_token``, ``tokenizer``, ``score_key``,
``key_frames`` and ``top_k`` are not in it."""
_VAGUE = frozenset({"key", "token", "auth"})
"""Names that hold a secret only if their value is a text."""
_HEADER_MAPS = re.compile(r"(?:\w+_)?(?:headers|cookies)")
"""Names of mappings whose values are all secret, whatever their own names are."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_VALUE = r"\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|[^,\s\"'}]+"
_ASSIGNED = re.compile(rf"(?<![\w-])([\w-]+)(\\?[\"']?\s*=\s*|\\?[\"']\s*:\s*\\?(?=[\"'\d]))({_VALUE})")
"""``name=value``, and ``"name": "value"`` as JSON and Python write it."""
_HEADER_LINE = re.compile(
    r"(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|(?:[a-z]+-)*api-key)(\s*:\s*)([^\"'\r\n}\]]+)"
)
"""A header as HTTP writes it. What follows the name is secret to the end of the line."""
_HEADERS_OPEN = re.compile(r"(?i)(?:headers|cookies)\\?[\"']?\s*[=:]\s*[\"']?\{")
_IN_HEADERS = re.compile(r"(:\s*)(\\?\"(?:[^\"\\]|\\[^\"])*\\?\"|'(?:[^'\\]|\\.)*'|[^,\s\"'{}]+)")
_USER_INFO = re.compile(r"(?<=://)[^\s/?#\"'<>]+@")

_SHORTEST = 8
"""Shorter values are hidden where they are named, and not looked for elsewhere: they would be parts of words."""
_PUBLIC = ("application/", "text/", "image/", "multipart/", "*/*")
"""What the values of headers that nobody keeps secret begin with."""
_FOLDERS = ("PWD", "OLDPWD")
"""Variables of a shell that are named like passwords."""
_SCHEMES = ("Bearer ", "Basic ", "Token ", "Key ")


class _Known:
    """The secrets that this process has been given. It belongs to the process because tracebacks, log records and
    messages leave it from anywhere. It only grows: a secret that is forgotten is one that leaks.
    """

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()

    def add(self, values: Iterable[str]) -> None:
        new = {form for value in values for form in _forms(value) if len(form) >= _SHORTEST}
        new = {form for form in new if not form.startswith(_PUBLIC)}
        if not new <= self._values:
            self._values |= new

    def values(self) -> frozenset[str]:
        return self._values


_KNOWN = _Known()


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret. ``eos_token`` (text) and ``score_key`` (a column) do not."""
    return _NAME.fullmatch(_plain(name)) is not None


@lru_cache(maxsize=4096)
def is_header_map(name: str) -> bool:
    """Whether a mapping of this name holds headers or cookies, whose values are all secret."""
    return _HEADER_MAPS.fullmatch(_plain(name)) is not None


def hide_secrets(text: str) -> str:
    """The text with secrets hidden by name: in ``name=value``, in JSON, in headers, and before the ``@`` of a URL."""
    return _found(text)[0]


def hide_in_arguments(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line with secrets hidden, also a value that follows ``--api-key`` after a space or
    ``=``.
    """
    return _found_in_arguments(arguments)[0]


def remember_arguments(arguments: Sequence[str]) -> None:
    """Remember the secrets of a command line, so that no message repeats them."""
    _KNOWN.add(_found_in_arguments(arguments)[1])


def remember(*values: Any) -> None:
    """Remember the secrets in plain data (arguments of a model, say) by their names, so that no message repeats
    them.
    """
    found: list[str] = []
    for value in values:
        _replaced(value, found)
    _KNOWN.add(found)


def remember_values(values: Iterable[str]) -> None:
    """Remember texts that are secret, whatever they are named."""
    _KNOWN.add(values)


def scrubbed(text: str) -> str:
    """The text without any secret that this process knows of: those remembered, those of the environment, and what
    stands before the ``@`` of a URL.
    """
    if not text:
        return text
    if "://" in text:
        text = _USER_INFO.sub(f"{HIDDEN}@", text)
    known = [value for value in (*_KNOWN.values(), *_of_environment()) if value in text]
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def without_secrets(value: Any) -> Any:
    """Plain data with the values of keys, tokens, headers and cookies hidden, in mappings at any depth and in texts."""
    return _replaced(value, [])


def _plain(name: str) -> str:
    return _CAMEL.sub("_", name.strip()).lower().replace("-", "_").replace(".", "_")


def _found(text: str) -> tuple[str, list[str]]:
    """The text with secrets hidden, and what they were."""
    found: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        name, between, value = match.groups()
        if not is_secret_name(name):
            if is_header_map(name) or value[:1] not in "\"'":
                return match[0]
            inner, more = _found(value[1:])  # as in --model-args='api_key=…', quoted by a shell
            found.extend(more)
            return f"{name}{between}{value[0]}{inner}"
        quote = value[0] if value[0] in "\"'" else ""
        found.append(value.strip("\"'"))
        return f"{name}{between}{quote}{HIDDEN}{quote if len(value) > 1 and value.endswith(quote) else ''}"

    def hidden_line(match: re.Match[str]) -> str:
        found.append(match[3].strip())
        return f"{match[1]}{match[2]}{HIDDEN}"

    def hidden_user(match: re.Match[str]) -> str:
        found.append(match[0][:-1])
        found.append(match[0][:-1].partition(":")[2])
        return f"{HIDDEN}@"

    text = _without_header_values(text, found)
    text = _ASSIGNED.sub(hidden, text)
    if ":" in text:
        text = _USER_INFO.sub(hidden_user, _HEADER_LINE.sub(hidden_line, text))
    return text, [value for value in found if value != HIDDEN]


def _without_header_values(text: str, found: list[str]) -> str:
    """Hide every value of a ``headers={…}`` in a text."""

    def hidden(match: re.Match[str]) -> str:
        value = match[2]
        n_escapes = int(value.startswith("\\"))
        quote = value[: n_escapes + 1] if value[n_escapes : n_escapes + 1] in ('"', "'") else ""
        found.append(value.strip("\\\"'"))
        return f"{match[1]}{quote}{HIDDEN}{quote}"

    begin = 0
    while opened := _HEADERS_OPEN.search(text, begin):
        end = _closing(text, opened.end())
        inner = _IN_HEADERS.sub(hidden, text[opened.end() : end])
        text = text[: opened.end()] + inner + text[end:]
        begin = opened.end() + len(inner)
    return text


def _closing(text: str, begin: int) -> int:
    """Where the brace that is open at a place is closed; the end of the text if it is not."""
    depth, quote = 1, ""
    for place in range(begin, len(text)):
        sign = text[place]
        if quote:
            quote = "" if sign == quote and text[place - 1] != "\\" else quote
        elif sign in "\"'" and text[place - 1] != "\\":
            quote = sign
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return place
    return len(text)


def _found_in_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    hidden: list[str] = []
    found: list[str] = []
    for position, argument in enumerate(arguments):
        before = arguments[position - 1] if position else ""
        is_value = before.startswith("--") and is_secret_name(before[2:]) and not argument.startswith("--")
        option, equals, value = argument.partition("=")
        if equals and option.startswith("--") and is_secret_name(option[2:]):
            found.append(value)
            hidden.append(f"{option}={HIDDEN}")
        elif is_value:
            found.append(argument)
            hidden.append(HIDDEN)
        else:
            shown, values = _found(argument)
            found += values
            hidden.append(shown)
    return hidden, found


def _replaced(value: Any, found: list[str], *, is_secret: bool = False) -> Any:
    """Plain data with secrets hidden, which are added to a list.

    Args:
        value: Plain data.
        found: Receives what is hidden.
        is_secret: Hide every value below.
    """
    if isinstance(value, dict):
        return {
            key: _replaced(item, found, is_secret=is_secret or _holds_secrets(str(key), item))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_replaced(item, found, is_secret=is_secret) for item in value]
    if is_secret and value not in (None, "") and not isinstance(value, bool):
        found.append(str(value))
        return HIDDEN
    if isinstance(value, str):
        text, values = _found(value)
        found += values
        return text
    return value


def _holds_secrets(name: str, value: Any) -> bool:
    """Whether everything below a name of a mapping is secret."""
    if is_header_map(name):
        return True
    return is_secret_name(name) and (isinstance(value, str) or name.lower() not in _VAGUE)


def _of_environment() -> Iterable[str]:
    for name, value in os.environ.items():
        if len(value) < _SHORTEST or name in _FOLDERS:
            continue
        if is_secret_name(name):
            yield value
        elif "@" in value and (user := _USER_INFO.search(value)) is not None:
            yield from _forms(user[0][:-1])


def _forms(value: str) -> Iterable[str]:
    """The ways in which a secret may be repeated: as given, without the scheme of a header, decoded, as the content of
    a JSON text, as Basic authentication sends a user and password.
    """
    value = value.strip()
    yield value
    yield unquote(value)
    yield json.dumps(value)[1:-1]
    for scheme in _SCHEMES:
        if value.lower().startswith(scheme.lower()):
            yield value[len(scheme) :].strip()
    if ";" in value and "=" in value:  # cookies
        yield from (one.partition("=")[2].strip() for one in value.split(";"))
    elif "=" in value.rstrip("="):
        yield value.partition("=")[2]
    if "&" in value:  # the query of a URL
        yield value.partition("&")[0]
    if ":" in value and not value.lower().startswith(("http", "bearer", "basic")):
        yield unquote(value.partition(":")[2])
        yield base64.b64encode(unquote(value).encode()).decode()
