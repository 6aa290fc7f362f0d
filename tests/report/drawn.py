"""A synthetic run of generated images for the tests of reports: several from one prompt, edits with a reference, a
refusal, strings that want to run.
"""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image

from tests.helpers.openai_stub import png
from tests.report.synthetic import HOSTILE, SyntheticRun, result, sample, task

N_DRAWN = 6


def drawing(
    prompt: str, files: list[str], *, seeds: list[int], inputs: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """One exchange as the export writes it."""
    shown = [{"image": {"width": 40, "height": 30, "file": file}} for file in inputs]
    outputs = [{"images": [file]} for file in files]
    for output, note in zip(outputs, notes, strict=False):
        output["note"] = note  # type: ignore[assignment]
    return {
        "role": "model",
        "request": {
            "messages": [{"role": "user", "parts": [*shown, {"text": prompt}]}],
            "ask": {"kind": "generate_image", "size": [40, 30], "n": len(files), "seeds": seeds},
        },
        "response": {"outputs": outputs, "latency_ms": 2130.0},
    }


class DrawnRun(SyntheticRun):
    """Everything that ``make_html_report`` takes."""

    def __init__(self) -> None:
        super().__init__(n_receipts=4)
        self.files = {}
        self.by_task = {"paint": [self._painted(i) for i in range(N_DRAWN)], "edits": [self._edited()]}
        counted = {"stderr": 0.1, "interval": [0.4, 0.9], "stderr_method": "mean"}
        self.results = {
            **self.results,
            "tasks": {
                "paint": task(
                    "Paint", [result("right", 0.66, 5, **counted), result("fid", 12.5, 5)], N_DRAWN, n_scored=5
                ),
                "edits": task("Edits", [result("psnr", 22.5, 1)], 1),
            },
            "groups": {},
            "layout": [["task", "paint", 0], ["task", "edits", 0]],
            "notes": ["Paint computes fid from all answers together, so there is no interval."],
        }

    def _image(self, name: str, colour: Any) -> str:
        self.files[name] = png(colour, (40, 30))
        return name

    def _painted(self, number: int) -> dict[str, Any]:
        if number == N_DRAWN - 1:
            error = {"kind": "refused", "message": "The endpoint's filter declined: <b>no</b>"}
            return sample(number, status="refused", error=error, target=None, answer=None, scores=[])
        files = [self._image(f"p{number}{j}.png", (40 * number, 80 * j, 99)) for j in range(3)]
        seeds = [1000 * number + j for j in range(3)]
        return sample(
            number,
            target=None,
            answer=None,
            explanation=f"two discs found, two wanted {HOSTILE[number % len(HOSTILE)]}",
            scores=[{"metric": "right", "filter": "none", "value": number / 4}],
            exchanges=[drawing(f"prompt {number} {HOSTILE[0]}", files, seeds=seeds, notes=(HOSTILE[2],))],
        )

    def _edited(self) -> dict[str, Any]:
        before, after, reference = (self._image(f"{name}.png", name) for name in ("red", "blue", "navy"))
        return sample(
            0,
            target=None,
            answer=None,
            explanation="PSNR 22.50 dB",
            scores=[{"metric": "psnr", "filter": "none", "value": 22.5}],
            log={"reference": {"image": {"width": 40, "height": 30, "file": reference}}, "steps": 4},
            exchanges=[drawing("make it blue", [after], seeds=[77], inputs=(before,))],
        )


def as_image(uri: str) -> Image.Image:
    """The image in a data URI."""
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
