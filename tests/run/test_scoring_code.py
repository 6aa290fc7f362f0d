"""What stands between a row and its score, and what the digest of scoring code covers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import polymeter
from polymeter.run.finish import scoring_code
from polymeter.run.schedule.rollouts import RolloutWorker

HOME = Path(polymeter.__file__).parent
CARRIES = {"run/schedule/scheduler.py"}  # gives a sample its RoleClient, and takes its requests
"""Modules that a worker passes through and that change no score."""


@pytest.mark.parametrize("tasks", ["demo", "demo_vlm", "demo_t2i", "demo_edit"])
def test_every_module_between_a_row_and_its_score_is_covered(
    tasks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            before = sys.getprofile()
            sys.setprofile(look)
            try:
                return function(*args, **kwargs)
            finally:
                sys.setprofile(before)

        return call

    for name in ("begin", "advance", "score_here", "replay"):
        monkeypatch.setattr(RolloutWorker, name, watched(getattr(RolloutWorker, name)))
    done = polymeter.evaluate("mock", [tasks], roles={"judge": "mock"}, output=tmp_path / "run", limit=2)
    assert done.status == "complete"
    ran = {Path(file).relative_to(HOME).as_posix() for file in seen if file.startswith(f"{HOME}/")}
    assert len(ran) > 20
    assert ran - set(scoring_code._sources(HOME)) <= CARRIES
