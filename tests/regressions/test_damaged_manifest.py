"""A ``run.json`` whose entries were damaged is refused by name when the run is resumed: it ends in no other error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.colours import folder_of_colours

Place = tuple["str | int", ...]
NEEDED: list[tuple[Place, str]] = [
    (("cache", "hits"), "cache.hits is missing"),
    (("model", "spec", "path"), "model.spec.path is missing"),
    (("model", "spec", "args"), "model.spec.args is missing"),
    (("sessions", 0, "status"), "sessions[0].status is missing"),
]
OF_TYPE: list[tuple[Place, str]] = [
    (("identity", "options"), "identity.options is of the type"),
    (("include_paths",), "include_paths is of the type"),
    (("include_paths", 0), "include_paths[0] is of the type"),
    (("sessions", 0, "polymeter"), "sessions[0].polymeter is of the type"),
    (("sessions", 0, "rules", "reading"), "sessions[0].rules.reading is of the type"),
    (("sessions", 0, "lanes"), "sessions[0].lanes is of the type"),
    (("sessions", 0, "lanes", "model"), "sessions[0].lanes.model is of the type"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interrupted run."""
    root = tmp_path_factory.mktemp("damaged")
    tasks = folder_of_colours(root / "tasks")
    polymeter.evaluate("mock", "colours", include_paths=[tasks], output=root / "run", cache_dir=root / "cache")
    manifest = json.loads((root / "run" / "run.json").read_text())
    (root / "run" / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    return root / "run"


def copy_with(run: Path, folder: Path, path: Place, value: Any) -> Path:
    """A copy of the run with an entry of its manifest replaced, or without it if the value is ``...``."""
    shutil.copytree(run, folder / "run")
    manifest = json.loads((run / "run.json").read_text())
    *way, last = path
    owner = manifest
    for key in way:
        owner = owner[key]
    if value is ...:
        del owner[last]
    else:
        owner[last] = value
    (folder / "run" / "run.json").write_text(json.dumps(manifest))
    return folder / "run"


@pytest.mark.parametrize(("path", "how"), NEEDED)
def test_an_entry_that_is_gone_is_named(run: Path, tmp_path: Path, path: Place, how: str) -> None:
    damaged = copy_with(run, tmp_path, path, ...)
    before = (damaged / "run.json").read_bytes()
    with pytest.raises(polymeter.PlanError) as caught:
        polymeter.resume(damaged)
    assert str(caught.value).startswith(f"run.json is damaged: {how}.")
    assert (damaged / "run.json").read_bytes() == before


@pytest.mark.parametrize("value", ["text", None])
@pytest.mark.parametrize(("path", "how"), OF_TYPE)
def test_an_entry_of_another_type_is_named(run: Path, tmp_path: Path, path: Place, how: str, value: Any) -> None:
    damaged = copy_with(run, tmp_path, path, value)
    with pytest.raises(polymeter.PlanError) as caught:
        polymeter.resume(damaged)
    assert str(caught.value).startswith(f"run.json is damaged: {how} {type(value).__name__}.")


@pytest.mark.parametrize(
    ("path", "value"),
    [(("seconds",), None), (("cache",), ...), (("tasks", 0, "n_samples"), ...), (("tasks", 0, "n_rows"), ...)],
)
def test_a_run_without_numbers_that_are_counted_anew_is_resumed(
    run: Path, tmp_path: Path, path: Place, value: Any
) -> None:
    resumed = polymeter.resume(copy_with(run, tmp_path, path, value))
    assert resumed.status == "complete"
    assert resumed.folder.read_manifest()[path[0]] is not None
