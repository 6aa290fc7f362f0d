"""A metric that a user registers is a guest also where the task has no code: what it draws does not depend on the run's
company, and it runs alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polymeter
from polymeter.store.exports.export import read_samples
from tests.tasks.yaml.kit import task_text, write, write_rows

REGISTERED = """
import random
import threading

import polymeter

ALONE = threading.Lock()

@polymeter.register_metric("guessed", aggregation="drawn")
def guessed(references, predictions, **kwargs):
    assert ALONE.acquire(blocking=False), "two hooks ran at the same time"
    value = random.random()
    ALONE.release()
    return value

@polymeter.register_aggregation("drawn")
def drawn(values):
    return random.random()
"""


def test_what_a_registered_metric_draws_depends_on_its_sample(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text("metric_list: [{metric: guessed}]\n"), "registered.py": REGISTERED})
    write_rows(tmp_path)

    def values(name: str, **options: Any) -> tuple[dict[str, float], float]:
        run = polymeter.evaluate(
            "mock",
            ["t"],
            include_paths=[tmp_path],
            imports=[tmp_path / "registered.py"],
            output=tmp_path / name,
            cache_dir=tmp_path / "cache",
            **options,
        )
        assert run.exit_code == 0
        drawn = {sample["id"]: sample["scores"][0]["value"] for sample in read_samples(run.folder, "t")}
        return drawn, run.results["tasks"]["t"]["results"][0]["value"]

    whole, total = values("whole")
    assert len({str(value) for value in whole.values()}) == 4
    assert values("again", batch_size=3, score_workers=4) == (whole, total)
    assert values("limited", limit=2) == ({name: whole[name] for name in list(whole)[:2]}, total)
