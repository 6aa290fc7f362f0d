"""The power analysis of lmms-eval's command line: how many samples a difference between two models needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.errors import PlanError


def report(options: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print.

    Args:
        options: Options of the command line by key.

    Raises:
        PlanError: An option is out of its range, or a task cannot be opened.
    """
    from polymeter.stats import needed_samples

    effect, power = options["effect_size"], options["power"]
    shape = _shape(options)
    try:
        needed = needed_samples(effect, power=power, **shape)
    except ValueError as error:
        raise PlanError(str(error), where="--power-analysis") from None
    yield f"To show a difference of {effect:.1%} with {power:.0%} power takes {needed:,} samples"
    yield (
        f"(paired, two-sided, alpha {shape['alpha']:g}, correlation {shape['correlation']:g}, standard deviations "
        f"{shape['std_a']:g} and {shape['std_b']:g})."
    )
    for name, n_samples in _sizes(options):
        yield _line(name, n_samples, effect, power, shape)


def _shape(options: Mapping[str, Any]) -> dict[str, float]:
    from polymeter.stats.power import STD

    return {
        "std_a": STD if options["std_a"] is None else options["std_a"],
        "std_b": STD if options["std_b"] is None else options["std_b"],
        "correlation": options["correlation"],
        "alpha": options["alpha"],
    }


def _sizes(options: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    if not options["tasks"]:
        return
    from polymeter.api.trying import open_named
    from polymeter.interop.lmms_eval.terms import patterns_and_paths

    patterns, paths = patterns_and_paths(options["tasks"], options["include_path"])
    for task in open_named(patterns, paths):
        yield task.spec.name, len(task.samples)


def _line(name: str, n_samples: int, effect: float, power: float, shape: Mapping[str, float]) -> str:
    from polymeter.stats import achieved_power, detectable_effect

    reached = achieved_power(effect, n_samples, **shape)
    least = detectable_effect(n_samples, power=power, **shape)
    enough = "enough" if reached >= power else "too few"
    return f"{name}: {n_samples:,} samples, {enough}: {reached:.1%} power, shows {least:.1%} and more"
