"""The tokens of an image by its size: the rule of each family of models, as its provider states it.

A rule that is not stated for a model is not guessed as exact: the range is as wide as the rules of its relatives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil, floor, sqrt

from polymeter.prices.tokens.counts import TokenCount

ImageTokens = Callable[[int, int, str], TokenCount]
"""The tokens of an image of a width and a height in pixels, at a level of detail; empty: the model's default."""

_PATCH_PX = 32
_PATCHES = 1536
_TILE_PX, _LONGEST_PX, _SHORT_SIDE_PX = 512, 2048, 768

# platform.openai.com/docs/guides/images-vision, "Calculating costs": models that count tiles, with the tokens of an
# image (base) and of each tile of 512 pixels.
_OPENAI_TILES = (
    (r"gpt-4o-mini", 2833, 5667),
    (r"computer-use-preview", 65, 129),
    (r"o1-mini|o3-mini", 75, 150),
    (r"o1|o3", 75, 150),
    (r"gpt-4\.1(?!-mini|-nano)|gpt-4o|gpt-4\.5|gpt-4-(turbo|vision)|chatgpt-4o", 85, 170),
    (r"gpt-5(?!\.|-mini|-nano)", 70, 140),
)
# The same page: models that count patches of 32 pixels, at most 1,536, with their factor.
_OPENAI_PATCHES = ((r"gpt-4\.1-mini", 1.62), (r"gpt-4\.1-nano|gpt-5-nano", 2.46), (r"o4-mini", 1.72))
_MEASURED_MINI, _STATED_MINI = 1.2, 1.62
"""The factor of gpt-5-mini: users measure 1.2, the page states 1.62 (OpenAI's forum, June 2026)."""
_LATER_PATCHES, _LARGEST_FACTOR = 10_000, 2.46
"""Models since GPT-5.4 have patch budgets up to this one (``detail: original``), and no factor above the largest is
stated.
"""

_CLAUDE_PATCH_PX = 28
_CLAUDE_LIMITS = ((1568, 1568), (2576, 4784))
"""The longest side in pixels and the most patches of an image: of Claude up to 4.6, and since Opus 4.7."""
_CLAUDE_LARGE = re.compile(r"claude-(opus|sonnet|haiku)-(4-[7-9]|[5-9])|claude-fable")
_CLAUDE_SMALL = re.compile(r"claude-(2|3|instant)|claude-(opus|sonnet|haiku)-(3|4-[0-6]\b|4$|4-2\d{7})")

_GEMINI_TILE = 258
_GEMINI_SMALL_PX, _GEMINI_TILE_PX = 384, 768
_GEMINI_THREE = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
_GEMINI_LOW = 64

_QWEN_USUAL_MOST = 1280

_GENERIC_PX, _GENERIC_FEWEST, _GENERIC_MOST, _GENERIC_SMALL = 28, 64, 2048, 3328
"""Models that always see an image at one size make 64 to 3,328 tokens of it (LLaVA-1.5 576, InternVL 256 a tile)."""
_ASSUMED_PX, _ASSUMED_LEAST = 14, 8192
"""The assumption behind the bound of an unknown rule: no more than a token for 14 by 14 pixels, the finest patches in
use, of an image that is enlarged to at most 8,192 tokens.
"""


def image_tokens_of(name: str) -> ImageTokens | None:
    """The rule of a model by its name, wherever it is served; ``None``: unknown.

    Args:
        name: The name at the endpoint or on the hub, in any case.
    """
    own = name.lower().rpartition("/")[2]
    for pattern, base, tile in _OPENAI_TILES:
        if re.match(pattern, own):
            return lambda width, height, detail: _tiles(width, height, detail, base, tile)
    for pattern, factor in _OPENAI_PATCHES:
        if re.match(pattern, own):
            return lambda width, height, detail: _patches(width, height, factor)
    return next((rule(own) for pattern, rule in _FAMILIES if re.search(pattern, own)), None)


def unknown_rule(width: int, height: int, detail: str) -> TokenCount:
    """The tokens of an image for a model whose rule is unknown."""
    patches = ceil(width / _GENERIC_PX) * ceil(height / _GENERIC_PX)
    expected = min(max(patches, _GENERIC_FEWEST), _GENERIC_MOST)
    high = max(patches * 2, _GENERIC_SMALL)
    upper = max(ceil(width / _ASSUMED_PX) * ceil(height / _ASSUMED_PX), _ASSUMED_LEAST)
    return TokenCount(expected, _GENERIC_FEWEST, min(high, upper), upper).but_assumed("image")


def _tiles(width: int, height: int, detail: str, base: int, tile: int) -> TokenCount:
    """Fit into 2048 pixels, then the short side to 768, then tiles of 512. ``auto`` may be low; it is billed as high
    where the image is larger than a tile.
    """
    if detail == "low":
        return TokenCount.exactly(base)
    scale = min(1.0, _LONGEST_PX / max(width, height))
    wide, high = width * scale, height * scale
    scale = min(1.0, _SHORT_SIDE_PX / min(wide, high))
    n_tiles = ceil(round(wide * scale) / _TILE_PX) * ceil(round(high * scale) / _TILE_PX)
    tokens = base + tile * n_tiles
    # Reports differ by a tile where a side is rounded to a multiple of 512.
    return TokenCount(tokens, tokens if detail == "high" else base, tokens, base + tile * _one_more(n_tiles))


def _one_more(n_tiles: int) -> int:
    return n_tiles * 2 if n_tiles > 1 else 2


def _patches(width: int, height: int, factor: float, most: int = _PATCHES) -> TokenCount:
    n_patches = _capped_patches(width, height, most)
    tokens = n_patches * factor
    upper = ceil(min(n_patches * 1.1 + 2, most) * factor)
    return TokenCount(tokens, tokens * 0.98, min(tokens * 1.02 + 1, upper), upper)


def _capped_patches(width: int, height: int, most: int) -> int:
    """Patches of 32 pixels; an image with more than ``most`` is scaled down until whole patches cover its width."""
    n_patches = ceil(width / _PATCH_PX) * ceil(height / _PATCH_PX)
    if n_patches <= most:
        return n_patches
    shrink = sqrt(_PATCH_PX**2 * most / (width * height))
    wide, high = width * shrink / _PATCH_PX, height * shrink / _PATCH_PX
    shrink *= min(max(floor(wide), 1) / wide, max(floor(high), 1) / high)
    return min(ceil(width * shrink / _PATCH_PX - 1e-9) * ceil(height * shrink / _PATCH_PX - 1e-9), most)


def _disputed_patches(width: int, height: int, detail: str) -> TokenCount:
    measured, stated = (_patches(width, height, factor) for factor in (_MEASURED_MINI, _STATED_MINI))
    return TokenCount(measured.expected, measured.low, stated.high, stated.upper)


def _later_openai(width: int, height: int, detail: str) -> TokenCount:
    patches = _capped_patches(width, height, _PATCHES)
    fewest = _tiles(width, height, detail, 70, 140).low
    most = _capped_patches(width, height, _LATER_PATCHES)
    upper = ceil(max(min(most * 1.1 + 2, _LATER_PATCHES) * _LARGEST_FACTOR, 70 + 140 * 16))
    high = max(patches * _STATED_MINI, _tiles(width, height, "high", 70, 140).high)
    return TokenCount(patches * _MEASURED_MINI, min(fewest, patches), high, upper)


def claude(name: str) -> ImageTokens:
    """Claude's rule: a token for each patch of 28 pixels, of an image scaled down to its limits
    (platform.claude.com/docs/en/build-with-claude/vision). Earlier models are stated by width times height over 750,
    which gives nearly the same.

    Args:
        name: The model's name. The larger limits hold for a name that does not show its generation.
    """
    is_small, is_large = bool(_CLAUDE_SMALL.match(name)), bool(_CLAUDE_LARGE.match(name))

    def tokens(width: int, height: int, detail: str) -> TokenCount:
        small, large = (_claude_patches(width, height, *limits) for limits in _CLAUDE_LIMITS)
        expected = small if is_small else large
        low = expected if is_small or is_large else small
        by_area = min(ceil(width * height / 750), _CLAUDE_LIMITS[not is_small][1])
        return TokenCount(
            expected, min(low, by_area) * 0.97, max(expected, by_area) * 1.03, ceil(max(expected, by_area) * 1.05) + 8
        )

    return tokens


def _claude_patches(width: int, height: int, longest: int, most: int) -> int:
    scale = min(1.0, longest / max(width, height))
    wide, high = width * scale, height * scale
    n_patches = ceil(wide / _CLAUDE_PATCH_PX) * ceil(high / _CLAUDE_PATCH_PX)
    if n_patches > most:
        # The largest size in proportion whose patches fit.
        shrink = sqrt(most * _CLAUDE_PATCH_PX**2 / (wide * high))
        columns, rows = wide * shrink / _CLAUDE_PATCH_PX, high * shrink / _CLAUDE_PATCH_PX
        n_patches = max(floor(columns) * ceil(rows), ceil(columns) * floor(rows), 1)
    return min(n_patches, most)


def gemini(name: str) -> ImageTokens:
    """Gemini's rule (ai.google.dev/gemini-api/docs/tokens and …/media-resolution). Gemini 2: 258 tokens up to 384
    pixels, else for each tile of 768. Gemini 3: a fixed number for each resolution, 1,120 by default. Of later models
    the numbers are not known: the range holds both.
    """
    if re.match(r"gemini-(1|2)", name):
        return _gemini_tiles
    if re.match(r"gemini-3", name):
        return _gemini_three

    def later(width: int, height: int, detail: str) -> TokenCount:
        two, three = _gemini_tiles(width, height, detail), _gemini_three(width, height, detail)
        upper = max(two.upper, three.upper, _GEMINI_THREE["ultra_high"])
        return TokenCount(three.expected, min(two.low, three.low), max(two.high, three.high), upper)

    return later


def _gemini_tiles(width: int, height: int, detail: str) -> TokenCount:
    if detail == "low":
        return TokenCount(_GEMINI_LOW, _GEMINI_LOW, _GEMINI_TILE, _GEMINI_TILE)
    is_small = width <= _GEMINI_SMALL_PX and height <= _GEMINI_SMALL_PX
    n_tiles = 1 if is_small else ceil(width / _GEMINI_TILE_PX) * ceil(height / _GEMINI_TILE_PX)
    # The page's newer text cuts tiles of min(width, height) / 1.5 pixels, from 256 to 768.
    side = min(max(floor(min(width, height) / 1.5), 256), _GEMINI_TILE_PX)
    newer = 1 if is_small else ceil(width / side) * ceil(height / side)
    low, high = sorted((n_tiles, newer))
    return TokenCount(_GEMINI_TILE * n_tiles, _GEMINI_TILE, _GEMINI_TILE * high, _GEMINI_TILE * max(high, low) + 2)


def _gemini_three(width: int, height: int, detail: str) -> TokenCount:
    most = _GEMINI_THREE.get(detail, _GEMINI_THREE["high"])
    # The numbers are the most of a resolution: an image in another proportion gets somewhat fewer.
    return TokenCount(most * 0.98, most * 0.85, most, most + 2)


def qwen(factor: int, min_pixels: int, max_pixels: int) -> ImageTokens:
    """Qwen-VL's rule: sides rounded to ``factor`` pixels, within limits of the area; a token for each square
    (Qwen2-VL, arXiv:2409.12191, section 2.1; the limits stand in each checkpoint's ``preprocessor_config.json``).
    """

    def tokens(width: int, height: int, detail: str) -> TokenCount:
        wide, high = (max(round(side / factor), 1) * factor for side in (width, height))
        if wide * high > max_pixels:
            shrink = sqrt(width * height / max_pixels)
            wide, high = (max(floor(side / shrink / factor), 1) * factor for side in (width, height))
        elif wide * high < min_pixels:
            grow = sqrt(min_pixels / (width * height))
            wide, high = (ceil(side * grow / factor) * factor for side in (width, height))
        n = (wide // factor) * (high // factor) + 2  # and a mark before and behind
        # A server may have other limits: its authors suggest from 256 to 1,280 squares.
        return TokenCount(n, n * 0.9, n * 1.1, max(ceil(n * 1.1), _QWEN_USUAL_MOST) + 2)

    return tokens


_FAMILIES: tuple[tuple[str, Callable[[str], ImageTokens]], ...] = (
    (r"^gpt-5-mini", lambda name: _disputed_patches),
    (r"^(gpt-(?!3|oss)|o\d)", lambda name: _later_openai),
    (r"^claude", claude),
    (r"^gemini", gemini),
    (r"qwen-?2(\.5)?-?(vl|omni)|qwen2(_5)?_vl|qvq", lambda name: qwen(28, 56 * 56, 14 * 14 * 4 * 16_384)),
    (r"qwen-?3(\.\d)?-?(vl|omni)|qwen-?3\.[5-9]", lambda name: qwen(32, 256 * 256, 4096 * 4096)),
)
