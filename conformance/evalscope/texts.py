"""Rows of benchmarks whose answers are texts, compared with a reference, checked or judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from conformance.evalscope import answers
from conformance.evalscope.sheets import HERE, Row, Sheet, each


def sentence(sheet: Sheet, *, is_chinese: bool) -> str:
    """A few sentences."""
    if is_chinese:
        return "，".join(sheet.han(3, 8) for _ in range(sheet.rng.randint(2, 5))) + "。"
    return ". ".join(sheet.words(3, 9).capitalize() for _ in range(sheet.rng.randint(1, 4))) + "."


def part_of(sheet: Sheet, text: str) -> str:
    """A text with some of its words."""
    words = text.split(" ") if " " in text else list(text)
    kept = [word for word in words if sheet.rng.random() < 0.6]
    return (" " if " " in text else "").join(kept)


def _written(sheet: Sheet, gold: str, *, is_chinese: bool = False) -> Mapping[str, str]:
    """What the models write where the answer is a text."""
    near, far = part_of(sheet, gold), sentence(sheet, is_chinese=is_chinese)
    messy = [f"**{near}**\n\n- {gold}", f"<think>{far}</think>\n{near}", f"# {far}\n{gold}", f"{gold} \U0001f642", " "]
    return answers.chosen(sheet.rng, [gold, f"{gold} {near}"], [near, far], [*messy, near.upper(), f"```\n{gold}\n```"])


def _general_qa(sheet: Sheet) -> None:
    for subset in ("first", "second"):
        rows = []
        for _ in each(20):
            is_chinese = sheet.rng.random() < 0.4
            gold = sentence(sheet, is_chinese=is_chinese)
            question = f"What about {sheet.words()}? {sheet.mark(_written(sheet, gold, is_chinese=is_chinese))}"
            row: Row = {"system": "Be brief."} if sheet.rng.random() < 0.3 else {}
            if sheet.rng.random() < 0.3:
                row["messages"] = [{"role": "user", "content": question}]
            rows.append({**row, "query": question, "response": gold})
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        sheet.case.files.setdefault("own_qa", {})[f"{subset}.jsonl"] = text
    sheet.case.args.update(local_path=f"{HERE}/own_qa", subset_list=["first", "second"])


def _judged(question: str, gold: str, dataset: str, subset: str, split: str) -> Callable[[Sheet], None]:
    """A benchmark whose answers a judge reads, by its columns."""

    def draw(sheet: Sheet) -> None:
        rows = []
        for _ in each(30):
            text = sentence(sheet, is_chinese=False)
            asked = f"What about {sheet.words()}? {sheet.mark(_written(sheet, text))}"
            rows.append({question: asked, gold: text, "metadata": "{}"})
        sheet.rows(dataset, subset, split, rows)

    return draw


def _chinese_simpleqa(sheet: Sheet) -> None:
    rows = []
    for _ in each(60):
        gold = sheet.han()
        said = _written(sheet, gold, is_chinese=True)
        category = sheet.rng.choice(("中华文化", "社会", "自然与自然科学", "别的"))
        rows.append(
            {"question": f"谁是{sheet.han()}？ {sheet.mark(said)}", "answer": gold, "primary_category": category}
        )
    sheet.rows("AI-ModelScope/Chinese-SimpleQA", "default", "train", rows)


def _needle_haystack(sheet: Sheet) -> None:
    files = {
        "PaulGraham_Essays.txt": " ".join(sentence(sheet, is_chinese=False) for _ in range(40)),
        "Journey_to_the_West.txt": "".join(sentence(sheet, is_chinese=True) for _ in range(60)),
    }
    sheet.case.files["AI-ModelScope/Needle-in-a-Haystack-Corpus"] = files
    sheet.case.args["extra_params"] = {
        "retrieval_question": f"What is best about {sheet.words(1, 2)}?",
        "needles": [f"\nThe best thing is {sheet.words(2, 3)}.\n", f"\nIt is {sheet.words(1, 2)}.\n"],
        "context_lengths_min": 400,
        "context_lengths_max": 900,
        "context_lengths_num_intervals": 3,
        "document_depth_percent_min": 0,
        "document_depth_percent_max": 100,
        "document_depth_percent_intervals": 3,
        "tokenizer_path": "scripted/tokenizer",
    }
    needle = "\n".join(sheet.case.args["extra_params"]["needles"]).strip()
    pool = {"right": [needle] * 6 + ["No."], "wrong": ["I do not know.", "No."] * 3 + [needle]}
    pool["messy"] = [f"**{needle}**", needle.upper(), f"It says: {needle}", "", "\n", f"the {needle} ", "Nothing."]
    sheet.case.pools = pool


_CHECKS: Sequence[tuple[str, Row]] = (
    ("punctuation:no_comma", {}),
    ("keywords:existence", {"keywords": ["harbour", "violin"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["meadow"]}),
    ("keywords:frequency", {"keyword": "cedar", "frequency": 2, "relation": "at least"}),
    ("keywords:letter_frequency", {"letter": "e", "let_frequency": 6, "let_relation": "at least"}),
    ("length_constraints:number_words", {"num_words": 12, "relation": "at least"}),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("detectable_format:title", {}),
    ("detectable_format:json_format", {}),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}),
    ("startend:quotation", {}),
    ("startend:end_checker", {"end_phrase": "That is all."}),
    ("combination:two_responses", {}),
)
_REPLIES = (
    "A harbour. A violin. The cedar and the cedar by the sea, where everyone keeps three green trees for ever.",
    "One thing\n***\nAnother thing, with a meadow",
    "<<A title>>\n\n* one\n* two\n\nP.S. cedar",
    '"A quoted line with a harbour and a violin."',
    '{"a": 1}',
    '```json\n{"a": [1, 2]}\n```',
    "*highlighted* words and [name] here. That is all.",
    "First answer\n******\nSecond answer",
    "Sure! Here it is:\nA harbour with a violin\nThat is all.",
    "**- one\n- two**",
    "cedar, cedar, cedar; P.S. That is all.",
    "\u201cA harbour\u201d \u2026 e e e e e e e",
    "",
    "\n\n",
)


def _ifeval(sheet: Sheet) -> None:
    keys = sorted({key for _, settings in _CHECKS for key in settings})
    rows = []
    for i in each(60):
        checks = sheet.rng.sample(_CHECKS, sheet.rng.randint(1, 3))
        said = answers.chosen(sheet.rng, _REPLIES[:8], _REPLIES[8:], _REPLIES)
        rows.append(
            {
                "key": i,
                "prompt": f"Write about {sheet.words()}. {sheet.mark(said)}",
                "instruction_id_list": [name for name, _ in checks],
                "kwargs": [{key: settings.get(key) for key in keys} for _, settings in checks],
            }
        )
    sheet.rows("opencompass/ifeval", "default", "train", rows)


BENCHMARKS: Mapping[str, Callable[[Sheet], None]] = {
    "chinese_simpleqa": _chinese_simpleqa,
    "general_qa": _general_qa,
    "ifeval": _ifeval,
    "needle_haystack": _needle_haystack,
    "alpaca_eval": _judged("instruction", "output", "AI-ModelScope/alpaca_eval", "alpaca_eval_gpt4_baseline", "eval"),
    "arena_hard": _judged("question", "prediction", "AI-ModelScope/arena-hard-auto-v0.1", "default", "test"),
    "simple_qa": _judged("problem", "answer", "AI-ModelScope/SimpleQA", "default", "test"),
}
