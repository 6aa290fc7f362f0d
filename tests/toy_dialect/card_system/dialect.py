"""The dialect ``cards``: task YAML in other words and with other defaults.

    card: capitals
    rows: {data_files: capitals.jsonl}
    ask: "What is the capital of {{country}}?"
    expect: "{{capital}}"

The last file in ``like`` takes precedence, and a member's fields take precedence over its box's.
"""

from __future__ import annotations

from dataclasses import replace

from polymeter import extend as pm

WORDS = {
    "card": "task",
    "box": "group",
    "like": "include",
    "rows": "dataset_kwargs",
    "ask": "doc_to_text",
    "expect": "doc_to_target",
    "marks": "metric_list",
}
DEFAULTS = {
    "dataset_path": "json",
    "test_split": "train",
    "generation_kwargs": {"max_new_tokens": 8},
    "metric_list": [{"metric": "exact_match", "ignore_case": True}],
}
DIALECT = replace(
    pm.OWN_DIALECT,
    name="cards",
    format="cards",
    title="a card",
    is_surely=lambda values, roots: bool({"ask", "box"} & values.keys()),
    make_reader=lambda parity: pm.YamlReader(is_last_include_first=True, renamed=WORDS, defaults=DEFAULTS),
    is_member_stronger=True,
)
FORMAT = pm.dialect_format(DIALECT, {"en": "card"})
