"""Writes prediction and score files of VLMEvalKit on made data: ``python -m conformance.logs.make_vlmeval FOLDER``.

It runs where ``ms-vlmeval`` is installed, a copy of VLMEvalKit on the package index. Packages that only its other
models and benchmarks import need not be there.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import sys
import tempfile
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from conformance.logs.cleaning import keep

ABSENT = {"accelerate", "decord", "qwen_vl_utils", "torchvision", "transformers"}

MCQ = [
    (0, "Which colour has the sky?", ("green", "blue", "red"), "B", "B", "nature"),
    (1, "Which colour has grass?", ("green", "blue", "red"), "A", "The answer is A.", "nature"),
    (2, "Which colour has blood?", ("green", "blue", "red"), "C", "A", "body"),
    (3, "Which colour has a banana?", ("green", "yellow", "red"), "B", None, "food"),
    (4, "Which colour has snow?", ("white", "blue", "red"), "A", "I cannot tell.", "nature"),
]
ROTATED = [
    (0, "Which colour has the sky?", ("green", "blue"), "B", "B"),
    (1_000_000, "Which colour has the sky?", ("blue", "green"), "A", "A"),
    (1, "Which colour has grass?", ("green", "blue"), "A", "A"),
    (1_000_001, "Which colour has grass?", ("blue", "green"), "B", "A"),
]
VQA = [
    (0, "How many moons has the earth?", "1", "1"),
    (1, "How many moons has Mars?", "2", "two"),
    (2, "Which planet has rings?", "Saturn", "saturn"),
    (3, "Which planet is the largest?", "Jupiter", "Earth"),
]
YES_NO = [
    (0, "Is the sky blue?", "Yes", "Yes, it is."),
    (1, "Is grass red?", "No", "Yes"),
    (2, "Is snow white?", "Yes", "Maybe"),
]
"""Rows with what the model says last but for the category; ``None``: it fails."""


class _Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})

    def __call__(cls, *args, **_):
        return args[0] if args and callable(args[0]) else _Anything("absent", (), {})


class _AbsentModule(ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})


class _AbsentFinder(MetaPathFinder, Loader):
    """Empty modules in place of packages that nothing here uses."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in ABSENT else None

    def create_module(self, spec):
        return _AbsentModule(spec.name)

    def exec_module(self, module):
        pass


def write_tables(folder: Path) -> None:
    """The benchmarks as tables."""
    import pandas as pd
    from PIL import Image

    buffer = io.BytesIO()
    Image.effect_noise((8, 8), 50).save(buffer, "PNG")
    image = base64.b64encode(buffer.getvalue()).decode()
    letters = "ABC"
    mcq = [
        {
            "index": i,
            "image": image,
            "question": question,
            **dict(zip(letters, options, strict=False)),
            "answer": answer,
            "category": kind,
        }
        for i, question, options, answer, _, kind in MCQ
    ]
    rotated = [
        {
            "index": i,
            "image": image,
            "question": question,
            **dict(zip(letters, options, strict=False)),
            "answer": answer,
        }
        for i, question, options, answer, _ in ROTATED
    ]
    others = {
        name: [{"index": i, "image": image, "question": question, "answer": answer} for i, question, answer, _ in rows]
        for name, rows in (("planets_GQA", VQA), ("truths", YES_NO))
    }
    for name, rows in {"colours": mcq, "colours_circular": rotated, **others}.items():
        pd.DataFrame(rows).to_csv(folder / f"{name}.tsv", sep="\t", index=False)


def main(target: Path) -> None:
    """Write the tables, and the files of runs that write Excel and text."""
    work = Path(tempfile.mkdtemp())
    (work / "data").mkdir()
    os.environ["LMUData"] = str(work / "data")  # noqa: SIM112  (its name is VLMEvalKit's)
    sys.meta_path.append(_AbsentFinder())
    write_tables(work / "data")

    import vlmeval.dataset
    from vlmeval import run
    from vlmeval.api.base import BaseAPI
    from vlmeval.config import supported_VLM
    from vlmeval.dataset.image_vqa import ImageVQADataset
    from vlmeval.dataset.image_yorn import ImageYORNDataset

    class Planets(ImageVQADataset):
        DATASET_URL: ClassVar[dict[str, str]] = {"planets_GQA": ""}
        DATASET_MD5: ClassVar[dict[str, str]] = {}

    class Truths(ImageYORNDataset):
        DATASET_URL: ClassVar[dict[str, str]] = {"truths": ""}
        DATASET_MD5: ClassVar[dict[str, str]] = {}

    vlmeval.dataset.DATASET_CLASSES[:0] = [Planets, Truths]
    said = {}
    for row in (*MCQ, *ROTATED):
        said[row[1], row[2]] = row[4]
    for row in (*VQA, *YES_NO):
        said[row[1], ()] = row[3]

    class Speaker(BaseAPI):
        is_api = True

        def generate_inner(self, inputs, **kwargs):
            text = "".join(part["value"] for part in inputs if part["type"] == "text")
            question = next(
                key for key in sorted(said, key=lambda key: -len(key[1]))
                if key[0] in text
                and all(f"{letter}. {option}" in text for letter, option in zip("ABC", key[1], strict=False))
            )  # fmt: skip
            answer = said[question]
            return (0, answer, "ok") if answer is not None else (-1, self.fail_msg, "gone")

    supported_VLM["speaker"] = lambda **_: Speaker(retry=1, wait=0, verbose=False)
    all_of_them = ["colours", "colours_circular", "planets_GQA", "truths"]
    for form, datasets in (("xlsx", all_of_them), ("tsv", ["colours", "truths"])):
        os.environ["PRED_FORMAT"] = form
        flags = ["--model", "speaker", "--judge", "exact_matching", "--api-nproc", "1", "--work-dir", str(work / form)]
        sys.argv = ["run.py", "--data", *datasets, *flags]
        run.run_local_mode(run.parse_args())
    keep(work, target, lambda path: path.suffix in (".log", ".png"))
    shutil.rmtree(work)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
