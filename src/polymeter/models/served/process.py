"""One server as a child process: started on a port, awaited, and stopped, with its log in a file."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from polymeter.core.children.child import Child
from polymeter.core.text.secrets import hide_secrets
from polymeter.models.served.kinds import HOST

GRACE_S = 10.0
"""The time limit for a server to end before it is killed, in seconds."""

_ASK_S = 5.0
_TAIL_BYTES = 64 * 1024
_SHOWN_LINES = 12
_LONGEST_LINE = 300
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_ERROR = re.compile(r"\b\w*(?:Error|Exception): \S")
_SEARCHED_BYTES = 1024 * 1024
_TAKEN = re.compile(r"address already in use|errno 98|errno 48|couldn't bind|port \d+ is (?:already )?in use", re.I)


class ServerProcess:
    """A server.

    Args:
        command: Its whole command line.
        port: Where it listens.
        log: The file that its output is appended to.
        environment: Variables added to the environment.

    Attributes:
        command: Its command line.
        port: Where it listens.
        log: The file.
        is_ready: Whether it has answered.
    """

    def __init__(self, command: Sequence[str], port: int, log: Path, environment: Mapping[str, str]) -> None:
        self.command = tuple(command)
        self.port = port
        self.log = log
        self.is_ready = False
        self._environment = {
            **{name: value for name, value in os.environ.items() if name not in _NOT_PASSED},
            "PYTHONUNBUFFERED": "1",
            **environment,
        }
        self._child: Child | None = None

    def start(self) -> None:
        """Start it.

        Raises:
            OSError: if the log cannot be written or no process can be started.
        """
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            log.write(f"$ {hide_secrets(shlex.join(self.command))}\n".encode())
        self._child = Child(self.command, log=self.log, env=self._environment, grace_s=GRACE_S)

    @property
    def exit_code(self) -> int | None:
        """The exit code, in a shell's form; ``None`` while it runs, or before it was started."""
        status = None if self._child is None else self._child.status
        return status if status is None or status >= 0 else 128 - status

    def is_healthy(self, name: str) -> bool:
        """Return whether it answers, and serves a model under this name; an empty name is not checked. A server that
        was ready once is not asked again.
        """
        if self.is_ready or self.exit_code is not None:
            return self.is_ready and self.exit_code is None
        status, _ = self._get("/health")
        if status != 200:
            return False
        if name:
            status, body = self._get("/v1/models")
            self.is_ready = status == 200 and name in _model_names(body)
        else:
            self.is_ready = True
        return self.is_ready

    def lines(self, n: int = _SHOWN_LINES) -> list[str]:
        """The last lines that it printed since it was started, without control codes for a terminal."""
        return self._printed(_TAIL_BYTES)[-n:]

    @property
    def first_error(self) -> str:
        """The first of its lines that looks like an exception, unless it is among the last ones: the error that ends a
        server is often printed before much else. Empty if there is none.
        """
        earlier = self._printed(_SEARCHED_BYTES)[:-_SHOWN_LINES]
        return next(filter(_ERROR.search, earlier), "")

    def _printed(self, n_bytes: int) -> list[str]:
        """The lines in the last bytes of what it printed since it was started."""
        text = "" if self._child is None else self._child.said(n_bytes)
        lines = [
            _CONTROL.sub("", line.rpartition("\r")[2] if "\r" in line.rstrip("\r") else line)
            for line in text.split("\n")
        ]
        return [hide_secrets(line.strip())[:_LONGEST_LINE] for line in lines if line.strip()]

    @property
    def is_port_taken(self) -> bool:
        """True if it reports that somebody else listens on its port."""
        return any(_TAKEN.search(line) for line in self.lines())

    def stop(self) -> None:
        """End it, at the latest after the grace period, and wait for the end."""
        if self._child is not None:
            self._child.stop()

    def _get(self, path: str) -> tuple[int, bytes]:
        """The status and body of one request; 0 if there is no answer."""
        # The client of the standard library: a thread asks a server of its own machine, past all proxies.
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_ASK_S)
        try:
            with closing(connection):
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""


def free_ports(n: int) -> list[int]:
    """Ports of the loopback that nobody listens on now."""
    held = [socket.socket() for _ in range(n)]
    try:
        for one in held:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


_NOT_PASSED = frozenset({"VLLM_API_KEY", "LLAMA_API_KEY", "SGLANG_API_KEY"})
"""Environment variables with which a server would require a key."""


def _model_names(body: bytes) -> list[str]:
    try:
        listed = json.loads(body)["data"]
        return [str(one["id"]) for one in listed]
    except (ValueError, KeyError, TypeError):
        return []
