"""The loading census: every adapter of the installed EvalScope, constructed by both tools, and why what fails fails."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.frame import python_of, run_child

# What the text of a failure tells, tried in order.
CLASSES: Sequence[tuple[str, str]] = (
    (
        "a package that is not installed",
        r"ModuleNotFoundError|No module named|ImportError|pip install|the package",
    ),
    ("an image scorer that is not built", r"cannot be made"),
    ("weights or a tokenizer that are fetched while it is constructed", r"NetworkError|Connection|offline|OSError|Hub"),
)


def classify(reason: str) -> str:
    """What is missing, by the text of a failure."""
    return next((name for name, pattern in CLASSES if re.search(pattern, reason)), "something else")


def adapters_folder() -> Path:
    """The adapters of the installed EvalScope.

    Raises:
        SystemExit: if EvalScope is not installed beside what runs this.
    """
    found = importlib.util.find_spec("evalscope")
    if found is None or found.origin is None:
        raise SystemExit("EvalScope is not installed here: run 'make conformance SUITES=evalscope'.")
    return Path(found.origin).parent / "benchmarks"


def load_all(side: str, work: Path) -> Mapping[str, str]:
    """Why each adapter cannot be constructed, by name; empty if it can.

    Args:
        side: ``theirs`` for EvalScope, ``here`` for Polymeter.
        work: Where reasons and a log go.
    """
    out, log = work / f"census-{side}.json", work / f"census-{side}.log"
    out.unlink(missing_ok=True)
    folder = adapters_folder()
    arguments = [str(folder), str(out)]
    module = "conformance.evalscope.loading"
    if side == "here":
        script = str(Path(__file__).with_name("loading.py"))
        module, arguments = "polymeter", ["python", "--include-path", str(folder), script, *arguments]
    run_child(python_of(".venv-evalscope"), module, arguments, environment={"HF_HUB_OFFLINE": "1"}, log=log)
    reasons: Mapping[str, str] = json.loads(out.read_text(encoding="utf-8"))
    return reasons


def print_census(there: Mapping[str, str], here: Mapping[str, str]) -> bool:
    """Print which adapters are constructed, and why others are not; whether Polymeter constructs all that are there."""
    names = sorted(there.keys() | here.keys())
    for title, reasons in (("EvalScope", there), ("Polymeter", here)):
        failed = {name: reasons.get(name, "not registered") for name in names if reasons.get(name, "not registered")}
        print(f"{title} constructs {len(names) - len(failed)} of {len(names)} adapters")
        for name, reason in failed.items():
            print(f"  {name}: {classify(reason)}: {' '.join(reason.split())[:160]}")
    return not [name for name in names if not there.get(name, "x") and here.get(name, "x")]
