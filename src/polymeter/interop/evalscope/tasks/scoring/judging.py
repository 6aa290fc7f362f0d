"""``LLMJudge`` as adapters import it: ours, and with parity EvalScope's default prompts and its reading of verdicts.

The two prompts are EvalScope 0.17.0's (``evalscope/metrics/llm_judge.py``), unchanged:

    Copyright (c) Alibaba, Inc. and its affiliates. Licensed under the Apache License, Version 2.0; you may obtain a
    copy of the License at http://www.apache.org/licenses/LICENSE-2.0.
"""

from __future__ import annotations

import re

from polymeter import judge
from polymeter.core.guest_context import guest_context
from polymeter.core.request import Response

GRADE_PROMPT_THERE = """Your job is to look at a question, a gold target, and a predicted answer, and return a letter \
"A" or "B" to indicate whether the predicted answer is correct or incorrect.

[Question]
{question}

[Reference Answer]
{gold}

[Predicted Answer]
{pred}

Evaluate the model's answer based on correctness compared to the reference answer.
Grade the predicted answer of this new question as one of:
A: CORRECT
B: INCORRECT

Just return the letters "A" or "B", with no text around it.
"""
RATING_PROMPT_THERE = """Please act as an impartial judge and evaluate the quality of the response provided by an AI \
assistant to the user question displayed below. Your evaluation should consider factors such as the helpfulness, \
relevance, accuracy, depth, creativity, and level of detail of the response.
Begin your evaluation by providing a short explanation. Be as objective as possible.
After providing your explanation, you must rate the response on a scale of 0 (worst) to 1 (best) by strictly following \
this format: "[[rating]]", for example: "Rating: [[0.5]]"

[Question]
{question}

[Response]
{pred}
"""
_GRADE_THERE = r"(A|B)"
_RATING_THERE = r"\[\[(\d+(?:\.\d+)?)\]\]"


class LLMJudge(judge.LLMJudge):
    """Asks the run's judge and turns its answer into a score; see ``polymeter.judge.LLMJudge``.

    A benchmark may make it while it is loaded, before the run is known, so whose prompt and whose reading count is
    decided when it is used.
    """

    _has_default_prompt = False  # until the constructor knows

    @property
    def prompt_template(self) -> str:
        """The prompt, with fields in braces."""
        if self._has_default_prompt and guest_context().parity.on("judge-prompt"):
            return GRADE_PROMPT_THERE if self.score_type == "pattern" else RATING_PROMPT_THERE
        return self._own_template

    @prompt_template.setter
    def prompt_template(self, value: str) -> None:
        self._own_template = value

    def get_score(self, response: str | None) -> float:
        """The score that an answer of the judge stands for.

        Raises:
            UnscoredError: if the answer is not a verdict. The sample then has no score, even if the caller catches
                this. With parity, only a missing rating is not a verdict: EvalScope has no number for it.
        """
        if guest_context().parity.on("judge-reading"):
            score = self._read_as_there(response)
            if score is not None:
                return score
        return super().get_score(response)

    def _shown(self, answer: str) -> str:
        return answer if guest_context().parity.on("judge-prompt") else super()._shown(answer)

    def _said(self, response: Response) -> str:
        is_as_there = response.error is None and guest_context().parity.on("judge-reading")
        return (
            ((response.outputs[0].text if response.outputs else None) or "") if is_as_there else super()._said(response)
        )

    def _read_as_there(self, response: str | None) -> float | None:
        """EvalScope's reading: the first match anywhere, and 0 for a grade that is missing or unknown."""
        if response is None:
            return 0.0
        is_rating = self.score_type == "numeric"
        match = re.search(self.score_pattern or (_RATING_THERE if is_rating else _GRADE_THERE), response)
        if not is_rating:
            return float(self.score_mapping.get(match[0], 0.0)) if match else 0.0
        texts = (*match.groups(), match[0]) if match else ()
        return next((number for text in texts if (number := _float_in(text)) is not None), None)


def _float_in(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
