"""Forms of columns that neither the code nor the name of the column tells, by task folder or task.

A form is one of `rows.KINDS`, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

_OPTIONS = '["A. red", "B. blue", "C. green", "D. grey"]'
_NAMED_OPTIONS = {"option": f"={_OPTIONS}", "answer": f"|{_OPTIONS}"}

HINTS: dict[str, dict[str, str]] = {
    "hellaswag": {"endings": "options"},
    "hallusion_bench": {"category": '|["VD", "VS"]', "gt_answer": '|["0", "1"]'},
    "omni_bench": {"options": "options", "answer": "text"},
    "ovobench": {"task": '|["EPM", "ASI", "HLD"]', "gt": "|[0, 1, 2]", "options": f"={_OPTIONS}"},
    "videomme_v2": {"group_type": '="relevance"'},
    "worldqa_mc_ppl": _NAMED_OPTIONS,
    "worldvqa_mc_ppl": _NAMED_OPTIONS,
}
