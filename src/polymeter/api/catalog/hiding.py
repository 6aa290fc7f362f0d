"""Where things lie, said so that a page is the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_ABSOLUTE = re.compile(r"(?<![\w.:/~\\-])/(?:[^\s/'\"`<>|:,()\[\]]+/)+([^\s/'\"`<>|:,()\[\]]+)")
_PLACE = re.compile(r"/(?:[^/\n]+/)+[^/\n]*")
_LIBRARY = "polymeter/library"


class Hider:
    """Takes this machine's folders out of texts.

    Args:
        libraries: The folders of benchmarks that come with Polymeter.
        include_paths: The user's folders and files.
    """

    def __init__(self, libraries: Iterable[Path], include_paths: Iterable[Path]) -> None:
        roots = [path.resolve() for path in include_paths]
        known = {str(root.parent if root.is_file() else root): "" for root in roots}
        known |= {str(folder): f"{_LIBRARY}/" for folder in libraries}
        # A folder inside another one is known by its own name first.
        self._known = sorted(known.items(), key=lambda item: (-len(item[0]), item[0]))

    def hide(self, text: str) -> str:
        """A message with places below the known folders said from there; of any other only the last name is left."""
        return _ABSOLUTE.sub(r"…/\1", self._from_known(text))

    def hide_in(self, value: Any) -> Any:
        """A value of a configuration, with the texts in it that are places said in the same way."""
        if isinstance(value, Mapping):
            return {key: self.hide_in(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hide_in(item) for item in value]
        if not isinstance(value, str):
            return value
        text = self._from_known(value)
        return f"…/{Path(text).name}" if _PLACE.fullmatch(text) else text

    def _from_known(self, text: str) -> str:
        for folder, label in self._known:
            text = text.replace(f"{folder}/", label)
        return text
