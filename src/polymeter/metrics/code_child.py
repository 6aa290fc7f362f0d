"""The inside of the process that runs one generated program. It stands alone: its text is sent to a bare Python, which
may see nothing of Polymeter.

What it needs comes through standard input: a line of settings, the program, and a last line that is read only after the
program has ended. That line must come back with the outcome, so that a program that prints ``passed``, leaves with
status 0, or replaces modules and built-in functions has not passed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import math
import os
import signal
from typing import Any

_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_READ, _WRITE_DEVICE = 0b1101, 0b110
_OF_FILES = 0b1100000000000111
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights over files each version of Landlock knows; later ones know 16."""
_NET_VERSION, _SCOPE_VERSION = 4, 6
_MESSAGE_CHARACTERS = 300
_SET_SECCOMP, _FILTER_MODE = 22, 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FLAGS_AT = 0, 4, 16
"""Where a system call's number, the machine's kind and the call's first argument stand in what a filter is given."""
_NEW_THREAD = 0x10000
_MACHINES = {"x86_64": (0xC000003E, 56, (57, 58)), "aarch64": (0xC00000B7, 220, ())}
"""The kind of machine as the kernel names it, its number of ``clone``, and those of ``fork`` and ``vfork``."""
_CLONE3, _FIRST_OF_X32 = 435, 0x40000000


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
    """Run the program that standard input holds, and report what became of it on standard output."""
    source, report = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    lines = os.fdopen(os.dup(source), "rb", buffering=0)
    settings = json.loads(lines.readline())
    program = lines.read(settings["n_bytes"])
    while len(program) < settings["n_bytes"]:
        program += lines.read(settings["n_bytes"] - len(program))
    _die_with_parent()
    _limit(settings)
    has_walls = settings["has_walls"] and _confine(settings["readable"], settings["folder"])
    _stay_alone()
    write, read, leave = os.write, os.read, os._exit
    dump = json.dumps
    write(report, dump({"ready": True, "landlock": has_walls}).encode() + b"\n")
    try:
        exec(compile(program, "<generated code>", "exec"), {})  # noqa: S102  (this process exists for it)
        outcome = "passed"
    except BaseException as error:  # noqa: BLE001  (whatever it raises, SystemExit too, it has not passed)
        try:
            outcome = f"failed: {type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS].rstrip(": ")
        except BaseException:  # noqa: BLE001  (its own exception may raise when it is printed)
            outcome = "failed"
    token = read(source, 200).decode().strip()
    write(report, dump({"token": token, "outcome": outcome}).encode() + b"\n")
    leave(0)


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
        except (AttributeError, OSError, ValueError):  # unknown here, or below a limit that holds already
            continue


def _confine(readable: list[str], folder: str) -> bool:
    """Let this process read some folders, write to one, and neither open a TCP connection nor signal another process:
    Landlock, as far as the kernel has it.
    """
    try:
        libc = ctypes.CDLL(None, use_errno=True)
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
        except OSError:  # it is not there
            continue
        allowed = rights & all_rights if os.path.isdir(path) else rights & all_rights & _OF_FILES
        rule = _Beneath(allowed, parent)
        libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(parent)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return bool(libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)) == 0)


def _stay_alone() -> None:
    """Let this process start threads and no other process: a filter of system calls, on Linux. The limit of processes
    does not hold for root, and a program that forks without end would stop the whole machine.
    """
    kind, clone, forks = _MACHINES.get(os.uname().machine, (0, 0, ()))
    if not kind:
        return
    refuse, no_such_call = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    rules = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, kind),
        (_RETURN, 0, 0, _KILL),  # numbers of another kind of machine mean other calls
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _FIRST_OF_X32),
        (_RETURN, 0, 0, refuse),
    ]
    for number in forks:
        rules += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    # What it wants stands where a filter cannot look; without it the C library calls clone.
    rules += [(_IF_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, no_such_call)]
    rules += [(_IF_EQUAL, 0, 3, clone), (_LOAD, 0, 0, _FLAGS_AT), (_IF_ANY_BIT, 1, 0, _NEW_THREAD)]
    rules += [(_RETURN, 0, 0, refuse), (_RETURN, 0, 0, _ALLOW)]
    instructions = (_Instruction * len(rules))(*(_Instruction(*rule) for rule in rules))
    try:
        libc = ctypes.CDLL(None)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(_Filter(len(rules), instructions)), 0, 0)
    except (AttributeError, OSError, TypeError):
        return


if __name__ == "__main__":
    main()
