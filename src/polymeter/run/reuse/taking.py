"""Copies of what belongs to a reused answer: its images, and the previews of its request's media."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Media
from polymeter.core.request import Request, Response
from polymeter.run.reuse.lookup import ReusedAnswer
from polymeter.store.media import MediaStore

if TYPE_CHECKING:
    from polymeter.run.schedule.running_samples import PendingRequest

_FILES = ("file", "clip")


def take_media(media: MediaStore, asked: PendingRequest, reused: ReusedAnswer, response: Response) -> Response:
    """Take the media of a reused answer over into this run; returns the answer with references to its own files.

    Args:
        media: The media of this run.
        asked: The request; its media receive the notes that they have in the other run.
        reused: The origin of the answer.
        response: The answer.

    Raises:
        DataError: if an image of the answer does not exist any more.
        StorageError: if a file cannot be written.
    """
    if isinstance(asked.request, Request) and reused.request is not None:
        _take_notes(media, asked.request, reused)
    if not any(output.images for output in response.outputs):
        return response
    return replace(
        response,
        outputs=tuple(
            replace(output, images=tuple(_own(media, reused, image) for image in output.images))
            for output in response.outputs
        ),
    )


def _own(media: MediaStore, reused: ReusedAnswer, image: Any) -> Any:
    return media.load(media.take(reused.media, media.name_of(image), is_synced=True))


def _take_notes(media: MediaStore, request: Request, reused: ReusedAnswer) -> None:
    """Note what a store has noted about the same media in the other run: nothing is decoded for it."""
    described = [
        (kind, note)
        for message in (reused.request or {}).get("messages", ())
        for part in message["parts"]
        for kind, note in part.items()
        if kind != "text"
    ]
    own = [*request.media()]
    if [kind for kind, _ in described] != [medium.modality for medium in own]:
        return
    for medium, (_, note) in zip(own, described, strict=True):
        if medium.note is None and note.keys() != {"source"}:
            medium.annotate(_noted(media, medium, note, reused))


def _noted(media: MediaStore, medium: Media, note: dict[str, Any], reused: ReusedAnswer) -> dict[str, Any]:
    kept = dict(note)
    if medium.modality != "image" and "source" in kept:
        kept["source"] = medium.describe()
    for key in _FILES:
        name = kept.get(key)
        if isinstance(name, str) and not (media.keeps_previews and media.has(reused.media, name)):
            del kept[key]
        elif isinstance(name, str):
            media.take(reused.media, name)
    return kept
