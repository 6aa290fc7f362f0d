"""``--permute-choices`` for EvalScope's adapters: the list of choices in their prompts, and the reference, move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError, UnfitError
from polymeter.models.mock import MockModel
from tests.run.permuting import kit

_OF_1X = """
from evalscope.api.benchmark import BenchmarkMeta, MultiChoiceAdapter
from evalscope.api.dataset import Sample
from evalscope.api.registry import register_benchmark
from evalscope.utils.multi_choices import MultipleChoiceTemplate

@register_benchmark(BenchmarkMeta(
    name="quiz", dataset_id="made/quiz", subset_list=["default"], metric_list=["acc"], eval_split="test",
    prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER,
))
class QuizAdapter(MultiChoiceAdapter):
    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        return Sample(input=record["question"], choices=record["options"], target=record["answer"],
                      metadata={"correct": record["answer"], "index": record["answer_index"]})
"""
_OF_0_17 = """
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import exact_match

@Benchmark.register(
    name="quiz", dataset_id="made/quiz", model_adapter=OutputType.GENERATION, output_types=[OutputType.GENERATION],
    subset_list=["default"], metric_list=["AverageAccuracy"], few_shot_num=0, eval_split="test",
    prompt_template="{query}",
)
class QuizAdapter(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        listed = "\\n".join(f"{x}. {text}" for x, text in zip("ABCD", input_d["options"]))
        return self.gen_prompt_data(input_d["question"] + "\\n" + listed + "\\nAnswer:")

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.strip()[-1:]

    def match(self, gold, pred):
        return exact_match(gold=gold, pred=pred)
"""
KINDS = {"1.x": (_OF_1X, "ANSWER: {}", "accuracy"), "0.17": (_OF_0_17, "it is {}", "AverageAccuracy")}


def adapter(folder: Path, code: str, **changes: object) -> str:
    """An adapter over the quiz; the cells of its first row may be changed."""
    data = folder / "made" / "quiz"
    data.mkdir(parents=True)
    rows = kit.rows()
    rows[0] |= changes
    for name in ("default.jsonl", "default_test.jsonl", "test.jsonl"):
        (data / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code = code.replace('"made/quiz"', repr(str(data)))
    (folder / "quiz_adapter.py").write_text(code, encoding="utf-8")
    return str(folder / "quiz_adapter.py")


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_answer_moves(tmp_path: Path, kind: str) -> None:
    code, shape, metric = KINDS[kind]
    task = adapter(tmp_path, code)
    for name, model in (("gold", MockModel(mode="gold")), ("content", kit.Chooser(kit.by_content, shape))):
        run = kit.evaluate(model, task, tmp_path / name)
        found = kit.values(run, metric)
        assert found["none"] == found["order 1"] == found["all orders"], name
        assert kit.values(run, "choice")["consistency"] == 1
    assert kit.values(tmp_path / "gold", metric)["none"] == 1
    model = kit.Chooser(kit.first, shape)
    found = kit.values(kit.evaluate(model, task, tmp_path / "first"), metric)
    shares = [kit.RIGHT_AT.count(-shift % 4) / kit.N for shift in range(4)]
    assert [found[f"order {number}"] for number in range(1, 5)] == pytest.approx(shares)
    assert len({request.text for request in model.asked}) == 4 * kit.N


def test_a_target_that_is_no_choice(tmp_path: Path) -> None:
    model = kit.Chooser(kit.first)
    with pytest.raises(PlanError, match=r"the target 'river' is none of its choices"):
        kit.evaluate(model, adapter(tmp_path, _OF_1X, answer="river"), tmp_path / "run")
    assert not model.asked


def test_prompts_that_list_nothing(tmp_path: Path) -> None:
    model = kit.Chooser(kit.first)
    code = _OF_0_17.replace(r' + "\n" + listed', "")
    assert code != _OF_0_17
    with pytest.raises(
        UnfitError, match=r"No question of task 'quiz' can be asked in another order: they have no choices"
    ):
        kit.evaluate(model, adapter(tmp_path, code), tmp_path / "run")
    assert not model.asked
    assert (
        polymeter.evaluate(model, [str(tmp_path / "quiz_adapter.py")], output=tmp_path / "plain").status == "complete"
    )
