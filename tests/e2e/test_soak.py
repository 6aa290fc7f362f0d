"""``make soak`` leaves no kind of model out, and which kills it plans follows from its seed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.soak import kinds
from scripts.soak.kinds import KINDS
from scripts.soak.lives import kills_of_life
from tests.e2e.kit import polymeter

STARTED = {"vllm", "sglang", "llamacpp", "transformers-serve"}
"""Endpoints that a run starts: their programs are not installed, or take longer to start than a life lasts."""


def test_every_kind_of_model_takes_part(tmp_path: Path) -> None:
    listed = polymeter("models", cwd=tmp_path).stdout.splitlines()
    backends = {line.partition("  ")[0] for line in listed[: listed.index("")] if not line.startswith(" ")}
    pairs = [pair for kind in KINDS.values() for pair in zip(kind.words, kind.words[1:], strict=False)]
    named = {name.partition(":")[0] for option, name in pairs if option == "--model"}
    assert backends - named == STARTED, "tests/e2e/test_served_runs.py kills runs with servers of their own"


def test_the_kills_of_a_life_follow_from_seed_kind_and_number() -> None:
    lives = [kills_of_life(seed, kind, number) for seed in (1, 2) for kind in KINDS for number in range(9)]
    assert lives == [kills_of_life(seed, kind, number) for seed in (1, 2) for kind in KINDS for number in range(9)]
    assert len(set(map(tuple, lives))) == len(lives)
    assert {len(kills) for kills in lives} == {1, 2, 3}


def test_what_counts_the_requests_still_finds_what_it_wraps() -> None:
    counted = Path(kinds.__file__).parent / "guests" / "counted.py"
    subprocess.run([sys.executable, counted], check=True)
