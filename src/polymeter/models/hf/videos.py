"""Videos that a processor gets whole: what it needs to know of them, and which of them one call can hold."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.text.phrases import in_words
from polymeter.models.hf.media import VideoFrames

WAY = 1
"""Part of the identity of a model that gets videos whole. It grows when its processor receives other facts."""
_PIXELS = "pixel_values"
_MASK = "pixel_attention_mask"
SECONDS = "video_second_per_grid"
"""The tensor with the seconds from one patch of frames to the next, of each video."""
_TRACKS = "audio_from_video_indices"


@dataclass(frozen=True, slots=True)
class VideoHandling:
    """The way in which a processor handles videos.

    Attributes:
        packs: Whether one call can hold videos with different numbers of frames. Others make one tensor of all, with a
            place for each frame.
        fewest: The fewest frames that it accepts; it repeats the last one itself where they do not fill a patch.
        asks_rate: Whether it needs the rate of the frames, one for all videos: it does not read their times.
        interleaves: Whether it puts the sound of a video between its frames.
        excludes_images: Whether its tensor of frames replaces that of images.
        sizes_itself: Whether its class states the size of frames, over the checkpoint's and the user's settings.
    """

    packs: bool = False
    fewest: int = 1
    asks_rate: bool = False
    interleaves: bool = False
    excludes_images: bool = False
    sizes_itself: bool = False

    def group_of(self, clips: list[VideoFrames], *, has_tracks: bool) -> Any:
        """A key that is equal for prompts which one call can hold; ``None`` for prompts without videos.

        Args:
            clips: The videos of a prompt.
            has_tracks: Whether their sounds stand between their frames.
        """
        if not clips:
            return None
        if has_tracks:
            return ("tracks", clips[0].step)
        return "packed" if self.packs else ("stacked", *_counts(clips))

    def check(self, clips: list[VideoFrames], *, has_images: bool) -> None:
        """Check that one call can hold the videos of one prompt.

        Args:
            clips: The videos.
            has_images: Whether the prompt has images, too.

        Raises:
            ModelError: if it cannot.
        """
        if clips and has_images and self.excludes_images:
            raise ModelError(
                "The processor accepts images or videos, not both in one request.",
                hint="To show videos as images, set video_as=images.",
            )
        refusal = self.refusal(clips)
        if refusal is not None and self.excludes_images:  # it would fill the shorter ones, and count all as the longest
            raise refusal

    def refusal(self, clips: list[VideoFrames]) -> ModelError | None:
        """Return why a processor is likely to fail with the videos of one prompt; ``None``: they are no reason."""
        counts = _counts(clips)
        if len(counts) < 2 or self.packs:
            return None
        return ModelError(
            "The processor accepts only videos of one length together. "
            f"This request has videos of {in_words(map(str, counts))} frames.",
            hint="State a rule with which all have as many frames, or set video_as=images.",
        )

    def can_interleave(self, clips: list[VideoFrames]) -> bool:
        """Return whether the sounds of the videos of one prompt can stand between their frames: all must have a sound,
        and equal times between their frames, as one rate holds for all.
        """
        return self.interleaves and all(clip.sound is not None and clip.step == clips[0].step for clip in clips)


def handling_of(processor: Any) -> VideoHandling:
    """Return how a processor handles videos, as far as its class and its parts say it."""
    part = getattr(processor, "video_processor", None)
    if part is None:
        return VideoHandling()
    # Beside its pixels, a tensor of all patches needs to be told how many are whose.
    packs = len(set(getattr(part, "model_input_names", ())) - {_MASK}) > 1
    asks_rate = SECONDS in getattr(processor, "model_input_names", ())
    fewest = int(getattr(part, "temporal_patch_size", 1) or 1)
    interleaves = asks_rate and _accepts(type(processor), _TRACKS)
    excludes_images = _PIXELS in getattr(part, "model_input_names", ())
    sizes_itself = "size" in getattr(type(processor), "videos_kwargs", ())
    return VideoHandling(packs, fewest, asks_rate, interleaves, excludes_images, sizes_itself)


def accepts_videos(processor: Any, *, is_named: bool) -> bool:
    """Return whether a processor accepts videos.

    Args:
        processor: The processor; ``None`` for a model of text alone.
        is_named: Whether the configuration of the checkpoint names a token for videos. Those of some families whose
            processors accept videos do not.
    """
    has_part = getattr(processor, "video_processor", None) is not None
    return is_named or (has_part and bool(getattr(processor, "video_token", None)))


def _counts(clips: list[VideoFrames]) -> list[int]:
    return sorted({len(clip.frames) for clip in clips})


def _accepts(processor: type, name: str) -> bool:
    for base in processor.__mro__:
        with suppress(TypeError, ValueError):
            if "__call__" in vars(base) and name in inspect.signature(vars(base)["__call__"]).parameters:
                return True
    return False
