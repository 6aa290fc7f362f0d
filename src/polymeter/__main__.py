"""``python -m polymeter`` and the command ``polymeter``: what a process of ours needs before anything else."""

from __future__ import annotations

import gc
import io
import sys

_OBJECTS_BETWEEN_SEARCHES = 10_000


def main() -> int:
    """Run the command line; returns the exit code.

    Signals are handled before the rest is imported, so that a command that ends early ends like any other. What a
    terminal's encoding cannot hold is printed as its escape (half a character in a model's answer), or in plain
    characters (``✓`` in a plain C locale).
    """
    # Imports and samples make hardly any cycles. Python's own 700 objects cost 7 % of a run at an endpoint.
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
    from polymeter.cli.plain_text import PLAIN, register
    from polymeter.cli.signals import INTERRUPTED, Signals

    signals = Signals()
    signals.install()
    register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        from polymeter.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    return signals.exit_code(code)


if __name__ == "__main__":
    sys.exit(main())
