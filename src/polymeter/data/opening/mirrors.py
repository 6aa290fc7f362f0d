"""Mirrors: further hub ids, or addresses, of the same data, tried in order if the first one is missing.

A mirror is no identity: rows are identified by their content. The id that was read stands in the run's record of
commits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.text.phrases import in_words
from polymeter.data.fetching.fetch import is_offline_now

T = TypeVar("T")
_GATED = "GatedRepoError"
"""The hub's error, by name, of a dataset that it has and that wants the user to agree to terms first. Another id is no
way around them."""
_GATED_TEXT = "is a gated dataset"
"""The same in the words of ``datasets``, whose error has lost that of the hub."""
_MISSING = ("RepositoryNotFoundError", "DatasetNotFoundError", "NotExistError", "AbsentError")
"""The errors of the hubs, and of files at addresses, by name."""
_REVISION = "Revision "
"""The beginning of the error of ``datasets`` for a dataset that the hub has without the revision that is wanted."""
_NO_ANSWER = "on the Hugging Face Hub either"
_COMMIT = re.compile("[0-9a-f]{40}")


def first_that_opens(
    ids: Sequence[str],
    opening: Callable[[str], T],
    *,
    pinned: Collection[str] = (),
    is_absent: Callable[[DataError], bool],
) -> T:
    """Open the first of some ids that exists.

    Args:
        ids: The ids, in order.
        opening: Opens one.
        pinned: Ids that a resumed run has read; they come first.
        is_absent: Whether an error means that a dataset is missing, on its hub or on this machine.

    Raises:
        DataError: that of the first id, if none exists; any error of a dataset that exists.
    """
    errors: list[DataError] = []
    for one in sorted(ids, key=lambda name: name not in pinned):
        try:
            return opening(one)
        except DataError as error:
            if len(ids) == 1 or not is_absent(error) or _is_gated(error):
                raise
            errors.append(error)
    first = errors[0]
    first.hint = f"{first.hint} Its mirrors are missing too: {in_words(list(ids[1:]))}.".strip()
    raise first


def for_mirror(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for opening a mirror: a commit is one of the dataset that it was written for."""
    is_commit = _COMMIT.fullmatch(str(arguments.get("revision") or ""))
    return {name: value for name, value in arguments.items() if not (is_commit and name == "revision")}


def is_missing(error: BaseException) -> bool:
    """Return whether an error means that a dataset is not on its hub or, without a network, not on this machine. A hub
    that fails, refuses or cannot be reached does not say so.
    """
    if is_offline_now(guest_context().is_offline):
        return True
    return any(_says_missing(cause) for cause in _chain(error)) and not _is_gated(error)


def _says_missing(error: BaseException) -> bool:
    name, text = type(error).__name__, str(error)
    if name in _MISSING:
        return not text.startswith(_REVISION)
    # A path or an address; ``datasets`` raises it too where the hub gives no answer about an id.
    return name == "FileNotFoundError" and _NO_ANSWER not in text


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_gated(error: BaseException) -> bool:
    return any(type(one).__name__ == _GATED or _GATED_TEXT in str(one) for one in _chain(error))
