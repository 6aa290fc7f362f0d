"""Asks VLMEvalKit itself for its datasets: ``python -m conformance.vlmevalkit.names_original CHECKOUT OUT``, in an
environment of its own. No dataset is made, so that nothing of the absent packages is used.

Written are the registered classes in their order, each name with the class that ``build_dataset`` takes for it, and
each preset with its class and arguments. It imports nothing of Polymeter.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any


def main(checkout: Path, out: Path) -> None:
    """Write the names of a checkout as JSON."""
    from conformance.vlmevalkit.original import Original

    warnings.simplefilter("ignore")
    original = Original(checkout, out.parent / "LMUData").dataset
    classes = original.DATASET_CLASSES
    owners: dict[str, Any] = {}
    for cls in classes:
        for name in cls.supported_datasets():
            owners.setdefault(name, cls)
    presets = original.supported_video_datasets
    found = {
        "classes": [[cls.__name__, cls.__module__] for cls in classes],
        "names": {name: [owners[name].__name__, owners[name].__module__] for name in original.SUPPORTED_DATASETS},
        "presets": {name: [made.func.__name__, made.func.__module__, made.keywords] for name, made in presets.items()},
    }
    out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
