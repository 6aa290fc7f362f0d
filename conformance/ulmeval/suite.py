"""The suite for ULMEvalKit: run dataset classes in Polymeter, compare with values worked out by hand.

The classes in ``guests`` are written in the idioms of the published ones. The environment variable ``ULMEVALKIT``
names a checkout of ULMEvalKit whose own classes are run in their place; a benchmark that it lacks is a failure.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polymeter
from conformance.comparing import Expected, check_rows, print_comparison
from conformance.comparing import compare as compare_sides
from conformance.frame import MODELS, Observation
from conformance.ulmeval.rows import ROWS, SCHEMAS, number_of, picture, rows_of, write_table
from conformance.ulmeval.worked import FAILED, Said, values, verdict
from polymeter.core.content import Image, Text
from polymeter.core.errors import DataError, ModelError, PlanError
from polymeter.core.request import Output, Request, Response
from polymeter.models.mock import MockBatch

CLASSES = Path(__file__).parent / "guests"
EXPECTED = (
    Expected("images in a judge's question (WISE)", "WISE_all", "prompt"),
    Expected("size of an image for the judge", "*", "prompt"),
)
_JUDGED_SIDE = 512
_COUNTS = ("correct", "total", "count", "(number)")
_PASTED = re.compile(r"base64, ([A-Za-z0-9+/=]+)")


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run the suite; whether every number is equal or has its row."""
    if missing := check_rows(EXPECTED):
        print(f"docs/differences.md has no row named {', '.join(missing)}")
        return False
    checkout = _checkout()
    if checkout is not None and not checkout.is_dir():
        print(f"ULMEVALKIT names no checkout of ULMEvalKit: there is no folder {checkout}")
        return False
    names = [name for name in SCHEMAS if fnmatch.fnmatchcase(name, only)]
    theirs = {(name, model): worked(name, model, seed) for name in names for model in MODELS}
    is_good = True
    for switched in [mode for mode in ("off", "on") if parity in (mode, "both")]:
        ours = {(name, model): observed(name, model, seed, work, switched) for name in names for model in MODELS}
        made = compare_sides(theirs, ours, EXPECTED if switched == "off" else ())
        title = "with --parity ulmeval" if switched == "on" else "without --parity"
        is_good = print_comparison(made, f"hand-worked values, {title}", len(names)) and is_good
    return is_good


def compare(seed: int, work: Path) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Every compared value: benchmark, model, name, worked out by hand, in Polymeter."""
    for name in SCHEMAS:
        for model in MODELS:
            there, here = worked(name, model, seed), observed(name, model, seed, work, "on")
            for value in sorted(there.values.keys() | here.values.keys()):
                yield name, model, value, there.values.get(value), here.values.get(value)


def census(work: Path) -> bool:
    """There is no installed package to count."""
    print("ULMEvalKit is on no package index, so there is nothing installed to load.")
    return True


def worked(name: str, model: str, seed: int) -> Observation:
    """What follows from the scripted verdicts by the published formulas, and how the judge sees a picture there."""
    shown = "text" if name == "WISE_all" else f"{_JUDGED_SIDE}x{_JUDGED_SIDE}"
    prompts = {f"{part} judge": shown for part in _parts(name)}
    found = values(name, rows_of(name, seed), model, seed)
    return Observation(name, model, found, _extremes(name, found), prompts)


def observed(name: str, model: str, seed: int, work: Path, switched: str) -> Observation:
    """What Polymeter makes of a benchmark with a scripted model and a scripted judge."""
    folder = work / f"{name}-{model}-{switched}"
    shutil.rmtree(folder, ignore_errors=True)
    classes = _classes(folder)
    write_table(rows_of(name, seed), folder / f"{name}.tsv")
    judge = Judge(name, model, seed)
    try:
        result = polymeter.evaluate(
            MockBatch(lambda request: _drawn(request, model)),
            name,
            include_paths=[classes],
            data={name: str(folder / f"{name}.tsv")},
            roles={"judge": MockBatch(judge)},
            output=folder / "run",
            cache_dir=folder / "cache",
            parity="ulmeval" if switched == "on" else "none",
        )
    except (PlanError, DataError) as error:  # a checkout may lack a benchmark, or have code that does not load
        return Observation(name, model, failure=str(error))
    found = {item["metric"]: item["value"] for item in result.results["tasks"][name]["results"]}
    failure = "" if found else str(result.results.get("notes"))
    return Observation(name, model, found, _extremes(name, found), judge.shown, failure)


class Judge:
    """A judge that knows each picture by the number in it.

    Args:
        benchmark: Whose questions it is asked.
        model: Whose pictures it sees.
        seed: The seed of its verdicts.
    """

    def __init__(self, benchmark: str, model: str, seed: int) -> None:
        self._key = benchmark, model, seed
        self.shown: dict[str, str] = {}

    def __call__(self, request: Request) -> str:
        benchmark, model, seed = self._key
        part = (
            ""
            if benchmark != "OmniContext"
            else "PF"
            if "carried out" in request.text or "fulfills" in request.text
            else "SC"
        )
        parts = [part for message in request.messages for part in message.parts]
        images = [part.open() for part in parts if isinstance(part, Image)]
        text = "".join(part.text for part in parts if isinstance(part, Text))
        seen = images[-1] if images else _pasted(text)
        self.shown[f"{part} judge"] = f"{seen.width}x{seen.height}" if images else "text"
        said: Said = verdict(benchmark, part, model, number_of(seen) - 1, seed)
        if said.text is FAILED:
            raise ModelError("The scripted judge fails here.")
        return said.text


def _pasted(text: str) -> Any:
    import base64
    import io

    from PIL import Image as pil

    found = _PASTED.search(text)
    assert found is not None, "the question shows no image"
    return pil.open(io.BytesIO(base64.b64decode(found[1])))


def _drawn(request: Request, model: str) -> Response:
    """A picture of the row's number, which begins the prompt; a black one would be 0, so numbers start at 1."""
    number = int(re.findall(r"(\d+):", request.text)[-1])
    return Response((Output(images=(picture(number + 1),)),))


def _extremes(name: str, found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The extremes between which each value may lie: numbers of rows, and what the judge may give."""
    most = {"WISE_all": 1.0, "GenEvalPP": 1.0}.get(name, 10.0)
    ends = {value: float(ROWS) if value.endswith(_COUNTS) else most for value in found}
    return {"least": dict.fromkeys(found, 0.0), "most": ends}


def _parts(name: str) -> tuple[str, ...]:
    return ("PF", "SC") if name == "OmniContext" else ("",)


def _checkout() -> Path | None:
    """Where the dataset classes of the named checkout are."""
    named = os.environ.get("ULMEVALKIT")
    return Path(named).expanduser().resolve() / "ulmeval" / "dataset" if named else None


def _classes(folder: Path) -> Path:
    checkout = _checkout()
    if checkout is not None:
        folder.mkdir(parents=True)
        return checkout
    shutil.copytree(CLASSES, folder / "classes", dirs_exist_ok=True)
    return folder / "classes"
