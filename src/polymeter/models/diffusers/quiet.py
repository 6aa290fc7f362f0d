"""Keeping Diffusers from talking over the progress of a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from polymeter.models.hf.quiet import quiet as quiet_transformers


@contextmanager
def quiet() -> Iterator[None]:
    """Inside this, Diffusers and Transformers show errors and no warnings, and no bars of their own."""
    with quiet_transformers(), warnings.catch_warnings():
        for category in (FutureWarning, UserWarning):  # of what checkpoints and their readers still say the old way
            warnings.simplefilter("ignore", category)
        from diffusers.utils import logging  # its import has Transformers warn of what is not installed

        verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if has_bars:
                logging.enable_progress_bar()
