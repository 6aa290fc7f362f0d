"""Arguments of dataset classes' constructors, and prediction files that nothing evaluates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.data.formats import load
from polymeter.tasks.table.base import ImageBaseDataset, TextBaseDataset
from polymeter.tasks.table.instances import check_arguments
from tests.helpers.toy_datasets import run_toy, write_class

WITH_ARGUMENT = """
def __init__(self, dataset='Toy', word='none', **kwargs):
    super().__init__(dataset, **kwargs)
    self.word = word

def evaluate_sample(self, line, prediction, **judge_kwargs):
    return {'letters': len(self.word)}
"""


class Handing(ImageBaseDataset):
    """Hands on what it does not know."""

    def __init__(self, dataset: str = "x", word: str = "", **kwargs: Any) -> None: ...


class Closed(TextBaseDataset):
    """Takes nothing else."""

    def __init__(self, dataset: str = "x", *, size: int = 0) -> None: ...


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))


def test_named_arguments_are_taken() -> None:
    check_arguments(Handing, {"word": "a", "skip_noimg": False})
    check_arguments(Closed, {"size": 3})
    check_arguments(TextBaseDataset, {})


@pytest.mark.parametrize(
    ("found", "name", "hint"),
    [
        (Handing, "wrd", "Did you mean 'word'?"),
        (Closed, "skip_noimg", "It takes: size."),
        (TextBaseDataset, "anything", "It takes: none."),
        (Closed, "dataset", "It takes: size."),
    ],
)
def test_others_are_refused(found: type, name: str, hint: str) -> None:
    with pytest.raises(PlanError, match=f"{found.__name__} has no argument '{name}'") as caught:
        check_arguments(found, {name: 1})
    assert caught.value.hint == hint


def test_arguments_reach_the_class(tmp_path: Path) -> None:
    file = write_class(tmp_path, WITH_ARGUMENT)
    told = {"tsv": {"arguments": {"word": "four"}}}
    assert run_toy(file, tmp_path / "run", dialect_options=told).value("Toy", "letters") == 4
    with pytest.raises(PlanError, match="no argument 'wrod'"):
        run_toy(file, tmp_path / "other", dialect_options={"tsv": {"arguments": {"wrod": "x"}}})


@pytest.mark.parametrize("told", [{"predict_only": True}, {}])
def test_a_prediction_file_is_kept_where_nothing_evaluates_it(told: dict[str, Any], tmp_path: Path) -> None:
    file = write_class(tmp_path, WITH_ARGUMENT)
    options = {"tsv": {**told, "keep_predictions": True, "model_id": "m"}}
    run = run_toy(file, tmp_path / "run", dialect_options=options)
    table = load(run.folder.artifacts / "Toy" / "m_Toy.pkl")
    assert [len(images) for images in table["prediction"]] == [1, 1, 1]
    assert not (run_toy(file, tmp_path / "plain").folder.artifacts / "Toy").exists()
