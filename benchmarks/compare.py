"""``compare``: two runs of many samples, made once."""

from __future__ import annotations

import json
import random
from pathlib import Path

from benchmarks import data


def two_runs(folder: Path, n_docs: int) -> Path:
    """A folder with a task of short text questions, and the answers of two models, 70 and 71 % of them right."""
    data.text_task(folder, n_docs)
    for name, share in (("first", 0.70), ("second", 0.71)):
        luck = random.Random(name)
        answers = {str(i): str(2 * i) if luck.random() < share else "no" for i in range(n_docs)}
        (folder / f"{name}.json").write_text(json.dumps(answers))
    return folder
