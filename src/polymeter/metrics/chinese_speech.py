"""Normalisation of Chinese transcripts, with numbers as spoken words.

The rules are those of SpeechIO's chinese_text_normalization: dates, money, telephone numbers, fractions, percentages,
counted objects, long numbers digit by digit, other numbers as cardinals, in this order, then punctuation as spaces. As
in the original, each match of a rule is replaced where its text first occurs.
"""

from __future__ import annotations

import importlib
import re
import string
from collections.abc import Callable, Iterable
from itertools import pairwise

from polymeter.core.errors import PlanError
from polymeter.metrics.bounded import bounded

_DIGITS = "零一二三四五六七八九"
_UNITS = {1: "十", 2: "百", 3: "千", **{4 * place: unit for place, unit in enumerate("万亿兆京垓秭穰沟涧正载", 1)}}
_MONEY = "(?:亿|千万|百万|[万千百元块角毛分])"
_COUNTED = (
    "匹张座回场尾条个首阙阵网炮顶丘棵只支袭辆挑担颗壳窠曲墙群腔砣客贯扎捆刀令打手罗坡山岭江溪钟队单双对出口头脚板跳"
    "枝件贴针线管名位身堂课本页家户层丝毫厘分钱两斤铢石钧锱忽寸尺丈里寻常铺程撮勺合升斗盘碗碟叠桶笼盆盒杯斛锅簋篮罐"
    "瓶壶卮盏箩箱煲啖袋钵年月日季刻时周天秒旬纪岁世更夜春夏秋冬代伏辈丸泡粒幢堆根道面片块"
)
_NUMBER = r"\d+(?:\.\d+)?"
# 二 becomes 两 before 百, 千, 万…, at the start or after a unit larger than 十.
_LARGE = "".join(unit for power, unit in _UNITS.items() if power > 1)
_TWO = re.compile(f"(?:(?<=[{_LARGE}])|^)二(?=[{_LARGE}])")
_FILLERS = "呃啊"
_FULL_WIDTH: dict[int, int | str] = {0x3000: " ", **{0xFF01 + place: 0x21 + place for place in range(94)}}


def _characters(*ranges: tuple[int, int]) -> str:
    return "".join(chr(code) for first, last in ranges for code in range(first, last + 1))


_PUNCTUATION = dict.fromkeys(
    map(
        ord,
        string.punctuation
        + "·﹏〜〰〾〿"
        + _characters((0xFF01, 0xFF0D), (0xFF0F, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF64))
        + _characters((0x3001, 0x3003), (0x3008, 0x3011), (0x3014, 0x301B), (0x301D, 0x301F))
        + _characters((0x2013, 0x2014), (0x2018, 0x2019), (0x201B, 0x201F), (0x2026, 0x2027)),
    ),
    " ",
)


class TextNorm:
    """A normaliser of transcripts.

    Args:
        to_banjiao: Replace full-width characters with ASCII.
        to_upper: Convert Latin letters to upper case.
        to_lower: Convert Latin letters to lower case.
        remove_fillers: Remove interjections of hesitation.
        remove_erhua: Not supported: it needs a table of words that Polymeter does not have.
        check_chars: Not supported: it needs a table of characters that Polymeter does not have.
        remove_space: Remove spaces except between Latin words or numbers.
        cc_mode: ``t2s`` or ``s2t``: convert between scripts first, with the package ``opencc``.

    Raises:
        PlanError: if an option is not supported.
    """

    def __init__(
        self,
        to_banjiao: bool = False,
        to_upper: bool = False,
        to_lower: bool = False,
        remove_fillers: bool = False,
        remove_erhua: bool = False,
        check_chars: bool = False,
        remove_space: bool = False,
        cc_mode: str = "",
    ) -> None:
        for name, is_on in (("remove_erhua", remove_erhua), ("check_chars", check_chars)):
            if is_on:
                raise PlanError(f"Polymeter's TextNorm does not support {name!r}.", hint="Leave it out.")
        steps: list[tuple[object, Callable[[str], str]]] = [
            (cc_mode, importlib.import_module("opencc").OpenCC(cc_mode).convert if cc_mode else str),
            (to_banjiao, lambda text: text.translate(_FULL_WIDTH)),
            (to_upper, str.upper),
            (to_lower, str.lower),
            (remove_fillers, lambda text: text.translate(dict.fromkeys(map(ord, _FILLERS)))),
            (True, normalize_nsw),
            (True, lambda text: text.translate(_PUNCTUATION)),
            (remove_space, _without_spaces),
        ]
        self._steps = [step for is_on, step in steps if is_on]

    def __call__(self, text: str) -> str:
        for step in self._steps:
            text = step(text)
        return text


def num2chn(number_string: str, *, alt_two: bool = True, use_units: bool = True) -> str:
    """Write a decimal number in Chinese.

    Args:
        number_string: Digits, with at most one point.
        alt_two: Write 两 for a two before 百, 千, 万…
        use_units: Write it as a number with units, not digit by digit.
    """
    whole, _, fraction = number_string.partition(".")
    spoken = _spoken(whole) if use_units and len(whole) > 1 else _by_digits(whole)
    if alt_two:
        spoken = _TWO.sub("两", spoken)
    if fraction:
        spoken += "点" + _by_digits(fraction)
    if spoken.startswith("点"):
        return "零" + spoken
    return spoken[1:] if spoken.startswith("一十") else spoken


@bounded
def normalize_nsw(raw_text: str) -> str:
    """Return a text with its numbers as spoken words."""
    text = f"^{raw_text}$"
    year = r"(?:[089]\d|(?:19|20)\d{2})年"
    text = _replaced(text, rf"\D+((?:{year})?(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)?)", _date)
    text = _replaced(text, rf"\D+({_NUMBER}[多余几]?{_MONEY}(?:\d{_MONEY}?)?)", _money)
    text = _replaced(text, r"\D((?:\+?86 ?)?1(?:[38]\d|5[0-35-9]|7[678]|9[89])\d{8})\D", _digits_of)
    text = _replaced(text, r"\D((?:0(?:10|2[1-3]|[3-9]\d{2})-?)?[1-9]\d{6,7})\D", _digits_of)
    text = _replaced(text, r"(\d+/\d+)", lambda match: "分之".join(map(num2chn, reversed(match.split("/")))))
    text = _replaced(text.replace("％", "%"), rf"({_NUMBER}%)", lambda match: "百分之" + num2chn(match.rstrip("%")))
    text = _replaced(text, rf"({_NUMBER})[多余几]?(?:[{_COUNTED}]|[千毫微]克|[千分厘毫微]米)", num2chn)
    text = _replaced(text, r"(\d{4,32})", _digits_of)
    text = _replaced(text, rf"({_NUMBER})", num2chn)
    # The rules above also turn the digit in names such as B2B into a word.
    text = _replaced(text, r"([a-zA-Z]+二[a-zA-Z]+)", lambda match: match.replace("二", "2"))
    return text.lstrip("^").rstrip("$")


def _replaced(text: str, pattern: str, speak: Callable[[str], str]) -> str:
    for match in re.findall(pattern, text):
        if match:
            text = text.replace(match, speak(match), 1)
    return text


def _date(date: str) -> str:
    year, mark, month_and_day = date.rpartition("年")
    month, has_month, day = month_and_day.partition("月")
    spoken = _by_digits(year) + mark
    if has_month:
        spoken += num2chn(month) + "月"
    return spoken + (num2chn(day[:-1]) + day[-1] if day else "")


def _money(money: str) -> str:
    for number in re.findall(_NUMBER, money):
        money = money.replace(number, num2chn(number))
    return money


def _digits_of(text: str) -> str:
    return _by_digits(char for char in text if char.isdigit())


def _by_digits(digits: Iterable[str]) -> str:
    return "".join(_DIGITS[int(digit)] for digit in digits)


def _spoken(digits: str) -> str:
    """Return a whole number in words, with units. Leading zeros become a single one if a digit follows, else none."""
    significant = digits.lstrip("0")
    if not significant:
        return ""
    zero = "零" if len(significant) < len(digits) else ""
    if len(significant) == 1:
        return zero + _DIGITS[int(significant)]
    power = max(power for power in _UNITS if power < len(significant))
    return _spoken(digits[:-power]) + _UNITS[power] + _spoken(significant[-power:])


def _without_spaces(text: str) -> str:
    """Return the text without spaces, except between two ASCII letters or digits."""
    words = text.split()
    latin = string.ascii_letters + string.digits
    gaps = [" " if left[-1] in latin and right[0] in latin else "" for left, right in pairwise(words)]
    return "".join(word + gap for word, gap in zip(words, [*gaps, ""], strict=False))
