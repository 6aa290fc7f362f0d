"""Removes machine paths, user and host names, and keys from the pages of a bundle.

The manifest is a record of a machine: in it, each absolute path is cut to its last part. Everywhere else only the paths
that the manifests and this machine give away are replaced, because samples may speak of paths of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import escape

from polymeter.core.text.secrets import hide_secrets, scrubbed, without_secrets

_HOME = re.compile(r"(?:/home|/Users|/root(?=/)|[A-Za-z]:\\Users)(?:[/\\][^/\\\s\"'<>|:*?]+)?")
_ABSOLUTE = re.compile(r"(?<![\w.:/~…-])(?:/(?:[^/\s\"'<>:,;]+/)+|[A-Za-z]:\\(?:[^\\\s\"'<>:,;]+\\)+)(?=[^/\\\s]|$|\s)")
_OF_MACHINE = ("host", "process", "journal_dir")
_LEAST_PARTS = 3
"""A folder such as ``/data`` gives nothing away, and is a usual word."""


class Private:
    """The private texts of a bundle's runs, and how each is shown instead.

    Args:
        folders: The viewed folders.
        manifests: The manifests of the runs.
    """

    def __init__(self, folders: Iterable[Path], manifests: Iterable[Mapping[str, Any]]) -> None:
        shown = {str(folder): folder.name for folder in (*folders, Path.cwd()) if len(folder.parts) >= _LEAST_PARTS}
        homes = {str(Path.home())} | {home for manifest in manifests for home in _homes(manifest)}
        shown |= {home: "~" for home in homes if len(home) > 1 and home not in ("/home", "/Users")}
        shown |= {_escaped(path): _escaped(name) for path, name in shown.items()}
        self._shown = shown
        self._pattern = _pattern(shown)
        self._shown_in_lower = {path.lower(): name.lower() for path, name in shown.items()}
        self._pattern_in_lower = _pattern(self._shown_in_lower)

    def hidden(self, text: str) -> str:
        """Return a text or a page without the private paths, and without the keys that this process knows. A path that
        is part of a longer name stays.
        """
        return _replaced(scrubbed(text), self._shown, self._pattern)

    def hidden_in_lower(self, text: str) -> str:
        """As ``hidden``, of a text in lower case, as an index of samples has it."""
        return _replaced(scrubbed(text, is_lower=True), self._shown_in_lower, self._pattern_in_lower)

    def manifest(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return a manifest without the machine that it was written on."""
        found: dict[str, Any] = self._cut(without_secrets(dict(manifest)))
        return found

    def _cut(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {self._cut(name): self._cut(one) for name, one in value.items() if name not in _OF_MACHINE}
        if isinstance(value, (list, tuple)):
            return [self._cut(one) for one in value]
        if isinstance(value, str):
            return _ABSOLUTE.sub("…/", self.hidden(hide_secrets(value)))
        return value


def _pattern(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Return the pattern of whole paths, the longest first; ``None`` if there are none."""
    found = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    return re.compile(rf"(?<![\w.~/\\-])(?:{found})(?![\w.-])") if found else None


def _replaced(text: str, shown: Mapping[str, str], pattern: re.Pattern[str] | None) -> str:
    if pattern is None or not any(path in text for path in shown):
        return text
    return pattern.sub(lambda match: shown[match[0]], text)


def _escaped(text: str) -> str:
    """A text as templates write it."""
    return str(escape(text))


def _homes(value: Any) -> Iterator[str]:
    """Return the home folders in plain data."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _homes(name)
            yield from _homes(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _homes(one)
    elif isinstance(value, str) and (os.sep in value or "\\" in value):
        yield from _HOME.findall(value)
