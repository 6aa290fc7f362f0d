"""Where things lie, said so that a page is the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_ABSOLUTE = re.compile(r"(?<![\w.:/~\\-])/(?:[^\s/'\"`<>|:,()\[\]]+/)+([^\s/'\"`<>|:,()\[\]]+)")
_LIBRARY = "polymeter/library"


class Hider:
    """Takes this machine's folders out of texts.

    Args:
        library: The folder of benchmarks that come with Polymeter.
        include_paths: The user's folders and files.
    """

    def __init__(self, library: Path, include_paths: Iterable[Path]) -> None:
        roots = [path.resolve() for path in include_paths]
        known = {str(root.parent if root.is_file() else root): "" for root in roots}
        known[str(library)] = f"{_LIBRARY}/"
        # A folder inside another one is known by its own name first.
        self._known = sorted(known.items(), key=lambda item: (-len(item[0]), item[0]))

    def hide(self, text: str) -> str:
        """The text with places below the known folders said from there; of any other only the last name is left."""
        for folder, label in self._known:
            text = text.replace(f"{folder}/", label)
        return _ABSOLUTE.sub(r"…/\1", text)
