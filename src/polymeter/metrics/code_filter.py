"""The system calls that a generated program may not make, as filters that the kernel runs (seccomp, in classic BPF).

Landlock controls opening, creating and removing files, and little else. The filters refuse all other ways to the
account's files, processes, sockets and memory, to root too. ``code_child`` loads them.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Instruction = tuple[int, int, int, int | str]
"""A code, two jumps and a number, or ``OWN_PROCESS`` for the number of the process that loads it."""
OWN_PROCESS = "own process"
_LOAD = 0x20
_AND = 0x54
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_REFUSE = 0x00050000
_NUMBER_AT = 0
"""The position of the call's number, for a filter."""
_MACHINE_AT = 4
_ARGUMENTS_AT = 16
"""The position of the first argument; each has 8 bytes."""
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3, "loongarch64": 0xC0000102}
"""The kinds of machine as the kernel names them. All but the first have the same numbers of system calls."""
_FIRST_OF_NEW = 424
"""From this number on (Linux 5.1), a system call has the same number on all machines. All of these calls are refused,
and libraries work without them, as on an older kernel. Among them are ``clone3`` (no filter can read its flags),
``io_uring`` (no filter sees it), ``memfd_secret``, ``fchmodat2``, ``setxattrat``, all future calls, and the numbers of
x32.
"""
_ALL_BITS = 0xFFFFFFFF
_NEW_THREAD = 0x10400
"""The flags of a thread of this process with a shared table of open files. The files in another table could not be seen
from outside.
"""
_MODE, _TRUNCATE = 0o3, 0o1000


@dataclass(frozen=True, slots=True)
class _Condition:
    """A test of the lower half of one argument, which holds a whole ``int``.

    Attributes:
        argument: Its position.
        value: The value to compare it with.
        mask: The bits that count.
        refuses: Whether the call is refused if they are equal. If false, it is refused if they differ.
    """

    argument: int
    value: int | str
    mask: int = _ALL_BITS
    refuses: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that refuses system calls.

    Attributes:
        calls: Their numbers by name, on x86_64 and on other machines; ``None`` if a machine has no such call.
        error: The error that they return; 0 if they seem to succeed.
        conditions: The conditions under which they are refused; if empty, always.
    """

    calls: Mapping[str, tuple[int | None, int | None]]
    error: int = errno.EPERM
    conditions: tuple[_Condition, ...] = ()


ALONE = (
    # Other processes.
    Rule({"fork": (57, None), "vfork": (58, None)}),
    Rule({"clone": (56, 220)}, conditions=(_Condition(0, _NEW_THREAD, mask=_NEW_THREAD, refuses=False),)),
    Rule({"ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272)}),
    Rule({"setpriority": (141, 140)}, conditions=(_Condition(0, 0, refuses=False), _Condition(1, 0, refuses=False))),
    Rule({"ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239)}),
    Rule({"sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274)}),
    Rule({"rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240)}),
    Rule(
        {"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)},
        errno.ESRCH,
        (_Condition(0, OWN_PROCESS, refuses=False),),
    ),
    Rule({"prlimit64": (302, 261), "sched_setaffinity": (203, 122)}, conditions=(_Condition(0, 0, refuses=False),)),
    # Files that signal their owner when they are ready: F_SETOWN, F_SETOWN_EX, FIOSETOWN and SIOCSPGRP.
    Rule({"fcntl": (72, 25)}, conditions=(_Condition(1, 8), _Condition(1, 15))),
    Rule({"ioctl": (16, 29)}, conditions=(_Condition(1, 0x8901), _Condition(1, 0x8902))),
    # Extended attributes and flags, which not all file systems have (FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR).
    Rule({"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)}),
    Rule({"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)}),
    Rule({"ioctl": (16, 29)}, conditions=(_Condition(1, 0x40086602), _Condition(1, 0x401C5820))),
    # Landlock controls truncation by path from version 3 on. It never controls it for a file that is opened for
    # reading, nor for one that is opened neither for reading nor for writing (mode 3).
    Rule({"truncate": (76, 45)}),
    Rule(
        {"open": (2, None)}, conditions=(_Condition(1, _TRUNCATE, mask=_MODE | _TRUNCATE), _Condition(1, _MODE, _MODE))
    ),
    Rule(
        {"openat": (257, 56)},
        conditions=(_Condition(2, _TRUNCATE, mask=_MODE | _TRUNCATE), _Condition(2, _MODE, _MODE)),
    ),
    # Outliving us, and hiding its use of resources from us: PR_SET_PDEATHSIG and PR_SET_DUMPABLE.
    Rule({"prctl": (157, 167)}, conditions=(_Condition(0, 1), _Condition(0, 4))),
    # Memory that no process limit counts, or that the account shares.
    Rule({"memfd_create": (319, 279), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195)}),
    Rule({"semget": (64, 190), "semctl": (66, 191), "semtimedop": (220, 192), "semop": (65, 193)}),
    Rule({"msgget": (68, 186), "msgctl": (71, 187), "msgrcv": (70, 188), "msgsnd": (69, 189)}),
    Rule({"mq_open": (240, 180), "mq_unlink": (241, 181)}),
    Rule({"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}),
    # Space that is allocated without being written; the C library writes instead.
    Rule({"fallocate": (285, 47)}, errno.EOPNOTSUPP),
    # Sockets: those of Docker and D-Bus are files, so no network namespace hides them. Socket pairs are as harmless as
    # pipes, except those whose ends may send to another address.
    Rule({"socket": (41, 198)}),
    Rule({"socketpair": (53, 199)}, conditions=(_Condition(1, 1, mask=0xF, refuses=False),)),
    # New rights, and the kernel's own doors.
    Rule({"unshare": (272, 97), "setns": (308, 268), "open_by_handle_at": (304, 265)}),
    Rule({"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)}),
)
"""A process may start threads but no processes, may signal only itself, may use only its own memory, and may change
files only in ways that Landlock sees.
"""

NO_ATTRIBUTES = (
    Rule({"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53)}, 0),
    Rule({"chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54)}, 0),
    Rule({"utime": (132, None), "utimes": (235, None), "futimesat": (261, None)}),  # no library needs them
    # Calls without a time, which mean the present time: ``Path.touch`` creates the file if this fails.
    Rule({"utimensat": (280, 88)}, conditions=(_Condition(2, 0),)),
    Rule({"utimensat": (280, 88)}, 0),
)
"""A process may not change the mode, owner or time of a file. The calls seem to succeed, so that code that copies a
file with its mode works behind all walls.
"""


def filter_of(rules: Sequence[Rule], machine: str | None = None) -> list[Instruction]:
    """Return the instructions of a filter.

    Args:
        rules: The rules of the filter.
        machine: The kind of machine, as ``uname`` names it; default: this one.

    Returns:
        The instructions; empty if the kind is unknown.
    """
    machine = os.uname().machine if machine is None else machine
    if machine not in _MACHINES or sys.maxsize < 2**32:  # a 32-bit Python makes other calls
        return []
    return [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_IF_EQUAL, 1, 0, _MACHINES[machine]),
        (_RETURN, 0, 0, _KILL),  # numbers of another kind of machine mean other calls
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_AT_LEAST, 0, 1, _FIRST_OF_NEW),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
        *(instruction for rule in rules for instruction in _instructions(rule, machine == "x86_64")),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _instructions(rule: Rule, is_x86: bool) -> Iterator[Instruction]:
    refused = (_RETURN, 0, 0, _REFUSE | rule.error)
    ahead: list[Instruction] = []
    for condition in rule.conditions:
        ahead.append((_LOAD, 0, 0, _ARGUMENTS_AT + 8 * condition.argument))
        ahead.append((_AND, 0, 0, condition.mask))
        ahead.append((_IF_EQUAL, 0, 1, condition.value) if condition.refuses else (_IF_EQUAL, 1, 0, condition.value))
        ahead.append(refused)
    ahead.append((_LOAD, 0, 0, _NUMBER_AT) if rule.conditions else refused)
    for on_x86, elsewhere in rule.calls.values():
        number = on_x86 if is_x86 else elsewhere
        if number is not None:
            yield (_IF_EQUAL, 0, len(ahead), number)
            yield from ahead
