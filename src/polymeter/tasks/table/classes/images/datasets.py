"""Text-to-image and image editing over a table: ``prompt``, for editing ``image`` or ``image_path``, and the columns
that images are scored by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import has_role
from polymeter.core.records.spread import Bounds
from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.guests.own_classes import own_class
from polymeter.judge import ROLE
from polymeter.metrics import perceptual
from polymeter.metrics.detectors import check_detector
from polymeter.metrics.image import LPIPS, PSNR, SSIM
from polymeter.tasks.table.base import TextBaseDataset
from polymeter.tasks.table.classes.built_in import BuiltIn, EveryRow
from polymeter.tasks.table.classes.cells import cell_name_of, column, count_of, is_empty, number_of, required
from polymeter.tasks.table.classes.images.scoring import (
    CHECKLIST,
    REFERENCE,
    SCALE,
    SCENE,
    SCORED_BY,
    by_checklist,
    by_reference,
    by_scale,
    by_scene,
    image_of,
    joined,
    mean_over,
    metrics_of,
    ways,
)
from polymeter.tasks.table.classes.results import sorted_results

_COUNTS = ("width", "height", "num_inference_steps")
_NUMBERS = ("guidance_scale", "strength")
_MAIN = {SCENE: "correct", REFERENCE: "psnr", CHECKLIST: "checklist"}


@own_class
class GeneratedImages(BuiltIn):
    """The part that text-to-image and editing share. A mix-in for the base classes.

    A row is scored by each of these columns that it fills: ``scene`` (GenEval's schema, as JSON) gives ``correct``,
    ``count``, ``colour`` and ``position``; ``reference`` (an image as base64, or its path) gives ``psnr`` and
    ``ssim``, and ``lpips`` if ``--weights lpips=PATH`` names its weights; ``checklist`` (a list of statements)
    gives ``checklist`` and ``checklist_all`` by the run's judge. A row without any of them has a ``judge_score`` from
    0 to 10 if the run has a judge, else no score.

    Several images of one prompt are scored one by one, and the row has the mean, as GenEval, WISE and DPG-Bench
    report; a best-of-n would depend on how many are drawn.
    """

    detector = ""
    """The detector of a scene's objects: ``shapes``, or ``hf:PATH_OR_ID``; empty: ``shapes``."""
    METRICS: ClassVar[dict[str, bool]] = {
        **dict.fromkeys(("correct", "count", "colour", "position", "psnr", "ssim"), True),
        "lpips": False,
        **dict.fromkeys(("checklist", "checklist_all", "judge_score"), True),
    }

    RANGES: ClassVar[dict[str, Bounds]] = {
        **dict.fromkeys(("correct", "count", "colour", "position", "checklist", "checklist_all"), (0.0, 1.0)),
        **{metric.name: metric.bounds for metric in (PSNR, SSIM, LPIPS)},
        "judge_score": (0.0, 10.0),
    }

    def generation_settings(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """A row's settings for generating its image: ``negative_prompt``, ``width``, ``height``,
        ``num_inference_steps``, ``guidance_scale`` and ``strength``, from the columns of these that it fills.

        Raises:
            DataError: if a cell that should hold a number does not.
        """
        settings: dict[str, Any] = {}
        negative = column(line, "negative_prompt")
        if negative:
            settings["negative_prompt"] = negative
        settings |= {name: count_of(line, name) for name in _COUNTS} | {
            name: number_of(line, name) for name in _NUMBERS
        }
        return {name: value for name, value in settings.items() if value is not None}

    def evaluate_sample(self, line: Mapping[str, Any], prediction: Any, **judge_kwargs: Any) -> dict[str, Any]:
        """Score the images of one row; see the class for the metrics.

        Args:
            line: The row.
            prediction: The images.
            **judge_kwargs: Not used; the run's judge is called without them.

        Raises:
            DataError: if a scoring column cannot be read.
            UnscoredError: if the judge gave no verdict.
        """
        images = list(prediction) if isinstance(prediction, (list, tuple)) else [prediction]
        chosen = ways(line, has_judge=has_role(ROLE))
        if not chosen:
            return {"explanation": _why_unscored(line)}
        prompt, inputs = column(line, "prompt"), self._inputs(line)
        reference = image_of(line, REFERENCE, self._folders()) if REFERENCE in chosen else None

        def score(image: Any) -> dict[str, Any]:
            ways_to_score = {
                SCENE: lambda: by_scene(line, image, self.detector),
                REFERENCE: lambda: by_reference(image, reference),
                CHECKLIST: lambda: by_checklist(line, image, prompt, inputs),
                SCALE: lambda: by_scale(image, prompt, inputs),
            }
            return joined([ways_to_score[way]() for way in chosen])

        scores = mean_over(images, score)
        # The report shows the reference beside the image.
        return scores if reference is None else {**scores, "reference": reference}

    def results(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """The metrics over all rows and by ``category``, ``tag`` and the like, without those that no row has. A metric
        counts as planned for the rows that it applies to.
        """
        main = next((_MAIN[name] for name in SCORED_BY if name in self.data.columns), "judge_score")
        rows = list(rows)
        results = sorted_results(rows, self.data, {main: True, **self.METRICS}, context, self.RANGES)
        lines = (self.data.iloc[row.index] for row in rows)
        planned = Counter(name for line in lines for name in metrics_of(line, has_judge=ROLE in context.roles))
        return [
            replace(result, n_planned=None if result.subset else planned.get(result.metric))
            for result in results
            if result.n or (result.metric == main and not result.subset)
        ]

    def check_scoring(self) -> None:
        """Check that the detector and the weights that the run names are available, before any image is generated.

        Raises:
            PlanError: if rows have scenes or references, and one is not available.
        """
        if REFERENCE in self.data.columns and perceptual.is_placed():
            perceptual.read_perceptual(None)
        if self.detector and SCENE in self.data.columns:
            check_detector(self.detector)

    def check_rows(self, rows: range, *, has_judge: bool) -> None:
        """Check that something scores rows, before an image is generated for any.

        Raises:
            PlanError: if nothing scores any of them.
        """
        lines = self.data.iloc[rows.start : rows.stop].to_dict("records")
        if not lines or any(ways(line, has_judge=has_judge) for line in lines):
            return
        is_listed = any(not is_empty(line.get(CHECKLIST)) for line in lines)
        raise PlanError(
            "Nothing scores its images: the checklists need a judge, but the run has none."
            if is_listed
            else "Nothing scores its images: it has no column for scoring (scene, reference, checklist), and the run "
            "has no judge.",
            hint="Name a judge: --judge openai:NAME. Or keep the images alone: --dialect-option tsv.predict_only=true, "
            "or --mode infer of a command that has it.",
        )

    def notes(self) -> tuple[str, ...]:
        """Notes for the user about how the table is scored."""
        filled = {name for name in SCORED_BY if name in self.data.columns and not self.data[name].map(is_empty).all()}
        if not filled:
            return (
                "No column (scene, reference, checklist) scores its images: they have a score only if the run "
                "has a judge.",
            )
        return ("Its checklists are used only if the run has a judge.",) if CHECKLIST in filled else ()

    def _inputs(self, line: Mapping[str, Any]) -> Sequence[str]:
        """The input images of a row."""
        return ()

    def _folders(self) -> list[Path]:
        """The folders that paths in cells are looked for in."""
        return [Path(self.data_path).parent] if self.data_path else []


@own_class
class TextToImageDataset(GeneratedImages, TextBaseDataset):
    """Images from prompts."""

    TYPE = "T2I"

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The prompt, with nothing added.

        Args:
            line: A row, or its position.
        """
        row = self._row(line)
        return [{"type": "text", "value": required(row, "prompt")}]


@own_class
class ImageEditingDataset(GeneratedImages, EveryRow):
    """Images edited as a prompt says."""

    TYPE = "IT2I"

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """The images of a row, then its prompt, with nothing added.

        Args:
            line: A row, or its position.

        Raises:
            DataError: if it has no image, or no prompt.
        """
        row = self._row(line)
        images = self.images_of(row)
        if not images:
            raise DataError("This row has no image to edit.", where=cell_name_of(row, "image"))
        return [*images, {"type": "text", "value": required(row, "prompt")}]

    def _inputs(self, line: Mapping[str, Any]) -> Sequence[str]:
        return [str(path) for path in self.dump_image(line)]

    def _folders(self) -> list[Path]:
        return [*super()._folders(), Path(self.img_root)]


def _why_unscored(line: Mapping[str, Any]) -> str:
    if is_empty(line.get(CHECKLIST)):
        return "Nothing scores this image: its row has no scene, reference or checklist, and the run has no judge."
    return "The checklist of this row needs a judge, but the run has none."
