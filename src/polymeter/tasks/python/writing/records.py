"""Benchmarks as their authors write them in Python: functions decorated with ``task``, and ``PythonTask`` records.

Nothing here opens data or asks a model. ``compile`` makes a Task of a ``PythonTask``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, cast

from polymeter.core.errors import PlanError
from polymeter.core.media.showing import Showing, read_showing
from polymeter.core.names.catalog import AT
from polymeter.core.records.protocol import BenchmarkProtocol, read_protocol
from polymeter.tasks.python.writing.checking import check_fields
from polymeter.tasks.python.writing.places import written_at

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

    from polymeter.core.content import Audio, Image, Text, Video
    from polymeter.core.request import Message

P = ParamSpec("P")

Row = dict[str, Any]
"""A row of a benchmark: column → value. Each function gets a copy of its own."""
if TYPE_CHECKING:
    Prompt = (
        str
        | Text
        | Image
        | Audio
        | Video
        | PILImage
        | Path
        | Message
        | Sequence[str | Text | Image | Audio | Video | PILImage | Path | Message | Mapping[str, Any]]
    )
    """A prompt: text, a medium, a list of both in the order in which the model sees them, or a list of messages. A
    ``str`` is text, never a path: write ``Path("a.png")`` or ``Image("a.png")``.
    """
    Rounds = Generator[Prompt, Any, Any]
    """The return type of a prompt function that asks several times: it yields a prompt and is sent the answer."""
else:
    Prompt = Rounds = Any

PromptSource = str | Callable[[Any], "Prompt | Rounds | Iterator[Prompt]"]
RowSource = str | Path | Iterable[Any] | Callable[[], Any]
ScorerSource = str | Mapping[str, Any] | Callable[..., Any]
OutputKind = Literal["text", "image"]
ChoicesAs = Literal["likelihood", "letters"]
_LAMBDA = "<lambda>"


@dataclass(frozen=True, slots=True, eq=False)
class PythonTask:
    """A benchmark in Python. ``polymeter.evaluate(model, tasks=[…])`` and ``--tasks FILE.py`` run it.

    Attributes:
        prompt: A function from a row to a prompt (text, media, a list of both, or messages), a generator function that
            yields prompts and is sent the answers, or a text with columns in braces (``"Capital of {country}?"``).
        rows: Dictionaries, a ``datasets.Dataset``, a DataFrame, a file or folder (relative to the benchmark's file), an
            id of the Hugging Face Hub (``org/name`` or ``org/name:config``), or a function that returns one of these.
        reference: The column with the expected answer, or a function from a row to it. A list means that each item is
            right. For choices: the index, the text or the letter of the right one.
        scorers: Names of metrics, functions, or mappings with a metric and its settings; one or several. Default:
            ``exact_match`` for text, ``acc`` and ``acc_norm`` for choices.
        choices: The column with the choices, a list of choices, or a function from a row to them.
        choices_as: ``likelihood`` compares the log-likelihoods of the choices; ``letters`` shows them with letters and
            reads which one the answer names.
        output: The kind of answer: ``text`` or ``image``.
        repeats: How many times each prompt is asked.
        over_repeats: How the scores of the repeats become one: ``mean``, ``max``, ``min``, ``first``, ``majority`` (the
            score of the most frequent answer), ``pass@K`` or ``pass^K``; one or several.
        generation: Generation settings (``{"max_new_tokens": 64}``). Without a temperature, answers are greedy, and
            sampled if there are repeats.
        video: What is shown of videos (``{"rule": "cut", "frames": 64}``); see ``polymeter.extend.VideoRule``.
        image: The same of images; see ``polymeter.extend.ImageRule``.
        audio: The same of recordings; see ``polymeter.extend.AudioRule``.
        system: A system prompt. That of a run replaces it.
        name: The name of the task; default: the name of the prompt function.
        id: The column with the id of a sample; default: the row's number.
        subset: The column with the part of the benchmark that is also reported by itself.
        cluster: The column with what samples share, such as their image; standard errors take account of it.
        split: The split of a folder or of a dataset of the hub; default: ``test``, or the only one.
        max_rounds: The largest number of prompts that a generator may yield.
        version: The author's version. Raise it when a score could change.
        tags: Labels for ``--tasks``.
        metadata: Further facts, for readers and wrapped models.
        protocol: How the number is measured, as the field ``protocol`` of task YAML. Its name becomes part of the
            task's name: ``NAME@PROTOCOL``.
        thread_safe: Whether the functions may be called on several threads at a time.
        runs_code: Whether a scorer runs code that the model writes; the run must then allow it.
        where: The file and line of the definition.
    """

    prompt: PromptSource
    _: KW_ONLY
    rows: RowSource
    reference: str | Callable[[Any], Any] | None = None
    scorers: ScorerSource | Sequence[ScorerSource] = ()
    choices: str | Sequence[str] | Callable[[Any], Sequence[str]] | None = None
    choices_as: ChoicesAs = "likelihood"
    output: OutputKind = "text"
    repeats: int = 1
    over_repeats: str | Sequence[str] = "mean"
    generation: Mapping[str, Any] = field(default_factory=dict)
    video: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    audio: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    name: str = ""
    id: str = ""
    subset: str = ""
    cluster: str = ""
    split: str = ""
    max_rounds: int = 64
    version: str = ""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] | BenchmarkProtocol | None = None
    thread_safe: bool = False
    runs_code: bool = False
    where: str = field(default="", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", written_at())
        if not self.name:
            own = getattr(self.prompt, "__name__", "")
            if not own or own == _LAMBDA:
                what = "A task needs a name, and its prompt is not a named function."
                raise PlanError(what, where=self.where, hint="Add name='capitals'.")
            object.__setattr__(self, "name", own)
        _ = self.showing  # raises if it makes no sense
        protocol = read_protocol(self.protocol, self.where)
        if protocol is None:
            check_fields(self)
            return
        object.__setattr__(self, "protocol", protocol)
        # A copy of a record has the whole name already.
        object.__setattr__(self, "name", self.name.removesuffix(f"{AT}{protocol.name}"))
        check_fields(self)
        object.__setattr__(self, "name", f"{self.name}{AT}{protocol.name}")

    @property
    def showing(self) -> Showing:
        """The rules for showing media."""
        stated = {name: getattr(self, name) or None for name in ("video", "image", "audio")}
        return read_showing(stated, self.where)

    @property
    def description(self) -> str:
        """The docstring of the prompt function."""
        return "" if isinstance(self.prompt, str) else inspect.getdoc(self.prompt) or ""

    @property
    def all_scorers(self) -> tuple[ScorerSource, ...]:
        """The scorers, one or several."""
        if isinstance(self.scorers, (str, Mapping)) or callable(self.scorers):
            return (self.scorers,)
        return tuple(self.scorers)

    def __call__(self, row: Any) -> Any:
        """Call the prompt function, or fill the text.

        Args:
            row: The row.
        """
        return self.prompt.format_map(row) if isinstance(self.prompt, str) else self.prompt(row)


def _decorator_of(
    make: Callable[Concatenate[PromptSource, P], PythonTask],
) -> Callable[P, Callable[[PromptSource], PythonTask]]:
    """Make a decorator that takes the keyword arguments of a record and makes it of a function."""

    def task(*args: P.args, **kwargs: P.kwargs) -> Callable[[PromptSource], PythonTask]:
        if args:
            raise PlanError(
                "task needs the rows of the benchmark.",
                where=written_at(),
                hint="Write @polymeter.task(rows=…) above the prompt function.",
            )
        return lambda prompt: make(prompt, *args, **kwargs)

    task.__doc__ = (
        "Make a prompt function a benchmark: ``@task(rows=…, reference=…, scorers=…)``. The keyword arguments are the "
        "fields of ``PythonTask``.\n\n    Raises:\n        PlanError: if a value is of the wrong kind.\n    "
    )
    parameters = list(inspect.signature(PythonTask).parameters.values())[1:]
    cast(Any, task).__signature__ = inspect.Signature(parameters)
    return task


task = _decorator_of(PythonTask)
"""Make a prompt function a benchmark: ``@task(rows=…, reference=…, scorers=…)``. The keyword arguments are the fields
of ``PythonTask``.
"""
