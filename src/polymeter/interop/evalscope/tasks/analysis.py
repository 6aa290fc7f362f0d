"""What a judge writes about a report: for readers, never a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.errors import ScoreError
from polymeter.core.parts import Text
from polymeter.core.request import Generate, Message, Request
from polymeter.core.role_client import RoleClient
from polymeter.judge.prompts import ANALYSIS_PROMPT

if TYPE_CHECKING:
    from polymeter.interop.evalscope.tasks.report import Report

_MOST_TOKENS = 2048


def analyse(report: Report, ask: RoleClient) -> str:
    """A judge's text about a report.

    Args:
        report: What it is about.
        ask: Asks the model in the role ``judge``.

    Raises:
        ScoreError: The judge did not answer.
        PlanError: The run has no judge.
    """
    prompt = ANALYSIS_PROMPT.replace("{report}", report.to_json_str())
    request = Request((Message("user", (Text(prompt),)),), Generate(max_new_tokens=_MOST_TOKENS, temperature=0.0))
    response = ask("judge", request)
    if response.error is not None:
        raise ScoreError(f"The judge wrote no analysis of {report.name!r}: {response.error.message}")
    return response.text.strip()
