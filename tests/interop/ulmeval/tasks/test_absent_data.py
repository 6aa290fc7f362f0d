"""Classes whose own code does not find its data: the error states what to do."""

from pathlib import Path

import pytest

import polymeter

CLASS = """\
import os
from vlmeval.smp import LMUDataRoot, load
from .image_base import ImageBaseDataset
class Mine(ImageBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'Mine': ''}
    def load_data(self, dataset):
        BODY
    def evaluate(self, eval_file, **judge_kwargs):
        return {}
"""


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("return load(os.path.join(LMUDataRoot(), 'other.tsv'))", "{root}/other.tsv. Put the file there."),
        ("return open(os.path.join(LMUDataRoot(), 'other.tsv'))", "Put the file there: {root}/other.tsv."),
        ("raise FileNotFoundError('Run scripts/convert.py first.')", "Put the file there: {root}/Mine.tsv."),
        ("raise EnvironmentError('Please set MINE_PATH.')", "Do what the message says"),
        (
            "import datasets; return datasets.load_dataset('somebody/mine', split='test')",
            "name the folder, --data somebody/mine=FOLDER",
        ),
        (
            "import datasets\n        try: datasets.load_dataset('somebody/mine')\n"
            "        except Exception: raise FileNotFoundError('not found')",
            "name the folder, --data somebody/mine=FOLDER",
        ),
    ],
)
def test_a_class_that_does_not_find_its_data_ends_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, hint: str
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    (tmp_path / "LMUData").mkdir()
    folder = tmp_path / "vlmeval/dataset"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(CLASS.replace("BODY", body))
    with pytest.raises(polymeter.DataError) as caught:
        polymeter.evaluate("mock", ["Mine"], include_paths=[folder], output=tmp_path / "run", progress=False)
    assert hint.format(root=tmp_path / "LMUData") in f"{caught.value.what} {caught.value.hint}"
    assert "mine.py:" in caught.value.where
