"""Judges inside ``evaluate`` and ``evaluate_sample``, and wrappers of another interface on these benchmarks."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.request import Output, Request, Response
from polymeter.models.mock import MockBatch
from tests.helpers.toy_datasets import png_base64, run_toy, samples_of, write_class

JUDGED = """
def evaluate(self, eval_file, **judge_kwargs):
    from ulmeval.dataset.utils import build_judge
    from ulmeval.utils import track_progress_rich
    data = load(eval_file)
    nproc = judge_kwargs.pop('nproc')
    judge = build_judge(**judge_kwargs)
    def rate(prompt, image):
        path = eval_file.replace('.pkl', f'_{prompt[:3]}.png')
        image.save(path)
        return judge.generate([dict(type='image', value=path), dict(type='text', value=f'Rate: {prompt}')])
    tups = [(prompt, cell[0]) for prompt, cell in zip(data['prompt'], data['prediction'])]
    answers = track_progress_rich(rate, tups, nproc=nproc)
    is_named = int(judge_kwargs['model'] == 'x-1')
    return {'score': np.mean([float(answer) for answer in answers]), 'named': {'model': is_named}}
"""


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


def rater(answer: str = "7") -> tuple[MockBatch, list[Request]]:
    """A judge that always says the same, and what it was asked."""
    seen: list[Request] = []

    def rate(request: Request) -> str:
        seen.append(request)
        return answer

    return MockBatch(rate, identity={"backend": "rater", "answer": answer}), seen


def values(run: Any) -> dict[str, Any]:
    return {item["metric"]: item["value"] for item in run.results["tasks"]["Toy"]["results"]}


def test_evaluate_asks_the_runs_judge_from_its_own_threads_and_once(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", JUDGED)
    judge, seen = rater()
    judge.display_name = "rater:org/x-1"  # type: ignore[attr-defined]
    run = run_toy(file, tmp_path / "run", roles={"judge": judge})
    assert values(run) == {"score": 7.0, "named/model": 1}
    assert run.exit_code == 0
    assert len(seen) == 3
    assert all(next(request.images()).size() == (64, 64) for request in seen)
    again = run_toy(file, tmp_path / "run", roles={"judge": judge})
    assert values(again)["score"] == 7.0
    assert len(seen) == 3


def test_an_evaluate_that_needs_a_judge_says_so_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="'Toy' is scored by a judge, and the run has none"):
        run_toy(write_class(tmp_path / "lib", JUDGED), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_judge_that_a_helper_needs_is_missed_when_it_is_wanted(tmp_path: Path) -> None:
    body = "def evaluate(self, eval_file, **judge_kwargs):\n    return {'n': len(self.judged(**judge_kwargs))}\n"
    helper = "def judged(self, **judge_kwargs):\n    return judge_kwargs['model']\n"
    run = run_toy(write_class(tmp_path / "lib", body + helper), tmp_path / "run")
    assert run.exit_code == 1
    assert values(run) == {}
    assert any("judge" in note for note in run.results["notes"])


def test_verdicts_that_were_lost_are_told_though_the_author_goes_on(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        from polymeter.core.guest_context import current_role_client, refuse_verdict
        refuse_verdict('The judge said: perhaps.')
        return {'score': 0}
    """
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run")
    assert run.exit_code == 1
    assert any("without 1 verdict of the judge. The judge said: perhaps." in note for note in run.results["notes"])


def test_a_sample_is_scored_by_the_judge(tmp_path: Path) -> None:
    body = """
    def evaluate_sample(self, line, prediction, **judge_kwargs):
        from ulmeval.dataset.utils import build_judge
        judge = build_judge(model=judge_kwargs['model'])
        return {'score': float(judge.generate('Rate ' + line['prompt']))}
    """
    judge, seen = rater("3")
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run", roles={"judge": judge})
    assert values(run) == {"score": 3.0}
    assert len(seen) == 3
    assert run.result("Toy", "score").no_interval == "fewer than 20 samples"


@pytest.mark.parametrize(
    "output",
    [
        Output(text="<think>perhaps 3", finish_reason="length"),
        Output(text="", reasoning="perhaps 3", finish_reason="length"),
    ],
)
def test_a_judge_that_was_cut_off_in_its_reasoning_leaves_the_sample_unscored(tmp_path: Path, output: Output) -> None:
    body = """
    def evaluate_sample(self, line, prediction, **judge_kwargs):
        from ulmeval.dataset.utils import build_judge
        judge = build_judge(model=judge_kwargs['model'])
        return {'score': float('3' in judge.generate('Rate ' + line['prompt']))}
    """
    judge = MockBatch(lambda request: Response((output,)), identity={"backend": "thinker"})
    run = run_toy(write_class(tmp_path / "lib", body), tmp_path / "run", roles={"judge": judge})
    assert run.results["tasks"]["Toy"]["statuses"] == {"unscored": 3}
    assert "ended inside its reasoning (token limit)" in samples_of(run)[0]["error"]["message"]


@pytest.mark.needs_system("lmms_eval")
def test_a_wrapper_for_lmms_eval_finds_prompt_and_pictures(tmp_path: Path) -> None:
    columns = {
        "index": [0, 1],
        "image": [png_base64("red"), "0"],
        "question": ["colour?", "size?"],
        "answer": ["x", "y"],
    }
    body = "def evaluate(self, eval_file, **kw):\n    return {'n': len(load(eval_file))}\n"
    file = write_class(tmp_path / "lib", body, columns=columns, base="ImageBaseDataset", type_="VQA")
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(
        textwrap.dedent("""
        from lmms_eval.api.model import lmms
        from lmms_eval.api.registry import register_model

        @register_model("seer")
        class Seer(lmms):
            def __init__(self, **kwargs):
                super().__init__()

            def generate_until(self, requests):
                answers = []
                for request in requests:
                    context, settings, doc_to_visual, doc_id, task, split = request.args
                    pictures = doc_to_visual(self.task_dict[task][split][doc_id])
                    answers.append(f"{context} {pictures[0].size} {pictures[0].convert('RGB').getpixel((0, 0))}")
                return answers

            def loglikelihood(self, requests):
                raise NotImplementedError

            def generate_until_multi_round(self, requests):
                raise NotImplementedError
        """),
        encoding="utf-8",
    )
    run = run_toy(file, tmp_path / "run", model=ModelSpec("lmms", "seer", {}, str(wrapper)))
    answers = [sample["exchanges"][0]["response"]["outputs"][0]["text"] for sample in samples_of(run)]
    assert answers == ["colour? (8, 8) (255, 0, 0)", "size? (8, 8) (255, 0, 0)"]


def test_a_kind_of_answer_that_nothing_gives_is_refused(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", "", type_="T2V")
    with pytest.raises(PlanError, match="type 'T2V', whose answers are neither text nor images"):
        run_toy(file, tmp_path / "run")


def test_a_model_that_makes_no_images_is_refused(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", "")
    with pytest.raises(PlanError, match="asks for 'generate_image'"):
        polymeter.evaluate("ocr", ["Toy"], include_paths=(file,), output=tmp_path / "run")
