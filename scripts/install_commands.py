"""Make the pages install Polymeter from where it is: ``python -m scripts.install_commands``.

One setting decides, ``IS_RELEASED`` in ``polymeter.core.names.installing``. Change it and run this: every command of
``README.md``, ``docs`` and the pages of the systems that installs Polymeter then names the clone or the package index.
A test fails until this was run.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from polymeter.core.names.installing import IS_RELEASED
from scripts.docs_site import ROOT, pages

_FROM_CLONE = re.compile(
    r"pip install (?:-e )?(?P<quote>'?)\.(?:/polymeter)?(?:\[(?P<extras>[\w,-]+)\])?(?P=quote)"
    r"(?: -c constraints\.txt)?(?![\w./])"
)
_FROM_INDEX = re.compile(r"pip install (?P<quote>'?)polymeter(?:\[(?P<extras>[\w,-]+)\])?(?P=quote)(?![\w./])")
_FOR_DEVELOPERS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
"""Pages whose readers have a clone, released or not."""


def user_pages() -> list[Path]:
    """Return the pages whose commands follow the setting."""
    return [path for path in pages() if path.name not in _FOR_DEVELOPERS]


def with_commands(text: str, *, is_released: bool) -> str:
    """Return a page with the commands that install Polymeter from the index, or from a clone.

    A clone is the working directory where extras are named (``-e '.[hf]'``), and the folder ``polymeter`` in it
    elsewhere.
    """
    found, form = (_FROM_CLONE, "polymeter") if is_released else (_FROM_INDEX, ".")

    def written(match: re.Match[str]) -> str:
        if not match["extras"]:
            return "pip install polymeter" if is_released else "pip install ./polymeter"
        return f"pip install {'' if is_released else '-e '}'{form}[{match['extras']}]'"

    return found.sub(written, text)


def main() -> int:
    """Write the pages."""
    for path in user_pages():
        before = path.read_text("utf-8")
        if (after := with_commands(before, is_released=IS_RELEASED)) != before:
            path.write_text(after, "utf-8")
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
