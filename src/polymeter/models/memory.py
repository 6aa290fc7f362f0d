"""Running out of memory, reported so that the engine can continue with a smaller batch."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import TypeVar

from polymeter.core.errors import ModelError

T = TypeVar("T")
_SIGNS = ("out of memory", "can't allocate memory", "not enough memory", "alloc_cpu", "CUBLAS_STATUS_ALLOC_FAILED")


def within_memory(compute: Callable[[], T]) -> T:
    """Call a function and return its result.

    Raises:
        ModelError: if memory ran out (``out_of_memory``). The memory that the function held is free again.
    """
    try:
        return compute()
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not any(sign in str(error) for sign in _SIGNS):
            raise
        what = (str(error).splitlines() or ["no message"])[0]
    # Outside of the except block the exception is deleted, and with it the frames that held tensors.
    free_memory()
    raise ModelError(f"Memory ran out: {what}", kind="out_of_memory", hint="Use a smaller --batch-size.")


def free_memory() -> None:
    """Free what nothing refers to any more, and torch's unused cache if torch is loaded."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif torch.backends.mps.is_available():
        torch.mps.empty_cache()
