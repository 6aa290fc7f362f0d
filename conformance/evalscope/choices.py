"""Rows of benchmarks whose questions have options."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from conformance.evalscope import answers
from conformance.evalscope.sheets import HERE, LETTERS, PER_SUBSET, SHOTS, Row, Sheet, each

_THE_BEST = ("The best answer is {x}", "Answer: {x}", "The answer is ({x}).", "The answer is {x}.")
_FINISHED = ("the answer is ({x}).", "Let us see. The answer is ({x}).", "The answer is {x}.")
_CHINESE = ("答案是：{x}", "答案：{x}", "答案是({x})。", "想一想。\n答案是：{x}")
_BOXED = ("\\boxed{{x}}", "So it is $\\boxed{{x}}$.", "Step by step.\n\nThe final answer is \\boxed{{x}}.")


def with_options(sheet: Sheet, count: int, asked_for: Sequence[str]) -> tuple[str, list[str], str]:
    """A question with its mark, the options, and the right letter."""
    options = sheet.options(count)
    gold = sheet.rng.choice(LETTERS[:count])
    said = answers.letters(sheet.rng, gold, LETTERS[:count], options, asked_for)
    return f"Which {sheet.words()} is it? {sheet.mark(said)}", options, gold


def _lettered(sheet: Sheet, question: str, answer: str, asked_for: Sequence[str], count: int = 4) -> Row:
    """A row with a column for each option."""
    text, options, gold = with_options(sheet, count, asked_for)
    return {question: text, **dict(zip(LETTERS, options, strict=False)), answer: gold}


def _arc(sheet: Sheet) -> None:
    def row() -> Row:
        text, options, gold = with_options(sheet, 4, _THE_BEST)
        named = {"text": options, "label": list("ABCD")}
        return {"id": sheet.words(1, 1), "question": text, "choices": named, "answerKey": gold}

    for subset in ("ARC-Easy", "ARC-Challenge"):
        for split in ("train", "test"):
            sheet.rows("modelscope/ai2_arc", subset, split, [row() for _ in each()])


def _ceval(sheet: Sheet) -> None:
    subsets = ["logic", "law", "accountant", "physician", "college_physics", "art_studies"]
    sheet.case.args["subset_list"] = subsets
    for subset in subsets:
        for split in ("dev", "val"):
            rows = [{"id": i, **_lettered(sheet, "question", "answer", _CHINESE), "explanation": ""} for i in each()]
            sheet.rows("modelscope/ceval-exam", subset, split, rows)


def _cmmlu(sheet: Sheet) -> None:
    subsets = ["agronomy", "college_law", "world_history", "virology", "management"]
    sheet.case.args["subset_list"] = subsets
    for subset in subsets:
        for split in ("dev", "test"):
            rows = [_lettered(sheet, "Question", "Answer", _CHINESE) for _ in each()]
            sheet.rows("modelscope/cmmlu", subset, split, rows)


def _general_mcq(sheet: Sheet) -> None:
    subsets = ["first", "second"]
    for subset in subsets:
        for split, count in (("dev", SHOTS), ("val", PER_SUBSET)):
            rows = [_lettered(sheet, "question", "answer", _CHINESE, sheet.rng.randint(3, 8)) for _ in each(count)]
            text = "".join(json.dumps({"id": i, **row}, ensure_ascii=False) + "\n" for i, row in enumerate(rows))
            sheet.case.files.setdefault("own_mcq", {})[f"{subset}_{split}.jsonl"] = text
    sheet.case.args.update(local_path=f"{HERE}/own_mcq", subset_list=subsets, few_shot_num=2)


def _gpqa(sheet: Sheet) -> None:
    for subset in ("gpqa_extended", "gpqa_main", "gpqa_diamond"):
        rows = []
        for _ in each():
            options = sheet.options(4)
            said = {}
            for model in answers.MODELS:
                meant = options[0] if answers.means_right(sheet.rng, model) else sheet.rng.choice(options[1:])
                form = sheet.rng.choice(_BOXED if model != "messy" else (*_BOXED, *_THE_BEST, "**({x})**", "{x}/", ""))
                # The benchmark shuffles the options: which letter stands for a text is read in the prompt.
                said[model] = {"option": meant, "form": form}
            rows.append(
                {
                    "Question": f"Which {sheet.words()} is it? {sheet.mark(said)}",
                    "Correct Answer": options[0],
                    **{f"Incorrect Answer {i}": options[i] for i in (1, 2, 3)},
                }
            )
        sheet.rows("modelscope/gpqa", subset, "train", rows)


def _hellaswag(sheet: Sheet) -> None:
    def row() -> Row:
        text, options, gold = with_options(sheet, 4, ("{x}",))
        return {
            "ctx_a": f"{sheet.words(4, 9).capitalize()}. {text}",
            "ctx_b": sheet.words(1, 2),
            "endings": [f" {option} [step] and so on." for option in options],
            "activity_label": sheet.words(1, 2),
            "label": str("ABCD".index(gold)),
        }

    for split in ("train", "validation"):
        sheet.rows("modelscope/hellaswag", "default", split, [row() for _ in each(30)])


def _iquiz(sheet: Sheet) -> None:
    for subset in ("IQ", "EQ"):
        rows = []
        for _ in each():
            text, options, gold = with_options(sheet, sheet.rng.randint(3, 5), ("答案是({x})", "答案是{x}。因为如此。"))
            rows.append({"question": text, "choices": options, "answer": gold, "level": 1})
        sheet.rows("AI-ModelScope/IQuiz", subset, "test", rows)


def _maritime(sheet: Sheet) -> None:
    rows = []
    for _ in each(30):
        row = _lettered(sheet, "question", "answer", ("<{x}>", "答：<{x}>", "<{x}> 因为如此"))
        if row["answer"] in "AB" and sheet.rng.random() < 0.3:
            row["D"] = ""
        rows.append(row)
    sheet.rows("HiDolphin/MaritimeBench", "default", "test", rows)


def _mmlu(sheet: Sheet) -> None:
    subsets = ["virology", "business_ethics", "econometrics", "high_school_physics", "world_religions"]
    sheet.case.args["subset_list"] = subsets
    for subset in subsets:
        for split in ("train", "test"):
            rows = [_lettered(sheet, "input", "target", _THE_BEST) for _ in each()]
            sheet.rows("modelscope/mmlu", subset, split, rows)


def _mmlu_pro(sheet: Sheet) -> None:
    subsets = ["law", "math", "other", "computer science"]
    sheet.case.args["subset_list"] = subsets

    def row() -> Row:
        text, options, gold = with_options(sheet, sheet.rng.randint(4, 10), _FINISHED)
        return {
            "question": text,
            "options": options,
            "answer": gold,
            "answer_index": LETTERS.index(gold),
            "cot_content": f"A: Let's think step by step. The answer is ({gold}).",
            "category": sheet.rng.choice([*subsets, "history"]),
        }

    sheet.rows("modelscope/MMLU-Pro", "default", "validation", [row() for _ in each(40)])
    sheet.rows("modelscope/MMLU-Pro", "default", "test", [row() for _ in each(70)])


def _mmlu_redux(sheet: Sheet) -> None:
    subsets = ["anatomy", "astronomy", "virology", "public_relations"]
    sheet.case.args["subset_list"] = subsets
    for subset in subsets:
        rows = []
        for _ in each():
            text, options, gold = with_options(sheet, 4, _FINISHED)
            rows.append({"question": text, "choices": options, "answer": LETTERS.index(gold), "error_type": "ok"})
        sheet.rows("AI-ModelScope/mmlu-redux-2.0", subset, "test", rows)


def _musr(sheet: Sheet) -> None:
    for subset in ("murder_mysteries", "object_placements", "team_allocation"):
        rows = []
        for _ in each():
            text, options, gold = with_options(sheet, sheet.rng.randint(2, 5), _FINISHED)
            index = LETTERS.index(gold)
            rows.append(
                {"narrative": sheet.words(9, 20), "question": text, "choices": repr(options), "answer_index": index}
            )
        sheet.rows("AI-ModelScope/MuSR", "default", subset, rows)


def _race(sheet: Sheet) -> None:
    def row() -> Row:
        text, options, gold = with_options(sheet, 4, ("{x}",))
        return {"article": sheet.words(9, 20), "question": text, "options": options, "answer": gold, "example_id": "x"}

    for subset in ("high", "middle"):
        for split in ("train", "test"):
            sheet.rows("modelscope/race", subset, split, [row() for _ in each(20)])


def _super_gpqa(sheet: Sheet) -> None:
    subsets = ["Mathematics", "Physics", "Philosophy", "Applied Economics"]
    sheet.case.args["subset_list"] = subsets
    rows = []
    for _ in each(70):
        text, options, gold = with_options(sheet, sheet.rng.randint(4, 10), ("Answer: {x}", "Answer: $\\boxed{{{x}}}$"))
        rows.append(
            {
                "question": text,
                "options": options,
                "answer": options[LETTERS.index(gold)],
                "answer_letter": gold,
                "field": sheet.rng.choice([*subsets, "Law"]),
            }
        )
    sheet.rows("m-a-p/SuperGPQA", "default", "train", rows)


def _truthful_qa(sheet: Sheet) -> None:
    def likelihoods(count: int, right: Sequence[int]) -> dict[str, list[float]]:
        def drawn(model: str) -> list[float]:
            knows = answers.means_right(sheet.rng, model)
            return [round(sheet.rng.uniform(-9, -1) + 4 * ((i in right) == knows), 4) for i in range(count)]

        return {model: drawn(model) for model in answers.MODELS}

    rows = []
    for _ in each(30):
        first, second, true = sheet.rng.randint(2, 5), sheet.rng.randint(3, 6), sheet.rng.randint(1, 2)
        said = likelihoods(first + second, [0, *range(first, first + true)])
        rows.append(
            {
                "question": f"What is {sheet.words()}? {sheet.mark(said)}",
                "mc1_targets": {"choices": sheet.options(first), "labels": [1] + [0] * (first - 1)},
                "mc2_targets": {"choices": sheet.options(second), "labels": [1] * true + [0] * (second - true)},
            }
        )
    sheet.rows("modelscope/truthful_qa", "multiple_choice", "validation", rows)


def _winogrande(sheet: Sheet) -> None:
    rows = []
    for _ in each(30):
        text, options, gold = with_options(sheet, 2, (*_CHINESE, "The answer is {x}", "{x}"))
        rows.append(
            {"sentence": text, "option1": options[0], "option2": options[1], "answer": str(1 + "AB".index(gold))}
        )
    sheet.rows("AI-ModelScope/winogrande_val", "default", "validation", rows)


BENCHMARKS: Mapping[str, Callable[[Sheet], None]] = {
    "arc": _arc,
    "ceval": _ceval,
    "cmmlu": _cmmlu,
    "general_mcq": _general_mcq,
    "gpqa": _gpqa,
    "hellaswag": _hellaswag,
    "iquiz": _iquiz,
    "maritime_bench": _maritime,
    "mmlu": _mmlu,
    "mmlu_pro": _mmlu_pro,
    "mmlu_redux": _mmlu_redux,
    "musr": _musr,
    "race": _race,
    "super_gpqa": _super_gpqa,
    "truthful_qa": _truthful_qa,
    "winogrande": _winogrande,
}
