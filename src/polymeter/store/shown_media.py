"""Records of what models were shown (``polymeter.core.records.shown_media``) as JSON, in the journal and in the lines
of samples. A journal has each distinct record once, under its digest, and the body of an answer names those of the
media in its request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields

from polymeter.core.media.sources import digest
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import Step
from polymeter.core.text.codec import jsonable, parse_json
from polymeter.core.text.json_text import json_text

SHOWN_MEDIA = "shown_media"
"""The key, in the body of an answer, of the digests of the records of its request's media, in their order, ``None`` for
a medium without one; in a line of samples, of the records by digest.
"""
IN_BODY = f'"{SHOWN_MEDIA}":'
"""Stands before the list that ends the body of an answer which names records. An object in the arguments of a tool call
may have this key, too, but nothing beside the list of digests ends a body so.
"""
_END = re.compile(r'\[(?:(?:null|"[0-9a-f]+"),?)+\]\}')
_USUAL = {"by": "polymeter", "n_wanted": None}
_DIGITS = 6


def write_shown(shown: ShownMedium) -> tuple[str, str]:
    """A record as JSON, and its digest. Empty values are left out; times are in whole microseconds."""
    record = {field.name: getattr(shown, field.name) for field in fields(shown)}
    record["times"] = [round(float(second), _DIGITS) for second in shown.times]
    record["numbers"] = [int(number) for number in shown.numbers]
    plain = {
        name: jsonable(dict(value) if isinstance(value, Mapping) else value)
        for name, value in record.items()
        if value != _USUAL.get(name) and value not in ("", (), [], {})
    }
    body = json_text(plain, is_compact=True, nan=None)
    return digest(body.encode()), body


def shown_of_request(request: Step) -> list[tuple[str, str] | None]:
    """The records of a request's media, in their order, as ``write_shown`` writes them; ``None`` for a medium without
    one; empty if no medium has one.
    """
    found = [None if medium.sent is None else write_shown(medium.sent) for medium in request.media()]
    return found if any(found) else []


def digests_in(body: str) -> list[str | None]:
    """The digests that the body of an answer names; none in most, which need not be parsed for it."""
    found: list[str | None] = parse_json(list_in(body))
    return found


def list_in(body: str) -> str:
    """The list of ``digests_in`` as JSON. Journals use it in their statements."""
    _, mark, end = body.rpartition(IN_BODY)
    return end[:-1] if mark and _END.fullmatch(end) else "[]"


def distinct_digests(bodies: Iterable[str]) -> list[str]:
    """The distinct digests that the bodies of some answers name, in order."""
    return [*dict.fromkeys(one for body in bodies for one in digests_in(body) if isinstance(one, str))]
