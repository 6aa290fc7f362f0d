"""The census of EvalScope 1.14.1's own adapters in Polymeter: which are listed with their metadata, which load and are
constructed, and which make prompts of generated rows. Nothing of EvalScope's runs for the list.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from conformance.contained import only_this_machine, reason

LEAST_LISTED, LEAST_CONSTRUCTED, LEAST_RENDERED = 0.95, 0.90, 0.85
OF_SERVICES = ("CodeExecutionSandboxMixin", "DecisionAdapter")
"""Classes of adapters that need a container or a service."""


def installed_adapter(name: str, args: Mapping[str, Any], eval_type: str = "openai_api") -> Any:
    """Make Polymeter's adapter of a benchmark of the installed EvalScope.

    Args:
        name: The benchmark.
        args: Its ``dataset_args``.
        eval_type: The kind of model that it sees.
    """
    from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig
    from polymeter.interop.evalscope.v1.registration import make_adapter
    from polymeter.interop.evalscope.v1.tasks import index as listing
    from polymeter.interop.evalscope.v1.tasks.guest import load_meta
    from polymeter.interop.evalscope.v1.tasks.settings import RunSettings

    catalog = installed_catalog()
    entry = next(one for one in catalog if one.name == name)
    judge = JudgeConfig(models=[{"model_id": "judge", "api_url": "http://127.0.0.1"}])
    settings = RunSettings(judge=judge, generation_config=None, eval_type=eval_type, datasets=[name])
    return make_adapter(load_meta(listing.load(entry, catalog).tasks[0]), settings, args)


@functools.cache
def installed_catalog() -> Any:
    """The adapters of the installed EvalScope as Polymeter lists them."""
    from polymeter.core.names.catalog import Root
    from polymeter.guests.loading.neighbours import include_trees
    from polymeter.interop.evalscope.v1.tasks import index as listing

    # By its metadata: where a script runs in Polymeter, the name is that of a shim.
    folder = Path(str(distribution("evalscope").locate_file("evalscope/benchmarks")))
    include_trees([folder])
    return listing.index([Root(folder, is_user=True)])


def census_of(work: Path, book: Sequence[Mapping[str, Any]]) -> bool:
    """Print what is listed, constructed and rendered, with the causes of the rest; whether it is enough.

    Args:
        work: The folder with the rows.
        book: What could be made of each adapter in EvalScope: its arguments, or why there are no rows.
    """
    from conformance.evalscope_1.stand_ins import serve_rows
    from polymeter.guests.shims.finder import switch_on_shims

    only_this_machine()
    catalog = installed_catalog()
    switch_on_shims()
    place: dict[str, Any] = {}
    serve_rows(place)
    rows = {entry["name"]: entry for entry in book}
    entries = [entry for entry in catalog if not _needs_more(entry)]
    described = [entry for entry in entries if entry.tags and entry.about]
    causes: dict[str, list[str]] = defaultdict(list)
    without_prompts: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        try:
            installed_adapter(entry.name, {})
        except (Exception, SystemExit) as error:
            causes[reason(error)[:110]].append(entry.name)
        if why := _why_no_prompts(entry.name, rows.get(entry.name, {}), work, place):
            without_prompts[why].append(entry.name)
    n = len(entries)
    n_made, n_rendered = (n - sum(map(len, failed.values())) for failed in (causes, without_prompts))
    print(f"{len(list(catalog))} adapters that are no agents are listed; {n} of them need no container and no service")
    print(f"{len(described)} of {n} ({len(described) / n:.1%}) are listed with their metadata")
    print(f"{n_made} of {n} ({n_made / n:.1%}) load and are constructed; the others:")
    _print_causes(causes)
    print(f"{n_rendered} of {n} ({n_rendered / n:.1%}) make prompts of generated rows; the others:")
    _print_causes(without_prompts)
    for problem in catalog.problems:
        print(f"  not listed: {Path(problem.where).parent.name}: {problem.message[:120]}")
    is_listed, is_made = len(described) >= LEAST_LISTED * n, n_made >= LEAST_CONSTRUCTED * n
    return is_listed and is_made and n_rendered >= LEAST_RENDERED * n


def _needs_more(entry: Any) -> bool:
    source = Path(entry.file).read_text(encoding="utf-8")
    return any(name in source for name in OF_SERVICES)


def _why_no_prompts(name: str, made: Mapping[str, Any], work: Path, place: dict[str, Any]) -> str:
    """Why Polymeter makes no prompts of an adapter's rows; empty if it does."""
    if "answers" not in made:
        return f"in EvalScope, too: {made.get('failure', 'the file does not load')[:110]}"
    place["current"] = str(work / "rows" / name)
    try:
        dataset = installed_adapter(name, made["args"]).load_dataset()
        shown = [sample.input for subset in dataset.values() for sample in subset]
    except (Exception, SystemExit) as error:
        return reason(error)[:110]
    return "" if shown and all(isinstance(one, list) and one for one in shown) else "a sample without messages"


def _print_causes(causes: Mapping[str, Sequence[str]]) -> None:
    for cause, names in sorted(causes.items(), key=lambda pair: -len(pair[1])):
        print(f"  {', '.join(names)}: {cause}")
