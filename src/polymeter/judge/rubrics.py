"""Judging pictures: a weighted rubric, a checklist and a scale.

Each asks the run's judge one question about the prompt and the pictures, which the judge sees at full size, and reads
the verdict strictly. A judge that cannot be asked, or whose answer is no verdict, leaves the sample unscored.

The functions may be called wherever a sample is being scored: in ``evaluate_sample`` of a dataset class, in a hook, in
an adapter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, create_model

from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import current_role_client, refuse_verdict
from polymeter.core.parts import Image, Part, Text
from polymeter.core.request import PROMPT_VERSION, Generate, Message, Origin, Request
from polymeter.judge.llm_judge import ROLE
from polymeter.judge.prompts import prompt_version
from polymeter.judge.rubric_prompts import CHECKLIST_PROMPT, RUBRIC_PROMPT, SCALE_PROMPT, filled
from polymeter.judge.verdict import Contract, read_rating

_MAX_TOKENS = 2048
_SCALE = (0.0, 10.0)
_INPUT, _PICTURE = "The input picture", "The picture to judge"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric.

    Attributes:
        name: Its name, a word.
        description: What is looked at, and what each level means.
        weight: Its share in the score.
        most: The best level; the worst is 0.
    """

    name: str
    description: str
    weight: float
    most: int = 2


WISE_CRITERIA = (
    Criterion(
        "consistency",
        "Does the picture show what the prompt means, including what has to be known or worked out to draw it? "
        "0: it misses or contradicts the meaning; 1: a part of it is there; 2: all of it is.",
        0.7,
    ),
    Criterion(
        "realism",
        "Do shapes, materials, light and space look as they would? "
        "0: plainly impossible or broken; 1: believable with visible faults; 2: believable throughout.",
        0.2,
    ),
    Criterion(
        "aesthetic",
        "Are composition, colours and finish pleasing? 0: poor; 1: ordinary; 2: striking.",
        0.1,
    ),
)
"""The three criteria of WISE (Niu et al. 2025, "WISE: A World Knowledge-Informed Semantic Evaluation"), with its levels
and weights, in our words.
"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge made of one or more pictures.

    Attributes:
        score: From 0 to 1; of a scale, from 0 to 10.
        parts: What it is made of: the levels of a rubric's criteria, or 1 and 0 for the items of a checklist.
        explanation: The judge's reasons.
        passed: Of a checklist: whether every item holds.
    """

    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    passed: bool | None = None


def weighted_rubric(
    prompt: str,
    images: Any,
    criteria: Sequence[Criterion] = WISE_CRITERIA,
    *,
    input_images: Any = (),
    knowledge: str = "",
    template: str = RUBRIC_PROMPT,
) -> Judgement:
    """Levels of several criteria, weighted: ``Σ wᵢ·levelᵢ / Σ wᵢ·mostᵢ``, from 0 to 1.

    With the criteria of WISE that is ``(0.7 · consistency + 0.2 · realism + 0.1 · aesthetic) / 2``.

    Args:
        prompt: What the pictures were made from.
        images: A picture or several: Pillow images, paths, bytes or URLs. Several are judged together.
        criteria: The lines of the rubric.
        input_images: For editing: what the model was given.
        knowledge: What the judge should know about the prompt: the thing that is meant, a reference answer.
        template: The question, with ``{prompt}``, ``{knowledge}``, ``{criteria}`` and ``{form}``.

    Raises:
        PlanError: There are no criteria or pictures, weights or levels make no sense, or the run has no judge.
        UnscoredError: The judge could not be asked, or its answer is no verdict.
    """
    _check_criteria(criteria)
    lines = "\n".join(f"- {item.name} (0 to {item.most}): {item.description}" for item in criteria)
    fields: dict[str, Any] = {item.name: (int, Field(ge=0, le=item.most)) for item in criteria}
    contract = Contract(create_model("Rubric", reasons=(str, ...), **fields))
    text = filled(template, prompt=prompt, knowledge=knowledge or "None.", criteria=lines, form=contract.instruction())
    said = _verdict(contract, _asked(text, template, images, input_images))
    levels = {item.name: float(getattr(said, item.name)) for item in criteria}
    most = sum(item.weight * item.most for item in criteria)
    score = sum(item.weight * levels[item.name] for item in criteria) / most
    return Judgement(score, levels, said.model_dump()["reasons"])


def checklist(
    prompt: str,
    images: Any,
    items: Sequence[str],
    *,
    input_images: Any = (),
    template: str = CHECKLIST_PROMPT,
) -> Judgement:
    """Yes or no for each of several statements: the share that holds, and whether all do.

    Args:
        prompt: What the pictures were made from.
        images: A picture or several, which are judged together.
        items: Statements or questions about the picture that a yes makes right.
        input_images: For editing: what the model was given.
        template: The question, with ``{prompt}``, ``{items}`` and ``{form}``.

    Raises:
        PlanError: There are no items or pictures, or the run has no judge.
        UnscoredError: The judge could not be asked, or did not answer every item with yes or no.
    """
    if not items:
        raise PlanError("A checklist needs items.", where="checklist")
    numbered = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    contract = Contract(_Answers)
    text = filled(template, prompt=prompt, items=numbered, form=contract.instruction())
    said = _verdict(contract, _asked(text, template, images, input_images))
    if [answer.item for answer in said.answers] != [*range(1, len(items) + 1)]:
        given = ", ".join(str(answer.item) for answer in said.answers) or "none"
        raise _refused(f"The judge's answer does not go through items 1 to {len(items)} in order: {given}.")
    is_so = [answer.holds for answer in said.answers]
    reasons = " ".join(f"{answer.item}: {'yes' if answer.holds else 'no'}, {answer.why}" for answer in said.answers)
    parts = {item: float(holds) for item, holds in zip(items, is_so, strict=True)}
    return Judgement(sum(is_so) / len(is_so), parts, reasons, passed=all(is_so))


def scale(
    prompt: str,
    images: Any,
    criteria: str = "How well does the picture show what the prompt asks for, and how well is it made?",
    *,
    input_images: Any = (),
    bounds: tuple[float, float] = _SCALE,
    template: str = SCALE_PROMPT,
) -> Judgement:
    """One number, from 0 to 10 unless other bounds are given.

    Args:
        prompt: What the pictures were made from.
        images: A picture or several, which are judged together.
        criteria: What the number says.
        input_images: For editing: what the model was given.
        bounds: The worst and the best number.
        template: The question, with ``{prompt}``, ``{criteria}``, ``{least}``, ``{middle}`` and ``{most}``.

    Raises:
        PlanError: There are no pictures, or the run has no judge.
        UnscoredError: The judge could not be asked, or gave no number within the bounds.
    """
    least, most = bounds
    numbers = {"least": f"{least:g}", "middle": f"{(least + most) / 2:g}", "most": f"{most:g}"}
    text = filled(template, prompt=prompt, criteria=criteria, **numbers)
    answer = _asked(text, template, images, input_images)
    try:
        score = read_rating(answer, bounds=bounds)
    except UnscoredError as error:
        refuse_verdict(str(error))
        raise
    return Judgement(score, {}, answer)


class _Answer(BaseModel):
    item: int
    holds: bool
    why: str


class _Answers(BaseModel):
    answers: list[_Answer]


def _asked(text: str, template: str, images: Any, input_images: Any) -> str:
    """What the judge says.

    Raises:
        PlanError: There is no picture, or no judge.
        UnscoredError: The judge could not be asked.
    """
    shown = _listed(images)
    if not shown:
        raise PlanError("There is no picture to judge.", where="images")
    parts: list[Part] = [*_named(_INPUT, _listed(input_images)), *_named(_PICTURE, shown), Text(text)]
    origin = Origin("", "", metadata={PROMPT_VERSION: prompt_version(template)})
    request = Request((Message("user", tuple(parts)),), Generate(_MAX_TOKENS, 0.0), origin)
    response = current_role_client()(ROLE, request)
    if response.error is not None:
        raise UnscoredError(f"The judge could not be asked: {response.error.message}")
    return (response.outputs[0].text if response.outputs else None) or ""


def _verdict(contract: Contract[Any], answer: str) -> Any:
    try:
        return contract.read(answer)
    except UnscoredError as error:
        refuse_verdict(str(error))
        raise


def _refused(why: str) -> UnscoredError:
    refuse_verdict(why)
    return UnscoredError(why, hint="Look at the judge and its prompt.")


def _listed(images: Any) -> list[Image]:
    if images is None:
        return []
    several = images if isinstance(images, (list, tuple)) else [images]
    missing = [number for number, image in enumerate(several, 1) if image is None]
    if missing:
        raise PlanError(f"Picture {missing[0]} of {len(several)} is None: there is nothing to judge.", where="images")
    return [image if isinstance(image, Image) else Image(image) for image in several]


def _named(name: str, images: Sequence[Image]) -> list[Part]:
    """Each picture behind its name, numbered where there are several."""
    parts: list[Part] = []
    for number, image in enumerate(images, 1):
        parts += [Text(f"{name}{f' ({number} of {len(images)})' if len(images) > 1 else ''}:\n"), image]
    return parts


def _check_criteria(criteria: Sequence[Criterion]) -> None:
    names = [item.name for item in criteria]
    if not criteria or len(set(names)) < len(names) or "reasons" in names:
        raise PlanError(
            f"A rubric needs criteria of different names, none of them 'reasons': {json.dumps(names)}.",
            where="criteria",
        )
    for item in criteria:
        if (
            not item.name.isidentifier()
            or item.name.startswith("_")
            or item.most < 1
            or not 0 <= item.weight < math.inf
        ):
            raise PlanError(
                f"The criterion {item.name!r} needs a name of one word, a best level from 1 on and a weight from 0 on.",
                where="criteria",
            )
    if not sum(item.weight for item in criteria):
        raise PlanError("All criteria of the rubric weigh nothing.", where="criteria")
