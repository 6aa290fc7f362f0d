"""What a table measures, by its columns."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from polymeter.core.errors import DataError
from polymeter.guests.own_classes import is_own_class
from polymeter.tasks.table import classes as native
from tests.tasks.table.classes.kit import served


@pytest.mark.parametrize(
    ("columns", "kind", "served_by"),
    [
        ("index question A B answer", "MCQ", "TextMCQDataset"),
        ("index question A B C D answer image", "MCQ", "CustomMCQDataset"),
        ("index question A B answer image_path", "MCQ", "CustomMCQDataset"),
        ("index question answer", "VQA", "TextQADataset"),
        ("index question answer image", "VQA", "CustomVQADataset"),
        ("index question A answer", "VQA", "TextQADataset"),
        ("index prompt", "T2I", "TextToImageDataset"),
        ("index prompt category scene", "T2I", "TextToImageDataset"),
        ("index prompt image", "IT2I", "ImageEditingDataset"),
        ("index prompt image_path", "IT2I", "ImageEditingDataset"),
    ],
)
def test_the_columns_say_what_a_table_measures(columns: str, kind: str, served_by: str) -> None:
    assert native.type_of(columns.split()) == kind
    found = native.class_for(columns.split())
    assert found.__name__ == served_by
    assert kind == found.TYPE


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("index question A B", "This table has options and no column 'answer'"),
        ("index question", "This table has a question and no column 'answer'"),
        ("index image", "The columns of this table make no benchmark: index, image."),
    ],
)
def test_a_table_that_fits_no_rule_is_told_the_rules(columns: str, said: str) -> None:
    assert native.type_of(columns.split()) is None
    with pytest.raises(DataError, match=r"'prompt' alone makes text-to-image") as caught:
        native.class_for(columns.split())
    assert said in str(caught.value)


def test_asking_for_the_type_imports_nothing_heavy() -> None:
    code = (
        "import sys; from polymeter.tasks.table import classes; classes.type_of(['prompt']); "
        "print([name for name in ('pandas', 'numpy', 'PIL') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_words_for_nothing_are_words(root: Path) -> None:
    row = {"index": 0, "question": "What is left?", "A": "None", "B": "NA", "answer": "A"}
    dataset = served(root, [row])
    assert dataset.build_prompt(0)[-1]["value"].count("A. None\nB. NA\n") == 1
    assert dataset.evaluate_sample(dataset.data.iloc[0], "None")["acc"] == 1


@pytest.mark.parametrize("name", ["built_in", "images.datasets", "multiple_choice.datasets", "questions.datasets"])
def test_every_class_of_ours_is_marked(name: str) -> None:
    module = import_module(f"{native.__name__}.{name}")
    classes = [
        value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    assert classes
    assert all(map(is_own_class, classes))
