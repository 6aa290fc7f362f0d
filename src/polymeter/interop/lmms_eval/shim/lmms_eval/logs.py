"""``eval_logger``: Loguru's logger if Loguru is installed, else a logger with the same interface."""

from __future__ import annotations

import importlib
import importlib.util
import logging
from typing import Any

_log = logging.getLogger("lmms-eval")
_SUCCESS = 25


class StandardLogger:
    """Loguru's interface over the standard library: braces in a message are filled from the arguments."""

    def trace(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.DEBUG, message, args, kwargs)

    def debug(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.DEBUG, message, args, kwargs)

    def info(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.INFO, message, args, kwargs)

    def success(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(_SUCCESS, message, args, kwargs)

    def warning(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.WARNING, message, args, kwargs)

    def error(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.ERROR, message, args, kwargs)

    def critical(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.CRITICAL, message, args, kwargs)

    def exception(self, message: Any, *args: Any, **kwargs: Any) -> None:
        self._write(logging.ERROR, message, args, kwargs, exc_info=True)

    def log(self, level: str | int, message: Any, *args: Any, **kwargs: Any) -> None:
        number = level if isinstance(level, int) else logging.getLevelName(level)
        self._write(number if isinstance(number, int) else _SUCCESS, message, args, kwargs)

    def opt(self, **options: Any) -> StandardLogger:
        return self

    def bind(self, **extra: Any) -> StandardLogger:
        return self

    def add(self, *args: Any, **kwargs: Any) -> int:
        """Ignore a guest's sink: the log is the user's."""
        return 0

    def remove(self, handler_id: int | None = None) -> None:
        """Do nothing; see ``add``."""

    def _write(self, level: int, message: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> None:
        text = str(message)
        _log.log(level, "%s", text.format(*args, **kwargs) if args or kwargs else text, **options)


def _make() -> Any:
    if importlib.util.find_spec("loguru") is None:
        return StandardLogger()
    return importlib.import_module("loguru").logger


eval_logger: Any = _make()
