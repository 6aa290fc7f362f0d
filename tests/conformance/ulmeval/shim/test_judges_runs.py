"""Dataset classes in the idioms of ULMEvalKit's own, run as a whole with a judge, and scripts that import them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api.result import RunResult
from polymeter.cli.main import main
from polymeter.core.content import Image
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch, MockModel
from polymeter.store.folder import RunFolder

CHECKED = """
    from .text_base import TextBaseDataset
    from ..smp import load, dump
    from ..utils import track_progress_rich
    import pandas as pd
    import os.path as osp
    import json

    FAIL_MSG = 'Failed to obtain answer via API.'


    class Checked(TextBaseDataset):
        TYPE = 'T2I'
        NUM_GENERATIONS = 1
        DATASET_URL = {'Checked': ''}
        DATASET_MD5 = {'Checked': None}

        def __init__(self, dataset='Checked'):
            self.dataset_name = dataset
            data = self.load_data(dataset)
            data['index'] = [str(x) for x in data['index']]
            self.data = data
            self.post_build(dataset)

        def build_prompt(self, line):
            if isinstance(line, int):
                line = self.data.iloc[line]
            return [dict(type='text', value=line['prompt'])]

        def evaluate(self, eval_file, **judge_kwargs):
            from .utils.judge_util import build_judge
            judge = judge_kwargs['model']
            nproc = judge_kwargs.pop('nproc', 4)
            _ = judge_kwargs.pop('verbose', None)
            _ = judge_kwargs.pop('retry', None)
            tmp_file = eval_file.replace('.pkl', f'_{judge}_tmp.pkl')
            tgt_file = eval_file.replace('.pkl', f'_{judge}_rating.json')
            judge_kwargs['temperature'] = 0.0
            model = build_judge(**judge_kwargs)
            data = load(eval_file)
            tasks = [{'message': self.question(data.iloc[i])} for i in range(len(data))]
            keys = list(data['index'])
            track_progress_rich(model.generate, tasks, keys=keys, save=tmp_file, nproc=nproc, chunksize=nproc)
            said = load(tmp_file)
            right = 0
            for i, row in data.iterrows():
                try:
                    right += json.loads(said.get(row['index'], FAIL_MSG))['correct']
                except Exception:
                    pass
            score = {'right': right, 'total': len(data)}
            dump(score, tgt_file)
            return score

        def question(self, item):
            from ..smp import encode_image_to_base64
            images = item['prediction']
            image = images[0] if isinstance(images, list) else images
            return [
                {'role': 'system', 'value': 'Be strict.'},
                {'role': 'user', 'type': 'text', 'value': f"Does it show: {item['prompt']}"},
                {'role': 'user', 'type': 'image', 'value': f'data:image/jpeg;base64,{encode_image_to_base64(image)}'},
            ]
"""


def written(folder: Path) -> Path:
    """The class, and its table in the folder of data."""
    folder.mkdir()
    (folder / "checked.py").write_text(textwrap.dedent(CHECKED))
    return folder


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    rows = "".join(f"{number}\tscene {number}\n" for number in range(4))
    (data / "Checked.tsv").write_text(f"index\tprompt\n{rows}")
    monkeypatch.setenv("LMUData", str(data))


def run(tmp_path: Path, judge: Callable[[Request], Any] | None) -> RunResult:
    roles = {"judge": MockBatch(judge, identity={"backend": "mock", "compute": "judge"})} if judge else {}
    folder = tmp_path / "classes"
    return polymeter.evaluate(
        MockModel(),
        ["Checked"],
        include_paths=(folder if folder.is_dir() else written(folder),),
        output=tmp_path / "run",
        roles=roles,
        cache_dir=tmp_path / "cache",
    )


def test_a_judge_sees_every_picture_and_is_asked_once(tmp_path: Path) -> None:
    asked: list[Request] = []

    def judge(request: Request) -> str:
        asked.append(request)
        return '{"correct": 0}' if "scene 2" in request.text else '{"correct": 1}'

    found = run(tmp_path, judge)
    assert found.exit_code == 0
    assert (found.value("Checked", "right"), found.value("Checked", "total")) == (3, 4)
    assert len(asked) == 4
    assert all(isinstance(request.messages[-1].parts[-1], Image) for request in asked)
    assert {request.messages[0].role for request in asked} == {"system"}
    ratings = list((tmp_path / "run").rglob("*_rating.json"))
    assert len(ratings) == 1, "files that the benchmark writes are kept"
    run(tmp_path, judge)
    assert len(asked) == 4, "the journal knows the verdicts"


def test_a_verdict_that_is_missing_is_said_and_asked_for_again(tmp_path: Path) -> None:
    asked: list[str] = []
    is_away = True

    def judge(request: Request) -> str:
        asked.append(request.text)
        if is_away and "scene 1" in request.text:
            raise ModelError("the judge is away")
        return '{"correct": 1}'

    found = run(tmp_path, judge)
    assert found.exit_code == 1
    assert any("without 1 verdict" in note and "the judge is away" in note for note in found.results["notes"])
    is_away = False
    again = run(tmp_path, judge)
    assert again.exit_code == 0
    assert again.value("Checked", "right") == 4
    assert len(asked) == 5


def test_without_a_judge_nothing_is_scored(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="'Checked' is scored by a judge, and the run has none"):
        run(tmp_path, None)


def test_a_model_asks_for_the_type_of_what_it_is_asked(tmp_path: Path) -> None:
    from polymeter.interop.ulmeval.shim.ulmeval.datasets import DATASET_MODALITY, DATASET_TYPE

    types: list[tuple[str, str]] = []

    def judge(request: Request) -> str:
        types.append((DATASET_TYPE("Checked"), DATASET_MODALITY("Checked")))
        return '{"correct": 1}'

    run(tmp_path, judge)
    assert set(types) == {("T2I", "TEXT")}
    assert DATASET_TYPE("nobody_openended") == "VQA"
    assert DATASET_TYPE("nobody", default="Y/N") == "Y/N"


def test_a_script_uses_a_model_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "red.py").write_text(
        textwrap.dedent(
            """
            from functools import partial
            from PIL import Image
            from .base import BaseModel
            from ..config import supported_ULM

            class Plain(BaseModel):
                def __init__(self, colour='red'):
                    self.colour = colour

                def generate_inner(self, msgs, dataset=None):
                    return Image.new('RGB', (8, 8), self.colour)

            supported_ULM['Blue'] = partial(Plain, colour='blue')
            """
        )
    )
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            from ulmeval.config import supported_ULM
            model = supported_ULM['Blue']()
            ret = model.generate(['A photo of Sydney Opera House, and 2 dogs.'], num_generations=2)
            ret[0].save('photo0.png')
            ret[1].save('photo1.png')
            """
        )
    )
    assert main(["python", "--model-path", "red.py", "script.py"]) == 0
    assert (tmp_path / "photo0.png").read_bytes() == (tmp_path / "photo1.png").read_bytes()


def test_a_script_builds_a_dataset_and_writes_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "classes")
    (tmp_path / "script.py").write_text(
        textwrap.dedent(
            """
            from ulmeval.dataset import build_dataset, DATASET_TYPE, SUPPORTED_DATASETS
            from ulmeval.inference import infer_data_job
            from ulmeval.smp import *
            from ulmeval.ulm.base import BaseModel

            class Plain(BaseModel):
                def generate_inner(self, msgs, dataset=None):
                    return Image.new('RGB', (8, 8))

            data = build_dataset('Checked')
            assert 'Checked' in SUPPORTED_DATASETS and DATASET_TYPE('Checked') == 'T2I'
            infer_data_job(Plain(), 'out', 'plain', data)
            found = load(osp.join('out', 'plain_Checked.pkl'))
            assert list(found['index']) == ['0', '1', '2', '3'] and len(found['prediction'][0]) == 1
            """
        )
    )
    assert main(["python", "--include-path", "classes", "script.py"]) == 0


DEPENDENT = """
    from .text_base import TextBaseDataset
    from ..smp import *
    from .utils import build_judge
    from collections import defaultdict


    class Dependent(TextBaseDataset):
        TYPE = 'T2I'
        NUM_GENERATIONS = 1
        DATASET_URL = {'Dependent': ''}
        DATASET_MD5 = {'Dependent': None}

        def build_prompt(self, line):
            return [dict(type='text', value=line['text'])]

        @classmethod
        def evaluate(self, eval_file, **judge_kwargs):
            data = load(eval_file)
            model = build_judge(**{'model': 'mplug', **judge_kwargs})
            scores = [
                1.0 if model.vqa(image, question['question_natural_language']) == 'yes' else 0.0
                for _, line in data.iterrows()
                for image in line['prediction']
                for question in json.loads(line['questions'])
            ]
            return {'global_score': sum(scores) / len(scores)}
"""


def test_a_judge_in_the_place_of_another_scorer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dependent.py").write_text(textwrap.dedent(DEPENDENT))
    question = '[{""question_natural_language"": ""Is it red?""}]'
    (tmp_path / "Dependent.tsv").write_text(f'index\ttext\tquestions\n1\ta red circle\t"{question}"\n', "utf-8")
    words = ["--model", "shapes", "--tasks", "Dependent", "--include-path", str(tmp_path), "--judge", "mock"]
    run = tmp_path / "run"
    assert main(["run", *words, "--judge-args", "answer=Yes.", "--output", str(run)]) == 0
    assert "Dependent: scored by the judge mock instead of mPLUG" in " ".join(capsys.readouterr().out.split())
    task = RunFolder(run).read_results()["tasks"]["Dependent"]
    assert task["results"][0]["value"] == 1.0
    assert [scorer["by"] for scorer in task["scorers"]] == ["judge mock"]
    assert "instead of mPLUG" in (run / "report.html").read_text("utf-8")


@pytest.mark.parametrize("detector", ["", "shapes"])
def test_the_detector_of_scenes_is_named(tmp_path: Path, detector: str) -> None:
    scene = '"{""include"": [{""class"": ""circle"", ""count"": 1}]}"'
    (tmp_path / "round.tsv").write_text(f"index\tprompt\tscene\n1\ta red circle\t{scene}\n", "utf-8")
    options = ["--dialect-option", f"tsv.detector={detector}"] if detector else []
    words = ["--model", "shapes", "--tasks", str(tmp_path / "round.tsv"), "--output", str(tmp_path / "run"), *options]
    assert main(["run", *words]) == 0
    again = main(["resume", str(tmp_path / "run")])
    assert again == 0
    task = RunFolder(tmp_path / "run").read_results()["tasks"]["round"]
    assert task["scorers"] == [{"by": "detector shapes", "instead_of": ""}]
