"""Several servers of one model, started at the same time: awaited until all are ready, with their logs in view, and
stopped together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from polymeter.core.errors import ModelError
from polymeter.models.served.process import ServerProcess, free_ports

_LOOK_S = 0.2
_TELL_S = 5.0
"""The interval of reports on a start whose log has something new, in seconds."""
_TELL_ANYWAY_S = 30.0
_SHOWN_LINE = 120
_MOST_PORTS = 3
"""The number of ports on which a server is tried: another program may take one between the choice and the start."""


class Servers:
    """The servers of a model.

    Args:
        title: The name of the program.
        command: A function from a port to the whole command line.
        environments: The variables added to the environment of each server, one mapping for each.
        name: The name under which a server must list the model; empty: it need not.
        log: The path of the logs, to which a number and ``.log`` are added.

    Attributes:
        all: The servers that were started.
    """

    def __init__(
        self,
        title: str,
        command: Callable[[int], Sequence[str]],
        environments: Sequence[Mapping[str, str]],
        name: str,
        log: Path,
    ) -> None:
        self._title = title
        self._command = command
        self._environments = environments
        self._name = name
        self._log = log
        self.all: list[ServerProcess] = []

    def start(self, timeout_s: float, tell: Callable[[str], None], is_interrupted: threading.Event) -> None:
        """Start all servers, and wait for the last of them.

        Args:
            timeout_s: The time limit, in seconds.
            tell: Called now and then with the state of the start and the last line of a log.
            is_interrupted: Ends the waiting when it is set.

        Raises:
            ModelError: if a server cannot be started, ends, or is not ready in time. The caller stops the others.
        """
        began_s = told_s = time.monotonic()
        shown = ""
        ports = free_ports(len(self._environments))
        for number, port in enumerate(ports):
            self.all.append(self._begin(number, port))
        n_ports = [1] * len(ports)
        while True:
            waiting = [number for number, server in enumerate(self.all) if not server.is_healthy(self._name)]
            if not waiting:
                return
            for number in waiting:
                server = self.all[number]
                code = server.exit_code
                if code is None:
                    continue
                if not server.is_port_taken or n_ports[number] >= _MOST_PORTS:
                    raise failure(server, f"The server ended with exit code {code} before it was ready.")
                n_ports[number] += 1
                server.stop()
                self.all[number] = self._begin(number, free_ports(1)[0])
            now_s = time.monotonic()
            if now_s - began_s >= timeout_s:
                what = f"The server was not ready within {timeout_s:g} s, the limit of --server-timeout."
                raise failure(self.all[waiting[0]], what)
            if now_s - told_s >= _TELL_S:
                line = next(iter(self.all[waiting[0]].lines(1)), "")[:_SHOWN_LINE]
                if line != shown or now_s - told_s >= _TELL_ANYWAY_S:
                    told_s, shown = now_s, line
                    tell(f"{self._state(len(waiting), now_s - began_s)}. {line}".rstrip())
            if is_interrupted.wait(_LOOK_S):
                raise interrupted()

    def stop(self) -> None:
        """Stop all servers at the same time, and wait for their end."""
        threads = [threading.Thread(target=server.stop) for server in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _begin(self, number: int, port: int) -> ServerProcess:
        log = self._log.with_name(f"{self._log.name}-{number + 1}.log")
        server = ServerProcess(self._command(port), port, log, self._environments[number])
        try:
            server.start()
        except OSError as error:
            what = f"{self._title} cannot be started: {error}."
            raise ModelError(what, kind="transient", scope="endpoint") from error
        return server

    def _state(self, n_waiting: int, seconds: float) -> str:
        ready = f", {len(self.all) - n_waiting} of {len(self.all)} servers ready" if len(self.all) > 1 else ""
        return f"{self._title} is starting, {seconds:.0f} s so far{ready}"


def interrupted() -> ModelError:
    """Return the error of an interrupted start; the run can be resumed."""
    return ModelError("The start of the server was interrupted.", kind="transient", scope="endpoint")


def failure(server: ServerProcess, what: str) -> ModelError:
    """Return the error of a server that cannot be used, with the end of its log; the run can be resumed."""
    return ModelError(f"{what} {told(server)}", kind="transient", scope="endpoint")


def told(server: ServerProcess) -> str:
    """The last lines of a server's log and an error that stands before them, for a message, and where the log is."""
    lines = server.lines()
    if not lines:
        return f"It printed nothing (its log is {server.log})."
    shown = [f"The last lines of its log, {server.log}:", *(f"  {line}" for line in lines)]
    error = server.first_error
    return "\n".join([*shown, *(["The first error in it:", f"  {error}"] if error else [])])
