"""A checkpoint of the hub: at its commit, and in a folder of its repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, Message, Request
from polymeter.models.hf import HfModel

_COMMIT = "0" * 40


def keep(folder: Path, cache: Path, commit: str, subfolder: str = "") -> None:
    """Put a checkpoint into a cache as that of ``made/steps`` on the main branch."""
    repository = cache / "models--made--steps"
    kept = repository / "snapshots" / commit / subfolder
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.symlink_to(folder, target_is_directory=True)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / "main").write_text(commit)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return tmp_path


def test_a_checkpoint_is_known_by_its_commit(checkpoint: Callable[..., Path], cache: Path) -> None:
    known = []
    for commit in ("1" * 40, "2" * 40):
        keep(checkpoint("llama"), cache, commit)
        known.append(HfModel("made/steps").identity["weights"])
    assert known == [["made/steps", "1" * 40], ["made/steps", "2" * 40]]
    assert HfModel("made/steps", revision="1" * 40).identity["weights"] == ["made/steps", "1" * 40]


@pytest.mark.parametrize("kind", ["llama", "llava"])
def test_a_checkpoint_in_a_folder_of_its_repository(kind: str, checkpoint: Callable[..., Path], cache: Path) -> None:
    folder = checkpoint(kind)
    keep(folder, cache, _COMMIT, "step-2")
    model = HfModel("made/steps", subfolder="step-2/")
    asked = Request((Message("user", (Text("red"),)),), Generate(max_new_tokens=4))
    said = []
    for one in (model, HfModel(str(folder))):
        one.load()
        said.append(one.respond([asked])[0].outputs[0].text)
    assert said[0] == said[1]
    assert model.identity["subfolder"] == "step-2"
    assert model.identity["weights"] == ["made/steps", _COMMIT]


def test_a_folder_of_this_machine_is_named_itself(checkpoint: Callable[..., Path]) -> None:
    folder = checkpoint("llama")
    with pytest.raises(PlanError, match=rf"is a folder on this machine.*{folder.name}") as refused:
        HfModel(str(folder), subfolder="step-2")
    assert str(folder / "step-2") in refused.value.hint
