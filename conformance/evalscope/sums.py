"""Rows of benchmarks with numbers, expressions and short texts as answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from conformance.evalscope import answers
from conformance.evalscope.choices import with_options
from conformance.evalscope.sheets import Row, Sheet, each

_BOXED = ("\\boxed{{x}}", "So it is $\\boxed{{x}}$.", "Step by step.\n\nThe final answer is \\boxed{{x}}.")
_SO = ("Therefore, the answer is {x}.", "Some thoughts. Therefore, the answer is {x}.")
_LINE = ("Answer: {x}", "Step by step.\nAnswer: {x}")
_PLAIN = ("{x}", "It is {x}.")


def _number(sheet: Sheet, asked_for: Sequence[str]) -> tuple[str, str]:
    """A question with its mark, and the right number."""
    gold = sheet.number()
    said = answers.texts(sheet.rng, gold, sheet.number(), asked_for, is_number=True)
    return f"How many {sheet.words()} are there? {sheet.mark(said)}", gold


_EXPRESSIONS = (
    "\\frac{{{a}}}{{{b}}}",
    "\\dfrac{a}{b}",
    "{a}\\sqrt{{{b}}}",
    "\\left( {a}, {b} \\right)",
    "({a},{b}]",
    "x^{a} + {b}",
    "{a}\\pi",
    "\\text{{(A)}}",
    "{a}^\\circ",
    "\\${a}.{b}",
    "{a},000",
    "\\begin{{pmatrix}} {a} \\\\ {b} \\end{{pmatrix}}",
    "{a}\\%",
    "\\frac{{{a}\\pi}}{{{b}}}",
    "{a}, {b}",
    "\\{{{a}, {b}\\}}",
    "2^{{{a}}}",
    "{a} \\text{{ inches}}",
    "0.{a}",
    "-\\frac{a}{b}",
    "y = {a}x + {b}",
    "\\infty",
    "{a}i",
    "\\text{{east}}",
)


def _expression(sheet: Sheet, asked_for: Sequence[str]) -> tuple[str, str]:
    """A question with its mark, and the right expression."""

    def drawn() -> str:
        return sheet.rng.choice(_EXPRESSIONS).format(a=sheet.rng.randint(2, 9), b=sheet.rng.randint(2, 9))

    gold = drawn() if sheet.rng.random() < 0.7 else sheet.number()
    said = answers.texts(sheet.rng, gold, drawn(), asked_for, is_number=gold.isdecimal())
    return f"Find the value of {sheet.words()}. {sheet.mark(said)}", gold


def _aime24(sheet: Sheet) -> None:
    pairs = [_number(sheet, _BOXED) for _ in each(30)]
    sheet.rows("HuggingFaceH4/aime_2024", "default", "train", [{"problem": q, "answer": a} for q, a in pairs])


def _aime25(sheet: Sheet) -> None:
    for subset in ("AIME2025-I", "AIME2025-II"):
        pairs = [_number(sheet, _BOXED) for _ in each()]
        sheet.rows("opencompass/AIME2025", subset, "test", [{"question": q, "answer": a} for q, a in pairs])


def _competition_math(sheet: Sheet) -> None:
    rows = []
    for _ in each(70):
        text, gold = _expression(sheet, _BOXED)
        level = f"Level {sheet.rng.randint(1, 5)}"
        rows.append({"problem": text, "level": level, "type": "Algebra", "solution": f"So it is $\\boxed{{{gold}}}$."})
    sheet.rows("modelscope/competition_math", "default", "test", rows)


def _math_500(sheet: Sheet) -> None:
    rows = []
    for _ in each(70):
        text, gold = _expression(sheet, _BOXED)
        rows.append({"problem": text, "answer": gold, "level": sheet.rng.randint(1, 5), "solution": ""})
    sheet.rows("AI-ModelScope/MATH-500", "default", "test", rows)


def _gsm8k(sheet: Sheet) -> None:
    rows = []
    for _ in each(40):
        text, gold = _number(sheet, ("The answer is {x}", "1 + 1 = 2.\nThe answer is {x}."))
        rows.append({"question": text, "answer": f"First <<1+1=2>>2.\n#### {gold}"})
    sheet.rows("modelscope/gsm8k", "main", "test", rows)


def _docmath(sheet: Sheet) -> None:
    for subset in ("complong_testmini", "compshort_testmini", "simplong_testmini", "simpshort_testmini"):
        rows = []
        for _ in each():
            text, gold = _number(sheet, _SO)
            truth = float(gold)
            rows.append({"paragraphs": [sheet.words(5, 9)] * 2, "question": text, "ground_truth": truth})
        sheet.rows("yale-nlp/DocMath-Eval", "default", subset, rows)


def _drop(sheet: Sheet) -> None:
    nothing = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
    rows = []
    for _ in each(40):
        kind = sheet.rng.choice(("number", "spans", "date"))
        if kind == "number":
            gold = str(sheet.rng.randint(1, 99))
            answer = {**nothing, "number": gold}
        elif kind == "spans":
            spans = sheet.options(sheet.rng.randint(1, 2))
            gold, answer = ", ".join(spans), {**nothing, "spans": spans}
        else:
            date = {"day": str(sheet.rng.randint(1, 28)), "month": "March", "year": "1871"}
            gold, answer = " ".join(date.values()), {**nothing, "date": date}
        others = [{**nothing, "spans": [sheet.words(1, 2)]}]
        said = answers.texts(sheet.rng, gold, sheet.words(1, 2), _LINE, is_number=kind == "number")
        rows.append(
            {
                "passage": sheet.words(9, 20),
                "question": f"What is {sheet.words()}? {sheet.mark(said)}",
                "answer": answer,
                "validated_answers": {key: [other[key] for other in others] for key in nothing},
            }
        )
    sheet.rows("AI-ModelScope/DROP", "default", "validation", rows)


def _frames(sheet: Sheet) -> None:
    rows = []
    for i in each(40):
        gold = sheet.words(1, 3).title()
        said = answers.texts(sheet.rng, gold, sheet.words(1, 3), _SO)
        items = [{"title": sheet.words(1, 2), "text": sheet.words(9, 20)} for _ in range(2)]
        question = f"Who is {sheet.words()}? {sheet.mark(said)}"
        rows.append({"Unnamed: 0": i, "Prompt": question, "Answer": gold, "wiki_items": items})
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    sheet.case.files["iic/frames"] = {"test.jsonl": text}


def _trivia_qa(sheet: Sheet) -> None:
    def row() -> Row:
        gold = sheet.words(1, 2).title()
        said = answers.texts(sheet.rng, gold, sheet.words(1, 2), _PLAIN)
        question = f"Who was {sheet.words()}? {sheet.mark(said)}"
        turns = [{"role": "system", "content": "Follow the examples."}, {"role": "user", "content": question}]
        return {"input": turns, "ideal": [gold, gold.upper(), sheet.han()]}

    for split in ("dev", "test"):
        sheet.rows("modelscope/trivia_qa", "default", split, [row() for _ in each(30)])


_MULTIPLE = ("date_understanding", "snarks", "geometric_shapes", "logical_deduction_five_objects")
_FREE = {
    "navigate": ("Yes", "No"),
    "boolean_expressions": ("True", "False"),
    "object_counting": ("7", "12"),
    "word_sorting": ("amber cedar violin", "cedar amber violin"),
    "dyck_languages": (") ]", "] >"),
}


def _bbh(sheet: Sheet) -> None:
    sheet.case.args["subset_list"] = [*_MULTIPLE, *_FREE]
    for subset in _MULTIPLE:
        rows = []
        for _ in each():
            text, options, gold = with_options(sheet, 5, ("So the answer is ({x}).", "the answer is ({x})"))
            listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCDE", options, strict=True))
            rows.append({"input": f"{text}\nOptions:\n{listed}", "target": f"({gold})"})
        sheet.rows("modelscope/bbh", subset, "test", rows)
    for subset, (one, other) in _FREE.items():
        rows = []
        for _ in each():
            gold, wrong = sheet.rng.sample((one, other), 2)
            said = answers.texts(sheet.rng, gold, wrong, ("So the answer is {x}.", "the answer is {x}."))
            rows.append({"input": f"Is it {sheet.words()}? {sheet.mark(said)}", "target": gold})
        sheet.rows("modelscope/bbh", subset, "test", rows)


def _process_bench(sheet: Sheet) -> None:
    for subset in ("gsm8k", "math", "olympiadbench", "omnimath"):
        rows = []
        for _ in each(20):
            gold = sheet.rng.choice((-1, 0, 1, 2, 3))
            other = sheet.rng.choice([label for label in (-1, 0, 1, 2, 3) if label != gold])
            said = answers.texts(sheet.rng, str(gold), str(other), _BOXED)
            steps = [sheet.words(4, 9) for _ in range(5)]
            rows.append({"problem": f"{sheet.words()} {sheet.mark(said)}", "steps": steps, "label": gold})
        sheet.rows("Qwen/ProcessBench", "default", subset, rows)


BENCHMARKS: Mapping[str, Callable[[Sheet], None]] = {
    "aime24": _aime24,
    "aime25": _aime25,
    "bbh": _bbh,
    "competition_math": _competition_math,
    "docmath": _docmath,
    "drop": _drop,
    "frames": _frames,
    "gsm8k": _gsm8k,
    "math_500": _math_500,
    "process_bench": _process_bench,
    "trivia_qa": _trivia_qa,
}
