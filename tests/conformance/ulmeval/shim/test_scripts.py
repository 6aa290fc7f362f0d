"""Scripts in the manner of ULMEvalKit's own command (``polymeter python run.py …``): they build datasets and wrappers,
write predictions, evaluate them with a judge that they name, and print what comes out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.interop.ulmeval.models.native import supported_ULM
from tests.helpers.openai_stub import OpenAIStub, chat

DATASET = """
    from .text_base import TextBaseDataset
    from ..smp import *

    class Small(TextBaseDataset):
        TYPE = 'T2I'
        DATASET_URL = {'Small': 'https://nowhere.invalid/Small.tsv', 'Small_VAL': 'https://nowhere.invalid/other.tsv'}
        DATASET_MD5 = {'Small': None, 'Small_VAL': None}

        def evaluate(self, eval_file, **judge_kwargs):
            score_file = eval_file.replace('.pkl', '_score.json')
            if not osp.exists(score_file):
                data = load(eval_file)
                dump({'red': sum(x[0].getpixel((0, 0))[0] for x in data['prediction'])}, score_file)
            return load(score_file)
"""
MODEL = """
    import os
    from functools import partial
    from PIL import Image
    from ulmeval.config import supported_ULM
    from ulmeval.ulm.base import BaseModel

    class Shade(BaseModel):
        def __init__(self, red=1, retry=1, verbose=True):
            self.red = int(os.environ.get('RED', red))

        def generate_inner(self, message, dataset=None):
            with open('asked.txt', 'a') as file:
                file.write(message[0]['value'] + chr(10))
            return Image.new('RGB', (4, 4), (self.red, 0, 0))

    supported_ULM['Shade-1B'] = partial(Shade, red=1, retry=1, verbose=True)
"""
SCRIPT = """
    import sys
    from ulmeval.config import supported_ULM
    from ulmeval.dataset import build_dataset
    from ulmeval.inference import infer_data_job
    from ulmeval.smp import *

    logger = get_logger('RUN')
    root, name, reuse = 'outputs/Shade-1B', sys.argv[1], '--reuse' in sys.argv
    earlier = ls(root, mode='dir') if osp.exists(root) else []
    here = osp.join(root, sys.argv[2])
    os.makedirs(here, exist_ok=True)
    dataset = build_dataset(name)
    dataset.data['index'] = dataset.data['index'].astype(str)
    if len(earlier):
        prepare_reuse_files(pred_root_meta=root, eval_id=sys.argv[2], model_name='Shade-1B', dataset_name=name,
                            reuse=reuse, reuse_aux=True)
    infer_data_job('Shade-1B', work_dir=here, model_name='Shade-1B', dataset=dataset, num_generations=1)
    result = dataset.evaluate(osp.join(here, f'Shade-1B_{name}.pkl'), nproc=4)
    logger.info('Evaluation Results:')
    logger.info(json.dumps(result))
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a benchmark, a model and a script; the models that a script adds go again."""
    for name, text in {"classes/small.py": DATASET, "shade.py": MODEL, "run.py": SCRIPT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    (tmp_path / "small.tsv").write_text("index\tprompt\n1\tone\n2\ttwo\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    before = set(supported_ULM)
    yield tmp_path
    for name in set(supported_ULM) - before:
        del supported_ULM[name]


def run(*words: str) -> int:
    tables = ("--data", "Small=small.tsv", "--data", "Small_VAL=small.tsv")
    return main(["python", "--model-path", "shade.py", "--include-path", "classes", *tables, *words])


def test_results_that_a_script_logs_are_shown_and_tables_are_those_that_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("run.py", "Small", "T1") == 0
    assert 'Evaluation Results:\n{"red": 2}' in capsys.readouterr().err


def test_predictions_of_another_day_are_taken_only_where_that_is_asked_for(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run.py", "Small", "T1") == 0
    monkeypatch.setenv("RED", "5")
    assert run("run.py", "Small", "T2", "--reuse") == 0
    assert '{"red": 2}' in capsys.readouterr().err
    assert run("run.py", "Small", "T3") == 0
    assert '{"red": 10}' in capsys.readouterr().err
    assert (place / "asked.txt").read_text().split() == ["one", "two"] * 2


def test_what_was_scored_before_is_no_score_of_new_predictions(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for dataset in ("Small", "Small_VAL"):
        assert run("run.py", dataset, "T1") == 0
    monkeypatch.setenv("RED", "5")
    capsys.readouterr()
    assert run("run.py", "Small", "T1") == 0
    assert '{"red": 10}' in capsys.readouterr().err
    here = place / "outputs" / "Shade-1B" / "T1"
    assert sorted(file.name for file in (here / "earlier").iterdir()) == [
        "Shade-1B_Small.pkl",
        "Shade-1B_Small_score.json",
    ]
    assert (here / "Shade-1B_Small_VAL_score.json").is_file(), "files of another dataset stay"


def test_predictions_of_a_changed_table_are_made_anew(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run.py", "Small", "T1") == 0
    (place / "small.tsv").write_text("index\tprompt\n1\tone\n2\tchanged\n")
    assert run("run.py", "Small", "T1", "--reuse") == 0
    assert (place / "asked.txt").read_text().split() == ["one", "two", "changed"]


def test_classes_by_name_as_configuration_files_have_them(place: Path) -> None:
    (place / "config.py").write_text(
        textwrap.dedent(
            """
            import ulmeval.api
            import ulmeval.dataset
            import ulmeval.ulm

            assert not hasattr(ulmeval.api, 'Shade') and not hasattr(ulmeval.dataset, 'Nobody')
            model = ulmeval.ulm.Shade(red=7)
            assert model.generate(['a'])[0].getpixel((0, 0)) == (7, 0, 0)
            assert len(ulmeval.dataset.Small(dataset='Small')) == 2
            """
        )
    )
    assert run("config.py") == 0


def test_classes_of_ulmevalkit_can_be_subclassed(place: Path) -> None:
    (place / "sub.py").write_text(
        textwrap.dedent(
            """
            from ulmeval.api import GPTIMAGE1
            from ulmeval.ulm import BaseModel, Flux, JanusPro

            class Mine(JanusPro):
                def __init__(self):
                    pass

            assert isinstance(Mine(), JanusPro) and issubclass(Flux, BaseModel) and GPTIMAGE1 is not Flux
            """
        )
    )
    assert run("sub.py") == 0


def test_a_script_asks_the_judge_that_it_names(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "judge.py").write_text(
        textwrap.dedent(
            """
            from ulmeval.dataset.utils import build_judge
            from ulmeval.utils import track_progress_rich
            model = build_judge(model='gpt-4o', nproc=2)
            print(track_progress_rich(model.generate, [{'message': 'a'}, {'message': 'b'}], nproc=2))
            """
        )
    )
    with OpenAIStub(lambda received: chat(f"of {received.body['messages'][-1]['content']}")) as stub:
        monkeypatch.setenv("OPENAI_API_BASE", f"{stub.base_url}/chat/completions")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        assert run("judge.py") == 0
        assert {body["model"] for body in stub.bodies} == {"gpt-4o"}
    assert "['of a', 'of b']" in capsys.readouterr().out
