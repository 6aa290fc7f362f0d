"""Prove that the tests of ``tests/regressions`` test something: each is red at an earlier commit and green here.

The earlier source is taken out of the repository into a temporary folder and put before everything else on Python's
path; the tests, and the helpers that they use, are this tree's in both cases. A test that cannot be collected or set
up at the earlier commit proves nothing, and counts as neither. Of a test with parameters one must be red at the earlier
commit: the others say that its neighbours were right already. Tests marked ``control`` must be green in both, for they
keep a mend from doing too much.

    make regressions BASE=<commit>
    python scripts/regressions.py <commit> [tests/regressions/test_x.py …]
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
TESTS = "tests/regressions"
GREEN, RED, SKIPPED, MISSING, UNREADY = "green", "red", "skipped", "not collected", "not set up"


@dataclass(frozen=True)
class Outcome:
    """What became of a test, and whether it is a control."""

    became: str
    is_control: bool = False


def main() -> int:
    """Run the tests twice and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="the commit before")
    parser.add_argument("tests", nargs="*", default=[TESTS], help="files or folders; default: all")
    parser.add_argument("--jobs", default="auto", help="processes of pytest-xdist")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="polymeter_base_") as folder:
        take_out(given.base, Path(folder))
        at_base = outcomes(Path(folder) / "src", given.tests, given.jobs)
    here = outcomes(ROOT / "src", given.tests, given.jobs)
    return report(given.base, at_base, here)


def take_out(commit: str, folder: Path) -> None:
    """Write the source of a commit into a folder."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        sys.exit(archive.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder)


def outcomes(source: Path, tests: Sequence[str], jobs: str) -> dict[str, Outcome]:
    """What became of each test with the package of a source folder."""
    with tempfile.TemporaryDirectory(prefix="polymeter_report_") as folder:
        report_file = Path(folder) / "report.xml"
        environment = {**os.environ, "PYTHONPATH": str(source), "HF_HUB_OFFLINE": "1"}
        check = subprocess.run(
            [sys.executable, "-c", "import polymeter; print(polymeter.__file__)"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        if not Path(check.stdout.strip()).is_relative_to(source):
            sys.exit(f"Python imports {check.stdout.strip()}, not the package in {source}.")
        command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "worksteal", f"--junitxml={report_file}"]
        subprocess.run([*command, *tests], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
        if not report_file.exists():
            sys.exit("pytest did not run.")
        return read_report(report_file)


def read_report(file: Path) -> dict[str, Outcome]:
    """The outcome of each test case of a JUnit file."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname', '').removeprefix('tests.regressions.')}::{case.get('name')}"
        if case.find("error") is not None and case.get("classname", "") == "":
            continue  # a file that cannot be imported: its tests are missing below
        marks = {"error": UNREADY, "failure": RED, "skipped": SKIPPED}  # an error is one of a fixture, not of the test
        became = next((mark for tag, mark in marks.items() if case.find(tag) is not None), GREEN)
        is_control = case.find("properties/property[@name='control']") is not None
        found[name] = Outcome(became, is_control)
    return found


def report(base: str, at_base: Mapping[str, Outcome], here: Mapping[str, Outcome]) -> int:
    """Print the table; 0 if every test proves what it must."""
    width = max([len(name) for name in here] + [4])
    print(f"{'test':{width}}  at {base[:12]:14} here")
    functions: dict[str, list[str]] = defaultdict(list)
    for name in sorted(here):
        functions[name.partition("[")[0]].append(name)
    counts = {"red before and green here": 0, "controls, green in both": 0, "skipped": 0, "wrong": 0}
    for names in functions.values():
        verdict = judged([at_base.get(name, Outcome(MISSING)) for name in names], [here[name] for name in names])
        counts[verdict] += 1
        for name in names:
            before = at_base.get(name, Outcome(MISSING)).became
            print(f"{name:{width}}  {before:17} {here[name].became}{'   <-' if verdict == 'wrong' else ''}")
    print(f"{len(here)} cases of {len(functions)} tests against {base[:12]}:")
    for verdict, count in counts.items():
        print(f"  {count:4} {verdict}")
    return 1 if counts["wrong"] or not here else 0


def judged(before: Sequence[Outcome], now: Sequence[Outcome]) -> str:
    """What the cases of one test show together."""
    ran = [(old.became, new.became) for old, new in zip(before, now, strict=True) if new.became != SKIPPED]
    if not ran:
        return "skipped"
    if any(new != GREEN or old not in (RED, GREEN) for old, new in ran):
        return "wrong"
    is_red_before = any(old == RED for old, _ in ran)
    if now[0].is_control:
        return "wrong" if is_red_before else "controls, green in both"
    return "red before and green here" if is_red_before else "wrong"


if __name__ == "__main__":
    sys.exit(main())
