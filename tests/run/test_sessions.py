"""The parts of a run: their records, their code, their endpoints."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.run.finish import scoring_code, sessions


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("https://me:secret@host/v1/", "https://host/v1"),
        ("https://token@host:1/v1?api-key=secret#secret", "https://host:1/v1"),
        ("", ""),
        ("nothing like an address", ""),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, shown: str) -> None:
    assert sessions.shown_address(address) == shown


def test_a_part_that_still_runs_when_another_begins_did_not_finish() -> None:
    manifest = {"sessions": [{"status": "complete"}, {"status": "running"}]}
    assert [record["status"] for record in sessions.earlier(manifest)] == ["complete", sessions.UNFINISHED]


def test_the_address_of_an_older_version_is_that_of_its_arguments() -> None:
    spec = {"args": {"base_url": "http://me:secret@one/v1"}}
    manifest: dict[str, Any] = {"model": {"spec": spec}, "roles": {"judge": {"spec": None}}, "sessions": []}
    assert sessions.addresses_before(manifest) == {"model": ["http://one/v1"]}
    manifest["sessions"] = [{"kind": "resume", "endpoints": {"model": "http://two/v1"}}]
    assert sessions.addresses_before(manifest) == {"model": ["http://one/v1", "http://two/v1"]}
    manifest["sessions"] = [{"kind": "run", "endpoints": {"model": "http://two/v1"}}]
    assert sessions.addresses_before(manifest) == {"model": ["http://two/v1"]}, (
        "what was asked counts, not what was typed"
    )


def test_what_a_sample_passes_through_is_part_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "polymeter"
    shutil.copytree(
        Path(polymeter.__file__).parent, home, ignore=shutil.ignore_patterns("__pycache__", "*.parquet", "*.tsv")
    )
    monkeypatch.setattr(polymeter, "__file__", str(home / "__init__.py"))

    def digest_after(file: str) -> str:
        path = home / file
        before = path.read_bytes()
        path.write_bytes(before + b"\n# changed\n")
        scoring_code.scoring_code.cache_clear()
        found = scoring_code.scoring_code()
        path.write_bytes(before)
        return found

    try:
        scoring_code.scoring_code.cache_clear()
        before = scoring_code.scoring_code()
        for file in ("cli/run.py", "report/table.py", "api/running.py", "run/execution.py", "models/mock.py"):
            assert digest_after(file) == before, file
        passed = ("metrics/text.py", "tasks/yaml/prompts/prompt.py", "core/content.py")
        for file in (*passed, "run/schedule/rollouts.py", "run/schedule/running_samples.py"):
            assert digest_after(file) != before, file
    finally:
        scoring_code.scoring_code.cache_clear()


def test_another_judge_at_another_address_is_no_other_endpoint_of_the_first() -> None:
    source = {
        "sessions": [{"kind": "run", "endpoints": {"judge": "http://one", "model": "http://m"}}],
        "roles": {"judge": "first"},
    }
    manifest = {"scored_from": source, "roles": {"judge": {"fingerprint": "second"}}, "model": {}, "sessions": []}
    assert sessions.addresses_before(manifest) == {"model": ["http://m"]}
    manifest["roles"] = {"judge": {"fingerprint": "first"}}
    assert sessions.addresses_before(manifest) == {"judge": ["http://one"], "model": ["http://m"]}
