"""The blocks of one sample's page, each made by a module of this package and drawn by its partial.

A module that has ``ORDER`` and ``make(view) → Block | None`` is found by its place; adding a block is a module and a
partial under ``templates/content``. Blocks know neither server nor page.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module

from polymeter.report.content.media import RunMedia
from polymeter.report.content.question import SampleHeading, heading
from polymeter.report.content.view import Block, BlockView

__all__ = ["Block", "BlockView", "RunMedia", "SampleHeading", "blocks", "heading"]


def blocks(view: BlockView) -> list[Block]:
    """Return the blocks of a sample in their order; empty ones are left out."""
    made = [block for make in _makers() if (block := make(view)) is not None]
    return [replace(block, key=view.key) for block in made] if view.key else made


# Kept for the life of the process: the modules of a package are constants.
@lru_cache(maxsize=1)
def _makers() -> tuple[Callable[[BlockView], Block | None], ...]:
    """Return the functions that make the blocks, in their order."""
    found = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(
        module.make for module in sorted((one for one in found if hasattr(one, "make")), key=lambda one: one.ORDER)
    )
