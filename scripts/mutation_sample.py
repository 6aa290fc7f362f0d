"""Measures how many of a sample of small faults the tests notice.

    python -m scripts.mutation_sample draw --n 100 --seed 1     choose places in src, in proportion to each room's code
    python -m scripts.mutation_sample run                       try those that have no verdict yet
    python -m scripts.mutation_sample again                     try all of them again, where they still exist
    python -m scripts.mutation_sample show                      count verdicts by room

The sample and its verdicts are ``tests/mutation/sample.json``. A fault changes one expression: a comparison, a logical
or arithmetic operator, a constant, a condition, a returned value, or a call whose value nobody uses. It is put into a
copy of ``src``, and the tests of its room run until one fails: those named after the module first, for three minutes at
most. ``killed`` means that a test failed; ``survived``, that none did in this time. ``again`` looks for a fault's place
by its function and its source, so that it is found after a file has moved; ``gone`` means that it is not there.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "polymeter"
SAMPLE = ROOT / "tests" / "mutation" / "sample.json"
SECONDS = 180
AT_ONCE = 2

_COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*"}
_TESTS_OF = {"guests": ["guest_code"], "interop/lm_family": ["interop/lm_eval", "interop/lmms_eval"]}
"""The rooms whose tests have another name."""
_FAILED = 1  # pytest's exit code for failed tests; 2 stands for a suite that could not even be collected
_BROKEN = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one expression.

    Attributes:
        file: The source file, relative to ``src/polymeter``.
        function: The dotted name of the innermost class or function that holds the expression; empty at top level.
        before: The expression's source.
        nth: Which of the equal expressions of the function it is, from 0.
        after: What stands there instead.
        verdict: ``killed``, ``survived``, ``gone``, or empty while it has not been tried.
    """

    file: str
    function: str
    before: str
    nth: int
    after: str
    verdict: str = ""


class _Source:
    """A source file in bytes, which the columns of syntax trees count."""

    def __init__(self, file: Path) -> None:
        self.raw = file.read_bytes()
        self.tree = ast.parse(self.raw)
        self._lines = [0, *accumulate(map(len, self.raw.splitlines(keepends=True)))]

    def span(self, node: ast.expr) -> slice:
        """Where an expression stands."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        return slice(start, self._lines[node.end_lineno - 1] + node.end_col_offset)

    def text(self, node: ast.expr) -> str:
        """An expression's source."""
        return self.raw[self.span(node)].decode()

    def faults(self, name: str) -> Iterator[tuple[Fault, slice]]:
        """All faults that the file can have, in the order of its source, and where each stands."""
        seen: Counter[tuple[str, str, str]] = Counter()
        for function, node, after in self._changes(self.tree, ""):
            key = function, self.text(node), after
            yield Fault(name, function, key[1], seen[key], after), self.span(node)
            seen[key] += 1

    def _changes(self, node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr, str]]:
        """Every changeable expression below a node: what holds it, itself, and what may stand in its place."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".lstrip(".")
        for child in ast.iter_child_nodes(node):
            if _is_written_for_readers(node, child):
                continue
            if isinstance(child, ast.expr) and (after := self._operated(child) or self._placed(node, child)):
                yield function, child, after
            yield from self._changes(child, function)

    def _operated(self, node: ast.expr) -> str:
        """An operation with another operator; empty for other expressions."""
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return f"({self.text(left)} {_COMPARISONS[type(operator)]} {self.text(right)})"
            case ast.BoolOp(op=operator, values=values):
                return "(" + (" or " if isinstance(operator, ast.And) else " and ").join(map(self.text, values)) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"bool({self.text(operand)})"
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
                return f"({self.text(left)} {_ARITHMETIC[type(operator)]} {self.text(right)})"
        return ""

    def _placed(self, parent: ast.AST, node: ast.expr) -> str:
        """Another constant, the opposite of a condition, no returned value, no call; empty where nothing is tried."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(parent, ast.MatchValue):
            return str(not node.value if isinstance(node.value, bool) else node.value + 1)
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is node:
            return f"(not {self.text(node)})"
        is_unused = isinstance(parent, ast.Expr) and isinstance(node, ast.Call)
        return "None" if isinstance(parent, ast.Return) or is_unused else ""


def _is_written_for_readers(parent: ast.AST, child: ast.AST) -> bool:
    """Whether a child is an annotation, a docstring or a message, which no test of behaviour has to notice."""
    annotation = getattr(parent, "annotation", None) is child or getattr(parent, "returns", None) is child
    text = isinstance(parent, ast.Expr) and isinstance(child, ast.Constant)
    return annotation or text or isinstance(parent, (ast.Raise, ast.JoinedStr, ast.Subscript))


def room_of(file: str) -> str:
    """The room of a source file: its first folder, and for other systems the second too."""
    folders = Path(file).parts[:-1]
    return "/".join(folders[: 2 if folders[:1] == ("interop",) else 1]) or "."


def tests_of(file: str) -> list[str]:
    """The test folders and files of a source file's room, those that carry its name first."""
    room = room_of(file)
    names = _TESTS_OF.get(room, [room, room.replace("interop", "conformance", 1)])
    folders = [folder for name in dict.fromkeys(names) if (folder := ROOT / "tests" / name).is_dir()]
    folders = folders or [ROOT / "tests" / "api"]
    stem = Path(file).stem if Path(file).stem != "__init__" else Path(file).parent.name
    named = sorted(test for folder in folders for test in folder.rglob(f"test_{stem}*.py"))
    return [str(path.relative_to(ROOT)) for path in (*named, *folders)]


def draw(n: int, seed: int) -> list[Fault]:
    """A seeded sample of faults, each room's share in proportion to the expressions that can be changed in it."""
    rooms: dict[str, list[Fault]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        name = str(file.relative_to(SOURCE))
        rooms.setdefault(room_of(name), []).extend(fault for fault, _ in _Source(file).faults(name))
    total = sum(map(len, rooms.values()))
    exact = {room: n * len(faults) / total for room, faults in rooms.items()}
    shares = {room: int(share) for room, share in exact.items()}
    for room in sorted(rooms, key=lambda room: shares[room] - exact[room])[: n - sum(shares.values())]:
        shares[room] += 1
    draws = random.Random(seed)
    return [fault for room in sorted(rooms) for fault in draws.sample(rooms[room], shares[room])]


def place_of(fault: Fault) -> tuple[Path, bytes] | None:
    """The file that holds a fault's place now, and its source with the fault.

    The file where it was, or else the only one with such a function and expression.
    """
    here = SOURCE / fault.file
    files = [here] if here.is_file() and _with(here, fault) else sorted(SOURCE.rglob("*.py")) if fault.function else []
    found = [(file, source) for file in files if (source := _with(file, fault))]
    return found[0] if len(found) == 1 else None


def _with(file: Path, fault: Fault) -> bytes:
    """A file's source with a fault in it; empty if its place is not there."""
    if fault.before.encode() not in file.read_bytes():
        return b""
    source = _Source(file)
    for there, span in source.faults(fault.file):
        if there == replace(fault, verdict=""):
            return source.raw[: span.start] + fault.after.encode() + source.raw[span.stop :]
    return b""


def verdict_of(fault: Fault) -> str:
    """Put a fault into a copy of the source and run its room's tests."""
    place = place_of(fault)
    if place is None:
        return "gone"
    file, source = place
    with tempfile.TemporaryDirectory(prefix="polymeter-mutation-") as folder:
        shutil.copytree(ROOT / "src", Path(folder, "src"), ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, file.relative_to(ROOT)).write_bytes(source)
        tests = tests_of(str(file.relative_to(SOURCE)))
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
        words.append(f"--basetemp={folder}/tests")
        told = {**os.environ, "PYTHONPATH": f"{folder}/src"}
        with subprocess.Popen(
            words, cwd=ROOT, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        ) as process:
            try:
                done = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "survived"
    if done in (_FAILED, _BROKEN):
        return "killed"
    if done:
        raise RuntimeError(f"pytest ended with {done}: {' '.join(tests)}")
    return "survived"


def read() -> list[Fault]:
    """The sample with the verdicts so far."""
    return [Fault(**entry) for entry in json.loads(SAMPLE.read_text(encoding="utf-8"))["faults"]]


def write(faults: list[Fault], file: Path = SAMPLE) -> None:
    """Keep a sample."""
    file.write_text(json.dumps({"faults": [asdict(fault) for fault in faults]}, indent=1) + "\n", encoding="utf-8")


def try_all(faults: list[Fault], file: Path) -> list[Fault]:
    """Try the faults without a verdict, keeping each verdict at once: an interrupted call goes on where it was."""
    tried = list(faults)
    waiting = [at for at, fault in enumerate(faults) if not fault.verdict]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for at, verdict in zip(waiting, pool.map(lambda at: verdict_of(faults[at]), waiting), strict=True):
            tried[at] = replace(faults[at], verdict=verdict)
            write(tried, file)
            print(f"{at + 1:3} {verdict:8} {tried[at].file} {tried[at].function}: {tried[at].before!r}", flush=True)
    return tried


def show(faults: list[Fault]) -> None:
    """Print the verdicts by room."""
    for room in sorted({room_of(fault.file) for fault in faults}):
        counts = Counter(fault.verdict or "not tried" for fault in faults if room_of(fault.file) == room)
        print(f"{room:22}", *(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    print(
        f"{'all':22}", *(f"{name} {n}" for name, n in sorted(Counter(f.verdict or "not tried" for f in faults).items()))
    )


def main() -> int:
    """Do what the command line asks; the exit code of ``again`` is 1 if fewer faults are killed than before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["draw", "run", "again", "show"])
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    if told.command == "draw":
        write(draw(told.n, told.seed))
    elif told.command == "run":
        show(try_all(read(), SAMPLE))
    elif told.command == "show":
        show(read())
    else:
        before = read()
        now = try_all([replace(fault, verdict="") for fault in before], SAMPLE.with_name("again.json"))
        show(now)
        there = [at for at, fault in enumerate(now) if fault.verdict != "gone"]
        killed = [sum(faults[at].verdict == "killed" for at in there) for faults in (before, now)]
        print(f"of {len(there)} places that still exist: {killed[0]} killed before, {killed[1]} now")
        return int(killed[1] < killed[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
