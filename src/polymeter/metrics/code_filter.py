"""The system calls that a generated program may not make, as filters that the kernel runs (seccomp, in classic BPF).

Landlock rules over opening, making and removing files, and over little else. What reaches the account's files,
processes, sockets and memory by another way is refused here, to root too. ``code_child`` loads the filters.
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
"""Where a filter finds the call's number."""
_MACHINE_AT = 4
_ARGUMENTS_AT = 16
"""Where the arguments begin, of 8 bytes each."""
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3, "loongarch64": 0xC0000102}
"""The kinds of machine as the kernel names them. All but the first have the same numbers of system calls."""
_FIRST_OF_NEW = 424
"""From here on (Linux 5.1) a system call has one number on all machines. Libraries do without these calls, as on an
older kernel: ``clone3``, whose flags no filter can read, ``io_uring``, which no filter sees, ``memfd_secret``,
``fchmodat2``, ``setxattrat``, and those yet to come. The numbers of x32 lie here too.
"""
_ALL_BITS = 0xFFFFFFFF
_NEW_THREAD = 0x10400
"""A thread of this process, with the open files of all: what another table holds, no look at the process finds."""
_MODE, _TRUNCATE = 0o3, 0o1000


@dataclass(frozen=True, slots=True)
class _Condition:
    """A test of the lower half of one argument, which is all of an ``int``.

    Attributes:
        argument: Its position.
        value: What it is compared with.
        mask: The bits that count.
        refuses: Whether the call is refused if they are equal; otherwise, if they differ.
    """

    argument: int
    value: int | str
    mask: int = _ALL_BITS
    refuses: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """System calls that are not made.

    Attributes:
        calls: Their numbers by name: on x86_64, and on other machines; ``None`` where there is no such call.
        error: The error that they end with; 0 if they seem to succeed.
        conditions: When they are refused; without any, always.
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
    # A file that signals its owner when it is ready: F_SETOWN, F_SETOWN_EX, FIOSETOWN and SIOCSPGRP.
    Rule({"fcntl": (72, 25)}, conditions=(_Condition(1, 8), _Condition(1, 15))),
    Rule({"ioctl": (16, 29)}, conditions=(_Condition(1, 0x8901), _Condition(1, 0x8902))),
    # What not all file systems have: extended attributes and flags (FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR).
    Rule({"setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7)}),
    Rule({"removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16)}),
    Rule({"ioctl": (16, 29)}, conditions=(_Condition(1, 0x40086602), _Condition(1, 0x401C5820))),
    # Landlock knows how to empty a file by its path from version 3 on, never minds one that is opened to be read, and
    # asks for nothing where one is opened neither to be read nor to be written (mode 3).
    Rule({"truncate": (76, 45)}),
    Rule(
        {"open": (2, None)}, conditions=(_Condition(1, _TRUNCATE, mask=_MODE | _TRUNCATE), _Condition(1, _MODE, _MODE))
    ),
    Rule(
        {"openat": (257, 56)},
        conditions=(_Condition(2, _TRUNCATE, mask=_MODE | _TRUNCATE), _Condition(2, _MODE, _MODE)),
    ),
    # Outliving us, and hiding from our look at what it uses: PR_SET_PDEATHSIG and PR_SET_DUMPABLE.
    Rule({"prctl": (157, 167)}, conditions=(_Condition(0, 1), _Condition(0, 4))),
    # Memory that no limit of a process counts, or that the account shares.
    Rule({"memfd_create": (319, 279), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195)}),
    Rule({"semget": (64, 190), "semctl": (66, 191), "semtimedop": (220, 192), "semop": (65, 193)}),
    Rule({"msgget": (68, 186), "msgctl": (71, 187), "msgrcv": (70, 188), "msgsnd": (69, 189)}),
    Rule({"mq_open": (240, 180), "mq_unlink": (241, 181)}),
    Rule({"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}),
    # Space that is taken without being written; the C library writes instead.
    Rule({"fallocate": (285, 47)}, errno.EOPNOTSUPP),
    # Sockets: those of Docker and D-Bus are files, and no namespace of the network hides them. Pairs are as good as
    # pipes, but for those whose ends may send to another address.
    Rule({"socket": (41, 198)}),
    Rule({"socketpair": (53, 199)}, conditions=(_Condition(1, 1, mask=0xF, refuses=False),)),
    # New rights, and the kernel's own doors.
    Rule({"unshare": (272, 97), "setns": (308, 268), "open_by_handle_at": (304, 265)}),
    Rule({"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282)}),
)
"""A process may start threads and nothing else, signal itself alone, have no memory but its own, and change files in no
way that Landlock does not see.
"""

NO_ATTRIBUTES = (
    Rule({"chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53)}, 0),
    Rule({"chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54)}, 0),
    Rule({"utime": (132, None), "utimes": (235, None), "futimesat": (261, None)}),  # no library needs them
    # Without a time, which stands for now: ``Path.touch`` makes the file if this fails.
    Rule({"utimensat": (280, 88)}, conditions=(_Condition(2, 0),)),
    Rule({"utimensat": (280, 88)}, 0),
)
"""A process may change no mode, owner or time of any file: it goes on as if it had, so that what copies a file with its
mode works behind all walls.
"""


def filter_of(rules: Sequence[Rule], machine: str | None = None) -> list[Instruction]:
    """The instructions of a filter.

    Args:
        rules: What it refuses.
        machine: The kind of machine, as ``uname`` has it; default: this one.

    Returns:
        The instructions; none if the kind is unknown.
    """
    machine = os.uname().machine if machine is None else machine
    if machine not in _MACHINES or sys.maxsize < 2**32:  # a Python of 32 bits makes other calls
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
