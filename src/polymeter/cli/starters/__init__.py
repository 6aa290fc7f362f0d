"""Starters: small benchmarks and models that run at once, for ``polymeter init``.

Those of Polymeter's own formats are here, each a folder of files; those of a system are in its record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.systems import Starter, load, package_folder, systems

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = "polymeter.cli.starters"
_ENDING = ".txt"
_IMAGES = tuple(
    f"images/{name}.png"
    for name in ("red-circle", "blue-square", "green-triangles", "yellow-circles", "black-square", "orange-triangle")
)
_GOLD = "run --model mock --model-args mode=gold --tasks"
_OWN: Mapping[str, Starter] = {
    "vqa": Starter(
        "questions about images, in YAML over a folder of images with a CSV",
        f"{_HERE}:vqa",
        ("check {folder}/{name}.yaml", f"{_GOLD} {{folder}}/{{name}}.yaml"),
        f"{_HERE}.drawing:draw_shapes",
        _IMAGES,
    ),
    "python": Starter(
        "questions about images, in Python",
        f"{_HERE}:python",
        ("check {folder}/{name}.py", f"{_GOLD} {{folder}}/{{name}}.py"),
        f"{_HERE}.drawing:draw_shapes",
        _IMAGES,
    ),
    "mcq": Starter(
        "multiple choice with images, as a table",
        f"{_HERE}:mcq",
        ("check {folder}/{name}.tsv", f"{_GOLD} {{folder}}/{{name}}.tsv"),
        f"{_HERE}.drawing:draw_shapes",
        _IMAGES,
    ),
    "t2i": Starter(
        "images from prompts, as a table; scoring needs the extra image-metrics",
        f"{_HERE}:t2i",
        ("check {folder}/{name}.tsv", "run --model shapes --tasks {folder}/{name}.tsv"),
    ),
    "judge": Starter(
        "free answers that a judge compares with a reference",
        f"{_HERE}:judge",
        ("check {folder}/{name}.yaml", f"{_GOLD} {{folder}}/{{name}}.yaml --judge mock --judge-args answer=A"),
    ),
    "multi-round": Starter(
        "several rounds: the benchmark replies to the model",
        f"{_HERE}:multi_round",
        ("check {folder}/{name}.yaml", f"{_GOLD} {{folder}}/{{name}}.yaml"),
    ),
    "model": Starter(
        "a model of your own, in Python",
        f"{_HERE}:model",
        ("run --import {folder}/{name}.py --model {name} --tasks demo_vlm_choice",),
    ),
}


def starters() -> dict[str, Starter]:
    """Return every kind: Polymeter's own, and those of systems, which cannot replace them."""
    known = dict(_OWN)
    for system in systems():
        for kind, starter in system.starters.items():
            known.setdefault(kind, starter)
    return known


def starter_of(kind: str) -> Starter:
    """The starter of a kind.

    Raises:
        PlanError: if there is no such kind.
    """
    known = starters()
    if kind not in known:
        listed = "\n  ".join(f"--kind {name:<14} {starter.summary}" for name, starter in known.items())
        hint = f"{did_you_mean(kind, known)}\n  {listed}".lstrip()
        raise PlanError(f"There is no kind {kind!r}." if kind else "No kind is named.", where="--kind", hint=hint)
    return known[kind]


def name_for(folder: Path) -> str:
    """Return the name of a benchmark or model in a folder: the folder's name, as Python can spell it."""
    words = re.sub(r"\W+", "_", folder.resolve().name.lower(), flags=re.ASCII).strip("_")
    return words if words[:1].isalpha() else f"my_{words}".rstrip("_")


def write_starter(starter: Starter, folder: Path) -> list[Path]:
    """Write a starter into a folder, which is made if necessary.

    Returns:
        The written files.

    Raises:
        PlanError: if a file exists already (nothing is written then), or the folder cannot be written.
    """
    name = name_for(folder)
    texts = {folder / place: text for place, text in _filled_files(starter, name).items()}
    images = [folder / image for image in starter.images]
    draw = cast("Callable[[Path], None]", load(starter.draw)) if starter.draw else None
    write_new(texts, images, None if draw is None else lambda: draw(folder))
    return [*texts, *images]


def write_new(
    texts: Mapping[Path, str], others: Sequence[Path] = (), write_others: Callable[[], None] | None = None
) -> None:
    """Write files that do not exist.

    Args:
        texts: Texts by their files.
        others: Further files, which must not exist either.
        write_others: Writes them.

    Raises:
        PlanError: if a file exists (nothing is written then), or cannot be written.
    """
    existing = [str(file) for file in (*texts, *others) if file.exists() or file.is_symlink()]
    if existing:
        raise PlanError(
            "Nothing is written, because files exist already.",
            where=", ".join(existing),
            hint="Name another folder, or move them away.",
        )
    try:
        for file, text in texts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8", newline="\n") as opened:
                opened.write(text)
        if write_others is not None:
            write_others()
    except OSError as error:
        where = str(error.filename or next(iter(texts)).parent)
        raise PlanError(f"The files cannot be written: {error.strerror or error}.", where=where) from None


def _filled_files(starter: Starter, name: str) -> dict[str, str]:
    """The files of a starter: place below its folder → text."""
    package, _, place = starter.files.partition(":")
    home = package_folder(package) / place
    class_name = "".join(word.capitalize() for word in name.split("_"))

    def filled(text: str) -> str:
        return text.replace("@NAME@", name).replace("@CLASS@", class_name)

    return {
        filled(file.relative_to(home).as_posix().removesuffix(_ENDING)): filled(file.read_text(encoding="utf-8"))
        for file in sorted(home.rglob(f"*{_ENDING}"))
    }
