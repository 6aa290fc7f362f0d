"""Dataset classes through the whole engine: prompts, generations, scores, results, failures, resuming."""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.core.content import Text
from polymeter.core.errors import DataError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import GenerateImage, Message, Origin, Output, Request, Response
from polymeter.data.formats import load
from polymeter.models.mock import MockBatch
from tests.helpers.toy_datasets import png_base64, run_toy, samples_of, write_class, write_table

COUNTS = """
def evaluate(self, eval_file, **judge_kwargs):
    data = load(eval_file)
    return {'rows': len(data), 'images': sum(len(cell) for cell in data['prediction'])}
"""


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.delenv("RANK", raising=False)
    return folder


def values(run: Any, task: str = "Toy") -> dict[str, Any]:
    return {item["metric"]: item["value"] for item in run.results["tasks"][task]["results"]}


def painter(fails_on: str = "") -> MockBatch:
    """Draws an image of one colour for each seed; refuses prompts with a word in them."""

    def draw(request: Request) -> Response:
        if fails_on and fails_on in request.text:
            raise polymeter.ModelError("The painter is tired.")
        ask = request.parameters
        assert isinstance(ask, GenerateImage)
        assert ask.seed is not None
        colour = (ask.seed % 256, ask.seed // 256 % 256, 7)
        return Response((Output(images=(Image.new("RGB", ask.size or (16, 12), colour),)),))

    return MockBatch(draw, identity={"backend": "painter", "fails_on": fails_on})


def test_the_prediction_file_is_the_frame_that_authors_expect(tmp_path: Path) -> None:
    body = """
    NUM_GENERATIONS = 2

    def evaluate(self, eval_file, **judge_kwargs):
        assert osp.basename(eval_file) == 'mock_Toy.pkl'
        data = load(eval_file)
        assert list(data.columns) == ['index', 'prompt', 'category', 'prediction']
        assert list(data['index']) == ['5', '7', '9'] and data['category'][1] == 'b'
        assert all(isinstance(cell, list) and len(cell) == 2 for cell in data['prediction'])
        assert all(isinstance(image, Image.Image) for cell in data['prediction'] for image in cell)
        merged = self.data.merge(data[['index', 'prediction']], on='index')
        dump(data[['index']], eval_file.replace('.pkl', '_score.csv'))
        return {'merged': len(merged), 'width': np.mean([cell[0].size[0] for cell in data['prediction']])}
    """
    columns = {"index": [5, 7, 9], "prompt": ["x", "y", "z"], "category": ["a", "b", "c"]}
    run = run_toy(write_class(tmp_path / "lib", body, columns=columns), tmp_path / "run")
    assert run.exit_code == 0
    assert values(run) == {"merged": 3, "width": 64}
    first = run.results["tasks"]["Toy"]["results"][0]
    assert first["interval"] is None
    assert first["n"] == 3
    assert first["artifacts"] == [
        "artifacts/Toy/evaluate.json",
        "artifacts/Toy/mock_Toy.pkl",
        "artifacts/Toy/mock_Toy_score.csv",
    ]
    assert json.loads((run.folder.artifacts / "Toy/evaluate.json").read_text()) == {"merged": 3, "width": 64}
    assert any("have intervals" in note for note in run.results["notes"])


def test_evaluate_is_called_once_in_a_world_of_one_with_what_the_run_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    body = """
    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        with open(eval_file.replace('.pkl', '.log'), 'a') as file:
            file.write(f"{os.environ['RANK']}/{os.environ['WORLD_SIZE']} {get_rank_and_world_size()}\\n")
        nproc = judge_kwargs.pop('nproc')
        return {'nproc': nproc, 'retry': judge_kwargs.pop('retry'), 'mine': judge_kwargs.pop('mine'),
                'has_model': {'n': int('model' in judge_kwargs)}, 'left': len(judge_kwargs)}
    """
    file = write_class(tmp_path / "lib", body)
    told = {"tsv": {"judge_args": {"nproc": 2, "mine": 5}}}
    run = run_toy(file, tmp_path / "run", dialect_options=told)
    assert values(run) == {"nproc": 2, "retry": 3, "mine": 5, "has_model/n": 0, "left": 1}
    assert (run.folder.artifacts / "Toy/mock_Toy.log").read_text() == "0/1 (0, 1)\n"
    assert "RANK" not in os.environ
    assert os.environ["WORLD_SIZE"] == "8"
    judged = run_toy(file, tmp_path / "judged", dialect_options=told, roles={"judge": "mock"})
    assert values(judged)["has_model/n"] == 1


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("None", {"evaluate": None}),
        ("pd.DataFrame({'split': ['val'], 'acc': [np.float64(0.5)]})", {"val/acc": 0.5}),
        ("{'text': 'good'}", {"evaluate": None}),
    ],
)
def test_whatever_evaluate_returns(tmp_path: Path, returned: str, found: dict) -> None:
    body = f"def evaluate(self, eval_file, **judge_kwargs):\n    return {returned}\n"
    assert values(run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")) == found


def test_an_evaluate_that_fails_keeps_the_answers_and_is_called_again_when_it_is_repaired(tmp_path: Path) -> None:
    broken = "def evaluate(self, eval_file, **judge_kwargs):\n    raise KeyError('prediciton')\n"
    file = write_class(tmp_path / "lib", broken)
    model = painter()
    run = run_toy(file, tmp_path / "run", model=model)
    assert run.exit_code == 1
    assert values(run) == {}
    note = next(note for note in run.results["notes"] if "evaluate" in note and "raised" in note)
    assert "ToyDataset" in note
    assert "KeyError: 'prediciton'" in note
    assert f"{file}:" in note
    assert sum(model.batches) == 3

    write_class(tmp_path / "lib", COUNTS)
    scored = polymeter.score(run.folder.path, output=tmp_path / "scored")
    assert values(scored) == {"rows": 3, "images": 3}
    assert scored.exit_code == 0
    again = run_toy(file, tmp_path / "run", model=model)
    assert values(again) == {"rows": 3, "images": 3}
    assert again.exit_code == 0
    assert sum(model.batches) == 3


def test_a_package_that_only_evaluate_needs_is_named_with_what_to_do(tmp_path: Path) -> None:
    evaluate = "def evaluate(self, eval_file, **kwargs):\n    import no_such_package.scores\n"
    run = run_toy(write_class(tmp_path / "lib", evaluate), tmp_path / "run", model=painter())
    (note,) = [note for note in run.results["notes"] if "ModuleNotFoundError" in note]
    assert "Install the package of 'no_such_package'; 'polymeter score RUN' then scores the existing answers." in note


def test_side_files_of_an_earlier_evaluate_are_gone_when_it_is_called_again(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        done = eval_file.replace('.pkl', '_done.json')
        if osp.exists(done):
            return {'stale': 1}
        dump({'a': 1}, done)
        raise ValueError('not yet')
    """
    file = write_class(tmp_path / "lib", body)
    assert run_toy(file, tmp_path / "run").exit_code == 1
    run = run_toy(file, tmp_path / "run")
    assert values(run) == {}
    assert run.exit_code == 1


def test_failed_samples_are_left_out_unless_their_text_is_asked_for(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        texts = [cell for cell in data['prediction'] if isinstance(cell, str)]
        return {'rows': len(data), 'failed': sum(text.startswith('Failed to obtain answer') for text in texts)}
    """
    file = write_class(tmp_path / "lib", body)
    run = run_toy(file, tmp_path / "run", model=painter("cats"))
    assert values(run) == {"rows": 2, "failed": 0}
    assert run.exit_code == 1
    assert run.results["tasks"]["Toy"]["n_scored"] == 2
    assert run.results["tasks"]["Toy"]["n_samples"] == 3
    told = {"tsv": {"failed_as_text": True}}
    legacy = run_toy(file, tmp_path / "legacy", model=painter("cats"), dialect_options=told)
    assert values(legacy) == {"rows": 3, "failed": 1}
    assert legacy.exit_code == 1


def test_scores_of_samples_give_means_intervals_and_verdicts(tmp_path: Path) -> None:
    body = """
    METRICS = {'is_wide': True, 'waste': False}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        width, height = prediction[0].size
        return {'is_wide': np.bool_('cat' in line['prompt']), 'waste': float('nan') if line['index'] == '0' else 2,
                'explanation': f'{width} by {height}'}
    """
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    wide, waste = (run.result("Toy", name) for name in ("is_wide", "waste"))
    assert wide.value == pytest.approx(1 / 3)
    assert wide.stderr == pytest.approx(1 / 3)
    assert wide.no_interval == "fewer than 20 samples"
    assert wide.higher_is_better
    assert waste.value == 2
    assert waste.n == 2
    assert waste.higher_is_better is False
    first = samples_of(run)[0]
    assert first["explanation"] == "64 by 64"
    assert first["status"] == "ok"
    assert not any("not known" in note for note in run.results["notes"])


def test_both_ways_to_score_stand_side_by_side(tmp_path: Path) -> None:
    body = """
    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {'acc': 1}

    def evaluate(self, eval_file, **judge_kwargs):
        return {'acc': 100, 'rows': len(load(eval_file))}
    """
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    assert run.value("Toy", "acc") == 1
    assert run.value("Toy", "acc", filter="evaluate") == 100
    assert run.value("Toy", "rows") == 3


def test_a_failing_evaluate_leaves_the_samples_results(tmp_path: Path) -> None:
    body = """
    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {'acc': 1}

    def evaluate(self, eval_file, **judge_kwargs):
        raise ValueError('no')
    """
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    assert values(run) == {"acc": 1}
    assert run.exit_code == 1


@pytest.mark.parametrize(
    ("returned", "message"),
    [("3", "returned a int"), ("{'acc': 'good'}", "gave 'good' for the metric 'acc'"), ("1 / 0", "ZeroDivisionError")],
)
def test_a_score_that_is_none_fails_its_sample(tmp_path: Path, returned: str, message: str) -> None:
    body = f"def evaluate_sample(self, line, prediction, **judge_kwargs):\n    return {returned}\n"
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run", limit=1)
    (sample,) = samples_of(run)
    assert sample["status"] == "error"
    assert message in sample["error"]["message"]


def test_how_many_images_are_asked_for(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", "NUM_GENERATIONS = 3\n" + COUNTS)
    assert values(run_toy(file, tmp_path / "a"))["images"] == 9
    assert values(run_toy(file, tmp_path / "b", generation={"num_generations": 2}))["images"] == 6
    assert values(run_toy(file, tmp_path / "c", dialect_options={"tsv": {"num_generations": 1}}))["images"] == 3
    known = write_class(tmp_path / "known", COUNTS, name="GenEval")
    assert values(run_toy(known, tmp_path / "d", tasks="GenEval"), "GenEval")["images"] == 12


def test_seeds_depend_on_run_sample_and_generation_alone(tmp_path: Path) -> None:
    seen: dict[str, list[int | None]] = defaultdict(list)

    def remember(request: Request) -> Response:
        assert isinstance(request.parameters, GenerateImage)
        assert request.origin is not None
        seen[request.origin.sample].append(request.parameters.seed)
        assert request.origin.metadata["prompt"] == request.text
        assert request.origin.metadata["dataset"] == "Toy"
        return Response((Output(images=(Image.new("RGB", (4, 4)),)),))

    file = write_class(tmp_path / "lib", COUNTS)
    run_toy(file, tmp_path / "a", model=MockBatch(remember), generation={"n": 2})
    whole = dict(seen)
    seen.clear()
    run_toy(file, tmp_path / "b", model=MockBatch(remember), generation={"n": 2}, limit=1)
    assert len({seed for seeds in whole.values() for seed in seeds}) == 6
    assert seen["0"] == whole["0"]


def test_prompts_in_every_form_and_the_row_that_they_are_made_of(tmp_path: Path) -> None:
    body = """
    def build_prompt(self, line):
        assert isinstance(line, pd.Series) and isinstance(line['index'], str)
        prompt = line['prompt']
        if line['index'] == '0':
            return [prompt]
        if line['index'] == '1':
            return [dict(type='text', value=prompt)]
        return prompt
    """
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    asked = [sample["exchanges"][0]["request"]["messages"][0]["parts"] for sample in samples_of(run)]
    assert asked == [[{"text": "a red circle"}], [{"text": "two cats"}], [{"text": "a blue square"}]]
    assert any("scores nothing" in note for note in run.results["notes"])


def test_a_bad_row_is_one_failed_sample(tmp_path: Path) -> None:
    columns = {"index": [0, 1, 2], "image": [png_base64("red"), "bm8gaW1hZ2U" * 9, "77"], "prompt": ["x", "y", "z"]}
    file = write_class(tmp_path / "lib", COUNTS, columns=columns, base="ImageBaseDataset", type_="IT2I")
    run = run_toy(file, tmp_path / "run")
    statuses = [sample["status"] for sample in samples_of(run)]
    assert statuses == ["ok", "error", "error"]
    assert values(run)["rows"] == 1
    messages = [(sample["error"] or {}).get("message", "") for sample in samples_of(run)]
    assert "row '1', column 'image'" in messages[1]
    assert "refers to row '77'" in messages[2]


def test_the_models_own_prompt_comes_first_where_it_has_one(tmp_path: Path) -> None:
    seen: list[str] = []
    told: list[tuple[str, Any]] = []

    class Own(MockBatch):
        def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
            handle = self.rows(origin)  # type: ignore[misc]
            assert handle is not None
            row = handle.prompt_row()
            told.append((origin.task, handle.dump_image(row)))
            return None if row["index"] == "1" else (Message("user", (Text(f"draw {row['prompt']}"),)),)

    def draw(request: Request) -> Response:
        seen.append(request.text)
        return Response((Output(images=(Image.new("RGB", (4, 4)),)),))

    asks = {"generate_image": True}
    traits = ModelTraits("mine", requests=asks, modalities={"text": True}, has_own_prompts=True)  # type: ignore[arg-type]
    run_toy(write_class(tmp_path / "lib", COUNTS), tmp_path / "run", model=Own(draw, traits, {"a": 1}))
    assert sorted(seen) == ["draw a blue square", "draw a red circle", "two cats"]
    assert told[0] == ("Toy", [])
    again = polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert again.results["tasks"]["Toy"]["statuses"] == {"ok": 3}
    assert len(seen) == 3, "scoring again asks for no prompt and for no answer"


def test_texts_are_asked_for_where_the_type_says_so(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        return {'right': float(np.mean(data['prediction'] == data['answer']))}
    """
    columns = {"index": [0, 1], "question": ["2 + 2?", "3 + 3?"], "answer": ["four", "six"]}
    file = write_class(tmp_path / "lib", body, columns=columns, type_="VQA")
    run = run_toy(file, tmp_path / "run", model_args={"mode": "gold"})
    assert values(run) == {"right": 1.0}
    ask = samples_of(run)[0]["exchanges"][0]["request"]["ask"]
    assert ask["kind"] == "generate"
    assert ask["temperature"] == 0
    assert ask["max_new_tokens"] == 512


def test_a_class_without_a_type_asks_as_its_kit_does(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS, type_=None)
    assert values(run_toy(file, tmp_path / "a"))["images"] == 3
    vlm = write_class(
        tmp_path / "vlm", "def evaluate(self, eval_file, **kw):\n    return {'n': len(load(eval_file))}\n"
    )
    text = vlm.read_text().replace("    TYPE = 'T2I'\n", "")
    vlm.write_text(text.replace("from .text_base", "from vlmeval.dataset.text_base"))
    run = run_toy(vlm, tmp_path / "b")
    assert samples_of(run)[0]["exchanges"][0]["request"]["ask"]["kind"] == "generate"


def test_a_class_that_calls_no_constructor(tmp_path: Path) -> None:
    body = (
        "def __init__(self, dataset='Toy', **kwargs):\n"
        "    self.data = pd.DataFrame({'index': [0, 1], 'prompt': ['a', 'b']})\n"
    )
    file = write_class(tmp_path / "lib", body + COUNTS)
    assert values(run_toy(file, tmp_path / "run")) == {"rows": 2, "images": 2}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("None", "The data of 'Toy' is missing"),
        ("[1, 2]", "The data of 'Toy' is a list"),
        ("pd.DataFrame({'prompt': ['a']})", "no column 'index'"),
        ("pd.DataFrame({'index': [1, 1], 'prompt': ['a', 'b']})", "'1' in rows 1, 2"),
        ("pd.DataFrame({'index': [], 'prompt': []})", "has no rows"),
        ("1 / 0", "Loading the data of benchmark 'Toy' raised ZeroDivisionError"),
    ],
)
def test_data_that_is_no_table_is_refused_before_anything_is_asked(tmp_path: Path, data: str, message: str) -> None:
    file = write_class(tmp_path / "lib", f"def __init__(self, dataset, **kwargs):\n    self.data = {data}\n")
    with pytest.raises(DataError, match=message):
        run_toy(file, tmp_path / "run")


def test_local_tables_in_place_of_a_datasets_own(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    mine = write_table(tmp_path / "mine.tsv", {"index": [0], "prompt": ["only one"]})
    assert values(run_toy(file, tmp_path / "a", data={"Toy": str(mine)}))["rows"] == 1
    with pytest.raises(DataError, match=r"--data Toy=.*there is no"):
        run_toy(file, tmp_path / "b", data={"Toy": str(tmp_path / "none.tsv")})
    own = "def __init__(self, dataset, **kw):\n    self.data = pd.DataFrame({'index': [0], 'prompt': ['a']})\n"
    with pytest.raises(PlanError, match="by other ways than load_data"):
        run_toy(write_class(tmp_path / "own", own), tmp_path / "c", data={"Toy": str(mine)})


def test_data_that_changed_is_another_run_and_code_that_changed_is_not(tmp_path: Path, data_folder: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    run_toy(file, tmp_path / "run")
    write_class(tmp_path / "lib", COUNTS + "\n# changed\n")
    assert run_toy(file, tmp_path / "run").exit_code == 0
    write_table(data_folder / "Toy.tsv", {"index": [0, 1, 2], "prompt": ["x", "y", "z"]})
    with pytest.raises(PlanError, match="data of task 'Toy' changed"):
        run_toy(file, tmp_path / "run")


def test_answers_can_be_kept_unscored_and_scored_later(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    kept = run_toy(file, tmp_path / "kept", dialect_options={"tsv": {"predict_only": True}})
    assert values(kept) == {}
    assert kept.exit_code == 0
    scored = polymeter.score(
        kept.folder.path, output=tmp_path / "scored", dialect_options={"tsv": {"predict_only": False}}
    )
    assert values(scored) == {"rows": 3, "images": 3}


def test_names_that_are_computed_are_found_when_the_file_is_named(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    file.write_text(file.read_text().replace("DATASET_URL = {'Toy': ''}", "DATASET_URL = {n: '' for n in ['Toy']}"))
    run = polymeter.evaluate("mock", [str(file)], output=tmp_path / "run")
    assert values(run) == {"rows": 3, "images": 3}


def test_resuming_draws_nothing_twice(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    first, model = painter(), painter()
    run_toy(file, tmp_path / "run", model=first, limit=None, max_errors=None)
    before = sorted(path.name for path in (tmp_path / "run/media").rglob("*.png"))
    results = (tmp_path / "run/results.json").read_bytes()
    run_toy(file, tmp_path / "run", model=model)
    assert not model.batches
    assert (tmp_path / "run/results.json").read_bytes() == results
    assert sorted(path.name for path in (tmp_path / "run/media").rglob("*.png")) == before


def test_the_file_in_the_run_folder_opens_later(tmp_path: Path) -> None:
    run = run_toy(write_class(tmp_path / "lib", COUNTS), tmp_path / "run", model=painter())
    data = load(str(next(run.folder.artifacts.rglob("*.pkl"))))
    assert [cell[0].size for cell in data["prediction"]] == [(16, 12)] * 3


@pytest.mark.parametrize(
    ("option", "message"),
    [("circlar", "no option 'circlar'.*circular"), ("num_generations", "num_generations")],
)
def test_unknown_settings_name_the_nearest(tmp_path: Path, option: str, message: str) -> None:
    file = write_class(tmp_path / "lib", COUNTS)
    with pytest.raises(PlanError, match=message):
        run_toy(file, tmp_path / "run", dialect_options={"tsv": {option: "x"}})


def test_several_texts_are_scored_one_by_one(tmp_path: Path) -> None:
    body = """
    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {'right': prediction == str(line['answer']), 'answer': prediction}
    """
    columns = {"index": [0], "question": ["How many?"], "answer": [0]}
    file = write_class(tmp_path / "lib", body, columns=columns, type_="VQA")
    texts = MockBatch(lambda request: ["0", "1"], identity={"backend": "texts"})
    run = run_toy(file, tmp_path / "run", model=texts, generation={"n": 2})
    assert values(run) == {"right": 0.5}
    (sample,) = samples_of(run)
    assert sample["answer"] == "1. 0\n2. 1"
    assert sample["target"] == "0"


def test_what_metrics_must_be(tmp_path: Path) -> None:
    body = "METRICS = ['acc']\n"
    scored = body + "def evaluate_sample(self, line, prediction, **kw):\n    return {'acc': 1}\n"
    with pytest.raises(PlanError, match="METRICS of ToyDataset"):
        run_toy(write_class(tmp_path / "lib", scored), tmp_path / "run")
    assert values(run_toy(write_class(tmp_path / "other", body + COUNTS), tmp_path / "b"))["rows"] == 3
