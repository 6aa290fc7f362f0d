"""The contents of a stored sample's exchanges: the texts of prompt and answers, and the names of media files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.store.media import media_path


def asked_of_model(sample: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The exchanges of a sample with the model, without those with judges."""
    return [exchange for exchange in sample.get("exchanges", ()) if exchange.get("role") == "model"]


def messages_of(exchange: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The messages of the request; none if the journal has only the answer."""
    messages: Sequence[Mapping[str, Any]] = (exchange.get("request") or {}).get("messages") or ()
    return messages


def outputs_of(exchanges: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The outputs, in order."""
    return [output for exchange in exchanges for output in (exchange.get("response") or {}).get("outputs") or ()]


def prompt_of(exchanges: Sequence[Mapping[str, Any]]) -> str:
    """The text of the first request, messages separated by blank lines."""
    return "\n\n".join(_message_text(message) for message in (messages_of(exchanges[0]) if exchanges else ()))


def _message_text(message: Mapping[str, Any]) -> str:
    return "".join(part["text"] for part in message.get("parts", ()) if "text" in part)


def noted_of_media(
    exchanges: Iterable[Mapping[str, Any]], key: str = "file", modality: str | None = None
) -> Iterator[str]:
    """The notes on the media that were sent: by default the names of their files in the media folder.

    Args:
        exchanges: The exchanges.
        key: The key of the note.
        modality: Only of ``image``, ``audio`` or ``video``; default: of all.
    """
    for exchange in exchanges:
        for message in messages_of(exchange):
            for part in message.get("parts", ()):
                for kind, medium in part.items():
                    if modality in (None, kind) and isinstance(medium, Mapping) and isinstance(medium.get(key), str):
                        yield medium[key]


def media_paths(folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """The paths of media files, each once; names that lead out of the folder are left out."""
    return tuple(dict.fromkeys(media_path(folder, name) for name in names if Path(name).name == name))
