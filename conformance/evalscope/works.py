"""Rows of benchmarks that ask for calls of tools, programs and images."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.evalscope import answers
from conformance.evalscope.sheets import HERE, Row, Sheet, each
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
                "contest_date": "2024-05-01T00:00:00.000000",  # readers of JSON make a time of what has whole seconds
                "starter_code": "",
                "public_test_cases": json.dumps(tests[:1]),
                "private_test_cases": json.dumps(tests[1:]),
                "metadata": "{}",
            }
        )
    sheet.rows("AI-ModelScope/code_generation_lite", "release_latest", "test", rows)


_TYPES: Mapping[str, tuple[str, str]] = {
    "Python": ("string", "integer"),
    "Java": ("String", "integer"),
    "JavaScript": ("String", "integer"),
}
_RELEVANCE = ("irrelevance", "live_irrelevance", "live_relevance")
_NO_CALL = "There is no such tool."
_LANGUAGES = {"java": "Java", "javascript": "JavaScript"}
_SEVERAL = ("parallel", "live_parallel")
_TURNS = "multi_turn_base"
_HOME = {"root": {"alex": {"type": "directory", "contents": {"old": {"type": "directory", "contents": {}}}}}}


def bfcl(*, has_tools: bool) -> Callable[[Sheet], None]:
    """Calls of one function, once or twice, and of a file system's in several turns.

    Args:
        has_tools: Whether the model answers with calls; else with their text.
    """

    def draw(sheet: Sheet) -> None:
        subsets = ["simple", "multiple", *_SEVERAL, "java", "javascript", "live_simple", *_RELEVANCE, _TURNS]
        sheet.case.args |= {
            "subset_list": subsets,
            "extra_params": {"is_fc_model": has_tools, "underscore_to_dot": has_tools},
        }
        rows = []
        for i in each(110):
            subset = subsets[i % len(subsets)]
            row = _turns_row(sheet, has_tools=has_tools) if subset == _TURNS else _call_row(sheet, subset, has_tools)
            names = {"id": f"{subset}_{i}", "test_category": subset, "subset": subset}
            rows.append(names | {"missed_functions": "{}"} | row)
        sheet.rows("AI-ModelScope/bfcl_v3", "default", "train", rows)

    return draw


def _call_row(sheet: Sheet, subset: str, has_tools: bool) -> Row:
    language = _LANGUAGES.get(subset, "Python")
    text, whole = _TYPES[language]
    properties = {"city": {"type": text, "description": "x"}, "days": {"type": whole, "description": "x"}}
    parameters = {"type": "dict", "properties": properties, "required": ["city"]}
    function = {"name": "get_weather", "description": "x", "parameters": parameters}
    other = {**function, "name": "get_news"}
    calls = [{"city": city, "days": sheet.rng.randint(1, 9)} for city in ("Oslo", "Rome")[: 1 + (subset in _SEVERAL)]]
    near: list[Row] = [{"city": "Bergen"}, *({"city": call["city"], "days": "many"} for call in calls[1:])]
    right, wrong = (
        _calls([("get_weather", call) for call in some], language, has_tools=has_tools) for some in (calls, near)
    )
    if has_tools:
        messy: list[Any] = [[[]], [[_NO_CALL]], [[{"get_weather": "{"}]], [[{"other": "{}"}]], [right[0] * 2]]
    else:
        messy = [[[""]], [[_NO_CALL]], [["[get_weather("]], [["`" + right[0][0] + "`"]], [[right[0][0].strip("[]")]]]
    if subset in _RELEVANCE:
        wrong = [[_NO_CALL]]
    if subset in _RELEVANCE[:2]:
        right, wrong = wrong, right
    mark = sheet.mark(answers.chosen(sheet.rng, [right], [wrong], [*messy, right, wrong]))
    functions = [function, other] if subset == "multiple" else [function]
    return {
        "multi_turn": False,
        "functions": json.dumps(functions),
        "tools": json.dumps([{"type": "function", "function": one} for one in functions]),
        "turns": json.dumps([[{"role": "system", "content": "Use tools."}, _user(f"How is the weather? {mark}")]]),
        "ground_truth": json.dumps(
            [{"get_weather": {name: [value] for name, value in call.items()}} for call in calls]
        ),
        "initial_config": "{}",
        "involved_classes": [],
        "language": language,
    }


def _turns_row(sheet: Sheet, *, has_tools: bool) -> Row:
    folders = [f"{word}{sheet.rng.randint(1, 99)}" for word in sheet.words(2, 2).split()]
    said = [_calls([("mkdir", {"dir_name": folder})], "Python", has_tools=has_tools)[0] for folder in folders]
    lost = _calls([("rm", {"file_name": "none"})], "Python", has_tools=has_tools)[0]
    messy = [
        [said[0], []],
        [[*said[0], *said[0]], said[1]],
        [said[0]],
        [said[0], ["I am done."]],
        [[*lost, *said[0]], said[1]],
    ]
    mark = sheet.mark(answers.chosen(sheet.rng, [said], [[said[0], lost], [lost, lost]], [*messy, said]))
    return {
        "multi_turn": True,
        "functions": "[]",
        "tools": "[]",
        "turns": json.dumps([[_user(f"Make a folder. {mark}")], [_user("And another.")]]),
        "ground_truth": json.dumps([[f"mkdir(dir_name={folder!r})"] for folder in folders]),
        "initial_config": json.dumps({"GorillaFileSystem": _HOME}),
        "involved_classes": ["GorillaFileSystem"],
        "language": "Python",
    }


def _user(text: str) -> Row:
    return {"role": "user", "content": text}


def _calls(calls: list[tuple[str, Row]], language: str, *, has_tools: bool) -> list[list[Any]]:
    """What a model answers in one turn: each call by itself, or one text with all of them."""
    if has_tools:
        written = [(name, {key: _written(value, language) for key, value in given.items()}) for name, given in calls]
        return [[{name: json.dumps(given)} for name, given in written]]
    texts = [
        f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in given.items())})" for name, given in calls
    ]
    return [[f"[{', '.join(texts)}]"]]


def _written(value: Any, language: str) -> Any:
    """A value as calls in a language have it: outside of Python as text."""
    return value if language == "Python" else str(value)


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
    "bfcl_v3": bfcl(has_tools=True),
    "humaneval": _humaneval,
    "live_code_bench": _live_code_bench,
    "tool_bench": _tool_bench,
    "evalmuse": _images("EvalMuse"),
    "genai_bench": _images("GenAI-Bench-1600"),
    "general_t2i": _images("own", is_general=True),
    "hpdv2": _images("HPDv2"),
    "tifa160": _images("TIFA-160"),
}
