"""Try the features of ``tests/features.yaml``: ``python -m scripts.features [--page PAGE] [--only TEXT]``.

The commands run one by one, from the root of the repository, with ``.venv/bin`` and the stand-ins of the guides' tests
on the search path. ``$OUT`` is a folder outside of the repository, in which each page of the guide has a folder with
its files, and ``$SERVER`` an endpoint that knows capitals. Entries with ``first`` run before all others, because others
use what they leave. Nothing is tried of an entry that names a test or says what it needs; its tests must exist.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from tests.helpers import guides
from tests.helpers.openai_stub import OpenAIStub

_ROOT = guides.ROOT


def main() -> None:
    """Try what was asked for, print what fails, and exit with 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", default="", help="only entries whose page contains this")
    parser.add_argument("--only", default="", help="only entries whose text contains this")
    parser.add_argument("--keep", type=Path, help="an $OUT to use, and to use again")
    asked = parser.parse_args()
    entries = yaml.safe_load((_ROOT / "tests" / "features.yaml").read_text("utf-8"))
    chosen = [entry for entry in entries if asked.page in entry["page"] and asked.only in str(entry)]
    tried = [entry for entry in entries if entry in chosen or (entry.get("first") and any(map(is_command, chosen)))]
    tried.sort(key=lambda entry: not entry.get("first"))
    with tempfile.TemporaryDirectory() as new, OpenAIStub(guides._answered) as server:
        out = (asked.keep or Path(new)).resolve()
        write_pages(out, server.base_url)
        failed = sum(not is_seen(entry, variables(out, server.base_url)) for entry in tried)
    print(f"{len(tried)} entries, {failed} failed")
    sys.exit(bool(failed))


def write_pages(out: Path, server: str) -> None:
    """Write the files of each page into a folder with its name."""
    for guide in ["../README.md", *sorted(path.name for path in guides.DOCS.glob("*.md"))]:
        (out / Path(guide).stem).mkdir(parents=True, exist_ok=True)
        for block in reversed(guides.blocks(guide)):  # a file that a page changes begins as it is first shown
            guides.Workplace(out / Path(guide).stem, server).write(block)


def variables(out: Path, server: str) -> dict[str, str]:
    """What the tests of the guides set, and where things are."""
    path = f"{_ROOT}/.venv/bin:{_ROOT}/tests/docs/stand_ins:{os.environ['PATH']}"
    made = {"OUT": str(out), "XDG_CONFIG_HOME": f"{out}/nobody", "XDG_CACHE_HOME": f"{out}/cache", "SERVER": server}
    fixed = {"PATH": path, "PYTHON": sys.executable, "COLUMNS": "160", "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
    return {**os.environ, **made, **fixed, "POLYMETER_WEIGHTS": f"{guides.CHECKPOINT}={guides.TINY_VLM}"}


def is_command(entry: dict[str, str]) -> bool:
    """Whether an entry has a command that can be tried here."""
    return not entry["try"].startswith(("tests/", "needs: "))


def is_seen(entry: dict[str, str], environment: dict[str, str]) -> bool:
    """Whether what is to be seen was seen; prints what was not."""
    if is_command(entry):
        words = ["timeout", "300", "bash", "-c", f"exec 2>&1 </dev/null\n{entry['try']}"]
        done = subprocess.run(words, cwd=_ROOT, env=environment, capture_output=True, check=False)
        said = done.stdout.decode(errors="replace")
        ((code, phrase),) = re.findall(r"^(?:exit (\d+)(?:, |$))?(.*)$", entry["see"], re.S)
        pattern = ".*?".join(re.escape(" ".join(part.split())) for part in phrase.split("…"))
        is_right = done.returncode == int(code or 0) and re.search(pattern, " ".join(said.split()))
        lacks = "" if is_right else f"exit {code or 0} and {phrase}, not exit {done.returncode}"
    else:
        tests = [(_ROOT / path, name) for path, name in re.findall(r"(tests/[\w/.]+)(?:::(\w+))?", entry["try"])]
        there = [path.exists() and (not name or f"def {name}(" in path.read_text("utf-8")) for path, name in tests]
        lacks, said = "" if all(there) else "a test", ""
    print(f"{'FAIL' if lacks else 'ok'} {entry['page']} {entry['feature']}", flush=True)
    if lacks:
        print(f"  $ {entry['try']}\n  lacks: {lacks}\n  said: {said[-1500:]}", flush=True)
    return not lacks


if __name__ == "__main__":
    main()
