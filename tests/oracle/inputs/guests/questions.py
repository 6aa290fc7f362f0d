"""Answers that follow from the question alone. Every question is written down, and one of them may be the last."""

import hashlib
import os
import re
import signal
import time


def told(text):
    """Write a question down; die at the one that ``ORACLE_DIES_AT`` names, once what was answered is on disk."""
    place = os.environ.get("ORACLE_CALLS", "calls.log")
    with open(place, "a+", encoding="utf-8") as log:
        log.write(repr(text) + "\n")
        log.seek(0)
        count = len(log.readlines())
    if count == int(os.environ.get("ORACLE_DIES_AT", "-1")):
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)


def mark(*parts):
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()[0]


def answer(text, seed=0):
    """The sum, sometimes wrong; else a letter; else a word."""
    found = re.search(r"(\d+) \+ (\d+)", text)
    if found:
        return f"It is {int(found[1]) + int(found[2]) + (mark(text, seed) % 4 == 0)}"
    return "ABC"[mark(text, seed) % 3] if "Options:" in text else f"word {mark(text, seed)}"
