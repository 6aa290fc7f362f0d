"""The prompt of a sample: messages for one model, built from the task's forms and its examples.

Examples come before the question, as text. ``fewshot_config`` may hold ``sampler`` (``default``: drawn anew for each
sample; ``first_n``), ``samples`` (rows, or a function that returns them), and separate forms for examples:
``doc_to_text``, ``doc_to_target``, ``doc_to_choice``, ``fewshot_delimiter``, ``target_delimiter``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Modality, Part, Text
from polymeter.core.errors import PlanError
from polymeter.core.identity import seed_for
from polymeter.core.model import ModelTraits
from polymeter.core.request import Message, Origin, OwnPrompt, Response
from polymeter.core.rows import RowFunctions
from polymeter.core.task import Sample, Samples, TaskSpec
from polymeter.reading.lists import PrintedList
from polymeter.tasks.yaml.prompts import forms
from polymeter.tasks.yaml.prompts.forms import Form
from polymeter.tasks.yaml.prompts.rows import full_row
from polymeter.tasks.yaml.prompts.same_question import same_question
from polymeter.tasks.yaml.prompts.visuals import column_visuals, from_chat, from_hook, in_folders, keyed, modalities_of

if TYPE_CHECKING:
    from polymeter.core.format import OpenContext
    from polymeter.data.rows import Rows
    from polymeter.tasks.yaml.config import YamlFields
    from polymeter.tasks.yaml.pieces import Parts

SAMPLERS = ("default", "first_n")
_USUAL_SEED = 1234
"""The seed of lmms-eval's examples unless its user names one."""


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds the messages of a sample.

    Attributes:
        fingerprint: Identity of the rows and of the task's code. With the row's number it identifies media that hooks
            make.
        text_form: ``doc_to_text``.
        choice_form: ``doc_to_choice``.
        description: Text before everything.
        column_visuals: Row number → parts, if ``doc_to_visual`` is a column.
        visual_form: ``doc_to_visual`` as a function of the full row, if it is one.
        messages_form: ``doc_to_messages``, if the model is to get it.
        target_form: ``doc_to_target``.
        next_round: ``doc_to_text`` with the arguments of a later round.
        next_messages: ``doc_to_messages``, whether or not the model is to get it.
        system: The system message, if there is one.
        sees_media: Whether text hooks get the row with media.
        fewshot: Examples before a sample's question.
        has_own: Whether the model may have its own prompts, in place of all of this.
        context: The whole text before and with a sample's question, for models that take messages and look at it
            beside them.
    """

    fingerprint: str
    text_form: Form
    choice_form: Form | None
    description: Form | None
    column_visuals: Callable[[int], tuple[Part, ...]] | None
    visual_form: Form | None
    messages_form: Callable[..., Any] | None
    target_form: Form
    next_round: Callable[..., Any] | None
    next_messages: Callable[..., Any] | None
    system: tuple[Message, ...] = ()
    sees_media: bool = False
    fewshot: Callable[[Sample], str] | None = None
    has_own: bool = False
    context: Callable[[Sample], str] | None = None

    def row(self, sample: Sample) -> dict[str, Any]:
        """The row as text hooks see it."""
        return full_row(sample) if self.sees_media else sample.doc

    def conversation(self, sample: Sample, origin: Origin) -> Generator[OwnPrompt, Response, tuple[Message, ...]]:
        """The messages to send: the model's own prompt for the row if it has one, else the benchmark's."""
        own = (yield OwnPrompt(origin)).messages if self.has_own else None
        if own is None:
            return self.messages(sample)
        return self.system + keyed(own, f"{self.fingerprint}:{sample.index}")

    def messages(self, sample: Sample) -> tuple[Message, ...]:
        """The benchmark's own messages."""
        prefix = f"{self.fingerprint}:{sample.index}"
        if self.messages_form is not None:
            chat = from_chat(self.messages_form(full_row(sample)), prefix)
            return self.system + chat
        return self.of_text(sample, self.text(sample))

    def of_text(self, sample: Sample, text: str) -> tuple[Message, ...]:
        """The messages with a given text: one user turn, all visuals, then the text."""
        return self.of_parts(self.visuals(sample), text)

    def of_parts(self, visuals: tuple[Part, ...], text: str) -> tuple[Message, ...]:
        """The messages of given media and a text; only a prompt with media may lack a text."""
        if not visuals:
            return (*self.system, Message("user", (Text(text),)))
        parts = (*visuals, Text(text)) if text else visuals
        return (*self.system, Message("user", parts))

    def text(self, sample: Sample) -> str:
        """Description, examples and question."""
        row = self.row(sample)
        question = self.text_form(row)
        if type(question) is not str:
            question = self._as_text(question, row)
        if self.description is None and self.fewshot is None:
            return question
        return self.before(sample) + question

    def before(self, sample: Sample) -> str:
        """The text before the question: description and examples."""
        description = str(self.description(self.row(sample))) if self.description else ""
        # Examples are drawn, and left out, by the question as its author wrote it.
        return description + self.fewshot(sample.original or sample) if self.fewshot else description

    def visuals(self, sample: Sample) -> tuple[Part, ...]:
        """Media before the text."""
        if self.column_visuals is not None:
            return self.column_visuals(sample.index)
        if self.visual_form is None:
            return ()
        return from_hook(self.visual_form(full_row(sample)), f"{self.fingerprint}:{sample.index}")

    def row_functions(self, samples: Samples) -> RowFunctions:
        """The functions by which wrapped models look at the task's rows."""
        target, choices, context = self.target_form, self.choice_form, self.context
        return RowFunctions(
            full_doc=lambda index: samples[index].full_doc(),
            target=lambda index: target(samples[index].full_doc()),
            choices=None if choices is None else lambda index: choices(samples[index].full_doc()),
            next_round=self.next_round,
            next_messages=self.next_messages,
            prompt_row=lambda index: full_row(samples[index]),
            context=None if context is None else lambda index: context(samples[index]),
        )

    def modalities(self, sample: Sample) -> frozenset[Modality]:
        """The modalities that a model must take for this sample."""
        if self.messages_form is not None:
            return modalities_of(part for message in self.messages(sample) for part in message.parts)
        return modalities_of(self.visuals(sample))

    def _as_text(self, question: Any, row: Mapping[str, Any]) -> str:
        if isinstance(question, int) and not isinstance(question, bool) and self.choice_form is not None:
            return str(self.choice_form(row)[question])
        return "" if question is None else str(question)


def make_prompt(parts: Parts, spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> PromptBuilder:
    """The builder of a task's messages for one model.

    Raises:
        PlanError: if the template of the description or the settings of its examples make no sense.
    """
    config, rows, column = parts.config, parts.rows.measured, parts.visual_column
    # If doc_to_messages is the whole prompt, simple models get it too, as text and media.
    is_whole = config.class_ is None and config.doc_to_text is None
    takes_messages = parts.messages is not None and (traits.kind == "chat" or is_whole)
    is_bare = traits.kind == "chat" and config.class_ is None and context.parity.on("chat-prompt")
    description = forms.description_form(config.description, parts.binding)
    system = (Message("system", (Text(context.system_prompt),)),) if context.system_prompt else ()
    if context.system_prompt and context.parity.on("system-text"):
        system = ()
        description = _after_system(context.system_prompt, config.fewshot_delimiter, description)
    fewshot = _examples(parts, context) if parts.n_fewshot else None
    folders = media_folders(config, spec, context.data)
    visual = parts.visual
    if visual is not None:
        visual = in_folders(visual, folders)

    made = PromptBuilder(
        fingerprint=f"{rows.fingerprint}:{spec.source_hash[:12]}",
        text_form=parts.text,
        choice_form=parts.choices,
        description=description,
        column_visuals=column_visuals(rows, column, folders) if column is not None else None,
        visual_form=None if column is not None else visual,
        messages_form=parts.messages if takes_messages else None,
        target_form=parts.target,
        next_round=parts.rounds.text or (lambda doc, **_: parts.text(doc)),
        next_messages=parts.messages,
        system=system,
        sees_media=config.process_results_use_image or is_bare or config.output_type == "generate_until_multi_round",
        fewshot=fewshot,
        has_own=traits.has_own_prompts,
    )
    if not is_bare:
        return made
    return replace(made, description=None, fewshot=None, context=made.text if config.doc_to_text is not None else None)


def media_folders(config: YamlFields, spec: TaskSpec, data: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders of files that a column names by relative paths: beside the YAML, or with its data.

    Args:
        config: The task.
        spec: Where it is written.
        data: Local files that replace ids.
    """
    home, path = spec.file.parent, str(config.dataset_path)
    local = data.get(f"{path}:{config.dataset_name}") or data.get(path)
    places = [home / path, *(home / name for name in _named_files(config.dataset_kwargs.get("data_files")))]
    if local:
        places.append(Path(local).expanduser())
    return tuple(dict.fromkeys((home, *(place if place.is_dir() else place.parent for place in places))))


def _named_files(files: Any) -> list[str]:
    if isinstance(files, Mapping):
        files = list(files.values())
    if isinstance(files, (list, tuple)):
        return [name for item in files for name in _named_files(item)]
    return [files] if isinstance(files, str) and "://" not in files else []


def _after_system(system: str, delimiter: str, description: Form | None) -> Form:
    """The system prompt as the beginning of the text, before the description if there is one."""
    return lambda row: system + (f"{delimiter}{description(row)}" if description else "")


def _examples(parts: Parts, context: OpenContext) -> Callable[[Sample], str]:
    """A function from a sample to the examples before its question; which ones it gets depends on the run's seed and
    on the sample, on nothing else, unless the run draws them as another system does. A sample is never an example for
    itself.
    """
    config, rows, n = parts.config, parts.rows.examples, parts.n_fewshot
    assert rows is not None
    options = config.fewshot_config or {}
    sampler = options.get("sampler", "default")
    if sampler not in SAMPLERS:
        raise PlanError(f"There is no few-shot sampler {sampler!r}.", hint=f"Known: {', '.join(SAMPLERS)}.")
    is_same_split = parts.rows.has_own_examples
    total = len(rows)
    if n + is_same_split > total:
        raise PlanError(f"Task {config.task!r} needs {n} examples, but has only {total} rows to draw from.")
    delimiter = str(options.get("fewshot_delimiter", config.fewshot_delimiter))
    example = _example(parts, options, rows)
    if context.parity.on("fewshot-draw"):
        chosen_for = _drawn_in_turn(parts, context, rows, is_random=sampler != "first_n")
        return lambda sample: delimiter.join(example(rows.doc(i)) for i in chosen_for(sample)) + delimiter
    drawn, is_same = drawn_examples(parts, context), same_question(parts)

    def prefix(sample: Sample) -> str:
        chosen = [i for i in drawn(sample) if not is_same(sample, i)][:n]
        return "".join(example(rows.doc(i)) + delimiter for i in chosen)

    return prefix


def drawn_examples(parts: Parts, context: OpenContext) -> Callable[[Sample], list[int]]:
    """A function from a sample to the rows that are drawn as its examples, one more than needed, and never its own."""
    rows, n, seed = parts.rows.examples, parts.n_fewshot, context.seed
    assert rows is not None
    is_first = (parts.config.fewshot_config or {}).get("sampler") == "first_n"
    total, is_same_split = len(rows), parts.rows.has_own_examples

    def drawn(sample: Sample) -> list[int]:
        own = sample.index if is_same_split else -1
        if is_first:
            chosen: Sequence[int] = range(min(n + 1, total))
        else:
            # One more than needed is drawn, in case the sample itself is among them.
            generator = random.Random(seed_for(seed, sample.task, sample.id, "fewshot"))
            chosen = generator.sample(range(total), min(n + 1, total))
        return [i for i in chosen if i != own]

    return drawn


def _drawn_in_turn(parts: Parts, context: OpenContext, rows: Rows, *, is_random: bool) -> Callable[[Sample], list[int]]:
    """Rows drawn for one sample after the other from one generator, as in lmms-eval: the draws of the samples before
    come first. A drawn row that equals the sample is left out, which a row with media never does; another takes its
    place only if the task names one split for both.
    """
    config, n, total = parts.config, parts.n_fewshot, len(rows)
    told = context.options.get("fewshot_seed")
    generator = random.Random(told if told is not None else context.seed or _USUAL_SEED)
    n_drawn = min(n + (config.fewshot_split == config.test_split), total)
    first = list(range(n_drawn))
    draws: list[list[int]] = []
    drawing = Lock()  # samples begin in any order, on several threads

    def chosen_for(sample: Sample) -> list[int]:
        number = max(sample.index - context.offset, 0)
        with drawing:
            while len(draws) <= number:
                draws.append(generator.sample(range(total), n_drawn) if is_random else first)
            drawn = draws[number]
        return [i for i in drawn if rows.media or rows.doc(i) != sample.doc][:n]

    return chosen_for


def _example(parts: Parts, options: Mapping[str, Any], rows: Rows) -> Callable[[Mapping[str, Any]], str]:
    """Question, delimiter and answer of a row."""
    binding = replace(
        parts.binding,
        columns=rows.columns,
        media=frozenset(rows.media) & parts.binding.media,
        has_choices=parts.binding.has_choices or "doc_to_choice" in options,
    )
    choices = forms.choice_form(options["doc_to_choice"], binding) if "doc_to_choice" in options else parts.choices
    text = forms.text_form(options["doc_to_text"], binding) if "doc_to_text" in options else parts.text
    target = forms.target_form(options["doc_to_target"], binding) if "doc_to_target" in options else parts.target
    delimiter = str(options.get("target_delimiter", parts.config.target_delimiter))

    def shown(value: Any, row: Mapping[str, Any]) -> str:
        if isinstance(value, PrintedList) and binding.is_written and not (value.is_several or choices is not None):
            return value.text  # one answer
        if isinstance(value, list):
            value = value[0] if value else ""
        if choices is not None and type(value) is int:
            value = choices(row)[value]
        return "" if value is None else str(value)

    return lambda row: shown(text(row), row) + delimiter + shown(target(row), row)
