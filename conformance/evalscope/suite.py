"""The suite against EvalScope 0.17.0: its own adapters on generated rows, in both tools."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.comparing import Expected, check_rows, compare, print_comparison
from conformance.evalscope.endpoint import serve
from conformance.evalscope.sheets import write_cases
from conformance.evalscope.stand_ins import Script
from conformance.evalscope.variants import cases
from conformance.frame import MODELS, python_of, read_observations, run_child

_THEIRS, _OURS = ".venv-evalscope", ".venv-evalscope-here"
_LEAST = 40

EXPECTED: Sequence[Expected] = ()


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run both tools and print the comparison; whether it is as it should be."""
    write_cases(cases(seed), work)
    _write_sentence_model(work / "nltk_data")
    with serve(Script(work, work / "images")) as endpoint:
        _drive(python_of(_THEIRS), work, "theirs", endpoint, only)
        sides = {"off": ["here"], "on": ["parity"], "both": ["here", "parity"]}[parity]
        for side in sides:
            _drive(python_of(_OURS), work, side, endpoint, only)
    theirs = read_observations(work / "theirs.jsonl")
    is_good = not check_rows(EXPECTED)
    for side in sides:
        expected = EXPECTED if side == "here" else ()
        title = "with --parity evalscope" if side == "parity" else "as Polymeter scores by itself"
        made = compare(theirs, read_observations(work / f"{side}.jsonl"), expected)
        is_good = print_comparison(made, title, _LEAST if only == "*" else 0) and is_good
    return is_good


def adapters_folder(python: Path) -> Path:
    """The adapters of the installed EvalScope."""
    found = subprocess.run(
        [str(python), "-c", "import importlib.util; print(importlib.util.find_spec('evalscope').origin)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(found.stdout.strip()).parent / "benchmarks"


def _drive(python: Path, work: Path, side: str, endpoint: str, only: str) -> None:
    """Run the driver for each model: where EvalScope is, or under ``polymeter python``."""
    observed, runs = work / f"{side}.jsonl", work / f"{side}-runs"
    observed.unlink(missing_ok=True)
    variables = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "NLTK_DATA": str(work / "nltk_data")}
    if side == "parity":
        variables["POLYMETER_PARITY"] = "evalscope"
    driver = Path(__file__).with_name("driver.py")
    for model in MODELS:
        arguments = [str(work), model, str(runs / model), str(observed), "--endpoint", endpoint, "--only", only]
        log = work / f"{side}-{model}.log"
        log.unlink(missing_ok=True)
        if side == "theirs":
            run_child(python, "conformance.evalscope.driver", arguments, environment=variables, log=log)
        else:
            folder = adapters_folder(python_of(_THEIRS))
            command = ["python", "--include-path", str(folder), str(driver), *arguments]
            run_child(python, "polymeter", command, environment=variables, log=log)


_ABBREVIATIONS = ("dr", "e.g", "etc", "i.e", "mr", "mrs", "ms", "prof", "u.s", "vs")


def _write_sentence_model(folder: Path) -> None:
    """What NLTK knows about the ends of sentences, as little as the generated texts need: its data is no package."""
    english = folder / "tokenizers" / "punkt_tab" / "english"
    english.mkdir(parents=True, exist_ok=True)
    (english / "abbrev_types.txt").write_text("\n".join(_ABBREVIATIONS), encoding="utf-8")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (english / name).write_text("", encoding="utf-8")
