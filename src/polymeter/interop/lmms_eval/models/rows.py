"""The dataset that a wrapper reads: rows that carry the media and text of their own request.

Many wrappers call the first request's ``doc_to_visual`` for every row of a chunk. So the functions in their arguments
are the same for all requests and depend on nothing but the row they get.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

from polymeter.core.content import Media
from polymeter.core.errors import ModelError
from polymeter.core.identity import written_beside
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.request import Message, Request
from polymeter.core.rows import RowView
from polymeter.interop.lmms_eval.models.media import as_visual, chat_item, chat_message
from polymeter.tasks.yaml.prompts.visuals import from_hook


class WrapperRow(dict[str, Any]):
    """The row of a request: the dataset's columns, read at first access, and the request's media and text.

    Args:
        request: The request.
        handle: Leads to the task's row and functions; ``None`` if the request belongs to no task.
        parity: Whether its messages are lmms-eval's own.
    """

    def __init__(self, request: Request, handle: RowView | None, parity: Parity = NO_PARITY) -> None:
        super().__init__()
        self._request = request
        self.handle = handle
        self.parity = parity
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
        """The continuations whose likelihood the request asks for."""
        return tuple(getattr(self._request.parameters, "continuations", ()))

    @property
    def visuals(self) -> list[Any]:
        """The request's media, as ``doc_to_visual`` returned them, nested lists and all: images decoded once, copied at
        each access.
        """
        return _nested([(_place(medium), as_visual(medium)) for medium in self._request.media()])

    def fits(self, request: Request) -> bool:
        """Return whether another request can share this row: it has the same messages and continuations."""
        own = self._request
        has_same_continuations = self.continuations == getattr(request.parameters, "continuations", ())
        return has_same_continuations and (
            own.messages is request.messages
            or (own.messages == request.messages and written_beside(own) == written_beside(request))
        )

    def _fill(self) -> WrapperRow:
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
        return super(WrapperRow, self._fill()).__contains__(key)

    def __iter__(self) -> Iterator[str]:
        return super(WrapperRow, self._fill()).__iter__()

    def __len__(self) -> int:
        return super(WrapperRow, self._fill()).__len__()

    def get(self, key: str, default: Any = None) -> Any:
        return super(WrapperRow, self._fill()).get(key, default)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return super(WrapperRow, self._fill()).keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return super(WrapperRow, self._fill()).values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return super(WrapperRow, self._fill()).items()


class WrapperRows:
    """The rows of one chunk, by number, as part of a dataset whose other rows are hidden. Iteration yields rows; the
    length is the last row's number plus one, because wrappers check that row numbers are below it.

    Args:
        rows: Number → row.
    """

    def __init__(self, rows: Mapping[Any, WrapperRow]) -> None:
        self._rows = rows

    def __getitem__(self, index: Any) -> WrapperRow:
        if index not in self._rows:
            raise ModelError(
                f"The wrapper reads row {index!r}, which it was not asked about.",
                hint="A wrapper sees the rows of the requests that it was given.",
            )
        return self._rows[index]

    def __contains__(self, index: object) -> bool:
        return index in self._rows

    def __iter__(self) -> Iterator[WrapperRow]:
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
        return [chat_message(message, row.parity) for message in row.messages]
    if row.handle is not None and row.handle.functions.next_messages is not None:
        return row.handle.next_messages(row, **round_arguments)
    visuals, text, is_last, outputs, info = doc_to_text(row, **round_arguments)
    shown = [chat_item(part, row.parity) for part in from_hook(visuals, None)]
    content = [*shown, {"type": "text", "text": text}]
    return ([] if is_last else [{"role": "user", "content": content}]), is_last, outputs, info


class CallableTarget(str):
    """A continuation that can also be called, as wrappers call ``doc_to_target``. For a row with one continuation the
    call returns that row's own, whichever request's function is called. For a row with several, a wrapper must call
    each request's own, which ``n_called`` shows.
    """

    n_called = 0

    def __call__(self, row: Any = None, *_: Any) -> str:
        self.n_called += 1
        own = row.continuations if isinstance(row, WrapperRow) else ()
        return own[0] if len(own) == 1 else str(self)


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


def _checked(row: Any) -> WrapperRow:
    if not isinstance(row, WrapperRow):
        raise ModelError(
            f"The wrapper asks for the media of a {type(row).__name__} that is not a row of its task_dict.",
            hint="Take the row from self.task_dict[task][split][doc_id], and pass it on unchanged.",
        )
    return row
