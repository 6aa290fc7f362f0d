"""Calls of a pipeline in which an image depends only on its own prompt, settings and seed, and not on the rest of the
call.

Kernels round differently for different numbers of rows, which changes a pixel by a level here and there. So every call
has the same number of rows: missing ones are filled with copies, whose images are discarded.

Then rows that share a call do not influence each other, unless a pipeline pads the prompts of a call to the longest of
them. This is tested once, with a short prompt next to copies of itself and next to long ones: if the two images differ,
every row gets a separate call, filled as well, so that pixels do not depend on the outcome of the test.

Every row has its own generator, on the CPU, as Diffusers advises for numbers that do not depend on the device.
Some schedulers draw further noise from torch's global generator, for all rows at once. This shows in that generator's
state after the call: such rows are drawn again, each in a call of its own that begins with the row's seed.

The seed of a row is derived from run, task, sample and number. What affects pixels all the same, such as how many
images one call makes, is part of the model's identity.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from polymeter.core.errors import ModelError, boundary
from polymeter.models.diffusers.index import Role
from polymeter.models.diffusers.rows import ImageRow, call_arguments, call_key
from polymeter.models.memory import within_memory

_LOG = logging.getLogger("polymeter")
_SHORT = "a circle"
_LONG = "two red circles, a blue square and a yellow star on a green table, seen from far above, " * 2

Drawn = tuple[Any, ...] | ModelError
"""The images of one row (nearly always one), or why there are none."""


class Artist:
    """Draws rows with one pipeline.

    Args:
        pipeline: The pipeline, loaded.
        role: Its use here.
        n_rows: How many rows each call has.
    """

    def __init__(self, pipeline: Any, role: Role, n_rows: int) -> None:
        self._pipeline = pipeline
        self._role = role
        self._n_rows = n_rows
        self._is_alone = n_rows == 1
        self._is_tried = n_rows == 1

    def draw(self, rows: Sequence[ImageRow]) -> list[Drawn]:
        """Draw rows that may share a call.

        If a call fails, each of its rows is drawn alone, so that one that cannot be drawn does not fail the others.

        Raises:
            ModelError: if memory ran out (``out_of_memory``).
        """
        may_share = call_key(self._role, rows[0]) is not None
        if may_share and not self._is_tried:
            self._try_sharing(rows[0])
        step = self._n_rows if may_share and not self._is_alone else 1
        return [one for start in range(0, len(rows), step) for one in self._draw_call(rows[start : start + step])]

    def _draw_call(self, rows: Sequence[ImageRow]) -> list[Drawn]:
        try:
            drawn, has_shared = self._call(rows)
        except ModelError as error:
            if error.kind == "out_of_memory":
                raise
            return [error] if len(rows) == 1 else self._one_by_one(rows)
        self._is_alone = self._is_alone or has_shared
        return self._one_by_one(rows) if has_shared and len(rows) > 1 else drawn

    def _try_sharing(self, row: ImageRow) -> None:
        """Test whether an image changes with the other prompts of its call. If the pipeline cannot draw the test's
        prompts, there is no result, and the rows themselves show what is wrong.
        """
        one, other = replace(row, prompt=_SHORT, seed=0), replace(row, prompt=_LONG, seed=1)
        try:
            copies, has_shared = self._call([one] * self._n_rows)
            mixed, _ = self._call([one, *[other] * (self._n_rows - 1)])
        except ModelError as error:
            if error.kind == "out_of_memory":
                raise
            return
        self._is_tried = True
        if has_shared or not _is_same(copies[0], mixed[0]):
            self._is_alone = True
            _LOG.warning(
                "Images of %s depend on the other images of their call, so each is drawn alone. Leave images_per_call "
                "out.",
                self._role.name,
            )

    def _one_by_one(self, rows: Sequence[ImageRow]) -> list[Drawn]:
        return [one for row in rows for one in self._draw_call([row])]

    def _call(self, rows: Sequence[ImageRow]) -> tuple[list[Drawn], bool]:
        """The images of each row, and whether noise was drawn for all of them together."""
        import torch

        n_fill = 0 if call_key(self._role, rows[0]) is None else self._n_rows - len(rows)
        filled = [*rows, *[rows[-1]] * n_fill]
        arguments = call_arguments(self._role, filled)
        generators = [torch.Generator("cpu").manual_seed(row.seed) for row in filled]
        arguments["generator"] = generators if isinstance(arguments["prompt"], list) else generators[0]
        with _seeded(rows[0].seed) as moved, boundary(ModelError, f"The pipeline {self._role.name}"):
            result = self._within_memory(arguments)
            has_shared = moved()
        return _images(result, len(filled), self._role)[: len(rows)], has_shared

    def _within_memory(self, arguments: dict[str, Any]) -> Any:
        try:
            return within_memory(lambda: self._pipeline(**arguments))
        except ModelError as error:
            if self._n_rows > 1 and error.kind == "out_of_memory":
                error.hint = "Use a smaller images_per_call."
            else:
                error.hint = "Use a smaller size or offload=model."
            raise


def _is_same(one: Drawn, other: Drawn) -> bool:
    """Return whether two rows have the same pixels; an image that a safety checker removed equals none."""
    if isinstance(one, ModelError) or isinstance(other, ModelError):
        return False
    return [image.tobytes() for image in one] == [image.tobytes() for image in other]


def _images(result: Any, n_rows: int, role: Role) -> list[Drawn]:
    images = getattr(result, "images", None)
    if not isinstance(images, (list, tuple)) or len(images) != n_rows:
        what = f"{len(images)} images" if isinstance(images, (list, tuple)) else f"a {type(result).__name__}"
        raise ModelError(f"The pipeline {role.name} returned {what}, but {n_rows} images were requested.")
    flags = getattr(result, "nsfw_content_detected", None)
    if flags is None:
        flags = getattr(result, "nsfw_detected", None)
    flags = flags if isinstance(flags, (list, tuple)) and len(flags) == n_rows else [False] * n_rows
    return [
        ModelError("The pipeline's safety checker blacked the image out.", kind="refused")
        if is_flagged
        else tuple(image)
        if isinstance(image, (list, tuple))
        else (image,)
        for image, is_flagged in zip(images, flags, strict=True)
    ]


@contextmanager
def _seeded(seed: int) -> Iterator[Any]:
    """Seed torch's global generators inside the block and restore them afterwards. Yields a function that returns
    whether they were used.
    """
    import torch

    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        before = _states(devices)

        def moved() -> bool:
            return any(not torch.equal(old, new) for old, new in zip(before, _states(devices), strict=True))

        yield moved


def _states(devices: Sequence[int]) -> list[Any]:
    import torch

    return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]
