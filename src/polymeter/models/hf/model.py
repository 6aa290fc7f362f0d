"""A model of Transformers as a Polymeter model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polymeter.core.content import Media
from polymeter.core.errors import PlanError
from polymeter.core.media.showing import Showing
from polymeter.core.media.shown_images import rate_identity
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import Error, Generate, GenerateImage, Parameters, Request, Response, Tags
from polymeter.models.hf.answers.decoding import decoding_of, ignored, known_settings
from polymeter.models.hf.answers.generate import answer
from polymeter.models.hf.answers.in_turn import answer_in_turn
from polymeter.models.hf.answers.refill import Refiller, searches_plainly
from polymeter.models.hf.config import CheckpointKind, commit_of, kind_of, read_config
from polymeter.models.hf.digest import checkpoint_digest, package_version
from polymeter.models.hf.encode import Encoder
from polymeter.models.hf.images.networks import can_draw, draw, ignored_image_settings, known_image_settings
from polymeter.models.hf.load import (
    LoadedCheckpoint,
    check_places,
    load_network,
    load_processor,
    tag_tokens,
    template_of,
)
from polymeter.models.hf.media import writes_times
from polymeter.models.hf.scoring.loglikelihood import ContinuationScorer
from polymeter.models.hf.settings import (
    DTYPES,
    LOGPROB_TEMPLATES,
    SOFTMAX_DTYPES,
    VIDEO_AS,
    HfSettings,
    amount,
    as_mapping,
    flag,
    one_of,
    read_template,
)
from polymeter.models.hf.videos import WAY, accepts_videos, handling_of
from polymeter.models.memory import free_memory
from polymeter.models.quiet import quiet_transformers
from polymeter.models.tool_texts import CALL_TAGS, READERS, family_of, shows_tools, with_calls
from polymeter.models.video_parts import ALL_WAYS, BESIDE_VIDEO
from polymeter.reading.reasoning import tags_in_force, tags_in_template

_SAME_IMAGES = ("mllama", "paligemma", "blip-2", "instructblip", "fuyu", "kosmos-2", "kosmos-2.5", "florence2", "udop")
"""Families whose processors need the same number of images in every row of a batch."""
_SAME_SIZES = ("emu3",)
"""Families whose image encoder sees the padding of smaller images in a batch."""


_BATCHES_IN_TURN = 4
"""Batches of requests for text in one call. Only at its end are there none left to take the places of finished rows."""


class HfModel(BatchModel):
    """A chat, vision, audio or video model, or a causal LM, that Transformers loads. Janus and Emu3 also draw images.

    Args:
        name: Folder or hub id.
        dtype: ``auto`` (the checkpoint's own), ``float64``, ``float32``, ``float16`` or ``bfloat16``.
        device: A torch device (``cuda:1``, ``cpu``); default: the first accelerator, else the CPU.
        device_map: How the weights are distributed: ``auto``, or a mapping from module to device.
        attn_implementation: ``sdpa``, ``eager``, ``flash_attention_2``, …
        revision: Branch, tag or commit on the hub.
        trust_remote_code: Allow Python files of the checkpoint to run.
        adapter: Folder or hub id of a LoRA or other PEFT adapter.
        quantization: A quantisation configuration by its fields, ``quant_method`` among them.
        chat_template: A file with a chat template, or its text; default: the checkpoint's own.
        chat_template_args: Variables for the chat template, such as ``enable_thinking``.
        processor_args: Arguments for the processor, such as ``max_pixels``.
        min_pixels: Minimum pixels of an image, for processors with such a setting.
        max_pixels: Maximum pixels of an image, likewise.
        max_length: Maximum tokens of prompt and answer together; default: the checkpoint's own.
        video_as: ``video``, ``images`` (frames as a series of images), or ``auto``: ``video`` if the model accepts
            videos.
        video_frames: Maximum frames of a video.
        video_fps: Frames per second, up to ``video_frames``; default: that many, evenly spaced.
        cut_sounds: Cut audio that is longer than the model's window; else it is an error.
        cut_prompts: Cut a text at its beginning if it leaves no room for the answer or the continuations; else it is an
            error. A prompt with media is never cut.
        allow_missing_weights: Continue if weights are missing from the checkpoint; they are then random.
        logprob_template: The text before continuations whose log-probabilities are computed: ``chat`` (the context in
            the chat template, open for the answer), ``none`` (its text alone), or ``auto``: the template if the
            checkpoint has one.
        softmax_dtype: The type in which log-probabilities are computed: ``float32``, ``bfloat16``, …, or ``auto``: that
            of the network's logits; default: ``float32``, of a network in double precision ``float64``.
        tokenizer: Folder or hub id of another tokenizer, for a model of text alone; default: the checkpoint's own.
        add_bos_token: Whether the tokenizer puts its beginning-of-sequence token before a text, for a model of text
            alone; default: the setting in the tokenizer's files.
        prefix_token_id: The token that the first token of a text is predicted from where nothing stands before it;
            default: the tokenizer's beginning-of-sequence token, else its end-of-sequence token.
        subfolder: The folder of the checkpoint in its repository on the hub.

    Raises:
        PlanError: if an argument is wrong, torch or Transformers is not installed, or there is no such checkpoint.
    """

    batch_hint = 1

    def __init__(  # noqa: PLR0913, PLR0917  # its parameters are what --model-args may set
        self,
        name: str,
        dtype: str = "auto",
        device: str = "",
        device_map: Any = "",
        attn_implementation: str = "",
        revision: str = "",
        trust_remote_code: bool = False,
        adapter: str = "",
        quantization: Any = None,
        chat_template: str = "",
        chat_template_args: Any = None,
        processor_args: Any = None,
        min_pixels: int = 0,
        max_pixels: int = 0,
        max_length: int = 0,
        video_as: str = "auto",
        video_frames: int = 8,
        video_fps: float = 0.0,
        cut_sounds: bool = False,
        cut_prompts: bool = False,
        allow_missing_weights: bool = False,
        logprob_template: str = "auto",
        softmax_dtype: str = "",
        tokenizer: str = "",
        add_bos_token: bool | None = None,
        prefix_token_id: int | None = None,
        subfolder: str = "",
    ) -> None:
        for package in ("torch", "transformers"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'hf'", "hf")
        if (device_map or quantization) and find_spec("accelerate") is None:
            raise missing_package("accelerate", "device_map and quantization", "hf")
        if adapter and find_spec("peft") is None:
            raise missing_package("peft", "adapter", "lora")
        if device and device_map:
            raise PlanError(
                "device and device_map exclude each other.", where="--model-args", hint="Set only one of them."
            )
        pixels = {
            "min_pixels": amount(min_pixels, "min_pixels"),
            "max_pixels": amount(max_pixels, "max_pixels"),
        }
        self._settings = HfSettings(
            name,
            one_of(dtype.removeprefix("torch."), DTYPES, "dtype"),
            str(device),
            _device_map(device_map),
            attn_implementation,
            revision,
            flag(trust_remote_code, "trust_remote_code"),
            adapter,
            as_mapping(quantization, "quantization"),
            read_template(chat_template),
            as_mapping(chat_template_args, "chat_template_args"),
            {name: value for name, value in pixels.items() if value} | as_mapping(processor_args, "processor_args"),
            int(amount(max_length, "max_length")),
            one_of(video_as, VIDEO_AS, "video_as"),
            int(amount(video_frames, "video_frames", least=1)),
            float(amount(video_fps, "video_fps")),
            flag(cut_sounds, "cut_sounds"),
            flag(cut_prompts, "cut_prompts"),
            flag(allow_missing_weights, "allow_missing_weights"),
            one_of(logprob_template, LOGPROB_TEMPLATES, "logprob_template"),
            one_of(softmax_dtype.removeprefix("torch."), SOFTMAX_DTYPES, "softmax_dtype"),
            tokenizer,
            None if add_bos_token is None else flag(add_bos_token, "add_bos_token"),
            None if prefix_token_id is None else int(amount(prefix_token_id, "prefix_token_id")),
            _within(subfolder),
        )
        with quiet_transformers():
            self._config = read_config(self._settings)
            check_places(self._settings)
            self._kind = kind_of(self._config)
            # Read already here: planning needs to know whether a chat template exists and whether a package is missing.
            # The files are small.
            self._processing = load_processor(self._settings, self._kind)
            self._kind = _seeing(self._kind, self._processing[0])
        if logprob_template == "chat" and not template_of(*self._processing):
            raise PlanError(
                f"The checkpoint {name!r} has no chat template, which logprob_template=chat needs.",
                where="logprob_template",
                hint="Set logprob_template=none, or name a template with chat_template=FILE.",
            )
        self.traits = self._traits()
        self._loaded: LoadedCheckpoint | None = None
        self._encoder: Encoder | None = None
        self._scorer: ContinuationScorer | None = None
        self._refiller: Refiller | None = None

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The checkpoint by content (a folder) or commit (the hub), how it is read, and the packages that read it."""
        settings = self._settings
        packages = ["torch", "transformers", "torchvision", *(["peft"] if settings.adapter else [])]
        return {
            # Absent as long as it is the default: older runs, which had no choice, are the same runs.
            **({} if settings.logprob_template == "auto" else {"logprob_template": settings.logprob_template}),
            **({"softmax_dtype": settings.softmax_dtype} if settings.softmax_dtype else {}),
            **({"tokenizer": _weights_digest(settings.tokenizer) or settings.tokenizer} if settings.tokenizer else {}),
            **({} if settings.add_bos_token is None else {"add_bos_token": settings.add_bos_token}),
            **({} if settings.prefix_token_id is None else {"prefix_token_id": settings.prefix_token_id}),
            **({"subfolder": settings.subfolder} if settings.subfolder else {}),
            "backend": "hf",
            "weights": _weights_digest(settings.name) or [settings.name, commit_of(settings)],
            "adapter": _weights_digest(settings.adapter) or settings.adapter,
            "dtype": settings.dtype,
            "attn_implementation": settings.attn_implementation,
            "quantization": settings.quantization,
            "chat_template": settings.chat_template,
            "chat_template_args": settings.chat_template_args,
            "processor_args": settings.processor_args,
            "max_length": settings.max_length,
            "video": [settings.video_as, settings.video_frames, rate_identity(settings.video_fps)],
            **({"whole_videos": WAY} if self._shows_whole else {}),
            "cut_sounds": settings.cut_sounds,
            **({"cut_prompts": True} if settings.cut_prompts else {}),
            "allow_missing_weights": settings.allow_missing_weights,
            "packages": {package: package_version(package) for package in packages},
        }

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    def text_tokens(self, text: str) -> int | None:
        """By the checkpoint's tokenizer."""
        return len(self._processing[1].encode(text, add_special_tokens=False))

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Generation settings that have no effect here."""
        if isinstance(parameters, GenerateImage):
            return ignored_image_settings(parameters, self._config)
        if not isinstance(parameters, Generate):
            return {}
        forced = parameters.tools and parameters.tool_choice not in ("auto", "none")
        reason = "a chat template shows tools, and nothing makes the model call one"
        return {**ignored(parameters), **({"tool_choice": reason} if forced else {})}

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        """Also the times between the frames of a video, for a processor that gets it whole and writes none; and a sound
        that can only stand behind the frames of its video.
        """
        found = dict(super().unfollowed(showing))
        processor = self._processing[0]
        has_times = showing.video is not None and showing.video.timestamps == "text"
        is_whole = self._shows_whole
        if has_times and is_whole and not writes_times(type(processor)):
            why = "its processor gets videos whole; timestamps: prefix, or video_as=images, gives it the times"
            found["video.timestamps"] = why
        has_track = showing.video is not None and showing.video.audio == "track"
        if has_track and not (is_whole and handling_of(processor).interleaves):
            found.setdefault(
                "video.audio", "it hears the sound of a video after all of its frames, not in time with them"
            )
        return found

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Behind the video, and between its frames if these are images."""
        is_whole = self._settings.shows_videos_whole(accepts=self._kind.modalities["video"])
        return BESIDE_VIDEO if is_whole else ALL_WAYS

    @property
    def subtitles_hint(self) -> str:
        """Videos as images."""
        return " With --model-args video_as=images it gets frames with texts between them."

    def known_settings(self) -> frozenset[str]:
        """Transformers' names; for a checkpoint that draws, also the names of its drawing settings."""
        return known_settings() | known_image_settings(self._config)

    def group_key(self, request: Request) -> Hashable:
        """The number or the sizes of the images, for the few families that cannot mix them in a batch."""
        if self._kind.family in _SAME_SIZES:
            return tuple(image.size() for image in request.images())
        return sum(1 for _ in request.images()) if self._kind.family in _SAME_IMAGES else None

    def batches_at_once(self, request: Request) -> int:
        """Several for text without a search, so that finished rows leave and waiting ones enter."""
        ask = request.parameters
        is_refilled = (
            isinstance(ask, Generate) and not self._kind.is_encoder_decoder and searches_plainly(decoding_of(ask))
        )
        return _BATCHES_IN_TURN if is_refilled else 1

    def decodes(self, medium: Media) -> bool:
        """Every medium that it is shown."""
        return True

    def load(self) -> None:
        """Read weights and processor."""
        settings = self._settings
        if self.parity.on("cut-prompts"):
            settings = replace(settings, cut_prompts=True)
        with quiet_transformers():
            loaded = load_network(settings, self._config, self._kind, self._processing)
            tags = self._tags()
            kept = tag_tokens(loaded.tokenizer, tags)
            if self.traits.calls_tools:
                kept |= tag_tokens(loaded.tokenizer, CALL_TAGS)
            self._loaded = replace(loaded, reasoning_tags=tags, tag_tokens=kept)
            self._encoder = Encoder(self._loaded, drops_system=self.parity.on("refused-system"))
            self._scorer = ContinuationScorer(
                self._loaded,
                self._encoder,
                moves_line_breaks=self.parity.on("template-line-break"),
                softmax_dtype=settings.softmax_dtype or ("auto" if self.parity.on("softmax-dtype") else ""),
            )
            self._refiller = Refiller(self._loaded)

    def respond(self, requests: list[Request]) -> list[Response]:
        """Answer a batch. Requests that differ in more than seeds are computed separately."""
        responses: list[Response | None] = [None] * len(requests)
        for positions in _alike(requests):
            answered = self._respond([requests[position] for position in positions])
            for position, response in zip(positions, answered, strict=True):
                responses[position] = response
        return [response for response in responses if response is not None]

    def close(self) -> None:
        """Free the weights."""
        if self._loaded is not None:
            self._loaded = self._encoder = self._scorer = self._refiller = None
            free_memory()

    def _respond(self, requests: list[Request]) -> Sequence[Response]:
        parameters = requests[0].parameters
        if not self.traits.requests[parameters.kind]:
            what = f"The model {self._settings.name!r} cannot answer {parameters.kind!r}."
            return [Response(error=Error("permanent", what)) for _ in requests]
        assert self._loaded is not None
        assert self._encoder is not None
        assert self._scorer is not None
        with quiet_transformers():
            if isinstance(parameters, GenerateImage):
                return draw(self._loaded, self._encoder, requests)
            if isinstance(parameters, Generate):
                written = self._written(requests, parameters)
                return [self._with_calls(response, parameters) for response in written]
            return self._scorer.score(requests)

    def _written(self, requests: Sequence[Request], parameters: Generate) -> list[Response]:
        assert self._loaded is not None
        assert self._encoder is not None
        assert self._refiller is not None
        at_once, decoding = self.at_once or len(requests), decoding_of(parameters)
        if len(requests) > 1 and self._refiller.takes(decoding):
            return answer_in_turn(self._loaded, self._encoder, self._refiller, requests, decoding, at_once=at_once)
        return [
            response
            for start in range(0, len(requests), at_once)
            for response in answer(self._loaded, self._encoder, requests[start : start + at_once])
        ]

    def _with_calls(self, response: Response, parameters: Generate) -> Response:
        """An answer whose calls of tools are read from its text."""
        family = self.traits.tool_parser
        if not family or not parameters.tools or parameters.tool_choice == "none":
            return response
        tags = self._tags()
        outputs = tuple(with_calls(output, family, parameters.tools, tags) for output in response.outputs)
        return replace(response, outputs=outputs)

    @property
    def _shows_whole(self) -> bool:
        """True if its processor gets videos as such, and not as images."""
        accepts = self._kind.modalities["video"]
        return accepts and self._settings.shows_videos_whole(accepts=accepts)

    def _tags(self) -> Tags | None:
        """The tags around reasoning in its answers: those of the run, else the known ones and those of the template."""
        return tags_in_force(None, self.reasoning_tags, self.traits.reasoning_tags)

    def _traits(self) -> ModelTraits:
        kind = self._kind
        modalities = dict(kind.modalities)
        if self._settings.video_as != "video":
            modalities["video"] = modalities["video"] or modalities["image"]
        template = template_of(*self._processing)
        family = family_of(template)
        return ModelTraits(
            kind.family,
            calls_tools=bool(family),
            tool_parser=family,
            no_tools="" if family else _why_no_tools(template),
            requests={"generate": True, "loglikelihood": True, "generate_image": can_draw(self._config)},
            modalities=modalities,
            whole_videos=self._shows_whole,
            is_completion=not kind.is_speech and not template,
            reasoning_tags=tags_in_template(template),
        )


def _why_no_tools(template: Any) -> str:
    """Return why a checkpoint with this chat template can be offered no tools, as the end of a sentence."""
    if isinstance(template, str) and shows_tools(template):
        return f"its chat template asks for calls in a form that is not read (known: {', '.join(READERS)})"
    return "its chat template shows no tools"


def _seeing(kind: CheckpointKind, processor: Any) -> CheckpointKind:
    """A kind that accepts videos if the processor does."""
    accepts = accepts_videos(processor, is_named=kind.modalities["video"])
    return replace(kind, modalities={**kind.modalities, "video": accepts})


def _alike(requests: Sequence[Request]) -> list[list[int]]:
    """The positions of requests whose parameters differ only in seeds or continuations, in groups."""
    groups: list[tuple[Any, list[int]]] = []
    for position, request in enumerate(requests):
        parameters = request.parameters
        settings: Any = (
            replace(parameters, seed=None, repeat=0)
            if isinstance(parameters, (Generate, GenerateImage))
            else replace(parameters, continuations=())
        )
        members = next((members for shared, members in groups if shared == settings), None)
        if members is None:
            groups.append((settings, members := []))
        members.append(position)
    return [members for _, members in groups]


def _within(subfolder: str) -> str:
    """The name of a folder of a repository, as the hub writes it.

    Raises:
        PlanError: if it leads out of the repository.
    """
    parts = [part for part in subfolder.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PlanError(
            f"The subfolder {subfolder!r} is not a folder within a repository.", where="--model-args subfolder"
        )
    return "/".join(parts)


def _device_map(value: Any) -> str | Mapping[str, Any]:
    return value if isinstance(value, str) and not value.startswith("{") else as_mapping(value, "device_map")


def _weights_digest(name: str) -> str:
    folder = Path(name)
    return checkpoint_digest(folder) if name and folder.is_dir() else ""
