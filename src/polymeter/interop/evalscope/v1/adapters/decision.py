"""``DecisionAdapter``: single decisions, each with a probability for every option, from services made for that.

Its records become samples, and its settings are checked; asking is refused, because a text is no probability.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.constants import EvalType
from polymeter.interop.evalscope.v1.registries import get_aggregation
from polymeter.interop.evalscope.v1.scoring.metric_base import MetricUnavailableError
from polymeter.interop.evalscope.v1.types.messages import ChatMessageUser
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState

DECISION_EVAL_TYPES = frozenset({EvalType.SYSTEMONE_API, EvalType.AUTOTRUST_API})
DecisionKind = Literal["choice", "noul", "score"]
_YES, _NO = ("yes", "true"), ("no", "false")
_MOST_OPTIONS, _MOST_LEVELS = 255, 10


class DecisionInput(BaseModel):
    """One decision, without its right answer.

    Attributes:
        kind: ``choice`` among named options; ``noul``: yes or no; ``score`` on a scale.
        state: What is decided about.
        instructions: What is decided.
        criteria: The options by name; or what yes and no mean; or the levels in order.
        answer_prefix: Put before the answer.

    Raises:
        ValueError: if the criteria do not fit the kind.
    """

    model_config = ConfigDict(extra="forbid")

    kind: DecisionKind
    state: JsonValue
    instructions: str = Field(min_length=1)
    criteria: dict[str, str] | list[str] | None = None
    answer_prefix: Literal["ANSWER: ", "答案："] = "ANSWER: "

    @model_validator(mode="after")
    def _check(self) -> DecisionInput:
        own = self.criteria
        if self.kind == "choice":
            options = own if isinstance(own, dict) else {}
            is_named = all(name.strip() and text.strip() for name, text in options.items())
            if not 1 < len(options) <= _MOST_OPTIONS or not is_named:
                raise ValueError(f"a choice needs 2 to {_MOST_OPTIONS} options with names and texts")
        elif self.kind == "score":
            if not isinstance(own, list) or not 1 < len(own) <= _MOST_LEVELS or not all(level.strip() for level in own):
                raise ValueError(f"a score needs 2 to {_MOST_LEVELS} levels in order")
        elif own is not None and (not isinstance(own, dict) or own.keys() - {"true", "false"}):
            raise ValueError("yes or no has criteria for 'true' and 'false' alone")
        return self

    @property
    def labels(self) -> list[str]:
        """The answers that there are."""
        if self.kind == "noul":
            return ["no", "yes"]
        own = self.criteria or []
        return list(own) if isinstance(own, dict) else [str(level) for level in range(len(own))]


class DecisionAdapter(DefaultDataAdapter):
    """A benchmark of decisions.

    Attributes:
        doc_eval_type: The service for which its documentation is made.
        probability_sum_tolerance: How far probabilities may add up to another number than 1.
        normalization_threshold: From where on they are scaled.
        noul_use_argmax: Whether the likelier of yes and no is the answer, without a threshold.
    """

    doc_eval_type: ClassVar[str] = "systemone_api"
    probability_sum_tolerance: float | None = None
    normalization_threshold: float = 0.0
    noul_use_argmax: bool = False

    def load_dataset(self) -> Any:
        """Load the data.

        Raises:
            ValueError: if a model is to be asked that gives texts.
        """
        if self._task_config is not None:
            self.validate_choice_config()
        return super().load_dataset()

    def validate_choice_config(self) -> None:
        """Refuse models that give texts.

        Raises:
            ValueError: for each of them, which are all that Polymeter can ask.
        """
        if self.eval_type not in DECISION_EVAL_TYPES:
            raise ValueError(
                f"Benchmark {self.name!r} needs a service that gives a probability for every option (systemone_api or "
                "autotrust_api), and Polymeter asks models for texts."
            )

    def _on_inference_start(self, model: Any, sample: Sample) -> None:
        self.validate_choice_config()

    def record_to_sample(self, record: Mapping[str, Any]) -> Sample:
        """Return the sample of a record.

        Raises:
            ValueError: if its right answer is none of the answers.
        """
        question = record["question"]
        request = DecisionInput(
            kind=question["type"],
            state=record["state"],
            instructions=question["instructions"],
            criteria=question.get("criteria"),
        )
        gold = _gold(record, request)
        text = json.dumps({"state": request.state, "question": question}, ensure_ascii=False)
        kept = ("family", "tier", "language")
        return Sample(
            input=[ChatMessageUser(content=text, internal={"systemone": request.model_dump()})],
            target=str(gold),
            metadata={
                "source_id": record.get("id"),
                "decision_gold": gold,
                "decision_kind": request.kind,
                "source_group": record.get("group"),
                **{name: record.get(name, "") for name in kept},
                "continuous": record.get("continuous", False),
                "decision_labels": request.labels,
                "fixed_classes": record.get("fixed_classes", False),
            },
        )

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Refuse to score a text.

        Raises:
            MetricUnavailableError: always, since no model here gives probabilities.
        """
        raise MetricUnavailableError(f"Benchmark {self.name!r} scores probabilities, and a text holds none.")

    def aggregate_scores(self, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Compute the numbers of decisions."""
        return list(get_aggregation("decision")()(sample_scores))


def _gold(record: Mapping[str, Any], request: DecisionInput) -> Any:
    gold = record["expected"]
    if request.kind == "noul":
        word = str(gold).lower()
        if word not in (*_YES, *_NO):
            raise ValueError(f"The right answer is yes or no, and record {record.get('id')!r} has {gold!r}.")
        gold = "yes" if word in _YES else "no"
    if not record.get("continuous"):
        if str(gold) not in request.labels:
            raise ValueError(f"The right answer of record {record.get('id')!r} is none of its answers: {gold!r}.")
    elif request.kind != "score" or not 0 <= float(gold) <= len(request.labels) - 1:
        raise ValueError(f"The right answer of record {record.get('id')!r} is not on its scale: {gold!r}.")
    return gold
