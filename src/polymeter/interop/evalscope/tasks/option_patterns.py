"""Sentences in which a model names the option it chooses, as regular expressions.

``{X}`` stands for the options, parted by ``|``. Order is meaning: the first pattern that occurs in a text decides.
"""

from __future__ import annotations

# English, with the option as the first group.
ANSWER_IS: tuple[str, ...] = (
    r"[Aa]nswer:\s*({X})",
    r"ANSWER:\s*({X})",
    r"answer is \(?({X})\)?",
    r"[Tt]he correct answer is:\s*({X})",
    r"[Tt]he correct answer is:\n\s*({X})",
    r"[Tt]he correct answer is:\n\n-\s*({X})",
    r"[Tt]he answer might be:\n\n-\s*({X})",
    r"[Tt]he answer is \s*({X})",
)

# "The answer is", "so choose", "only ... is right", "therefore", in Chinese; the options are a class of characters.
_CHINESE: tuple[str, ...] = (
    r"答案是?\s?([{X}])",
    r"答案是?\s?：([{X}])",
    r"答案是?\s?:([{X}])",
    r"答案应该?是\s?([{X}])",
    r"答案应该?选\s?([{X}])",
    r"答案为\s?([{X}])",
    r"答案选\s?([{X}])",
    r"选择?\s?([{X}])",
    # One pattern, not two: "so choose X" counts only right before "only X is right".
    r"故选?\s?([{X}])只有选?项?\s?([{X}])\s?是?对",
    r"只有选?项?\s?([{X}])\s?是?错",
    r"只有选?项?\s?([{X}])\s?不?正确",
    r"只有选?项?\s?([{X}])\s?错误",
    r"说法不?对选?项?的?是\s?([{X}])",
    r"说法不?正确选?项?的?是\s?([{X}])",
    r"说法错误选?项?的?是\s?([{X}])",
    r"([{X}])\s?是正确的",
    r"([{X}])\s?是正确答案",
    r"选项\s?([{X}])\s?正确",
    r"所以答\s?([{X}])",
    r"所以\s?([{X}][.。$]?$)",
    r"所有\s?([{X}][.。$]?$)",
    r"[\s，：:,]([{X}])[。，,\.]?$",
    r"[\s，,：:][故即]([{X}])[。\.]?$",
    r"[\s，,：:]因此([{X}])[。\.]?$",
    r"[是为。]\s?([{X}])[。\.]?$",
    r"因此\s?([{X}])[。\.]?$",
    r"显然\s?([{X}])[。\.]?$",
    r"答案是\s?(\S+)(?:。|$)",
    r"答案应该是\s?(\S+)(?:。|$)",
    r"答案为\s?(\S+)(?:。|$)",
    r"答案是(.*?)[{X}]",
    r"答案为(.*?)[{X}]",
    r"固选(.*?)[{X}]",
    r"答案应该是(.*?)[{X}]",
)
_ENGLISH_AND_BARE: tuple[str, ...] = (
    r"[Tt]he answer is \(?[{X}]\)?",
    r"[Tt]he correct answer is [{X}]",
    r"[Tt]he correct answer is:\n[{X}]",
    r"(\s|^)[{X}][\s。，,\.$]",
    r"^选项\s?([{X}])",
    r"^([{X}])\s?选?项",
    r"(\s|^)[{X}][\s。，,：:\.$]",
    r"(\s|^)[{X}](\s|$)",
    r"[{X}]",
)
AMONG_CHOICES: tuple[str, ...] = _CHINESE + _ENGLISH_AND_BARE
