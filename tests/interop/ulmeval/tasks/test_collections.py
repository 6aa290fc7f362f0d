"""Collections of datasets: the rows of several datasets as one benchmark, each scored by its own class."""

from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.helpers.toy_datasets import png_base64, write_table

INIT = """\
from vlmeval.smp import load
from .words import Words
from .choices import Choices
class ConcatDataset(ImageBaseDataset):
    DATASET_SETS = {'Both': ['Both_a', 'Both_b'], 'Mixed': ['Both_a', 'Other']}
    @classmethod
    def supported_datasets(cls):
        return list(cls.DATASET_SETS)
DATASET_CLASSES = [Words, Choices, ConcatDataset]
"""
WORDS = """\
from vlmeval.smp import load
from .image_base import ImageBaseDataset
class Words(ImageBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'Both_a': '', 'Both_b': ''}
    DATASET_MD5 = {}
    def build_prompt(self, line):
        return [*super().build_prompt(line), {'type': 'text', 'value': self.dataset_name}]
    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        assert eval_file.endswith(f'mock_{self.dataset_name}.xlsx'), eval_file
        assert {'index', 'prediction'} <= set(data) and 'SUB_DATASET' not in data and 'image' not in data
        assert set(data['index']) <= set(self.data['index'])
        return RESULT
"""
CHOICES = "from .words import Words\nclass Choices(Words):\n    TYPE = 'MCQ'\n    DATASET_URL = {'Other': ''}\n"
TABLE = "__import__('pandas').DataFrame([{'split': 'none', 'Overall': float(len(data))}])"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    for name, n in {"Both_a": 2, "Both_b": 3, "Other": 1}.items():
        images = [png_base64("red", (8, 8 + row)) for row in range(n)]
        columns = {"index": range(5, 5 + n), "image": images, "question": [f"{name}?"] * n, "answer": ["x"] * n}
        write_table(tmp_path / f"LMUData/{name}.tsv", columns)
    folder = tmp_path / "copy/vlmeval/dataset"
    folder.mkdir(parents=True)
    (folder.parent / "smp").mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "words.py").write_text(WORDS.replace("RESULT", TABLE))
    (folder / "choices.py").write_text(CHOICES)
    return folder


def run(tree: Path, tmp_path: Path, **options: Any) -> Any:
    return polymeter.evaluate(
        model="mock", tasks=["Both"], include_paths=[tree], output=tmp_path / "run", progress=False, **options
    )


def values(done: Any) -> dict[str, Any]:
    return {item["metric"]: item["value"] for item in done.results["tasks"]["Both"]["results"]}


def test_each_dataset_of_a_collection_scores_its_own_rows(tree: Path, tmp_path: Path) -> None:
    done = run(tree, tmp_path)
    assert done.exit_code == 0
    assert values(done) == {"Both_a/Overall": 2, "Both_b/Overall": 3}
    assert (done.results["tasks"]["Both"]["n_samples"], done.results["tasks"]["Both"]["n_scored"]) == (5, 5)


def test_a_dataset_without_a_row_in_the_run_is_left_out(tree: Path, tmp_path: Path) -> None:
    assert values(run(tree, tmp_path, limit=2)) == {"Both_a/Overall": 2}


def test_mappings_are_joined_under_the_names_of_the_datasets(tree: Path, tmp_path: Path) -> None:
    (tree / "words.py").write_text(WORDS.replace("RESULT", "{'rows': len(data)}"))
    done = run(tree, tmp_path)
    assert values(done) == {"Both_a:rows": 2, "Both_b:rows": 3}
    assert [item["n"] for item in done.results["tasks"]["Both"]["results"]] == [2, 3]


def test_a_collection_of_several_types_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(polymeter.PlanError) as caught:
        polymeter.evaluate(model="mock", tasks=["Mixed"], include_paths=[tree], output=tmp_path / "run", progress=False)
    assert "differ in TYPE" in str(caught.value)
