"""Loggers of guests' own code. Their records pass through here, so that keys do not get into a log."""

from __future__ import annotations

import logging
import re

from polymeter.core.text.secrets import HIDDEN, hide_secrets, scrubbed

HOME = "polymeter.guests"
"""The name of the logger above all of them."""
_KEY = re.compile(r"\bsk-[\w-]{8,}")


def guest_logger(name: str) -> logging.Logger:
    """The logger of a name. The run decides where its records go."""
    logger = logging.getLogger(f"{HOME}.{name}")
    if not any(isinstance(item, _WithoutKeys) for item in logger.filters):
        logger.addFilter(_WithoutKeys())
    return logger


class _WithoutKeys(logging.Filter):
    """Removes keys from a record: texts that look like one, and the secrets that this process knows."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = _KEY.sub(HIDDEN, scrubbed(hide_secrets(record.getMessage()))), None
        return True
