"""Messages as logs of chats have them: a role, and a text or a list of typed parts. Inspect wrote them so first, and
EvalScope 1.x took them over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from polymeter.core.acting.tools import Call, stored_calls
from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import StoredSample, messages_of, model_exchanges

_ROLES = ("system", "user", "assistant", "tool")
_AUDIO = {".wav": "wav", ".mp3": "mp3"}
"""The kinds of audio files that such a log can hold."""
_STOPS = {"length": "max_tokens", "stop": "stop", "content_filter": "content_filter", "tool_calls": "tool_calls"}


WriteCall = Callable[[Call], Mapping[str, Any]]
"""The name and arguments of a call as one of the logs has them."""


def chat_messages(messages: Sequence[Mapping[str, Any]], job: ExportJob, write_call: WriteCall) -> list[dict[str, Any]]:
    """Return the messages of a request.

    Args:
        messages: As the run folder has them.
        job: The run: it decides how media are shown, and notes those that are left out.
        write_call: Writes a call of a tool.
    """
    chat = []
    for message in messages:
        parts = list(_chat_parts(message["parts"], job))
        is_text = len(parts) == 1 and parts[0]["type"] == "text"
        role = message["role"] if message["role"] in _ROLES else "user"
        chat.append({"role": role, "content": parts[0]["text"] if is_text else parts, **_calls(message, write_call)})
    return chat


def _calls(message: Mapping[str, Any], write_call: WriteCall) -> dict[str, Any]:
    """The calls of a stored message or output, and the id of the call whose result it is."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            **write_call(call),
            **({"parse_error": call.problem} if call.problem else {}),
        }
        for call in stored_calls(message.get("calls") or message.get("tool_calls"))
    ]
    result = {"tool_call_id": message["call_id"]} if message.get("call_id") else {}
    return {**({"tool_calls": calls} if calls else {}), **result}


def last_exchanges(sample: StoredSample) -> list[Mapping[str, Any]]:
    """The exchanges that ended a sample: the last request and its repeats. Its messages hold what was said before."""
    backwards = model_exchanges(sample)[::-1]
    same = takewhile(lambda exchange: messages_of(exchange) == messages_of(backwards[0]), backwards)
    return list(same)[::-1]


def chat_choices(sample: StoredSample, job: ExportJob, write_call: WriteCall) -> list[dict[str, Any]]:
    """Return the answers that ended a sample, as assistants' messages. A choice among continuations is shown as its
    text.
    """
    choices = []
    for exchange in last_exchanges(sample):
        for output in exchange["response"]["outputs"]:
            parts = [{"type": "image", "image": job.shown(name)} for name in output.get("images") or ()]
            text = output.get("text") if not output.get("logprobs") else sample["answer"]
            if output.get("reasoning"):
                parts.insert(0, {"type": "reasoning", "reasoning": str(output["reasoning"])})
            if parts and text is not None:
                parts.append({"type": "text", "text": str(text)})
            message = {"role": "assistant", "content": parts or str(text or ""), "source": "generate"}
            message |= _calls(output, write_call)
            stop = _STOPS.get(str(output.get("finish_reason")), "unknown")
            choices.append({"message": {**message, "model": job.model}, "stop_reason": stop})
    return choices


def _chat_parts(parts: Sequence[Mapping[str, Any]], job: ExportJob) -> Iterator[dict[str, Any]]:
    for part in parts:
        for kind, kept in part.items():
            file = str(kept.get("file") or "") if isinstance(kept, Mapping) else ""
            suffix = f".{file.rpartition('.')[2]}"
            if kind == "text":
                yield {"type": "text", "text": str(kept)}
            elif kind == "image" and file:
                yield {"type": "image", "image": job.shown(file)}
            elif kind == "audio" and file and suffix in _AUDIO:
                yield {"type": "audio", "audio": job.shown(file), "format": _AUDIO[suffix]}
            else:
                job.leave_out(f"{kind} of prompts that the run folder has no file of")
                yield {"type": "text", "text": f"[{kind}]"}
