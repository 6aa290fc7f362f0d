"""Writes the documentation pages of all benchmarks to ``docs/benchmarks``. Takes the options of ``polymeter docs``."""

import sys
from pathlib import Path

from polymeter.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["docs", "--output", str(Path(__file__).parent / "benchmarks"), *sys.argv[1:]]))
