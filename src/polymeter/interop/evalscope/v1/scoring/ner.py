"""Named entities: prompts, annotated text, its conversion to tags and back, and scores over whole entities.

Gold data has one tag for each token: ``B-PER`` begins an entity, ``I-PER`` continues it, ``O`` is none. Models answer
with the text itself, entities in ``<person>…</person>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from polymeter.metrics.bounded import bounded

PROMPT_TEMPLATE = """\
You are a named entity recognition system that identifies the following entity types:
{entities}

Process the provided text and mark all named entities with XML-style tags.

For example:
<person>John Smith</person> works at <organization>Google</organization> in <location>Mountain View</location>.

Available entity tags: {entity_list}

INSTRUCTIONS:
1. Wrap your entire response in <response>...</response> tags.
2. Inside these tags, include the original text with entity tags inserted.
3. Do not change the original text in any way (preserve spacing, punctuation, case, etc.).
4. Tag ALL entities you can identify using the exact tag names provided.
5. Do not include explanations, just the tagged text.
6. If entity spans overlap, choose the most specific entity type.
7. Ensure every opening tag has a matching closing tag.

Text to process:
{text}
"""

FEWSHOT_TEMPLATE = f"Here are some examples of named entity recognition:\n\n{{fewshot}}\n\n{PROMPT_TEMPLATE}"

DEFAULT_TAG_FIX_PATTERNS = [(r"<(\w+)>(.*?)</\w+>", r"<\1>\2</\1>")]
"""Repairs of answers: a closing tag takes the name of the opening one."""

_TAG = re.compile(r"<[^>]+>")
_CONTEXT = 20
"""Characters around an entity by which its place in the original text is found."""


class TaggedEntity(NamedTuple):
    """An entity in an annotated text.

    Attributes:
        kind: Its type, by the gold data's name where that is known.
        text: Its text.
        start: Where its opening tag begins.
        end: Where its closing tag ends.
    """

    kind: str
    text: str
    start: int
    end: int


class NerScores(NamedTuple):
    """Shares of entities (precision, recall, their harmonic mean), and of tokens with the right tag (accuracy)."""

    precision: float
    recall: float
    f1: float
    accuracy: float


def create_target_text(tokens: Sequence[str], ner_tags: Sequence[str], entity_type_map: Mapping[str, str]) -> str:
    """Annotate a text by its tags: ``<response>… <person>…</person> …</response>``.

    Args:
        tokens: The tokens.
        ner_tags: A tag for each.
        entity_type_map: The shown name of each type; entities of other types are plain text.
    """
    parts: list[tuple[str, list[str]]] = []
    kind = ""
    for token, tag in zip(tokens, ner_tags, strict=False):
        continues = bool(kind) and tag == f"I-{kind}"
        kind = kind if continues else tag[2:] if tag.startswith("B-") else ""
        if continues:
            parts[-1][1].append(token)
        else:
            parts.append((entity_type_map.get(kind, "").lower() if kind else "", [token]))
    texts = ((name, " ".join(words)) for name, words in parts)
    annotated = " ".join(f"<{name}>{text}</{name}>" if name else text for name, text in texts)
    return f"<response>{annotated}</response>"


@bounded
def clean_prediction(text: str, tag_fix_patterns: Sequence[tuple[str, str]] | None = None) -> str:
    """The inside of ``<response>`` of a model's text (the whole text without one), with its tags repaired.

    Args:
        text: The text.
        tag_fix_patterns: Patterns and replacements; default: ``DEFAULT_TAG_FIX_PATTERNS``.
    """
    response = re.search(r"<response>(.*?)</response>", text, re.DOTALL)
    cleaned = response.group(1) if response else text
    for pattern, replacement in DEFAULT_TAG_FIX_PATTERNS if tag_fix_patterns is None else tag_fix_patterns:
        cleaned = re.sub(pattern, replacement, cleaned)
    return cleaned


def extract_entities_from_text(text: str, reverse_entity_map: Mapping[str, str]) -> list[TaggedEntity]:
    """The entities of an annotated text: those in a pair of tags first, then those of known types that are not closed.

    Args:
        text: The text.
        reverse_entity_map: The gold data's name for each shown name.
    """
    return _entities(text, dict(reverse_entity_map))


@bounded
def _entities(text: str, names: dict[str, str]) -> list[TaggedEntity]:
    entities = [
        TaggedEntity(names.get(found.group(1).lower()) or found.group(1).lower(), found.group(2), *found.span())
        for found in re.finditer(r"<(\w+)>(.*?)</\1>", text)
    ]
    for found in re.finditer(r"<(\w+)>(.*?)(?=<|$)", text):
        kind = names.get(found.group(1).lower())
        if kind and not any(entity.start <= found.start() < entity.end for entity in entities):
            entities.append(TaggedEntity(kind, found.group(2), *found.span()))
    return entities


def xml_to_bio_tags(xml_text: str, original_tokens: Sequence[str], reverse_entity_map: Mapping[str, str]) -> list[str]:
    """The tags of the original tokens by an annotated text. Every token that an entity overlaps is tagged, by the first
    entity that does.

    An entity of a text that is otherwise the original one has its exact place. Any other one is looked for by the
    characters around it, and else taken where its text first occurs; one that does not occur is left out.

    Args:
        xml_text: The annotated text.
        original_tokens: The tokens.
        reverse_entity_map: The gold data's name for each shown name.
    """
    return _bio_tags(xml_text, list(original_tokens), dict(reverse_entity_map))


@bounded
def _bio_tags(xml_text: str, tokens: list[str], names: dict[str, str]) -> list[str]:
    tags = ["O"] * len(tokens)
    original = " ".join(tokens)
    is_original = _TAG.sub("", xml_text) == original
    spans = list(_token_spans(tokens))
    for entity in _entities(xml_text, names):
        if is_original and not _TAG.search(entity.text):
            start = len(_TAG.sub("", xml_text[: entity.start]))
        else:
            start = _place(entity, xml_text, original)
        if start == -1:
            continue
        end = start + len(entity.text)
        touched = [at for at, (first, last) in enumerate(spans) if first < end and last > start]
        for at in touched:
            if tags[at] == "O":
                tags[at] = f"{'B' if at == touched[0] else 'I'}-{entity.kind}"
    return tags


def _token_spans(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of tokens in the text that they make, joined by spaces."""
    start = 0
    for token in tokens:
        yield start, start + len(token)
        start += len(token) + 1


def _place(entity: TaggedEntity, xml_text: str, original: str) -> int:
    """Return where an entity begins in the original text, or -1. The first place counts around which the text before or
    the text after it is right; in the second half of the text, the first place of all.
    """
    before = _TAG.sub("", xml_text[max(0, entity.start - _CONTEXT) : entity.start])
    after = _TAG.sub("", xml_text[entity.end : entity.end + _CONTEXT])
    looked_from = 0
    while looked_from < len(original):
        start = original.find(entity.text, looked_from)
        if start == -1:
            break
        end = start + len(entity.text)
        fits_before = before.strip() in original[max(0, start - len(before)) : start].strip()
        fits_after = after.strip() in original[end : end + len(after)].strip()
        if fits_before or fits_after or looked_from > len(original) // 2:
            return start
        looked_from = start + 1
    return original.find(entity.text)


def extract_spans_from_bio(tags: Sequence[str], tokens: Sequence[str]) -> set[tuple[str, int, int, str]]:
    """The entities of some tags, as (type, first token, last token, text). ``I-`` continues an entity of any type.

    Args:
        tags: The tags.
        tokens: As many tokens.
    """
    spans: list[Any] = []
    is_open = False
    for at, (tag, token) in enumerate(zip(tags, tokens, strict=False)):
        if tag.startswith("B-"):
            spans.append([tag[2:], at, at, [token]])
            is_open = bool(tag[2:])
        elif tag == "O":
            is_open = False
        elif is_open:
            spans[-1][2] = at
            spans[-1][3] += [token] if tag.startswith("I-") else []
    return {(kind, first, last, " ".join(words)) for kind, first, last, words in spans if kind}


def calculate_bio_metrics(
    pred_tags: Sequence[str], gold_tags: Sequence[str], tokens: Sequence[str]
) -> tuple[int, int, int]:
    """The numbers of entities that are right, wrong and missing.

    Args:
        pred_tags: The predicted tags.
        gold_tags: The right tags.
        tokens: The tokens.
    """
    predicted, gold = extract_spans_from_bio(pred_tags, tokens), extract_spans_from_bio(gold_tags, tokens)
    return len(predicted & gold), len(predicted - gold), len(gold - predicted)


def ner_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> NerScores:
    """Scores over all entities of some texts together, as the package ``seqeval`` computes them by default.

    An entity is right if its type and both its ends are. A tag that continues an entity of another type, or none,
    begins one. A share of nothing is 0.

    Args:
        gold: The right tags of each text.
        predicted: The predicted tags of each text, as many.

    Raises:
        ValueError: if they differ in number.
    """
    expected, found = (
        {(n, *span) for n, tags in enumerate(texts) for span in _chunks(tags)} for texts in (gold, predicted)
    )
    pairs = [pair for texts in zip(gold, predicted, strict=True) for pair in zip(*texts, strict=True)]
    right = len(expected & found)
    precision = right / len(found) if found else 0.0
    recall = right / len(expected) if expected else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return NerScores(precision, recall, f1, sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0)


def _chunks(tags: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The entities of some tags, as (type, first token, last token); also of the schemes with ``E`` and ``S``."""
    last, last_kind, start = "O", "", 0
    for at, tag in enumerate([*tags, "O"]):
        mark, kind = tag[:1], tag[1:].split("-", maxsplit=1)[-1] or "_"
        is_other = kind != last_kind
        if last in "ES" or (last in "BI" and mark in "BSO") or (last not in "O." and is_other):
            yield last_kind, start, at - 1
        if mark in "BS" or (last in "ESO" and mark in "EI") or (mark not in "O." and is_other):
            start = at
        last, last_kind = mark, kind
