"""``evalscope.benchmarks``: a script looks up the benchmark that its evaluation would find."""

from __future__ import annotations

import sys

from polymeter.api.settings import read_settings
from polymeter.guests.door import current_mode
from polymeter.guests.held import hand_over
from polymeter.interop.evalscope import SYSTEM
from polymeter.interop.evalscope.tasks import registration
from polymeter.interop.evalscope.tasks.guest import load_meta
from polymeter.interop.evalscope.tasks.index import NAME, load
from polymeter.run.plan.selection import build_catalog


class Benchmark(registration.Benchmark):
    """The registry of data adapters."""

    @classmethod
    def get(cls, name: str) -> registration.BenchmarkMeta:
        """Return the registration that ``run_task`` finds under a name: the script's own, else that of the user's
        folders or an installed package. Its file is loaded, and changes by the script count.

        Raises:
            PlanError: if there is nothing (the nearest names are given), or its code cannot be loaded.
        """
        if current_mode() is not None or name in registration.BENCHMARK_MAPPINGS.by_users():
            return super().get(name)
        settings = read_settings()
        catalog = build_catalog(settings.include_paths, settings.cache_dir)
        catalog.preferred = (SYSTEM.log_name,)
        entry = catalog.get(name)
        if entry.format != NAME:
            return super().get(name)
        meta = load_meta(load(entry, catalog).tasks[0])
        hand_over(sys.modules.get(meta.data_adapter.__module__))
        return meta
