"""The table of usage: what is unknown says so, and what nobody has is no column."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.records.usage import ModelUsage, usage_document
from polymeter.report.run.usage_table import token_facts, usage_table

USAGE = {
    ("model", "openai:m"): ModelUsage(
        input=1200, cached_read=300, output=50, requests=12, failed=1, unknown={"cached_read": 3, "cached_write": 12}
    ),
    ("judge", "a"): ModelUsage(input=10, output=2, images_sent=4, images_made=0, requests=2, failed=0),
    ("judge", "b"): ModelUsage(requests=1),
}
DOCUMENT = {"usage_by_role": usage_document(USAGE)}


def test_every_role_and_model_has_a_row() -> None:
    table = usage_table({}, DOCUMENT)
    assert table is not None
    assert "Images sent" in table.headings
    assert not {"Images made", "Audio sent, s"} & set(table.headings)
    cells = {(role, model): dict(zip(table.headings, row, strict=True)) for role, model, row in table.rows}
    of_model = cells["model", "openai:m"]
    assert (of_model["Input tokens"], of_model["read from cache"]) == ("1,200", "≥ 300")
    assert (of_model["written to cache"], of_model["Failed tries"]) == ("unknown", "1")
    assert cells["judge", "b"]["Input tokens"] == "unknown"


def test_a_run_that_kept_none_has_no_table() -> None:
    assert usage_table({"usage": {"input_tokens": 3}}, {}) is None


@pytest.mark.parametrize(
    ("manifest", "facts"),
    [
        (DOCUMENT, {"Tokens": "1,500 in, 50 out", "Tokens of judge": "10 in, 2 out"}),
        ({"usage": {"input_tokens": 7, "output_tokens": 0}}, {"Tokens": "7 in"}),
        ({}, {}),
    ],
    ids=["by role", "of an older run", "nothing"],
)
def test_the_head_has_the_tokens_of_each_role(manifest: dict[str, Any], facts: dict[str, str]) -> None:
    assert token_facts(manifest, {}) == facts
