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
import html
import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"

_VENDORS = (
    "openai|azure|anthropic|gemini|google|aws|hf|hub|huggingface|modelscope|dashscope|deepseek|mistral|cohere|groq"
    "|together|openrouter|xai"
)
_OWNERS = f"api|access|secret|private|account|subscription|auth|app|signing|encryption|{_VENDORS}"
_NAME = re.compile(
    rf"(?:\w+_)?(?:{_OWNERS}|master|functions|judge)_?keys?"
    rf"|(?:\w+_)?(?:{_OWNERS}|bearer|refresh|session|security|csrf|xsrf|jwt|sdk|github|gh|gitlab|bot)_?tokens?"
    r"|(?:\w+_)?(?:secrets?|passwords?|passwd|pwd|passphrase|credentials?|authorization|cookies?|bearer|jwt)"
    r"|token|key|auth|basic_auth|proxy_auth|sig|(?:x_amz_|x_goog_)?signature|x_(?:amz|goog)_credential|awsaccesskeyid"
)
"""The one table of names, in lower case with underscores. ``max_tokens``, ``pad_token``, ``tokenizer``, ``score_key``,
``key_frames`` and ``top_k`` are not in it."""
_VAGUE = frozenset({"key", "token", "auth"})
"""Names that hold a secret only if their value is a text."""
_HEADER_MAPS = re.compile(r"(?:\w+_)?(?:headers|cookies)")
"""Names of mappings with values that are all secret, under any name."""
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
_USER_INFO = re.compile(
    r"(?<=://)(?:[^\s/?#\"'<>]+"
    r"|[^\s/?#\"'<>:@\[]*:(?!\d{1,5}(?:[/?#,);.\]}]|$))[^\s\"'<>:]*(?::(?!//)[^\s\"'<>:]*)*)@",
)
"""The user of an address, also one that cannot be parsed: one with a ``/`` in its password, which is not a port. It
ends before the next ``://``, so that the time to search a text grows with its length and no faster.
"""

_SHORTEST = 8
"""Shorter values are hidden where they are named, and not looked for elsewhere: they would be parts of words."""
_SHORTEST_WORD = 4
"""Of a key that an endpoint was sent, this many signs are looked for in its errors, as a word of their own."""
_PUBLIC = ("application/", "text/", "image/", "multipart/", "*/*")
"""The prefixes of the values of headers that are not secret."""
_FOLDERS = ("PWD", "OLDPWD")
"""Variables of a shell that are named like passwords."""
_CODE = re.compile(r"%[0-9A-F]{2}")
_SCHEMES = ("Bearer ", "Basic ", "Token ", "Key ")
_NO_WORD = re.compile(r"(?s)(?=.*\d)(?=.*[^\W\d_]).{12,}")


class _KnownSecrets:
    """The secrets that this process has been given. It belongs to the process because tracebacks, log records and
    messages leave it from anywhere. It only grows: a secret that is forgotten is one that leaks.
    """

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()

    def add(self, values: Iterable[str]) -> None:
        secret = [value for value in values if not value.strip().startswith(_PUBLIC)]
        new = {form for value in secret for form in _forms(value) if len(form) >= _SHORTEST}
        if not new <= self._values:
            self._values |= new

    def values(self) -> frozenset[str]:
        return self._values


_KNOWN = _KnownSecrets()


# Kept for the life of the process: what a name means never changes.
@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name holds a secret. ``eos_token`` (text) and ``score_key`` (a column) hold
    none.
    """
    return _NAME.fullmatch(_snake_case(name)) is not None


# Kept for the life of the process: what a name means never changes.
@lru_cache(maxsize=4096)
def is_header_map(name: str) -> bool:
    """Return whether a mapping of this name holds headers or cookies, whose values are all secret."""
    return _HEADER_MAPS.fullmatch(_snake_case(name)) is not None


def hide_secrets(text: str) -> str:
    """The text with secrets hidden by name: in ``name=value``, in JSON, in headers, and before the ``@`` of a URL."""
    return _secrets_hidden(text)[0]


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
        _values_hidden(value, found)
    _KNOWN.add(found)


def remember_values(values: Iterable[str]) -> None:
    """Remember texts that are secret under any name."""
    _KNOWN.add(values)


def hidden_address(url: str) -> str:
    """Return a text that may be an address, with all hidden that may be a user: everything before its last ``@``."""
    before, at, rest = url.rpartition("@")
    scheme = re.match(r"\w+://", before)
    return f"{scheme[0] if scheme else ''}{HIDDEN}@{hide_secrets(rest)}" if at else hide_secrets(url)


def scrubbed(text: str, also: Collection[str] = (), *, is_lower: bool = False) -> str:
    """The text without any secret that this process knows of: those remembered, those of the environment, and what
    stands before the ``@`` of a URL.

    Args:
        text: The text.
        also: Further secrets. Of these, short ones are removed too, where they are words of their own.
        is_lower: Whether the text is in lower case, in which secrets are looked for in lower case.
    """
    if not text:
        return text
    if "://" in text:
        text = _USER_INFO.sub(f"{HIDDEN}@", text)
    forms = {form for value in also for form in _forms(value)}
    every = (form.lower() if is_lower else form for form in (*_KNOWN.values(), *_of_environment(), *forms))
    known = {form for form in every if len(form) >= _SHORTEST and form in text}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for value in also:
        if _SHORTEST_WORD <= len(value) < _SHORTEST:
            text = re.sub(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", HIDDEN, text)
    return text


def without_secrets(value: Any) -> Any:
    """Plain data with the values of keys, tokens, headers and cookies hidden, in mappings at any depth and in texts."""
    return _values_hidden(value, [])


def _snake_case(name: str) -> str:
    return _CAMEL.sub("_", name.strip()).lower().replace("-", "_").replace(".", "_")


def _secrets_hidden(text: str) -> tuple[str, list[str]]:
    """The text with secrets hidden, and what they were."""
    found: list[str] = []

    def hidden(match: re.Match[str]) -> str:
        name, between, value = match.groups()
        if not is_secret_name(name):
            if is_header_map(name) or value[:1] not in "\"'":
                return match[0]
            inner, more = _secrets_hidden(value[1:])  # as in --model-args='api_key=…', quoted by a shell
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
    """Return the place where the brace that is open at a place is closed; the end of the text if it is not."""
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
            shown, values = _secrets_hidden(argument)
            found += values
            hidden.append(shown)
    return hidden, found


def _values_hidden(value: Any, found: list[str], *, is_secret: bool = False) -> Any:
    """Plain data with secrets hidden, which are added to a list.

    Args:
        value: Plain data.
        found: Receives what is hidden.
        is_secret: Hide every value below.
    """
    if isinstance(value, dict):
        return {
            key: _values_hidden(item, found, is_secret=is_secret or _holds_secrets(str(key), item))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_values_hidden(item, found, is_secret=is_secret) for item in value]
    if is_secret and value not in (None, "") and not isinstance(value, bool):
        found.append(str(value))
        return HIDDEN
    if isinstance(value, str):
        text, values = _secrets_hidden(value)
        found += values
        return text
    return value


def _holds_secrets(name: str, value: Any) -> bool:
    """Return whether everything below a name of a mapping is secret."""
    if is_header_map(name):
        return True
    return is_secret_name(name) and (isinstance(value, str) or name.lower() not in _VAGUE)


def _of_environment() -> Iterable[str]:
    for name, value in os.environ.items():
        if len(value) < _SHORTEST or name in _FOLDERS:
            continue
        if is_secret_name(name):
            yield from _forms(value, may_hold_words=True)
        if "@" in value and (user := _USER_INFO.search(value)) is not None:
            yield from _forms(user[0][:-1])


# Every error is searched for the forms of all variables, three times: to make them anew takes ten times as long.
# They stay with the process, as the secrets that it knows do.
@lru_cache(maxsize=256)
def _forms(value: str, *, may_hold_words: bool = False) -> tuple[str, ...]:
    """The ways in which a secret may be repeated: each part of it, unchanged and in each way of writing it.

    Args:
        value: The secret.
        may_hold_words: Whether it may hold settings too, as ``mode=complete`` in a variable of the environment: then of
            its parts those count that are not words, with 12 characters or more, a letter and a digit among them. What
            follows the scheme of a header (``Bearer``) always counts.
    """
    whole = [*_without_scheme(value.strip())]
    parts = [part for part in _secret_parts(whole[0]) if not may_hold_words or _NO_WORD.fullmatch(part)]
    found = {one for form in (*whole, *parts) for one in (form, unquote(form)) if one}
    return tuple(form for one in found for form in (one, *_ways_to_write(one)))


def _without_scheme(value: str) -> Iterable[str]:
    """A secret as given, and without the scheme of a header."""
    yield value
    for scheme in _SCHEMES:
        if value.lower().startswith(scheme.lower()):
            yield value[len(scheme) :].strip()


def _secret_parts(value: str) -> Iterable[str]:
    """A cookie without its name, a password without its user."""
    if ";" in value and "=" in value:  # cookies
        yield from (one.partition("=")[2].strip() for one in value.split(";"))
    elif "=" in value.rstrip("="):
        yield value.partition("=")[2]
    if "&" in value:  # the query of a URL
        yield value.partition("&")[0]
    if ":" in value and not value.lower().startswith(("http", "bearer", "basic")):
        yield value.partition(":")[2]


def _ways_to_write(text: str) -> Iterable[str]:
    """A text in base64 (as Basic authentication sends it), and where it has signs that some texts cannot hold, as
    JSON, Python, HTML and addresses write it, or as UTF-8 that was read as Latin-1.
    """
    data = text.encode("utf-8", "surrogatepass")
    yield base64.b64encode(data).decode()
    if text.isascii() and text.isalnum():
        return
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield repr(text)[1:-1]
    yield ascii(text)[1:-1]
    yield repr(data)[2:-1]
    yield data.decode("latin-1")
    yield html.escape(text)
    yield html.escape(text).replace("&#x27;", "&#39;")
    for safe in ("", "/", ":@", ":@/"):
        for quoted in (quote(data, safe), quote_plus(data, safe)):
            yield quoted
            yield _CODE.sub(lambda code: code[0].lower(), quoted)
