"""Programs that a scripted model writes. EvalScope's containers need Docker: a process stands in for them, so that the
benchmark's own reading of what a program did is compared. Polymeter runs the same programs in its walls.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.forms import always, in_turn

_HEADS = (
    'def double(x):\n    """Return twice x."""\n',
    'def first(items):\n    """Return the first of some items."""\n',
    'def is_even(n):\n    """Return whether n is even."""\n',
)
_BODIES = ("    return 2 * x\n", "    return items[0]\n", "    return n % 2 == 0\n")
_WHOLE = tuple(head + body for head, body in zip(_HEADS, _BODIES, strict=True))
_NAMES = ("double", "first", "is_even")
_ASSERTIONS = (
    ["assert double(2) == 4", "assert double(0) == 0"],
    ["assert first([3, 1]) == 3", "assert first('ab') == 'a'"],
    ["assert is_even(4)", "assert not is_even(7)"],
)
_CHECKS = tuple(
    "def check(candidate):\n" + "".join(f"    {line.replace(name, 'candidate', 1)}\n" for line in lines)
    for name, lines in zip(_NAMES, _ASSERTIONS, strict=True)
)
_CASES = tuple(
    "import unittest\n\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n"
    + "".join(f"        {line}\n" for line in lines)
    for lines in _ASSERTIONS
)
_READING = (
    "print(2 * int(input()))\n",
    "print(input().split()[0])\n",
    "print('yes' if int(input()) % 2 == 0 else 'no')\n",
)
_LINES = (("3", "6"), ("red blue", "red"), ("7", "no"))
_FUNCTIONS = {
    "prompt": in_turn(*_HEADS),
    "canonical_solution": in_turn(*_BODIES),
    "entry_point": in_turn(*_NAMES),
    "test": in_turn(*_CHECKS),
    "task_id": "number",
}

ROWS: Mapping[str, Mapping[str, str]] = {
    "humaneval": _FUNCTIONS,
    "humanevalplus": _FUNCTIONS,
    "mbpp": {
        "text": in_turn("Double a number.", "Give the first item.", "Is a number even?"),
        "code": in_turn(*_WHOLE),
        "test_list": in_turn(*_ASSERTIONS),
        "test_setup_code": always("import math"),
        "task_id": "number",
    },
    "mbppplus": {
        "prompt": in_turn("Double a number.", "Give the first item.", "Is a number even?"),
        "code": in_turn(*_WHOLE),
        "test_list": in_turn(*_ASSERTIONS),
        "test_imports": always(["import math"]),
        "test": in_turn(*("\n".join(lines) for lines in _ASSERTIONS)),
        "source_file": always("Benchmark Questions"),
        "task_id": "number",
    },
    "bigcodebench": {
        "instruct_prompt": in_turn("Double a number.", "Give the first item.", "Is a number even?"),
        "complete_prompt": in_turn(*_HEADS),
        "code_prompt": in_turn(*(head.partition("\n")[0] for head in _HEADS)),
        "canonical_solution": in_turn(*_WHOLE),
        "entry_point": in_turn(*_NAMES),
        "test": in_turn(*_CASES),
        "task_id": always("BigCodeBench/0"),
    },
    "ds1000": {
        "prompt": in_turn("Double x, as result.", "The first of x, as result.", "Whether x is even, as result."),
        "reference_code": in_turn("result = 2 * x", "result = x[0]", "result = x % 2 == 0"),
        "code_context": in_turn(
            *(
                f"def test_execution(solution):\n    space = {{'x': {value}}}\n    exec(solution, space)\n"
                f"    assert space['result'] == {result}\n"
                for value, result in (("3", "6"), ("[5, 1]", "5"), ("7", "False"))
            )
        ),
        "metadata": in_turn(
            *({"library": "Numpy", "problem_id": n, "perturbation_type": "Origin"} for n in range(3)),
            *({"library": "Pandas", "problem_id": n, "perturbation_type": "Surface"} for n in range(3, 6)),
        ),
    },
    "live_code_bench": {
        "question_content": in_turn("Double the number.", "Print the first word.", "Is the number even?"),
        "starter_code": always(""),
        "public_test_cases": in_turn(
            *(json.dumps([{"input": asked, "output": said, "testtype": "stdin"}]) for asked, said in _LINES)
        ),
        "private_test_cases": always("[]"),
        "metadata": always("{}"),
        "contest_date": always("2024-09-01T00:00:00"),
    },
}
"""Forms of the columns of benchmarks of programs."""
SUBSETS = {"ds1000": ("Numpy", "Pandas")}
ANSWERS: Mapping[str, Sequence[str]] = {"live_code_bench": [f"```python\n{one}```" for one in _READING]}
"""Right programs where rows do not hold them, in the order of the rows."""
_SECONDS = 60
ALONE: Mapping[str, Mapping[str, Any]] = {
    "humaneval": {},
    "ds1000": {},
    "live_code_bench": {"review_timeout": _SECONDS},  # of the clock: on a busy machine few are none
}
"""Benchmarks that run programs without a container, too, and their arguments that way."""


def run_in_processes(place: Mapping[str, Any]) -> None:
    """Let EvalScope run in a process of this machine what it would run in a container.

    Args:
        place: Under ``alone`` stands whether the current case is one without a container.
    """
    from evalscope.api.mixin import CodeExecutionSandboxMixin

    def execute(self: Any, code: Any, timeout: float = _SECONDS, language: str = "python") -> dict[str, Any]:
        if language.lower() != "python":
            return {"status": "error", "error": f"no programs in {language}"}
        return _ran(code if isinstance(code, str) else "\n".join(code), timeout)

    CodeExecutionSandboxMixin.use_sandbox = property(lambda self: not place.get("alone"))
    CodeExecutionSandboxMixin.ensure_sandbox_ready = lambda self: True
    CodeExecutionSandboxMixin.execute_code_in_sandbox = execute


def _ran(program: str, timeout: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(program, encoding="utf-8")
        command = [sys.executable, str(file)]
        try:
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"status": "timeout", "error": "Code execution timed out."}
    status = "success" if ended.returncode == 0 else "error"
    return {"status": status, "output": ended.stdout, "error": ended.stderr}
