"""Files as users of ULMEvalKit write them: a dataset class over a table, and a model with ``generate_inner``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.toy_datasets import write_table

PROMPTS = ("a cat", "two dogs", "a red ball", "five green cubes")
DATASETS = """\
from .text_base import TextBaseDataset
from ..smp import *


class Shades(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'shades': '', 'shadesPP': ''}
    DATASET_MD5 = {'shades': None, 'shadesPP': None}

    def __init__(self, dataset='shades', tint='none', **kwargs):
        super().__init__(dataset, **kwargs)
        self.tint = tint

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type='text', value=line['prompt'])]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        shades = [np.asarray(images[0])[0, 0, 0] for images in data['prediction']]
        told = {'tint': self.tint, 'nproc': judge_kwargs['nproc'], 'judge': judge_kwargs.get('model')}
        dump(told, eval_file.replace('.pkl', '_told.json'))
        return {'shade': np.mean(shades), 'images': sum(map(len, data['prediction']))}
"""
PAINTER = """\
import glob
import os
import sqlite3

from PIL import Image
from ulmeval.ulm.base import BaseModel

DEADLY = int(os.environ.get('DIES_AT', '-1'))


def die():
    # Like a killed process, once what was drawn is in the journal.
    (file,) = glob.glob('outputs/**/journal.db', recursive=True)
    for _ in range(1_000_000):
        if sqlite3.connect(file).execute('SELECT count(*) FROM responses').fetchone()[0] == DEADLY:
            os._exit(9)


class Painter(BaseModel):
    def __init__(self, shade=100, **kwargs):
        super().__init__()
        self.shade = shade

    def generate_inner(self, message, dataset=None):
        text = message[0]['value']
        with open('drawn.log', 'a+') as log:
            log.seek(0)
            if len(log.readlines()) == DEADLY:
                die()
            log.write(text + '\\n')
        if text in os.environ.get('BROKEN', '').split(','):
            raise ValueError('no paint for ' + text)
        return Image.new('RGB', (8, 8), (self.shade, len(text), 0))
"""
WORDS = ("--model-path", "painter.py", "--include-path", "bench")


def studio(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go into a folder with ``bench/shades.py`` (datasets *shades* and *shadesPP*), ``painter.py`` (a model *Painter*,
    which notes every drawing in ``drawn.log``) and the tables in ``LMUData``.
    """
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "MMEVAL_ROOT", "SEED", "WORLD_SIZE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LMUData", str(folder / "data"))
    monkeypatch.chdir(folder)
    for name in ("shades", "shadesPP"):
        write_table(folder / "data" / f"{name}.tsv", {"index": range(len(PROMPTS)), "prompt": PROMPTS})
    (folder / "bench").mkdir()
    (folder / "bench" / "shades.py").write_text(DATASETS)
    (folder / "painter.py").write_text(PAINTER)
    return folder


def drawn(folder: Path) -> list[str]:
    """The prompts of all drawings, in their order."""
    log = folder / "drawn.log"
    return log.read_text().splitlines() if log.is_file() else []
