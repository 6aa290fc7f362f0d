"""Orders of the choices of adapters of 0.17: the record and its prompt in another order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from polymeter.core.errors import DataError, UnfitError, boundary
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders, ListedChoices, Order
from polymeter.core.task import Sample, Samples
from polymeter.interop.evalscope.tasks.constants import OutputType
from polymeter.interop.evalscope.tasks.guest import OpenBenchmark
from polymeter.interop.evalscope.tasks.prompts import Prompt
from polymeter.tasks.choices.prompts import relisted
from polymeter.tasks.choices.rows import NOT_FOLLOWED, RowForms, RowOrders

_LOOKED_AT = 200


class RecordOrders:
    """The orders of the choices of a benchmark's records.

    Args:
        benchmark: The benchmark.
        samples: Its samples.
        where: Its file, for messages.
    """

    def __init__(self, benchmark: OpenBenchmark, samples: Samples, where: str) -> None:
        self._benchmark, self._samples, self._where = benchmark, samples, where

    def functions(self, row_functions: Callable[[Samples], RowFunctions]) -> ChoiceOrders:
        """Return the functions that ask about records with their choices in another order.

        Args:
            row_functions: Makes the functions of rows for wrapped models.

        Raises:
            UnfitError: if it measures the likelihood of continuations or asks for images, or its records are not
                mappings.
        """
        name, mode = self._benchmark.name, self._benchmark.mode
        if mode.output_type == OutputType.CONTINUOUS or mode.request_kind == "generate_image":
            raise UnfitError(f"Benchmark {name!r} lists no choices in its prompts.")
        if not all(isinstance(item.record, Mapping) for item in self._benchmark.records):
            raise UnfitError(f"The records of benchmark {name!r} are not mappings, so their choices are not found.")
        return ChoiceOrders(self._listed, self._reordered, row_functions)

    def prompt(self, sample: Sample) -> Prompt:
        """The prompt of a sample, in its order.

        Raises:
            DataError: if no text of it lists the choices.
        """
        prompt = self._benchmark.records[sample.index].prompt
        if sample.original is None:
            return prompt
        made = {**copy.deepcopy({key: prompt[key] for key in prompt if key != "raw_input"}), "raw_input": sample.doc}
        texts = self._rows.listed(sample.original).texts
        for holder, key in reversed([*_places(made)]):
            text = relisted(holder[key], texts, sample.order)
            if text is not None:
                holder[key] = text
                return made
        raise DataError(f"The prompt of sample {sample.id} of benchmark {self._benchmark.name!r} lists no choices.")

    @cached_property
    def _rows(self) -> RowOrders:
        # The prompts are made already: their lists are written anew, whatever the records say.
        forms = RowForms(self._benchmark.name, self._text, self._target, None, lists_choices=True, where=self._where)
        return RowOrders(forms, self._samples[:_LOOKED_AT])

    def _listed(self, sample: Sample) -> ListedChoices:
        listed = self._rows.listed(sample)
        order = tuple(range(len(listed.texts)))
        prompt = self._benchmark.records[sample.index].prompt
        if listed.fixed or any(relisted(text, listed.texts, order) is not None for text in _texts(prompt)):
            return listed
        return ListedChoices((), NOT_FOLLOWED)

    def _reordered(self, sample: Sample, order: Order) -> Sample:
        return replace(self._rows.reordered(sample, order), order=order)

    def _target(self, sample: Sample) -> Any:
        with boundary(DataError, f"The reference of benchmark {self._benchmark.name!r}"):
            return self._benchmark.adapter.get_gold_answer(copy.deepcopy(sample.doc))

    def _text(self, sample: Sample) -> str:
        return "\n".join(_texts(self._benchmark.records[sample.index].prompt))


def _texts(prompt: Prompt) -> list[str]:
    return [holder[key] for holder, key in _places(prompt)]


def _places(prompt: Prompt) -> Iterator[tuple[Any, Any]]:
    """Yield the places of the texts of a prompt that may list choices: what holds each, and its key there."""
    data = prompt.get("data")
    for place, item in enumerate(data if isinstance(data, list) else ()):
        if isinstance(item, str):
            yield data, place
    messages = prompt.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content")
        if isinstance(content, str):
            yield message, "content"
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                yield part, "text"
