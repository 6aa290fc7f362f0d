"""How one generated picture is scored: by whichever of the columns ``scene``, ``reference`` and ``checklist`` a row
has, else by a judge's number where the run has a judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from polymeter.core.detection import Detector
from polymeter.core.errors import DataError
from polymeter.formats.table.classes.cells import column, is_empty, list_of, place_of
from polymeter.judge.rubrics import checklist, scale
from polymeter.metrics import perceptual
from polymeter.metrics.composition import Scene, check_image, read_scene
from polymeter.metrics.detectors import local_name, make_detector
from polymeter.metrics.image import CEILING_DB, is_resized, lpips, psnr, ssim

SCENE, REFERENCE, CHECKLIST = "scene", "reference", "checklist"
SCORED_BY = (SCENE, REFERENCE, CHECKLIST)
SCALE = "scale"
SHAPES = "shapes"
_METRICS = {REFERENCE: ("psnr", "ssim"), CHECKLIST: ("checklist", "checklist_all"), SCALE: ("judge_score",)}
EDITING = "How well does the picture carry out the prompt on the input picture, and leave the rest of it as it was?"

Scored = Mapping[str, Any]


def by_scene(line: Mapping[str, Any], image: Any, detector: str) -> dict[str, Any]:
    """``correct``, ``count``, and where the scene asks for them ``colour`` and ``position``: 1 or 0.

    Args:
        line: The row; its column ``scene`` holds a scene in GenEval's schema.
        image: The picture.
        detector: Who looks for things; empty: ``shapes``.

    Raises:
        DataError: The scene is of no such schema.
        PlanError: There is no such detector, or it cannot know what the scene names.
    """
    scene = _scene(line)
    verdict = check_image(scene, image, _detector(local_name(detector or SHAPES)))
    aspects = {name: getattr(verdict, name) for name in ("count", "colour", "position")}
    values = {name: float(value) for name, value in aspects.items() if value is not None}
    return {"correct": float(verdict.is_correct), **values, "explanation": verdict.explanation}


def by_reference(image: Any, reference: Any) -> dict[str, Any]:
    """``psnr`` in dB, at most 100 so that one exact copy does not make a mean infinite, ``ssim``, and ``lpips`` where
    the run says where its weights are.

    A picture of another size is brought to the reference's first, and the explanation says so.

    Raises:
        DataError: A picture cannot be read.
    """
    values: dict[str, Any] = {"psnr": psnr(image, reference, CEILING_DB), "ssim": ssim(image, reference)}
    said = f"PSNR {values['psnr']:.2f} dB, SSIM {values['ssim']:.4f}"
    if perceptual.is_placed():
        values["lpips"] = lpips(image, reference)
        said += f", LPIPS {values['lpips']:.4f}"
    note = "; brought to the reference's size first" if is_resized(image, reference) else ""
    return {**values, "explanation": f"{said}{note}"}


def by_checklist(line: Mapping[str, Any], image: Any, prompt: str, inputs: Sequence[Any]) -> dict[str, Any]:
    """``checklist``: the share of the row's statements that a judge finds true of the picture; ``checklist_all``: 1
    where all are.

    Raises:
        UnscoredError: The judge could not be asked, or gave no verdict.
    """
    found = checklist(prompt, image, list_of(line, CHECKLIST), input_images=list(inputs))
    values = {"checklist": found.score, "checklist_all": float(bool(found.passed))}
    return {**values, "explanation": found.explanation}


def by_scale(image: Any, prompt: str, inputs: Sequence[Any]) -> dict[str, Any]:
    """``judge_score``: a judge's number from 0 to 10 for how well the picture does what the prompt asks.

    Raises:
        UnscoredError: The judge could not be asked, or gave no verdict.
    """
    found = scale(prompt, image, EDITING, input_images=list(inputs)) if inputs else scale(prompt, image)
    return {"judge_score": found.score, "explanation": found.explanation}


def joined(found: Sequence[Scored]) -> dict[str, Any]:
    """The values of several ways of scoring, their explanations one after the other."""
    values = {name: value for item in found for name, value in item.items() if name != "explanation"}
    return {**values, "explanation": "\n".join(str(item["explanation"]) for item in found)}


def ways(line: Mapping[str, Any], *, has_judge: bool) -> list[str]:
    """By which columns a row is scored; ``scale`` for a judge's number; nothing where nobody can tell."""
    found = [name for name in SCORED_BY if not is_empty(line.get(name))]
    if not found:
        return [SCALE] if has_judge else []
    if CHECKLIST in found and not has_judge:
        found.remove(CHECKLIST)
    return found


def metrics_of(line: Scored, *, has_judge: bool) -> tuple[str, ...]:
    """The metrics that a row asks for. Of a scene that cannot be read only the two that every scene has are known."""
    asked: list[str] = []
    for way in ways(line, has_judge=has_judge):
        asked += _asked_by_scene(line) if way == SCENE else _METRICS[way]
        asked += ["lpips"] if way == REFERENCE and perceptual.is_placed() else []
    return tuple(asked)


def _asked_by_scene(line: Scored) -> tuple[str, ...]:
    try:
        wanted = _scene(line).include
    except DataError:
        wanted = ()
    colour = ("colour",) if any(clause.colour for clause in wanted) else ()
    position = ("position",) if any(clause.position for clause in wanted) else ()
    return ("correct", "count", *colour, *position)


def _scene(line: Scored) -> Scene:
    try:
        return read_scene(column(line, SCENE))
    except DataError as error:
        raise DataError(error.what, where=f"{place_of(line, SCENE)} {error.where}".strip(), hint=error.hint) from error


@lru_cache(maxsize=2)
def _detector(name: str) -> Detector:
    return make_detector(name)
