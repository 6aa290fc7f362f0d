"""The videos and recordings that the model was shown: frames, and a player if the run keeps the file."""

from __future__ import annotations

from dataclasses import dataclass

from polymeter.report.content.media import ShownClip
from polymeter.report.content.view import Block, BlockView, media_of, messages_of
from polymeter.report.formatting import duration

ORDER = 25


@dataclass(frozen=True, slots=True)
class ShownPlayer:
    """A clip with its label and its facts, in words."""

    clip: ShownClip
    label: str
    facts: tuple[str, ...]


def make(view: BlockView) -> Block | None:
    """The clips of the first request; later ones stand in the chat."""
    exchanges = view.exchanges()
    messages = messages_of(exchanges[0]) if exchanges else ()
    clips = [view.media.clip(kind, note) for kind in ("video", "audio") for note in media_of(messages, kind)]
    if not clips:
        return None
    return Block("players", "", "content/players.html", [played(clip, clips) for clip in clips], "side")


def played(clip: ShownClip, among: list[ShownClip]) -> ShownPlayer:
    """A clip as it is shown among others of its kind."""
    same = [other for other in among if other.kind == clip.kind]
    word = "Video" if clip.kind == "video" else "Recording"
    label = word if len(same) == 1 else f"{word} {[id(one) for one in same].index(id(clip)) + 1} of {len(same)}"
    facts = [clip.source] if clip.source else []
    if clip.width and clip.height:
        facts.append(f"{clip.width} × {clip.height} px")
    if clip.seconds is not None:
        facts.append(duration(clip.seconds))
    if clip.span:
        start, end = clip.span
        facts.append(f"shown from {duration(start or 0.0)} to {'its end' if end is None else duration(end)}")
    return ShownPlayer(clip, label, tuple(facts))
