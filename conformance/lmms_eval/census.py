"""The loading census: every task file of the installed lmms-eval, loaded by both tools, and why what fails fails.

A task is loaded when its YAML with includes is read, its functions are imported, and, here, its settings are checked.
The data is not there; a task that fails for that reason alone is loaded.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance import contained
from conformance.lmms_eval import installed
from conformance.lmms_eval.templates import LIST, add_templates_once

SECONDS = 60
DATA = "data"
# What the text of a failure tells, tried in order.
DELIBERATE = "a setting or name that Polymeter refuses on purpose"
FETCHED = "a file or model that it fetches while it loads"
CLASSES: Sequence[tuple[str, str]] = (
    (DELIBERATE, r"makes no sense|There is no (metric|aggregation|filter)|Two files define"),
    (
        "a package that is not installed",
        r"ModuleNotFoundError|No module named|is not installed|pip install|ImportError: .*requires",
    ),
    (
        "a module or function that lmms-eval does not have",
        r"has no attribute|cannot import name|Failed to import function|has no function|There is no function|defines no"
        r"|does not define|No such file.*\.py",
    ),
    ("an include or template that is not in the package", r"include|template"),
    ("a mistake in its Python", r"NameError|UnboundLocalError|SyntaxError|is not defined"),
    (
        FETCHED,
        r"offline|Hub|huggingface|LocalEntryNotFound|ConnectionError|gaierror|not this machine|FileNotFoundError"
        r"|No such file|Resource .* not found",
    ),
    ("a key or address in the environment", r"API_KEY|api_key|credentials|environ|HF_HOME|KeyError: '[A-Z_]+'"),
)


def classify(failure: str) -> str:
    """What is missing, by the text of a failure."""
    return next((name for name, pattern in CLASSES if re.search(pattern, failure)), "something else")


def load_there(files: Mapping[str, Path]) -> dict[str, str]:
    """Why lmms-eval does not load a task; empty if it does."""
    import lmms_eval.evaluator  # noqa: F401 - so that imports of tasks find it
    from lmms_eval import utils

    contained.only_this_machine()
    installed.quiet()
    made = {}
    for name, file in files.items():
        try:
            with contained.time_limit(SECONDS):
                utils.load_yaml_config(yaml_path=str(file), mode="full")
            made[name] = ""
        except (Exception, SystemExit, contained.OutOfTime) as error:
            made[name] = _whole(error)
    return made


def load_here(files: Mapping[str, Path], folder: Path, work: Path) -> dict[str, str]:
    """Why Polymeter does not load a task; empty if it does, `DATA` if all but its data is there."""
    from polymeter.catalog.listing import build_catalog
    from polymeter.catalog.trying import open_spec
    from polymeter.core.errors import DataError
    from polymeter.run.plan.selection import select

    contained.only_this_machine()
    catalog = build_catalog([folder])
    made = {}
    for name in files:
        try:
            with contained.time_limit(SECONDS):
                for spec in select([name], catalog).tasks:
                    open_spec(spec)
            made[name] = ""
        except DataError:
            made[name] = DATA
        except (Exception, SystemExit, contained.OutOfTime) as error:
            made[name] = _whole(error)
    (work / "catalog.txt").write_text("\n".join(map(str, catalog.problems)), encoding="utf-8")
    return made


def _whole(error: BaseException) -> str:
    causes = []
    while error is not None and len(causes) < 3:
        causes.append(contained.reason(error))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return " ← ".join(causes)


def report(there: Mapping[str, str], here: Mapping[str, str], n_templates: int) -> bool:
    """Print the census; whether every task that lmms-eval loads is loaded here, but for what is refused on purpose and
    for classes that fetch their data when they are made.
    """
    ours = {name: "" if text == DATA else text for name, text in here.items()}
    print(f"{len(there)} tasks ({n_templates} templates taken from the wheel of 0.7.3)")
    n_there, n_here = (sum(not text for text in side.values()) for side in (there, ours))
    print(f"  lmms-eval loads {n_there}, Polymeter {n_here}")
    for title, names in (
        ("in neither", [name for name in there if there[name] and ours.get(name)]),
        ("in lmms-eval alone", [name for name in there if not there[name] and ours.get(name)]),
        ("in Polymeter alone", [name for name in there if there[name] and not ours.get(name)]),
    ):
        print(f"  {len(names)} load {title}")
        counts = Counter(classify(ours.get(name) or there[name]) for name in names)
        for kind, count in counts.most_common():
            print(f"    {count}: {kind}")
            if title != "in Polymeter alone":
                for name in [one for one in names if classify(ours.get(one) or there[one]) == kind][:400]:
                    print(f"      {name}: {(ours.get(name) or there[name])[:220]}")
    alone = [name for name in there if ours.get(name) and not there[name]]
    return all(classify(ours[name]) in {DELIBERATE, FETCHED} for name in alone)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--side", choices=["there", "here"])
    arguments = parser.parse_args()
    folder = add_templates_once()
    # Imported late: this module is one of those that run in either tool's process.
    from conformance.frame import run_child
    from conformance.lmms_eval.choosing import task_files

    files = task_files(folder)
    if arguments.side:
        made = load_there(files) if arguments.side == "there" else load_here(files, folder, arguments.work)
        (arguments.work / f"census-{arguments.side}.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
        return 0
    variables = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(arguments.work / "hf"), "OPENAI_API_KEY": "none"}
    for side in ("there", "here"):
        log = arguments.work / f"census-{side}.log"
        given = ["--work", str(arguments.work), "--side", side]
        run_child(Path(sys.executable), "conformance.lmms_eval.census", given, environment=variables, log=log)
    there, here = (
        json.loads((arguments.work / f"census-{side}.json").read_text(encoding="utf-8")) for side in ("there", "here")
    )
    n_templates = len((folder / LIST).read_text(encoding="utf-8").split())
    return 0 if report(there, here, n_templates) else 1


if __name__ == "__main__":
    sys.exit(main())
