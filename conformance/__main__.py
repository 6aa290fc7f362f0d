"""The command: ``python -m conformance SUITE|all --seed N``, or ``python -m conformance census SUITE``."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

SUITES = {
    "lmms-eval": "conformance.lmms_eval.suite",
    "evalscope": "conformance.evalscope.suite",
    "ulmeval": "conformance.ulmeval.suite",
    "lm-eval": "conformance.lm_eval.suite",
    "evalscope-1": "conformance.evalscope_1.suite",
    "vlmevalkit": "conformance.vlmevalkit.suite",
}
"""Each module has ``run(seed, work, parity, only) -> bool`` and may have ``census(work) -> bool``."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("what", choices=[*SUITES, "all", "census"], help="a suite, all of them, or a loading census")
    parser.add_argument("suite", nargs="?", choices=[*SUITES], help="whose census")
    parser.add_argument("--seed", type=int, default=1, help="seed of rows and answers (default: 1)")
    parser.add_argument("--only", default="*", help="glob of benchmarks")
    parser.add_argument(
        "--parity", choices=["off", "on", "both"], default="both", help="with --parity, without, or both"
    )
    parser.add_argument("--work", type=Path, help="folder for rows and observations; kept (default: a temporary one)")
    arguments = parser.parse_args()
    work = arguments.work or Path(tempfile.mkdtemp(prefix="conformance-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.what == "census":
            if arguments.suite is None:
                parser.error("census needs the name of a suite")
            return 0 if importlib.import_module(SUITES[arguments.suite]).census(work.resolve()) else 1
        names = SUITES if arguments.what == "all" else [arguments.what]
        is_good = True
        for name in names:
            suite = importlib.import_module(SUITES[name])
            print(f"=== {name}, seed {arguments.seed}", flush=True)
            if arguments.what == "all" and (needed := getattr(suite, "CHECKOUT", "")) and not os.environ.get(needed):
                print(f"not run: {needed} names no checkout")
                continue
            folder = work.resolve() / name
            folder.mkdir(exist_ok=True)
            is_good = suite.run(arguments.seed, folder, arguments.parity, arguments.only) and is_good
        return 0 if is_good else 1
    finally:
        if arguments.work is None:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
