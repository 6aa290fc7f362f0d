"""The guide's listings, byte for byte, on local data of the right shape."""

import hashlib
import json
from pathlib import Path

import pytest

from polymeter.core.request import Generate, Loglikelihood
from tests.conformance.evalscope.mmlu_pro_data import rows, write
from tests.conformance.kit import evaluate, gold, guests_of, likelihoods, model

GUIDE = guests_of("evalscope") / "adapter_mmlu_pro"
METHODS = guests_of("evalscope") / "adapter_methods"
CHOICES = {"dialect_options": {"adapter": {"dataset_args": {"mmlu_pro": {"model_adapter": "multiple_choice_logits"}}}}}


@pytest.fixture
def data(tmp_path: Path) -> dict[str, str]:
    return {"modelscope/MMLU-Pro": str(write(tmp_path / "mmlu_pro"))}


def test_both_listings_in_one_file_are_the_guides_byte_for_byte() -> None:
    content = (GUIDE / "mmlu_pro/mmlu_pro_adapter.py").read_bytes()
    assert hashlib.sha256(content).hexdigest().startswith("4276dd89c8513039")


def test_gold_scores_full_marks_in_generation_mode(tmp_path: Path, data: dict[str, str]) -> None:
    run = gold(tmp_path, GUIDE, "mmlu_pro", data=data)
    assert run.value("mmlu_pro", "AverageAccuracy") == 1.0
    found = {(tuple(item["subset"]), item["n"]) for item in run.results["tasks"]["mmlu_pro"]["results"]}
    assert found == {((), 7), (("computer science",), 4), (("math",), 3)}


def test_the_prompt_has_the_examples_of_its_subset_and_the_letter_is_found_in_text(
    tmp_path: Path, data: dict[str, str]
) -> None:
    asked = []
    golds = {row["question"]: row["answer"] for row in rows("test", {"computer science": 4, "math": 3})}

    def answer(request):
        assert isinstance(request.parameters, Generate)
        asked.append(request.text)
        question = request.text.rpartition("Q: ")[2].partition("\n")[0]
        return f"I think of it. The answer is ({golds[question]})."

    run = evaluate(tmp_path, GUIDE, "mmlu_pro", model(answer), data=data)
    assert run.value("mmlu_pro", "AverageAccuracy") == 1.0
    prompt = next(text for text in asked if "test question 0 of math" in text)
    assert prompt.startswith("The following are multiple choice questions (with answers) about math.")
    assert [f"validation question {i} of math?" in prompt for i in range(6)] == [True] * 5 + [False]
    assert "(J): math option 9" in prompt


def test_multiple_choice_mode_takes_the_likeliest_letter(tmp_path: Path, data: dict[str, str]) -> None:
    def answer(request):
        assert isinstance(request.parameters, Loglikelihood)
        assert request.parameters.continuations == tuple("ABCDEFGHIJ")
        return likelihoods(request, lambda text: -1.0 if text == "C" else -2.0)

    run = evaluate(tmp_path, GUIDE, "mmlu_pro", model(answer), data=data, **CHOICES)
    golds = [row["answer"] for row in rows("test", {"computer science": 4, "math": 3})]
    assert run.value("mmlu_pro", "AverageAccuracy") == pytest.approx(golds.count("C") / 7)
    assert gold(tmp_path / "gold", GUIDE, "mmlu_pro", data=data, **CHOICES).value("mmlu_pro", "AverageAccuracy") == 1.0


def test_a_model_without_log_probabilities_is_asked_for_text_and_told_so(tmp_path: Path, data: dict[str, str]) -> None:
    blind = model(lambda request: "The answer is (C).", requests={"generate": True, "loglikelihood": False})
    run = evaluate(tmp_path, GUIDE, "mmlu_pro", blind, data=data, **CHOICES)
    golds = [row["answer"] for row in rows("test", {"computer science": 4, "math": 3})]
    assert run.value("mmlu_pro", "AverageAccuracy") == pytest.approx(golds.count("C") / 7)
    assert any("asked for text, because the model gives no log-probabilities" in note for note in run.results["notes"])


def test_listings_as_one_class_and_as_two_ask_the_same(tmp_path: Path, data: dict[str, str]) -> None:
    asked: dict[str, list[str]] = {}
    for folder, name in ((GUIDE, "mmlu_pro"), (guests_of("evalscope") / "adapter_one_class", "mmlu_pro_one")):
        texts = asked.setdefault(name, [])
        evaluate(
            tmp_path / name,
            folder,
            name,
            model(lambda request, texts=texts: texts.append(request.text) or "A"),
            data=data,
        )
    assert sorted(asked["mmlu_pro"]) == sorted(asked["mmlu_pro_one"])


def test_the_users_wins_over_ours(tmp_path: Path, data: dict[str, str]) -> None:
    run = gold(tmp_path, GUIDE, "mmlu_pro", data=data)
    assert any("Your 'mmlu_pro'" in note and "in place of the built-in one" in note for note in run.results["notes"])


# --- the listings of single methods -----------------------------------------------------------------------------------


def pets(folder: Path, *, by_field: bool = False) -> Path:
    folder.mkdir()
    for split, n in (("dev", 2), ("test", 3)):
        made = {
            subset: [
                {"question": f"{split} {subset} {i}?", "answer": f"{subset[0]}{i}", "your_category_field": subset}
                for i in range(n)
            ]
            for subset in ("cats", "dogs")
        }
        if by_field:
            for subset in made:  # every file holds some of each
                (folder / f"{subset}_{split}.json").write_text(json.dumps([made["dogs"][0], *made[subset][1:]]))
        else:
            for subset, records in made.items():
                (folder / f"{subset}_{split}.json").write_text(json.dumps(records))
    return folder


def test_load_from_disk_listing(tmp_path: Path) -> None:
    data = {"example/guide_disk": str(pets(tmp_path / "pets"))}
    run = gold(tmp_path, METHODS, "guide_disk", data=data)
    assert run.value("guide_disk", "AverageAccuracy") == 1.0
    assert run.result("guide_disk", "AverageAccuracy").n == 6


def test_load_and_reformat_subset_listing(tmp_path: Path) -> None:
    data = {"example/guide_load": str(pets(tmp_path / "pets", by_field=True))}
    run = gold(tmp_path, METHODS, "guide_load", data=data)
    found = {tuple(item["subset"]): item["n"] for item in run.results["tasks"]["guide_load"]["results"]}
    assert found == {(): 6, ("cats",): 2, ("dogs",): 4}


@pytest.mark.parametrize(("verdict", "value"), [("A", 1.0), ("B", 0.0)])
def test_llm_match_listing_asks_the_judge(tmp_path: Path, verdict: str, value: float) -> None:
    questions = []

    def judge(request):
        questions.append(request.text)
        return verdict

    options = {"dialect_options": {"adapter": {"judge_strategy": "llm"}}}
    data = {"example/guide_judge": str(pets(tmp_path / "pets"))}
    run = evaluate(tmp_path, METHODS, "guide_judge", "mock", data=data, roles={"judge": model(judge)}, **options)
    assert run.value("guide_judge", "AverageAccuracy") == value
    assert len(questions) == 6
    assert "test cats 0?" in "".join(questions)
