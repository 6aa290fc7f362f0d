"""Forms of columns that an adapter's code does not show: by the folder or the name of the adapter."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.evalscope_1 import decisions, hub_files, programs
from conformance.evalscope_1.images import drawn
from conformance.forms import always, in_turn, one_of

SENTENCES = (
    ["The", "red", "river", "near", "Paris", "flows"],
    ["Ada", "Lovelace", "came", "from", "Kenya", "."],
    ["A", "clock", "of", "Tokyo", "stopped", "twice"],
)


def tags_of(types: Sequence[str]) -> tuple[str, str]:
    """Forms of tokens and of their tags, for adapters that look for entities of these types."""
    first, second = types[0], types[-1]
    tags = (
        ["O", "O", "O", "O", f"B-{first}", "O"],
        [f"B-{second}", f"I-{second}", "O", "O", f"B-{first}", "O"],
        ["O", "O", "O", "O", "O", "O"],
    )
    return in_turn(*SENTENCES), in_turn(*tags)


_OPTIONS = [{"key": letter, "answer": f"option {letter}", "explanation": "so"} for letter in "ABCD"]
_CHOICES = always({"text": ["red", "blue", "green", "black"], "label": ["A", "B", "C", "D"]})
_CELLS = (("red", "cup"), ("blue", "jug"), ("green", "pan"))
_NUMBERS = in_turn("12", "7", "36", "105", "8", "64")
_GRID = {"input": [[1, 0], [0, 1]], "output": [[0, 1], [1, 0]]}
_OTHER_GRID = {"input": [[2, 2], [0, 0]], "output": [[0, 0], [2, 2]]}
_TURNS = [["Name a bird.", "And its colour?"], ["Add 3 and 4.", "Double it."], ["Where is Kenya?", "And Peru?"]]
_RUBRIC = [
    {"rubric_number": 1, "rubric_detail": "Names the river.", "rubric_weight": 3, "rubric_tag": "a"},
    {"rubric_number": 2, "rubric_detail": "Is short.", "rubric_weight": 2, "rubric_tag": "b"},
]
_MESSAGES = in_turn(
    *[[{"role": "system", "content": "Be short."}, {"role": "user", "content": f"Name {n} birds."}] for n in range(6)]
)
_FORMS = (["format:no_whitespace"], ["format:title_case"])
_RULES = (["punctuation:no_comma"], ["change_case:english_lowercase"])
_NO_ARGUMENTS = always([{"n": None}])
_LETTERS = in_turn("A", "C", "B", "D", "A", "B")


def _path(*nodes: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"index": 0, "path": [{"x": x, "y": y} for x, y in nodes]}]


SUBSETS = {
    **hub_files.SUBSETS,
    **programs.SUBSETS,
    "one_million_bench": ("global_law", "cn_law"),
    "mvbench": ("action_count",),
}
"""The subsets that the rows of an adapter belong to, where several columns say it."""

HINTS: Mapping[str, Mapping[str, str]] = {
    **programs.ROWS,
    **decisions.ROWS,
    "ner": {"tokens": in_turn(*SENTENCES), "ner_tags": in_turn(["O"] * 6)},
    "aime": {"answer": _NUMBERS},
    "amc": {"answer": _NUMBERS},
    "anli": {"label": in_turn(0, 1, 2)},
    "arc": {"answerKey": _LETTERS, "choices": _CHOICES},
    "arc_agi_2": {"fewshots": in_turn([_GRID], [_OTHER_GRID]), "question": in_turn([_OTHER_GRID], [_GRID])},
    "arc_indic": {"answerKey": _LETTERS, "choices": _CHOICES},
    "arxivmath": {"answer": _NUMBERS},
    "banking77": {
        "label": in_turn(11, 13),
        "label_text": in_turn("card_arrival", "card_linking"),
        "category": in_turn("card_arrival", "card_linking"),
    },
    "boolq": {"answer": "bool"},
    "cl_bench": {
        "messages": _MESSAGES,
        "rubrics": in_turn(["Names a bird.", "Is short."], ["Names a river."]),
        "metadata": always({"task_id": "t", "context_category": "Rules", "sub_category": "s"}),
    },
    "cmath": {"golden": _NUMBERS},
    "cmmlu": {
        "choices": in_turn(["(A) red", "(B) blue", "(C) green", "(D) black"]),
        "answer": in_turn("(A)", "(C)", "(B)", "(D)"),
    },
    "contract_nli": {"label": one_of(0, 1, 2)},
    "count_qa": {
        "questions": in_turn(["How many cups?", "How many birds?"], ["How many boats?", "How many cats?"]),
        "answers": in_turn(["3", "10"], ["0", "25"]),
    },
    "docmath": {"ground_truth": in_turn(12.5, 7.0, 36.25, 105.0)},
    "drivelology": {"label": in_turn("drivelology", "non-drivelology")},
    "drivel_multilabel": {
        "label": in_turn(["inversion", "paradox"], ["wordplay"], ["switchbait", "wordplay"], ["misdirection"])
    },
    "drop": {
        "answer": in_turn(
            {"number": "12", "date": {"day": "", "month": "", "year": ""}, "spans": [], "hit_id": "", "worker_id": ""},
            {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Paris", "Kenya"]},
            {"number": "", "date": {"day": "4", "month": "May", "year": "1999"}, "spans": []},
        ),
        "validated_answers": always({"number": ["7"], "date": [{"day": "", "month": "", "year": ""}], "spans": [[]]}),
    },
    "finqa": {
        "qa": in_turn(
            {"question": "What is the sum?", "program": "add(5, 7)", "exe_ans": 12.0},
            {"question": "How much less is it?", "program": "subtract(9, 2)", "exe_ans": 7.0},
            {"question": "What is the share?", "program": "add(1, 3), divide(#0, 8)", "exe_ans": 0.5},
        ),
        "table": always([["", "2019"], ["cups", "5"]]),
        "pre_text": in_turn(*([f"It is day {number}."] for number in range(6))),
        "post_text": always(["So it was."]),
    },
    "gedit": {
        "instruction": in_turn("Make it red.", "Add a bird.", "Remove the lamp.", "Draw it in ink."),
        "input_image": "image",
        "input_image_raw": "text",
        "key": in_turn(*(f"k{number}" for number in range(6))),
        "instruction_language": in_turn("en", "en", "cn"),
    },
    "genai_bench": {"tags": in_turn({"advanced": ["count"]}, {"advanced": None})},
    "general_mcq": {
        **{letter: in_turn(*cells) for letter, cells in zip("ABC", _CELLS, strict=True)},
        "answer": in_turn("A", "C", "B"),
    },
    "general_qa": {
        "messages": "none",
        "system": "none",
        "question": in_turn("Name a bird.", "Name a river.", "Name a town."),
        "answer": in_turn("a small red bird", "the river", "Paris in spring"),
    },
    "general_vqa": {"messages": _MESSAGES, "answer": in_turn("a small red bird", "the river", "Paris")},
    "gsm8k_v": {"image": always("[]"), "answer": _NUMBERS},
    "halu_eval": {"hallucination": in_turn("yes", "no")},
    "hle": {"image": in_turn("", f"data:image/png;base64,{base64.b64encode(drawn('a lamp')).decode()}")},
    "hmmt": {"answer": _NUMBERS},
    "hpdv2": {"tags": in_turn({"category": "anime"}, {"category": "photo"})},
    "hellaswag_hi": {"endings": "options", "label": "digits"},
    "imo_answerbench": {"Short Answer": _NUMBERS},
    "indic_boolq": {"label": in_turn(0, 1)},
    "indic_param": {"correct_answer": _LETTERS},
    "ifbench": {"key": "number", "kwargs": _NO_ARGUMENTS, "instruction_id_list": in_turn(*_FORMS)},
    "ifeval": {"key": "number", "kwargs": _NO_ARGUMENTS, "instruction_id_list": in_turn(*_RULES)},
    "infovqa": {"image_url": "text", "ocr": "text"},
    "kina": {"options": always(_OPTIONS), "correct_answer": _LETTERS},
    "librispeech": {"audio_id": "text", "audio_duration": "float"},
    "logic_vista": {"answer": in_turn("A", "A, C", "B", "D")},
    "math_500": {"answer": _NUMBERS},
    "minerva_math": {"solution": in_turn("So it is $\\boxed{12}$.", "Thus \\boxed{\\frac{1}{2}}.", "\\boxed{36}")},
    "math_vision": {"answer": _LETTERS, "options": "options", "image": "text"},
    "math_vista": {"metadata": always({"task": "vqa"}), "question_type": in_turn("free_form"), "answer": _NUMBERS},
    "mia_bench": {
        "components": always(["Names the river.", "Is short."]),
        "component_weight": always([3, 2]),
        "component_type": always(["content", "length"]),
    },
    "micro_vqa": dict.fromkeys(("key_image", "context_image_generation", "images_source", "image_caption"), "text"),
    "milu": {"target": in_turn("option1", "option3", "option2")},
    "mmau": {"choices": always(["red", "blue", "green"]), "answer": in_turn("red", "green", "blue")},
    "mmlu_redux": {"answer": "number", "correct_answer": "none", "error_type": always("ok"), "choices": "options"},
    "mmmu": {
        "question_type": in_turn("multiple-choice", "open"),
        "options": in_turn("['red', 'blue', 'green', 'black']", "[]"),
        "answer": in_turn("B", "12"),
    },
    "mmmu_pro": {"options": always("['red', 'blue', 'green']"), "answer": in_turn("B", "A", "C")},
    "mt_bench": {
        "prompt": in_turn(*_TURNS),
        "reference": in_turn(["a bird", "red"], ["7", "14"], ["Africa", "America"]),
    },
    "mvbench": {
        "candidates": always(["red", "blue"]),
        "answer": in_turn("red", "blue"),
        "start": "none",
        "end": "none",
    },
    "olympiad_bench": {
        "answer_type": always("Numerical"),
        "language": always("English"),
        "subject": always("Math"),
        "question_type": always("Open-ended"),
        "is_multiple_answer": always(False),
        "final_answer": in_turn(["12"], ["7"], ["36"]),
        "unit": "none",
        "error": "none",
    },
    "omni_bench": {"options": always(["red", "blue", "green"]), "answer": in_turn("red", "green", "blue")},
    "one_million_bench": {
        "rubrics": always(_RUBRIC),
        "language": in_turn("global", "cn"),
        "tags": in_turn(*[{"topics": [one], "time_sensitivity": {"level": "low"}} for one in ("Law", "法律")]),
    },
    "poly_math": {"id": in_turn("low-en-1", "low-zh-2"), "answer": _NUMBERS},
    "prbench": {
        "prompt_0": in_turn("Who owns the river?", "May she sell the boat?", "Is the lamp hers?"),
        "response_0": always("It depends."),
        "prompt_1": in_turn("On what?", "Why?"),
        "rubric": always(
            [
                {
                    "id": f"r{weight}",
                    "title": "Names the river.",
                    "annotations": {
                        "weight_class": "critically important",
                        "critically_important_weight": weight,
                        "criteria_category": "facts",
                    },
                }
                for weight in (7, 9)
            ]
        ),
    },
    "ref_adv_s": {"solution": in_turn([1, 2, 10, 12], [3, 3, 20, 20]), "width": always(32), "height": always(32)},
    "screenspot_pro": {"img_size": always([100, 50]), "bbox": in_turn([10, 10, 30, 30], [40, 5, 90, 45])},
    "simple_qa": {"metadata": always("{'topic': 'art', 'answer_type': 'Person', 'urls': []}")},
    "simple_vqa": {"image": "base64 image"},
    "sparc": {
        "grid_size": always({"width": 1, "height": 1}),
        "puzzle_array": in_turn(
            [["S", "+", "+"], ["+", "N", "+"], ["+", "+", "E"]],
            [["+", "+", "E"], ["+", "N", "+"], ["S", "+", "+"]],
            [["E", "+", "+"], ["+", "N", "+"], ["+", "+", "S"]],
        ),
        "polyshapes": always("{}"),
        "solutions": in_turn(
            _path((0, 0), (1, 0), (2, 0), (2, 1), (2, 2)),
            _path((0, 2), (0, 1), (0, 0), (1, 0), (2, 0)),
            _path((2, 2), (2, 1), (2, 0), (1, 0), (0, 0)),
        ),
    },
    "tool_bench": {"messages": _MESSAGES, "tools": always("[]"), "target": in_turn("Final Answer: a", "Thought: b")},
    "truthful_qa": {
        "mc1_targets": in_turn(
            {"choices": ["red", "blue", "green"], "labels": [1, 0, 0]},
            {"choices": ["a", "b", "c"], "labels": [0, 1, 0]},
        ),
        "mc2_targets": in_turn(
            {"choices": ["red", "blue", "green"], "labels": [1, 0, 1]},
            {"choices": ["a", "b", "c"], "labels": [0, 1, 0]},
        ),
    },
    "vtcbench": {"image_1": "image"},
    "visfactor": {
        "image": always([]),
        "additional": always(""),
        "category_id": in_turn("CS1", "MA1", "I3"),
        "answer": in_turn("boat", "12", "36", "lamp", "7", "105"),
    },
    "world_vqa": {"image": "base64 image"},
    "zebralogicbench": {
        "solution": in_turn(
            {"header": ["House", "Name"], "rows": [["1", "Eric"], ["2", "Peter"]]},
            {"header": ["House", "Name"], "rows": [["1", "Anna"], ["2", "Bob"]]},
        ),
    },
}
