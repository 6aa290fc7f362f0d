"""``NERAdapter``: named entities, marked in the text by tags and scored over a whole subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.scoring.ner import (
    DEFAULT_TAG_FIX_PATTERNS,
    NerScores,
    clean_prediction,
    create_target_text,
    ner_scores,
    xml_to_bio_tags,
)
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState

_GOLD, _FOUND = "y_true", "y_pred"
_MICRO, _ACCURACY = "seqeval-micro-average", "seqeval-accuracy"


class NERAdapter(DefaultDataAdapter):
    """A benchmark of records with ``tokens`` and ``ner_tags`` (BIO).

    Authors set ``entity_type_map`` and ``entity_descriptions`` in their constructor, and then call
    ``setup_entity_mappings``.

    Attributes:
        entity_type_map: Type in the tags → name in the prompt.
        entity_descriptions: Type → description.
        reverse_entity_map: Name in small letters → type.
        entity_list: The tags of the names.
        entities_description: The names with their descriptions.
        tag_fix_patterns: Patterns of broken tags, and what takes their place.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entity_type_map: dict[str, str] = {}
        self.entity_descriptions: dict[str, str] = {}
        self.reverse_entity_map: dict[str, str] = {}
        self.entity_list: list[str] = []
        self.entities_description = ""
        self.tag_fix_patterns = list(DEFAULT_TAG_FIX_PATTERNS)

    def setup_entity_mappings(self) -> None:
        """Make what the prompts need of the types and their descriptions."""
        names = self.entity_type_map
        self.reverse_entity_map = {name.lower(): kind for kind, name in names.items()}
        self.entity_list = [f"<{name.lower()}>" for name in names.values()]
        described = [f"{name} ({self.entity_descriptions[kind]})" for kind, name in names.items()]
        self.entities_description = ", ".join(described)

    def record_to_sample(self, record: Mapping[str, Any]) -> Sample:
        """Return the sample of a record: the text, and the text with tags as target."""
        tokens, tags = record["tokens"], record["ner_tags"]
        return Sample(
            input=" ".join(tokens),
            target=create_target_text(tokens, tags, self.entity_type_map),
            metadata={"tokens": tokens, "ner_tags": tags},
        )

    def format_prompt_template(self, sample: Sample) -> str:
        """Return the prompt of a sample."""
        return str(self.prompt_template.format(**self._fields(sample)))

    def format_fewshot_template(self, fewshot: str, sample: Sample) -> str:
        """Return the prompt of a sample behind its examples."""
        return str(self.few_shot_prompt_template.format(fewshot=fewshot, **self._fields(sample)))

    def sample_to_fewshot(self, sample: Sample) -> str:
        """Return a sample as an example."""
        return f"Input:\n{sample.input}\n\nOutput:\n{sample.target}" if sample.metadata else ""

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Return precision, recall, F1 and accuracy of one text; its tags are kept for the subset's."""
        tokens, gold = task_state.metadata["tokens"], task_state.metadata["ner_tags"]
        text = clean_prediction(filtered_prediction, self.tag_fix_patterns)
        found = xml_to_bio_tags(text, tokens, self.reverse_entity_map)
        return Score(
            extracted_prediction=filtered_prediction,
            prediction=original_prediction,
            value=ner_scores([gold], [found])._asdict(),
            metadata={_GOLD: gold, _FOUND: found},
        )

    def aggregate_scores(self, sample_scores: Sequence[SampleScore]) -> list[AggScore]:
        """Return the four numbers over all entities of a subset; without tags, means over texts."""
        kept = [score.score.metadata or {} for score in sample_scores]
        tagged = [(own[_GOLD], own[_FOUND]) for own in kept if _GOLD in own and _FOUND in own]
        n_samples = len(sample_scores)
        if tagged:
            scores = ner_scores([gold for gold, _ in tagged], [found for _, found in tagged])
        else:
            values = [score.score.value for score in sample_scores]
            scores = NerScores(*(sum(own.get(name, 0.0) for own in values) / n_samples for name in NerScores._fields))
        return [
            AggScore(
                metric_name=name,
                score=value,
                num=n_samples,
                metadata={"type": _ACCURACY if name == "accuracy" else _MICRO},
            )
            for name, value in scores._asdict().items()
        ]

    def _fields(self, sample: Sample) -> dict[str, Any]:
        return {
            "entities": self.entities_description,
            "entity_list": ", ".join(self.entity_list),
            "text": sample.input,
        }
