"""From what a prompt function returns (text, media, a list of both, a conversation) to messages."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.core.media.sources import is_elsewhere
from polymeter.core.request import Message, Role
from polymeter.tasks.python.writing.records import PythonTask
from polymeter.tasks.yaml.prompts.visuals import MEDIA_SUFFIXES, from_chat, to_part

_PARTS = (Text, Image, Audio, Video)
_KINDS = "Return a text, media (polymeter.Image, a Pillow image, a pathlib.Path), a list of both, or messages."


@dataclass(frozen=True, slots=True)
class PromptReader:
    """Reads the prompts of a task.

    Attributes:
        task: The name of the task, for messages.
        where: The file and line of the task.
        folder: Where relative paths of media begin; the working directory comes second.
        system: The system message, if there is one.
    """

    task: str
    where: str
    folder: Path
    system: tuple[Message, ...] = ()

    def messages(self, prompt: Any) -> tuple[Message, ...]:
        """Convert a prompt to the whole conversation.

        Raises:
            DataError: if it is not a prompt.
        """
        if is_conversation(prompt):
            return self.conversation(prompt)
        return (*self.system, self.turn(prompt))

    def conversation(self, prompt: Any) -> tuple[Message, ...]:
        """Convert a list of messages. The task's system message comes first unless the list has one.

        Raises:
            DataError: if one of them is not a message.
        """
        given = [prompt] if isinstance(prompt, (Message, Mapping)) else list(prompt)
        chat = from_chat([self._placed_message(message) for message in given], None)
        chat = tuple(replace(one, parts=tuple(self._placed(part) for part in one.parts)) for one in chat)
        return chat if chat and chat[0].role == "system" else (*self.system, *chat)

    def turn(self, prompt: Any) -> Message:
        """Convert a prompt to one turn of the user.

        Raises:
            DataError: if it is not a prompt, or shows nothing.
        """
        pieces = list(prompt) if isinstance(prompt, (list, tuple)) else [prompt]
        parts = [self._part(piece, is_alone=len(pieces) == 1) for piece in pieces if piece is not None]
        if prompt is None or not parts or all(isinstance(part, Text) and not part.text.strip() for part in parts):
            given = "None" if prompt is None else "an empty prompt"
            raise self._error(f"is empty: its function returned {given}.", _KINDS)
        return Message("user", tuple(parts))

    def _placed_message(self, message: Any) -> Any:
        """Convert the pieces of a message to parts."""
        if isinstance(message, Message) or not isinstance(message, Mapping):
            return message
        content = message.get("content")
        if isinstance(content, str) or content is None or message.get("role") not in get_args(Role):
            return message
        pieces = content if isinstance(content, (list, tuple)) else [content]
        if all(isinstance(piece, Mapping) for piece in pieces):
            return message
        return Message(message["role"], tuple(self._part(piece, is_alone=False) for piece in pieces))

    def _part(self, piece: Any, *, is_alone: bool) -> Part:
        if isinstance(piece, str):
            self._refuse_path(piece, is_alone=is_alone)
            return Text(piece)
        if isinstance(piece, (bool, int, float)) or piece is None:
            raise self._error(f"holds {piece!r}, which is not text.", f"Write str({piece!r}).")
        if isinstance(piece, Mapping) and piece.get("type") == "text":
            return Text(str(piece.get("text", "")))
        try:
            return self._placed(to_part(piece, None))
        except DataError as error:
            if isinstance(piece, (Path, bytes, Mapping)):
                raise
            what = f"holds a {type(piece).__name__}, which cannot be shown to a model."
            raise self._error(what, _KINDS) from error

    def _placed(self, part: Part) -> Part:
        """Resolve the relative path of a medium from the benchmark's folder."""
        if isinstance(part, Text) or not isinstance(part.source, (str, Path)) or is_elsewhere(part.source):
            return part
        place = placed(part.source, self.folder)
        return part if place == str(part.source) else replace(part, source=place)

    def _refuse_path(self, text: str, *, is_alone: bool) -> None:
        """Refuse a text that is the path of a file of media: the model would read its name.

        Raises:
            DataError: if it is one.
        """
        name = text.strip().lower()
        if is_alone or not name.endswith(MEDIA_SUFFIXES) or not os.path.isfile(placed(text, self.folder)):
            return
        hint = "A str is text. Wrap the path: polymeter.Image(…), or pathlib.Path(…)."
        raise self._error(f"shows the path {text!r} as text.", hint)

    def _error(self, what: str, hint: str) -> DataError:
        return DataError(f"The prompt of task {self.task!r} {what}", where=self.where, hint=hint)


def is_conversation(prompt: Any) -> bool:
    """Return whether a prompt is one message with a role, or a list of such messages."""
    first = prompt[0] if isinstance(prompt, (list, tuple)) and prompt else prompt
    return isinstance(first, Message) or (isinstance(first, Mapping) and "role" in first)


def placed(path: str | Path, folder: Path) -> str:
    """Return a path in the benchmark's folder if the file exists there, else the path unchanged."""
    beside = folder / path
    return str(beside) if not os.path.isabs(path) and os.path.exists(beside) else str(path)


def check_template(task: PythonTask, columns: Sequence[str]) -> None:
    """Refuse a text with a column that the rows do not have.

    Raises:
        PlanError: if there is one, or the braces do not match.
    """
    if not isinstance(task.prompt, str):
        return
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(task.prompt) if name is not None]
    except ValueError as error:
        raise PlanError(
            f"The prompt of task {task.name!r} cannot be read: {error}.",
            where=task.where,
            hint="Write a literal brace twice: {{ or }}.",
        ) from None
    for field in fields:
        name = field.partition(".")[0].partition("[")[0]
        if name not in columns:
            near = did_you_mean(name, columns, n=1)
            raise PlanError(
                f"The prompt of task {task.name!r} names the column {name!r}, which its rows do not have.",
                where=task.where,
                hint=f"{near} They have: {', '.join(columns)}.".strip(),
            )
