"""Judgement of images by a weighted rubric, a checklist or a scale.

Each asks the run's judge one question about the prompt and the images and reads the verdict strictly. The judge sees
the images at full size. If the judge fails, or its answer is not a verdict, the sample stays unscored.

You can call the functions while a sample is being scored: in ``evaluate_sample`` of a dataset class, in a hook, or in
an adapter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, create_model

from polymeter.core.content import Image, Part, Text
from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import current_role_client, refuse_verdict
from polymeter.core.request import PROMPT_VERSION, Generate, Message, Origin, Request
from polymeter.judge.llm_judge import ROLE
from polymeter.judge.prompts import CHECKLIST_PROMPT, RUBRIC_PROMPT, SCALE_PROMPT, fill, prompt_version
from polymeter.judge.reply import reply_of
from polymeter.judge.verdict import Contract, read_rating

_MAX_TOKENS = 2048
_SCALE = (0.0, 10.0)
# The judge reads these, and they are part of the request's fingerprint, so they keep their wording.
_INPUT_LABEL, _OUTPUT_LABEL = "The input picture", "The picture to judge"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric.

    Attributes:
        name: Its name, one word.
        description: The aspect that the judge examines, and the meaning of each level.
        weight: Its weight in the score.
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
and weights, in wording of ours.
"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict on one or more images.

    Attributes:
        score: From 0 to 1; for a scale, within its bounds.
        parts: The parts of the score: the levels of a rubric's criteria, or 1 and 0 for the items of a checklist.
        explanation: The judge's reasons.
        passed: For a checklist, whether every item holds.
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
    """Rate images by several weighted criteria: ``Σ wᵢ·levelᵢ / Σ wᵢ·mostᵢ``, from 0 to 1.

    With the criteria of WISE that is ``(0.7 · consistency + 0.2 · realism + 0.1 · aesthetic) / 2``.

    Args:
        prompt: The prompt that the images were generated from.
        images: One or more images: Pillow images, paths, bytes or URLs. Several are judged together.
        criteria: The criteria of the rubric.
        input_images: For editing: the model's input images.
        knowledge: Facts that help the judge understand the prompt, such as an allusion or a reference answer.
        template: The question, with ``{prompt}``, ``{knowledge}``, ``{criteria}`` and ``{form}``.

    Raises:
        PlanError: if there are no criteria or images, a criterion's name, weight or level is invalid, or the run has
            no judge.
        UnscoredError: if the judge fails, or its answer is not a verdict.
    """
    _check_criteria(criteria)
    lines = "\n".join(f"- {item.name} (0 to {item.most}): {item.description}" for item in criteria)
    fields: dict[str, Any] = {item.name: (int, Field(ge=0, le=item.most)) for item in criteria}
    contract = Contract(create_model("Rubric", reasons=(str, ...), **fields))
    form = contract.instruction()
    text = fill(template, {"prompt": prompt, "knowledge": knowledge or "None.", "criteria": lines, "form": form})
    verdict = _verdict_in(contract, _ask(text, template, images, input_images))
    levels = {item.name: float(getattr(verdict, item.name)) for item in criteria}
    most = sum(item.weight * item.most for item in criteria)
    score = sum(item.weight * levels[item.name] for item in criteria) / most
    return Judgement(score, levels, verdict.model_dump()["reasons"])


def checklist(
    prompt: str,
    images: Any,
    items: Sequence[str],
    *,
    input_images: Any = (),
    template: str = CHECKLIST_PROMPT,
) -> Judgement:
    """Ask for yes or no on each of several statements: the share that holds, and whether all hold.

    Args:
        prompt: The prompt that the images were generated from.
        images: One or more images, as for ``weighted_rubric``; several are judged together.
        items: Statements or yes/no questions about the image; *yes* is the good answer to each.
        input_images: For editing: the model's input images.
        template: The question, with ``{prompt}``, ``{items}`` and ``{form}``.

    Raises:
        PlanError: if there are no items or images, or the run has no judge.
        UnscoredError: if the judge fails, or does not answer every item with yes or no.
    """
    if not items:
        raise PlanError("A checklist needs items.", where="checklist")
    numbered = "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))
    contract = Contract(_RubricAnswers)
    text = fill(template, {"prompt": prompt, "items": numbered, "form": contract.instruction()})
    answers = _verdict_in(contract, _ask(text, template, images, input_images)).answers
    if [answer.item for answer in answers] != [*range(1, len(items) + 1)]:
        numbers = ", ".join(str(answer.item) for answer in answers) or "none"
        raise _refused(f"The judge's answer does not go through items 1 to {len(items)} in order: {numbers}.")
    holds = [answer.holds for answer in answers]
    reasons = " ".join(f"{answer.item}: {'yes' if answer.holds else 'no'}, {answer.why}" for answer in answers)
    parts = {item: float(is_true) for item, is_true in zip(items, holds, strict=True)}
    return Judgement(sum(holds) / len(holds), parts, reasons, passed=all(holds))


def scale(
    prompt: str,
    images: Any,
    criteria: str = "How well does the picture show what the prompt asks for, and how well is it made?",
    *,
    input_images: Any = (),
    bounds: tuple[float, float] = _SCALE,
    template: str = SCALE_PROMPT,
) -> Judgement:
    """Rate images by one number, from 0 to 10 by default.

    Args:
        prompt: The prompt that the images were generated from.
        images: One or more images, as for ``weighted_rubric``; several are judged together.
        criteria: The meaning of the number.
        input_images: For editing: the model's input images.
        bounds: The lowest and the highest number.
        template: The question, with ``{prompt}``, ``{criteria}``, ``{least}``, ``{middle}`` and ``{most}``.

    Raises:
        PlanError: if there are no images, or the run has no judge.
        UnscoredError: if the judge fails, or gives no number within the bounds.
    """
    least, most = bounds
    numbers = {"least": f"{least:g}", "middle": f"{(least + most) / 2:g}", "most": f"{most:g}"}
    text = fill(template, {"prompt": prompt, "criteria": criteria, **numbers})
    answer = _ask(text, template, images, input_images)
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


class _RubricAnswers(BaseModel):
    answers: list[_Answer]


def _ask(text: str, template: str, images: Any, input_images: Any) -> str:
    """Return the judge's answer.

    Raises:
        PlanError: if there is no image, or the run has no judge.
        UnscoredError: if the judge fails, or its answer ended inside its reasoning.
    """
    outputs = _images_given(images)
    if not outputs:
        raise PlanError("There is no image to judge.", where="images")
    parts: list[Part] = [
        *_labelled(_INPUT_LABEL, _images_given(input_images)),
        *_labelled(_OUTPUT_LABEL, outputs),
        Text(text),
    ]
    origin = Origin("", "", metadata={PROMPT_VERSION: prompt_version(template)})
    request = Request((Message("user", tuple(parts)),), Generate(_MAX_TOKENS, 0.0), origin)
    return reply_of(current_role_client()(ROLE, request))


def _verdict_in(contract: Contract[Any], answer: str) -> Any:
    try:
        return contract.read(answer)
    except UnscoredError as error:
        refuse_verdict(str(error))
        raise


def _refused(reason: str) -> UnscoredError:
    refuse_verdict(reason)
    return UnscoredError(reason, hint="Look at the judge and its prompt.")


def _images_given(images: Any) -> list[Image]:
    if images is None:
        return []
    several = images if isinstance(images, (list, tuple)) else [images]
    missing = [number for number, image in enumerate(several, 1) if image is None]
    if missing:
        raise PlanError(f"Image {missing[0]} of {len(several)} is None: there is nothing to judge.", where="images")
    return [image if isinstance(image, Image) else Image(image) for image in several]


def _labelled(label: str, images: Sequence[Image]) -> list[Part]:
    """Return each image after its label, numbered if there are several."""
    parts: list[Part] = []
    for number, image in enumerate(images, 1):
        parts += [Text(f"{label}{f' ({number} of {len(images)})' if len(images) > 1 else ''}:\n"), image]
    return parts


def _check_criteria(criteria: Sequence[Criterion]) -> None:
    names = [item.name for item in criteria]
    if not criteria or len(set(names)) < len(names) or "reasons" in names:
        raise PlanError(
            f"A rubric needs criteria with distinct names, none of them 'reasons': {json.dumps(names)}.",
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
                f"The criterion {item.name!r} needs a one-word name, a best level of at least 1 and a weight of at"
                " least 0.",
                where="criteria",
            )
    if not sum(item.weight for item in criteria):
        raise PlanError("All criteria of the rubric have weight 0.", where="criteria")
