"""Choice of requests that share a batch at a model on this machine, and of the size of the batch. It follows their
parameters, the properties of the model, the needs of the task, and the size of their images. There are no threads here:
the dispatcher holds a lock where it needs one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.model import ALL_READY, BatchModel
from polymeter.core.request import GenerateImage, OwnPrompt, Request, Response
from polymeter.guests.door import in_mode
from polymeter.run.dispatch.batch.batching import estimated_length, settings_key
from polymeter.run.dispatch.batch.size import BatchSizes, CommonScale
from polymeter.run.dispatch.dispatchers import Joined, calls_of
from polymeter.run.schedule.running_samples import MODEL_ROLE, PendingRequest

_IMAGES_AT_ONCE = 64
_PIXELS_AT_ONCE = 16 * 2**20
"""Most images and most pixels of a batch of a model that wants everything that is ready. The images of the batch that
is written and of the one that is computed are held, at four bytes a pixel.
"""
_SHOWN_BYTES_AT_ONCE = 48 * 2**20
"""Most bytes of decoded images in a batch of a model that wants everything that is ready: half of what a run holds
unless its user says otherwise, so that as much is decoded meanwhile.
"""
_SIZE_UNTIL_SEEN = (1024, 1024)
"""Width and height that images without a size are taken to have before the first is there."""
_PROMPTS = "own prompts"
"""The batch key of questions for the model's own prompts."""
_ASKING_FOR_KEY = boundary(ModelError, "The model's group_key")


class BatchChoice:
    """The requests that may share a batch with a request, and the most requests in one.

    Args:
        model: The model; it need not be loaded.
        batch_size: Most requests in a batch; ``auto``: found by trying; ``None``: what the task names, else what the
            model likes.
        largest_own: The largest batch that a task names.

    Attributes:
        model: As given.
        takes_all: Whether the model accepts all ready requests in one call, and no setting limits it.
        largest_own: As given, unless the user gives a size.
    """

    def __init__(self, model: BatchModel, batch_size: int | Literal["auto"] | None, largest_own: int = 0) -> None:
        self.model = model
        self._told = batch_size
        self._hint = None if model.batch_hint == ALL_READY else int(model.batch_hint)
        self._is_eager = self._hint is None
        self.takes_all = self._is_eager and batch_size is None
        self.largest_own = 0 if batch_size else largest_own
        self._own: dict[Hashable, int] = {}
        self._batches_at_once: dict[Hashable, int] = {}
        self._usual_size = _SIZE_UNTIL_SEEN

    def sizes(self, common: CommonScale | None = None) -> BatchSizes:
        """The batch sizes of one copy of the model, of which nothing is known yet.

        Args:
            common: Told of the largest, beside those of other copies.
        """
        return BatchSizes(self._told, self._hint, self._own, common)

    def largest(self, sizes: BatchSizes | CommonScale) -> int | None:
        """The largest batch in use or about to be; ``None``: no limit."""
        scale = sizes.scale
        return None if scale is None else max(scale, self.largest_own)

    def choose(self, asked: Sequence[PendingRequest]) -> tuple[list[tuple[Joined, Hashable, int]], list[Joined]]:
        """Group requests by the calls that answer them, and give each group the key of its batch. Needs no lock.

        Returns:
            The groups, each with its key and its estimated length, and the groups whose answer is that the model
            failed to give a key.
        """
        with in_mode("model"):  # it is asked which requests share a call, and which a batch
            lengths = [(group, self._give_key(group)) for group in calls_of(self.model, asked)]
        chosen = [(group, key, length) for group, length in lengths if (key := group[0].batch_key) is not None]
        return chosen, [group for group, _ in lengths if group[0].batch_key is None]

    def _give_key(self, group: Joined) -> int:
        """Give the requests of a group the key of their batch. One that the model fails to give is their answer, and
        they have none.

        Returns:
            Their estimated length.
        """
        first, request = group[0], group[0].for_model
        if isinstance(request, OwnPrompt):
            first.batch_key = _PROMPTS
            return 0
        is_told = self._told is not None
        own = None if is_told else _own_batch_size(first) or self._most_drawn(group) or self._most_shown(group)
        try:
            with _ASKING_FOR_KEY:
                key = (settings_key(request), self.model.group_key(request), own)
                if key not in self._batches_at_once:
                    self._batches_at_once[key] = int(self.model.batches_at_once(request))
        except PolymeterError as error:
            for one in group:
                one.batch_key, one.response = None, Response.failed(error)
            return 0
        for one in group:
            one.batch_key = key
        if own is not None:
            self._own[key] = own
        return estimated_length(request)

    def most(self, sizes: BatchSizes, key: Hashable, longest: int) -> int | None:
        """Most requests in one call: a batch, or several of a size that is settled where the model refills them."""
        size = sizes.most(key, longest)
        if size is None or size == 1 or not sizes.is_settled(key):
            return size
        return size * self._batches_at_once.get(key, 1)

    def at_once(self, sizes: BatchSizes, key: Hashable, longest: int) -> int | None:
        """Return the number of requests of one call that are computed at a time; ``None``: all."""
        return sizes.most(key, longest) if self._batches_at_once.get(key, 1) > 1 else None

    def learn_sizes(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Learn how large images are that the model has drawn: width and height, in pixels."""
        self._usual_size = max(sizes, key=lambda size: size[0] * size[1])

    def _most_drawn(self, group: Joined) -> int | None:
        request = group[0].request
        asked = request.parameters if isinstance(request, Request) else None
        if not self._is_eager or not isinstance(asked, GenerateImage):
            return None
        width, height = asked.size or self._usual_size
        fitting = min(_IMAGES_AT_ONCE, _PIXELS_AT_ONCE // (width * height))
        return max(1, fitting // len(group))

    def _most_shown(self, group: Joined) -> int | None:
        """Return the number of requests with images that a model that accepts all ready requests gets at once. It is
        small, so that the next images are decoded meanwhile.
        """
        if not self._is_eager or not group[0].may_show:
            return None
        n_images = sum(1 for one in group for _ in one.request.images())
        if not n_images:
            return None
        task = group[0].running.task
        if not task.n_images:
            return 1  # until the first is seen, it may be of any size
        fitting = max(1, int(_SHOWN_BYTES_AT_ONCE / (n_images * task.image_bytes)))
        return 1 << (fitting.bit_length() - 1)  # a power of two, as the size of images is learned and changes


def longest_of(groups: Sequence[Joined]) -> int:
    """Estimated length of the longest request; 0 if they are questions for the model's own prompts."""
    requests = [group[0].request for group in groups]
    return max((estimated_length(one) for one in requests if isinstance(one, Request)), default=0)


def _own_batch_size(one: PendingRequest) -> int | None:
    """The batch that a task names for its own requests; those to a judge are not."""
    return one.running.task.task.batch_size if one.role == MODEL_ROLE else None
