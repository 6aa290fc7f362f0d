"""``LLMJudgeMixin``: when an adapter's answers are judged, and how a judge's and a rule's scores are joined."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, Field, create_model

from polymeter.core.guest_context import guest_context, refuse_verdict
from polymeter.interop.evalscope.v1.constants import JudgeScoreType, JudgeStrategy, ScoreStatus, ScoringPolicy
from polymeter.interop.evalscope.v1.judging.definition import JudgeDefinition
from polymeter.interop.evalscope.v1.judging.executor import JudgeExecutor, JudgeExecutorConfig
from polymeter.interop.evalscope.v1.judging.llm_judge import LLMJudge
from polymeter.interop.evalscope.v1.judging.records import JudgeContext
from polymeter.interop.evalscope.v1.types.identities import canonicalize_producer_identity
from polymeter.interop.evalscope.v1.types.scores import Score
from polymeter.interop.evalscope.v1.types.state import TaskState

if TYPE_CHECKING:
    from polymeter.interop.evalscope.v1.registration import BenchmarkMeta

_LOG = logging.getLogger("polymeter")


class RatingVerdict(BaseModel):
    """The reply of a judge that rates without a reference."""

    reasoning: str = ""
    score: float = Field(ge=0.0, le=1.0)


class LLMJudgeMixin:
    """Judging for adapters.

    Attributes:
        scoring_policy: Whether rules and judges can score the benchmark, and which does unless a run says so.
        llm_judge_default: The earlier form of it.
        supports_position_swap: Whether its questions compare two answers.
        official_position_swap: Whether both placements are asked unless a run says so.
        judge_metric_name: The metric of the usual definition.
    """

    scoring_policy: ScoringPolicy = ScoringPolicy.RULE_DEFAULT
    llm_judge_default: ClassVar[bool | None] = None
    supports_position_swap: bool = False
    official_position_swap: bool = False
    judge_metric_name: str = "acc"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if own.get("llm_judge_default") is not None and "scoring_policy" not in own:
            cls.scoring_policy = ScoringPolicy.JUDGE_DEFAULT if own["llm_judge_default"] else ScoringPolicy.RULE_DEFAULT

    def __init__(self, benchmark_meta: BenchmarkMeta, task_config: Any = None) -> None:
        self._benchmark_meta = benchmark_meta
        self._task_config = task_config
        self._llm_judges: list[LLMJudge] | None = None
        self._judge_executor: JudgeExecutor | None = None
        super().__init__()

    @property
    def llm_judges(self) -> list[LLMJudge]:
        """The judge, or nothing if none is asked. Where a run has several, each scores the sample by itself, and the
        run joins their scores; so an adapter only ever sees one.
        """
        if self._llm_judges is None and self.use_llm_judge:
            self._llm_judges = self.init_llm_judges()
        return self._llm_judges or []

    @property
    def llm_judge(self) -> LLMJudge | None:
        """The judge."""
        return next(iter(self.llm_judges), None)

    @llm_judge.setter
    def llm_judge(self, value: LLMJudge | None) -> None:
        self._llm_judges = None if value is None else [value]
        self._judge_executor = None

    @property
    def judge_strategy(self) -> str:
        """The run's strategy: ``auto``, ``rule``, ``llm`` or ``llm_recall``."""
        return str(self._judge_config.strategy)

    @property
    def _judge_config(self) -> Any:
        if self._task_config is None:
            raise RuntimeError("An adapter without a TaskConfig has no judge.")
        return self._task_config.judge

    @property
    def use_llm_judge(self) -> bool:
        """True if a judge is asked."""
        strategy = self.judge_strategy
        if strategy == JudgeStrategy.AUTO:
            return self.scoring_policy.judge_by_default
        return strategy in (JudgeStrategy.LLM, JudgeStrategy.LLM_RECALL)

    def validate_judge_strategy(self) -> None:
        """Refuse a strategy that the benchmark cannot follow.

        Raises:
            ValueError: if rules are to score it, and it has none.
        """
        if self._task_config is None or self.scoring_policy.rule_supported:
            return
        strategy = self.judge_strategy
        if strategy in (JudgeStrategy.RULE, JudgeStrategy.LLM_RECALL):
            raise ValueError(
                f"Benchmark {self._benchmark_meta.name!r} has no rules, so the judge strategy {strategy!r} cannot "
                "score it. Use 'auto' or 'llm'."
            )

    def init_llm_judges(self) -> list[LLMJudge]:
        """Make the judge, with the settings of the first one that the run describes."""
        if self.judge_strategy == JudgeStrategy.RULE:
            return []
        config = self._judge_config
        first = next(iter(config.models or ()), None)
        own = {} if first is None else first.model_dump(include={"model_id", "generation_config"}, exclude_none=True)
        judge = LLMJudge(**own, **config.contract.model_dump(exclude_none=True))
        judge.judge_id = None if first is None else first.judge_id
        return [judge]

    @property
    def judge_executor(self) -> JudgeExecutor:
        """Asks the judge."""
        if self._judge_executor is None:
            config = self._judge_config
            self._judge_executor = JudgeExecutor(
                self.llm_judges,
                JudgeExecutorConfig(
                    repeats=config.repeats,
                    position_swap=self._resolved_position_swap(),
                    aggregation=config.aggregation,
                ),
            )
        return self._judge_executor

    def score_with_judge_contracts(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Have the judge score a sample.

        If its verdict is missing or unusable, the sample has no score, whatever the caller makes of that. With parity,
        the caller decides.
        """
        context = JudgeContext(
            task_state=task_state,
            original_prediction=original_prediction,
            filtered_prediction=filtered_prediction,
            reference=reference,
        )
        definition = self.judge_definition(context)
        if definition.immediate_score is not None:
            score = definition.immediate_score
            notes = {"judge_skipped": True, "judge_skip_reason": definition.skip_reason}
            return score.model_copy(update={"metadata": {**(score.metadata or {}), **notes}})
        review = self.judge_executor.execute(definition, context)
        if not review.status.is_usable and not guest_context().parity.on("judge-reading"):
            errors = [attempt.error for attempt in review.attempts if attempt.error]
            refuse_verdict("; ".join([str(review.error), *errors[-1:]]))
        metadata = {
            "source": "llm_judge",
            "judge_strategy": self.judge_strategy,
            "model": self._judge_id(),
            "non_official_position_swap": self._resolved_position_swap() != self.official_position_swap,
            **review.metadata,
        }
        return self.judge_executor.build_score(definition, review, context, metadata=metadata)

    def judge_definition(self, context: JudgeContext) -> JudgeDefinition:
        """Return what the judge is asked about a sample: one question with the usual prompt. Authors override it."""
        judge = self._primary_judge()
        prompt = judge.build_prompt(
            pred=context.original_prediction, gold=context.reference, question=context.task_state.input_text
        )
        name = self.judge_metric_name
        if judge.score_type == JudgeScoreType.NUMERIC:
            return JudgeDefinition.numeric(
                prompt=prompt, schema_model=RatingVerdict, metric_name=name, system_prompt=judge.system_prompt
            )
        return JudgeDefinition.labels(
            prompt=prompt,
            schema_model=_grade_model(tuple(sorted(judge.score_mapping))),
            scores={label: {name: score} for label, score in judge.score_mapping.items()},
            system_prompt=judge.system_prompt,
            main_score_name=name,
        )

    def fallback_to_rule_score(self, rule_based_score: Score, judge_score: Score) -> Score:
        """Return the rule's score, where the judge has none."""
        score = rule_based_score.model_copy(deep=True)
        is_usable = rule_based_score.status.is_usable and bool(rule_based_score.value)
        score.status = ScoreStatus.DEGRADED if is_usable else ScoreStatus.EXCLUDED
        score.metadata = {
            **(score.metadata or {}),
            **(judge_score.metadata or {}),
            "judge_unavailable": judge_score.status.value,
        }
        _note_judge(score, judge_score)
        return score

    def _resolved_position_swap(self) -> bool:
        wanted = self._judge_config.position_swap
        if wanted == "auto":
            return bool(self.official_position_swap)
        if wanted == "on" and not self.supports_position_swap:
            _LOG.warning("Benchmark %s compares no answers: position_swap changes nothing.", self._benchmark_meta.name)
        return bool(wanted == "on" and self.supports_position_swap)

    def _primary_judge(self) -> LLMJudge:
        judge = self.llm_judge
        if judge is None:
            raise RuntimeError("No judge is asked in this run.")
        return judge

    def _judge_id(self) -> str:
        judge = self._primary_judge()
        return str(judge.judge_id or judge.model_id)

    def _merge_scores(self, rule_based_score: Score, llm_score: Score) -> Score:
        """Return the better of a rule's and a judge's score; the rule's object is changed."""
        rule, judged = rule_based_score, llm_score
        lacks_main = rule.main_score_name is not None and rule.main_score_name not in rule.value
        is_rule_usable = rule.status.is_usable and bool(rule.value)
        if lacks_main or not is_rule_usable:
            judged = self._by_rule_names(rule, judged)
        if not is_rule_usable:
            merged = judged.model_copy(deep=True)
            merged.metadata = {**(rule.metadata or {}), **(judged.metadata or {})}
            return merged
        is_degraded = rule.status is ScoreStatus.DEGRADED
        if not judged.status.is_usable or not judged.value:
            rule.status = rule.status if is_degraded else ScoreStatus.FALLBACK
            rule.metadata = {**(rule.metadata or {}), "judge_unavailable": judged.status.value}
            _note_judge(rule, judged)
            return rule
        if lacks_main:
            for name, value in judged.value.items():
                rule.value[name] = max(rule.value[name], value) if name in rule.value else value
            rule.main_score_name = judged.main_score_name or next(iter(judged.value))
        else:
            rule.main_value = max(float(rule.main_value or 0.0), float(judged.main_value or 0.0))
        rule.explanation = judged.explanation
        rule.metadata = {**(rule.metadata or {}), **(judged.metadata or {})}
        rule.status = rule.status if is_degraded else judged.status
        _note_judge(rule, judged)
        return rule

    def _by_rule_names(self, rule_score: Score, judge_score: Score) -> Score:
        """The judge's score under the rule's names for the same metrics, so that aggregation joins them."""
        listed = [entry if isinstance(entry, str) else next(iter(entry)) for entry in self._benchmark_meta.metric_list]
        names = {canonicalize_producer_identity(name, None): name for name in rule_score.value}
        for name in listed:
            names.setdefault(canonicalize_producer_identity(name, None), name)

        def own(name: str) -> str:
            return names.get(canonicalize_producer_identity(name, None), name)

        found = judge_score.model_copy(deep=True)
        found.value = {}
        for name, value in judge_score.value.items():
            found.value[own(name)] = max(found.value.get(own(name), value), value)
        if judge_score.main_score_name is not None:
            found.main_score_name = own(judge_score.main_score_name)
        return found


# Kept for the life of the process: the grades alone decide the model.
@cache
def _grade_model(labels: tuple[str, ...]) -> type[BaseModel]:
    grades: Any = Literal[labels]
    return create_model("CorrectnessVerdict", reasoning=(str, ""), verdict=(grades, ...))


def _note_judge(score: Score, judge_score: Score) -> None:
    """Put the judge's summary into a score, with the score's status."""
    summary = judge_score.judge_summary
    score.judge_summary = None if summary is None else summary.model_copy(update={"status": score.status})
