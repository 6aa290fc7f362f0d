"""Draw the images of the `demo` reading benchmarks and write them as parquet files.

Run by hand, rarely: the files it writes are committed, so neither the tests nor a run of the benchmarks need the fonts.
Every sample draws its random numbers from (seed, benchmark, index), so a sample does not change when another one does.
The same seed gives the same images only with the same versions of Pillow, FreeType and the fonts.
The file is long because it holds the texts to draw as well as the drawing code.

It needs Pillow, numpy, datasets and scikit-image, and the fonts of these Debian packages:

    apt-get install -y fonts-dejavu fonts-liberation fonts-noto-cjk fonts-dkg-handwriting fonts-comic-neue \
        fonts-dancingscript fonts-gnutypewriter fonts-kaushanscript fonts-lobstertwo fonts-lindenhill

Usage:

    python scripts/make_demo_data.py [--out src/polymeter/library/demo/data] [--seed 7]
"""

from __future__ import annotations

import argparse
import io
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFilter, ImageFont

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "demo" / "data"

Row = dict[str, Any]
Colour = tuple[int, int, int]
Ink = int | Colour


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    """Return an installed font; Pillow looks for the file name in the system's font folders."""
    try:
        return ImageFont.truetype(name, size)
    except OSError as error:
        raise SystemExit(f"font {name} is not installed; the docstring of this script lists the packages") from error


def colour(rng: np.random.Generator, low: int, high: int) -> Colour:
    """Draw a colour whose channels lie in [low, high)."""
    red, green, blue = rng.integers(low, high, 3).tolist()
    return red, green, blue


def encode(image: Image.Image, quality: int = 72) -> dict[str, Any]:
    """Return the image as a cell of a Hugging Face `Image` column (JPEG bytes; every image here is grainy)."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True)
    return {"bytes": buffer.getvalue(), "path": None}


def centred(draw: ImageDraw.ImageDraw, x: float, y: float, text: str, face: ImageFont.FreeTypeFont, ink: Ink) -> None:
    """Draw one line of text around a point."""
    draw.text((x, y), checked(face, text), font=face, fill=ink, anchor="mm")


def checked(face: ImageFont.FreeTypeFont, text: str) -> str:
    """Return the text, or raise where the font would draw a box in place of one of its letters."""
    missing = bytes(face.getmask("\uffff"))
    lost = sorted({letter for letter in text if not letter.isspace() and bytes(face.getmask(letter)) == missing})
    if lost:
        raise ValueError(f"{face.getname()} has no glyph for {lost} in {text!r}")
    return text


# Damage: each takes and returns an image of the same size.


def blurred(image: Image.Image, radius: float) -> Image.Image:
    """Blur with a Gaussian of `radius` pixels."""
    return image.filter(ImageFilter.GaussianBlur(radius))


def per_pixel(values: np.ndarray, image: np.ndarray) -> np.ndarray:
    """Shape one number per pixel so that it applies to every colour channel of `image` alike."""
    return values.reshape(values.shape + (1,) * (image.ndim - 2))


def picture(pixels: np.ndarray) -> Image.Image:
    """Return real-valued pixels, cut off at 0 and 255, as an image."""
    return Image.fromarray(np.clip(pixels, 0, 255).astype("uint8"))


def coarse(image: Image.Image, scale: float) -> Image.Image:
    """Lose detail the way a small sensor does: shrink by `scale`, then enlarge again."""
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    small = image.resize(size, Image.Resampling.BOX)
    return small.resize(image.size, Image.Resampling.BICUBIC)


def noisy(image: Image.Image, rng: np.random.Generator, sigma: float) -> Image.Image:
    """Add grain: Gaussian noise of standard deviation `sigma` grey levels, equal in all colour channels."""
    pixels = np.asarray(image, dtype=np.float64)
    return picture(pixels + per_pixel(rng.normal(0.0, sigma, pixels.shape[:2]), pixels))


def faded(image: Image.Image, contrast: float, towards: float = 225.0) -> Image.Image:
    """Pull all grey values towards one value; `contrast` 1 changes nothing, 0 gives a flat image."""
    pixels = np.asarray(image, dtype=np.float64)
    return picture(towards + contrast * (pixels - towards))


def shaded(image: Image.Image, rng: np.random.Generator, depth: float) -> Image.Image:
    """Light the image from one side, so that the far side is darker by the share `depth`."""
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[0 : image.height, 0 : image.width]
    ramp = np.cos(angle) * x / image.width + np.sin(angle) * y / image.height
    light = 1.0 - depth * (ramp - ramp.min()) / np.ptp(ramp)
    pixels = np.asarray(image, dtype=np.float64)
    return picture(pixels * per_pixel(light, pixels))


def glared(image: Image.Image, rng: np.random.Generator, strength: float) -> Image.Image:
    """Add the white reflection of a lamp somewhere in the middle of the image."""
    width, height = image.size
    cx, cy = rng.uniform(0.3, 0.7) * width, rng.uniform(0.35, 0.65) * height
    y, x = np.mgrid[0:height, 0:width]
    spot = strength * np.exp(-(((x - cx) / (0.16 * width)) ** 2 + ((y - cy) / (0.2 * height)) ** 2))
    pixels = np.asarray(image, dtype=np.float64)
    spot = per_pixel(spot, pixels)
    return picture(pixels * (1 - spot) + 255 * spot)


def turned(image: Image.Image, degrees: float, fill: Ink) -> Image.Image:
    """Rotate anticlockwise about the middle; `fill` is the paper that shows in the corners."""
    return image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=fill)


def perspective(
    image: Image.Image, corners: Sequence[tuple[float, float]], size: tuple[int, int]
) -> tuple[Image.Image, Image.Image]:
    """Map the image's corners (from top left, clockwise) to `corners`; return it with the mask of what it covers."""
    source = [(0, 0), (image.width, 0), (image.width, image.height), (0, image.height)]
    rows, right = [], []
    for (x, y), (u, v) in zip(corners, source, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    coefficients = np.linalg.solve(np.array(rows, dtype=np.float64), np.array(right, dtype=np.float64)).tolist()
    warp = (size, Image.Transform.PERSPECTIVE, coefficients, Image.Resampling.BICUBIC)
    return image.transform(*warp), Image.new("L", image.size, 255).transform(*warp)


# Receipts

SHOPS = [
    ("GREEN HILL GROCERY", "14 Mill Lane, Ashbourne"), ("Corner Bakery Otto", "3 Station Road, Linfield"),
    ("THE PAPER LANTERN", "88 Quay Street, Norhaven"), ("Hardware and Home", "21 Foundry Way, Kelby"),
    ("CAFE MERIDIAN", "7 Market Square, Dunmore"), ("Blue Door Books", "52 Chapel Street, Wexcombe"),
    ("FARMHOUSE DELI", "160 Orchard Avenue, Tilden"), ("Sunny Side Garden", "9 Brook End, Marlow Green"),
]  # fmt: skip
GOODS = [
    "Rye bread", "Oat milk 1L", "Bananas", "Cheddar 200g", "Olive oil", "Tomatoes", "Green tea", "Notebook A5",
    "Pencil HB", "Light bulb", "Wood screws", "Potting soil", "Basil plant", "Cappuccino", "Almond cake", "Lemonade",
    "Eggs x12", "Brown rice", "Honey jar", "Sea salt", "Batteries AA", "Postcard", "Apple juice", "Croissant",
]  # fmt: skip
TOTAL_LABELS = ["TOTAL", "Total", "Total due", "AMOUNT DUE", "Grand total", "TO PAY", "Balance due"]
GOODBYES = ["Thank you!", "Please come again", "Have a nice day", "Keep this receipt", "See you soon"]
MONOSPACE = ["DejaVuSansMono.ttf", "LiberationMono-Regular.ttf", "GNUTypewriter.ttf", "DejaVuSansMono-Bold.ttf"]
CURRENCIES = ["$", "", "€", "£"]


def receipt_lines(rng: np.random.Generator, currencies: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    """Return the receipt's lines as (left, right) pairs and its total; a line without a right part is centred."""
    shop, address = SHOPS[rng.integers(len(SHOPS))]
    sign = currencies[int(rng.integers(len(currencies)))]
    comma = sign == "€" and rng.random() < 0.6

    def money(cents: int) -> str:
        return f"{sign}{cents / 100:.2f}".replace(".", "," if comma else ".")

    items = []
    for good in rng.choice(GOODS, size=int(rng.integers(3, 9)), replace=False):
        count = int(rng.choice([1, 1, 1, 2, 3]))
        items.append((f"{count} x {good}" if count > 1 else str(good), count * int(rng.integers(45, 1650))))
    subtotal = sum(cents for _, cents in items)
    tax = round(subtotal * float(rng.choice([0.05, 0.07, 0.19])))
    total = subtotal + tax
    day, month, hour, minute = rng.integers(1, 29), rng.integers(1, 13), rng.integers(8, 20), rng.integers(0, 60)
    lines = [(shop, ""), (address, ""), (f"2024-{month:02d}-{day:02d} {hour:02d}:{minute:02d}", "")]
    lines += [(name, money(cents)) for name, cents in items]
    lines += [("Subtotal", money(subtotal)), ("Tax", money(tax))]
    lines.append((TOTAL_LABELS[rng.integers(len(TOTAL_LABELS))], money(total)))
    if rng.random() < 0.5:
        paid = -(-total // 1000) * 1000
        lines += [("Cash", money(paid)), ("Change", money(paid - total))]
    else:
        lines.append((f"Card **** {rng.integers(1000, 10000)}", money(total)))
    lines.append((GOODBYES[rng.integers(len(GOODBYES))], ""))
    return lines, f"{total / 100:.2f}"


def receipt(rng: np.random.Generator, index: int) -> Row:
    """Draw a receipt on a narrow strip of paper: amounts flush right, the head and the goodbye centred."""
    typeface = MONOSPACE[index % len(MONOSPACE)]
    lines, total = receipt_lines(rng, CURRENCIES[:2] if typeface == "GNUTypewriter.ttf" else CURRENCIES)
    condition = ["clean", "faded", "tilted", "coarse", "shaded", "small print"][index % 6]
    size = 11 if condition == "small print" else 14
    face = font(typeface, size)
    pitch, width = size + 7, max(260, round(face.getlength("0" * 31)) + 40)
    paper = Image.new("L", (width, pitch * (len(lines) + 3) + 20), 246)
    draw = ImageDraw.Draw(paper)
    y = 28
    for position, (left, right) in enumerate(lines):
        if right:
            draw.text((20, y), checked(face, left), font=face, fill=30, anchor="lm")
            draw.text((width - 20, y), checked(face, right), font=face, fill=30, anchor="rm")
        else:
            centred(draw, width / 2, y, left, face, 30)
        y += pitch * 3 // 2 if position in (2, len(lines) - 2) else pitch
    if condition == "faded":
        paper = blurred(faded(paper, 0.26), 0.8)
    elif condition == "tilted":
        paper = blurred(turned(paper, float(rng.choice([-1, 1])) * rng.uniform(1.2, 2.4), 246), 0.6)
    elif condition == "coarse":
        paper = coarse(paper, 0.52)
    elif condition == "shaded":
        paper = blurred(shaded(paper, rng, 0.6), 1.2)
    paper = noisy(paper, rng, {"clean": 3, "faded": 9, "shaded": 9}.get(condition, 6))
    text = "\n".join(f"{left} {right}".strip() for left, right in lines)
    return {"image": encode(paper), "text": text, "total": total, "condition": condition}


# Signs: "|" starts a new line on the sign.

SIGNS = [
    "NO PARKING", "EXIT", "Mind the|step", "Harbour Street", "CAUTION|WET FLOOR", "Platform 7", "Café Luna",
    "OPEN|9 - 18", "Fresh bread|every day", "PUSH", "Library|2nd floor", "Bicycles only", "SLOW|School zone",
    "Ticket office", "Old Bridge|1.5 km", "Keep left", "Lost and found", "Beach 300 m", "Staff only",
    "Room 214|Seminar", "DETOUR|ROUTE 66", "Please ring|the bell", "Speed limit 30", "Rue du Marché",
    "Bus 42|Airport", "Quiet please", "Picnic area", "Gate B17|Boarding 10:45", "Pottery|workshop",
    "Boat hire|12.50 per hour", "Hotel Alpenblick", "Do not feed|the ducks", "Water 8.00", "Museum of|Clocks",
    "TOWN HALL", "Caution|low ceiling", "North entrance", "Flower market|Sat 7 - 13", "Señor Pérez|Zapatería",
    "Trail closed", "Lift|out of order", "Tea & Cakes", "Ring road|A 109", "Wash your hands", "Danger|deep water",
    "Parcel pick-up", "Menu of the day|14.90", "Fire door|keep shut",
]  # fmt: skip
SIGN_FONTS = [
    "DejaVuSans-Bold.ttf", "LiberationSans-Bold.ttf", "LiberationSansNarrow-Bold.ttf", "DejaVuSerif-Bold.ttf",
    "LobsterTwo-Bold.otf", "ComicNeue-Bold.otf", "KaushanScript-Regular.otf", "LiberationSerif-BoldItalic.ttf",
]  # fmt: skip
SIGN_COLOURS: list[tuple[Colour, Colour]] = [
    ((20, 90, 50), (245, 245, 240)), ((250, 205, 40), (25, 25, 25)), ((170, 25, 30), (250, 240, 235)),
    ((30, 60, 140), (240, 245, 250)), ((240, 238, 225), (40, 40, 60)), ((90, 55, 30), (235, 215, 170)),
    ((60, 60, 65), (250, 170, 60)), ((150, 200, 210), (20, 50, 90)), ((200, 120, 90), (250, 225, 190)),
]  # fmt: skip
SIGN_CONDITIONS = ["clean", "blur", "noise", "glare", "dark", "coarse", "steep", "everything"]


def wall(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    """Return a coloured, slightly mottled background with some darker bars, so that the sign is not alone."""
    width, height = size
    patches = rng.normal(0, 9, (height // 24 + 1, width // 24 + 1, 1))
    background = picture(rng.uniform(90, 180) + rng.uniform(-25, 25, 3) + patches)
    background = background.resize(size, Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(background)
    for _ in range(3):
        x, thick = int(rng.integers(0, width)), int(rng.integers(3, 14))
        draw.rectangle((x, 0, x + thick, height), fill=colour(rng, 40, 120))
    return background


def sign(rng: np.random.Generator, index: int) -> Row:
    """Draw a sign straight on, hang it askew before a wall, and photograph it badly."""
    lines = SIGNS[index].split("|")
    condition = SIGN_CONDITIONS[(index + index // 8) % 8]
    face = font(SIGN_FONTS[index % len(SIGN_FONTS)], 46)
    ground, ink = SIGN_COLOURS[index % len(SIGN_COLOURS)]
    width, height = round(max(face.getlength(line) for line in lines)) + 70, 62 * len(lines) + 50
    panel = Image.new("RGB", (width, height), ground)
    draw = ImageDraw.Draw(panel)
    draw.rounded_rectangle((7, 7, width - 8, height - 8), radius=14, outline=ink, width=4)
    for position, line in enumerate(lines):
        centred(draw, width / 2, 56 + 62 * position, line, face, ink)

    scale = min(300 / width, 170 / height, 1.0)
    half_w, half_h = width * scale / 2, height * scale / 2
    jitter = {"clean": 0.03, "steep": 0.26, "everything": 0.12}.get(condition, 0.08)
    turn = np.deg2rad(rng.uniform(-1, 1) * {"clean": 3, "steep": 16}.get(condition, 9))
    corners = []
    for x, y in ((-half_w, -half_h), (half_w, -half_h), (half_w, half_h), (-half_w, half_h)):
        x, y = x * (1 - rng.uniform(0, jitter)), y * (1 - rng.uniform(0, 2 * jitter))
        corners.append((180 + x * np.cos(turn) - y * np.sin(turn), 135 + x * np.sin(turn) + y * np.cos(turn)))
    size = (360, 270)
    warped, mask = perspective(panel, corners, size)
    scene = Image.composite(warped, wall(rng, size), mask)

    if condition == "blur":
        scene = blurred(scene, rng.uniform(2.0, 3.6))
    elif condition == "noise":
        scene = noisy(scene, rng, rng.uniform(50, 80))
    elif condition == "glare":
        scene = glared(scene, rng, rng.uniform(0.75, 0.9))
    elif condition == "dark":
        scene = noisy(faded(scene, rng.uniform(0.13, 0.2), towards=20), rng, 9)
    elif condition == "coarse":
        scene = coarse(scene, rng.uniform(0.15, 0.22))
    elif condition == "everything":
        scene = noisy(coarse(glared(scene, rng, 0.6), 0.35), rng, 16)
    scene = noisy(blurred(scene, 0.5), rng, 3)
    return {"image": encode(scene), "text": "\n".join(lines), "condition": condition}


# Tables: header, names (the cells marked "*"), and how to fill a row.

TABLES: list[tuple[list[str], list[str], Callable[[np.random.Generator], list[str]]]] = [
    (["Train", "To", "Departs", "Track"], ["Norhaven", "Kelby", "Ashbourne", "Linfield", "Tilden", "Dunmore"],
     lambda r: [f"IC {r.integers(100, 999)}", "*", f"{r.integers(5, 24):02d}:{r.integers(60):02d}",
                str(r.integers(1, 13))]),
    (["Fruit", "Price", "Stock"], ["Apples", "Plums", "Quinces", "Pears", "Walnuts", "Figs", "Cherries"],
     lambda r: ["*", f"{r.uniform(0.8, 9):.2f}", f"{r.integers(4, 950)} kg"]),
    (["City", "Jan", "Apr", "Jul", "Oct"],
     ["Aldmere", "Brookvale", "Cransby", "Elverton", "Fenwick", "Greyport", "Hollin"],
     lambda r: ["*", *(f"{v:.1f}" for v in r.uniform(-9, 31, 4))]),
    (["Sample", "Mass (mg)", "pH", "Result"], ["A-17", "A-18", "B-03", "B-11", "C-29", "C-30", "D-08"],
     lambda r: ["*", f"{r.uniform(1, 99):.3f}", f"{r.uniform(3, 11):.1f}", str(r.choice(["pass", "fail", "repeat"]))]),
    (["Team", "Won", "Lost", "Points"], ["Herons", "Badgers", "Otters", "Falcons", "Moles", "Swifts"],
     lambda r: ["*", *(str(v) for v in r.integers(10, 30, 2)), str(r.integers(30, 99))]),
    (["Part no.", "Name", "Qty"], ["Hinge", "Bracket", "Washer", "Spring", "Bolt M6", "Gasket", "Hose clip"],
     lambda r: [f"{r.integers(10, 99)}-{r.integers(1000, 9999)}", "*", str(r.integers(1, 500))]),
]  # fmt: skip
TABLE_FONTS = ["DejaVuSans.ttf", "LiberationSerif-Regular.ttf", "LiberationSans-Regular.ttf", "DejaVuSerif.ttf"]
TABLE_CONDITIONS = ["clean", "tiny", "tilted", "coarse", "faded", "blurred"]


def table(rng: np.random.Generator, index: int) -> Row:
    """Draw a table as a grid, with shaded rows or with rules only; its text goes row by row, cells apart by a space."""
    header, names, make_row = TABLES[index % len(TABLES)]
    chosen = rng.choice(names, size=int(rng.integers(4, 7)), replace=False)
    rows = [header] + [[str(name) if cell == "*" else cell for cell in make_row(rng)] for name in chosen]
    condition = TABLE_CONDITIONS[(index + index // 6) % 6]
    style = ["grid", "zebra", "rules"][index // 2 % 3]
    size = 9 if condition == "tiny" else 15
    face = font(TABLE_FONTS[index % len(TABLE_FONTS)], size)
    pad = size
    widths = [round(max(face.getlength(row[c]) for row in rows)) + 2 * pad for c in range(len(header))]
    pitch, left, top = size + 12, 24, 22
    right, bottom = left + sum(widths), top + pitch * len(rows)
    sheet = Image.new("L", (right + 24, bottom + 22), 250)
    draw = ImageDraw.Draw(sheet)
    for r, row in enumerate(rows):
        y, x = top + pitch * r, left
        if r == 0 or (style == "zebra" and r % 2 == 0):
            draw.rectangle((left, y, right, y + pitch), fill=200 if r == 0 else 230)
        for c, cell in enumerate(row):
            draw.text((x + pad, y + pitch / 2), checked(face, cell), font=face, fill=20, anchor="lm")
            if style == "grid":
                draw.rectangle((x, y, x + widths[c], y + pitch), outline=90)
            x += widths[c]
        if style == "rules":
            draw.line((left, y + pitch, right, y + pitch), fill=120, width=2 if r == 0 else 1)
    if condition == "tilted":
        sheet = blurred(turned(sheet, float(rng.choice([-1, 1])) * rng.uniform(1.0, 2.0), 250), 0.6)
    elif condition == "coarse":
        sheet = coarse(sheet, 0.48)
    elif condition == "faded":
        sheet = shaded(faded(sheet, 0.22), rng, 0.3)
    elif condition == "blurred":
        sheet = blurred(sheet, 1.6)
    sheet = noisy(sheet, rng, 3 if condition == "clean" else 7)
    text, cells = "\n".join(" ".join(row) for row in rows), [cell for row in rows for cell in row]
    return {"image": encode(sheet), "text": text, "cells": cells, "condition": condition}


# The scanned page: for each of its lines, the text and the y of the letters' foot at x = 0, 96, 192, 288, 383. Both
# were read off the scan by eye. The line cut off by the lower edge is left out.

PAGE_LINES: list[tuple[str, tuple[int, int, int, int, int]]] = [
    ("Region-based segmentation", (31, 31, 31, 31, 30)),
    ("Let us first determine markers of the coins and the", (60, 61, 62, 61, 60)),
    ("background. These markers are pixels that we can label", (77, 79, 80, 79, 77)),
    ("unambiguously as either object or background. Here,", (94, 97, 98, 96, 94)),
    ("the markers are found at the two extreme parts of the", (111, 114, 115, 114, 111)),
    ("histogram of grey values:", (127, 131, 132, 131, 128)),
    (">>> markers = np.zeros_like(coins)", (179, 182, 186, 188, 189)),
]
# (first line, last line, left x, right x, words of the line or None for all of it)
PAGE_REGIONS: list[tuple[int, int, int, int, str | None]] = [
    (0, 0, 0, 310, None), (0, 0, 0, 147, "Region-based"), (0, 0, 146, 310, "segmentation"),
    (1, 1, 0, 384, None), (1, 1, 0, 163, "Let us first determine"), (1, 1, 163, 384, "markers of the coins and the"),
    (2, 2, 0, 384, None), (2, 2, 0, 190, "background. These markers"), (2, 2, 190, 384, "are pixels that we can label"),
    (3, 3, 0, 384, None), (3, 3, 0, 177, "unambiguously as either"), (3, 3, 177, 384, "object or background. Here,"),
    (4, 4, 0, 384, None), (4, 4, 0, 156, "the markers are found"), (4, 4, 156, 298, "at the two extreme"),
    (5, 5, 0, 180, None), (6, 6, 12, 250, None), (1, 2, 0, 384, None), (2, 3, 0, 384, None), (4, 5, 0, 384, None),
    (1, 5, 0, 384, None), (3, 5, 0, 384, None), (0, 5, 0, 384, None), (1, 3, 0, 384, None),
]  # fmt: skip
PAGE_CONDITIONS = ["scan", "faded", "noise", "blur", "coarse"]


def page_region(region: tuple[int, int, int, int, str | None]) -> tuple[Image.Image, str]:
    """Cut a region out of the page, straightened along the foot of its first line, twice enlarged; return its text."""
    first, last, left, right, words = region
    page = skimage.data.page().astype(np.float64)
    knots = (0, 96, 192, 288, 383)
    feet = [np.interp(np.arange(page.shape[1]), knots, PAGE_LINES[line][1]) for line in (first, last)]
    above = 25 if first == 0 else 13
    depth = above + float((feet[1] - feet[0])[left:right].max()) + (8 if last == 0 else 5)
    rows = np.arange(0, depth)
    columns = []
    for x in range(left, right):
        columns.append(np.interp(feet[0][x] - above + rows, np.arange(page.shape[0]), page[:, x]))
    crop = picture(np.stack(columns, axis=1).round())
    text = words or "\n".join(line for line, _ in PAGE_LINES[first : last + 1])
    return crop.resize((crop.width * 2, crop.height * 2), Image.Resampling.BICUBIC), text


def page(rng: np.random.Generator, index: int) -> Row:
    """Cut one region out of the scanned page, as it is or made worse."""
    image, text = page_region(PAGE_REGIONS[index % len(PAGE_REGIONS)])
    condition = PAGE_CONDITIONS[(index + 2 * (index // len(PAGE_REGIONS))) % len(PAGE_CONDITIONS)]
    if condition == "faded":
        image = noisy(faded(image, 0.3), rng, 4)
    elif condition == "noise":
        image = noisy(image, rng, 28)
    elif condition == "blur":
        image = blurred(image, 2.0)
    elif condition == "coarse":
        image = coarse(image, 0.36)
    return {"image": encode(image), "text": text, "condition": condition}


# Short texts in several typefaces and scripts

SCRIPTS: list[tuple[str, list[str], list[str]]] = [
    ("handwriting",
     ["dkg.ttf", "dkgIt.ttf", "DancingScript-Regular.otf", "KaushanScript-Regular.otf"],
     ["Buy milk and two lemons", "Call Aunt Rosa at 6 pm", "The key is under the pot", "See you on Thursday!",
      "Water the ferns twice", "Back in ten minutes", "Train leaves at 7:52", "Happy birthday, Jonas",
      "Meet at the old pier", "Recipe: 3 eggs, 1 cup flour"]),
    ("italic",
     ["LiberationSerif-Italic.ttf", "LindenHill-Italic.otf", "LobsterTwo-Italic.otf", "ComicNeue-BoldItalic.otf"],
     ["A slow river remembers", "Notes from a small island", "Volume II, chapter 19", "The clockmaker's garden",
      "Winter wheat and barley", "Of moths, mills and moonlight", "Printed in two colours",
      "Second edition, revised"]),
    ("accents",
     ["DejaVuSerif.ttf", "LiberationSans-Regular.ttf", "GNUTypewriter.ttf"],
     ["Crème brûlée à la carte", "Straße der Brüder 12", "Mañana por la tarde", "Ça va très bien, merci",
      "Smörgåsbord på fredag", "Pão de açúcar e café", "Über den Flüssen"]),
    ("digits",
     ["DejaVuSansMono.ttf", "LiberationSerif-Bold.ttf", "LiberationMono-Italic.ttf"],
     ["0471 88 20 365", "4 8 15 16 23 42", "1,048,576", "3.14159265", "2024-02-29 23:59", "(7 + 5) x 12 = 144",
      "IBAN 0093 7441 5208"]),
    ("chinese",
     ["NotoSansCJK-Regular.ttc", "NotoSerifCJK-Regular.ttc", "NotoSansCJK-Bold.ttc"],
     ["小心地滑", "图书馆二楼", "今日特价 八折", "请勿吸烟", "北京南站 12号口", "热豆浆 每杯三元",
      "营业时间 9:00-21:00", "春眠不觉晓", "下一站人民广场", "欢迎光临"]),
    ("japanese",
     ["NotoSansCJK-Regular.ttc", "NotoSerifCJK-Regular.ttc"],
     ["おはようございます", "本日のおすすめ", "東京駅まで 320円", "ありがとう", "コーヒー 一杯"]),
]  # fmt: skip


def script(rng: np.random.Generator, index: int) -> Row:
    """Draw a short text on a card, slightly turned; handwriting stands on ruled paper."""
    kind, faces, text = [(k, f, t) for k, f, texts in SCRIPTS for t in texts][index]
    condition = ["clean", "grainy", "soft", "coarse"][index % 4]
    face = font(faces[index % len(faces)], 30)
    width = max(240, round(face.getlength(text)) + 80)
    ground, ink = colour(rng, 205, 256), colour(rng, 10, 90)
    card = Image.new("RGB", (width, 130), ground)
    draw = ImageDraw.Draw(card)
    if kind == "handwriting":
        for y in (20, 50, 80, 110):
            draw.line((0, y, width, y), fill=(ground[0] - 45, ground[1] - 45, ground[2] - 45))
    centred(draw, width / 2, 65, text, face, ink)
    card = turned(card, rng.uniform(-4, 4), ground)
    if condition == "grainy":
        card = noisy(faded(card, 0.6), rng, 30)
    elif condition == "soft":
        card = blurred(card, rng.uniform(1.8, 2.6))
    elif condition == "coarse":
        card = noisy(coarse(card, rng.uniform(0.3, 0.4)), rng, 6)
    return {"image": encode(card), "text": text, "kind": kind, "condition": condition}


# name: (how to draw one sample, number of samples, its columns beside id, image, text and condition)
BENCHMARKS: dict[str, tuple[Callable[[np.random.Generator, int], Row], int, list[str]]] = {
    "receipts": (receipt, 24, ["total"]),
    "signs": (sign, len(SIGNS), []),
    "tables": (table, 24, ["cells"]),
    "page": (page, 36, []),
    "scripts": (script, sum(len(texts) for _, _, texts in SCRIPTS), ["kind"]),
}


def write(name: str, out: Path, seed: int) -> Path:
    """Draw one benchmark and write `<out>/<name>.parquet`, with the features that make `datasets` decode the images."""
    import datasets

    draw, count, extra = BENCHMARKS[name]
    rows = []
    for index in range(count):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), index])
        rows.append({"id": f"{name}-{index:03d}"} | draw(rng, index))
    columns: dict[str, Any] = dict.fromkeys(["id", "image", "text", *extra, "condition"], datasets.Value("string"))
    columns["image"] = datasets.Image()
    if "cells" in columns:
        columns["cells"] = datasets.List(datasets.Value("string"))
    path = out / f"{name}.parquet"
    datasets.Dataset.from_list(rows, features=datasets.Features(columns)).to_parquet(path)
    return path


def main() -> None:
    """Write all benchmarks and say how large each file is."""
    parser = argparse.ArgumentParser(description="Draw the demo benchmarks' images and write them as parquet files.")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, (_, count, _) in BENCHMARKS.items():
        path = write(name, options.out, options.seed)
        sys.stdout.write(f"{path.name}: {count} samples, {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
