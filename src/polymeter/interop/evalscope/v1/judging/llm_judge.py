"""``LLMJudge`` of 1.x: the model in the run's role *judge*, asked with messages. Reading its replies is the contracts'.

The two prompts are EvalScope 1.14.1's (``evalscope/metrics/judge/llm_judge.py``), unchanged:

    Copyright (c) Alibaba, Inc. and its affiliates. Licensed under the Apache License, Version 2.0; you may obtain a
    copy of the License at http://www.apache.org/licenses/LICENSE-2.0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter import judge
from polymeter.core.guest_context import current_role_client, guest_context
from polymeter.core.request import PROMPT_VERSION, Origin, Request
from polymeter.interop.evalscope.v1.constants import JudgeScoreType
from polymeter.interop.evalscope.v1.types.messages import ChatMessage
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.judge.reply import whole_reply_of

DEFAULT_PROMPT_TEMPLATE = """Your job is to look at a question, a gold target, and a predicted answer, and decide \
whether the predicted answer is correct or incorrect.

[Question]
{question}

[Reference Answer]
{gold}

[Predicted Answer]
{pred}

Evaluate the model's answer based on correctness compared to the reference answer.
Grade the predicted answer of this new question as one of:
A: CORRECT
B: INCORRECT"""
DEFAULT_NUMERIC_SCORE_TEMPLATE = """Please act as an impartial judge and evaluate the quality of the response provided \
by an AI assistant to the user question displayed below. Your evaluation should consider factors such as the \
helpfulness, relevance, accuracy, depth, creativity, and level of detail of the response.
Begin your evaluation by providing a short explanation. Be as objective as possible.
Rate the response on a scale of 0 (worst) to 1 (best).

[Question]
{question}

[Response]
{pred}"""
_TEMPLATES = {
    JudgeScoreType.PATTERN: DEFAULT_PROMPT_TEMPLATE,
    JudgeScoreType.NUMERIC: DEFAULT_NUMERIC_SCORE_TEMPLATE,
}
_GENERATION = {"temperature": 0.0, "max_tokens": 4096}
_OF_TRANSPORT = ("batch_size", "retries", "retry_interval", "stream", "timeout")
"""Settings of requests that are the run's business."""


class LLMJudge(judge.LLMJudge):
    """A judge that answers messages. The run's ``--judge`` decides which model it is: an address, a key or a kind of
    model given here has no effect and is not stored.

    Args:
        api_key: Ignored.
        api_url: Ignored.
        model_id: The judge's name in reports.
        eval_type: Ignored.
        model_args: Ignored.
        system_prompt: Put before the question; default: the environment variable ``JUDGE_SYSTEM_PROMPT``, else none.
        prompt_template: With ``{question}``, ``{gold}`` and ``{pred}``; default: the environment variable
            ``JUDGE_PROMPT_TEMPLATE``, else that of the kind.
        generation_config: Generation settings; default: temperature 0 and 4,096 tokens.
        score_mapping: The score of each grade; default: A is 1 and B is 0.
        score_type: ``pattern``: the verdict is a grade; ``numeric``: a number from 0 to 1.

    Raises:
        PlanError: if ``score_type`` is unknown.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (the signature that benchmarks are written against)
        self,
        api_key: str | None = None,
        api_url: str | None = None,
        model_id: str | None = None,
        eval_type: str | None = None,
        model_args: Mapping[str, Any] | None = None,
        system_prompt: str | None = None,
        prompt_template: str | None = None,
        generation_config: Mapping[str, Any] | None = None,
        score_mapping: Mapping[str, float] | None = None,
        score_type: str = JudgeScoreType.PATTERN,
    ) -> None:
        settings = {key: value for key, value in (generation_config or _GENERATION).items() if value is not None}
        if "stop_seqs" in settings:
            settings["stop"] = settings.pop("stop_seqs")
        super().__init__(
            system_prompt=system_prompt,
            prompt_template=prompt_template or os.environ.get("JUDGE_PROMPT_TEMPLATE") or _TEMPLATES.get(score_type),
            generation_config={key: value for key, value in settings.items() if key not in _OF_TRANSPORT},
            score_mapping=score_mapping,
            score_type=score_type,  # type: ignore[arg-type]  # checked there
        )
        self.model_id = model_id or judge.ROLE
        self.judge_id: str | None = None

    def generate(self, messages: Sequence[ChatMessage], repeat: int = 0) -> ModelOutput:
        """Return the judge's reply.

        Args:
            messages: What it is asked.
            repeat: Number of this request among equal ones.

        Raises:
            UnscoredError: if the judge fails, or its reply ended inside its reasoning.
            PlanError: if the run has no judge.
        """
        from polymeter.interop.evalscope.v1.tasks.conversion import model_output, request_messages

        parameters = replace(self._parameters(), repeat=repeat)
        origin = Origin("", "", metadata={PROMPT_VERSION: self.prompt_version})
        response = current_role_client()(judge.ROLE, Request(request_messages(messages), parameters, origin))
        if response.error is not None or not guest_context().parity.on("judge-reading"):
            whole_reply_of(response)
        return model_output(response, self.model_id)

    def _shown(self, answer: str) -> str:
        return answer
