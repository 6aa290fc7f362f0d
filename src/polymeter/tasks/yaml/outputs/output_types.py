"""The input and the result of compiling an output type.

An output type is a function from a ``CompileSetup`` to ``TaskFunctions``. They are in ``generation``, ``likelihoods``,
``rounds``, ``visual_cot`` and ``images``; ``compile`` chooses one and puts the task together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polymeter.core.identity import seed_for
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import Parity
from polymeter.core.request import Origin, Parameters, Protocol, Tags
from polymeter.core.task import ReduceContext, Result, Rollout, RolloutSteps, Sample, Score, ScoredRow, TaskSpec

if TYPE_CHECKING:
    from polymeter.tasks.yaml.pieces import Parts
    from polymeter.tasks.yaml.prompts.prompt import PromptBuilder
    from polymeter.tasks.yaml.prompts.rows import RowSamples
    from polymeter.tasks.yaml.prompts.target_cells import TargetCells
    from polymeter.tasks.yaml.scoring.readings import Scorer


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a task's requests, and the seeds that follow from it.

    Attributes:
        task: Name of the task.
        split: The split that is measured.
        metadata: The task's metadata.
        run_seed: The run's seed.
        reasoning_tags: The tags around reasoning in its answers; ``None``: those that are known.
    """

    task: str
    split: str
    metadata: Mapping[str, Any]
    run_seed: int
    reasoning_tags: Tags | None = None

    def origin(self, sample: Sample, generation_kwargs: Mapping[str, Any], protocol: Protocol = "single") -> Origin:
        """The origin of a request.

        Args:
            sample: The sample of the request.
            generation_kwargs: Its settings as guests' wrappers see them.
            protocol: Who drives the rounds, and how.
        """
        metadata = {**self.metadata, "doc_id": sample.index}
        return Origin(
            self.task,
            sample.id,
            self.split,
            sample.index,
            protocol,
            generation_kwargs,
            metadata,
            reasoning_tags=self.reasoning_tags,
        )

    def seed(self, sample: Sample, number: int, label: str = "") -> int:
        """The seed of one answer.

        Args:
            sample: The sample.
            number: The number of the answer among the sample's.
            label: Distinguishes the requests of one answer. The first one has none, so that it has the seed that the
                only request of a simpler task would have.
        """
        more = (label,) if label else ()
        return seed_for(self.run_seed, self.task, sample.id, number, *more)


@dataclass(frozen=True, slots=True)
class CompileSetup:
    """A task together with the model and the run that it is compiled for.

    Attributes:
        spec: The task.
        parts: Its parts.
        samples: Its samples.
        prompt: Builds its messages.
        provenance: The origin and the seeds of its requests.
        scorer: Its own scoring, or the run's; ``None``: its metrics score it.
        traits: The model's traits.
        prompt_key: The key of the model-specific blocks that apply.
        plan_settings: Generation settings of the plan; they win over the task's.
        parity: Whose values are wanted where Polymeter differs from another system.
        target_cells: The cells that the target of a sample must have.
    """

    spec: TaskSpec
    parts: Parts
    samples: RowSamples
    prompt: PromptBuilder
    provenance: Provenance
    scorer: Scorer | None
    traits: ModelTraits
    prompt_key: str
    plan_settings: Mapping[str, Any]
    parity: Parity
    target_cells: TargetCells


@dataclass(frozen=True, slots=True)
class TaskFunctions:
    """The fields of ``core.task.Task`` that depend on the output type."""

    rollout: Callable[[Sample], RolloutSteps]
    score: Callable[[Sample, Rollout], Score]
    reduce: Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
    parameters: tuple[Parameters, ...]


CompileOutput = Callable[[CompileSetup], TaskFunctions]
