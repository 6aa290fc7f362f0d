"""``Text2ImageAdapter``: images drawn from prompts, stored as files, and scored by models or against other images."""

from __future__ import annotations

import base64
import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.machine.files import replacing
from polymeter.interop.evalscope.v1.adapters.data_adapter import metric_of
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.constants import EvalType, FileConstants, ScoreStatus
from polymeter.interop.evalscope.v1.data.datasets import DatasetDict
from polymeter.interop.evalscope.v1.registries import get_metric
from polymeter.interop.evalscope.v1.report.semantics import MetricKind, semantics_of
from polymeter.interop.evalscope.v1.types.content import ContentImage
from polymeter.interop.evalscope.v1.types.identities import (
    MetricIdentity,
    MetricSelector,
    Scalar,
    canonicalize_producer_identity,
)
from polymeter.interop.evalscope.v1.types.messages import ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ChatCompletionChoice, ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState

_LOG = logging.getLogger("polymeter")
T2I_REPORT_METRIC_NAMES = {
    "BLIPv2Score": "blipv2_score",
    "CLIPScore": "clipscore",
    "FGA_BLIP2Score": "fga_blip2_score",
    "HPSv2.1Score": "hps_v2_1_score",
    "HPSv2Score": "hpsv2_score",
    "ImageRewardScore": "image_reward_score",
    "MPS": "mps",
    "PickScore": "pick_score",
    "VQAScore": "vqa_model_score",
}
"""Metric → its name in reports."""
IMAGE_PAIR_REFERENCE_KEYS = (
    "reference_image_path",
    "target_image_path",
    "ref_image_path",
    "gt_image_path",
    "ground_truth_image_path",
    "reference_image",
    "target_image",
    "ref_image",
    "gt_image",
    "ground_truth_image",
)
"""Keys under which a record holds the image with which the model's is compared; the first that has one counts."""
_IDENTITIES = "metric_identities"
_WHOLE = frozenset({"overall", "overall_score"})
_OTHER = re.compile(r"[^a-z0-9]+")
_OVERALL: dict[str, Scalar] = {"scope": "overall"}


class Text2ImageAdapter(DefaultDataAdapter):
    """A benchmark of records with a ``prompt``, and perhaps ``category``, ``tags`` and ``id``.

    Attributes:
        request_kind: The model is asked for an image.
    """

    request_kind = "generate_image"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.primary_metric is None:
            self._benchmark_meta.primary_metric = self._default_primary_metric()

    @staticmethod
    def canonical_metric_name(metric_name: str) -> str:
        """Return the name of a metric in reports."""
        named = T2I_REPORT_METRIC_NAMES.get(metric_name)
        return named or canonicalize_producer_identity(metric_name, "identity").name

    def load_from_disk(self, use_local_loader: bool = True) -> tuple[DatasetDict, DatasetDict | None]:
        """Load local files, whatever is asked for."""
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record: Mapping[str, Any]) -> Sample:
        """Return the sample of a record."""
        named: dict[str, Any] = {"category": "", "tags": [], FileConstants.ID: "", FileConstants.IMAGE_PATH: ""}
        return Sample(
            input=[ChatMessageUser(content=record["prompt"])],
            target=self._record_reference_image(record),
            metadata={**record, **{key: record.get(key, other) for key, other in named.items()}},
        )

    def _on_inference(self, model: Any, sample: Sample) -> ModelOutput:
        """Ask for the image; the mock model draws none."""
        if self.eval_type == EvalType.MOCK_LLM:
            return ModelOutput(model=model.name, choices=[ChatCompletionChoice.from_content("")])
        output: ModelOutput = model.generate(input=sample.input, tools=sample.tools)
        return output

    def _on_inference_end(
        self, model: Any, sample: Sample, model_output: ModelOutput, output_dir: str, **kwargs: Any
    ) -> TaskState:
        """Store the image under ``images`` of the folder, and note its path in the sample's metadata.

        Raises:
            ValueError: if the answer holds no image.
        """
        if self.eval_type != EvalType.MOCK_LLM:
            name = f"{sample.metadata.get(FileConstants.ID) or sample.id}_{sample.group_id}.png"
            path = Path(output_dir) / "images" / name
            with replacing(path, binary=True, is_synced=False) as file:  # another run may read this image just now
                file.write(_image_bytes(model_output))
            sample.metadata[FileConstants.IMAGE_PATH] = str(path)
        return TaskState(
            model=model.name, sample=sample, messages=[model_output.message], output=model_output, completed=True
        )

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Score an image by each metric: against the prompt, or against another image.

        An author's metric that fails has no value, and the score is degraded; if all fail, the sample has none.

        Raises:
            PolymeterError: if weights or a package of one of Polymeter's metrics are missing.
        """
        metadata = task_state.metadata or {}
        path = metadata.get(FileConstants.IMAGE_PATH, original_prediction)
        asked = task_state.input
        prompt = asked[0].content if isinstance(asked, list) and asked else asked
        score = Score(extracted_prediction=path, prediction=path)
        notes = _notes(score)
        for entry in self.metric_list:
            name, arguments = metric_of(entry)
            try:
                metric = get_metric(name)(**arguments)
                if self._is_image_pair_metric(metric):
                    value = metric(path, self._resolve_reference_image(reference, metadata, name))
                else:
                    value = metric(path, prompt)[0]
                self._record_metric_result(score, name, value)
            except PolymeterError:
                raise  # ours say what is missing, such as weights
            except Exception as error:  # noqa: BLE001  (an author's metric; what it raises is kept with the sample)
                _LOG.warning("The metric %s of %s failed: %s", name, self.name, error)
                notes[self.canonical_metric_name(name)] = f"error: {error}"
                score.status = ScoreStatus.DEGRADED
        if not score.value:
            score.status = ScoreStatus.EXCLUDED
        return score

    def aggregate_scores(self, sample_scores: Sequence[SampleScore]) -> list[AggScore]:
        """Return the mean of each metric over all samples and over each category."""
        groups: dict[tuple[str, tuple[tuple[str, Scalar], ...]], list[tuple[float, Any]]] = defaultdict(list)
        for own in sample_scores:
            identities = (own.score.metadata or {}).get(_IDENTITIES, {})
            category = self._dimension_value((own.sample_metadata or {}).get("category", ""))
            for key, value in own.score.value.items():
                name, axes = self._identity(key, identities)
                places = [axes if "component" in axes else {**axes, **_OVERALL}]
                places += [{**axes, "category": category}] if category else []
                for place in places:
                    groups[name, tuple(sorted(place.items()))].append((float(value), own.sample_id))
        return [
            AggScore(
                metric_name=name,
                aggregation="mean",
                dimensions=dict(axes),
                score=sum(value for value, _ in values) / len(values),
                num=len(values),
                ids=[sample for _, sample in values],
            )
            for (name, axes), values in groups.items()
        ]

    @staticmethod
    def _dimension_value(value: Any) -> str:
        """Return text as the value of a dimension."""
        return _OTHER.sub("_", str(value).strip().lower()).strip("_")

    def _default_primary_metric(self) -> MetricSelector | None:
        """Return the first metric that grades, over all samples."""
        for entry in self.metric_list:
            name = self.canonical_metric_name(metric_of(entry)[0])
            identity = MetricIdentity(name=name, aggregation="mean", dimensions=_OVERALL)
            if semantics_of(self.name, identity).kind is not MetricKind.DIAGNOSTIC:
                return MetricSelector(name=name, aggregation="mean", dimensions=_OVERALL)
        return None

    def _record_metric_result(self, score: Score, scorer_name: str, metric_score: Any) -> None:
        """Put a metric's value into a score; the parts of one that has several become values of their own."""
        name = self.canonical_metric_name(scorer_name)
        identities = _notes(score).setdefault(_IDENTITIES, {})
        parts = metric_score if isinstance(metric_score, Mapping) else {"overall": metric_score}
        for part, value in parts.items():
            component = self._dimension_value(part)
            axes = {} if component in _WHOLE else {"component": component}
            key = f"{name}:{component}" if axes else name
            score.value[key] = self._score_to_float(value)
            identities[key] = {"name": name, "dimensions": axes}

    @staticmethod
    def _identity(key: str, identities: Mapping[str, Any]) -> tuple[str, dict[str, Scalar]]:
        if key in identities:
            return identities[key]["name"], dict(identities[key].get("dimensions") or {})
        identity = canonicalize_producer_identity(key, "mean")
        return identity.name, dict(identity.dimensions)

    @staticmethod
    def _record_reference_image(record: Mapping[str, Any]) -> str:
        """Return the path of the image with which the model's is compared; empty if there is none."""
        values = [record.get(key) for key in (*IMAGE_PAIR_REFERENCE_KEYS, "target")]
        return next((value for value in values if isinstance(value, str) and value), "")

    @staticmethod
    def _is_image_pair_metric(metric_func: Any) -> bool:
        """Return whether a metric compares two images."""
        return bool(getattr(metric_func, "image_pair_metric", False))

    @staticmethod
    def _resolve_reference_image(reference: Any, metadata: Mapping[str, Any], metric_name: str) -> Any:
        """Return the image with which the model's is compared.

        Raises:
            ValueError: if there is none.
        """
        values = [*(metadata.get(key) for key in IMAGE_PAIR_REFERENCE_KEYS), reference]
        found = next((value for value in values if not _is_blank(value)), None)
        if found is None:
            keys = ", ".join(IMAGE_PAIR_REFERENCE_KEYS)
            raise ValueError(f"The metric {metric_name} compares with an image, and none of {keys} is given.")
        return found

    @staticmethod
    def _score_to_float(value: Any) -> float:
        """Return a number, also of a tensor."""
        if hasattr(value, "cpu"):
            value = value.cpu()
        return float(value.item()) if hasattr(value, "item") else float(value)


def _notes(score: Score) -> dict[str, Any]:
    """The metadata of a score, which may be changed."""
    if score.metadata is None:
        score.metadata = {}
    return score.metadata


def _image_bytes(output: ModelOutput) -> bytes:
    """The image of an answer: base64, or a data URI of it."""
    content = output.message.content
    image = (
        next((part for part in content if isinstance(part, ContentImage)), None) if isinstance(content, list) else None
    )
    if image is None:
        raise ValueError("The model's answer holds no image.")
    return base64.b64decode(image.image.rpartition(",")[2])


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
