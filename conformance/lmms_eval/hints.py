"""Forms of columns that neither the code nor the name of the column tells, by task folder or task.

A form is one of `rows.KINDS`, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

_OPTIONS = '["A. red", "B. blue", "C. green", "D. grey"]'
_NAMED_OPTIONS = {"option": f"={_OPTIONS}", "answer": f"|{_OPTIONS}"}

HINTS: dict[str, dict[str, str]] = {
    "hellaswag": {"endings": "options"},
    "omni_bench": {"options": "options", "answer": "text"},
    "worldqa_mc_ppl": _NAMED_OPTIONS,
    "worldvqa_mc_ppl": _NAMED_OPTIONS,
}
