"""The media as the model was shown them: the facts of each on a line, and all of them when it is opened."""

from __future__ import annotations

from polymeter.report.content.view import Block, BlockView
from polymeter.report.shown_text import shown_in_sample

ORDER = 27


def make(view: BlockView) -> Block | None:
    """Return the records of a sample's media, beside the media; ``None``: there are none."""
    found = shown_in_sample(view.sample)
    return Block("shown", "", "content/shown.html", found, "side") if found else None
