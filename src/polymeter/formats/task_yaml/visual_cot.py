"""``generate_visual_cot``: a drawing first, then an answer that looks at it.

The prompt holds both: ``[GEN_PROMPT]…[/GEN_PROMPT]`` says what to draw, ``[QUESTION]…[/QUESTION]`` what to answer. A
model that can draw and write is asked twice. A wrapper that runs both stages itself gets the prompt as it is. Any other
model gets the question alone, with the sample's own media: it could not follow the first part.
"""

from __future__ import annotations

import re

from polymeter.core.errors import ScoreError
from polymeter.core.model import ModelTraits
from polymeter.core.parts import Image
from polymeter.core.request import GenerateImage, Request
from polymeter.core.task import Rollout, Sample
from polymeter.formats.task_yaml.rounds import Asking, SteppedTask

_DRAW = re.compile(r"\[GEN_PROMPT\](.*?)\[/GEN_PROMPT\]", re.DOTALL)
_ANSWER = re.compile(r"\[QUESTION\](.*?)\[/QUESTION\]", re.DOTALL)


def split_stages(text: str) -> tuple[str, str] | None:
    """What to draw and what to answer; ``None`` where a prompt does not have both."""
    draw, answer = _DRAW.search(text), _ANSWER.search(text)
    return (draw.group(1).strip(), answer.group(1).strip()) if draw and answer else None


def can_draw(traits: ModelTraits) -> bool:
    """Whether a model is asked for the drawing: it is known to draw, and does not run the stages itself."""
    return traits.requests.get("generate_image") is True and not traits.drives_stages


class VisualCotTask(SteppedTask):
    """A drawing, then an answer."""

    def bind_stages(self, traits: ModelTraits) -> VisualCotTask:
        """Say who asks for what; called once, by ``compile_task``."""
        self._draws = can_draw(traits)
        self._is_whole = traits.drives_stages
        return self

    def _one(self, sample: Sample, repeat: int) -> Asking:
        plan, text = self._generation, self.prompt.text(sample)
        origin = self._origin(sample, plan.raw, "visual_cot")
        ask = plan.with_seed(self._seed(sample, repeat, 1 if self._draws else 0))
        stages = None if self._is_whole else split_stages(text)
        if stages is None:
            response = yield Request(self.prompt.of_text(sample, text), ask, origin)
            return response.text
        draw, question = stages
        visuals = self.prompt.visuals(sample)
        if self._draws:
            drawing = GenerateImage(seed=self._seed(sample, repeat, 0))
            response = yield Request(self.prompt.of_parts(visuals, draw), drawing, origin)
            images = [image for output in response.outputs for image in output.images]
            if not images:
                raise ScoreError(f"The model drew nothing for sample {sample.id} of task {self.spec.name!r}.")
            visuals = (*visuals, Image(images[0]))
        response = yield Request(self.prompt.of_parts(visuals, question), ask, origin)
        return response.text

    def _answers(self, played: Rollout) -> list[str]:
        texts = super()._answers(played)
        return [text for text in texts if text or not self._draws]
