"""Local data of the shape of MMLU-Pro, small enough to be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LETTERS = "ABCDEFGHIJ"


def rows(split: str, categories: dict[str, int]) -> list[dict[str, Any]]:
    """So many questions of each category."""
    made = []
    for category, n in categories.items():
        for i in range(n):
            answer = LETTERS[(i * 3 + len(category)) % 10]
            made.append(
                {
                    "question_id": len(made),
                    "question": f"{split} question {i} of {category}?",
                    "options": [f"{category} option {k}" for k in range(10)],
                    "answer": answer,
                    "answer_index": LETTERS.index(answer),
                    "cot_content": f"A: Let's think step by step. The answer is ({answer}).",
                    "category": category,
                }
            )
    return made


def write(folder: Path, categories: dict[str, int] | None = None) -> Path:
    """A folder with the splits ``validation`` and ``test``."""
    wanted = categories or {"computer science": 4, "math": 3}
    folder.mkdir(parents=True, exist_ok=True)
    for split, made in (("validation", rows("validation", dict.fromkeys(wanted, 6))), ("test", rows("test", wanted))):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    return folder
