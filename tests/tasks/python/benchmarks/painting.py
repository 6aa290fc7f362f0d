"""Image generation: how much of the image has the colour?"""

from PIL import Image

import polymeter

ROWS = [{"colour": "red", "channel": 0}, {"colour": "blue", "channel": 2}]


@polymeter.scorer(bounds=(0, 1))
def coverage(answer: Image.Image, row: polymeter.Row) -> float:
    colours = answer.convert("RGB").getcolors(2**24) or []
    n = sum(n for n, pixel in colours if isinstance(pixel, tuple) and pixel[row["channel"]] > 2 * min(pixel))
    return n / (answer.width * answer.height)


@polymeter.task(rows=ROWS, output="image", scorers=coverage, generation={"size": "64x64"})
def painting(row: polymeter.Row) -> str:
    return f"a {row['colour']} square"
