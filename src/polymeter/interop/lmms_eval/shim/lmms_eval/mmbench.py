"""``lmms_eval.tasks.mmbench.mmbench_evals``: MMBench's circular evaluation (Liu et al. 2023).

A question counts as right if the answers to all rotations of its options are right. The run's judge matches an answer
that names no option, with Polymeter's own prompt; a judge that cannot answer is an error, not a guess.
"""

from __future__ import annotations

import math
import random
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import ScoreError, UnscoredError
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_asking import ask_judge
from polymeter.metrics.option_letters import extract_mcq_answer

_OPTIONS = "ABCD"
_ROTATION = 1_000_000  # rotations of question n have the indices n + k * 1,000,000
_SEED = 2680
_TRIES = 3
_FAILED = "Failed to obtain answer via API"
_FORMS = (
    *(("", mark) for mark in (".", ",", ":", ")", ").")),
    *(("(", mark) for mark in (")", ").")),
    *((":", mark) for mark in ("", ",", ".", ")", ").")),
)
_PROMPT = """\
Match an answer to the option of a single-choice question that means the same. If none means nearly the same, say E.
Reply with one capital letter.

Question: A picture shows one animal. Which? Options: A. a horse B. a dog C. a cow D. a goat
Answer: it is a small puppy
Reply: B

Question: A picture shows one animal. Which? Options: A. a horse B. a dog C. a cow D. a goat
Answer: an owl
Reply: E

Question: {question}
Options: {options}
Answer: {prediction}
Reply:"""


class MMBench_Evaluator:
    """Evaluates predictions for MMBench.

    Args:
        sys_prompt: The line before the options.
        API_KEY: Not used: ``--judge`` decides which model answers.
        API_URL: Not used.
        model_version: Not used.
    """

    def __init__(
        self,
        sys_prompt: str = "There are several options:",
        API_KEY: str = "",
        API_URL: str = "",
        model_version: str = "",
    ) -> None:
        self.sys_prompt = sys_prompt
        self.API_KEY, self.API_URL, self.model_version = API_KEY, API_URL, model_version
        self._random = random.Random(_SEED)

    def create_options_prompt(
        self, row_data: Mapping[str, Any], option_candidate: Iterable[str]
    ) -> tuple[str, dict[str, Any]]:
        """The options of a row as lines below ``sys_prompt``, and as a mapping from their letters."""
        options = {name: row_data[name] for name in sorted({*row_data} & {*option_candidate}) if row_data[name]}
        lines = [f"{name}. {text}" for name, text in options.items() if not _is_missing(text) and text != "nan"]
        return "\n".join([self.sys_prompt, *lines]), options

    def build_choices(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """A row's options: letter → text."""
        return {name: item[name] for name in _OPTIONS if not _is_missing(item[name])}

    def extract_options(self, item: Mapping[str, Any]) -> list[Any]:
        """A row's options up to the first that is missing."""
        options = []
        for name in _OPTIONS:
            if name not in item or _is_missing(item[name]):
                break
            options.append(item[name])
        return options

    def build_option_str(self, option_list: Sequence[Any]) -> str:
        """Options as lines."""
        lines = [f"{name}. {text}\n" for name, text in zip(string.ascii_uppercase, option_list, strict=False)]
        return "There are several options: \n" + "".join(lines)

    def build_prompt(self, question: str, options: str, prediction: str) -> str:
        """The judge's prompt."""
        return _PROMPT.format(question=question, options=options, prediction=prediction)

    def can_infer_option(self, answer: str, num_choice: int = 5) -> str | bool:
        """The only letter that stands alone or in brackets in an answer; false if there is none or more than one.

        A lone ``A`` in an answer of more than three words may be an article, and ends the search for bare letters.
        """
        if _FAILED in answer:
            return False
        letters, words = string.ascii_uppercase[:num_choice], answer.split()
        bare = [letter for letter in letters if letter in words]
        if len(bare) == 1 and not ("A" in words and len(words) > 3):
            return bare[0]
        for before, behind in _FORMS:
            marked = [letter for letter in letters if f"{before}{letter}{behind}" in words]
            if len(marked) == 1:
                return marked[0]
        return False

    def can_infer_text(self, answer: str, choices: Mapping[str, Any]) -> str | bool:
        """The only option whose text occurs in an answer; false if there is none or more than one."""
        folded = answer.lower()
        named = [letter for letter, text in choices.items() if str(text).lower() in folded]
        return named[0] if len(named) == 1 else False

    def can_infer(self, answer: str, choices: Mapping[str, Any]) -> str | bool:
        """The option that an answer names by its letter, else by its text."""
        return self.can_infer_option(answer) or self.can_infer_text(answer, choices)

    def prefetch_answer(self, item: Mapping[str, Any]) -> str | bool:
        """The option that a row's prediction names, without a judge."""
        return self.can_infer(item["prediction"], self.build_choices(item))

    def get_chat_response(self, prompt: str, temperature: float = 0, max_tokens: int = 256, **_: Any) -> str:
        """The judge's answer.

        Raises:
            PlanError: if the run has no judge.
            UnscoredError: if the judge could not answer.
        """
        messages = [{"role": "user", "content": prompt}]
        answer = ask_judge(messages, max_tokens=max_tokens, temperature=float(temperature))
        if answer.error is not None:
            raise UnscoredError(f"The judge could not be asked: {answer.error.message}")
        return answer.text.strip()

    def extract_answer_from_item(self, item: Mapping[str, Any]) -> tuple[str, str]:
        """The option that a row's prediction means, and the text that names it.

        The judge has three attempts; if it names no option either, one is drawn at random, as in the protocol, with
        this evaluation's own generator.
        """
        choices = self.build_choices(item)
        named = self.can_infer(item["prediction"], choices)
        if named:
            return str(named), item["prediction"]
        options = self.build_option_str(self.extract_options(item))
        prompt = self.build_prompt(item["question"], options, item["prediction"])
        for _ in range(_TRIES):
            answer = self.get_chat_response(prompt)
            named = self.can_infer(answer, choices)
            if named:
                return str(named), answer
        letters = string.ascii_uppercase[: sum(name in item for name in _OPTIONS)] + "E"
        drawn = letters[self._random.randint(0, len(letters) - 1)]
        return drawn, "Failed to predict, thus randomly generate one. "

    def eval_sub_data(self, sub_data: Any, answer_map: Mapping[Any, str], static_only: bool = False) -> int:
        """1 if the answers to all rotations of a question are right, else 0.

        Answers that name an option are read before the judge is called. With ``static_only`` the judge is not called,
        and the other answers are searched for a letter.
        """
        rows = [sub_data.iloc[position] for position in range(len(sub_data))]
        read = [(row, answer_map[row["index"]], self.prefetch_answer(row)) for row in rows]
        if any(named and named != wanted for _, wanted, named in read):
            return 0
        unread = ((row, wanted) for row, wanted, named in read if not named)
        named = self._searched if static_only else lambda row: self.extract_answer_from_item(row)[0]
        return int(all(named(row) == wanted for row, wanted in unread))

    def _searched(self, item: Mapping[str, Any]) -> str:
        return extract_mcq_answer(item["prediction"], choices=sorted(self.build_choices(item)))

    def calculate_hit_rates(self, data: Any) -> tuple[float, dict[str, float], dict[str, float]]:
        """The fraction of right questions: overall, by category, and by second-level category."""
        by = {
            name: data.groupby(name)["hit"].mean().to_dict() if name in data.columns else {}
            for name in ("category", "l2-category")
        }
        return data["hit"].mean(), by["category"], by["l2-category"]

    def eval_result(
        self, results: Sequence[Mapping[str, Any]], eval_method: str = "openai"
    ) -> tuple[float, dict[str, float], dict[str, float]]:
        """The fractions of ``calculate_hit_rates`` for rows with ``index``, ``question``, ``answer``, ``prediction``,
        ``category``, options ``A`` to ``D``, and optionally ``l2-category``.
        """
        import pandas

        if eval_method not in ("openai", "static"):
            raise ScoreError(
                f"There is no eval_method {eval_method!r}.",
                hint="Use 'openai', which calls the run's judge, or 'static', which calls none.",
            )
        self._random = random.Random(_SEED)
        data = pandas.DataFrame(list(results)).sort_values(by="index")
        data.columns = [name if name in _OPTIONS else name.lower() for name in data.columns]
        data["prediction"] = [str(text) for text in data["prediction"]]
        answers = dict(zip(data["index"], data["answer"], strict=True))
        main = data[data["index"] < _ROTATION].copy()
        rotations = data["index"] % _ROTATION
        is_static = eval_method == "static"
        main["hit"] = [self.eval_sub_data(data[rotations == index], answers, is_static) for index in main["index"]]
        return self.calculate_hit_rates(main)


def _is_missing(value: Any) -> bool:
    """Return whether a cell is empty: ``None`` or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))
