"""The suite against VLMEvalKit: the dataset classes of a checkout over generated rows, in both tools.

The environment variable ``VLMEVALKIT`` names the checkout. Its newest code is on no package index.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from conformance.comparing import Expected, Observations, check_rows, compare, print_comparison
from conformance.frame import Observation, python_of, read_observations, run_child
from conformance.vlmevalkit.book import CASES, LONGEST_CELL

CHECKOUT = "VLMEVALKIT"
"""The environment variable that names the checkout."""
_ENVIRONMENT = ".venv-vlmevalkit"
_LEAST, _PARTS = 150, 3
_SHOWN_REASONS = 120
_ASKED = "judge "

# Deliberate differences, by their rows in docs/differences.md. These stay with ``--parity`` too.
STAYS: Sequence[Expected] = ()
_TABLES = "tables that a class writes and reads"
# Of cases only where a spreadsheet changed an answer. An empty one is missing there: judges are asked about "nan", or,
# by some classes, not at all, and what they say decides what they are asked next.
OF_CHANGED: Sequence[Expected] = (Expected(_TABLES, names="prompt"), Expected(_TABLES, names="value:*"))
# Rows without a way of scoring: it is written as an empty text, by which the class groups what it reads.
OF_OWN_TABLES: Sequence[Expected] = (
    Expected(_TABLES, tasks="SciDocBench*", names="value:/method:*"),
    Expected(_TABLES, tasks="SciDocBench*", names="value:/3/*"),
)
OF_IMAGES: Sequence[Expected] = (
    Expected("a class's images while it scores", tasks="MRareBench_EvidenceVerif*", names="value:*image*"),
)
# The original writes a collection's images as JPEG first, and names the files.
OF_COLLECTIONS: Sequence[Expected] = tuple(
    Expected("`dump_image`", tasks=f"{collection}*", names=names)
    for collection in ("M4Bench", "MMMB", "MTL_MMBench_DEV")
    for names in ("prompt", "sample:image_path", "sample:names")
)
EXPECTED: Sequence[Expected] = (*STAYS, *OF_CHANGED, *OF_OWN_TABLES, *OF_IMAGES, *OF_COLLECTIONS)


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run both tools and print the comparison; whether it is as it should be."""
    checkout = _checkout()
    if checkout is None:
        return False
    sides = {"off": ["none"], "on": ["ulmeval"], "both": ["none", "ulmeval"]}[parity]
    book = _book(seed, work, checkout, only)
    families = {case["name"]: case["family"] for entry in book for case in _cases(entry)}
    answers = {case["name"]: case["answers"] for entry in book for case in _cases(entry)}
    with (work / CASES).open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(case) + "\n" for entry in book for case in _cases(entry))
    theirs = _without_draws(_observed("theirs", work, checkout))
    _print_failures(theirs)
    is_good = True
    for row in check_rows(EXPECTED):
        print(f"docs/differences.md has no row {row!r}")
        is_good = False
    for side in sides:
        ours = _observed("ours", work, checkout, side)
        for key in theirs.keys() & ours.keys():
            pair_questions(theirs[key], ours[key])
        expected = [*STAYS, *(expected_of(changed_answers(theirs, answers)) if side == "none" else ())]
        made = compare(theirs, ours, expected)
        alike = sorted(made.same_for_all_models)
        made.same_for_all_models.clear()
        differing = {one.task for one in made.differences} | set(made.failures)
        equal = {case.partition("@")[0] for case in made.tasks - set(alike) - differing}
        counted = Counter(families[case] for case in {one.partition("@")[0] for one in made.tasks})
        title = "with --parity ulmeval" if side != "none" else "as Polymeter scores by itself"
        is_good = print_comparison(made, title, 0) and is_good
        print(f"  by family: {', '.join(f'{name} {count}' for name, count in sorted(counted.items()))}")
        print(f"  the same for all models, so not counted: {', '.join(alike) or 'none'}")
        print(f"  {len(equal)} names are equal")
        is_good = is_good and (only != "*" or side == "none" or len(equal) >= _LEAST)
    return is_good


def census(work: Path) -> bool:
    """List and load the classes of the checkout, and print what fails, and why; whether enough of them do."""
    from conformance.vlmevalkit.census import census_of

    checkout = _checkout()
    return checkout is not None and census_of(checkout)


def _checkout() -> Path | None:
    named = os.environ.get(CHECKOUT)
    checkout = Path(named).expanduser().resolve() if named else None
    if checkout is None or not (checkout / "vlmeval" / "dataset").is_dir():
        print(f"{CHECKOUT} names no checkout of VLMEvalKit, which is on no package index: {CHECKOUT}=FOLDER")
        return None
    return checkout


def _book(seed: int, work: Path, checkout: Path, only: str) -> list[dict[str, Any]]:
    """Rows and answers of all sets that can read generated rows; the others are named with the reason."""
    log = work / "prepare.log"
    log.unlink(missing_ok=True)
    arguments = [str(work), str(checkout), "--seed", str(seed), "--only", only.partition("@")[0]]
    run_child(python_of(_ENVIRONMENT), "conformance.vlmevalkit.prepare", arguments, environment=_VARIABLES, log=log)
    book = [json.loads(line) for line in (work / "book.jsonl").read_text(encoding="utf-8").splitlines()]
    reasons = {entry["name"]: entry["failure"] for entry in book if "failure" in entry}
    print(f"{len(book) - len(reasons)} of {len(book)} sets read generated rows; the others:")
    for name, why in reasons.items():
        print(f"  {name}: {why[:_SHOWN_REASONS]}")
    return book


def _cases(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A set with a judge, and without one where its class can score so."""
    if "failure" in entry:
        return
    for judge in entry["judges"]:
        name = entry["name"] if judge == entry["judges"][0] else f"{entry['name']}@rules"
        yield {
            "name": name,
            "dataset": entry["name"],
            "family": entry["family"],
            "judge": judge,
            "answers": entry["answers"],
            "members": entry["members"],
        }


_VARIABLES = {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "sk-scripted"}


def _observed(tool: str, work: Path, checkout: Path, side: str = "") -> Observations:
    """What one tool makes of the cases, in several processes."""
    with ThreadPoolExecutor(_PARTS) as pool:
        files = list(pool.map(partial(_drive, tool, work, checkout, side), range(_PARTS)))
    return {key: one for file in files for key, one in read_observations(file).items()}


def _drive(tool: str, work: Path, checkout: Path, side: str, part: int) -> Path:
    """Run one part of the cases; the file of observations."""
    label = "-".join(filter(None, (tool, side, str(part))))
    out, log = work / f"{label}.jsonl", work / f"{label}.log"
    out.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    arguments = [str(work), str(checkout), str(out), "--part", str(part), "--parts", str(_PARTS)]
    arguments += ["--parity", side] if side else []
    run_child(python_of(_ENVIRONMENT), f"conformance.vlmevalkit.{tool}", arguments, environment=_VARIABLES, log=log)
    return out


def _without_draws(theirs: Observations) -> Observations:
    """The observations but for cases whose class draws random numbers to score, which are printed."""
    drawing = sorted({case for (case, _), one in theirs.items() if one.has_draws})
    print(f"not compared, scored at random there: {', '.join(drawing) or 'none'}")
    return {key: one for key, one in theirs.items() if key[0] not in drawing}


def pair_questions(there: Observation, here: Observation) -> None:
    """Number the questions to the judge so that equal ones have one number: one that differs would move all others."""
    asked = [Counter(text for name, text in one.prompts.items() if name.startswith(_ASKED)) for one in (there, here)]
    both = asked[0] & asked[1]
    for one, own in zip((there, here), asked, strict=True):
        texts = [*sorted(both.elements()), *sorted((own - both).elements())]
        shown = {name: text for name, text in one.prompts.items() if not name.startswith(_ASKED)}
        one.prompts = shown | {f"{_ASKED}{number:04}": text for number, text in enumerate(texts)}


def changed_answers(
    theirs: Observations, answers: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> list[tuple[str, str]]:
    """The cases and models of which the original read an answer from its file that is not the one given.

    Args:
        theirs: What the original made.
        answers: Case → model → index → the answer.
    """
    return [
        (case, model)
        for (case, model), one in theirs.items()
        if any(
            isinstance(said, str) and one.samples.get(index, {}).get("prediction", said) != said[:LONGEST_CELL]
            for index, said in answers[case][model].items()
        )
    ]


def expected_of(changed: Iterable[tuple[str, str]]) -> Iterator[Expected]:
    """The differences that follow where a spreadsheet changed an answer, for these cases and models alone, and those
    of tables that a class writes itself, of images while it scores and of collections.
    """
    yield from (*OF_OWN_TABLES, *OF_IMAGES, *OF_COLLECTIONS)
    for case, model in changed:
        yield from (replace(row, tasks=case, models=model) for row in OF_CHANGED)


def _print_failures(theirs: Observations) -> None:
    """Print the cases that the original itself cannot score with some model."""
    failed = {case: one.failure for (case, _), one in theirs.items() if one.failure}
    for case, why in sorted(failed.items()):
        print(f"  not compared, fails there: {case}: {why[:_SHOWN_REASONS]}")
