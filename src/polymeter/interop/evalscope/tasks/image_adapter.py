"""``T2IBaseAdapter``: benchmarks of text-to-image models whose image scorers are listed as metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.scoring.metrics import mean, metric_registry


class T2IBaseAdapter(DataAdapter):
    """A benchmark whose rows hold a ``prompt``, whose reference is that prompt, and whose image is scored against it by
    each scorer of ``metric_list``.

    Attributes:
        metrics: The scorers, by the names in ``metric_list``. They are made at once, so that a missing one is an error
            before any image is generated.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metrics = {name: metric_registry.get(name).object() for name in self.metric_list}

    def gen_prompt(
        self, input_d: dict[str, Any], subset_name: str, few_shot_list: list[Any], **kwargs: Any
    ) -> dict[str, Any]:
        return self.gen_prompt_data(prompt=input_d.get("prompt", ""), id=input_d.get("id", 0))

    def get_gold_answer(self, input_d: dict[str, Any]) -> Any:
        return input_d.get("prompt", "")

    def parse_pred_result(self, result: Any, raw_input_d: Any = None, eval_type: str = "checkpoint") -> Any:
        """The path of the image: the model's, else the row's ``image_path``."""
        return result or (raw_input_d or {}).get("image_path", "")

    def match(self, gold: Any, pred: Any) -> Any:
        """The score of each scorer; one that gives several is listed once for each, as ``scorer_name``."""
        scores: dict[str, float] = {}
        for name, scorer in self.metrics.items():
            score = scorer(images=[pred], texts=[gold])[0][0]
            parts = {f"{name}_{part}": value for part, value in score.items()} if isinstance(score, Mapping) else {}
            scores.update((key, _float_of(value)) for key, value in (parts or {name: score}).items())
        return scores

    def compute_metric(self, review_res_list: Sequence[Any], **kwargs: Any) -> list[dict[str, Any]]:
        values = self.compute_dict_metric(review_res_list, **kwargs)
        return [{"metric_name": name, "score": mean(items), "num": len(items)} for name, items in values.items()]


def _float_of(value: Any) -> float:
    """A score as a number, which a scorer may give as a tensor on a device."""
    return float(value.cpu().item()) if hasattr(value, "cpu") else float(value)
