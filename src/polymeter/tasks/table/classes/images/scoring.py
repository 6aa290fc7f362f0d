"""Scoring one generated image: by each of the columns ``scene``, ``reference`` and ``checklist`` that a row fills, else
by a judge's number if the run has a judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.guest_context import note_scorer
from polymeter.core.media.detection import Detector
from polymeter.judge.rubrics import checklist, scale
from polymeter.metrics import perceptual
from polymeter.metrics.composition import Scene, check_image, read_scene
from polymeter.metrics.detectors import local_name, make_detector
from polymeter.metrics.image import CEILING_DB, is_resized, lpips, psnr, ssim
from polymeter.tasks.table.classes.cells import cell_name_of, column, is_empty, list_of
from polymeter.tasks.table.files.cells import image_in

SCENE = "scene"
REFERENCE = "reference"
CHECKLIST = "checklist"
SCORED_BY = (SCENE, REFERENCE, CHECKLIST)
SCALE = "scale"
SHAPES = "shapes"
_METRICS = {REFERENCE: ("psnr", "ssim"), CHECKLIST: ("checklist", "checklist_all"), SCALE: ("judge_score",)}
EDITING = "How well does the picture carry out the prompt on the input picture, and leave the rest of it as it was?"

_GENEVAL = "Mask2Former and CLIP, which GenEval uses"
_LONGEST_PATH = 1024

Scored = Mapping[str, Any]


def by_scene(line: Mapping[str, Any], image: Any, detector: str) -> dict[str, Any]:
    """``correct``, ``count``, and if the scene defines them ``colour`` and ``position``: 1 or 0.

    Args:
        line: The row; its column ``scene`` holds a scene in GenEval's schema.
        image: The image.
        detector: The detector's name; empty: ``shapes``.

    Raises:
        DataError: if the scene does not follow the schema.
        PlanError: if there is no such detector, or it cannot detect the objects of the scene.
    """
    scene = _scene(line)
    name = detector or SHAPES
    note_scorer(f"detector {name}", "" if name == SHAPES else _GENEVAL)
    verdict = check_image(scene, image, _detector(local_name(name)))
    aspects = {name: getattr(verdict, name) for name in ("count", "colour", "position")}
    values = {name: float(value) for name, value in aspects.items() if value is not None}
    return {"correct": float(verdict.is_correct), **values, "explanation": verdict.explanation}


def by_reference(image: Any, reference: Any) -> dict[str, Any]:
    """``psnr`` in dB, at most 100 so that one exact copy does not make a mean infinite, ``ssim``, and ``lpips`` if
    the run names its weights.

    An image of another size is first resized to the reference's, and the explanation says so.

    Raises:
        DataError: if an image cannot be read.
    """
    values: dict[str, Any] = {"psnr": psnr(image, reference, CEILING_DB), "ssim": ssim(image, reference)}
    said = f"PSNR {values['psnr']:.2f} dB, SSIM {values['ssim']:.4f}"
    if perceptual.is_placed():
        values["lpips"] = lpips(image, reference)
        said += f", LPIPS {values['lpips']:.4f}"
    note = "; resized to the reference's size first" if is_resized(image, reference) else ""
    return {**values, "explanation": f"{said}{note}"}


def by_checklist(line: Mapping[str, Any], image: Any, prompt: str, inputs: Sequence[Any]) -> dict[str, Any]:
    """``checklist``: the share of the row's statements that a judge finds true of the image; ``checklist_all``: 1
    if all are.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    verdict = checklist(prompt, image, list_of(line, CHECKLIST), input_images=list(inputs))
    values = {"checklist": verdict.score, "checklist_all": float(bool(verdict.passed))}
    return {**values, "explanation": verdict.explanation}


def by_scale(image: Any, prompt: str, inputs: Sequence[Any]) -> dict[str, Any]:
    """``judge_score``: a judge's number from 0 to 10 for how well the image follows the prompt.

    Raises:
        UnscoredError: if the request to the judge failed, or it gave no verdict.
    """
    verdict = scale(prompt, image, EDITING, input_images=list(inputs)) if inputs else scale(prompt, image)
    return {"judge_score": verdict.score, "explanation": verdict.explanation}


def mean_over(answers: Sequence[Any], score: Callable[[Any], Scored]) -> dict[str, Any]:
    """The mean of each metric over the answers that have it. Texts are listed, numbered from 1.

    Args:
        answers: The model's answers to the row.
        score: One answer → metric → number, and texts such as ``explanation``.
    """
    scores = [score(answer) for answer in answers]
    if len(scores) == 1:
        return dict(scores[0])
    whole: dict[str, Any] = {}
    for name in dict.fromkeys(name for item in scores for name in item):
        values = [item[name] for item in scores if name in item]
        if isinstance(values[0], str):
            texts = (f"{number}: {item[name]}" for number, item in enumerate(scores, 1) if name in item)
            whole[name] = "\n".join(texts)
        else:
            known = [float(value) for value in values if not math.isnan(value)]
            whole[name] = math.fsum(known) / len(known) if known else math.nan
    return whole


def joined(scores: Sequence[Scored]) -> dict[str, Any]:
    """The values of several ways of scoring, with their explanations one after another."""
    values = {name: value for item in scores for name, value in item.items() if name != "explanation"}
    return {**values, "explanation": "\n".join(str(item["explanation"]) for item in scores)}


def image_of(line: Mapping[str, Any], name: str, folders: Sequence[Path]) -> Image:
    """The image in a cell.

    Args:
        line: The row.
        name: The column.
        folders: The folders that a relative path is looked for in, in this order; then the working directory.

    Raises:
        DataError: if the cell is neither an image in base64 nor the path of a file.
    """
    text = column(line, name).strip()
    if len(text) <= _LONGEST_PATH and not text.startswith("data:"):
        for folder in (*folders, Path()):
            path = (folder / text).expanduser()
            if _is_file(path):
                return Image(path)
    try:
        return Image(image_in(text, line.get("index"), name)[0])
    except DataError as error:
        if len(text) > _LONGEST_PATH:
            raise
        raise DataError(
            f"This cell is neither an image in base64 nor the path of a file: {text[:80]!r}.",
            where=cell_name_of(line, name),
            hint="Paths are relative to the table's folder.",
        ) from error


def ways(line: Mapping[str, Any], *, has_judge: bool) -> list[str]:
    """The columns that a row is scored by; ``scale`` for a judge's number; empty if nothing can score it."""
    columns = [name for name in SCORED_BY if not is_empty(line.get(name))]
    if not columns:
        return [SCALE] if has_judge else []
    if CHECKLIST in columns and not has_judge:
        columns.remove(CHECKLIST)
    return columns


def metrics_of(line: Scored, *, has_judge: bool) -> tuple[str, ...]:
    """The metrics that apply to a row. A scene that cannot be read counts for the two that every scene has."""
    names: list[str] = []
    for way in ways(line, has_judge=has_judge):
        names += _scene_metrics(line) if way == SCENE else _METRICS[way]
        names += ["lpips"] if way == REFERENCE and perceptual.is_placed() else []
    return tuple(names)


def _scene_metrics(line: Scored) -> tuple[str, ...]:
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
        raise DataError(
            error.what, where=f"{cell_name_of(line, SCENE)} {error.where}".strip(), hint=error.hint
        ) from error


# Kept for the life of the process, the last two: weights take seconds to read, and the next run asks for the same.
@lru_cache(maxsize=2)
def _detector(name: str) -> Detector:
    return make_detector(name)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # base64 of a small image may be short enough for a path but too long for a file name
        return False
