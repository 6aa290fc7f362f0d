"""Finds hooks that draw random numbers in lmms-eval, by the states of the generators that all code shares.

Other numbers may by chance give the same values, so that comparing two runs finds most such tasks, but not all. A hook
that seeds a generator itself draws the same numbers wherever it runs, and is not one of them.
"""

from __future__ import annotations

import functools
import pickle
import random
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

_SEEDERS = (("random", "random", "seed"), ("numpy", "numpy.random", "seed"), ("torch", "torch", "manual_seed"))
"""The library of a generator, and the module and name of the function that seeds it."""


class Draws:
    """Watches hooks.

    Attributes:
        are_noted: Whether a hook has drawn since this was last set to false.
    """

    def __init__(self) -> None:
        self.are_noted = False
        self._seeded: set[str] = set()
        for library, module, name in _SEEDERS:
            if module in sys.modules:
                place = sys.modules[module]
                setattr(place, name, self._noting_seed(getattr(place, name), library))

    def watched(self, hook: Any) -> Any:
        """A hook that notes whether it draws; what is no function is returned as it is."""
        if not isinstance(hook, FunctionType):
            return hook

        @functools.wraps(hook)
        def watching(*arguments: Any, **options: Any) -> Any:
            before = _states()
            seeded, self._seeded = self._seeded, set()
            try:
                return hook(*arguments, **options)
            finally:
                after = _states()
                self.are_noted |= any(before[name] != after[name] for name in before if name not in self._seeded)
                self._seeded |= seeded

        return watching

    def watch_yaml(self) -> None:
        """Watch every function that lmms-eval loads for a YAML from now on."""
        from lmms_eval import utils

        load = utils.import_function
        utils.import_function = lambda loader, node: self.watched(load(loader, node))

    def _noting_seed(self, seed: Callable[..., Any], library: str) -> Callable[..., Any]:
        @functools.wraps(seed)
        def seeding(*arguments: Any, **options: Any) -> Any:
            if any(one is not None for one in (*arguments, *options.values())):
                self._seeded.add(library)
            return seed(*arguments, **options)

        return seeding


def _states() -> dict[str, bytes]:
    """The states of the shared generators, of those libraries that are in use."""
    states = {"random": pickle.dumps(random.getstate())}
    if numpy := sys.modules.get("numpy.random"):
        states["numpy"] = pickle.dumps(numpy.get_state())
    if torch := sys.modules.get("torch"):
        states["torch"] = torch.get_rng_state().numpy().tobytes()
    return states
