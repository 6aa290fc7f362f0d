"""An OpenAI-compatible endpoint as a model.

Differences between servers are handled here: OpenAI calls the token limit ``max_completion_tokens`` and rejects names
that it does not know; Azure puts the deployment into the URL and the key into ``api-key`` (its newer ``/openai/v1``
addresses are ordinary base URLs); OpenRouter and vLLM keep reasoning in ``reasoning``, others in ``reasoning_content``;
OpenRouter reports failures of the servers behind it with status 200; Ollama needs no key and truncates prompts longer
than its ``num_ctx`` without an error, which ``cut_prompts`` finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from polymeter.core.content import Media, Modality
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.media.shown_images import rate_identity
from polymeter.core.model import AsyncModel, ModelTraits
from polymeter.core.request import (
    Generate,
    GenerateImage,
    Loglikelihood,
    Output,
    Parameters,
    Request,
    RequestKind,
    Response,
)
from polymeter.core.settings.generation_names import OF_ENDPOINTS, OF_IMAGES
from polymeter.models.endpoint.errors import EndpointError, response_or_error
from polymeter.models.endpoint.http import MAX_ANSWER_MB, checked_size
from polymeter.models.endpoint.media import MediaEncoder
from polymeter.models.endpoint.shapes import offers_tools
from polymeter.models.endpoint.stated import is_pinned
from polymeter.models.openai.address import Address, find_addresses
from polymeter.models.openai.answers import read_outputs, with_unread_calls
from polymeter.models.openai.client import Client
from polymeter.models.openai.content import Content, ContentWriter, dumps
from polymeter.models.openai.cut_prompts import cut_of, n_words
from polymeter.models.openai.image_settings import ignored_settings, makes_images, takes_images
from polymeter.models.openai.images import ImageCall, ImageMaker
from polymeter.models.openai.likelihood import Context, Likelihood, Ways
from polymeter.models.openai.preflight import ask_little, check_all
from polymeter.models.openai.quirks import Quirks, refuses_several
from polymeter.models.openai.responses import LENGTH_KEY as RESPONSES_LENGTH_KEY
from polymeter.models.openai.responses import NO_SEED, ItemWriter, read_response, stateless
from polymeter.models.openai.settings import DETAILS, MEANINGLESS, Api, OpenAISettings, Way
from polymeter.models.video_parts import ALL_WAYS

_LENGTH_KEY = "max_tokens"
_HOSTED_LENGTH_KEY = "max_completion_tokens"
_FIRST_ONLY = "only the first token of each choice counts"


@dataclass(frozen=True, slots=True)
class OpenAIBody:
    """A request, ready to be sent.

    Attributes:
        content: Its messages as a JSON list, or its prompt as a JSON text; repeats share it.
        settings: Its settings, without seeds.
        context: The context of its continuations.
        drawing: The requested image.
        n_words: Its words that each take a token at least, if they are many.
        has_tools: Whether its calls are read.
    """

    content: Content = field(default_factory=lambda: Content(b""))
    settings: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None
    drawing: ImageCall | None = None
    n_words: int = 0
    has_tools: bool = False


class OpenAIModel(AsyncModel):
    """A model at an OpenAI-compatible endpoint. The key is read only from the environment.

    Args:
        name: The model's name at the endpoint; at Azure the deployment's.
        base_url: Its address, up to and including ``/v1``; default: ``OPENAI_BASE_URL``, else OpenAI's own. Several,
            separated by commas, serve the same model: each request goes to the least loaded one.
        api_key_env: The environment variable that holds the key; default: ``OPENAI_API_KEY``, at Azure
            ``AZURE_OPENAI_API_KEY``. Servers that need no key need no variable.
        headers: Further headers.
        organization: Sent as ``OpenAI-Organization``.
        azure_endpoint: An Azure resource, instead of a base URL.
        api_version: Azure's API version; default: ``OPENAI_API_VERSION``.
        api: ``chat``; ``responses`` for OpenAI's newer API, which shows images in the results of tools;
            ``completions`` for base models that continue text; ``images`` for models that make only images.
            Default: ``images`` for models whose names say so, else ``chat``.
        images_via: How images are requested: ``images`` (``/images/generations`` and ``/images/edits``), or ``chat``
            for servers that put them into the messages of a chat.
        extra_body: Sent unchanged with every request.
        omit: Names of settings that are never sent (``temperature,seed``), because the model rejects them.
        system_role: Name of the role of system prompts: ``system`` or ``developer``.
        reasoning_effort: Sent with every request.
        image_detail: ``auto``, ``low`` or ``high``.
        max_image_side: Larger images and frames are scaled down to this many pixels on their longer side.
        video: ``frames``: videos are sent as images; ``url``: sent whole, for servers that accept videos.
        num_frames: Frames of a video; at most this many when ``fps`` is given.
        fps: Frames per second of a video.
        max_tokens_key: ``max_tokens`` or ``max_completion_tokens``; default: the one that the endpoint accepts.
        logprobs: How log-likelihood is requested: ``prompt_logprobs``, ``echo``, ``first_token``, ``none``; ``auto``:
            the first of these that works.
        join_repeats: Request the repeats of a prompt together with ``n``, so that the prompt is paid once. They then
            have no individual seeds, and repeating a run does not repeat its answers. Default: a request and a seed for
            each answer; a provider's prefix cache saves most of the cost of the repeated prompt.
        max_answer_mb: Maximum size of an answer in MiB, after decompression; a larger one is an error.

    Raises:
        PlanError: if an argument is not one of its choices, an address is malformed, or a key that is certainly needed
            is missing.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (what --model-args may set)
        self,
        name: str,
        base_url: str = "",
        api_key_env: str = "",
        headers: Mapping[str, str] | None = None,
        organization: str = "",
        azure_endpoint: str = "",
        api_version: str = "",
        api: str = "auto",
        extra_body: Mapping[str, Any] | None = None,
        omit: str | Sequence[str] = (),
        system_role: str = "system",
        reasoning_effort: str = "",
        image_detail: str = "",
        max_image_side: int | None = None,
        video: str = "frames",
        num_frames: int = 8,
        fps: float | None = None,
        max_tokens_key: str = "auto",
        logprobs: str = "auto",
        images_via: str = "images",
        join_repeats: bool = False,
        max_answer_mb: float = MAX_ANSWER_MB,
    ) -> None:
        _one_of("api", api, ("auto", *get_args(Api)))
        _one_of("images_via", images_via, ("images", "chat"))
        _one_of("system_role", system_role, ("system", "developer"))
        _one_of("image_detail", image_detail, ("", *DETAILS))
        _one_of("video", video, ("frames", "url"))
        _one_of("max_tokens_key", max_tokens_key, ("auto", _LENGTH_KEY, _HOSTED_LENGTH_KEY))
        _one_of("logprobs", logprobs, ("auto", *get_args(Way), "none"))
        addresses = find_addresses(
            str(name),
            base_url=base_url,
            api_key_env=api_key_env,
            headers=_mapping("headers", headers),
            organization=organization,
            azure_endpoint=azure_endpoint,
            api_version=str(api_version),
        )
        self.address = ",".join(sorted(address.base_url for address in addresses))
        of_responses = api == "responses"
        if of_responses and video == "url":
            raise PlanError("OpenAI's API of responses accepts no whole videos.", where="--model-args video")
        effort: dict[str, Any] = {"reasoning_effort": reasoning_effort} if reasoning_effort else {}
        if of_responses:
            effort = {"reasoning": {"effort": reasoning_effort}} if reasoning_effort else {}
            effort |= stateless(str(name), is_hosted=addresses[0].is_hosted)
        omitted = omit.split(",") if isinstance(omit, str) else omit
        self._settings = OpenAISettings(
            name=str(name),
            api=_api(api, str(name), images_via),
            draws_in_chat=images_via == "chat",
            system_role=system_role,
            image_detail=image_detail,
            video="url" if video == "url" else "frames",
            omit=frozenset(item.strip() for item in omitted if item.strip()),
            extra_body={**effort, **_mapping("extra_body", extra_body)},
            is_hosted=addresses[0].is_hosted,
        )
        self._media_settings = {"max_side_px": max_image_side, "num_frames": num_frames, "fps": rate_identity(fps)}
        self._logprobs = logprobs
        self._join_repeats = bool(join_repeats)
        self.traits = _traits(self._settings, logprobs)
        length_key = max_tokens_key
        if max_tokens_key == "auto":
            length_key = _HOSTED_LENGTH_KEY if addresses[0].is_hosted else _LENGTH_KEY
        if of_responses:
            length_key = RESPONSES_LENGTH_KEY
        # Shared by all addresses: restrictions of one server, and the way to get log-probabilities, would otherwise
        # make an answer depend on its address.
        self._quirks = Quirks(length_key)
        way = next((known for known in get_args(Way) if known == logprobs), None)
        self._ways = Ways(self._settings.api, way)
        self._max_answer_mb = checked_size(max_answer_mb)
        self._media = MediaEncoder(
            max_side_px=max_image_side,
            num_frames=num_frames,
            fps=fps,
            accepts_sound=self.traits.modalities.get("audio") is not False,
        )
        self._writer = (ItemWriter if of_responses else ContentWriter)(self._settings, self._media)
        self._connect(addresses[0])
        self._instances = tuple(self._at(address) for address in addresses) if len(addresses) > 1 else ()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The model's name and the settings of requests. Addresses, keys and headers are not part of it."""
        settings = self._settings
        return {
            "backend": "openai",
            "name": settings.name,
            "api": settings.api,
            "system_role": settings.system_role,
            "image_detail": settings.image_detail,
            "video": settings.video,
            "omit": sorted(settings.omit),
            "extra_body": dict(settings.extra_body),
            "logprobs": self._logprobs,
            **self._media_settings,
            **({"images_via": "chat"} if settings.draws_in_chat else {}),
            **({"join_repeats": True} if self._join_repeats else {}),  # parity is part of the run's identity
        }

    def _connect(self, address: Address) -> None:
        """Use an address."""
        self._client = Client(address, self._settings, self._quirks, self._max_answer_mb)
        self._likelihood = Likelihood(self._client, self._ways)
        self._maker = ImageMaker(self._client, self._settings, self._writer, self._media)

    def _at(self, address: Address) -> OpenAIModel:
        """The same model at another address."""
        other = copy(self)
        other._instances = ()
        other.address = address.base_url
        other._connect(address)
        return other

    @property
    def instances(self) -> Sequence[AsyncModel]:
        """The model at each of its addresses."""
        return self._instances or (self,)

    @property
    def sends_stops(self) -> bool | None:
        """True if stop strings are sent with chat requests, as far as it is decided: for all addresses alike."""
        return self._quirks.sends_stops

    @sends_stops.setter
    def sends_stops(self, value: bool | None) -> None:
        self._quirks.sends_stops = value

    @property
    def joins_repeats(self) -> bool:
        """True if the user or the matched system requests it, and for images without individual seeds."""
        is_wanted = self._join_repeats or self.parity.on("answers-at-once")
        return is_wanted or (self._settings.api == "images" and not self._maker.sends_seeds)

    def token_limit(self, parameters: Generate) -> int | None:
        """The limit of all answers to one request, under the name that is sent; ``omit`` and ``extra_body`` count."""
        sent = {**self._settings.of(parameters), **self._settings.extra_body}
        limits = [sent[name] for name in (_LENGTH_KEY, _HOSTED_LENGTH_KEY) if isinstance(sent.get(name), int)]
        several = sent.get("n")
        return max(limits) * (several if isinstance(several, int) else 1) if limits else None

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    @property
    def may_move(self) -> bool:
        """True unless the name names one version."""
        return not is_pinned(self._settings.name)

    @property
    def served(self) -> str:
        """The one statement of all addresses; empty if there is none, or several."""
        found = set().union(*(one._client.stated.found for one in self._instances or (self,)))
        return next(iter(found)) if len(found) == 1 else ""

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that endpoints have no name for, that ``omit`` leaves out, or that the model rejected in the
        preflight.
        """
        if isinstance(parameters, Loglikelihood):
            return {"continuations": _FIRST_ONLY} if self._logprobs == "first_token" else {}
        if isinstance(parameters, GenerateImage):
            return ignored_settings(self._settings, parameters)
        values = {"temperature": parameters.temperature, "top_p": parameters.top_p}
        refused = self._client.quirks.refused
        ignored = self._settings.ignored(parameters)
        if self._settings.api == "responses" and parameters.seed is not None and parameters.temperature != 0:
            ignored["seed"] = NO_SEED
        return ignored | {name: reason for name, reason in refused.items() if values.get(name) is not None}

    def decodes(self, medium: Media) -> bool:
        """Media that are not sent unchanged."""
        return self._writer.decodes(medium)

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Every way: a video with a rule is sent as frames."""
        return ALL_WAYS

    def known_settings(self) -> frozenset[str]:
        """The names that OpenAI-compatible endpoints are known to have, and those that are left out with a reason."""
        return OF_ENDPOINTS | OF_IMAGES | MEANINGLESS

    def prepare(self, request: Request) -> OpenAIBody:
        """Encode media and write the messages.

        Raises:
            PolymeterError: if a medium is missing or broken, or the endpoint accepts none.
        """
        parameters = request.parameters
        if isinstance(parameters, Loglikelihood):
            return OpenAIBody(context=self._context(request))
        if isinstance(parameters, GenerateImage):
            return OpenAIBody(drawing=self._maker.prepare(request, parameters))
        if self._settings.api == "completions":
            content = Content(dumps(self._writer.prompt(request.messages)))
        else:
            content = self._writer.shared(request.messages)
        settings = self._settings.of(parameters)
        if self._settings.api == "responses" or (self._settings.api == "chat" and self.sends_stops is False):
            settings.pop("stop", None)  # the answer is cut when it is read, behind its reasoning
        return OpenAIBody(content, settings, n_words=n_words(request), has_tools=bool(parameters.tools))

    async def respond(self, request: Request) -> Response:
        """Answer one request that was not prepared; its media are encoded on a thread."""
        return await self.respond_prepared(request, await asyncio.to_thread(self.prepare, request))

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        """Answer one request.

        Raises:
            ModelError: if there is no answer.
        """
        if not isinstance(prepared, OpenAIBody):
            return await self.respond(request)
        parameters = request.parameters
        if isinstance(parameters, Loglikelihood) and prepared.context is not None:
            return Response((await self._likelihood.answer(prepared.context, parameters),))
        if isinstance(parameters, GenerateImage) and prepared.drawing is not None:
            return Response((await self._maker.answer(parameters, prepared.drawing),))
        assert isinstance(parameters, Generate)
        return Response((await self._generate(parameters, prepared),))

    async def respond_repeats(self, requests: Sequence[Request], prepared: Any) -> list[Response]:
        """Answer repeats with one request; what a server without ``n`` leaves unanswered gets separate requests.

        Raises:
            ModelError: if none of them has an answer.
        """
        if not isinstance(prepared, OpenAIBody):
            prepared = await asyncio.to_thread(self.prepare, requests[0])
        if prepared.drawing is not None:
            repeats = [request.parameters for request in requests if isinstance(request.parameters, GenerateImage)]
            return await self._maker.answer_repeats(repeats, prepared.drawing)
        takes_n = self._client.quirks.takes_n and self._settings.api != "responses"
        outputs = await self._at_once(len(requests), prepared) if takes_n else []
        responses = [Response((output,)) for output in outputs[: len(requests)]]
        alone = (response_or_error(self.respond_prepared(request, prepared)) for request in requests[len(responses) :])
        return [*responses, *await asyncio.gather(*alone)]

    async def preflight(self) -> None:
        """Request a few tokens at each address; a model that only makes images is looked up in the endpoint's list.

        Raises:
            PlanError: if the endpoint cannot be reached, rejects the key, does not know the model, or is not an
                OpenAI-compatible endpoint. Of several addresses some may be out of reach, but not all.
        """
        clients = [one._client for one in self._instances] or [self._client]
        try:
            await check_all(clients, self._settings)
            if self._settings.api == "chat":
                self._quirks.decide_stops(self.reasoning_tags)
        finally:
            for client in clients:
                await client.aclose()

    @property
    def place(self) -> str:
        """The model's name and the host; of several addresses the first."""
        return self._client.address.where

    async def probe(self) -> bool:
        """Request one token, or the list of models if that token would be an image.

        Raises:
            ModelError: if there is no answer.
        """
        await ask_little(self._client, self._settings)
        return self._settings.api != "images"

    async def aclose(self) -> None:
        """Close connections."""
        for one in (self, *self._instances):
            await one._client.aclose()

    def _context(self, request: Request) -> Context:
        messages = request.messages
        text = None if any(True for _ in request.media()) else request.text
        if self._settings.api == "completions":
            return Context(b"", "", self._writer.prompt(messages))
        has_begun = bool(messages) and messages[-1].role == "assistant"
        before = messages[:-1] if has_begun else messages
        return Context(self._writer.messages(before), messages[-1].text if has_begun else "", text)

    async def _generate(self, parameters: Generate, prepared: OpenAIBody) -> Output:
        settings = dict(prepared.settings)
        has_seed = parameters.seed is not None and self._settings.api != "responses"
        if has_seed and "seed" not in self._settings.omit:
            settings["seed"] = parameters.seed
        return (await self._ask(settings, prepared))[0]

    async def _at_once(self, n: int, prepared: OpenAIBody) -> list[Output]:
        """Several answers from one request; fewer, or none, from servers without ``n``."""
        try:
            outputs = await self._ask({**prepared.settings, "n": n}, prepared)
        except EndpointError as error:
            if not refuses_several(error):
                raise
            outputs = []
        self._client.quirks.takes_n = len(outputs) >= n
        return outputs

    async def _ask(self, settings: Mapping[str, Any], prepared: OpenAIBody) -> list[Output]:
        client, where = self._client, self._client.address.where
        has_tools = offers_tools(settings, self._settings.extra_body)
        if self._settings.api == "responses":
            payload = await client.response(prepared.content.text, settings)
            outputs = [read_response(payload, where=where, offers_tools=has_tools)]
        else:
            send = client.completion if self._settings.api == "completions" else client.chat
            payload = await send(prepared.content.text, settings)
            outputs = read_outputs(payload, where=where, offers_tools=has_tools)
            if prepared.has_tools:
                outputs = [with_unread_calls(output, where=where) for output in outputs]
        sent = {**settings, **self._settings.extra_body}
        cut = cut_of(payload, sent, outputs[0].usage, prepared.n_words)
        return [replace(output, cut=cut) for output in outputs] if cut else outputs


def _api(wanted: str, name: str, images_via: str) -> Api:
    """The API to use; chosen by the model's name if it is ``auto``."""
    if wanted == "auto":
        return "images" if images_via == "images" and makes_images(name) else "chat"
    return next(known for known in get_args(Api) if known == wanted)


def _traits(settings: OpenAISettings, logprobs: str) -> ModelTraits:
    """The traits known without a request. The modalities that the model accepts are mostly unknown."""
    is_completion = settings.api == "completions"
    requests: dict[RequestKind, bool] = {"generate": settings.api != "images"}
    modalities: dict[Modality, bool] = {"text": True}
    if logprobs == "none" or settings.api in ("images", "responses"):
        requests["loglikelihood"] = False
    if settings.api == "images" or settings.draws_in_chat:
        requests["generate_image"] = True
    if is_completion:
        requests["generate_image"] = False
        modalities |= {"image": False, "audio": False, "video": False}
    if settings.api == "images":
        modalities |= {"audio": False, "video": False}
        takes = takes_images(settings.name)
        modalities |= {} if takes is None else {"image": takes}
    return ModelTraits(
        "openai",
        requests=requests,
        modalities=modalities,
        is_endpoint=True,
        is_completion=is_completion,
        whole_videos=settings.video == "url",
        calls_tools=settings.api in ("chat", "responses"),
        no_tools=f"an endpoint with api={settings.api} is sent none"
        if settings.api in ("completions", "images")
        else "",
        tool_media="inline" if settings.api == "responses" else "after",
    )


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        named = [item for item in known if item]
        hint = did_you_mean(str(value), named) or f"Known: {', '.join(named)}."
        raise PlanError(f"Model 'openai' has no {name} {value!r}.", where=f"--model-args {name}", hint=hint)


def _mapping(name: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PlanError(
            f"{name} must be a mapping, not {value!r}.",
            where=f"--model-args {name}",
            hint=f'Write it as JSON: {name}={{"key":"value"}}',
        )
    return dict(value)
