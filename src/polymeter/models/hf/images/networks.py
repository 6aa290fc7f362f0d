"""Images from networks that write them as tokens: one batch whose requests differ only in their seeds.

The tokens of each row are sampled with its own noise (``RowNoise``), and each row's tokens are decoded to pixels alone,
because kernels round differently for different numbers of rows. So an image depends only on its prompt and its seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from polymeter.core.errors import ModelError, PolymeterError, boundary, did_you_mean
from polymeter.core.request import Error, Generate, GenerateImage, Output, Request, Response, Usage
from polymeter.core.settings.repeats import seed_of
from polymeter.models.hf.answers.decoding import RowNoise, decoding_of, warper_names
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt
from polymeter.models.memory import within_memory

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

PAINTERS = {
    "JanusForConditionalGeneration": "polymeter.models.hf.images.janus:Janus",
    "Emu3ForConditionalGeneration": "polymeter.models.hf.images.emu3:Emu3",
}
"""Networks of Transformers that draw, and the code for each. Chameleon and others only read images."""


@dataclass(frozen=True, slots=True)
class ImageTokenSettings:
    """The meaning of parameters for images.

    Attributes:
        size: Width and height in pixels; ``None``: the network's own.
        guidance: Scale of classifier-free guidance; 1: the scores with the prompt are used unchanged.
        warpers: Settings that shape the distribution that tokens are sampled from.
        is_sampled: Whether they are sampled; else the likeliest is taken.
        negative: The negative prompt, instead of an empty one.
    """

    size: tuple[int, int] | None
    guidance: float
    warpers: Mapping[str, Any] = field(default_factory=dict)
    is_sampled: bool = True
    negative: str = ""


class Painter(Protocol):
    """The way in which one architecture draws.

    Attributes:
        guidance: Default guidance: the value that its authors use for their published images.
        sampling: Default settings of the distribution, likewise.
        takes_negative: Whether it accepts a negative prompt.
        negative: Default negative prompt, likewise.
    """

    guidance: float
    sampling: Mapping[str, Any]
    takes_negative: bool
    negative: str

    def __init__(self, loaded: LoadedCheckpoint) -> None: ...

    @staticmethod
    def size_of(config: Any) -> tuple[int, int] | None:
        """Width and height of a checkpoint's images, in pixels; ``None``: any size can be requested."""

    def read(self, encoder: Encoder, request: Request) -> ReadPrompt:
        """A request's text and media."""

    def n_tokens(self, drawing: ImageTokenSettings) -> int:
        """Return the number of tokens of an image."""

    def encode(self, encoder: Encoder, prompts: Sequence[ReadPrompt], drawing: ImageTokenSettings) -> Batch:
        """The tensors of several prompts, open for an image."""

    def tokens(self, batch: Batch, drawing: ImageTokenSettings, noise: RowNoise | None) -> Any:
        """One image per row, as a tensor of shape ``(rows, tokens)``."""

    def image(self, tokens: Any, drawing: ImageTokenSettings) -> PILImage:
        """The image of one row's tokens, shape ``(1, tokens)``."""


def can_draw(config: Any) -> bool:
    """Return whether the checkpoint that a configuration describes draws images in Transformers."""
    return _architecture(config) in PAINTERS


def known_image_settings(config: Any) -> frozenset[str]:
    """The settings by which this checkpoint draws; none if it does not."""
    if not can_draw(config):
        return frozenset()
    negative = ["negative_prompt"] if _painter(config).takes_negative else []
    return frozenset({"guidance_scale", "do_sample", *warper_names(), *negative})


def ignored_image_settings(parameters: GenerateImage, config: Any) -> dict[str, str]:
    """Settings that have no effect for this checkpoint, each with the reason."""
    if not can_draw(config):
        return {}
    painter, known = _painter(config), known_image_settings(config)
    reasons = {
        name: f"{painter.__name__} has no such setting. {did_you_mean(name, known)}".rstrip()
        for name, value in parameters.extra.items()
        if value is not None and name not in known
    }
    size = painter.size_of(config)
    if size is not None and parameters.size not in (None, size):
        reasons["size"] = f"{painter.__name__} draws images of {size[0]} x {size[1]} pixels."
    return reasons


def draw(loaded: LoadedCheckpoint, encoder: Encoder, requests: Sequence[Request]) -> list[Response]:
    """Answer requests for images whose parameters differ only in seeds.

    A request that cannot be read or is too long gets an error; the others are answered.

    Raises:
        ModelError: if memory ran out or the network failed, which concerns all of them.
    """
    painter = _painter(loaded.config)(loaded)
    parameters = requests[0].parameters
    assert isinstance(parameters, GenerateImage)
    responses: list[Response | None] = [None] * len(requests)
    prompts: dict[int, ReadPrompt] = {}
    try:
        drawing = drawing_of(parameters, painter)
        wanted = painter.n_tokens(drawing)
    except PolymeterError as error:
        return [Response.failed(error)] * len(requests)
    for position, request in enumerate(requests):
        try:
            prompts[position] = painter.read(encoder, request)
        except PolymeterError as error:
            responses[position] = Response.failed(error, "data")
    batch, positions = _encoded(painter, loaded, encoder, prompts, drawing, wanted, responses)
    if batch is not None:
        seeds = [seed_of(requests[position].parameters) for position in positions]
        for position, output in zip(positions, _draw(painter, loaded, batch, drawing, seeds), strict=True):
            responses[position] = Response((output,))
    return [response for response in responses if response is not None]


def drawing_of(parameters: GenerateImage, painter: Painter) -> ImageTokenSettings:
    """The meaning of parameters: tokens are sampled, unless ``do_sample`` is false or the temperature is 0.

    Raises:
        ModelError: if a setting is of the wrong type.
    """
    values = {**painter.sampling, **{name: value for name, value in parameters.extra.items() if value is not None}}
    sampling = {name: values[name] for name in ("do_sample", *warper_names()) if name in values}
    with boundary(ModelError, "Reading the generation settings"):
        decoding = decoding_of(
            Generate(
                temperature=float(sampling.pop("temperature", 1.0)),
                top_p=sampling.pop("top_p", None),
                extra={"do_sample": True, **sampling},
            )
        )
        guidance = float(values.get("guidance_scale", painter.guidance))
    negative = str(values.get("negative_prompt", painter.negative)) if painter.takes_negative else ""
    return ImageTokenSettings(parameters.size, guidance, decoding.warpers, decoding.is_sampled, negative)


def guided(scores: Any, guidance: float) -> Any:
    """Classifier-free guidance (Ho and Salimans, 2022).

    Args:
        scores: Of rows with their prompts, followed by the same rows without: shape ``(2 × rows, vocabulary)``.
        guidance: The scale.

    Returns:
        Shape ``(rows, vocabulary)``.
    """
    with_prompt, without = scores.chunk(2)
    return without + guidance * (with_prompt - without)


def _encoded(
    painter: Painter,
    loaded: LoadedCheckpoint,
    encoder: Encoder,
    prompts: Mapping[int, ReadPrompt],
    drawing: ImageTokenSettings,
    wanted: int,
    responses: list[Response | None],
) -> tuple[Batch | None, list[int]]:
    """The tensors of all prompts that leave room for an image; the others' responses are filled in."""
    if not prompts:
        return None, []
    batch = within_memory(lambda: painter.encode(encoder, list(prompts.values()), drawing))
    room = loaded.max_length
    fitting = {}
    for position, n_tokens in zip(prompts, batch.n_tokens, strict=True):
        if room and n_tokens + wanted > room:
            what = f"The prompt has {n_tokens} tokens and the image has {wanted}: together more than {room}."
            responses[position] = Response(error=Error("permanent", what))
        else:
            fitting[position] = prompts[position]
    if len(fitting) == len(prompts):
        return batch, list(prompts)
    return _encoded(painter, loaded, encoder, fitting, drawing, wanted, responses)


def _draw(
    painter: Painter, loaded: LoadedCheckpoint, batch: Batch, drawing: ImageTokenSettings, seeds: Sequence[int]
) -> list[Output]:
    """One image per row."""
    import torch

    with boundary(ModelError, "The generation settings"):
        noise = RowNoise(drawing.warpers, seeds, loaded.device) if drawing.is_sampled else None
    with boundary(ModelError, "Drawing"), torch.inference_mode():
        tokens = within_memory(lambda: painter.tokens(batch, drawing, noise))
        images = within_memory(lambda: [painter.image(row, drawing) for row in tokens.split(1)])
    return [
        Output(images=(image,), finish_reason="stop", usage=Usage(n_input, int(tokens.shape[1])))
        for image, n_input in zip(images, batch.n_tokens, strict=True)
    ]


def _architecture(config: Any) -> str:
    return next(iter(getattr(config, "architectures", None) or ()), "")


def _painter(config: Any) -> type[Painter]:
    module, _, name = PAINTERS[_architecture(config)].partition(":")
    painter: type[Painter] = getattr(import_module(module), name)
    return painter
