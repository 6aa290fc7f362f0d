"""The tokens of images, against the examples that providers print."""

from __future__ import annotations

import pytest

from polymeter.prices.tokens.images import image_tokens_of, unknown_rule

NAMES = (
    *("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-5", "gpt-5-mini", "gpt-5.4", "o3", "o4-mini"),
    *("claude-3-5-sonnet-20241022", "claude-opus-4-7", "anthropic/claude-unheard", "gemini-2.5-pro", "gemini-3-pro"),
    *("gemini-9", "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen3-VL-8B"),
)


@pytest.mark.parametrize(
    ("name", "size", "detail", "stated"),
    [
        ("gpt-4o", (1024, 1024), "high", 765),  # OpenAI's three examples of tiles
        ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85),
        ("gpt-4.1-mini", (1024, 1024), "", 1024 * 1.62),  # and its two of patches
        ("gpt-4.1-mini", (1800, 2400), "", 1452 * 1.62),
        ("claude-sonnet-4-6", (1000, 1000), "", 1296),  # Anthropic's: 36 by 36 patches
        ("claude-sonnet-4-6", (3000, 2000), "", 1568),
        ("claude-opus-4-8", (3000, 2000), "", 4784),
        ("gemini-2.5-flash", (300, 200), "", 258),  # Google's
        ("gemini-2.5-flash", (800, 700), "", 516),
        ("Qwen/Qwen2.5-VL-7B-Instruct", (1000, 700), "", 36 * 25 + 2),  # Qwen's: sides of 28 pixels
        ("Qwen3-VL-8B-Instruct", (1000, 700), "", 31 * 22 + 2),  # and of 32
    ],
)
def test_the_rule_of_a_provider_gives_its_own_example(
    name: str, size: tuple[int, int], detail: str, stated: float
) -> None:
    rule = image_tokens_of(name)
    assert rule is not None
    assert rule(*size, detail).expected == pytest.approx(stated)


@pytest.mark.parametrize("name", [*NAMES, "an-unknown-model"])
@pytest.mark.parametrize("size", [(1, 1), (10, 2000), (224, 224), (768, 769), (1920, 1080), (9000, 7000)])
@pytest.mark.parametrize("detail", ["", "low", "high"])
def test_the_range_is_ordered_and_below_the_bound(name: str, size: tuple[int, int], detail: str) -> None:
    count = (image_tokens_of(name) or unknown_rule)(*size, detail)
    assert 0 < count.low <= count.expected <= count.high <= count.upper


def test_an_unknown_rule_is_marked_and_has_a_wide_range() -> None:
    assert image_tokens_of("my-own-vlm") is None
    count = unknown_rule(1024, 1024, "")
    assert count.assumed == {"image"}
    assert count.high > 10 * count.low


def test_disputed_and_later_models_have_wide_ranges() -> None:
    known, disputed, later = (image_tokens_of(name) for name in ("gpt-4.1-mini", "gpt-5-mini", "gpt-7"))
    assert known
    assert disputed
    assert later
    widths = [rule(800, 800, "").high / rule(800, 800, "").low for rule in (known, disputed, later)]
    assert widths == sorted(widths)
    assert widths[0] < 1.1 < 1.3 < widths[1]
