r"""The written forms of verdicts: their names in eleven languages, their words, units, widths and markup.

A judge answers in the language of its prompt. ``评分：Ａ``, ``점수: 8점``, ``Note : 8,5/10`` and ``$\boxed{A}$`` are
as clear as ``Score: 8``, and count in the same places (``passages``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

AROUND = (
    " \t\r\n*_`'\"“”‘’#>()$"
    "\u00a0\u202f\u3000\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"  # spaces and invisible marks
    "«»„‚‹›「」『』《》〈〉【】〔〕［］（）＊"
)
"""Characters that may surround a verdict: quotes, brackets and emphasis of all scripts."""

STOPS = ".!。．！｡۔।"


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of verdicts in a language.

    Attributes:
        name: A pattern of the names.
        copula: A pattern of words that may stand between name and verdict instead of a colon.
        has_comma: Whether the language writes a decimal comma.
    """

    name: str
    copula: str
    has_comma: bool = False


# Names of answers ("Answer: B", "答案：B", "Respuesta: B") are left out on purpose: a judge repeats those it is shown.
_NAMINGS = (
    Naming(
        r"(?:the\s+|my\s+)?(?:final\s+|overall\s+)?(?:verdict|grade|rating|score|judge?ment|decision)",
        r"\bis\b\s*:?",
    ),
    Naming(  # Chinese, in both scripts
        r"(?:我的|本次|该回答的)?(?:最终|最終|最后|最後|综合|綜合|总体|總體|整体|整體|总|總)?的?"
        r"(?:[评評](?:分|价|價|级|級|定|估|判)|得?分数|得?分數|得分|打分|[总總]分|等[级級]|判[断斷定决決]|裁[决決定]|[结結][论論]|成[绩績]"
        r"|[获獲]?[胜勝]者)(?:[结結]果)?",
        r"(?:是|为|為)\s*[:：]?",
    ),
    Naming(  # Japanese
        r"(?:私の|最終的?な?|総合的?な?|全体の)?(?:評価|判定|判断|評点|評定|採点|得点|点数|スコア|結論|裁定|勝者|グレード)(?:結果)?",
        r"は\s*[、:：]?",
    ),
    Naming(  # Korean
        r"(?:제\s*|나의\s*|내\s*)?(?:최종\s*|종합\s*|전체\s*)?(?:평가|점수|총점|판정|판단|평점|등급|채점|결정|결론|판결|승자)(?:\s*결과)?",
        r"(?:은|는|이|가)(?=[\s:：])\s*[:：]?",
    ),
    Naming(  # Arabic
        r"(?:ال)?(?:تقييم|درجة|حكم|نتيجة|قرار|تقدير|علامة|فائز)ي?(?:\s+(?:ال)?(?:نهائية?|إجمالية?|كلية?|عامة?))?",
        r"\s(?:هو|هي)\b\s*:?",
    ),
    Naming(  # Russian
        r"(?:мо[йяё]\s+)?(?:(?:итогов|окончательн|общ|финальн)\w+\s+)?"
        r"(?:оценка|балл|вердикт|решение|рейтинг|суждение|заключение|победитель)",
        r"(?:[—–]|\bэто\b)",
        has_comma=True,
    ),
    Naming(  # Spanish
        r"(?:mi\s+|la\s+|el\s+)?(?:puntuaci[oó]n|puntaje|calificaci[oó]n|nota|evaluaci[oó]n|valoraci[oó]n|veredicto"
        r"|juicio|decisi[oó]n|ganador)(?:\s+(?:final|global|total|general))?",
        r"\bes\b(?:\s+de\b)?\s*:?",
        has_comma=True,
    ),
    Naming(  # French; "Score" alone is English
        r"(?:ma\s+|mon\s+|la\s+|le\s+|l['’])?(?:(?:note|évaluation|verdict|jugement|d[ée]cision|appr[ée]ciation"
        r"|notation|gagnant)(?:\s+(?:final|global|total|d[ée]finiti)\w*)?|score\s+(?:final|global|total))",
        r"\best\b(?:\s+de\b)?\s*:?",
        has_comma=True,
    ),
    Naming(  # German
        r"(?:meine?\s+|die\s+|das\s+|der\s+)?(?:(?:endgültig|abschließend|final)\w*\s+)?(?:gesamt|end|schluss)?"
        r"(?:bewertung|note|urteil|punktzahl|wertung|entscheidung|einschätzung|beurteilung|gewinner|sieger)",
        r"\b(?:ist|lautet|beträgt)\b\s*:?",
        has_comma=True,
    ),
    Naming(  # Portuguese
        r"(?:minha\s+|meu\s+|a\s+|o\s+)?(?:pontuaç[aã]o|nota|avaliaç[aã]o|classificaç[aã]o|veredic?to|julgamento"
        r"|decis[aã]o|vencedor)(?:\s+(?:final|geral|total|global))?",
        r"\bé\b(?:\s+de\b)?\s*:?",
        has_comma=True,
    ),
    Naming(  # Italian
        r"(?:il\s+mio\s+|la\s+mia\s+|il\s+|la\s+)?(?:punteggio|voto|valutazione|giudizio|verdetto|decisione|vincitore)"
        r"(?:\s+(?:finale|complessiv[oa]|totale|globale))?",
        r"\bè\b(?:\s+di\b)?\s*:?",
        has_comma=True,
    ),
)
_CLOSERS = r"[*_`\])）】」』\"”’]*"
_MARKERS = [
    (
        re.compile(
            rf"\[?(?:{naming.name}){_CLOSERS}\s*(?:{naming.copula}|[:=：＝∶])\s*(?P<verdict>.*)",
            re.IGNORECASE | re.DOTALL,
        ),
        naming.has_comma,
    )
    for naming in _NAMINGS
]
_KEYS = [(re.compile(naming.name, re.IGNORECASE), naming.has_comma) for naming in _NAMINGS]
_HEADING = re.compile(r"【\s*(?P<name>[^】]{1,20}?)\s*】\s*(?P<verdict>[^\s:：].*)")

# Digits of all scripts, with a decimal point; "８．５" and "٨٫٥" are converted to this form first.
_DIGITS = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_UNIT = (
    r"(?:points?|stars?|分|点|點|점|балл(?:а|ов)?|punt(?:os?|i)|pontos?|punkte?n?|نقطة|نقاط|درجة|درجات"
    r"|étoiles?|estrel(?:la|a)s?|sterne?|stelle|颗?星|つ星|зв[её]зд[аы]?)"
)
_OUT_OF = r"(?:/|out\s+of\b|из\b|sur\b|von\b|de\b|su\b|di\b|من(?:\s+أصل)?\b)"
# Before a unit or a scale, a comma is always a decimal comma; a bare "8,5" may be two ratings.
_VALUE = rf"(?P<value>{_DIGITS}(?!,\d)|[-+]?\d+,\d{{1,2}}(?=\s*(?:{_UNIT}|{_OUT_OF})))"
RATED = rf"{_VALUE}\s*{_UNIT}?(?:\s*{_OUT_OF}\s*(?P<most>{_DIGITS}))?"
RATING = re.compile(
    rf"{RATED}(?:\s*{_UNIT})?(?:\s*[(,]?\s*(?:满分|滿分|満点)\s*[为為是:]?\s*(?P<full>{_DIGITS})\s*[分点]?\s*\)?)?",
    re.IGNORECASE,
)
"""A rating as the whole of a passage: "7", "7/10", "7 out of 10", "8分（满分10分）", "8,5 sur 10"."""
OF_MOST = re.compile(
    rf"(?P<most>{_DIGITS})\s*[点점分]\s*(?:満点|만점)?\s*(?:中の?|のうち|중에?서?|에서?)\s*(?P<value>{_DIGITS})\s*[点점分]"
)
"""A rating after its scale, as in Japanese and Korean: "10点満点中8点", "10점 만점에 8점"."""

_YES = ("yes", "是", "是的", "はい", "ええ", "예", "네", "نعم", "да", "sí", "oui", "ja", "sim", "sì")
_NO = (
    "no", "否", "不是", "不", "いいえ", "아니오", "아니요", "아뇨", "لا", "كلا",
    "нет", "non", "nein", "não", "nao",
)  # fmt: skip
_RIGHT = (
    "correct", "true", "right",
    "正确", "正確", "对", "對",
    "正解", "正しい",
    "정답", "맞음", "맞습니다", "올바름", "옳음", "참",
    "صحيح", "صحيحة", "صواب",
    "верно", "правильно", "верный", "правильный",
    "correcto", "correcta", "verdadero",
    "correcte", "vrai", "exact",
    "richtig", "korrekt", "wahr",
    "correto", "correta", "certo", "verdadeiro",
    "corretto", "corretta", "giusto", "vero",
)  # fmt: skip
_WRONG = (
    "incorrect", "false", "wrong", "not correct", "not_attempted",
    "错误", "錯誤", "错", "錯", "不正确", "不正確", "不对", "不對",
    "誤り", "不正解", "間違い", "正しくない",
    "오답", "틀림", "틀렸습니다", "거짓",
    "خطأ", "خاطئ", "خاطئة", "غير صحيح", "غير صحيحة",
    "неверно", "неправильно", "неверный", "неправильный",
    "incorrecto", "incorrecta", "falso",
    "incorrecte", "faux", "inexact",
    "falsch", "inkorrekt",
    "incorreto", "incorreta", "errado",
    "scorretto", "scorretta", "sbagliato", "errato",
)  # fmt: skip
YES_NO: Mapping[str, str] = {**dict.fromkeys(_YES, "yes"), **dict.fromkeys(_NO, "no")}
"""The words for yes and no, in lower case."""
CORRECTNESS: Mapping[str, bool] = {
    **dict.fromkeys((*_YES, *_RIGHT, "1"), True),
    **dict.fromkeys((*_NO, *_WRONG, "0"), False),
}
"""The words for right and wrong, with those for yes and no."""
TIES = (
    "tie", "draw", "平局", "平手", "引き分け", "同点", "무승부", "동점", "تعادل", "ничья", "empate", "égalité",
    "unentschieden", "gleichstand", "pareggio", "parità",
)  # fmt: skip
"""The words for a tie between two answers."""

_COPULA_AT_END = re.compile(r"(?<=.)(?:です|である|だ|입니다|이다|이에요|예요)$")
_UNSEEN = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF))
_SAME = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **{0x24B6 + number: ord("A") + number for number in range(26)},
    **{
        ord(mark): as_ascii
        for mark, as_ascii in zip("\u3000\u00a0\u202f−٫∶。｡۔।【】〔〕", "   -.:....[][]", strict=True)
    },
    **_UNSEEN,
}
_OTHER_DIGIT = re.compile(r"[^\W\D0-9]")
# The ends of a formula. The bracket of the closing one may have been removed with the brackets around it.
_FORMULA = re.compile(r"^\\[(\[]|\\[)\]]?$")
_WRAPPED = re.compile(r"\\(?:boxed|fbox|text|textbf|textit|mathbf|mathrm)\s*\{(.*)\}", re.DOTALL)
_MOST_WRAPPERS = 4
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d.,]*\d)")


def folded(text: str) -> str:
    """Return a text with full-width letters, digits and brackets, circled letters, and digits of all scripts in ASCII,
    and without invisible marks.
    """
    if text.isascii():
        return text
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text.translate(_SAME))


def plain(text: str) -> str:
    """Return a passage, folded, without the markup, quotes and full stop around it, a LaTeX box, or the copula of
    Japanese and Korean at its end.
    """
    said = folded(text.strip(AROUND))
    for _ in range(_MOST_WRAPPERS):
        said = _FORMULA.sub("", said.strip(AROUND).rstrip(STOPS + AROUND)).strip(AROUND)
        said = _COPULA_AT_END.sub("", said)
        wrapped = _WRAPPED.fullmatch(said)
        if wrapped is not None:
            said = wrapped[1]
        elif said[:1] + said[-1:] in ("[]", "{}"):
            said = said[1:-1]
        else:
            break
    return said.strip(AROUND)


def marked(line: str) -> str | None:
    """Return the text after a marker at the beginning of a line, with a decimal point for a decimal comma, or ``None``
    without a marker.
    """
    stripped = line.strip(AROUND)
    for marker, has_comma in _MARKERS:
        match = marker.fullmatch(stripped)
        if match is not None:
            return _with_point(match["verdict"]) if has_comma else match["verdict"]
    heading = _HEADING.match(line.strip(AROUND.replace("【", "")))
    return heading["verdict"] if heading is not None and names_verdict(heading["name"]) else None


def names_verdict(key: str) -> bool:
    """Check whether a name is that of a verdict."""
    return any(pattern.fullmatch(key) for pattern, _ in _KEYS)


def keyed(key: str, value: str) -> str:
    """Return the value of a key that names a verdict, with a decimal point for a decimal comma."""
    match = next((has_comma for pattern, has_comma in _KEYS if pattern.fullmatch(key)), False)
    return _with_point(value) if match else value


def number(text: str) -> float:
    """Return the number in a matched text."""
    return float(text.replace(",", "."))


def _with_point(text: str) -> str:
    return _DECIMAL_COMMA.sub(r"\1.\2", text)
