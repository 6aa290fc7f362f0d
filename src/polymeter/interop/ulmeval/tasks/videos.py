"""Benchmarks of VLMEvalKit over videos, as far as they differ from those over tables of images: what a model is shown,
rows that are asked by their position, and questions about one video that are asked together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError
from polymeter.core.media.showing import Showing, VideoRule
from polymeter.core.model import ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.task import TaskSpec

if TYPE_CHECKING:
    import pandas as pd

_MODALITY = "VIDEO"
_VIDEO, _INDEX, _PREDICTION = "video", "index", "prediction"
_SUBTITLES = b"pysubs2"


@dataclass(frozen=True, slots=True)
class VideoPrompts:
    """The way in which a benchmark over videos is shown to a model.

    Attributes:
        is_whole: Whether the model is shown whole videos, and not frames that its class has written.
        is_packed: Whether all questions about a video are asked together.
    """

    is_whole: bool
    is_packed: bool


def video_prompts(spec: TaskSpec, instance: Any, traits: ModelTraits, wanted: bool | None) -> VideoPrompts | None:
    """Return how an instance is shown to a model; ``None`` if it is no benchmark over videos.

    Args:
        spec: The benchmark.
        instance: Its class's instance.
        traits: The model's traits.
        wanted: Whether whole videos are shown, as the run states; ``None``: as the model takes them.

    Raises:
        PlanError: if the benchmark states neither a number of frames nor a rate, and the model takes no whole videos;
            if it needs a package that is not installed; or if its class cannot read answers to packed questions.
    """
    if getattr(instance, "MODALITY", "") != _MODALITY:
        return None
    is_packed = bool(getattr(instance, "pack", False))
    is_whole = traits.takes_whole_videos if wanted is None else wanted
    if is_packed and not callable(getattr(instance, "load_pack_answers", None)):
        raise PlanError(
            f"{type(instance).__name__} does not read answers to packed questions.",
            where=str(spec.file),
            hint="Leave out pack=true.",
        )
    if not (is_whole and not is_packed) and not _has_frames(instance):
        raise PlanError(
            f"Benchmark {spec.name!r} states no number of frames and no rate, and the model takes no whole videos.",
            where=str(spec.file),
            hint="State one: --dialect-option tsv.arguments.nframe=8, or tsv.arguments.fps=1; with 'polymeter vlmeval' "
            f'--data-config \'{{"{spec.name}": {{"class": "{type(instance).__name__}", "nframe": 8}}}}\'.',
        )
    if getattr(instance, "use_subtitle", False) and _SUBTITLES in spec.file.read_bytes() and not _is_here("pysubs2"):
        raise missing_package("pysubs2", f"the subtitles of {spec.name!r}")
    return VideoPrompts(is_whole and not is_packed, is_packed)


def prompt_of_position(instance: Any, prompts: VideoPrompts, line: Any) -> Any:
    """The message of a class for a row.

    Args:
        instance: The class's instance.
        prompts: How it is shown.
        line: The position of the row, or for packed questions that of the video.
    """
    table, show_row = instance.data, getattr(instance, "show_row", None)
    if prompts.is_packed:
        line = instance.videos[line]
    if callable(show_row):
        show_row(table[table[_VIDEO] == line].iloc[0] if prompts.is_packed else table.iloc[line])
    return instance.build_prompt(line, video_llm=prompts.is_whole)


def modalities_of(instance: Any, prompts: VideoPrompts) -> frozenset[Modality]:
    """The modalities of the prompts of a class, known without making one, which would decode a video."""
    shown: set[Modality] = {"text", "video" if prompts.is_whole else "image"}
    return frozenset(shown | ({"audio"} if getattr(instance, "use_audio", False) else set()))


def own_rule(instance: Any, prompts: VideoPrompts, stated: Showing) -> Showing:
    """The frames shown of whole videos: their number, or their rate, as the class states. VLMEvalKit sets the same on a
    model; which frames these are is the model's own choice.
    """
    nframe, fps = getattr(instance, "nframe", 0) or 0, getattr(instance, "fps", 0) or 0
    if not prompts.is_whole or max(nframe, fps) <= 0:
        return stated
    rule = VideoRule(frames=int(nframe)) if nframe > 0 else VideoRule(fps=float(fps))
    return Showing(video=rule).under(stated)


def packed_rows(instance: Any) -> pd.DataFrame:
    """A row for each video of an instance, with all questions about it."""
    import pandas as pd

    table = instance.data
    questions = [_questions(table[table[_VIDEO] == video]) for video in instance.videos]
    return pd.DataFrame({_INDEX: list(instance.videos), _VIDEO: list(instance.videos), "question": questions})


def unpacking(instance: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return the function that makes rows of answers to packed questions."""
    return partial(_unpacked, instance)


def _unpacked(instance: Any, answered: pd.DataFrame) -> pd.DataFrame:
    """The rows of an instance about the videos that were answered, each with its own answer as the class finds it."""
    answers: Mapping[str, str] = dict(zip(answered[_VIDEO], answered[_PREDICTION], strict=True))
    table, _ = instance.load_pack_answers(answers)
    kept: pd.DataFrame = table[table[_VIDEO].isin(set(answers))].reset_index(drop=True)
    return kept


def _questions(rows: pd.DataFrame) -> str:
    named = {str(index): text for index, text in zip(rows[_INDEX], rows["question"], strict=True)}
    return json.dumps(named, ensure_ascii=False)


def _has_frames(instance: Any) -> bool:
    return any((getattr(instance, name, 0) or 0) > 0 for name in ("nframe", "fps"))


def _is_here(package: str) -> bool:
    return find_spec(package) is not None
