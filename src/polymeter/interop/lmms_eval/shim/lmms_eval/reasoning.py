"""``lmms_eval.tasks._task_utils.reasoning_utils``: tasks that ask for reasoning and score its conclusion.

The ``math-verify`` package decides mathematical equality; it is needed only if texts differ.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import UnscoredError
from polymeter.core.names.registry import missing_package
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_protocol import ServerConfig
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_servers import ServerInterface
from polymeter.metrics.bounded import bounded, named_in_process
from polymeter.metrics.option_letters import parse_mcq

DEFAULT_REASONING_SYSTEM_PROMPT = (
    "Answer every question in two parts. First think, between <analysis> and </analysis>. Then give the final answer "
    "between <answer> and </answer>: short, clear, and an answer to exactly what was asked."
)

_FORMAT_SHARE = 0.1
_NEARLY_FORMATTED = 0.8
_LONG_ENOUGH = 50
_SHORT_ENOUGH_TO_JUDGE = 500
_BOX = "\\boxed{"
_THOUGHT = re.compile(r"<(think|analysis)>.*</\1>.*<answer>.*</answer>", re.DOTALL)
_FINAL_NUMBER = re.compile(r"\b(\d+(?:\.\d+)?)\b\s*\.?\s*$")


def make_reasoning_doc_to_messages(
    doc_to_visual_fn: Callable[..., Sequence[Any]],
    doc_to_text_fn: Callable[..., str],
    system_prompt: str | None = None,
) -> Callable[..., list[dict[str, Any]]]:
    """Make a ``doc_to_messages``: a system prompt that asks for reasoning, then the images and the question."""
    prompt = system_prompt or DEFAULT_REASONING_SYSTEM_PROMPT

    def doc_to_messages(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Any = None) -> list[dict[str, Any]]:
        question = doc_to_text_fn(doc, lmms_eval_specific_kwargs).strip()
        images = [{"type": "image", "url": visual} for visual in doc_to_visual_fn(doc)]
        return [
            {"role": "system", "content": [{"type": "text", "text": prompt}]},
            {"role": "user", "content": [*images, {"type": "text", "text": question}]},
        ]

    return doc_to_messages


def make_reasoning_process_results(
    data_source: str,
    doc_to_text_fn: Callable[..., str],
    gt_key: str = "answer",
    metrics_prefix: str = "",
    extra_info_fn: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Callable[..., dict[str, float]]:
    """Make a ``process_results``: ``acc_score`` and ``format_score``, means over the answers."""

    def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        about = {"question": doc_to_text_fn(doc, None), **(extra_info_fn(doc) if extra_info_fn else {})}
        scores = [compute_score(data_source, answer.strip(), str(doc[gt_key]), about) for answer in results]
        count = len(scores) or 1
        return {
            f"{metrics_prefix}acc_score": sum(score["acc_score"] for score in scores) / count,
            f"{metrics_prefix}format_score": sum(score["format_reward_score"] for score in scores) / count,
        }

    return process_results


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The score of an answer with reasoning: nine tenths for being right, one tenth for its format.

    Args:
        data_source: Name of the dataset; all are scored alike.
        solution_str: The whole answer.
        ground_truth: The reference.
        extra_info: May contain the ``question``, for a judge.

    Returns:
        ``score``, ``acc_score``, ``format_reward_score``, ``predict_str`` and ``ground_truth``.
    """
    form = format_reward(solution_str)
    conclusion = extract_anwser_tag(solution_str).strip()
    accuracy = acc_reward(conclusion, ground_truth, extra_info, form, solution_str)
    return {
        "score": (1 - _FORMAT_SHARE) * accuracy + _FORMAT_SHARE * form,
        "acc_score": accuracy,
        "format_reward_score": form,
        "predict_str": simple_parse(conclusion),
        "ground_truth": simple_parse(ground_truth),
    }


def acc_reward(
    predict_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    format_reward_score: float = 0.0,
    solution_str: str | None = None,
) -> float:
    """1 if a conclusion is right, else 0. It is compared as text, then as mathematics, then, with
    ``USE_LLM_JUDGE=True``, by the judge.

    If the judge rejects the conclusion of a short answer without the expected format, it gets the whole answer.
    """
    conclusion, reference = simple_parse(predict_str), simple_parse(ground_truth)
    accuracy = relax_exact_match(conclusion, reference) or _is_same_mathematics(conclusion, reference)
    if accuracy or os.environ.get("USE_LLM_JUDGE") != "True":
        return accuracy
    accuracy = llm_as_judge_sync(conclusion, ground_truth, extra_info)
    if accuracy or format_reward_score or solution_str is None or len(solution_str) >= _SHORT_ENOUGH_TO_JUDGE:
        return accuracy
    return llm_as_judge_sync(solution_str, ground_truth, extra_info)


@bounded
def format_reward(predict_str: str) -> float:
    """1 for reasoning and answer in their tags, or an answer in a box; 0.8 for a long text with mathematics that ends
    in a number; else 0.
    """
    if _THOUGHT.fullmatch(predict_str) or extract_boxed_answer(predict_str):
        return 1.0
    is_nearly = (
        len(predict_str.strip()) > _LONG_ENOUGH
        and re.search(r"[=+\-*/()\[\]\\]", predict_str) is not None
        and extract_anwser_tag(predict_str) != ""
    )
    return _NEARLY_FORMATTED if is_nearly else 0.0


@bounded
def extract_anwser_tag(predict_str: str) -> str:
    """The conclusion: the text in the first ``<answer>`` tags, else in the last box, else the number at the end of the
    last line that ends in one. (The name is spelled as tasks import it.)
    """
    tagged = re.search(r"<answer>(.*?)</answer>", predict_str, re.DOTALL)
    if tagged:
        return tagged.group(1)
    boxed = extract_boxed_answer(predict_str)
    if boxed:
        return boxed
    numbers = (_FINAL_NUMBER.search(line) for line in reversed(predict_str.strip().split("\n")))
    return next((number.group(1) for number in numbers if number), "")


@bounded
def extract_boxed_answer(predict_str: str) -> str:
    r"""The text in the last closed ``\boxed{}``, which may contain braces."""
    start = predict_str.rfind(_BOX)
    while start >= 0:
        depth, begin = 1, start + len(_BOX)
        for end in range(begin, len(predict_str)):
            depth += {"{": 1, "}": -1}.get(predict_str[end], 0)
            if depth == 0:
                return predict_str[begin:end]
        start = predict_str.rfind(_BOX, 0, start)
    return ""


def simple_parse(predict_str: str) -> str:
    """A text without one final full stop and surrounding white space."""
    return predict_str.removesuffix(".").strip()


def relax_exact_match(predict_str: str, ground_truth: str, relax_portion: float = 0.9) -> float:
    """1 if two texts are the same choice, or one contains the other and is hardly longer, else 0.

    A reference that contains a capital A to H counts as a choice, as in lmms-eval.
    """
    letter = parse_mcq(ground_truth)
    if letter:
        return float(parse_mcq(predict_str) == letter)
    short, long = sorted((predict_str, ground_truth), key=len)
    return float((short in long and len(short) >= relax_portion * len(long)) or short.strip() == long.strip())


def llm_as_judge_sync(predict_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None) -> int:
    """The verdict of the run's judge: 1 or 0.

    Raises:
        PlanError: if the run has no judge.
        UnscoredError: if the judge could not answer, or its verdict cannot be read.
    """
    question = str((extra_info or {}).get("question", "(not given)"))
    judge = ServerInterface(ServerConfig(temperature=0.0, max_tokens=5))
    verdict = judge.evaluate_binary(question, ground_truth, predict_str)
    if not verdict["success"]:
        raise UnscoredError(f"The judge could not be asked: {verdict['error_message']}")
    return int(verdict["result"])


def _is_same_mathematics(prediction: str, reference: str) -> float:
    """Return whether two texts mean the same mathematics. In a process that can be ended: math-verify's own time limit
    works only on the main thread.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise missing_package("math-verify", "comparing answers as mathematics")
    return named_in_process("comparing two answers with math-verify", _verified, prediction, reference)


def _verified(prediction: str, reference: str) -> float:
    package = importlib.import_module("math_verify")
    expected, answer = (package.parse(text, parsing_timeout=None) for text in (reference, prediction))
    return float(package.verify(expected, answer, timeout_seconds=None))
