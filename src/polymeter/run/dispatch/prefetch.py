"""Media ahead of the model: decoded and previewed on threads of their own, so that a model never waits for an image
that could be ready.

For a model on this machine images are decoded whole, and a broken image fails its request. An image at a URL is fetched
first, once. For an endpoint only image headers are read, since it receives the bytes unchanged; damage behind the
header is reported by the decoder. An endpoint that writes text fetches URLs itself. For one that draws, images are
fetched here, because edits travel as files. Of videos and audio only a preview is made: the model decodes them, and
reports failures.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Image, Media, Video
from polymeter.core.errors import DataError, ModelError, PolymeterError, boundary
from polymeter.core.media.pixels import check_sample
from polymeter.core.request import GenerateImage, OwnPrompt, Request, Response
from polymeter.run.schedule.pool import Pool
from polymeter.store.media import MediaStore

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A prepared request for an endpoint, or the reason why it can never be sent."""

    made: Any = None
    failure: Response | None = None


class Prefetcher:
    """Prepares the media of requests.

    Args:
        media: Where previews go.
        workers: How many threads decode.
        fetched: Where copies of images that lie at URLs are kept.
    """

    def __init__(self, media: MediaStore, workers: int, fetched: Path) -> None:
        self._previews = Previews(media, fetched)
        self._pool = Pool("decode", workers)

    def prepare(self, requests: Sequence[Request | OwnPrompt], ready: Callable[[list[Response | None]], None]) -> None:
        """Decode all media of some requests, then call ``ready`` with a failed response for each request that cannot
        be shown.

        ``ready`` is called on this thread when there is nothing to decode, else on a decoding thread.
        """
        failures: list[Response | None] = [None] * len(requests)
        is_wanted = self._previews.is_wanted
        to_do = []
        for place, request in enumerate(requests):  # in full, because most show nothing
            for medium in request.media():
                if is_wanted(medium):
                    to_do.append(place)
                    break
        if not to_do:
            ready(failures)
            return
        n_left = len(to_do)
        lock = threading.Lock()

        def prepare_one(place: int) -> None:
            nonlocal n_left
            failures[place] = self._look(requests[place])
            with lock:
                n_left -= 1
                is_last = n_left == 0
            if is_last:
                ready(failures)

        for place in to_do:
            self._pool.submit(partial(prepare_one, place))

    def prepare_each(
        self,
        requests: Sequence[Request],
        make: Callable[[Request], Any] | None,
        ready: Callable[[list[PreparedRequest]], None],
    ) -> None:
        """Look at the media of some requests for an endpoint and make what will be sent, then call ``ready``.

        ``ready`` is called on this thread when there is nothing to do, else on a decoding thread.

        Args:
            requests: Share one thread hop.
            make: Makes what is sent; ``None``: nothing is to be made.
            ready: Takes one ``PreparedRequest`` for each request, in order.
        """
        is_wanted = self._previews.is_wanted
        if make is None and not any(is_wanted(medium) for request in requests for medium in request.media()):
            ready([PreparedRequest()] * len(requests))
            return
        self._pool.submit(lambda: ready([self._prepare_one(request, make) for request in requests]))

    def prepare_encoded(
        self, requests: Sequence[Request | OwnPrompt], ready: Callable[[list[Response | None]], None]
    ) -> None:
        """Look at the media of some requests that another process decodes: its headers are read, its previews made, and
        what lies at a URL is fetched. Then call ``ready`` as ``prepare`` does.
        """
        is_wanted = self._previews.is_wanted
        if not any(is_wanted(medium) for request in requests for medium in request.media()):
            ready([None] * len(requests))
            return
        self._pool.submit(lambda: ready([self._look(request, is_shown_encoded=True) for request in requests]))

    def _look(self, request: Request | OwnPrompt, *, is_shown_encoded: bool = False) -> Response | None:
        """Look at the media of a request; gives the failed response of one that cannot be shown."""
        try:
            with boundary(DataError, "Preparing media"):
                _check_pixels(request)
                for medium in request.media():
                    self._previews.look(medium, is_shown_encoded=is_shown_encoded)
        except PolymeterError as error:
            return Response.failed(error, "data")
        return None

    def _prepare_one(self, request: Request, make: Callable[[Request], Any] | None) -> PreparedRequest:
        is_drawn = isinstance(request.parameters, GenerateImage)
        try:
            with boundary(DataError, "Preparing media"):
                _check_pixels(request)
                for medium in request.media():
                    self._previews.look(medium, is_shown_encoded=True, is_fetched=is_drawn)
            with boundary(ModelError, "Preparing the request"):
                return PreparedRequest(make(request) if make is not None else None)
        except DataError as error:
            return PreparedRequest(failure=Response.failed(error, "data"))
        except PolymeterError as error:
            return PreparedRequest(failure=Response.failed(error))

    def close(self) -> None:
        """Stop decoding."""
        self._pool.close()


class Previews:
    """Looks at media, each video once in a run however many questions are about it. Thread-safe.

    Args:
        media: Where previews go.
        fetched: Where copies of images that lie at URLs are kept.
    """

    def __init__(self, media: MediaStore, fetched: Path) -> None:
        self._media = media
        self._fetched = fetched
        self._shows_videos = media.keeps_previews and find_spec("av") is not None
        self._notes: dict[Any, dict[str, Any]] = {}

    def is_wanted(self, medium: Media) -> bool:
        """Return whether there is anything to do for a medium."""
        if isinstance(medium, Image):
            return True
        if medium.note is not None or is_remote(medium):
            return False
        return self._media.keeps_previews if isinstance(medium, Audio) else self._shows_videos

    def look(self, medium: Media, *, is_shown_encoded: bool = False, is_fetched: bool = True) -> None:
        """Decode an image; make the preview of any medium.

        Args:
            medium: The medium to prepare.
            is_shown_encoded: Whether the model is sent the encoded bytes, so that an image need not be decoded.
            is_fetched: Whether an image that lies elsewhere is fetched; else its receiver does so.

        Raises:
            DataError: An image cannot be fetched or decoded, or has no header that can be read.
        """
        if isinstance(medium, Image):
            if is_remote(medium) and not medium.is_decoded:
                if not is_fetched and medium.rule is None:  # a receiver follows no rule
                    return
                self._fetch(medium)
            if not is_shown_encoded:
                medium.open()
            self._media.keep_preview(medium)
        elif self.is_wanted(medium):
            try:
                with boundary(DataError, "Making a preview"):
                    self._media.keep_audio(medium) if isinstance(medium, Audio) else self._keep_strip(medium)
            except PolymeterError:
                medium.annotate({"source": medium.describe()})

    def _fetch(self, image: Image) -> None:
        from polymeter.data.fetching.fetch import fetched_image

        image.supply(fetched_image(str(image.source), self._fetched).read_bytes())

    def _keep_strip(self, video: Video) -> None:
        from polymeter.data.video_strip import strip

        origin = video.origin()
        key = (str(origin), video.start_s, video.end_s) if isinstance(origin, Path) else None
        note = self._notes.get(key) if key else None
        if note is not None:
            video.annotate(note)
            return
        found = strip(video)
        self._media.keep_strip(video, found.image, width=found.width, height=found.height, duration_s=found.duration_s)
        if key and video.note is not None:
            if len(self._notes) >= _REMEMBERED:
                self._notes.clear()
            self._notes[key] = video.note


def is_remote(medium: Media) -> bool:
    """Return whether a medium lies elsewhere, for the endpoint to fetch: a URL that does not hold the data itself."""
    return medium.is_url and not str(medium.source).startswith("data:")


def _check_pixels(request: Request | OwnPrompt) -> None:
    """Refuse the images of a request before the first is decoded. A single one is looked at when it is opened."""
    here = [image for image in request.images() if not is_remote(image)]
    if len(here) > 1:
        check_sample(here)
