"""Reads exported tables with VLMEvalKit's own code, where ``ms-vlmeval`` is installed, and lets it score the answers
again: ``python read_vlmevalkit.py FOLDER``.

The tables of its datasets lie in ``FOLDER/../tables``. Packages that only its models import need not be there.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

ABSENT = {"accelerate", "decord", "qwen_vl_utils", "torchvision", "transformers"}


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
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in ABSENT else None

    def create_module(self, spec):
        return _AbsentModule(spec.name)

    def exec_module(self, module):
        pass


def main(folder: Path) -> None:
    """Print what it reads, and its own score of the answers."""
    os.environ["LMUData"] = str(folder.parent / "tables")  # noqa: SIM112  (its name is VLMEvalKit's)
    sys.meta_path.insert(0, _AbsentFinder())
    from vlmeval.dataset import build_dataset
    from vlmeval.smp import load

    read = {}
    for table in (folder.parent / "tables").glob("*.tsv"):
        (scores,) = folder.rglob(f"*_{table.stem}_acc.csv")
        predicted = scores.with_name(scores.name.replace("_acc.csv", ".xlsx"))
        scored = load(str(predicted).replace(".xlsx", "_result.xlsx"))
        ours = load(str(scores)).iloc[0].to_dict()
        copy = folder.parent / "again" / predicted.name
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(predicted, copy)
        theirs = build_dataset(table.stem).evaluate(str(copy), model="exact_matching", nproc=1).iloc[0].to_dict()
        common = ours.keys() & theirs.keys() - {"split"}
        assert len(common) >= 2, (ours, theirs)
        assert all(abs(ours[key] - theirs[key]) < 1e-9 for key in common), (ours, theirs)
        read[table.stem] = {
            "n": len(scored),
            "numbers": {"acc": theirs["Overall"]},
            "samples": {
                str(row["index"]): {"answer": None, "numbers": {"acc": row["acc"]}} for row in scored.to_dict("records")
            },
        }
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
