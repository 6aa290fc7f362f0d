"""A check that an image shows the objects that a prompt asks for, in the right number, colour and position.

Scenes are written in the schema of GenEval (Ghosh, Hajishirzi and Schmidt 2023, "GenEval: An object-focused framework
for evaluating text-to-image alignment"), and an image is correct under the same conditions:

- ``include``: at least ``count`` objects of the class are detected. Only the ``count`` objects with the highest scores
  are examined further. All of them have the ``color``. Each is in the ``position`` relative to each examined object of
  the clause that the position points to.
- ``exclude``: fewer than ``count`` objects of the class are detected. "Exactly two" is ``include`` 2 and ``exclude`` 3.

GenEval's own prompts never have two clauses of one class. If a scene has, each of these clauses prefers objects of its
colour to others with a higher score, and does not use objects of an earlier clause.

``polymeter.metrics.detectors`` has the detectors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.media.detection import Box, Detection, Detector

Relation = Literal["left of", "right of", "above", "below"]

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")
"""The colours that GenEval distinguishes."""
POSITION_OFFSET = 0.1
"""GenEval's constant: the share of two objects' summed sizes by which their centres must differ to count as apart."""
_MOSTLY = 0.5
_NO_OFFSET = 1e-3
_RELATIONS: tuple[Relation, ...] = get_args(Relation)


@dataclass(frozen=True, slots=True)
class Clause:
    """Objects that an image should show, or should not show.

    Attributes:
        label: Their class.
        count: The smallest number; in an ``exclude`` clause, the smallest number that is too many.
        colour: Their colour, if the prompt names one.
        position: Their relation to the objects of another clause, and the index of that clause in ``include``.
    """

    label: str
    count: int = 1
    colour: str | None = None
    position: tuple[Relation, int] | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """The expected content of an image.

    Attributes:
        include: The expected objects.
        exclude: The objects that must not appear.
        tag: The kind of prompt, one of GenEval's names; ``counting`` makes detectors stricter.
    """

    include: tuple[Clause, ...]
    exclude: tuple[Clause, ...] = ()
    tag: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """All classes in its clauses, each once."""
        return tuple(dict.fromkeys(clause.label for clause in (*self.include, *self.exclude)))


@dataclass(frozen=True, slots=True)
class SceneVerdict:
    """The match of an image and a scene.

    Each aspect is judged separately, on the detected objects: two circles instead of three are a wrong count and may
    still have the right colour. If nothing was detected, colour and position are wrong too.

    Attributes:
        count: Whether no clause has too few objects, or too many.
        colour: Whether all objects have their colours; ``None`` if the scene names none.
        position: Whether all objects are where they should be; ``None`` if the scene names no position.
        is_correct: Whether all aspects are right: GenEval's verdict.
        explanation: The faults and the detected objects, in words.
    """

    count: bool
    colour: bool | None
    position: bool | None
    is_correct: bool
    explanation: str


def read_scene(source: str | bytes | Mapping[str, Any]) -> Scene:
    """Read a scene in GenEval's schema: ``{"include": [{"class", "count", "color"?, "position"?}], "exclude": […]}``.

    A position is ``[relation, index]``: one of ``left of``, ``right of``, ``above``, ``below``, and the index of a
    clause in ``include``, from 0. ``tag`` and ``prompt`` may stand beside the clauses.

    Args:
        source: The JSON text, or the parsed object.

    Raises:
        DataError: if it does not follow that schema. The message names the field.
    """
    if isinstance(source, (str, bytes)):
        with boundary(DataError, "Reading the JSON of a scene"):
            source = json.loads(source)
    if not isinstance(source, Mapping):
        raise DataError(f"A scene is an object with 'include', not {type(source).__name__}.", where="scene")
    _check_names(source, ("include", "exclude", "tag", "prompt"), "scene")
    include = tuple(_clauses(source, "include"))
    exclude = tuple(_clauses(source, "exclude"))
    if not include and not exclude:
        raise DataError("A scene asks for nothing.", where="scene", hint='Write "include": [{"class": …, "count": 1}].')
    for index, clause in enumerate(include):
        target = clause.position[1] if clause.position else None
        if target is not None and (target == index or not 0 <= target < len(include)):
            raise DataError(
                f"The position points to clause {target}, which is not another clause.",
                where=f"include[{index}].position",
            )
    return Scene(include, exclude, str(source.get("tag") or ""))


def check_scene(scene: Scene, detections: Sequence[Detection]) -> SceneVerdict:
    """Compare the objects detected in an image with a scene, by the rules of this module.

    Args:
        scene: The expected objects.
        detections: The detected objects. Of those with equal scores, the earlier one ranks higher.
    """
    ordered = sorted(detections, key=lambda thing: -thing.score)
    groups = _grouped(scene, ordered)
    faults: list[str] = []
    count = not [*_count_faults(scene, ordered, groups, faults)]
    wants_colour = any(clause.colour for clause in scene.include)
    colour = not [*_colour_faults(scene, groups, faults)] if wants_colour else None
    wants_position = any(clause.position for clause in scene.include)
    position = not [*_position_faults(scene, groups, faults)] if wants_position else None
    is_correct = count and colour is not False and position is not False
    summary = f"Found {_counted_things(ordered)}."
    return SceneVerdict(count, colour, position, is_correct, " ".join([*faults, summary]))


def check_image(scene: Scene, image: Any, detector: Detector) -> SceneVerdict:
    """Detect a scene's objects in an image, and compare them with the scene.

    Raises:
        DataError: if the image cannot be read.
        PlanError: if the scene names a class or colour that the detector does not know. (Such objects would otherwise
            count as absent.)
    """
    colours = [clause.colour for clause in (*scene.include, *scene.exclude) if clause.colour]
    unknown = unknown_names(colours, detector.colours)
    if unknown:
        raise PlanError(
            f"The detector does not name the colour {unknown[0]!r}.",
            where="scene",
            hint=did_you_mean(unknown[0], detector.colours) or f"It names {', '.join(detector.colours)}.",
        )
    detections = detector.detect(image, scene.labels, is_counting=scene.tag == "counting")
    return check_scene(scene, detections)


def unknown_names(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return the names that are not among the known ones, regardless of case."""
    folded = {_folded(name) for name in known}
    return [name for name in names if _folded(name) not in folded]


def relations(first: Box, second: Box) -> set[Relation]:
    """Return the relations of the first box to the second: none, one or two of GenEval's.

    Boxes are ``(left, top, right, bottom)``. The offset between the centres is shortened along each axis by a tenth of
    the boxes' summed size along it. A relation holds if the shortened offset, divided by the length of the full offset,
    exceeds one half.
    """
    x, y = (_shortened(first, second, axis) for axis in (0, 1))
    if max(abs(x), abs(y)) < _NO_OFFSET:
        return set()
    length = math.hypot(_offset(first, second, 0), _offset(first, second, 1))
    holds: dict[Relation, bool] = {
        "left of": x < -_MOSTLY * length,
        "right of": x > _MOSTLY * length,
        "above": y < -_MOSTLY * length,
        "below": y > _MOSTLY * length,
    }
    return {relation for relation, is_true in holds.items() if is_true}


def same_colour(first: str | None, second: str | None) -> bool:
    """Check whether two names mean the same colour."""
    return first is not None and second is not None and _folded(first) == _folded(second)


def _grouped(scene: Scene, ordered: Sequence[Detection]) -> list[list[Detection]]:
    """Return the examined detections for each clause of ``include``."""
    labels = [_folded(clause.label) for clause in scene.include]
    used: set[int] = set()
    groups: list[list[Detection]] = []
    for clause, label in zip(scene.include, labels, strict=True):
        positions = [position for position, thing in enumerate(ordered) if _folded(thing.label) == label]
        if labels.count(label) > 1:
            positions = [position for position in positions if position not in used]
            positions.sort(key=lambda position: clause.colour is not None and not _has(ordered[position], clause))
        chosen = positions[: clause.count]
        used.update(chosen)
        groups.append([ordered[position] for position in chosen])
    return groups


def _count_faults(
    scene: Scene, ordered: Sequence[Detection], groups: Sequence[Sequence[Detection]], faults: list[str]
) -> Iterator[Clause]:
    for clause, group in zip(scene.include, groups, strict=True):
        if len(group) < clause.count:
            faults.append(f"Expected {clause.count} × {clause.label}, found {len(group)}.")
            yield clause
    for clause in scene.exclude:
        same = [thing for thing in ordered if _folded(thing.label) == _folded(clause.label)]
        n = sum(clause.colour is None or _has(thing, clause) for thing in same)
        if n >= clause.count:
            named = f"{clause.colour} {clause.label}" if clause.colour else clause.label
            faults.append(f"Expected fewer than {clause.count} × {named}, found {n}.")
            yield clause


def _colour_faults(scene: Scene, groups: Sequence[Sequence[Detection]], faults: list[str]) -> Iterator[Clause]:
    for clause, group in zip(scene.include, groups, strict=True):
        if clause.colour and not (group and all(_has(thing, clause) for thing in group)):
            seen = " and ".join(thing.colour or "unknown" for thing in group) or "none"
            faults.append(f"Expected {clause.label} in {clause.colour}, found {seen}.")
            yield clause


def _position_faults(scene: Scene, groups: Sequence[Sequence[Detection]], faults: list[str]) -> Iterator[Clause]:
    for clause, group in zip(scene.include, groups, strict=True):
        if clause.position is None:
            continue
        relation, target = clause.position
        pairs = [(thing, other) for thing in group for other in groups[target]]
        wrong = [sorted(relations(*boxes)) for boxes in _boxes(pairs) if relation not in relations(*boxes)]
        if wrong or not pairs:
            seen = " and ".join(wrong[0]) if wrong and wrong[0] else "neither side" if wrong else "nothing to compare"
            faults.append(f"Expected {clause.label} {relation} {scene.include[target].label}, found {seen}.")
            yield clause


def _boxes(pairs: Sequence[tuple[Detection, Detection]]) -> list[tuple[Box, Box]]:
    return [(thing.box, other.box) for thing, other in pairs]


def _offset(first: Box, second: Box, axis: int) -> float:
    return (first[axis] + first[axis + 2] - second[axis] - second[axis + 2]) / 2


def _shortened(first: Box, second: Box, axis: int) -> float:
    offset = _offset(first, second, axis)
    sizes = abs(first[axis + 2] - first[axis]) + abs(second[axis + 2] - second[axis])
    return math.copysign(max(abs(offset) - POSITION_OFFSET * sizes, 0.0), offset)


def _has(thing: Detection, clause: Clause) -> bool:
    return same_colour(thing.colour, clause.colour)


def _folded(name: str) -> str:
    folded = " ".join(name.lower().split())
    return "gray" if folded == "grey" else folded


def _counted_things(things: Sequence[Detection]) -> str:
    names = [f"{thing.colour} {thing.label}" if thing.colour else thing.label for thing in things]
    counted = {name: names.count(name) for name in sorted(names)}
    return ", ".join(f"{n} × {name}" for name, n in counted.items()) or "nothing"


def _clauses(source: Mapping[str, Any], name: str) -> Iterator[Clause]:
    items = source.get(name) or ()
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        raise DataError(f"{name!r} of a scene is a list of clauses, not {type(items).__name__}.", where=name)
    for index, item in enumerate(items):
        yield _clause(item, f"{name}[{index}]")


def _clause(item: Any, where: str) -> Clause:
    if not isinstance(item, Mapping):
        raise DataError(f"A clause of a scene is an object, not {type(item).__name__}.", where=where)
    _check_names(item, ("class", "count", "color", "position"), where)
    label = item.get("class")
    count = item.get("count", 1)
    colour = item.get("color")
    if not isinstance(label, str) or not label.strip():
        raise DataError(f"The class of a clause is a name, not {label!r}.", where=f"{where}.class")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise DataError(f"The count of a clause is a whole number from 1 on, not {count!r}.", where=f"{where}.count")
    if colour is not None and not isinstance(colour, str):
        raise DataError(f"The color of a clause is a name, not {colour!r}.", where=f"{where}.color")
    return Clause(label, count, colour or None, _position(item.get("position"), f"{where}.position"))


def _position(value: Any, where: str) -> tuple[Relation, int] | None:
    if value is None:
        return None
    pair = list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else []
    if len(pair) != 2 or not isinstance(pair[1], int) or isinstance(pair[1], bool):
        raise DataError(f"A position is [relation, place of a clause], not {value!r}.", where=where)
    for relation in _RELATIONS:
        if relation == pair[0]:
            return relation, pair[1]
    hint = did_you_mean(str(pair[0]), _RELATIONS) or f"Known: {', '.join(_RELATIONS)}."
    raise DataError(f"There is no relation {pair[0]!r}.", where=where, hint=hint)


def _check_names(item: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in item:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"Known: {', '.join(known)}."
            raise DataError(f"A scene has no field {name!r}.", where=where, hint=hint)
