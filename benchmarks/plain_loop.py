"""The least that measuring a model on text rows takes: ask, compare, write each row.

Usage: ``python -m benchmarks.plain_loop FOLDER OUTPUT``, with ``text.jsonl`` in the folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def answer(prompt: str) -> str:
    """A model that costs nothing."""
    return "mock"


def main(folder: Path, output: Path) -> None:
    """Measure the model on the rows, and print its accuracy."""
    output.mkdir(parents=True)
    scores = []
    with (folder / "text.jsonl").open(encoding="utf-8") as rows, (output / "samples.jsonl").open("w") as samples:
        for line in rows:
            row = json.loads(line)
            said = answer(row["question"])
            is_right = said == row["answer"]
            scores.append(is_right)
            samples.write(json.dumps({**row, "said": said, "exact_match": is_right}) + "\n")
    print(sum(scores) / len(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
