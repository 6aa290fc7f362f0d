"""Constructs every registered adapter, and writes down which ones fail and why. It is a script for EvalScope 0.17: it
runs unmodified where EvalScope is installed, and under ``polymeter python``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path


def main(folder: Path, out: Path) -> None:
    """Load all adapter files of a folder and construct what they register.

    Args:
        folder: The package's ``benchmarks``.
        out: The file for the reasons, by name; empty for what is constructed.
    """
    from evalscope.benchmarks.benchmark import BENCHMARK_MAPPINGS, Benchmark

    reasons: dict[str, str] = {}
    for file in sorted(folder.glob("**/*_adapter.py")):
        module = "evalscope.benchmarks." + ".".join(file.relative_to(folder).with_suffix("").parts)
        known = set(BENCHMARK_MAPPINGS)
        try:
            importlib.import_module(module)
        except Exception as error:
            reasons[file.stem.removesuffix("_adapter")] = f"{type(error).__name__}: {error}"
            continue
        print(module, sorted(set(BENCHMARK_MAPPINGS) - known), flush=True)
    for name in sorted(BENCHMARK_MAPPINGS):
        try:
            Benchmark.get(name).get_data_adapter({})
            reasons[name] = ""
        except Exception as error:
            reasons[name] = f"{type(error).__name__}: {error}"
    out.write_text(json.dumps(reasons), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
