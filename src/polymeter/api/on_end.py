"""A command of the user's that runs when a run has ended, however it ended (``--on-end``).

It belongs to a call and not to the run: the run's identity, its results and its exit code know nothing of it.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from polymeter.api.result import RESULT_VERSION, RunResult
from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.text.json_text import json_text
from polymeter.store.folder import RunFolder

_USAGE = 2
_OTHER = 1
_INTERRUPTED = 130
_LOGGER = logging.getLogger("polymeter")


class OnEnd:
    """Runs a command when a run has ended.

    The command gets ``POLYMETER_RUN`` (the run folder), ``POLYMETER_STATUS`` (``complete``, ``stopped``,
    ``interrupted`` or ``failed``) and ``POLYMETER_EXIT_CODE`` in its environment, and on stdin the document that
    ``--json`` prints. Its output goes to stderr. If it fails, a warning is printed and nothing else changes.

    Args:
        command: A command of the shell; empty: nothing is run.
    """

    def __init__(self, command: str) -> None:
        if not isinstance(command, (str, type(None))):
            raise PlanError(f"{command!r} is not a command of the shell.", where="on_end", hint="Write it as one text.")
        self._command = command
        self._folder: RunFolder | None = None

    def began(self, folder: RunFolder) -> None:
        """Note that the run has begun: from now on, the command runs at its end in any case."""
        self._folder = folder

    def around(self, evaluation: Callable[[], RunResult]) -> RunResult:
        """Carry out an evaluation, and run the command when it has ended."""
        try:
            result = evaluation()
        except BaseException as error:
            if self._folder is not None:
                self._run(_document_of(error, self._folder), self._folder)
            raise
        self._run({"schema_version": RESULT_VERSION, "kind": "run", **result.document()}, result.folder)
        return result

    def _run(self, document: Mapping[str, Any], folder: RunFolder) -> None:
        if not self._command:
            return
        told = {
            "POLYMETER_RUN": str(folder.path.resolve()),
            "POLYMETER_STATUS": str(document["status"]),
            "POLYMETER_EXIT_CODE": str(document["exit_code"]),
        }
        try:
            done = subprocess.run(  # noqa: S602  (the user's own command)
                self._command,
                shell=True,
                input=json_text(document).encode("utf-8", "backslashreplace"),
                stdout=2,  # stdout is for results
                env={**os.environ, **told},
                check=False,
            )
        except OSError as error:
            _LOGGER.warning("The command of --on-end cannot be run: %s.", error)
            return
        if done.returncode:
            _LOGGER.warning("The command of --on-end ended with %s. The run is unchanged.", done.returncode)


def _document_of(error: BaseException, folder: RunFolder) -> dict[str, Any]:
    """The document of a run that an error ended."""
    is_interrupted = isinstance(error, KeyboardInterrupt)
    code = _INTERRUPTED if is_interrupted else _USAGE if isinstance(error, PolymeterError) else _OTHER
    return {
        "schema_version": RESULT_VERSION,
        "kind": "run",
        "status": "interrupted" if is_interrupted else "failed",
        "exit_code": code,
        "reason": error.what if isinstance(error, PolymeterError) else type(error).__name__,
        "n_failed": 0,
        "missed": [],
        "incomplete": [],
        "folder": str(folder.path),
        "report": None,
        "results": None,
    }
