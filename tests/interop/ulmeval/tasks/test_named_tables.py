"""Tables that a run names for classes that load their data themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import polymeter

HEAD = """
import pandas as pd
from vlmeval.smp import LMUDataRoot, get_cache_path, load
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.dataset.text_base import TextBaseDataset

class Mine(TextBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'Mine': ''}

    def evaluate(self, eval_file, **judge_kwargs):
        is_named = int(self.data_path.endswith('tsv'))
        return {'rows': len(load(eval_file)), 'added': int('added' in self.data), 'path': is_named}
"""
LOADERS = {
    "a snapshot of a hub": """
    def load_data(self, dataset):
        return load(get_cache_path('some/repo') + '/x.tsv')
""",
    "a table that it makes": """
    def load_data(self, dataset):
        return pd.DataFrame({'index': range(9), 'question': ['made'] * 9})
""",
    "its own file": """
    def prepare_tsv(self, url, file_md5=None, repo_id='some/repo'):
        data = super().prepare_tsv(url, file_md5)
        return data.assign(image=get_cache_path(repo_id))
""",
    "its own file, by a method that it calls": """
    def fetched(self, repo_id):
        return get_cache_path(repo_id)

    def prepare_tsv(self, url, file_md5=None):
        return super().prepare_tsv(url, file_md5).assign(image=self.fetched('some/repo'))
""",
    "another address": """
    DATASET_URL_V2 = {'Mine': '/nowhere.json'}

    def prepare_tsv(self, url, file_md5=None):
        return pd.DataFrame(load(self.DATASET_URL_V2[self.dataset_name]))
""",
    "what the base reads, and a column": """
    def load_data(self, dataset):
        return super().load_data(dataset).assign(added=1)
""",
    "the file of its argument": """
    def prepare_tsv(self, url, file_md5=None):
        return load(url).assign(added=1)
""",
    "nothing itself": "",
}


@pytest.mark.parametrize("why", LOADERS)
def test_a_named_table_is_read(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    table, file = tmp_path / "theirs.tsv", tmp_path / "mine.py"
    table.write_text("index\tquestion\n1\ta\n2\tb\n")
    file.write_text(HEAD + LOADERS[why])
    run = polymeter.evaluate("mock", "Mine", include_paths=[file], data={"Mine": str(table)}, output=tmp_path / "run")
    keeps_its_part = "added=1" in LOADERS[why]
    assert {name: run.value("Mine", name) for name in ("rows", "added", "path")} == {
        "rows": 2, "added": int(keeps_its_part), "path": 1
    }  # fmt: skip
    said = [note for note in run.results["notes"] if "is read in place of" in note]
    assert bool(said) == bool(LOADERS[why] and not keeps_its_part)
