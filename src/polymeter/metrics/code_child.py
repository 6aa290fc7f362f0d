"""The inside of the process that runs one generated program. It stands alone: its text is sent to a bare Python that
has no access to Polymeter.

Standard input holds a line of settings, the program, and a last line that is read only after the program has ended.
That line must come back with the outcome. So a program does not pass by printing ``passed``, by ending with status 0,
or by replacing modules and built-in functions.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import sys
from contextlib import suppress
from typing import Any

_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_READ, _WRITE_DEVICE = 0b1101, 0b110
_OF_FILES = 0b1100000000000111
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""The number of rights over files in each version of Landlock; later versions have 16."""
_NET_VERSION, _SCOPE_VERSION = 4, 6
_MESSAGE_CHARACTERS = 300
_SET_SECCOMP, _FILTER_MODE = 22, 2
_OWN_PROCESS = "own process"
_ONLY_A_TREE = 0x400
"""The flag of ``ast`` with which ``compile`` parses a program."""
_MOUNT_SET_ATTRIBUTES, _RECURSIVE, _HERE, _READ_ONLY = 442, 0x8000, -100, 1
_NO_DEVICES_OR_NEW_USERS = 0b110
_CAPABILITIES_VERSION, _READ_EVERYTHING = 0x20080522, 2
"""Without the right to read everything, root cannot use a Python that another user has installed for themselves."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class _Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def main() -> None:
    """Run the program in standard input, and write its outcome to standard output."""
    source, report = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    lines = os.fdopen(os.dup(source), "rb", buffering=0)
    settings = json.loads(lines.readline())
    program = lines.read(settings["n_bytes"])
    while len(program) < settings["n_bytes"]:
        program += lines.read(settings["n_bytes"] - len(program))
    said = _kept_output(settings)
    own = {} if said is None else {"__name__": "__main__"}  # with its output it is a script, and not a few tests
    _die_with_parent()
    _limit(settings)
    ready = {"ready": True, **_wall_in(settings)}
    write, read, leave, read_at = os.write, os.read, os._exit, os.pread
    dump, flush, parse = json.dumps, sys.stdout.flush, compile
    write(report, dump(ready).encode() + b"\n")
    try:
        exec(compile(program, "<generated code>", "exec"), own)  # noqa: S102  (this process exists for it)
        outcome = "passed"
    except BaseException as error:  # noqa: BLE001  (any exception means failure, SystemExit too)
        try:
            outcome = f"failed: {type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS].rstrip(": ")
            if said is not None and isinstance(error, SystemExit) and error.code in {None, 0}:
                last = parse(program, "<generated code>", "exec", _ONLY_A_TREE).body[-1].lineno
                outcome = "passed" if _ended_at(error, last) else "exited"
        except BaseException:  # noqa: BLE001  (its own exception may raise when it is printed)
            outcome = "failed"
    output = b""
    if said is not None:
        with suppress(BaseException):  # the program may have closed it
            flush()
        output = read_at(said, settings["most_output"], 0)
    token = read(source, 200).decode().strip()
    rest = dump({"token": token, "outcome": outcome, "output": output.hex()}).encode() + b"\n"
    while rest:
        rest = rest[write(report, rest) :]
    read(source, 1)  # until we are killed: the use of a process is unknown once it has ended
    leave(0)


def _ended_at(error: BaseException, line: int) -> bool:
    """Return whether the statement of a program that stands at its end has raised this itself, and nothing it called:
    such a program has done all that it contains.
    """
    own = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return own is not None and own.tb_next is None and own.tb_lineno >= line


def _kept_output(settings: dict[str, Any]) -> int | None:
    """Send standard output to a file without a name, if it is to be kept, and return the file."""
    if not settings["most_output"]:
        return None
    path = os.path.join(settings["folder"], "output")
    said = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    os.dup2(said, 1)
    return said


def _wall_in(settings: dict[str, Any]) -> dict[str, bool]:
    """Isolate this process as far as the system allows, and return what worked."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder, most = settings["folder"], f"size={settings['disk_mb']}m,nr_inodes={settings['n_entries']},mode=700"
    has_mounts = settings["has_mounts"] or (settings["may_mount"] and _mount(libc, folder, most))
    has_landlock = _confine(libc, settings["readable"], folder)
    _drop_capabilities(libc)
    has_filter = _filter(libc, settings["alone"])
    if not has_mounts:
        _filter(libc, settings["no_attributes"])
    return {"mounts": has_mounts, "landlock": has_landlock, "filter": has_filter}


def _die_with_parent() -> None:
    try:
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    except (AttributeError, OSError, TypeError):  # not Linux
        return


def _limit(settings: dict[str, Any]) -> None:
    try:
        import resource
    except ImportError:  # this system has no such limits
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = math.ceil(used.ru_utime + used.ru_stime + settings["cpu_s"])
    limits = {
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_AS": settings["memory_mb"] * 2**20,
        "RLIMIT_FSIZE": settings["file_mb"] * 2**20,
        "RLIMIT_NOFILE": settings["n_files"],
        "RLIMIT_NPROC": settings["n_processes"],
        "RLIMIT_CORE": 0,
    }
    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, OSError, ValueError):  # unknown here, or above the present limit
            continue


def _confine(libc: ctypes.CDLL, readable: list[str], folder: str) -> bool:
    """Restrict this process with Landlock, as far as the kernel supports it: it may read some folders and write to one,
    and it may neither open a TCP connection nor signal another process.
    """
    try:
        version = libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    except (AttributeError, OSError, TypeError):
        return False
    if version < 1:
        return False
    all_rights = 2 ** _FILE_RIGHTS.get(version, 16) - 1
    attributes = _Ruleset(all_rights, 3 if version >= _NET_VERSION else 0, 3 if version >= _SCOPE_VERSION else 0)
    size = 24 if version >= _SCOPE_VERSION else 16 if version >= _NET_VERSION else 8
    ruleset = libc.syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    rules = [(path, _READ) for path in readable]
    rules += [(os.devnull, _WRITE_DEVICE), ("/dev/urandom", _READ), ("/dev/zero", _READ), (folder, all_rights)]
    for path, rights in rules:
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # it does not exist
            continue
        allowed = rights & all_rights if os.path.isdir(path) else rights & all_rights & _OF_FILES
        rule = _Beneath(allowed, parent)
        libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(parent)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)) == 0)


def _mount(libc: ctypes.CDLL, folder: str, most: str) -> bool:
    """Make all files read-only except those of a new file system in the folder, in a mount namespace of this process
    alone. The options limit the size of the new file system.
    """
    if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", _NO_DEVICES_OR_NEW_USERS, most.encode()):
        return False
    os.chdir(folder)
    read_only, writable = (ctypes.c_uint64 * 4)(_READ_ONLY), (ctypes.c_uint64 * 4)(0, _READ_ONLY)
    return all(
        libc.syscall(_MOUNT_SET_ATTRIBUTES, _HERE, place, flags, ctypes.byref(change), ctypes.c_size_t(32)) == 0
        for place, flags, change in ((b"/", _RECURSIVE, read_only), (folder.encode(), 0, writable))
    )


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up the special rights of root: to raise its own limits, to remove the walls, and to change any file."""
    header, held = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION), (ctypes.c_uint32 * 6)()
    try:
        libc.capget(header, held)
        kept = held[1] & 1 << _READ_EVERYTHING
        libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept))
    except AttributeError:  # not Linux
        return


def _filter(libc: ctypes.CDLL, rules: list[tuple[int, int, int, Any]]) -> bool:
    """Let the kernel refuse system calls from now on (seccomp)."""
    if not rules:
        return False
    rules = [(code, yes, no, os.getpid() if k == _OWN_PROCESS else k) for code, yes, no, k in rules]
    instructions = (_Instruction * len(rules))(*(_Instruction(*rule) for rule in rules))
    try:
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(_Filter(len(rules), instructions)), 0, 0) == 0)
    except (AttributeError, OSError, TypeError):  # not Linux
        return False


if __name__ == "__main__":
    main()
