"""The questions with which VLMEvalKit asks a judge which option an answer names. They are part of its numbers, so they
are worded as there.
"""

from __future__ import annotations

__all__ = ["build_prompt", "build_prompt_LEGO", "build_prompt_blink", "build_prompt_cn", "build_prompt_wemath"]

_TASK = (
    "You are an AI assistant who will help me to match an answer with several options of a single-choice question. "
    "You are provided with a question, several options, and an answer, "
    "and you need to find which option is most similar to the answer. "
)
_NO_OPTION = "If the meaning of all options are significantly different from the answer, output Z. "
_OBJECT = "What is the main object in image?\nOptions: A. teddy bear B. rabbit C. cat D. dog\n"
_USUAL = (
    f"{_TASK}{_NO_OPTION}"
    "Your should output a single uppercase character in A, B, C, D (if they are valid options), and Z. \n"
    f"Example 1: \nQuestion: {_OBJECT}Answer: a cute teddy bear\nYour output: A\n"
    f"Example 2: \nQuestion: {_OBJECT}Answer: Spider\nYour output: Z\n"
    "Example 3: \nQuestion: {}?\nOptions: {}\nAnswer: {}\nYour output: "
)
_WEMATH = (
    f"{_TASK}{_NO_OPTION}"
    "Your should output a single uppercase character in A, B, C, D, E, F, G (if they are valid options), and Z. \n"
    f"Example 1: \nQuestion: <start>\n{_OBJECT}<end>\nAnswer: <start>\na cute teddy bear\n<end>\nYour output: A\n"
    f"Example 2: \nQuestion: <start>\n{_OBJECT}<end>\nAnswer: <start>\nSpider\n<end>\nYour output: Z\n"
    "Example 3: \nQuestion: <start>\n{}\nOptions: {}\n<end>\nAnswer: <start>\n{}\n<end>\nYour output: "
)
_WEMATH_FORMAT = (
    "Regarding the format, please answer following the template below, and be sure to include two <> symbols:\n"
    "<Thought process>: <<your thought process>> <Answer>: <<your option>>"
)
_CLOSER = "Which point is closer to the camera?\nSelect from the following choices.\n"
_BLINK = (
    f"{_TASK}"
    "If the answer says things like refuse to answer, I'm sorry cannot help, etc., output Z."
    "If the meaning of all options are significantly different from the answer, "
    "or the answer does not select any option, output Z. "
    "Your should output one of the choices, A, B, C, D (if they are valid options), or Z.\n"
    f"Example 1: \nQuestion: {_CLOSER}Options: A. Point A\nB. Point B\n(Z) Failed\n"
    "Answer: Point B, where the child is sitting, is closer to the camera.\nYour output: (B)\n"
    f"Example 2: \nQuestion: {_CLOSER}Options: (A) Point A\n(B) Point B\n(Z) Failed\n"
    "Answer: I'm sorry, but I can't assist with that request.\nYour output: (Z)\n"
    "Example 3: \n"
    "Question: Which point is corresponding to the reference point?\nSelect from the following choices.\n"
    "Options: (A) Point A\n(B) Point B\n(Z) Failed\n"
    "Answer:The reference point (REF) on the first image is at the tip of the pot, "
    "which is the part used to Poke if the pots were used for that action. Looking at the second image, "
    "we need to find the part of the object that would correspond to poking.\n"
    "(A) Point A is at the tip of the spoon's handle, which is not used for poking.\n"
    "(B) Point B is at the bottom of the spoon, which is not used for poking.\n"
    "(C) Point C is on the side of the pspoonot, which is not used for poking.\n"
    "(D) Point D is at the tip of the spoon, which is not used for poking.\n"
    "\nTherefore, there is no correct answer in the choices\nYour output: (Z)\n"
    "Example 4: \nQuestion: {}?\nOptions: {}\n(Z) Failed\nAnswer: {}\nYour output: "
)
_OBJECT_IN_CHINESE = "图中最主要的物体是什么?\n选项: A. 泰迪熊 B. 兔子 C. 猫 D. 狗\n"
_CHINESE = (
    "你是一个帮助我匹配答案与单选题中多个选项的 AI 助手。"
    "你会被提供：一个问题，多个选项，一个答案。你的任务是找到与答案意义最相近的选项。"
    "如果所有选项的意义都与答案显著不同，则输出 Z。"
    "你应该输出一个单个的大写字母，例如 A, B, C, D（如果它们是有效选项），或 Z。"
    f"例 1:问题: {_OBJECT_IN_CHINESE}答案: 一只可爱的泰迪熊\n输出: A\n"
    f"例 2: \n问题: {_OBJECT_IN_CHINESE}答案: 蜘蛛\n输出: Z\n"
    "例 3: \n问题: {}?\n选项: {}\n答案: {}\n输出: "
)
_ORDER = (
    "You are an AI assistant who will help me to arrange options in the correct order. "
    "You are provided with a question, four options, and an answer. "
    "You need to determine the correct ordering of options based on the answer. "
    "Output should be a permutation of ABCD (like DCBA or BADC).\n"
    "Example 1:\n"
    "Question: Arrange these historical events chronologically\n"
    "Options: A. Renaissance B. Middle Ages C. Industrial Revolution D. Digital Age\n"
    "Answer: From Middle Ages to Renaissance, then Industrial Revolution, finally Digital Age\n"
    "Output: BACD\n\n"
    "Example 2:\n"
    "Question: Sort colors by wavelength (longest to shortest)\n"
    "Options: A. Red B. Green C. Blue D. Violet\n"
    "Answer: Red has longest wavelength, followed by green then blue, shortest is violet\n"
    "Output: ABCD\n\n"
    "Example 3:\nQuestion: {}\nOptions: {}\nAnswer: {}\nOutput:"
)


def build_prompt(question: str, options: str, prediction: object) -> str:
    """The usual question."""
    return _USUAL.format(question, options, prediction)


def build_prompt_wemath(question: str, options: str, prediction: object) -> str:
    """WeMath's: letters up to G, and the question without the form in which it asks for an answer."""
    return _WEMATH.format(question.replace(_WEMATH_FORMAT, ""), options, prediction)


def build_prompt_blink(question: str, options: str, prediction: object) -> str:
    """BLINK's: with an option for answers that choose none."""
    return _BLINK.format(question, options, prediction)


def build_prompt_cn(question: str, options: str, prediction: object) -> str:
    """The usual question in Chinese."""
    return _CHINESE.format(question, options, prediction)


def build_prompt_LEGO(question: str, options: str, prediction: object, question_type: str) -> str:
    """LEGO's: for an order if the question's type is ``sort``, else the usual one."""
    return (_ORDER if question_type == "sort" else _USUAL).format(question, options, prediction)
