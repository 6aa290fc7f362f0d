"""Other ways to run the benchmarks: from local files in each one's own layout, at an endpoint, with a judge, with other
settings, and from earlier runs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.evalscope import choices, mixtures, sums, texts, works
from conformance.evalscope.sheets import HERE, Case, Row, Sheet

Draw = Callable[[Sheet], None]
Layout = Callable[[str, str, list[Row]], tuple[str, str]]

_BASE: Mapping[str, Draw] = {**choices.BENCHMARKS, **sums.BENCHMARKS, **texts.BENCHMARKS, **works.BENCHMARKS}


def cases(seed: int) -> list[Case]:
    """All cases, with rows and answers drawn from a seed."""
    drawn = []
    for name, draw in sorted({**_BASE, **_VARIANTS, **mixtures.CASES}.items()):
        sheet = Sheet(seed, name)
        draw(sheet)
        drawn.append(sheet.case)
    return drawn


def _with(
    name: str, *, judge: Mapping[str, Any] | None = None, args: Mapping[str, Any] | None = None, **config: Any
) -> Draw:
    """A benchmark with other settings.

    Args:
        name: The benchmark.
        judge: Fields of ``judge_model_args``.
        args: Fields of its ``dataset_args``.
        **config: Fields of ``TaskConfig``.
    """

    def draw(sheet: Sheet) -> None:
        _BASE[name](sheet)
        sheet.case.args.update(args or {})
        sheet.case.config.update(config)
        if judge:
            sheet.case.config["judge"] = dict(judge)

    return draw


def _from_files(name: str, layout: Layout) -> Draw:
    """A benchmark from local files, laid out as its adapter looks for them.

    Args:
        name: The benchmark.
        layout: The path and text of a subset's split.
    """

    def draw(sheet: Sheet) -> None:
        _BASE[name](sheet)
        files = sheet.case.files.setdefault("local", {})
        for subsets in sheet.case.folders.values():
            for subset, splits in subsets.items():
                for split, rows in splits.items():
                    path, text = layout(subset, split, rows)
                    files[path] = text
        sheet.case.folders.clear()
        sheet.case.args["local_path"] = f"{HERE}/local"

    return draw


def _lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _table(rows: list[Row], columns: list[str], *, has_header: bool = True, delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    if has_header:
        writer.writerow(columns)
    writer.writerows([row[column] for column in columns] for row in rows)
    return text.getvalue()


def _arc(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    written = []
    for row in rows:
        named = [{"text": t, "label": n} for t, n in zip(row["choices"]["text"], row["choices"]["label"], strict=True)]
        question = {"stem": row["question"], "choices": named}
        written.append({"id": row["id"], "question": question, "answerKey": row["answerKey"]})
    return f"{subset}/{subset}-{split.title()}.jsonl", _lines(written)


def _bbh(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"{subset}.json", json.dumps({"examples": rows}, ensure_ascii=False)


def _ceval(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"{subset}_{split}.csv", _table(rows, ["id", "question", *"ABCD", "answer", "explanation"])


def _cmmlu(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"{split}/{subset}.csv", _table(rows, ["Question", *"ABCD", "Answer"])


def _gsm8k(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"{split}.jsonl", _lines(rows)


def _hellaswag(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"hellaswag_{split}.jsonl", _lines(rows)


def _mmlu(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    ending = {"train": "dev", "test": "test"}[split]
    return f"{subset}_{ending}.csv", _table(rows, ["input", *"ABCD", "target"], has_header=False)


def _race(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    return f"{subset}/{split}.jsonl", _lines(rows)


def _trivia_qa(subset: str, split: str, rows: list[Row]) -> tuple[str, str]:
    pairs = [{"question": row["input"][1]["content"], "answers": repr(row["ideal"])} for row in rows]
    return f"trivia-{split}.qa.csv", _table(pairs, ["question", "answers"], has_header=False, delimiter="\t")


def _arena(sheet: Sheet) -> None:
    sheet.case.args["from"] = "general_qa"


_WITHOUT_REASONING = {"filters": {"remove_until": "</think>"}}
_LETTER_ONLY = {"filters": {"remove_until": "</think>", "extract": "[A-D]"}}

_VARIANTS: Mapping[str, Draw] = {
    "aime24@endpoint-three": _with("aime24", at_endpoint=True, generation_config={"n": 3, "temperature": 0.5}),
    "arc@files": _from_files("arc", _arc),
    "arc@judge": _with("arc", judge_strategy="llm"),
    "arc@examples": _with("arc", args={"few_shot_num": 3}),
    "bfcl_v3@text": works.bfcl(has_tools=False),
    "bbh@files": _from_files("bbh", _bbh),
    "bbh@no-examples": _with("bbh", args={"few_shot_num": 0}),
    "ceval@examples": _with("ceval", args={"few_shot_num": 3}),
    "ceval@files": _from_files("ceval", _ceval),
    "cmmlu@files": _from_files("cmmlu", _cmmlu),
    "competition_math@no-examples": _with("competition_math", args={"few_shot_num": 0}),
    "docmath@judge": _with("docmath", judge_strategy="llm"),
    "drop@examples": _with("drop", args={"few_shot_num": 3}),
    "frames@judge": _with("frames", judge_strategy="llm_recall"),
    "general_arena": _arena,
    "general_qa@endpoint": _with("general_qa", at_endpoint=True),
    "gsm8k@endpoint": _with("gsm8k", at_endpoint=True),
    "gsm8k@files": _from_files("gsm8k", _gsm8k),
    "gsm8k@filters": _with("gsm8k", args=_WITHOUT_REASONING),
    "gsm8k@judge": _with("gsm8k", judge_strategy="llm_recall"),
    "gsm8k@judge-that-rambles": _with("gsm8k", judge_strategy="llm", judge={"model_id": "judge-that-rambles"}),
    "gsm8k@no-examples": _with(
        "gsm8k", args={"few_shot_num": 0, "prompt_template": "{query}", "system_prompt": "Be brief."}
    ),
    "hellaswag@endpoint": _with("hellaswag", at_endpoint=True),
    "hellaswag@files": _from_files("hellaswag", _hellaswag),
    "hellaswag@generation": _with("hellaswag", args={"model_adapter": "generation"}),
    "iquiz@filters": _with("iquiz", args=_LETTER_ONLY),
    "math_500@judge-of-numbers": _with(
        "math_500", judge_strategy="llm", judge={"model_id": "judge-of-numbers", "score_type": "numeric"}
    ),
    "mmlu@endpoint": _with("mmlu", at_endpoint=True),
    "mmlu@files": _from_files("mmlu", _mmlu),
    "mmlu@limit": _with("mmlu", limit=5),
    "mmlu_pro@limit": _with("mmlu_pro", limit=0.5),
    "mmlu_pro@filters": _with("mmlu_pro", args=_WITHOUT_REASONING),
    "needle_haystack@rules": _with("needle_haystack", judge_strategy="rule"),
    "race@endpoint": _with("race", at_endpoint=True),
    "race@files": _from_files("race", _race),
    "race@generation": _with("race", args={"model_adapter": "generation"}),
    "simple_qa@rules": _with("simple_qa", judge_strategy="rule"),
    "super_gpqa@examples": _with("super_gpqa", args={"few_shot_num": 5}),
    "tool_bench@endpoint": _with("tool_bench", at_endpoint=True),
    "trivia_qa@files": _from_files("trivia_qa", _trivia_qa),
    "trivia_qa@no-examples": _with("trivia_qa", args={"few_shot_num": 0}),
}
