"""``python -m polymeter`` and the command ``polymeter``: what a process of ours needs before anything else."""

from __future__ import annotations

import io
import os
import sys


def main() -> int:
    """Run the command line; returns the exit code, or ends the process with it if it was called by nobody else.

    Signals are handled before the rest is imported, so that a command that ends early ends like any other. What a
    terminal's encoding cannot hold is printed as its escape (half a character in a model's answer), or in plain
    characters (``✓`` in a plain C locale).
    """
    from polymeter.cli.plain_text import PLAIN, register
    from polymeter.cli.signals import INTERRUPTED, Signals

    # OpenBLAS starts a thread for each core while NumPy is imported, and a thread without work spins for 2^28 cycles, a
    # tenth of a second, before it sleeps. 2^20 are enough to be there when one product follows another.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    signals = Signals()
    signals.install()
    register()
    from polymeter.core.garbage import collect_rarely

    collect_rarely()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        from polymeter.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    code = signals.exit_code(code)
    from polymeter.cli.leaving import leave

    leave(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
