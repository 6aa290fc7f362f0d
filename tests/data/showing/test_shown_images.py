"""Images in the size and format that a rule states, and what is recorded of them."""

import io

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.media.showing import ImageRule
from polymeter.data.showing import encoded_image, shown_image
from polymeter.data.showing.sizes import shown_size

TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif")
OWN = ImageRule()


def noise(size=(80, 60)):
    return pil.fromarray(np.random.default_rng(3).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8))


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def opened(data):
    return pil.open(io.BytesIO(data))


@pytest.mark.parametrize(
    ("size", "limits", "expected"),
    [
        ((1920, 1080), {"max_pixels": 518_400}, (960, 540)),
        ((1920, 1080), {"max_pixels": 518_399}, (959, 539)),
        ((1920, 1080), {"max_side": 640}, (640, 360)),
        ((100, 50), {"max_side": 640}, (100, 50)),
        ((100, 50), {"min_pixels": 20_000}, (200, 100)),
        ((100, 50), {"min_pixels": 20_001}, (201, 101)),
        ((100, 50), {"min_pixels": 20_000, "max_side": 150}, (150, 75)),
        ((10_000, 1), {"max_pixels": 100}, (100, 1)),
        ((1, 10_000), {"max_side": 20}, (1, 20)),
        ((3, 3), {"max_pixels": 1}, (1, 1)),
    ],
)
def test_sizes_are_in_proportion_and_within_limits(size, limits, expected):
    assert shown_size(*size, **limits) == expected


def test_bytes_that_no_rule_changes_are_sent_unchanged():
    for kind in ("JPEG", "PNG", "WEBP"):
        data = encoded(noise(), kind)
        image = Image(data)
        assert encoded_image(image, OWN, TYPES) == (data, f"image/{kind.lower()}")
        facts = {"width": 80, "height": 60, "format": kind.lower(), "bytes": len(data)}
        assert (image.sent.before, image.sent.sent) == (facts, facts)
    data = encoded(noise(), "PNG")
    image = Image(data, rule=ImageRule(format="png", max_side=80, min_pixels=10, max_pixels=4800))
    assert encoded_image(image, OWN, TYPES)[0] is data


def test_a_rule_changes_what_an_endpoint_gets():
    data = encoded(noise(), "JPEG")
    image = Image(data, rule=ImageRule(max_side=40))
    made, mime = encoded_image(image, ImageRule(max_side=20), TYPES)
    assert (mime, opened(made).size) == ("image/jpeg", (40, 30))
    assert image.sent.before == {"width": 80, "height": 60, "format": "jpeg", "bytes": len(data)}
    assert image.sent.sent == {"width": 40, "height": 30, "format": "jpeg", "bytes": len(made)}
    assert image.sent.rule == {"max_side": 40}
    assert encoded_image(Image(data), ImageRule(max_side=20), TYPES)[0] != made
    made, mime = encoded_image(Image(data, rule=ImageRule(format="png")), OWN, TYPES)
    assert mime == "image/png"
    np.testing.assert_array_equal(np.asarray(opened(made)), np.asarray(opened(data)))


def test_a_format_that_the_endpoint_does_not_accept_becomes_png():
    made, mime = encoded_image(Image(encoded(noise(), "WEBP", lossless=True)), OWN, ("image/png", "image/jpeg"))
    assert mime == "image/png"
    np.testing.assert_array_equal(np.asarray(opened(made)), np.asarray(noise()))


def test_pixels_pass_through_jpeg_where_the_rule_says_so():
    image = Image(encoded(noise(), "PNG"), rule=ImageRule(format="jpeg:95"))
    expected = opened(encoded(noise(), "JPEG", quality=95))
    np.testing.assert_array_equal(np.asarray(shown_image(image, OWN)), np.asarray(expected))
    local = image.sent
    made, mime = encoded_image(image, OWN, TYPES)
    assert mime == "image/jpeg"
    np.testing.assert_array_equal(np.asarray(opened(made)), np.asarray(expected))
    assert (local.sent["format"], image.sent.sent["format"]) == ("pixels", "jpeg")


def test_pixels_that_no_rule_changes_are_the_decoded_image():
    image = Image(encoded(noise(), "PNG"), rule=ImageRule(format="png"))
    assert shown_image(image, OWN) is image.open()
    first = image.sent
    assert shown_image(image, OWN) is image.open()
    assert image.sent.digest is first.digest  # its pixels are not read again
    assert shown_image(Image(noise()), OWN).size == (80, 60)


def test_equal_pixels_have_equal_digests_whatever_they_came_as():
    parts = [Image(encoded(noise(), "PNG")), Image(encoded(noise(), "BMP")), Image(noise())]
    other = Image(noise(), rule=ImageRule(max_side=40))
    for part in (*parts, other):
        shown_image(part, OWN)
    assert len({part.sent.digest for part in parts}) == 1
    assert other.sent.digest != parts[0].sent.digest


def test_of_an_animation_the_first_frame_is_shown_and_that_is_noted():
    frames = [pil.new("RGB", (16, 12), colour) for colour in ("red", "green", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    image = Image(data)
    made, mime = encoded_image(image, OWN, TYPES)
    note = "It is an animation of 3 frames: the first one was shown."
    assert (mime, opened(made).convert("RGB").getpixel((0, 0)), image.sent.notes) == ("image/png", (255, 0, 0), (note,))
    assert shown_image(Image(data), OWN).getpixel((5, 5)) == (255, 0, 0)


def test_an_image_that_cannot_be_read_is_an_error():
    for show in (lambda part: shown_image(part, OWN), lambda part: encoded_image(part, ImageRule(max_side=9), TYPES)):
        with pytest.raises(DataError, match="image key-7"):
            show(Image(b"\xff\xd8\xff no", key="key-7"))
