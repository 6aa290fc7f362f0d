"""What the three scripted models say: right and wrong answers as benchmarks ask for them, and messy ones as models
write them. The right model slips now and then, and the wrong one is sometimes lucky, so that few values are extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

MODELS = ("right", "wrong", "messy")
_SKILL: Mapping[str, float] = {"right": 0.85, "wrong": 0.15, "messy": 0.5}

# {x}: the letter meant, {y}: another letter, {t}: the text of the option meant.
_MESSY_LETTERS = (
    "{x}",
    " {x}\n",
    "{x}.",
    "({x})",
    "**{x}**",
    "**Answer: {x}**",
    "Answer: **{x}**",
    "**Answer**: {x}) {t}",
    "The answer is {x}.",
    "The answer is: {x}",
    "The best answer is [{x}]",
    "the answer is ({x}), not ({y})",
    "The answer is {y}. Wait, no. The answer is {x}.",
    "The correct option is {x}, because {y} contradicts the text.",
    "I think it is {x} or {y}.",
    "Option {y} is wrong. So is everything else except {x}",
    "{y} looks good at first.\n\nA closer look shows that {x} fits.\n\nAnswer: {x}",
    "<think>Perhaps {y}? The answer is {y}.</think>\n\n{x}",
    "<think>\nBoth {x} and {y} could be it.\n</think>\n\nThe answer is {x}",
    "A good question! I would say {x}",
    "I would say: {t}",
    "{t}",
    "$\\boxed{{{x}}}$",
    "The final answer is \\boxed{{\\text{{{x}}}}}.",
    "答案是：{x}",
    "答案是{x}。",
    "答案：{x}",
    "答案为 {x} 。",
    "故选：{x}",
    "因此，选项{x}正确，选项{y}错误。",
    "正确答案是 **{x}**。",
    "选{x}",
    "我认为应该选择({x})。",
    "本题选{y}还是{x}？应选{x}",
    "{x}是正确的",
    "<{x}>",
    "<{x}> {t}",
    "最终答案：<{y}>, 不对，<{x}>",
    "\uff21\uff22\uff23\uff24 {x}",
    "答案是\uff08{x}\uff09",
    "answer is {x}\u2026",
    "\u7b54\u6848\u662f\uff1a\n{x}",
    "ANSWER: {x}",
    "answer: {lx}",
    "{lx}",
    "The Answer Is ({lx})",
    '{{"answer": "{x}"}}',
    "```\n{x}\n```",
    "# {x}",
    "- {y}: no\n- {x}: yes",
    "None of them.",
    "I am not able to answer this.",
    "\U0001f642 {x}!",
    "The answer is {x}{y}",
    "{x}, {y}",
    "The answer is {x} and {y}.",
    "ABCD",
    "Because it is so.\nThe answer is\n{x}",
    "Therefore, the answer is Option {x}: {t}.",
    "The answer is\u00a0{x}",
    "Question: and so on\nThe answer is {y}",
    "",
    " ",
    "\n\n",
)

# {x}: the answer meant, {y}: another answer.
_MESSY_TEXTS = (
    "{x}",
    " {x} ",
    "{x}.",
    "**{x}**",
    "The answer is {x}.",
    "The answer is **{x}**.",
    "the answer is {x}",
    "Therefore, the answer is {x}.",
    "Therefore, the answer is $x = {x}$.",
    "So the answer is {x}. I am sure.",
    "The answer is {y}. No: the answer is {x}.",
    "It is {x}, or maybe {y}",
    "{y}, {x}",
    "<think>It may be {y}.</think>\n{x}",
    "<think>\\boxed{{{y}}}</think>\n\n\\boxed{{{x}}}",
    "\\boxed{{{x}}}",
    "$\\boxed{{{x}}}$",
    "\\boxed{{{y}}} and then \\boxed{{{x}}}",
    "Thus $$\\boxed{{ {x} }}$$.",
    "\\boxed {x}",
    "\\fbox{{{x}}}",
    "\\boxed{{\\text{{{x}}}}}",
    "\\boxed{{\\mathbf{{{x}}}}}",
    "\\[ {x} \\]",
    "${x}$",
    "\\({x}\\)",
    "Final Answer: The final answer is ${x}$. I hope it is correct.",
    "Answer: {x}",
    "Answer : {x}\nBecause it is so.",
    "**Answer:** {x}",
    "ANSWER: {y}\nAnswer: {x}",
    "答案是 {x}。",
    "答案是{x}",
    "最终答案：{x}",
    "{x} units",
    "{x} dollars",
    "${x}",
    "\\${x}",
    "{x}%",
    "{x}\\%",
    "about {x}",
    "x={x}",
    "= {x}",
    "{x} = {y}",
    "{x}\n\nThis follows from the text.",
    "The result is {x}, which is less than {y}.",
    "#### {x}",
    "[[{x}]]",
    '{{"answer": "{x}"}}',
    "```\n{x}\n```",
    "I do not know.",
    "No answer",
    "\U0001f642 {x}",
    "\u201c{x}\u201d",
    "{x}\u3002",
    "",
    " ",
    "\n",
)

# Other ways to write a number; each takes its text.
_NUMBER_FORMS: Sequence[Callable[[str], str]] = (
    lambda n: n,
    lambda n: f"{n}.0",
    lambda n: f"{n}.00",
    lambda n: f"+{n}",
    lambda n: f"0{n}",
    lambda n: f"{n},000",
    lambda n: f"{n}e0",
    lambda n: f"{n}^\\circ",
    lambda n: f"\\frac{{{n}}}{{1}}",
    lambda n: f"\\dfrac{{{n}}}{{1}}",
    lambda n: f"\\sqrt{{{n}}}",
    lambda n: f"{n}\\%",
    lambda n: f"\\${n}",
    lambda n: f"{n}\\text{{ cm}}",
    lambda n: f"{n}\\ \\mathrm{{m}}^2",
    lambda n: f"\\left({n}\\right)",
    lambda n: f"({n}, {n})",
    lambda n: f"{n} \\times 10^0",
    lambda n: f"\\text{{{n}}}",
    lambda n: f"x \\in \\{{{n}\\}}",
    lambda n: f"{n}!",
    lambda n: f"- {n}",
    lambda n: "".join(chr(0xFF10 + int(digit)) if digit.isdecimal() else digit for digit in n),
)


def means_right(rng: Random, model: str) -> bool:
    """Whether a model means the right answer this time."""
    return rng.random() < _SKILL[model]


def letters(rng: Random, gold: str, among: str, texts: Sequence[str], asked_for: Sequence[str]) -> dict[str, str]:
    """The answers of the models to a question with options.

    Args:
        rng: What decides.
        gold: The right letter.
        among: The letters there are.
        texts: The options' texts.
        asked_for: Ways in which the benchmark asks for an answer, with ``{x}`` for the letter.
    """

    def answer(model: str) -> str:
        others = [letter for letter in among if letter != gold]
        x = gold if means_right(rng, model) else rng.choice(others)
        y = rng.choice([letter for letter in among if letter != x])
        template = rng.choice(_MESSY_LETTERS if model == "messy" else asked_for)
        return template.format(x=x, y=y, lx=x.lower(), t=texts[among.index(x)])

    return {model: answer(model) for model in MODELS}


def texts(rng: Random, gold: str, other: str, asked_for: Sequence[str], *, is_number: bool = False) -> dict[str, str]:
    """The answers of the models to a question with a short answer.

    Args:
        rng: What decides.
        gold: The right answer.
        other: A wrong one.
        asked_for: Ways in which the benchmark asks for an answer, with ``{x}`` for it.
        is_number: Whether messy answers also write it in other forms.
    """

    def answer(model: str) -> str:
        x, y = (gold, other) if means_right(rng, model) else (other, gold)
        if model != "messy":
            return rng.choice(asked_for).replace("{x}", x)
        if is_number and rng.random() < 0.5:
            x = rng.choice(_NUMBER_FORMS)(x)
        template = rng.choice(_MESSY_TEXTS)
        return template.replace("{{", "{").replace("}}", "}").replace("{x}", x).replace("{y}", y)

    return {model: answer(model) for model in MODELS}


def chosen(rng: Random, right: Sequence[str], wrong: Sequence[str], messy: Sequence[str]) -> dict[str, str]:
    """One of the given answers for each model; the messy one has its own besides."""

    def answer(model: str) -> str:
        if model == "messy" and rng.random() < 0.6:
            return rng.choice(messy)
        return rng.choice(right if means_right(rng, model) else wrong)

    return {model: answer(model) for model in MODELS}
