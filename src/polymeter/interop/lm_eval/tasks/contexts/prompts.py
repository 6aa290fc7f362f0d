"""From a row to its context: description, examples and question, as one text or as a chat.

A context is put together of turns. As text they are written one after the other, each followed by its delimiter; in a
chat the delimiters only count where examples stand in one message with the question. Nothing is ever stripped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from polymeter.core.errors import DataError
from polymeter.core.request import Role
from polymeter.interop.lm_eval.tasks.fields import ExampleFields, FieldFunctions
from polymeter.tasks.yaml.prompts.empty_options import only_offered
from polymeter.tasks.yaml.prompts.forms import Form


class PromptTurn(NamedTuple):
    """One turn: its role, its content, and the delimiter after it in a text."""

    role: Role
    content: str
    delimiter: str = ""


class ChatText(str):
    """A context that is a chat. As a text it is the chat in JSON; what is sent are its messages.

    Attributes:
        history: The messages: role and content.
    """

    history: tuple[tuple[Role, str], ...]

    def __new__(cls, history: Sequence[tuple[Role, str]]) -> ChatText:
        """A chat of these messages."""
        listed = [{"role": role, "content": content} for role, content in history]
        made = super().__new__(cls, json.dumps(listed, ensure_ascii=False))
        made.history = tuple(history)
        return made


@dataclass(frozen=True, slots=True)
class Contexts:
    """Makes the contexts of a task's rows.

    Attributes:
        task: Its name, for messages.
        fields: Its fields.
        examples: The turns of the examples before a row's question, by the position of its sample.
        system: The run's system instruction.
        target_delimiter: What stands before an answer.
        fewshot_delimiter: What follows an example.
        has_several_inputs: Whether each choice is a question of its own.
        is_chat: Whether contexts are chats.
        has_turns: Whether examples are turns of their own in a chat.
    """

    task: str
    fields: FieldFunctions
    examples: Callable[[int], Sequence[PromptTurn]] | None
    system: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    has_several_inputs: bool = False
    is_chat: bool = False
    has_turns: bool = False

    def of(self, doc: Any, index: int) -> str | list[str]:
        """The context of a row, one for each choice where each is a question of its own.

        Args:
            doc: The row.
            index: The position of its sample.

        Raises:
            DataError: if a field of the row has no text where one is needed.
        """
        turns = self.before(doc, index)
        prefix = self._text_of(self.fields.prefix, doc)
        if not (turns or prefix or self.has_several_inputs or self.is_chat):  # the question alone
            return _require_text(self.fields.text(doc), "doc_to_text", self.task)
        if not self.has_several_inputs:
            question = question_turns(self.fields.text(doc), prefix, self.target_delimiter, task=self.task)
            return self.joined([*turns, *question])
        # The choices are the questions.
        choices = self.fields.choices(doc)
        questions = only_offered(choices, choices)
        return [self.joined([*turns, *question_turns(each, prefix, "", task=self.task)]) for each in questions]

    def before(self, doc: Any, index: int) -> list[PromptTurn]:
        """The turns before the question: the system message and the examples."""
        description = self._text_of(self.fields.description, doc) or ""
        system = delimited(self.system, description, self.fewshot_delimiter)
        turns = [PromptTurn("system", system)] if system else []
        if self.examples is not None:
            turns.extend(self.examples(index))
        return turns

    def joined(self, turns: Sequence[PromptTurn]) -> str:
        """A context of turns."""
        if not self.is_chat:
            return "".join([turn.content + turn.delimiter for turn in turns])
        return ChatText([turn[:2] for turn in turns] if self.has_turns else one_message(turns))

    def _text_of(self, field: Form | None, doc: Any) -> str | None:
        value = None if field is None else field(doc)
        if value is not None and not isinstance(value, str):
            raise DataError(f"What precedes the question of task {self.task!r} must be text, not {value!r:.60}.")
        return value


def delimited(prefix: str | None, suffix: str | None, delimiter: str) -> str:
    """Two texts joined, by the delimiter only where no white space meets it."""
    if not prefix or not suffix:
        return prefix or suffix or ""
    return prefix + suffix if prefix[-1].isspace() or suffix[0].isspace() else prefix + delimiter + suffix


def question_turns(question: Any, prefix: str | None, delimiter: str, *, task: str) -> list[PromptTurn]:
    """The turns of a question without its answer: the question, and what its answer begins with.

    Raises:
        DataError: if the question is not text.
    """
    question = _require_text(question, "doc_to_text", task)
    if not prefix:
        return [PromptTurn("user", question)]
    is_apart = question and not (question[-1].isspace() or prefix[0].isspace())
    return [PromptTurn("user", question, delimiter if is_apart else ""), PromptTurn("assistant", prefix)]


def example_turns(
    doc: Any,
    fields: ExampleFields,
    target_delimiter: str,
    fewshot_delimiter: str,
    *,
    has_several_inputs: bool,
    task: str,
) -> tuple[PromptTurn, ...]:
    """The turns of an example. An empty answer makes no turn, and has no delimiter after it either.

    Raises:
        DataError: if question or answer is not text.
    """
    question, answer = fields.text(doc), fields.target(doc)
    choices = None if fields.choices is None else fields.choices(doc)
    prefix = None if fields.prefix is None else _require_text(fields.prefix(doc), "gen_prefix", task)
    if has_several_inputs and choices is not None:
        question, choices = choices[question], None
    if answer is None or answer == "":
        return tuple(question_turns(question, prefix, target_delimiter, task=task))
    if choices and isinstance(answer, int):
        if not -len(choices) <= answer < len(choices):
            raise DataError(f"An example of task {task!r} has choice {answer}, and there are {len(choices)}.")
        answer = choices[answer]
    elif isinstance(answer, list):
        answer = answer[0] if answer else ""
    question, answer = _require_text(question, "doc_to_text", task), _require_text(answer, "doc_to_target", task)
    delimiter = target_delimiter
    if prefix:
        is_apart = question and not (question[-1].isspace() or prefix[0].isspace())
        delimiter = target_delimiter if is_apart else ""
    return PromptTurn("user", question, delimiter), PromptTurn(
        "assistant", delimited(prefix, answer, " "), fewshot_delimiter
    )


def one_message(turns: Sequence[PromptTurn]) -> list[tuple[Role, str]]:
    """The messages of a chat with all examples and the question in one message, written as in a text; what the answer
    begins with stays a message of its own.
    """
    kept: list[tuple[Role, str]] = []
    if turns and turns[0].role == "system":
        kept, turns = [turns[0][:2]], turns[1:]
    begun = [turns[-1][:2]] if turns[-1].role == "assistant" else []
    written = turns[:-1] if begun else turns
    text = "".join([turn.content + turn.delimiter for turn in written[:-1]]) + (written[-1].content if written else "")
    return [*kept, ("user", text), *begun]


def _require_text(value: Any, field: str, task: str) -> str:
    if not isinstance(value, str):
        raise DataError(
            f"{field} of task {task!r} gives {value!r:.60} where a text is needed.",
            hint="A number stands for a choice only if doc_to_choice lists the choices."
            if isinstance(value, int)
            else "",
        )
    return value
