"""Keeping libraries of models from talking over the progress of a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside this, Transformers shows errors and no warnings, and no bars of its own; then all is as it was."""
    from transformers.utils import logging

    with _errors_only(logging):
        yield


@contextmanager
def quiet_diffusers() -> Iterator[None]:
    """Inside this, Diffusers and Transformers show errors and no warnings, and no bars of their own."""
    with quiet_transformers(), warnings.catch_warnings():
        for category in (FutureWarning, UserWarning):  # of what checkpoints and their readers still say the old way
            warnings.simplefilter("ignore", category)
        from diffusers.utils import logging  # its import has Transformers warn of what is not installed

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
