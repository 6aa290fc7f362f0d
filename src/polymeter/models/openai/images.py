"""Images from an OpenAI-compatible endpoint: made from a prompt, edited from other images, or as part of a chat.

If the server accepts seeds, every image is a separate request with its own seed. If not, repeats are requested together
until the server reports that it makes one at a time. Nothing is paid for twice: an image that could not be fetched is
fetched again and not made again.

Protocol: https://platform.openai.com/docs/api-reference/images; images in chats: https://openrouter.ai/docs
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urljoin

from polymeter.core.content import Image
from polymeter.core.errors import DataError, ModelError
from polymeter.core.media.sources import from_data_url, is_elsewhere
from polymeter.core.request import GenerateImage, Output, Request, Response
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.fetch import is_offline_now
from polymeter.models.endpoint.errors import EndpointError, response_or_error
from polymeter.models.endpoint.http import File
from polymeter.models.endpoint.media import MediaEncoder, received_image
from polymeter.models.openai.answers import choices_of, read_outputs, usage_of
from polymeter.models.openai.client import Client
from polymeter.models.openai.content import ContentWriter, dumps
from polymeter.models.openai.image_settings import image_settings
from polymeter.models.openai.quirks import refuses_several
from polymeter.models.openai.settings import OpenAISettings

_SHOWN = 200
_UNSEEDED = "Drawn without that seed, which the endpoint does not accept."


@dataclass(frozen=True, slots=True)
class Drawn:
    """An image as the server answered it: its base64 text or its URL, the rest of the answer, and whether the request
    was for several images, which have no seeds.
    """

    encoded: str = ""
    url: str = ""
    said: Output = field(default_factory=Output)
    is_of_several: bool = False


@dataclass(slots=True)
class ImageCall:
    """A request for an image, ready to be sent, and the results of earlier attempts.

    Attributes:
        settings: Its settings, without number and seeds.
        prompt: What to draw.
        files: The images to edit. In a run they are files; outside of one, an image on another machine is a URL until
            it is fetched.
        messages: The messages as a JSON list, if images are requested in a chat.
        drawn: Answers by number of the repeat: an image that was drawn but not fetched is not drawn again.
    """

    settings: Mapping[str, Any]
    prompt: str = ""
    files: list[File | str] = field(default_factory=list)
    messages: bytes = b""
    drawn: dict[int, Drawn] = field(default_factory=dict)


class ImageMaker:
    """Requests images from one endpoint.

    Args:
        client: Sends the requests.
        settings: The model's name, and how images are requested.
        writer: Writes chats.
        media: Encodes the images to edit.
    """

    def __init__(self, client: Client, settings: OpenAISettings, writer: ContentWriter, media: MediaEncoder) -> None:
        self._client = client
        self._settings = settings
        self._writer = writer
        self._media = media

    def prepare(self, request: Request, parameters: GenerateImage) -> ImageCall:
        """Encode the images and write the prompt.

        Raises:
            DataError: if an image is missing or broken.
            ModelError: if there is no prompt, or it holds audio or video.
        """
        settings = image_settings(self._settings, parameters)
        if self._settings.draws_in_chat:
            return ImageCall(settings, messages=self._writer.messages(request.messages))
        if not request.text.strip():
            raise ModelError("The prompt is missing: the messages contain no text.", where=self._where)
        return ImageCall(settings, request.text, list(self._files(request)))

    async def answer(self, parameters: GenerateImage, drawing: ImageCall) -> Output:
        """The image of a request.

        Raises:
            ModelError: if it could not be made.
        """
        await self._fetch_inputs(drawing)
        return await self._one(parameters, drawing)

    async def answer_repeats(self, repeats: Sequence[GenerateImage], drawing: ImageCall) -> list[Response]:
        """The images of several requests that differ only in seed and number, drawn with one request if the server can
        do that.

        Raises:
            ModelError: if none of them could be made.
        """
        await self._fetch_inputs(drawing)
        owed = [one.repeat for one in repeats if one.repeat not in drawing.drawn]
        if len(owed) > 1 and self._client.quirks.takes_n:
            several = await self._at_once(len(owed), drawing)
            drawing.drawn.update(
                (number, replace(one, is_of_several=True)) for number, one in zip(owed, several, strict=False)
            )
        return await asyncio.gather(*(response_or_error(self._response(one, drawing)) for one in repeats))

    @property
    def _where(self) -> str:
        return self._client.address.where

    @property
    def sends_seeds(self) -> bool:
        """True if seeds are sent: the server is not known to reject them."""
        settings = self._settings
        is_unknown = settings.is_hosted and not settings.draws_in_chat
        return "seed" not in settings.omit and not is_unknown and self._client.quirks.takes_seeds

    def _files(self, request: Request) -> Iterator[File | str]:
        images = list(request.images())
        for number, medium in enumerate(request.media()):
            if not isinstance(medium, Image):
                raise ModelError(f"Images cannot be made from {medium.modality}.", where=self._where)
            if is_elsewhere(medium.source) and not medium.held_encoded_bytes():
                yield medium.source
            else:
                yield self._file(medium, number, len(images))

    def _file(self, image: Image, number: int, count: int) -> File:
        encoded = self._media.image(image)
        name = f"image-{number + 1}.{encoded.format}"
        return File(_field(count), name, encoded.mime, base64.b64decode(encoded.base64))

    async def _fetch_inputs(self, drawing: ImageCall) -> None:
        for number, file in enumerate(drawing.files):
            if isinstance(file, str):
                if is_offline_now():
                    raise DataError(f"{hide_secrets(file)} is not fetched: the run is offline.", where=self._where)
                image = Image(await self._client.fetch(file, is_named_by_data=True))
                fetched = await asyncio.to_thread(self._file, image, number, len(drawing.files))
                drawing.files[number] = fetched

    async def _at_once(self, n: int, drawing: ImageCall) -> list[Drawn]:
        """Several images from one request; fewer or none from servers that make one at a time."""
        if self._settings.draws_in_chat:
            return []
        try:
            drawn = await self._ask({**drawing.settings, "n": n}, drawing)
        except EndpointError as error:
            if not refuses_several(error):
                raise
            drawn = []
        self._client.quirks.takes_n = len(drawn) >= n
        return drawn

    async def _response(self, parameters: GenerateImage, drawing: ImageCall) -> Response:
        return Response((await self._one(parameters, drawing),))

    async def _one(self, parameters: GenerateImage, drawing: ImageCall) -> Output:
        """One decoded image with its own seed; requested unless an earlier attempt did."""
        if parameters.repeat not in drawing.drawn:
            settings = dict(drawing.settings)
            if parameters.seed is not None and self.sends_seeds:
                settings["seed"] = parameters.seed
            drawing.drawn[parameters.repeat] = (await self._ask(settings, drawing))[0]
        drawn = drawing.drawn[parameters.repeat]
        encoded = drawn.encoded or await self._bytes_at(drawn.url)
        try:
            image = await received_image(encoded, where=self._where)
        except ModelError:  # what is not an image stays none: another attempt draws it again
            del drawing.drawn[parameters.repeat]
            raise
        # Read only now: the server may have rejected the seed meanwhile.
        is_seeded = self.sends_seeds and not drawn.is_of_several
        unseeded = _UNSEEDED if parameters.seed is not None and not is_seeded else None
        note = " ".join(filter(None, (unseeded, drawn.said.note))) or None
        return replace(drawn.said, images=(image,), note=note)

    async def _bytes_at(self, url: str) -> bytes:
        if url.startswith("data:"):
            try:
                return from_data_url(url)
            except DataError as error:
                raise ModelError(error.what, kind="transient", where=self._where) from None
        return await self._client.fetch(urljoin(f"{self._client.address.base_url}/", url))

    async def _ask(self, settings: Mapping[str, Any], drawing: ImageCall) -> list[Drawn]:
        if self._settings.draws_in_chat:
            return read_chat(await self._client.chat(drawing.messages, settings), where=self._where)
        files = [file for file in drawing.files if isinstance(file, File)]
        if files:
            answer = await self._client.edit(drawing.prompt, files, settings)
        else:
            answer = await self._client.generation(dumps(drawing.prompt), settings)
        return read_images(answer, where=self._where)


def read_images(payload: Mapping[str, Any], *, where: str) -> list[Drawn]:
    """The images of an answer; the first holds the usage of all.

    Raises:
        ModelError: if there are none, which may be transient.
    """
    data = payload.get("data")
    listed = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    drawn = [_drawn(one) for one in listed if one.get("b64_json") or one.get("url")]
    if not drawn:
        raise ModelError("The endpoint's answer has no images.", kind="transient", where=where)
    first = drawn[0]
    return [Drawn(first.encoded, first.url, replace(first.said, usage=usage_of(payload))), *drawn[1:]]


def read_chat(payload: Mapping[str, Any], *, where: str) -> list[Drawn]:
    """The image in a chat's answer: in ``images`` beside the text, or among the parts of the content.

    Raises:
        ModelError: if the model declined, or there is none.
    """
    said = read_outputs(payload, where=where, draws=True)[0]
    message = choices_of(payload, where=where)[0].get("message")
    parts = _mappings_in(message.get("images"), message.get("content")) if isinstance(message, dict) else []
    urls = [url for part in parts if (url := _url(part))]
    if not urls:
        text = " ".join((said.text or "").split())[:_SHOWN]
        raise ModelError(f"The model answered without an image: {text!r}", where=where)
    return [Drawn(url=urls[0], said=said)]


def _drawn(one: Mapping[str, Any]) -> Drawn:
    revised = one.get("revised_prompt")
    note = f"The endpoint changed the prompt: {revised}" if isinstance(revised, str) and revised else None
    encoded, url = (str(one.get(name) or "") for name in ("b64_json", "url"))
    if encoded.startswith("data:"):
        encoded, url = "", encoded
    return Drawn(encoded, url, Output(finish_reason="stop", note=note))


def _mappings_in(*lists: Any) -> list[Mapping[str, Any]]:
    return [part for parts in lists if isinstance(parts, Sequence) for part in parts if isinstance(part, Mapping)]


def _url(part: Mapping[str, Any]) -> str:
    value = part.get("image_url")
    url = value.get("url") if isinstance(value, Mapping) else value
    return url if isinstance(url, str) else ""


def _field(count: int) -> str:
    """Name of the form's field for images: a list if there are several."""
    return "image" if count == 1 else "image[]"
