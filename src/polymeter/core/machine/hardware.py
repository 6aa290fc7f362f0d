"""The hardware of this machine, as far as it is known."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return the number of cores that this process may use: a container or a scheduler often grants fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int | None:
    """The main memory in bytes; ``None`` if the system does not report it."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None
