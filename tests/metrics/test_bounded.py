"""Steps that run in a process: their values and errors are those of the function, and no process stays behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import guest_context_with, scoring_sample
from polymeter.core.role_client import no_role_client
from polymeter.core.settings.scoring_limits import ScoringLimits
from polymeter.judge.verdict import read_grade
from polymeter.metrics import bounded, maths, option_letters, overlap, patterns, speech, text
from polymeter.metrics.bounded import LONG, in_process
from polymeter.metrics.patterns import applied, is_quick, pick, without_matches

CATASTROPHE = r"(?:a+)+b"


def test_a_value_and_an_error_come_back_as_they_are() -> None:
    assert in_process(pick, re.compile(r"(a)|(b)"), "xb", 0) == "b"
    with pytest.raises(UnscoredError, match="verdict") as raised:
        in_process(read_grade, "nothing")
    assert raised.value.hint == "Look at the judge and its prompt."


def test_long_texts_have_the_values_of_short_ones() -> None:
    long = "word " * LONG
    for function, *args in (
        (text.anls, [long], [long + "s"]),
        (text.word_error_rate, [long], [long + "s"]),
        (overlap.segmented, long),
        (overlap.rouge, long.split(), ["word"]),
        (option_letters.extract_mcq_answer, long + "(B)"),
        (maths.extract_answer, long + r"\boxed{7}"),
        (speech.remove_sp, long, "en"),
    ):
        assert function(*args) == function.__wrapped__(*args), function


def test_the_steps_of_a_sample_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ScoringLimits(0.3)
    with guest_context_with(limits=limits), scoring_sample(no_role_client):
        with pytest.raises(UnscoredError, match=r"longer than 0.3 s \(the regular expression"):
            applied(pick, re.compile(CATASTROPHE), "a" * 60, 0)
        monkeypatch.setattr(bounded, "_processes", lambda owner: pytest.fail("A process was used."))
        with pytest.raises(UnscoredError):
            applied(pick, re.compile(CATASTROPHE), "a", 0)
    assert limits.spent_s == 0


def test_steps_outside_of_a_sample_have_the_limit_each() -> None:
    with guest_context_with(limits=ScoringLimits(0.3)):
        for _ in range(2):
            with pytest.raises(UnscoredError):
                applied(pick, re.compile(CATASTROPHE), "a" * 60, 0)
        assert applied(pick, re.compile(CATASTROPHE), "aab", 0) == "aab"


@pytest.mark.parametrize(
    ("pattern", "quick_up_to"),
    [
        (r"#### (\-?[0-9\.\,]+)", 5_000),
        (r"answer is \(?([ABCD])\)?", 1_000_000),
        (r"\b\d{4}\b", 1_000_000),
        (r"[*+?{}]", 1_000_000),
        (r".*foo.*", 400),
        (CATASTROPHE, 0),
        (r"(a|aa){30}", 0),
        (r"(\w+\s?)*$", 0),
        (r"(a*)\1*b", 100),
        ("a?" * 40 + "a" * 40, 0),
    ],
)
def test_which_patterns_are_quick(pattern: str, quick_up_to: int) -> None:
    re.compile(pattern)
    assert is_quick(pattern, quick_up_to) is (quick_up_to > 0)
    assert not is_quick(pattern, 10**9)


def test_patterns_are_deleted_one_after_the_other() -> None:
    assert without_matches("abcabc", ["b", "ac"]) == ""
    assert patterns.first_match(re.compile("b."), "abc") == "bc"
    assert patterns.group_of_first(re.compile("(x)?a"), "a", 1) == ""


def test_processes_end_with_their_owner() -> None:
    script = """
import os, threading, time
from polymeter.metrics import bounded
from polymeter.metrics.symbolic import symbolic_equal
assert bounded.in_process(symbolic_equal, "1+x", "x+1")
threading.Thread(target=bounded.in_process, args=(symbolic_equal, "(x+y+z)^{9999}", "42"), daemon=True).start()
processes = bounded._processes(os.getpid())
while not processes._busy:
    time.sleep(0.01)
print(*(process._child.pid for process in processes._busy))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(polymeter.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for pid in done.stdout.split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_several_threads_have_a_process_each() -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(in_process(pick, re.compile(r"\d+"), f"a{n}", 0)))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list("012345")


def test_a_judges_pattern_that_never_ends_leaves_no_verdict() -> None:
    with guest_context_with(limits=ScoringLimits(0.3)), pytest.raises(UnscoredError, match=r"longer than 0.3 s"):
        read_grade("a" * 60, pattern=CATASTROPHE)
    assert read_grade("GRADE: B", pattern=r"GRADE: (A|B)") == "B"
