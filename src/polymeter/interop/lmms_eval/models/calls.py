"""Calls of a wrapper from requests: which method, which argument tuples, and which rows its ``task_dict`` holds.

The tuples, by request type (a simple wrapper takes a text and media, a chat wrapper messages):

============================  =====================================================================================
loglikelihood                 ``(context, doc_to_target, doc_to_visual, doc_id, task, split)`` for each continuation
generate_until, visual_cot    ``(context, gen_kwargs, doc_to_visual, doc_id, task, split)``
the same, chat                ``(context, doc_to_messages, gen_kwargs, doc_id, task, split)``
multi_round                   ``(context, gen_kwargs, doc_to_visual, doc_to_text, doc_id, task, split)``
multi_round, chat             as generate_until for chat
============================  =====================================================================================
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.core.errors import ModelError
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.request import Generate, Loglikelihood, Origin, Request
from polymeter.core.rows import RowAccess, RowView
from polymeter.interop.lmms_eval.instance import Instance
from polymeter.interop.lmms_eval.models.rows import (
    CallableTarget,
    WrapperRow,
    WrapperRows,
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
)

Method = Literal["loglikelihood", "generate_until", "generate_until_multi_round", "generate_visual_cot"]
Kind = Literal["simple", "chat"]


@dataclass(slots=True)
class WrapperCall:
    """One call of a wrapper.

    Attributes:
        method: The method to call.
        requests: The requests that it answers, in order.
        instances: Its argument: for each request as many as in ``counts``.
        counts: Number of instances of each request.
        rows: Row number → row.
        task: The task's name, as the tuples have it.
        split: The split's name.
    """

    method: Method
    task: str
    split: str
    requests: list[Request] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    rows: dict[Any, WrapperRow] = field(default_factory=dict)

    def task_dict(self) -> dict[str, dict[str, WrapperRows]]:
        """The wrapper's ``task_dict`` during the call."""
        return {self.task: {self.split: WrapperRows(self.rows)}}

    def check_targets(self) -> None:
        """Refuse likelihoods of the wrong continuations.

        Raises:
            ModelError: if the wrapper called one request's ``doc_to_target`` in place of another's.
        """
        targets = [instance.args[1] for instance in self.instances if self.method == "loglikelihood"]
        counts = [count for count in self.counts for _ in range(count)]
        if len({target.n_called for target, count in zip(targets, counts, strict=False) if count > 1}) > 1:
            raise ModelError(
                "The wrapper's loglikelihood called doc_to_target of one request for others, which have other choices.",
                hint="It is each request's own text: use it unchanged, or call each request's own.",
            )


def make_calls(
    requests: Sequence[Request], kind: Kind, rows: RowAccess | None, parity: Parity = NO_PARITY
) -> Iterator[WrapperCall]:
    """The calls that answer some requests of one group, in order, with lmms-eval's own values at parity with it.

    It is one call, unless two requests about the same row have different media or text: a wrapper finds these by the
    row's number, so such requests need separate calls.
    """
    call: WrapperCall | None = None
    for position, request in enumerate(requests):
        origin = request.origin or Origin("", str(position), index=position)
        row = call.rows.get(origin.index) if call is not None else None
        if call is None or (row is not None and not row.fits(request)):
            if call is not None:
                yield call
            call = WrapperCall(method_of(request), origin.task, origin.split)
        if origin.index not in call.rows:
            handle = rows(origin) if rows is not None and request.origin is not None else None
            call.rows[origin.index] = WrapperRow(request, handle, parity)
        instances = list(_instances(request, origin, call.method, kind, parity, call.rows[origin.index].handle))
        call.requests.append(request)
        call.instances.extend(instances)
        call.counts.append(len(instances))
    if call is not None:
        yield call


def method_of(request: Request) -> Method:
    """The method that answers a request."""
    if isinstance(request.parameters, Loglikelihood):
        return "loglikelihood"
    protocol = request.origin.protocol if request.origin is not None else "single"
    by_protocol: Mapping[str, Method] = {
        "multi_round": "generate_until_multi_round",
        "visual_cot": "generate_visual_cot",
    }
    return by_protocol.get(protocol, "generate_until")


def generation_kwargs(request: Request, kind: Kind, *, is_as_written: bool = False) -> dict[str, Any]:
    """The generation arguments of a request, as its task's author wrote them; for a request without any, made from its
    parameters. A fresh dictionary each time: wrappers pop what they have read.

    A simple wrapper gets the empty line that lmms-eval uses as stop string if the task names none; a chat wrapper gets
    only stop strings that the author or user wrote, unless it is to get them as they are written.
    """
    parameters = request.parameters
    written = request.origin.generation_kwargs if request.origin is not None else {}
    if not isinstance(parameters, Generate):
        return {}
    if not written:
        settings = {name: getattr(parameters, name) for name in ("max_new_tokens", "temperature", "top_p")}
        set_settings = {name: value for name, value in settings.items() if value is not None}
        do_sample = parameters.extra.get("do_sample", bool(parameters.temperature))
        stop = list(parameters.stop)
        return copy.deepcopy({**set_settings, **parameters.extra, "do_sample": do_sample, "until": stop})
    kwargs: dict[str, Any] = copy.deepcopy(dict(written))
    if kind == "chat" and not parameters.stop and not is_as_written:
        kwargs["until"] = []
    return kwargs


def _instances(
    request: Request, origin: Origin, method: Method, kind: Kind, parity: Parity, handle: RowView | None
) -> Iterator[Instance]:
    row_arguments = (origin.index, origin.task, origin.split)
    metadata = {"task": origin.task, "doc_id": origin.index, "repeats": 1, "split": origin.split, **origin.metadata}
    parameters, context = request.parameters, request.text
    if isinstance(parameters, Loglikelihood):
        for number, continuation in enumerate(parameters.continuations):
            arguments: tuple[Any, ...] = (context, CallableTarget(continuation), doc_to_visual, *row_arguments)
            yield Instance(method, arguments, number, dict(metadata))
        return
    kwargs = generation_kwargs(request, kind, is_as_written=parity.on("blank-line-stop"))
    if kind == "chat":
        if handle is not None and parity.on("chat-text"):
            own = handle.context()
            context = context if own is None else own
        arguments = (context, doc_to_messages, kwargs, *row_arguments)
    elif method == "generate_until_multi_round":
        arguments = (context, kwargs, doc_to_visual, doc_to_text, *row_arguments)
    else:
        arguments = (context, kwargs, doc_to_visual, *row_arguments)
    yield Instance(method, arguments, 0, dict(metadata))
