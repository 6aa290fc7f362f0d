"""Files of other tools that Polymeter recognises and does not run: benchmarks of tools without a system here, and of
generations that a system does not match. They are named as such, since nothing else explains why a file holds no task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from polymeter.core.errors import Problem, count
from polymeter.core.machine.folders import files_below

_LARGEST = 2**20
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class UnsupportedFile:
    """A kind of file that another tool runs.

    Attributes:
        what: What it is ("a task of lighteval").
        mark: A text that every such file contains: it is looked for first, since a folder may hold thousands of files.
        signs: Regular expressions; a file of this kind matches all of them. Lines count by themselves.
        hint: What to do.
        ending: The ending of its name.
        only_named: Whether it counts only where the user names the very file: in a folder, it belongs to others.
    """

    what: str
    mark: str
    signs: tuple[str, ...]
    hint: str = ""
    ending: str = ".py"
    only_named: bool = False

    def matches(self, content: bytes) -> bool:
        """Return whether a file with this content is of this kind."""
        return self.mark.encode() in content and all(
            re.search(sign.encode(), content, re.MULTILINE) for sign in self.signs
        )


_WRITE = "Write it as a task YAML or a table, or in Python."
OF_NO_SYSTEM = (
    UnsupportedFile("a task of lighteval", "LightevalTaskConfig", (r"\bLightevalTaskConfig\b",), _WRITE),
    UnsupportedFile(
        "a scenario or run specification of HELM",
        "helm.",
        (r"^\s*(?:from|import) helm\.(?:benchmark|common)\b",),
        _WRITE,
    ),
    UnsupportedFile("a configuration of OpenCompass", "read_base", (r"\bread_base\(\)",), _WRITE),
    UnsupportedFile(
        "a dataset or configuration of OpenCompass",
        "opencompass",
        (r"^\s*(?:from|import) opencompass\b", r"^\s*class \w+\(|_datasets\s*="),
        _WRITE,
    ),
    UnsupportedFile(
        "an evaluation of simple-evals",
        "SamplerBase",
        (r"\bSamplerBase\b", r"^\s*class \w+\(\s*(?:\w+\.)*Eval\s*\)"),
        _WRITE,
    ),
    UnsupportedFile(
        "a task of BIG-bench",
        "bigbench",
        (r"^\s*(?:from|import) bigbench\b", r"^\s*class \w+\(\s*(?:\w+\.)*\w*Task\b"),
        "Its tasks in JSON have examples that are rows of a table.",
    ),
    UnsupportedFile(
        "an environment of verifiers",
        "load_environment",
        (r"^\s*(?:import verifiers|from verifiers)\b", r"\bdef load_environment\b"),
        _WRITE,
    ),
    UnsupportedFile("a test of DeepEval", "deepeval", (r"^\s*(?:from|import) deepeval\b",), _WRITE),
    UnsupportedFile("a task of MTEB", "AbsTask", (r"^\s*from mteb\.[\w.]*[aA]bs", r"\bclass \w+\(\s*AbsTask"), _WRITE),
    UnsupportedFile(
        "an evaluation of OpenAI Evals",
        "evals",
        (r"^\s*(?:from|import) evals\b", r"^\s*class \w+\(\s*(?:\w+\.)*Eval\s*\)"),
        _WRITE,
    ),
    UnsupportedFile("an evaluation of OpenAI Evals", "evals.", (r"^\s*class:\s*evals\.",), _WRITE, ".yaml"),
    UnsupportedFile(
        "a configuration of promptfoo",
        "providers",
        (r"^providers\s*:", r"^prompts\s*:", r"^tests\s*:"),
        _WRITE,
        ".yaml",
    ),
)
"""The files of tools without a system here."""


def unsupported_problems(root: Path, known: Iterable[Path], kinds: Sequence[UnsupportedFile]) -> Iterator[Problem]:
    """A problem for each file below a root that another tool runs; many of one kind share one.

    YAML files, and kinds that say so, count only where one is the root itself: in a folder they may be anything.

    Args:
        root: A folder, or a file.
        known: Files that hold a benchmark, or are a problem already.
        kinds: What is recognised.
    """
    taken, is_named = set(known), root.is_file()
    kinds = [kind for kind in kinds if is_named or not kind.only_named]
    found: dict[UnsupportedFile, list[Path]] = {}
    for ending in dict.fromkeys(kind.ending for kind in kinds if kind.ending == ".py" or is_named):
        for file in files_below(root, ending):
            kind = None if file in taken else _kind_of(file, [one for one in kinds if one.ending == ending])
            if kind is not None:
                found.setdefault(kind, []).append(file)
    for kind, files in found.items():
        named = files if len(files) <= _MOST_NAMED else files[:1]
        n_more = len(files) - len(named)
        more = f" So {'is' if n_more == 1 else 'are'} {count(n_more, 'further file')}." if n_more else ""
        for file in named:
            yield Problem(str(file), f"This is {kind.what}, which Polymeter does not run. {kind.hint}{more}".strip())


def _kind_of(file: Path, kinds: Iterable[UnsupportedFile]) -> UnsupportedFile | None:
    try:
        with file.open("rb") as content:
            text = content.read(_LARGEST)
    except OSError:
        return None
    return next((kind for kind in kinds if kind.matches(text)), None)
