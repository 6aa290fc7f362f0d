"""Plots of one task of a run: each made by a module of this package from arrays, and drawn by one partial and script.

A module that has ``ORDER`` and ``make(columns, results) → plots`` is found by being here; it yields nothing if it does
not apply. Adding a plot is one file.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from polymeter.viewer.plots.columns import Columns, LabelColumn, columns_of_index
from polymeter.viewer.plots.view import PlotCell, PlotTable, PlotView

__all__ = ["Columns", "LabelColumn", "PlotCell", "PlotTable", "PlotView", "columns_of_index", "plots_of"]

_Make = Callable[[Columns, Mapping[str, Any]], Iterator[PlotView]]


def plots_of(columns: Columns, results: Mapping[str, Any]) -> list[PlotView]:
    """All plots that apply to a task, in their order.

    Args:
        columns: Its samples.
        results: Its entry in ``results.json``; empty before there is one.
    """
    return [plot for make in _makers() for plot in make(columns, results)]


def _makers() -> tuple[_Make, ...]:
    """Return the functions that make the plots, in their order."""
    found = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return tuple(one.make for one in sorted((one for one in found if hasattr(one, "make")), key=lambda one: one.ORDER))
