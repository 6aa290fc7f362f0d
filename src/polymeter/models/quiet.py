"""Context managers that keep model libraries from printing over the progress of a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Show only errors of Transformers, and no progress bars, inside the block."""
    from transformers.utils import logging

    with _errors_only(logging):
        yield


@contextmanager
def quiet_diffusers() -> Iterator[None]:
    """Show only errors of Diffusers and Transformers, and no progress bars, inside the block."""
    with quiet_transformers(), warnings.catch_warnings():
        for category in (
            FutureWarning,
            UserWarning,
        ):  # deprecated settings in checkpoints and in the code that reads them
            warnings.simplefilter("ignore", category)
        from diffusers.utils import logging  # importing it makes Transformers warn about packages that are missing

        with _errors_only(logging):
            yield


@contextmanager
def _errors_only(logging: Any) -> Iterator[None]:
    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()
