"""ROUGE by name: F-measures of overlap with a reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from polymeter.core.metric import Metric
from polymeter.core.names.registry import missing_package
from polymeter.metrics.arguments import check_choice
from polymeter.metrics.bounded import bounded
from polymeter.metrics.overlap import rouge, segmented
from polymeter.metrics.references import one_prediction
from polymeter.reading.text import compared, with_folded_case

_ASCII_WORD = re.compile(r"[a-z0-9]+")


def _ascii_words(text: str) -> list[str]:
    return _ASCII_WORD.findall(text.lower())


def _characters(text: str) -> list[str]:
    return [character for character in with_folded_case(text) if not character.isspace()]


def _words(text: str) -> list[str]:
    return [word for word in segmented(with_folded_case(text)) if not word.isspace()]


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"english": _ascii_words, "words": _words, "chars": _characters}


def check_rouge(metric: str, tokenizer: Any) -> None:
    """Check that a tokenizer exists and can be used.

    Raises:
        PlanError: if it does not, or ``words`` needs ``jieba``, which is not installed.
    """
    check_choice(metric, "tokenizer", tokenizer, TOKENIZERS)
    if tokenizer == "words" and find_spec("jieba") is None:
        raise missing_package("jieba", "the tokenizer 'words'", "chinese")


@bounded
def rouge_f(kind: str, reference: str, text: str, tokenizer: str) -> float:
    """Compute the F-measure of ROUGE (Lin 2004): ``2 P R / (P + R)``.

    ``1`` and ``2`` count n-grams, clipped (section 2); ``l`` is the longest common subsequence of the whole texts
    (section 3.1), and ``lsum`` the union of those of each line of the reference with all lines of the text (section
    3.2), all as in the package ``rouge_score`` without stemming.

    Args:
        kind: ``1``, ``2``, ``l`` or ``lsum``.
        reference: The reference.
        text: The text.
        tokenizer: The name of a tokenizer.
    """
    split = TOKENIZERS[tokenizer]
    if kind != "lsum":
        return rouge(split(reference), split(text))[kind].f1
    lines = [[split(line) for line in whole.split("\n") if line] for whole in (reference, text)]
    return _f_of_unions(*lines)


def _f_of_unions(reference: list[list[str]], text: list[list[str]]) -> float:
    in_reference, in_text = (Counter(word for line in lines for word in line) for lines in (reference, text))
    n_reference, n_text = in_reference.total(), in_text.total()
    common = 0
    for line in reference:
        places = sorted({place for other in text for place in _common_places(line, other)})
        for word in (line[place] for place in places):
            # A word counts no more often than it occurs in the reference and in the text.
            if in_reference[word] > 0 and in_text[word] > 0:
                common += 1
                in_reference[word] -= 1
                in_text[word] -= 1
    if not common:
        return 0.0
    recall, precision = common / n_reference, common / n_text
    return 2 * precision * recall / (precision + recall)


def _common_places(line: Sequence[str], other: Sequence[str]) -> list[int]:
    """Return the places in a line of a longest subsequence that it has in common with another line.

    Of several, it is the one that ``rouge_score`` finds: from the end, it leaves out a word of the line unless that
    shortens the rest more than leaving out a word of the other does.
    """
    rows = [[0] * (len(other) + 1)]
    for word in line:
        row, above = [0], rows[-1]
        for column, second in enumerate(other):
            row.append(above[column] + 1 if word == second else max(above[column + 1], row[column]))
        rows.append(row)
    places, i, j = [], len(line), len(other)
    while i and j:
        if line[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif rows[i][j - 1] > rows[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]


def _metric(name: str, kind: str) -> Metric:
    def score(references: Sequence[Any], predictions: Sequence[Any], tokenizer: str = "english") -> float:
        answer = compared(str(one_prediction(references, predictions)))
        return max(rouge_f(kind, compared(str(reference)), answer, tokenizer) for reference in references)

    def check(tokenizer: Any = "english") -> None:
        check_rouge(name, tokenizer)

    return Metric(
        name,
        score=score,
        values={"generate_until": "F1 of the overlap"},
        bounds=(0.0, 1.0),
        check=check,
        only_computed=True,
    )


ROUGE_1 = _metric("rouge1", "1")
ROUGE_2 = _metric("rouge2", "2")
ROUGE_L = _metric("rougeL", "l")
ROUGE_LSUM = _metric("rougeLsum", "lsum")
