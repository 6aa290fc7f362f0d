"""The suite against EvalScope 1.14.1: its own adapters on generated rows, and collections of them, in both tools.

What needs more than this machine has a stand-in that both tools share (``images``: what a model draws, and its scorers;
``decisions``: the probabilities of a decision service), or one in EvalScope alone: its containers need Docker, so a
process of this machine runs its programs (``programs``), beside Polymeter's walls.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conformance.answers import generator
from conformance.comparing import Expected, Observations, check_rows, compare, print_comparison
from conformance.evalscope.suite import write_sentence_model
from conformance.evalscope_1.driver import REASON
from conformance.evalscope_1.endpoint import JUDGES, Script, in_order, serve
from conformance.evalscope_1.mixtures import COLLECTION, mixtures, names_of_mixtures
from conformance.evalscope_1.programs import ALONE
from conformance.frame import MODELS, Observation, python_of, read_observations, run_child

_ENVIRONMENT = ".venv-evalscope-1"
_LEAST = 120
_PING = '[["user", "ping"]]'
_IN_OUR_WORDS = {"no judge produced a usable verdict": "no judge gave a verdict that can be used"}
_CODE = re.compile(r"\(\w+_\w+\)")
"""The code of a reason, such as ``(invalid_reference)``."""
_DRIVER = Path(__file__).with_name("driver.py")

# Deliberate differences, by their rows in docs/differences.md. These stay with ``--parity`` too.
STAYS: Sequence[Expected] = (
    Expected("a report hook that reads reviews", tasks="visualoverload*", names="failure", stays=True),
    # What it cannot read of an answer it draws.
    *(
        Expected("random examples and adapter methods", tasks="cmmmu*", names=names, stays=True)
        for names in ("value:*", "sample:extracted", "sample:value acc", "prompt")
    ),
    # Their programs are in other languages than Python.
    Expected("programs", tasks="multiple_*", names="failure", stays=True),
    Expected("samples that are all excluded", names="failure", here="Nothing was scored", stays=True),
)
# A sample without a verdict has its rule's score there and none here, and numbers follow from that. No value that both
# have of a sample may differ, no prompt, and no case may run on one side alone.
_VERDICTS: Sequence[Expected] = tuple(
    rule
    for tasks in ("*@rambles", "*@recall")
    for rule in (
        Expected("a broken verdict", tasks=tasks, names="value:*"),
        Expected("a broken verdict", tasks=tasks, names="sample:num*"),
        Expected("a broken verdict", tasks=tasks, names="sample:semantics *", there="<missing>"),
        Expected("a broken verdict", tasks=tasks, names="sample:*", here="<missing>"),
        Expected("a broken verdict", tasks=tasks, names="sample:has a score", there="<missing>"),
        Expected("a broken verdict", tasks=tasks, names="sample:reason", there="<missing>"),
    )
)
EXPECTED: Sequence[Expected] = (
    *STAYS,
    *_VERDICTS,
    Expected("earlier answers", names="prompt", there='["assistant", "\\n'),
)


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run both tools and print the comparison; whether it is as it should be."""
    sides = {"off": ["here"], "on": ["parity"], "both": ["parity", "here"]}[parity]
    book = _book(seed, work, only)
    cases = [*(case for entry in book for case in _cases(entry, seed)), *mixtures({one["name"]: one for one in book})]
    (work / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    unknown = check_rows(EXPECTED)
    for row in unknown:
        print(f"docs/differences.md has no row {row!r}")
    is_good = not unknown
    answers = {entry["name"]: entry["answers"] for entry in book if "answers" in entry}
    script = Script({**answers, COLLECTION: {key: one for own in answers.values() for key, one in own.items()}})
    with serve(script) as endpoint:
        theirs = _observed(work, "theirs", endpoint, only, script)
        for side in sides:
            ours = _observed(work, side, endpoint, only, script)
            is_good = _is_as_expected(theirs, ours, side, only) and is_good
    return is_good


def _is_as_expected(theirs: Observations, ours: Observations, side: str, only: str) -> bool:
    """Print the comparison with one side of Polymeter; whether it is as it should be."""
    title = "with --parity evalscope" if side == "parity" else "as Polymeter scores by itself"
    _join_reasons(theirs, ours)
    made = compare(theirs, ours, EXPECTED if side == "here" else STAYS)
    n_adapters = len({task.partition("@")[0] for task in made.tasks})
    print(f"{n_adapters} adapters, some of them in several ways")
    is_enough = only != "*" or n_adapters >= _LEAST
    return print_comparison(made, title, 0) and is_enough


def census(work: Path) -> bool:
    """List, load, construct and render the installed adapters, and print what fails, and why; whether enough do not."""
    from conformance.evalscope_1.census import census_of

    return census_of(work, _book(1, work, "*"))


def _book(seed: int, work: Path, only: str) -> list[dict[str, Any]]:
    """Rows and answers of all adapters that can read generated rows; the others are named with the reason."""
    write_sentence_model(work / "nltk_data")
    variables = {"HF_HUB_OFFLINE": "1", "NLTK_DATA": str(work / "nltk_data")}
    globs = only.split(",")
    adapters = [one.partition("@")[0] for one in globs]
    for name, within in names_of_mixtures():
        if any(fnmatch.fnmatchcase(name, one) for one in globs):
            adapters.extend(within)
    arguments = [str(work), "--seed", str(seed), "--only", ",".join(adapters)]
    python = python_of(_ENVIRONMENT)
    run_child(python, "conformance.evalscope_1.prepare", arguments, environment=variables, log=work / "prepare.log")
    book = [json.loads(line) for line in (work / "book.jsonl").read_text(encoding="utf-8").splitlines()]
    reasons = Counter(entry["failure"] for entry in book if "failure" in entry)
    print(f"{len(book) - sum(reasons.values())} of {len(book)} adapters read generated rows; the others:")
    for entry in book:
        if "failure" in entry:
            print(f"  {entry['name']}: {entry['failure'][:120]}")
    return book


def _cases(entry: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """An adapter as it is, and some in further ways: a limit, repeats, shuffled choices, a judge that rambles,
    which is asked about all answers or about those that the rules count as wrong.
    """
    if "failure" in entry:
        return
    name = entry["name"]
    case = {"name": name, "adapter": name, "kind": entry["kind"], "args": entry["args"], "config": {}}
    yield case
    if name in ALONE:
        yield {**case, "name": f"{name}@alone", "alone": True, "args": {**entry["args"], **ALONE[name]}}
    if entry["kind"] != "text":
        return
    args = entry["args"]
    further = {
        "limit": {"config": {"limit": 2}},
        "repeats": {"config": {"repeats": 2}},
        "shuffled": {"args": {**args, "shuffle": True}},
        "recall": {"judge": "judge-that-rambles", "strategy": "llm_recall"},
    }
    if entry["is_judged"]:
        further = {"rambles": {"judge": "judge-that-rambles"}}
    way = generator("way", seed, name).choice([*further, *([] if entry["is_judged"] else ("", ""))])
    if way:
        yield {**case, "name": f"{name}@{way}", **further[way]}


def _observed(work: Path, side: str, endpoint: str, only: str, script: Script) -> Observations:
    """What one tool makes of the cases with each model, one process for each."""
    with ThreadPoolExecutor(len(MODELS)) as pool:
        files = list(pool.map(lambda model: _drive(work, side, model, endpoint, only), MODELS))
    observed = {key: one for file in files for key, one in read_observations(file).items()}
    for (case, model), one in observed.items():
        _add_prompts(one, side, case, model, script)
    return observed


def _join_reasons(theirs: Observations, ours: Observations) -> None:
    """Polymeter's reason why a sample has no score holds EvalScope's, perhaps in words of its own, or at least the code
    in parentheses that it has; where EvalScope records none, there is nothing to compare.
    """
    for key, there in theirs.items():
        for sample, values in there.samples.items():
            here = ours[key].samples.get(sample, {}) if key in ours else {}
            said, own = values.get(REASON), here.get(REASON)
            if said is None or own is None:
                continue
            code = _CODE.search(said)
            if _IN_OUR_WORDS.get(said, said) in own or (code is not None and code[0] in own):
                here[REASON] = said


def _add_prompts(one: Observation, side: str, case: str, model: str, script: Script) -> None:
    # Polymeter asks once whether the endpoint answers before it sends anything.
    one.prompts = in_order([asked for asked in script.asked[side, case, model] if asked != _PING])
    if model == MODELS[0]:  # a judge is asked about the answers of all
        judged = [asked for judge in JUDGES for asked in script.asked[side, case, judge] if asked != _PING]
        one.prompts |= {f"of the judge {place}": asked for place, asked in in_order(judged).items()}


def _drive(work: Path, side: str, model: str, endpoint: str, only: str) -> Path:
    """Run the driver for one model: as EvalScope runs it, or under ``polymeter python``; its file of observations."""
    observed, log = work / f"{side}-{model}.jsonl", work / f"{side}-{model}.log"
    observed.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    variables = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "NLTK_DATA": str(work / "nltk_data")}
    copies = work / f"{side}-copies" / model  # of what a collection's benchmarks have loaded
    shutil.rmtree(copies, ignore_errors=True)
    variables["MODELSCOPE_CACHE"] = str(copies)
    if side == "parity":
        variables["POLYMETER_PARITY"] = "evalscope"
    arguments = [str(work), side, model, str(observed), "--endpoint", endpoint, "--only", only]
    python = python_of(_ENVIRONMENT)
    if side == "theirs":
        run_child(python, "conformance.evalscope_1.driver", arguments, environment=variables, log=log)
    else:
        run_child(python, "polymeter", ["python", str(_DRIVER), *arguments], environment=variables, log=log)
    return observed
