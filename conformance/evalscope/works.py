"""Rows of benchmarks that ask for calls of tools, programs and images."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.evalscope import answers
from conformance.evalscope.sheets import HERE, Sheet, each
from conformance.evalscope.texts import part_of, sentence


def _tool_bench(sheet: Sheet) -> None:
    for subset in ("in_domain", "out_of_domain"):
        rows = []
        for _ in each(24):
            call = {"city": sheet.words(1, 1), "days": sheet.rng.randint(1, 9)}
            final = {"return_type": "give_answer", "final_answer": sentence(sheet, is_chinese=False)}
            action = f"Thought: hm\nAction: weather\nAction Input: {json.dumps(call)}"
            finish = f"Thought: done\nAction: Finish\nAction Input: {json.dumps(final)}"
            target, other = sheet.rng.sample((action, finish), 2)
            near = {**final, "final_answer": part_of(sheet, final["final_answer"])}
            messy = [
                target.replace("weather", "none"),
                f"Thought: x\nAction: invented\nAction Input: {json.dumps(call)}",
                f"Action: weather\nAction Input: {json.dumps({**call, 'days': 99, 'extra': 1})}",
                f"Action: Finish\nAction Input: {json.dumps(near)}",
                "Action: Finish\nAction Input: no json",
                'Action: Finish\nAction Input: {"return_type": "give_up"}',
                "Action: weather",
                f"Action: weather\nAction Input: ```{json.dumps(call)}```",
                "no action",
                "",
            ]
            wrong = [other, f"Action: search\nAction Input: {json.dumps(call)}"]
            mark = sheet.mark(answers.chosen(sheet.rng, [target], wrong, messy))
            turns = [
                {"role": "system", "content": "Use tools.", "name": "system"},
                {"role": "user", "content": f"{sheet.words()} {mark}", "name": "user"},
            ]
            tools = [{"name": name, "description": sheet.words()} for name in ("weather", "search", "Finish")]
            rows.append({"messages": turns, "target": target, "tools": tools})
        sheet.rows("AI-ModelScope/ToolBench-Static", subset, "test", rows)


def _humaneval(sheet: Sheet) -> None:
    rows = []
    for i in each(10):
        step = sheet.rng.randint(2, 9)
        right = f"    return n + {step}\n"
        wrong = f"    return n - {step}\n"
        messy = [
            f"```python\ndef add(n):\n{right}```",
            f"```\n{right}```",
            right.strip(),
            f" {right.strip()}",
            f"def add(n):\n{right}\n\ndef other():\n    pass",
            f"import os\ndef add(n):\n{right}",
            f"Here it is:\n```python\ndef add(n):\n{right}```\nDone.",
            "    return (",
            "",
        ]
        mark = sheet.mark(answers.chosen(sheet.rng, [right], [wrong], messy))
        check = f"def check(candidate):\n    assert candidate(1) == {1 + step}\n    assert candidate(0) == {step}\n"
        rows.append(
            {
                "task_id": f"HumanEval/{i}",
                "prompt": f'def add(n):\n    """Add {step}. {mark}"""\n',
                "entry_point": "add",
                "canonical_solution": right,
                "test": check,
            }
        )
    sheet.rows("modelscope/humaneval", "openai_humaneval", "test", rows)


def _live_code_bench(sheet: Sheet) -> None:
    rows = []
    for i in each(8):
        step = sheet.rng.randint(2, 9)
        tests = [{"input": f"{n}\n", "output": f"{n + step}\n", "testtype": "stdin"} for n in (1, 5, 40)]
        right, wrong = f"print(int(input()) + {step})", f"print(int(input()) * {step})"
        block = "```python\n{}\n```"
        messy = [
            right,
            f"Let me see.\n\n{block.format(right)}\n\nDone.",
            "```\n" + right + "\n```",
            block.format("("),
            "",
        ]
        said = answers.chosen(sheet.rng, [block.format(right)], [block.format(wrong)], messy)
        rows.append(
            {
                "question_content": f"Add {step}. {sheet.mark(said)}",
                "question_id": str(i),
                "contest_date": "2024-05-01T00:00:00",
                "starter_code": "",
                "public_test_cases": json.dumps(tests[:1]),
                "private_test_cases": json.dumps(tests[1:]),
                "metadata": "{}",
            }
        )
    sheet.rows("AI-ModelScope/code_generation_lite", "release_latest", "test", rows)


def _bfcl(sheet: Sheet) -> None:
    subsets = ["simple", "live_simple", "irrelevance", "live_relevance", "live_irrelevance"]
    sheet.case.args["subset_list"] = subsets
    rows = []
    for i in each(60):
        subset = sheet.rng.choice(subsets)
        days = sheet.rng.randint(1, 9)
        parameters = {
            "type": "dict",
            "properties": {
                "city": {"type": "string", "description": "x"},
                "days": {"type": "integer", "description": "x"},
            },
            "required": ["city"],
        }
        function = {"name": "weather", "description": "x", "parameters": parameters}
        right = [[{"weather": json.dumps({"city": "Oslo", "days": days})}]]
        wrong = [[{"weather": json.dumps({"city": "Rome"})}]]
        messy: list[Any] = [[[]], [["no call"]], [[{"weather": "{"}]], [[{"other": "{}"}]], right, wrong]
        mark = sheet.mark(answers.chosen(sheet.rng, [right], [wrong, [[]]], messy))  # type: ignore[list-item]
        turns = [[{"role": "user", "content": f"How is the weather? {mark}"}]]
        truth = [{"weather": {"city": ["Oslo"], "days": [days]}}]
        rows.append(
            {
                "id": f"{subset}_{i}",
                "multi_turn": False,
                "functions": json.dumps([function]),
                "tools": json.dumps([{"type": "function", "function": function}]),
                "turns": json.dumps(turns),
                "missed_functions": "{}",
                "ground_truth": json.dumps(truth),
                "initial_config": "{}",
                "language": "Python",
                "test_category": subset,
                "subset": subset,
            }
        )
    sheet.rows("AI-ModelScope/bfcl_v3", "default", "train", rows)


def _images(subset: str, *, is_general: bool = False) -> Callable[[Sheet], None]:
    def draw(sheet: Sheet) -> None:
        rows = []
        for i in each(24):
            said = {model: {"image": [sheet.rng.randrange(256) for _ in range(3)]} for model in answers.MODELS}
            category = sheet.rng.choice(("paintings", "photo", "anime"))
            tags = {"advanced": sheet.rng.choice(([], ["counting"])), "basic": ["scene"], "category": category}
            rows.append({"id": i, "prompt": f"{sheet.words(3, 6)} {sheet.mark(said)}", "tags": tags})
        if is_general:
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            sheet.case.files["own_t2i"] = {f"{subset}.jsonl": text}
            sheet.case.args["local_path"] = f"{HERE}/own_t2i/{subset}.jsonl"
        else:
            sheet.rows("AI-ModelScope/T2V-Eval-Prompts", subset, "test", rows)

    return draw


BENCHMARKS: Mapping[str, Callable[[Sheet], None]] = {
    "bfcl_v3": _bfcl,
    "humaneval": _humaneval,
    "live_code_bench": _live_code_bench,
    "tool_bench": _tool_bench,
    "evalmuse": _images("EvalMuse"),
    "genai_bench": _images("GenAI-Bench-1600"),
    "general_t2i": _images("own", is_general=True),
    "hpdv2": _images("HPDv2"),
    "tifa160": _images("TIFA-160"),
}
