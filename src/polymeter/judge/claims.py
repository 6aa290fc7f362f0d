"""Words of a sentence that state a verdict, and words that only look like one.

A judge that was asked for yes or no, right or wrong, may answer with a sentence: "I would say yes to that". The same
words also occur in sentences without a verdict: "not entirely correct", "correct if the unit is metres", "the correct
answer is 5", "there are no mistakes". A word that is negated, conditional or about something else is not a claim.
"""

from __future__ import annotations

import re

_REACH = 200
"""The number of characters that are checked on each side of a word."""
_SENTENCE_END = re.compile(r"[.!?;\n。！？]")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|neither|nor|hardly|without|pas|jamais|non|nicht|kein\w*|não|no|не)|n['’]t)"
    r"(?:\s+\w+){0,3}\s*[\"'“‘*_`]*$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|might|maybe|perhaps|(?:would|could)(?:\s+\w+)?\s+(?:be|have))\b", re.IGNORECASE
)
_ON_CONDITION = re.compile(
    r"[\s,\"'”’*_`]*(?:(?:but|and)\s+)?(?:only\s+)?"
    r"(?:if|unless|provided|assuming|si|wenn|falls|sofern|se|caso|если|إذا|لو|如果|若|只要|除非|もし|만약)(?!\w)",
    re.IGNORECASE,
)
_IN_PART = re.compile(r"\b(?:partially|partly|mostly|almost|nearly|half|somewhat|largely)[\s-]+$", re.IGNORECASE)
_THE = re.compile(r"\b(?:the|a|an)\s+(?:only\s+|one\s+)?[\"'“*_]*$", re.IGNORECASE)
_OF_ANSWER = re.compile(r"\s+(?:answer|option|choice|value|response|solution|result|letter)s?\b", re.IGNORECASE)
_ABOUT = (
    r"(?:(?:correct|right|reference|expected|gold|true|predicted|(?:candidate|model|student)(?:['’]?s)?)\s+\w*"
    r"|reference|expected|candidate|predicted|prediction|ground\s+truth|question|gold"
    r"|(?:number\s+of\s+)?(?:\w+\s+)?(?:errors?|mistakes?|faults?|issues?|differences?|omissions?)"
    r"|.*(?:答案|参考|參考|回答|[错錯][误誤]|问题|問題|正解[はの]|정답|오류|틀린|답안|ответ|ошиб|respuesta|réponse|antwort"
    r"|fehler|resposta|risposta|error|erreur|errori|إجابة|أخطاء).*)"
)
_ELSE = re.compile(_ABOUT, re.IGNORECASE)
_ELSE_BEFORE = re.compile(rf"(?:^|\n)\W*{_ABOUT}\s*[:=]\W*$", re.IGNORECASE)
_SAYS = re.compile(r"\b(?:says?|said|answer(?:s|ed)?|verdict|vote)\W+$", re.IGNORECASE)
_GOES_ON = re.compile(r"\s+(?!(?:it|this|that|the|they|because|since|as|not|i|for|and|or|to)\b)[^\W\d]", re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:\b(?:step|option|image|figure|fig\.?|question|item|part|number|no\.|line|point|criterion|round)|#)\s*$",
    re.IGNORECASE,
)


def claims(verdict: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Return the matches of a verdict's words that state a verdict in a text."""
    return [match for match in verdict.finditer(text) if _is_claim(match, text)]


def is_conditional(rest: str) -> bool:
    """Check whether the text after a verdict makes it conditional."""
    return _ON_CONDITION.match(rest) is not None


def names_something_else(name: str) -> bool:
    """Check whether a name before a colon is that of an answer or of a number of mistakes, and not of a verdict."""
    return _ELSE.fullmatch(name.strip()) is not None


def _is_claim(match: re.Match[str], text: str) -> bool:
    start, end = match.span()
    before = text[max(0, start - _REACH) : start]
    line = before.rpartition("\n")[2]
    ends = [*_SENTENCE_END.finditer(before)]
    before = before[ends[-1].end() :] if ends else before
    after = text[end : end + _REACH]
    word = match["word"].lower()
    if _NEGATED.search(before) or _SUPPOSED.search(before) or _IN_PART.search(before):
        return False
    if is_conditional(after) or _ELSE_BEFORE.search(line):
        return False
    if word in ("0", "1"):
        return not (_NUMBERED.search(before) or _GOES_ON.match(after))
    if word == "no":
        return not _GOES_ON.match(after) or _SAYS.search(before) is not None
    return word == "yes" or not (_THE.search(before) or _OF_ANSWER.match(after))
