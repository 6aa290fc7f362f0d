"""Splitting of text into words: English by the conventions of the Penn Treebank, Chinese by a dictionary."""

from __future__ import annotations

import re

from polymeter.core.names.registry import missing_package

_CHINESE = re.compile("[\u4e00-\u9fa5]")

# A full stop before a space or a closing mark, with the word that it ends.
_STOP = re.compile(r"(\S*)\.(?=[)\";}\]*:@'({\[!?]|\s+\S)")
_CLOSERS = re.compile(r"[\"')\]}]+(?=\s|--|$)")
_NUMBER = re.compile(r"-?[\d.,]*\d")
# Words that end in a full stop of their own. After a title, it never ends a sentence. After the others, it does if the
# next word is one that begins sentences.
_ABBREVIATIONS = (
    "mr mrs ms dr prof st jr sr gen col lt sgt capt rev hon gov sen rep inc corp co ltd bros vs etc al fig no vol dept "
    "e.g i.e u.s u.k u.n a.m p.m ph.d d.c jan feb mar apr aug sept sep oct nov dec"
)
_TITLES = "mr mrs ms dr prof st gen col lt sgt capt rev hon gov sen rep no vol fig e.g i.e vs"
_STARTERS = (
    "a an the this that these those he she it they we i you there here but and in on at for if when while after "
    "however his her its their what who"
)

# Applied in order; each rule inserts spaces around a kind of word.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # Opening quotes.
        ("([«“‘„]|`+)", r" \1 "),
        (r'^"', "``"),
        ("(``)", r" \1 "),
        (r"([ (\[{<])(?:\"|'')", r"\1 `` "),
        (r"(?i)(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
        # Punctuation. Only the last full stop is separated from its word: the text is one sentence.
        ("([^.])\\.([\\])}>\"'»”’ ]*)\\s*$", r"\1 . \2 "),
        (r"([:,])(\D)", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"(\.{2,}|[;@#$%&]|[\u2012-\u2015])", r" \1 "),
        (r"([^.])\.([\])}>\"']*)\s*$", r"\1 .\2 "),
        (r"([?!])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"(\*)", r" \1 "),
        (r"([\]\[(){}<>])", r" \1 "),
        ("--", " -- "),
        (r"^|$", " "),
        # Closing quotes, and endings joined by an apostrophe.
        ("([»”’])", r" \1 "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[sSmMdD]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
        # Two words written as one.
        (r"(?i)\b(can)(not)\b", r" \1 \2 "),
        (r"(?i)\b(d)('ye)\b", r" \1 \2 "),
        (r"(?i)\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"(?i)\b(gon)(na)\b", r" \1 \2 "),
        (r"(?i)\b(got)(ta)\b", r" \1 \2 "),
        (r"(?i)\b(more)('n)\b", r" \1 \2 "),
        (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
        (r"(?i) ('t)(is|was)\b", r" \1 \2 "),
    )
)


def is_chinese(text: str) -> bool:
    """Check whether a text has a character from U+4E00 to U+9FA5."""
    return _CHINESE.search(text) is not None


def chinese_words(text: str) -> list[str]:
    """Split a text by ``jieba``'s dictionary. White space and punctuation marks are words too.

    Raises:
        PlanError: if ``jieba`` is not installed.
    """
    try:
        import jieba
    except ModuleNotFoundError as error:
        raise missing_package("jieba", "Chinese text in BLEU and ROUGE", "chinese") from error
    jieba.setLogLevel("WARNING")
    return list(jieba.cut(text))


def english_words(text: str) -> list[str]:
    """Split a text into words and punctuation marks as the Penn Treebank does, sentence by sentence.

    The rules are those of Marcus et al. 1993, with the additions of NLTK's ``word_tokenize`` for other quotes and
    dashes. Rules and a list of abbreviations find the end of a sentence, not a trained model. So a full stop after a
    rare abbreviation may be separated here but not in NLTK.
    """
    return [word for sentence in sentences(text) for word in _treebank(sentence)]


def sentences(text: str) -> list[str]:
    """Return the parts of a text that end in a full stop. Other marks that end a sentence do not affect its words."""
    parts, start = [], 0
    for match in _STOP.finditer(text):
        end = match.end()
        if end <= start or not _ends_sentence(match.group(1), text[end:]):
            continue
        closers = _CLOSERS.match(text, end)
        end = closers.end() if closers else end
        parts.append(text[start:end])
        start = end
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _ends_sentence(word: str, text_after: str) -> bool:
    word = re.sub(r"^\W+", "", word).lower()
    following = re.match(r"[\s\"'(\[{]*([\w'-]*)", text_after)
    next_word = following.group(1) if following else ""
    if _NUMBER.fullmatch(word):
        return not next_word[:1].islower()
    titles = _TITLES.split()
    is_initial = len(word) == 1 and word.isalpha()
    if word in titles or not (is_initial or word in _ABBREVIATIONS.split()):
        return word not in titles
    return next_word[:1].isupper() and next_word.lower() in _STARTERS.split()


def _treebank(sentence: str) -> list[str]:
    for pattern, replacement in _RULES:
        sentence = pattern.sub(replacement, sentence)
    return sentence.split()
