"""The suite against EvalScope 0.17.0: its own adapters on generated rows, in both tools."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from conformance.comparing import Expected, Observations, check_rows, compare, print_comparison
from conformance.evalscope.census import adapters_folder, load_all, print_census
from conformance.evalscope.endpoint import serve
from conformance.evalscope.sheets import write_cases
from conformance.evalscope.stand_ins import Script
from conformance.evalscope.variants import cases
from conformance.frame import MODELS, python_of, read_observations, run_child

_LEAST = 44
_DRIVER = Path(__file__).with_name("driver.py")

# Deliberate differences, by their rows in docs/differences.md. What is drawn at random stays with ``--parity`` too.
DRAWN: Sequence[Expected] = (
    Expected("random examples and adapter methods", tasks="general_arena", names="value:winrate_*er*"),
)
EXPECTED: Sequence[Expected] = (
    *DRAWN,
    Expected("`compute_rouge_score_one_sample_zh` of an empty answer", tasks="general_qa*"),
    *(
        Expected("`compute_rouge_score_one_sample_zh` of an empty answer", tasks=f"data_collection@{way}")
        for way in ("filters", "limit", "share", "weighted")  # those with general_qa
    ),
    *(
        Expected("`math_equal`", tasks=f"{name}*", names=values)
        for name in ("aime24", "aime25", "competition_math", "math_500")
        for values in ("value:*", "sample:result")
    ),
    Expected("a judge's verdict", tasks="*@judge-that-rambles"),
    Expected("a judge's prompt", tasks="*@judge", models="messy"),
    *(
        Expected("the mode that an adapter sees", tasks=f"{name}{way}")
        for name in ("hellaswag", "race")
        for way in ("", "@files", "@endpoint")
    ),
    Expected("the mode that an adapter sees", tasks="data_collection@likeliest"),
)


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run both tools and print the comparison; whether it is as it should be."""
    sides = {"off": ["here"], "on": ["parity"], "both": ["here", "parity"]}[parity]
    write_cases(cases(seed), work)
    write_sentence_model(work / "nltk_data")
    with serve(Script(work, work / "images")) as endpoint:
        theirs = _observed(work, "theirs", endpoint, only)
        ours = {side: _observed(work, side, endpoint, only) for side in sides}
    unknown = check_rows(EXPECTED)
    for row in unknown:
        print(f"docs/differences.md has no row {row!r}")
    is_good = not unknown
    for side, observed in ours.items():
        title = "with --parity evalscope" if side == "parity" else "as Polymeter scores by itself"
        made = compare(theirs, observed, EXPECTED if side == "here" else DRAWN)
        n_adapters = len({task.partition("@")[0] for task in made.tasks})
        print(f"{n_adapters} adapters, some of them in several ways")
        is_enough = only != "*" or n_adapters >= _LEAST
        is_good = print_comparison(made, title, 0) and is_enough and is_good
    return is_good


def census(work: Path) -> bool:
    """Load every adapter in both tools and print what fails, and why; whether Polymeter loads all that load there."""
    return print_census(*(load_all(side, work) for side in ("theirs", "here")))


def _observed(work: Path, side: str, endpoint: str, only: str) -> Observations:
    """What one tool makes of the cases with each model, one process for each."""
    with ThreadPoolExecutor(len(MODELS)) as pool:
        files = list(pool.map(lambda model: _drive(work, side, model, endpoint, only), MODELS))
    return {key: one for file in files for key, one in read_observations(file).items()}


def _drive(work: Path, side: str, model: str, endpoint: str, only: str) -> Path:
    """Run the driver for one model: as EvalScope runs it, or under ``polymeter python``; its file of observations."""
    observed, log = work / f"{side}-{model}.jsonl", work / f"{side}-{model}.log"
    observed.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    variables = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "NLTK_DATA": str(work / "nltk_data")}
    if side == "parity":
        variables["POLYMETER_PARITY"] = "evalscope"
    runs = work / f"{side}-runs" / model
    arguments = [str(work), model, str(runs), str(observed), "--endpoint", endpoint, "--only", only]
    python = python_of(".venv-evalscope")
    if side == "theirs":
        run_child(python, "conformance.evalscope.driver", arguments, environment=variables, log=log)
    else:
        command = ["python", "--include-path", str(adapters_folder()), str(_DRIVER), *arguments]
        run_child(python, "polymeter", command, environment=variables, log=log)
    return observed


_ABBREVIATIONS = ("dr", "e.g", "etc", "i.e", "mr", "mrs", "ms", "prof", "u.s", "vs")


def write_sentence_model(folder: Path) -> None:
    """Write NLTK's rules for the ends of sentences, as few as generated texts need: its data is no package."""
    english = folder / "tokenizers" / "punkt_tab" / "english"
    english.mkdir(parents=True, exist_ok=True)
    (english / "abbrev_types.txt").write_text("\n".join(_ABBREVIATIONS), encoding="utf-8")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (english / name).write_text("", encoding="utf-8")
