"""Runs or scores a small judged task and kills itself at a named instant. Used by ``test_judging``.

Arguments: ``run`` or ``score``, folder of the task, run folder, output folder, file that every question is appended
to, instant (or ``none``), number of the occurrence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import polymeter
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.judged import TASK
from tests.run.kill_child import arm


def main(verb: str, folder: str, run: str, output: str, log: str, instant: str, occurrence: int) -> None:
    """Do as told, and die on the way if told so."""
    arm(instant, occurrence)
    carry_out(verb, folder, run, output, log)


def carry_out(verb: str, folder: str, run: str, output: str, log: str) -> None:
    """Do as told."""

    def logged(who: str, answer: Callable[[Request], str]) -> Callable[[Request], str]:
        def compute(request: Request) -> str:
            place = request.origin.sample if request.origin else "?"
            with open(log, "a", encoding="utf-8") as file:
                file.write(f"{who} {place}\n")
            return answer(request)

        return compute

    judge = MockBatch(
        logged("judge", lambda request: "B" if "question 3" in request.text else "A"),
        identity={"backend": f"judge of {verb}"},
        batch_size=1,
    )
    if verb == "run":
        model = MockBatch(logged("model", lambda request: "said"), identity={"backend": "child"}, batch_size=4)
        found = polymeter.evaluate(
            model,
            TASK,
            include_paths=[folder],
            output=output,
            roles={"judge": judge},
            cache_dir=Path(folder, "cache"),
        )
    else:
        found = polymeter.score(run, output=output, roles={"judge": judge})
    assert found.status == "complete", found.status


if __name__ == "__main__":
    main(*sys.argv[1:7], occurrence=int(sys.argv[7]))
