"""Images that a processor scaled down, as far as its tensors show it. A difference that only rounds a side to whole
patches does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Size = tuple[float, float]
"""Height and width in pixels."""
_OF_TILES = ("max_num_patches", "max_patches", "max_image_tiles", "image_grid_pinpoints")
"""Settings of processors for the number of tiles or patches."""
_LONGEST = "longest_edge"


def scaled_down(sizes: Sequence[tuple[int, int]], encoded: Mapping[str, Any], processor: Any) -> list[bool]:
    """Return whether each image was scaled down or cropped; none was if the tensors do not show it.

    Args:
        sizes: Height and width of the images of all rows, in order.
        encoded: The tensors of the processor.
        processor: The image processor.
    """
    grid: Any = encoded.get("image_grid_thw")
    pixels: Any = encoded.get("pixel_values")
    if grid is not None and len(grid) == len(sizes):
        return _by_grid(sizes, grid, processor)
    if not hasattr(pixels, "dim") or "pixel_attention_mask" in encoded:
        return [False] * len(sizes)
    height, width = pixels.shape[-2:]
    n_tiles = _n_tiles(sizes, pixels, processor)
    if n_tiles:
        covered = [_grids(n, (height, width)) for n in n_tiles]
        return [all(_is_less(own, before, 0.0) for own in grids) for before, grids in zip(sizes, covered, strict=True)]
    if len(pixels) != len(sizes):
        return [False] * len(sizes)
    stated = encoded.get("image_sizes")
    grids = getattr(processor, "image_grid_pinpoints", None)
    if pixels.dim() == 5 and grids:  # tiles; an image is scaled down that fits into no grid of them
        return [all(_is_less(tuple(grid), before, 0.0) for grid in grids) for before in sizes]
    if pixels.dim() != 4:
        return [False] * len(sizes)
    # Padded to the largest of the batch, with the sizes before padding.
    own = [(height, width)] * len(sizes) if stated is None else [tuple(size) for size in _listed(stated)]
    if len(own) != len(sizes) or any(size[0] > height or size[1] > width for size in own):
        own = [(height, width)] * len(sizes)
    slack = _side(getattr(processor, "patch_size", 0)) / 2 if stated is not None else 0.0
    return [_is_less(after, before, slack) for before, after in zip(sizes, own, strict=True)]


def frames_scaled_down(sizes: Sequence[tuple[int, int]], encoded: Mapping[str, Any], processor: Any) -> list[bool]:
    """Return whether the frames of each video were scaled down or cropped; none was if the tensors do not show it.

    Args:
        sizes: Height and width of the frames of the videos of all rows, in order.
        encoded: The tensors of the processor.
        processor: The video processor.
    """
    grid: Any = encoded.get("video_grid_thw")
    if grid is not None:
        return _by_grid(sizes, grid, processor)
    pixels: Any = encoded.get("pixel_values_videos", encoded.get("pixel_values"))  # some join frames and images
    if not hasattr(pixels, "dim") or pixels.dim() < 4:
        return [False] * len(sizes)
    height, width = pixels.shape[-2:]
    return [_is_less((height, width), before, 0.0) for before in sizes]


def _by_grid(sizes: Sequence[tuple[int, int]], grid: Any, processor: Any) -> list[bool]:
    """By the number of patches of each medium."""
    patch = _side(getattr(processor, "patch_size", 0))
    slack = patch * int(getattr(processor, "merge_size", 1) or 1) / 2
    shown = [(height * patch, width * patch) for _, height, width in grid.tolist()]
    if len(shown) != len(sizes):
        return [False] * len(sizes)
    return [bool(patch) and _is_less(after, before, slack) for before, after in zip(sizes, shown, strict=True)]


def pixel_advice(processor: Any) -> str:
    """Return the setting with which an image processor scales less, as an imperative; empty if it has none, as where
    the network has one fixed size.
    """
    if "max_pixels" in vars(processor) or "max_pixels" in _known(processor):
        return "raise --model-args max_pixels=N"
    name = next((name for name in _OF_TILES if getattr(processor, name, None)), None)
    size = getattr(processor, "size", None)
    longest = size.get(_LONGEST) if isinstance(size, Mapping) else getattr(size, _LONGEST, None)
    name = name or ("size" if longest else None)
    return f"set {name} in --model-args processor_args, if the network accepts larger images" if name else ""


def frame_advice(processor: Any) -> str:
    """As ``pixel_advice``, for a video processor. Some scale every frame to one size of their own."""
    return "" if "max_image_size" in _known(processor) else pixel_advice(processor)


def _known(processor: Any) -> Mapping[str, Any]:
    """The settings that the class of a processor names."""
    known: Mapping[str, Any] = getattr(getattr(type(processor), "valid_kwargs", None), "__annotations__", {})
    return known


def _n_tiles(sizes: Sequence[tuple[int, int]], pixels: Any, processor: Any) -> list[int]:
    """The number of tiles of each image, without the small copy of the whole, for processors that cut images into tiles
    and put those of all images one after the other; empty for others.
    """
    if pixels.dim() != 4 or not hasattr(processor, "crop_to_patches"):
        return []
    counts = [processor.get_number_of_image_patches(*size, {"crop_to_patches": True}) for size in sizes]
    return [max(1, n - 1) for n in counts] if sum(counts) == len(pixels) else []


def _grids(n_tiles: int, tile: tuple[int, int]) -> list[Size]:
    """The sizes that so many tiles can cover."""
    rows = (n for n in range(1, n_tiles + 1) if n_tiles % n == 0)
    return [(n * tile[0], n_tiles // n * tile[1]) for n in rows]


def _is_less(after: Size, before: Size, slack: float) -> bool:
    return before[0] - after[0] > slack or before[1] - after[1] > slack


def _side(patch: Any) -> int:
    """The side of a patch, which some processors have as height and width."""
    if isinstance(patch, Mapping):
        patch = patch.get("height", 0)
    return int(patch or 0)


def _listed(sizes: Any) -> list[Any]:
    return list(sizes.tolist() if hasattr(sizes, "tolist") else sizes)
