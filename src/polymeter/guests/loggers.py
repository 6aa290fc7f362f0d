"""Loggers of guests' own code. Their records pass through here, so that keys do not get into a log."""

from __future__ import annotations

import logging
import os
import re

from polymeter.core.secrets import HIDDEN, hide_secrets, is_secret_name

HOME = "polymeter.guests"
"""The name of the logger above all of them."""
_SHORTEST_KEY = 8
_KEY = re.compile(r"\bsk-[\w-]{8,}")


def guest_logger(name: str) -> logging.Logger:
    """The logger of a name. The run decides where its records go."""
    logger = logging.getLogger(f"{HOME}.{name}")
    if not any(isinstance(item, _WithoutKeys) for item in logger.filters):
        logger.addFilter(_WithoutKeys())
    return logger


class _WithoutKeys(logging.Filter):
    """Takes keys out of a record: what looks like one, and values of variables of the environment named like one."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = _KEY.sub(HIDDEN, hide_secrets(record.getMessage()))
        for name, value in os.environ.items():
            if len(value) >= _SHORTEST_KEY and value in text and is_secret_name(name):
                text = text.replace(value, HIDDEN)
        record.msg, record.args = text, None
        return True
