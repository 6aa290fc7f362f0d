"""The dataset that a wrapper reads: rows that carry the media and text of their own request.

Many wrappers call the first request's ``doc_to_visual`` for every row of a chunk. So the functions in their arguments
are the same for all requests and depend on nothing but the row they get.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from pathlib import Path
from typing import Any

from polymeter.core.errors import ModelError
from polymeter.core.parts import Audio, Image, Media, Text, Video
from polymeter.core.request import Message, Request
from polymeter.core.rows import RowHandle


class Row(dict[str, Any]):
    """The row of a request: the dataset's columns, read at first access, and the request's media and text.

    Args:
        request: The request.
        handle: Leads to the task's row and functions; ``None`` if the request belongs to no task.
    """

    def __init__(self, request: Request, handle: RowHandle | None) -> None:
        super().__init__()
        self._request = request
        self.handle = handle
        self._is_filled = False

    @property
    def text(self) -> str:
        """The request's text."""
        return self._request.text

    @property
    def messages(self) -> tuple[Message, ...]:
        """The request's messages."""
        return self._request.messages

    @property
    def continuations(self) -> tuple[str, ...]:
        """The continuations whose likelihood the request wants."""
        return tuple(getattr(self._request.parameters, "continuations", ()))

    @property
    def visuals(self) -> list[Any]:
        """The request's media, as ``doc_to_visual`` returned them, nested lists and all: images decoded once, copied at
        each access.
        """
        return _nested([(_place(medium), as_visual(medium)) for medium in self._request.media()])

    def fits(self, request: Request) -> bool:
        """Whether another request can share this row: it has the same messages and continuations."""
        own = self._request
        has_same_continuations = self.continuations == getattr(request.parameters, "continuations", ())
        return has_same_continuations and (own.messages is request.messages or own.messages == request.messages)

    def _fill(self) -> Row:
        if not self._is_filled:
            self._is_filled = True
            if self.handle is not None:
                super().update(self.handle.full_doc())
        return self

    def __missing__(self, key: str) -> Any:
        if self._is_filled:
            raise KeyError(key)
        return self._fill()[key]

    def __contains__(self, key: object) -> bool:
        return super(Row, self._fill()).__contains__(key)

    def __iter__(self) -> Iterator[str]:
        return super(Row, self._fill()).__iter__()

    def __len__(self) -> int:
        return super(Row, self._fill()).__len__()

    def get(self, key: str, default: Any = None) -> Any:
        return super(Row, self._fill()).get(key, default)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return super(Row, self._fill()).keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return super(Row, self._fill()).values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return super(Row, self._fill()).items()


class Rows:
    """The rows of one chunk, by number, as part of a dataset whose other rows are hidden. Iteration yields rows; the
    length is the last row's number plus one, because wrappers check that row numbers are below it.

    Args:
        rows: Number → row.
    """

    def __init__(self, rows: Mapping[Any, Row]) -> None:
        self._rows = rows

    def __getitem__(self, index: Any) -> Row:
        if index not in self._rows:
            raise ModelError(
                f"The wrapper reads row {index!r}, which it was not asked about.",
                hint="A wrapper sees the rows of the requests that it was given.",
            )
        return self._rows[index]

    def __contains__(self, index: object) -> bool:
        return index in self._rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return max(int(index) for index in self._rows) + 1


def doc_to_visual(row: Any, *_: Any) -> list[Any]:
    """The media of a row, as the task's author returned them; media from elsewhere as Pillow images, paths of videos,
    audio samples or the cells of undecoded recordings.
    """
    return _checked(row).visuals


def doc_to_text(row: Any, *_: Any, **rounds: Any) -> Any:
    """The prompt of a row; with the arguments of a later round, what the task's own function returns for it."""
    row = _checked(row)
    round_arguments = {name: value for name, value in rounds.items() if name != "lmms_eval_specific_kwargs"}
    if round_arguments.get("round_idx") is None or row.handle is None or row.handle.functions.next_round is None:
        return row.text
    return row.handle.next_round(row, **round_arguments)


def doc_to_messages(row: Any, *_: Any, **rounds: Any) -> Any:
    """The chat messages of a row; with the arguments of a later round, what the task's own function returns for it:
    ``(messages, is_terminal, outputs_so_far, info)``.
    """
    row = _checked(row)
    round_arguments = {name: value for name, value in rounds.items() if name != "lmms_eval_specific_kwargs"}
    if round_arguments.get("round_idx") is None:
        return [_chat_message(message) for message in row.messages]
    if row.handle is not None and row.handle.functions.next_messages is not None:
        return row.handle.next_messages(row, **round_arguments)
    visuals, text, is_last, outputs, info = doc_to_text(row, **round_arguments)
    content = [*({"type": _kind(visual), "url": visual} for visual in visuals or ()), {"type": "text", "text": text}]
    return ([] if is_last else [{"role": "user", "content": content}]), is_last, outputs, info


class Target(str):
    """A continuation that can also be called, as wrappers call ``doc_to_target``. For a row with one continuation the
    call returns that row's own, whichever request's function is called. For a row with several, a wrapper must call
    each request's own, which ``n_called`` shows.
    """

    n_called = 0

    def __call__(self, row: Any = None, *_: Any) -> str:
        self.n_called += 1
        own = row.continuations if isinstance(row, Row) else ()
        return own[0] if len(own) == 1 else str(self)


def as_visual(medium: Media) -> Any:
    """A medium as ``doc_to_visual`` returned it. An image is a copy, because wrappers shrink theirs in place, and so is
    a mapping.

    Raises:
        DataError: if it cannot be read.
    """
    given = None if medium.given is None else medium.given.value
    if given is not None:
        return dict(given) if isinstance(given, Mapping) else given
    if isinstance(medium, Image):
        return medium.open().copy()
    origin = medium.origin()
    if isinstance(medium, Audio):
        return _as_audio(medium, origin)
    location = str(origin) if isinstance(origin, Path) else origin
    if medium.start_s is None and medium.end_s is None:
        return location
    bounds = {"video_start": medium.start_s, "video_end": medium.end_s}
    return {"type": "video", "url": location, **{name: second for name, second in bounds.items() if second is not None}}


def _place(medium: Media) -> tuple[int, ...]:
    return () if medium.given is None else medium.given.place


def _nested(placed: Sequence[tuple[tuple[int, ...], Any]]) -> list[Any]:
    """Values in nested lists, by their places; in one list if none of them was in a nested one."""
    if all(len(place) < 2 for place, _ in placed):
        return [value for _, value in placed]
    top: list[Any] = []
    for place, value in placed:
        items = top
        for number in place[:-1]:
            items.extend([] for _ in range(number + 1 - len(items)))
            items = items[number]
        items.append(value)
    return top


def _as_audio(medium: Audio, origin: Any) -> Any:
    if isinstance(medium.source, Mapping) and "array" not in medium.source:
        return dict(medium.source)  # an undecoded cell of the dataset, {"bytes", "path"}
    if isinstance(origin, Path):
        return str(origin)
    if isinstance(origin, str) or (isinstance(origin, Mapping) and "array" in origin):
        return origin
    from polymeter.data.media import decode_audio

    return decode_audio(origin) if isinstance(origin, bytes) else medium.source


def _chat_message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_chat_item(part) for part in message.parts]}


def _chat_item(part: Any) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    given = part.given
    value = None if given is None else given.value
    if isinstance(value, Mapping) and given.place:
        return {"type": part.modality, "url": _chat_url(part, value)}
    times: dict[str, float | None] = {}
    if isinstance(part, Video) and not isinstance(value, Mapping):
        times = {"start_time": part.start_s, "end_time": part.end_s}
    url = part.origin() if isinstance(part, Video) and value is None else as_visual(part)
    known = {name: second for name, second in times.items() if second is not None}
    return {"type": part.modality, "url": str(url) if isinstance(url, Path) else url, **known}


def _chat_url(part: Any, value: Mapping[str, Any]) -> Any:
    """The ``url`` of a medium that ``doc_to_visual`` gave as a mapping: the whole mapping if it names a segment or no
    place, else the place. A cell of a dataset is shown as what it holds.
    """
    if "video_start" in value or "video_end" in value or (isinstance(part, Audio) and "url" not in value):
        return dict(value)
    place = value.get("url") or value.get("path")
    if isinstance(part, Image) and (value.get("bytes") is not None or not place):
        return part.open().copy()
    return place or dict(value)


def _kind(visual: Any) -> str:
    if isinstance(visual, Mapping):
        return str(visual.get("type", "audio" if "array" in visual else "video"))
    return "image" if hasattr(visual, "getbands") else "video"


def _checked(row: Any) -> Row:
    if not isinstance(row, Row):
        raise ModelError(
            f"The wrapper asks for the media of a {type(row).__name__} that is no row of its task_dict.",
            hint="Take the row from self.task_dict[task][split][doc_id], and hand it on as it is.",
        )
    return row
