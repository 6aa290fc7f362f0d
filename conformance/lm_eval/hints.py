"""Forms of columns that neither the code nor the name of the column tells, by a glob of tasks.

A form is one of `made_rows.rows.KINDS`, ``absent``, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from typing import Any

from conformance.made_rows.rows import ABSENT


def _several(*values: Any) -> str:
    return f"|{json.dumps(values)}"


def _only(value: Any) -> str:
    return f"={json.dumps(value)}"


def _shots(name: str, count: int, **forms: str) -> dict[str, str]:
    """Forms of the columns of numbered examples, ``name`` with what a column holds and its number."""
    return {name.format(what, number): form for what, form in forms.items() for number in range(1, count + 1)}


def _translations(*languages: str) -> str:
    words = (("a red boat", "ruu 1"), ("seven small birds", "ruu 2"), ("the old clock", "ruu 3"), ("a house", "ruu 4"))
    return _several(*(dict(zip(languages, pair, strict=True)) for pair in words))


_ENDING = {"ctx": "text", "ctx_a": "text", "ctx_b": "text", "activity_label": "text", "endings": "options"}
_YES_NO_ASK = {"context_condition": _several("ambig", "disambig"), "question_polarity": _several("neg", "nonneg")}
_GROUPS = {"ans0": ["man", "old"], "ans1": ["woman", "nonOld"], "ans2": ["unknown", "unknown"]}
_BIAS = {
    **_YES_NO_ASK,
    "question_type": _several("pro-stereo", "anti-stereo"),
    "answer_info": _only(_GROUPS),
    "stereotyped_groups": _only(["old"]),
    "label": _several(0, 1, 2),
}
_SOLUTIONS = _several(
    *(
        f"So the sum is ${total}$ and the answer is $\\boxed{{{total}}}$."
        for total in ("12", "7", "\\frac{3}{4}", "x+1")
    )
)
_AGI = {
    "query": _several("Q: Who sings? Answer Choices: (A)red", "Q: What is near? Answer Choices: (A)red"),
    "gold": _several([0], [1], [2]),
    "choices": _only(["(A)red", "(B)blue", "(C)green", "(D)black", "(E)white"]),
    **dict.fromkeys(("answer", "answer_index", "options", "options_format", "question", "question_id"), ABSENT),
    **dict.fromkeys(("always_same_option", "original_answer_index", "prompt", "prompt_id"), ABSENT),
}
_ARAB = {
    "country": _several("Egypt", "Algeria", "Morocco"),
    "region": _several("Gulf", "Levant", "North Africa"),
    "options": _only(
        {"arabic_keys": ["أ", "ب", "ج"], "english_keys": ["A", "B", "C"], "text": ["red", "blue", "green"]}
    ),
    "answer_key": _several(
        *({"arabic_answer_key": a, "english_answer_key": b} for a, b in zip("أبج", "ABC", strict=True))
    ),
}
_QUESTIONS = json.dumps(
    [
        {
            "prompt": "Translate.",
            "subprompts": [
                {"questionpart_n": "a", "question": "ruu 1", "answer": "a red boat"},
                {"questionpart_n": "b", "question": "ruu 2", "answer": "seven birds"},
            ],
        }
    ]
)
_PROBLEMS = repr(
    [{"question": "The bird is  _  .", "answer": one, "options": ["red", "blue", "old", "far"]} for one in "AC"]
)
_ANSWERED = {"unanswerable": False, "extractive_spans": [], "yes_no": True, "free_form_answer": ""}
_FREE = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": "a red boat"}
_LANGUAGES = {
    "ar": "arabic", "bn": "bengali", "en": "english", "fi": "finnish", "id": "indonesian", "ko": "korean",
    "ru": "russian", "sw": "swahili", "te": "telugu",
}  # fmt: skip
_NO_DATE = {"day": "", "month": "", "year": ""}

HINTS: Mapping[str, Mapping[str, str]] = {
    "*hellaswag*": {**_ENDING, "label": _several("0", "1", "2", "3")},
    "AraDiCE_ArabicMMLU_*": {
        "Subject": _several("History", "Law", "Physics"),
        "Level": _several("Primary", "High"),
        "Country": _several("UAE", "Egypt"),
        "options": _only({"A": "red", "B": "blue", "C": "green", "D": "black"}),
        "Answer Key": _several(*"ABCD"),
    },
    "AraDiCE_boolq_*": {"answer": "bool"},
    "AraDiCE_openbookqa_*": {
        "question": _several(
            *(
                {"stem": stem, "choices": [{"text": "red", "label": "A"}, {"text": "blue", "label": "B"}]}
                for stem in ("Which is near?", "Which is far?")
            )
        ),
        "answerKey": _several("A", "B"),
    },
    "arab_culture_*": _ARAB,
    "arabic_leaderboard_acva_*": {"answer": _several("صح", "خطأ")},
    "bbq*": {
        **_YES_NO_ASK,
        "ans0": _only("The man"),
        "ans1": _only("The woman"),
        "ans2": _only("Not known"),
        "answer_info": _only(_GROUPS),
        "additional_metadata": _only({"stereotyped_groups": ["old"]}),
        "category": _several("Age", "Religion"),
        "label": _several(0, 1, 2),
    },
    "bigbench_*_multiple_choice": {
        "multiple_choice_targets": _only(["red", "blue"]),
        "targets": _several(["red"], ["blue"]),
        "multiple_choice_scores": _several([1, 0], [0, 1]),
    },
    "arc_challenge_llama*": {
        "choices": _only({"text": ["red", "blue", "green", "black"], "label": [*"ABCD"]}),
        "answerKey": _several("A", "C", "2"),
    },
    "cabbq_*": _BIAS,
    "careqa_*": {"cop": _several(1, 2, 3, 4)},
    "chartqa*": {"label": _several(["red"], ["12"], ["No"])},
    "click_*": {
        "choices": _only(["red", "blue", "green", "black", "white"]),
        "answer": _several("red", "blue", "white"),
    },
    "click_cul_*": {
        "answer": _several("red", "blue", "green"),
        "id": _several(*(f"economy_geography_history_law_politics_popular_society_tradition_{n}" for n in (1, 2))),
    },
    "click_lang_*": {"id": _several("CSAT_korean_20_40", "CSAT_korean_22_40")},
    "drop": {
        "answer": _several(
            {"number": "3", "spans": ["owl"], "date": _NO_DATE},
            {"number": "", "spans": ["a red boat"], "date": _NO_DATE},
        ),
        "validated_answers": _several({"number": ["3", ""], "spans": [["owl"], ["two owls"]], "date": [_NO_DATE] * 2}),
    },
    "copa": {"question": _several("cause", "effect")},
    "darija_sentiment_*": {
        "messages": _several(*([{"content": "wa wa"}, {"content": word}] for word in ("ايجابي", "سلبي"))),
    },
    "esbbq_*": _BIAS,
    "headqa_*": {"ra": _several(1, 2), "answers": _only([{"atext": "red", "aid": 1}, {"atext": "blue", "aid": 2}])},
    "*ifeval*": {
        "key": "number",
        "instruction_id_list": _several(["punctuation:no_comma"], ["change_case:english_lowercase"]),
        "kwargs": _only([{"relation": None}]),
    },
    "jsonschema_bench_*": {
        "json_object": ABSENT,
        "json_schema": _several('{"type": "object"}', '{"type": "array", "items": {"type": "string"}}'),
    },
    "kmmlu*": {"answer": _several(1, 2, 3, 4)},
    "*hendrycks_math*": {"solution": _SOLUTIONS},
    "evalita-mp_wic_*": dict.fromkeys(("start1", "start2"), _only(0)) | dict.fromkeys(("end1", "end2"), _only(4)),
    "kobest_copa": {"question": _several("원인", "결과")},
    "lingoly_*": {
        "questions": _several(_QUESTIONS),
        "preamble": "text",
        "context": "text",
        "overall_question_n": "number",
    },
    "*storycloze_*": {"answer_right_ending": _several(1, 2)},
    "mafand_*": {"translation": _translations("en", "amh")},
    "masakhapos_*": {
        "tokens": _several(["a", "red", "boat"], ["seven", "birds", "sing"], ["the", "clock", "stopped"]),
        "upos": _several([0, 1, 2], [3, 0, 5], [7, 8, 9]),
    },
    "metabench_arc*": _shots(
        "arc_{}_shot_{}",
        25,
        choices=_only({"text": ["red", "blue"], "label": ["A", "B"]}),
        answerKey=_several("A", "B"),
        question="text",
        idx="text",
    ),
    "metabench_hellaswag*": {
        **_shots(
            "hellaswag_{}_shot_{}",
            10,
            label=_several("0", "1"),
            endings="options",
            **dict.fromkeys(
                ("ctx", "ctx_a", "ctx_b", "activity_labels", "ind", "source_id", "split", "split_type"),
                "text",
            ),
        ),
    },
    "metabench_mmlu*": {
        "subject": "text",
        **_shots("mmlu_{}_shot_{}", 5, question="text", choices="options", answers=_several("0", "1"), ind="text"),
    },
    "metabench_winogrande*": _shots(
        "winogrande_{}_shot_{}", 5, answer=_several("1", "2"), option1="text", option2="text", prompt="text", idx="text"
    ),
    "mathqa": {
        "correct": _several(*"abcde"),
        "options": _only("a ) 38 , b ) 27.6 , c ) red , d ) 3 / 4 , e ) none of these"),
    },
    "minerva_math*": {"solution": _SOLUTIONS},
    "option_order_robustness_agieval_*": _AGI,
    "non_greedy_robustness_agieval_*": _AGI,
    "prompt_robustness_agieval_*": _AGI,
    "physics_gre*": {
        "has_image": _only(False),
        "target_scores": _several({"A": 1, "B": 0, "C": 0}, {"A": 0, "B": 1, "C": 0}),
    },
    "putnam_axiom*": {"solution": _SOLUTIONS},
    "qasper_*": {
        "qas": _only(
            {"question": ["Is it red?", "What is it?"], "answers": [{"answer": [_ANSWERED]}, {"answer": [_FREE]}]}
        ),
    },
    "qa4mre_*": {
        "correct_answer_id": _several("1", "2"),
        "answer_options": _only({"answer_id": ["1", "2"], "answer_str": ["red", "blue"]}),
    },
    "race": {"problems": _several(_PROBLEMS)},
    "ru_*": {
        "instruction": _several("What is near: {text}?", "What is far: {text}?"),
        "context": _several('{"text": "ruu"}', '{"text": "raa"}'),
    },
    "*_robustness_math_*": {"problem": "text", "solution": _SOLUTIONS},
    "siqa_ca": {"label": _several("1", "2", "3")},
    "truthfulqa-multi_mc2_*": {"mc2_targets": _only({"choices": ["red", "blue", "old"], "labels": [1, 1, 0]})},
    "xstorycloze_gl": {"AnswerRightEnding": _several(1, 2)},
    "toxigen": {"toxicity_ai": _several(1.0, 4.0), "toxicity_human": _several(1.0, 5.0)},
    "turkishmmlu*": {"choices": _only(["red", "blue", "green", "black", "white"]), "answer": _several(*"ABCDE")},
    **{f"tydiqa_*_{code}": {"id": _several(f"{name}-1", f"{name}-2")} for code, name in _LANGUAGES.items()},
    "*winogra*": {"answer": _several("1", "2"), "sentence": _several("The _ is red.", "He saw the _ and sang.")},
    "wsc273": {
        "label": "bool",
        "pronoun_loc": "number",
        "options": _several(["The man", "The boy"], ["A cat", "A dog"]),
    },
}


def hints_for(task: str) -> dict[str, str]:
    """The forms for a task."""
    return {
        column: form
        for tasks, forms in HINTS.items()
        if fnmatch.fnmatchcase(task, tasks)
        for column, form in forms.items()
    }
