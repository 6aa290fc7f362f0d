"""Packages and data that a task's code only needs while answers are scored, found before the first request."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.parity import Parity
from polymeter.core.names.registry import missing_package
from polymeter.core.task import TaskSpec
from polymeter.guests.reading.uses import Use, uses_behind
from polymeter.interop.lmms_eval.original_prompts import check_original
from polymeter.tasks.yaml.task_code import function_refs

_OF_JUDGES = (b"llm_judge", b"reasoning_utils")
"""A file without one of these texts imports none of the functions below."""

# Position of ``custom_prompt`` among the arguments; ``None``: the function takes none.
_WITH_PROMPTS = {
    "build_binary_prompt": 4,
    "build_comparative_prompt": 5,
    "build_correctness_prompt": None,
    "build_rubric_prompt": None,
    "evaluate_binary": 4,
    "evaluate_binary_async": 4,
    "evaluate_binary_batch_async": 4,
    "evaluate_comparative": 5,
    "evaluate_comparative_async": 5,
    "evaluate_comparative_batch_async": 5,
    "evaluate_with_rubric": None,
    "evaluate_with_rubric_async": None,
    "llm_as_judge_sync": None,
}
_ASKS = frozenset({*(name for name in _WITH_PROMPTS if not name.startswith("build_")), "evaluate_async"})
_MAKES = frozenset({"get_server", "ProviderFactory"})
_SCORING = ("process_results", "metric_list")
_COMPARES_MATHEMATICS = ("acc_reward", "compute_score", "make_reasoning_process_results")


def check_code_needs(spec: TaskSpec, parity: Parity) -> None:
    """Check that what a task's scoring calls has the packages that it needs.

    Raises:
        PlanError: if one is missing: lmms-eval itself, for its default judge prompts at parity with it, or math-verify.
    """
    if not any(sign in _bytes_of(file) for file in spec.sources if file.suffix == ".py" for sign in _OF_JUDGES):
        return
    for use in _uses(spec):
        if parity.on("judge-prompts") and use.name in _WITH_PROMPTS and not _has_own_prompt(use):
            try:
                check_original()
            except PlanError as error:
                raise PlanError(f"Task {spec.name!r}: {error.what}", where=use.where, hint=error.hint) from None
        if use.name in _COMPARES_MATHEMATICS and find_spec("math_verify") is None:
            missing = missing_package("math-verify", f"task {spec.name!r} to compare answers as mathematics")
            raise PlanError(missing.what, where=use.where, hint=missing.hint)


def judge_use(spec: TaskSpec) -> str:
    """``file:line`` where the scoring of a task may ask a judge through lmms-eval's servers; empty if it does not.
    Whether it asks about every answer is up to its code.
    """
    if not any(_OF_JUDGES[0] in _bytes_of(file) for file in spec.sources if file.suffix == ".py"):
        return ""
    refs = function_refs({name: value for name, value in spec.config.items() if name in _SCORING})
    uses = list(uses_behind(spec.sources, [(ref.source_file(), ref.attribute) for ref in refs]))
    asking = [use.where for use in uses if use.name in _ASKS] or [use.where for use in uses if use.name in _MAKES]
    return asking[0] if asking else ""


def _uses(spec: TaskSpec) -> Iterator[Use]:
    refs = function_refs(dict(spec.config))
    return uses_behind(spec.sources, [(ref.source_file(), ref.attribute) for ref in refs])


def _has_own_prompt(use: Use) -> bool:
    """Return whether a call gives the judge a prompt of its own."""
    position = _WITH_PROMPTS[use.name]
    if use.call is None or position is None:
        return False
    given = next((keyword.value for keyword in use.call.keywords if keyword.arg == "custom_prompt"), None)
    if given is None and len(use.call.args) > position:
        given = use.call.args[position]
    return given is not None and not (isinstance(given, ast.Constant) and not given.value)


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
