"""Forms of words that pages, messages and docstrings avoid, with better ones: the table *Words* of CONTRIBUTING.md."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """A form to avoid.

    Attributes:
        avoid: The form, as the table shows it.
        better: Better words.
        pattern: A regular expression for the form; empty if a program cannot tell it from good English.
    """

    avoid: str
    better: str
    pattern: str = ""


FORMS = (
    Form(
        "tells, is told",
        "reports, shows, receives",
        r"\btells\b(?! \w+ apart)|\b(is|are|was|were|be|been) told\b(?! (apart|from))",
    ),
    Form("says how, says which", "prints, reports, states", r"\bsays (how|which|why|whether|what|who|where|when)\b"),
    Form("goes on, go on with", "continues, is running", r"\bgoes on\b|\b(go|going) on with\b|\b(is|are) going on\b"),
    Form("mend", "fix", r"\bmend(s|ed|ing)?\b"),
    Form("is none that is known", "is unknown", r"\b(is|are) none that\b"),
    Form("what there is of it", "partial results", r"\bwhat there is\b"),
    Form("is not there, there is none", "exists, is missing", r"\b(is|are) not there\b|\bthat (is|are) there\b"),
    Form("is gone", "is missing, was deleted, is down", r"\b(is|are|was|were) gone\b(?! through)"),
    Form(
        "the model wants, takes",
        "needs, expects, accepts",
        r"\b(adapter|benchmark|code|column|endpoint|field|function|it|metric|model|run|server|task|wrapper) wants\b",
    ),
    Form("costs", "uses, needs"),
    Form("lacks", "has no, is missing"),
    Form("cannot be had", "is not available", r"\bcan(not)? be had\b"),
    Form("is owed", "is outstanding", r"\bowed\b"),
    Form("is no model", "is not a model", r"(?<!there )\b(is|are) no (file|folder|image|model|number|part of|text)\b"),
    Form("at home beside", "works with", r"\bat home (beside|in|with)\b"),
    Form("as it is, as they are", "unchanged", r"\bas (it is|they are)(?= ?[.,;:)|]|$)"),
    Form("whoever, whatever, where", "the user, any, if", r"\bwhoever\b"),
    Form("of one's own", "of your own", r"\bof one's own\b"),
    Form("in the place of", "instead of", r"\bin the place of\b"),
    Form("without a word", "silently", r"\bwithout a word\b"),
    Form("play, play again", "run, replay", r"\bplay(s|ed|ing)? again\b"),
    Form("a passing error", "a transient error", r"\bpassing (error|failure|fault)s?\b"),
    Form("with commas", "separated by commas", r"\bwith commas\b"),
    Form("a training", "a training run", r"\ba training\b(?![ -](run|set|split|loop|step|script|job|example|process))"),
    Form("the chosen", "the selected runs", r"\bthe chosen(?= ?[.,;:)|<]|$)"),
    Form("picture, sound", "image, audio"),
    Form("gold", "reference"),
    Form("a number", "a score, a result"),
    Form(
        "Ended as, Took, Take back, Asked and answered",
        "Status, Duration, Delete, Conversation",
        r"(?-i:\b(Ended as|Take back|Asked and answered|This cannot be shown)\b)",
    ),
)
"""Forms, in the order of the table."""
