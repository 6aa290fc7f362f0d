"""A run that goes on may be computed elsewhere, and in nothing else otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import polymeter


def test_only_where_the_model_is_computed_may_change(tmp_path: Path) -> None:
    polymeter.evaluate("mock", "demo_signs", limit=1, output=tmp_path / "run")
    with pytest.raises(polymeter.PlanError, match=r"'replica' cannot be changed when.*Did you mean 'replicas'"):
        polymeter.resume(tmp_path / "run", replica=2)
    with pytest.raises(
        polymeter.PlanError, match=r"'seed' cannot be changed when a run.*These can: executor, replicas"
    ):
        polymeter.resume(tmp_path / "run", seed=2)
    with pytest.raises(polymeter.PlanError, match="Option 'replicas'"):
        polymeter.resume(tmp_path / "run", replicas=0)
    assert polymeter.resume(tmp_path / "run", replicas=2).is_complete, "a finished run starts no replica"
