"""Stand-in for ``lmms_eval.models.chat._chat_base``: the loop of chat wrappers that answer one conversation at a time.

Every request of a batch is answered with its own conversation, and what fails is the run's business: an error is no
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from polymeter.interop.lmms_eval.shim.lmms_eval.protocol import ChatMessages
from polymeter.interop.lmms_eval.shim.lmms_eval.utils import Collator

if TYPE_CHECKING:
    from polymeter.interop.lmms_eval.models.base import CacheHook

VIDEO_KWARGS = {"fps": 2, "max_frames": 16, "max_pixels": 384 * 384}
IMAGE_KWARGS = {"max_pixels": 512 * 512}

Conversation = Callable[[Any], Sequence[Mapping[str, Any]]]


class ChatMixin:
    """Gives a wrapper ``generate_until``; its author writes ``_infer_one``.

    Attributes:
        video_kwargs: What the wrapper may spend on a video, for ``ChatMessages.to_hf_messages``.
        image_kwargs: What it may spend on an image.
    """

    is_simple = False
    video_kwargs: ClassVar[Mapping[str, Any]] = VIDEO_KWARGS
    image_kwargs: ClassVar[Mapping[str, Any]] = IMAGE_KWARGS

    if TYPE_CHECKING:
        batch_size: int
        cache_hook: CacheHook
        task_dict: dict[str, Any]

    def _infer_one(self, chat_messages: ChatMessages, gen_kwargs: dict[str, Any]) -> str:
        """The answer to a conversation."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it answers: it lacks _infer_one.")

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """The answer to each request."""
        collator = Collator(
            [request.args for request in requests], lambda args: args[0], group_fn=lambda args: args[2], grouping=True
        )
        answers = []
        for chunk in collator.get_batched(n=self.batch_size):
            for context, doc_to_messages, generation, doc_id, task, split in chunk:
                conversation: Conversation = doc_to_messages
                messages = ChatMessages(messages=conversation(self.task_dict[task][split][doc_id]))  # type: ignore[arg-type]
                answer = self._infer_one(messages, dict(generation))
                self.cache_hook.add_partial("generate_until", (context, generation), answer)
                answers.append(answer)
        return collator.get_original(answers)
