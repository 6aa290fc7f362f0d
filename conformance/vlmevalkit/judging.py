"""The scripted judge of both tools, and messages as plain data: what a model or a judge is shown, equal where both show
the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.judge import verdict

Plain = list[list[str]]
"""Pairs of role and text, or of role, kind and digest: a message."""

_DIMENSIONS = (
    "Creativity", "Richness", "Visual Perception", "Logical Coherence", "Answer Accuracy",
    "Image Relationship Understanding", "Overall Score",
)  # fmt: skip
_ANSWERED = (
    re.compile(r"Model respone: (.*?)\n+Extracted answer:\s*$", re.S),
    re.compile(r"Response: (.*?)\n+Extracted answer:\s*$", re.S),
)


def judged(asked: Plain) -> str:
    """What the judge says to a question; the form is taken from words of the question."""
    text = "\n".join(one[-1] for one in asked if one[1] == "text")
    number = zlib.crc32(text.encode("utf-8", "replace"))
    for form in _ANSWERED:
        if found := form.search(text):
            words = found[1].split() or ["nothing"]
            return words[-1].strip("*.()[]{}") or "nothing"
    if "Image Relationship Understanding" in text:
        return str({name: (number >> place) % 10 + 1 for place, name in enumerate(_DIMENSIONS)})
    if labels := re.findall(r"^\d_[a-z_]+$", text, re.M):
        return labels[number % len(labels)]
    if "评分为" in text:
        return f"评分为{number % 3 + 1}分"
    if "<GRADE>" in text:
        return f"{'ABC'[number % 3]}\t{number % 5}"
    if "[Begin Correctness]" in text:
        return f"It is so.\n[Begin Correctness]{('yes', 'no')[number % 2]}[End Correctness]"
    if re.search(r"Answer: .*\nYour output: ?$", text, re.S):
        return _choice(text, number)
    if re.search(r"0\.0|between 0 and 1|correctness score", text, re.I):
        return f"{number % 11 / 10}"
    return verdict(text)


def _choice(text: str, number: int) -> str:
    """A letter of the options in the last question, or a word for yes and no."""
    last = text[text.rfind("\nQuestion:") :]
    letters = re.findall(r"(?:^|\n|: |; )([A-Z])\. ", last)
    if not letters:
        return ("Yes", "No")[number % 2]
    letter = letters[number % len(letters)]
    return (letter, f"{letter}.", f"The answer is {letter}")[number // 7 % 3]


def plain_message(items: Any, system: str | None = None) -> Plain:
    """A message of VLMEvalKit's as plain data.

    Args:
        items: A text, items with a type and a value, or turns with a role and content.
        system: The system prompt.
    """
    said: Plain = [["system", "text", system]] if system else []
    for item in [items] if isinstance(items, (str, Mapping)) else items:
        if isinstance(item, str):
            said.append(["user", "text", item])
        elif "content" in item:
            content = item["content"]
            parts = [content] if isinstance(content, str) else content
            said += [[item["role"], *one[1:]] for one in plain_message(parts)]
        else:
            said.append([item.get("role", "user"), *plain_part(item["type"], item["value"])])
    return said


def plain_request(request: Any) -> Plain:
    """A request of Polymeter's as plain data."""
    from polymeter.core.content import Image, Text

    said: Plain = []
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text):
                said.append([message.role, "text", part.text])
            elif isinstance(part, Image):
                said.append([message.role, "image", of_pixels(part.open())])
            else:
                said.append([message.role, part.modality, _of_bytes(part.original_bytes() or b"")])
    return said


def plain_part(kind: str, value: Any) -> list[str]:
    """The kind of an item, and its text or a digest."""
    if kind == "text":
        return ["text", str(value)]
    if kind == "image":
        from PIL import Image

        with Image.open(value) as opened:
            return ["image", of_pixels(opened)]
    return [kind, _of_bytes(Path(str(value)).read_bytes())]


def of_pixels(image: Any) -> str:
    """Size and digest of an image, whatever file it is in."""
    pixels = image.convert("RGB")
    return f"{pixels.width}x{pixels.height} {_of_bytes(pixels.tobytes())}"


def _of_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def joined(said: Iterable[list[str]]) -> Plain:
    """Adjacent texts of one role as one text: what a client of an endpoint sends of a question without images."""
    made: Plain = []
    for one in said:
        if made and made[-1][:2] == one[:2] == [one[0], "text"]:
            made[-1] = [*made[-1][:2], f"{made[-1][2]}\n{one[2]}"]
        else:
            made.append(list(one))
    return made


def as_text(said: Plain) -> str:
    """A message as one line, for comparison."""
    return json.dumps(said, ensure_ascii=False)
