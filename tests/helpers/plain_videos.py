"""A video processor that needs no torchvision, for the processors of Transformers: theirs all need it."""

from __future__ import annotations

from typing import Any

from transformers.image_processing_utils import BatchFeature
from transformers.video_processing_utils import VideoProcessorMixin
from transformers.video_utils import make_batched_metadata, make_batched_videos


class PlainVideos(VideoProcessorMixin):
    """Scales frames and makes tensors of them: patches of all frames one after the other, as Qwen's processors do, or
    one tensor with a place for each frame, as the others do.

    Args:
        packs: Whether it makes patches.
        side: Height and width of frames; of patches the most.
        name: Of the tensor.
    """

    patch_size = 8
    temporal_patch_size = 2
    merge_size = 2

    def __init__(self, packs: bool = True, side: int = 64, name: str = "pixel_values_videos") -> None:
        super().__init__()
        self.packs, self.side, self.name = packs, side, name
        self.model_input_names = [name, *(["video_grid_thw"] if packs else [])]
        if not packs:
            self.temporal_patch_size = 1

    def preprocess(self, videos: Any, **kwargs: Any) -> BatchFeature:
        """The tensors of videos that are lists of frames, and their metadata."""
        import torch

        assert kwargs["do_sample_frames"] is False
        arrays = make_batched_videos(videos)
        metadata = make_batched_metadata(arrays, video_metadata=kwargs["video_metadata"])
        frames = [self._scaled(torch.from_numpy(array).permute(0, 3, 1, 2) / 255) for array in arrays]
        data: dict[str, Any] = {"video_metadata": metadata}
        if self.packs:
            patches, grids = zip(*(self._patches(one) for one in frames), strict=True)
            data |= {self.name: torch.cat(patches), "video_grid_thw": torch.tensor(grids)}
        else:
            data[self.name] = torch.stack(frames)
        return BatchFeature(data)

    def _scaled(self, frames: Any) -> Any:
        import torch

        height, width = frames.shape[-2:]
        size = (self.side, self.side)
        if self.packs:
            unit = self.patch_size * self.merge_size
            size = tuple(max(unit, round(min(side, self.side) / unit) * unit) for side in (height, width))
        return torch.nn.functional.interpolate(frames, size)

    def _patches(self, frames: Any) -> tuple[Any, list[int]]:
        import torch

        n_more = -len(frames) % self.temporal_patch_size
        frames = torch.cat([frames, frames[-1:].expand(n_more, -1, -1, -1)])
        n_frames, channels, height, width = frames.shape
        times, rows, columns = (
            n_frames // self.temporal_patch_size,
            height // self.patch_size,
            width // self.patch_size,
        )
        merged = (rows // self.merge_size, self.merge_size, self.patch_size)
        across = (columns // self.merge_size, self.merge_size, self.patch_size)
        parts = frames.reshape(times, self.temporal_patch_size, channels, *merged, *across)
        parts = parts.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
        return parts.reshape(times * rows * columns, -1), [times, rows, columns]
