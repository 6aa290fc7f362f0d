"""Checks of the first prompts of a run's tasks before any of them is sent, and the refusals of ``--strict``.

Formats leave findings about rows and targets in the tasks that they compile. Here a few prompts of every task are made
as the run makes them, whatever the format: no prompt shows the media of the rows, all prompts are equal, braces of a
template are left in them, or the model never reads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import cached_property
from itertools import chain
from typing import Any

from polymeter.core.acting.episodes import Act, Observation
from polymeter.core.content import Media, Text, is_image
from polymeter.core.errors import MissingPackageError, PlanError, PolymeterError, ScoreError, boundary, count
from polymeter.core.guest_context import guest_context_with
from polymeter.core.model import Model
from polymeter.core.records.lint_finding import NO_MEDIUM_SHOWN, LintFinding
from polymeter.core.request import Loglikelihood, Output, Request, Response
from polymeter.core.settings.repeats import group_repeats
from polymeter.core.task import Sample, Task
from polymeter.core.text.phrases import first_of, in_words, quoted
from polymeter.data.showing.needed import check_packages_for
from polymeter.guests.door import Door, random_state_kept
from polymeter.run.plan.plan import Plan, cache_folder, model_name, selected_samples
from polymeter.run.schedule.rollouts import step_label
from polymeter.run.schedule.running_samples import message_under_rules

_FEW, _MANY = 3, 50
_LONGEST_SHOWN = 60
_TEMPLATE = re.compile(r"\{\{.{0,200}?\}\}|\{%.{0,200}?%\}", re.DOTALL)
_FULL_WIDTH = re.compile(r"[{｛]{1,2}\s*([^{}｛｝\n]{1,60}?)\s*[}｝]{1,2}")
_FULL_WIDTH_BRACES = frozenset("｛｝")
_HAS_STATE = re.compile(rb"Random\(|RandomState\(|default_rng\(|^\s*global\s", re.MULTILINE)
"""Signs of code that may make another prompt when it is called once more: generators of its own, and globals."""


def lint(plan: Plan) -> None:
    """Add to the findings of a plan what a few prompts of its open tasks show. Runs the tasks' code.

    Args:
        plan: The plan, its tasks open.

    Raises:
        MissingPackageError: if a package is missing that a prompt needs, or that shows its media to the model.
    """
    options = plan.options
    with random_state_kept(), guest_context_with(**surroundings_of(plan)):
        looks = [FirstPrompts(task, selected_samples(task, options), options.seed) for task in plan.opened]
        for look in looks:
            look.check_decoders(plan.model)
        plan.add_findings(finding for look in looks for finding in look.findings())
        plan.add_findings(unread_questions(looks, plan.model, model_name(plan)))


def surroundings_of(plan: Plan) -> dict[str, Any]:
    """Return the settings of guests' calls that make the prompts of a plan before it is run."""
    options = plan.options
    return {
        "parity": plan.parity,
        "reasoning_tags": plan.model.reasoning_tags,
        "data": options.data,
        "cache_dir": cache_folder(options),
        "allows_generated_code": options.allow_generated_code,
    }


def refuse_warnings(plan: Plan) -> None:
    """Refuse a strict plan that has warnings.

    Raises:
        PlanError: if it has one.
    """
    warnings = [finding for finding in plan.findings if finding.is_warning]
    if not (plan.options.is_strict and warnings):
        return
    hint = "Without --strict the run starts with them."
    if len(warnings) == 1:
        [only] = warnings
        raise PlanError(
            f"With --strict a warning is an error: {LintFinding(only.id, only.text, only.task)}",
            where=only.place,
            hint=f"{only.hint} {hint}".strip(),
        )
    lines = "".join(f"\n  {number}. {warning}" for number, warning in enumerate(warnings, 1))
    raise PlanError(
        f"With --strict warnings are errors, and there are {count(len(warnings), 'warning')}:{lines}", hint=hint
    )


def first_requests(task: Task, sample: Sample, seed: int) -> tuple[Request, ...]:
    """The first requests of an open task about one of its samples. Repeats of a prompt count once.

    Raises:
        DataError: if the row cannot be read.
        ScoreError: if a hook raises.
    """
    return tuple(repeats[0] for repeats in first_groups(task, sample, seed))


def first_groups(task: Task, sample: Sample, seed: int) -> list[list[Request]]:
    """The first requests of an open task about one of its samples, as in a run with this seed: prompts drawn at random
    are the same. Each group has the repeats of one prompt. Empty if the model makes its prompts itself.

    Raises:
        DataError: if the row cannot be read.
        ScoreError: if a hook raises.
    """
    rollout = task.rollout(sample)
    hook = Door(seed).hook(task.spec.name, sample.id, step_label(1)) if task.is_guest else nullcontext()
    action = f"The first prompt of sample {sample.id} of task {task.spec.name!r}"
    with random_state_kept(), hook, boundary(ScoreError, action):
        step = next(rollout, ())
        together = step if isinstance(step, tuple) else (step,)
        if together and all(isinstance(one, Act) for one in together):
            # Nothing is opened here: the prompts are those of episodes without tools.
            nothing = [Response((Output(observation=Observation()),))] * len(together)
            step = rollout.send(tuple(nothing) if isinstance(step, tuple) else nothing[0])
        rollout.close()
    together = step if isinstance(step, tuple) else (step,)
    return group_repeats([one for one in together if isinstance(one, Request)])


class FirstPrompts:
    """The first prompts of some samples of a task, made when they are looked at.

    Args:
        task: The open task.
        samples: The positions of the samples that are measured.
        seed: The seed of the run.
    """

    def __init__(self, task: Task, samples: range, seed: int) -> None:
        self.task = task
        self._samples = samples
        self._seed = seed
        self._made: dict[int, tuple[Request, ...]] = {}

    def findings(self) -> Iterator[LintFinding]:
        """Return the findings about them."""
        if not any(self._few):
            return
        yield from self._unshown_media()
        braces = self._first(_full_width_pieces)
        equal = self._equal_prompt()
        if braces is not None:
            name, piece = braces
            same = f" All {equal[1]} prompts looked at are the same." if equal else ""
            text = f"The prompt of sample {name} shows {piece!r} as written: ｛ and ｝ are full-width braces.{same}"
            yield self._finding("full-width-braces", text, f"Write {{{{{piece.strip('{｛}｝ ')}}}}}.")
        elif equal:
            text = f"The prompt is the same in all {equal[1]} samples looked at: {quoted(equal[0], _LONGEST_SHOWN)}."
            yield self._finding("equal-prompts", text, f"Name a column in it, such as {self._column}.")
        template = self._first(_templates)
        if template is not None:
            shown = quoted(template[1], _LONGEST_SHOWN)
            text = f"The prompt of sample {template[0]} holds {shown}, which is not rendered."
            yield self._finding("unrendered-template", text)

    def check_decoders(self, model: Model) -> None:
        """Check that the packages are installed with which the model decodes the media of these prompts.

        Raises:
            MissingPackageError: if one is not.
        """
        for request in chain.from_iterable(self._few):
            for message in request.messages:
                for part in message_under_rules(message, self.task.showing).parts:
                    if not isinstance(part, Text) and _is_decoded(model, part):
                        check_packages_for(part, f"task {self.task.spec.name!r}")

    @property
    def has_different_texts(self) -> bool:
        """True if two of the few prompts looked at say something different."""
        return len({_texts(requests) for requests in self._few if requests}) > 1

    def _finding(self, id: str, text: str, hint: str = "") -> LintFinding:
        spec, place = self.task.spec, self.task.prompt_place
        return LintFinding(id, text, spec.name, place or str(spec.file), hint if place else "")

    @property
    def _column(self) -> str:
        """A column, as the place that makes the prompts names one."""
        return "row['question']" if ".py:" in self.task.prompt_place else "{{question}}"

    @cached_property
    def _few(self) -> list[tuple[Request, ...]]:
        """The prompts of a few samples. Code that opens media is called once, and code with a state not at all."""
        if self.task.is_guest and has_own_state(self.task):
            return []
        found: list[tuple[Request, ...]] = []
        for index in spread(self._samples, _FEW):
            found.append(self._prompt(index))
            if self.task.is_guest and _shows_media(found[-1]):
                break
        return found

    def _prompt(self, index: int) -> tuple[Request, ...]:
        """The first requests of a sample; none if they cannot be made: then the sample fails by itself.

        Raises:
            MissingPackageError: if a package is not installed: no sample could be made without it.
        """
        if index not in self._made:
            self._made[index] = ()
            try:
                self._made[index] = first_requests(self.task, self.task.samples[index], self._seed)
            except MissingPackageError as error:
                raise MissingPackageError(
                    error.what, where=error.where or f"task {self.task.spec.name!r}", hint=error.hint
                ) from error
            except PolymeterError:
                pass
        return self._made[index]

    def _unshown_media(self) -> Iterator[LintFinding]:
        task = self.task
        is_known = any(finding.id == NO_MEDIUM_SHOWN for finding in task.findings)
        if is_known or "generate_image" in task.needs.requests or any(map(_shows_media, self._few)):
            return
        kinds: dict[str, str] = {}
        with suppress(PolymeterError):
            kinds = media_of(task.samples[self._samples.start])
        if kinds:
            columns = in_words(map(repr, kinds))
            media = in_words(dict.fromkeys(kinds.values()))
            yield self._finding(NO_MEDIUM_SHOWN, f"The rows have {media} ({columns}), but no prompt shows any.")

    def _equal_prompt(self) -> tuple[str, int] | None:
        """The text of the prompts that lie evenly in the task, and how many were looked at, if all are the same. First
        prompts of several rounds may be: the later ones differ.
        """
        if self.task.has_rounds or any(map(_shows_media, self._few)):
            return None
        same: object = None
        looked_at = spread(self._samples, _MANY)
        for number, index in enumerate(looked_at):
            requests = self._prompt(index)
            said = _said(requests)
            if not requests or (number and said != same):
                return None
            same = said
        return (_texts(self._prompt(looked_at[0])), len(looked_at)) if len(looked_at) > 1 else None

    def _first(self, pieces_of: Callable[[str], Iterator[str]]) -> tuple[str, str] | None:
        """The first sample whose prompt holds a piece of text that is not in its row, and the piece."""
        for index, requests in self._made.items():
            pieces = [*pieces_of(_texts(requests))]
            if not pieces:
                continue
            sample = self.task.samples[index]
            row = json.dumps(sample.doc, ensure_ascii=False, default=str)
            piece = next((piece for piece in pieces if json.dumps(piece, ensure_ascii=False)[1:-1] not in row), None)
            if piece is not None:
                return sample.id, piece
        return None


def unread_questions(looks: Sequence[FirstPrompts], model: Model, name: str) -> Iterator[LintFinding]:
    """A finding if the model reads no text of prompts, and those of some tasks ask different things."""
    why = model.traits.ignores_text
    tasks = [look.task.spec.name for look in looks if look.has_different_texts] if why else []
    if tasks:
        of = f"task {tasks[0]!r}" if len(tasks) == 1 else f"{len(tasks)} tasks ({first_of(tasks, 3)})"
        yield LintFinding("ignored-question", f"Model {name!r} never sees the questions of {of}: {why}.")


def media_of(sample: Sample) -> dict[str, str]:
    """The columns of a sample's row that hold media, each with what they hold: ``images``, ``audio`` or ``videos``."""
    found = {}
    for name, value in sample.full_doc().items():
        one = value[0] if isinstance(value, (list, tuple)) and value else value
        kind = "images" if is_image(one) else "audio" if _is_audio(one) else "videos" if _is_video(one) else ""
        if kind:
            found[name] = kind
    return found


def _is_audio(value: object) -> bool:
    is_decoded = isinstance(value, dict) and {"array", "sampling_rate"} <= value.keys()
    return is_decoded or hasattr(value, "get_all_samples") or getattr(value, "modality", "") == "audio"


def _is_video(value: object) -> bool:
    is_reader = hasattr(value, "get_frames_at") or hasattr(value, "get_batch")
    return is_reader or getattr(value, "modality", "") == "video"


def _is_decoded(model: Model, medium: Media) -> bool:
    with suppress(PolymeterError):  # of a medium that is missing or broken
        return model.decodes(medium)
    return False


def has_own_state(task: Task) -> bool:
    """Return whether the code of a task shows signs of state of its own: a prompt that is made once more may differ."""
    for file in task.spec.sources:
        if file.suffix == ".py":
            with suppress(OSError):
                if _HAS_STATE.search(file.read_bytes()):
                    return True
    return False


def spread(positions: range, n: int) -> list[int]:
    """At most ``n`` positions that lie evenly among these, the first and the last among them."""
    n = min(n, len(positions))
    return [positions[round(number * (len(positions) - 1) / max(n - 1, 1))] for number in range(n)]


def _shows_media(requests: Sequence[Request]) -> bool:
    return any(
        not isinstance(part, Text) for request in requests for message in request.messages for part in message.parts
    )


def _texts(requests: Sequence[Request]) -> str:
    parts = (part for request in requests for message in request.messages for part in message.parts)
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _said(requests: Sequence[Request]) -> object:
    """Return the content of requests, for comparison: their texts, and the continuations that are measured."""
    parameters = (request.parameters for request in requests)
    return _texts(requests), [one.continuations for one in parameters if isinstance(one, Loglikelihood)]


def _templates(text: str) -> Iterator[str]:
    yield from _TEMPLATE.findall(text)


def _full_width_pieces(text: str) -> Iterator[str]:
    pieces = (match[0] for match in _FULL_WIDTH.finditer(text)) if _FULL_WIDTH_BRACES & set(text) else iter(())
    yield from (piece for piece in pieces if _FULL_WIDTH_BRACES & set(piece))
