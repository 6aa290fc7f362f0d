"""Stand-in for ``lmms_eval.models.model_utils.progress``: a wrapper's own progress.

A run shows its progress itself, and a second bar would write over it, so this one only counts, and logs its count now
and then for those who look.
"""

from __future__ import annotations

import time
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval._logging import eval_logger


class SlurmProgress:
    """Counts what is done, called as tqdm is: ``update``, ``set_postfix``, ``set_description``, ``close``.

    Args:
        total: How much there is to do.
        desc: What it is.
        disable: Log nothing.
        log_interval: Seconds between two lines.
    """

    def __init__(
        self, total: int | None = None, desc: str = "Progress", disable: bool = False, log_interval: float = 30.0
    ) -> None:
        self.total, self.desc, self.disable, self.log_interval = total, desc, disable, log_interval
        self.n = 0
        self._next_line = time.monotonic() + log_interval

    def update(self, n: int = 1) -> None:
        self.n += n
        if not self.disable and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + self.log_interval
            eval_logger.debug(f"{self.desc}: {self.n} of {self.total}")

    def set_description(self, desc: str | None = None, refresh: bool = True) -> None:
        self.desc = desc or ""

    def set_postfix(self, *args: Any, **kwargs: Any) -> None:
        """A note behind the bar: not shown."""

    def close(self) -> None:
        """Nothing to be done."""

    def __enter__(self) -> SlurmProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_progress(
    total: int, desc: str = "Progress", disable: bool = False, log_interval: float = 30.0
) -> SlurmProgress:
    """Something that counts."""
    return SlurmProgress(total=total, desc=desc, disable=disable, log_interval=log_interval)
