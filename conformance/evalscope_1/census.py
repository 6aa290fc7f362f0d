"""The census of EvalScope 1.14.1's own adapters in Polymeter: which are listed with their metadata, and which load and
are constructed. Nothing of EvalScope's runs for the list.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from conformance.contained import only_this_machine, reason

LEAST_LISTED, LEAST_CONSTRUCTED = 0.95, 0.90


def census_of(folder: Path) -> bool:
    """Print what is listed and what is constructed, with the causes of the rest; whether it is enough.

    Args:
        folder: ``evalscope/benchmarks``.
    """
    from polymeter.core.names.catalog import Root
    from polymeter.guests.loading.neighbours import include_trees
    from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig
    from polymeter.interop.evalscope.v1.registration import make_adapter
    from polymeter.interop.evalscope.v1.tasks import index as listing
    from polymeter.interop.evalscope.v1.tasks.guest import load_meta
    from polymeter.interop.evalscope.v1.tasks.settings import RunSettings

    only_this_machine()
    include_trees([folder])
    catalog = listing.index([Root(folder, is_user=True)])
    entries = list(catalog)
    described = [entry for entry in entries if entry.tags and entry.about]
    causes: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        try:
            spec = listing.load(entry, catalog).tasks[0]
            make_adapter(load_meta(spec), RunSettings(judge=JudgeConfig(), generation_config=None), {})
        except (Exception, SystemExit) as error:
            causes[reason(error)[:110]].append(entry.name)
    n_failed = sum(map(len, causes.values()))
    print(f"{len(entries)} adapters that are no agents are listed, {len(described)} with their metadata")
    print(f"{len(entries) - n_failed} of them load and are constructed; the others:")
    for cause, names in sorted(causes.items(), key=lambda pair: -len(pair[1])):
        print(f"  {', '.join(names)}: {cause}")
    for problem in catalog.problems:
        print(f"  not listed: {Path(problem.where).parent.name}: {problem.message[:120]}")
    is_listed = len(described) >= LEAST_LISTED * len(entries)
    return is_listed and len(entries) - n_failed >= LEAST_CONSTRUCTED * len(entries)
