"""Loading of a checkpoint: network, processor or tokenizer, adapter, quantisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MethodType
from typing import Any

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.core.names.registry import missing_package, processor_of
from polymeter.core.request import Tags
from polymeter.core.text.phrases import first_of
from polymeter.models.hf.answers.decoding import without_decoding_defaults
from polymeter.models.hf.config import CheckpointKind
from polymeter.models.hf.settings import HfSettings
from polymeter.reading.reasoning import CHANNEL_MARKS, REASONING_TAGS

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LoadedCheckpoint:
    """A checkpoint in memory, ready to answer.

    Attributes:
        network: The ``PreTrainedModel`` (inside a ``PeftModel`` if there is an adapter), in evaluation mode.
        processor: The processor of a model that accepts media; ``None`` for one of text alone.
        tokenizer: The tokenizer; it pads on the left, for an encoder on the right.
        config: The network's configuration.
        kind: The kind of model.
        settings: How it was read.
        device: Where inputs go.
        dtype: Of the network; floating inputs are cast to it.
        is_chat: Whether there is a chat template.
        eos_ids: Tokens that end an answer.
        pad_id: The padding token.
        max_length: Maximum tokens of prompt and answer together; 0: unlimited.
        reasoning_tags: The tags around reasoning in its answers; ``None``: those that are known.
    """

    network: Any
    processor: Any
    tokenizer: Any
    config: Any
    kind: CheckpointKind
    settings: HfSettings
    device: Any
    dtype: Any
    is_chat: bool
    eos_ids: tuple[int, ...]
    pad_id: int
    max_length: int
    reasoning_tags: Tags | None = None
    tag_tokens: Mapping[int, str] = field(default_factory=dict)
    """Special tokens that are tags around reasoning: their texts, by number. Decoding would leave them out."""

    def text_of(self, tokens: Sequence[int]) -> str:
        """The text of generated tokens without special tokens, but with those that are tags around reasoning."""
        pieces, piece = [], list[int]()
        for token in tokens if self.tag_tokens else ():
            if token in self.tag_tokens:
                pieces += [self.tokenizer.decode(piece, skip_special_tokens=True), self.tag_tokens[token]]
                piece = []
            else:
                piece.append(token)
        last = piece if self.tag_tokens else list(tokens)
        return "".join([*pieces, self.tokenizer.decode(last, skip_special_tokens=True)])


def load_network(
    settings: HfSettings, config: Any, kind: CheckpointKind, processing: tuple[Any, Any] | None = None
) -> LoadedCheckpoint:
    """Read weights and processor.

    Args:
        settings: How to read them.
        config: The checkpoint's configuration.
        kind: The result of ``kind_of`` for it.
        processing: The result of ``load_processor``, if it was already called.

    Raises:
        PlanError: if a file is missing or broken, weights are missing, or a package that they need is not installed.
    """
    processor, tokenizer = processing or load_processor(settings, kind)
    network = _load_weights(settings, config, kind)
    if settings.adapter:
        network = _with_adapter(network, settings)
    network.eval()
    embeddings = network.get_input_embeddings()
    device = embeddings.weight.device if embeddings is not None else network.device
    eos_ids = _eos_ids(network, tokenizer)
    pad_id = tokenizer.pad_token_id
    if pad_id is None:
        tokenizer.pad_token_id = pad_id = eos_ids[0] if eos_ids else 0
    return LoadedCheckpoint(
        network,
        processor,
        tokenizer,
        network.config,
        kind,
        settings,
        device,
        network.dtype,
        bool(template_of(processor, tokenizer)),
        eos_ids,
        pad_id,
        settings.max_length or kind.max_length,
    )


def tag_tokens(tokenizer: Any, tags: Tags | None) -> dict[int, str]:
    """The special tokens of a tokenizer that are tags around reasoning, or marks of gpt-oss's channels."""
    wanted = {tag.casefold() for pair in (REASONING_TAGS if tags is None else tags) for tag in pair if tag}
    texts = {str(text) for text in tokenizer.all_special_tokens}
    wanted |= CHANNEL_MARKS if texts >= CHANNEL_MARKS else set()
    return {tokenizer.convert_tokens_to_ids(text): text for text in texts if text.casefold() in wanted}


def check_places(settings: HfSettings) -> None:
    """Check the device and the adapter that the settings name, before anything is read.

    Raises:
        PlanError: if one of them does not exist.
    """
    import torch

    if settings.device:
        with boundary(PlanError, f"Using the device {settings.device!r}", hint="Known: cpu, cuda, cuda:1, mps, …"):
            torch.empty(0, device=settings.device)
    adapter = Path(settings.adapter)
    is_path = adapter.is_absolute() or adapter.is_dir() or settings.adapter.startswith((".", "~"))
    if settings.adapter and is_path and not (adapter / "adapter_config.json").is_file():
        raise PlanError(
            f"The folder {settings.adapter!r} is not an adapter: it has no adapter_config.json.",
            where="--model-args adapter",
            hint="It must be a PEFT adapter's folder.",
        )


def load_processor(settings: HfSettings, kind: CheckpointKind) -> tuple[Any, Any]:
    """The processor (``None`` for a model of text alone) and its tokenizer.

    Raises:
        PlanError: if they cannot be read, a package that they need is missing, or they do not accept one of the
            arguments.
    """
    args = dict(settings.processor_args)
    processor = None
    if any(kind.modalities[name] for name in ("image", "audio", "video")):
        _check_no_tokenizer(settings)
        processor = _read_processor(settings, args)
        tokenizer = processor.tokenizer
    else:
        tokenizer = _read_tokenizer(settings, args)
    _check_args(args, processor or tokenizer)
    if settings.prefix_token_id is not None and settings.prefix_token_id >= len(tokenizer):
        raise PlanError(
            f"The tokenizer has {len(tokenizer)} tokens. None has the number {settings.prefix_token_id}.",
            where="--model-args prefix_token_id",
        )
    # An encoder may count positions from the left edge, padding included.
    tokenizer.padding_side = "right" if kind.is_encoder_decoder else "left"
    if settings.chat_template:
        (processor or tokenizer).chat_template = settings.chat_template
    return processor, tokenizer


def template_of(processor: Any, tokenizer: Any) -> Any:
    """The chat template of a processor, else of its tokenizer, if there is one."""
    return getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None)


def _read_tokenizer(settings: HfSettings, args: Mapping[str, Any]) -> Any:
    from transformers import AutoTokenizer

    name, wanted = settings.tokenizer or settings.name, settings.add_bos_token
    adds = {} if wanted is None else {"add_bos_token": wanted}
    # Another tokenizer lies at the top of its own repository.
    source = {**settings.source, "subfolder": ""} if settings.tokenizer else settings.source
    with boundary(PlanError, f"Reading the tokenizer of {name!r}"):
        tokenizer = AutoTokenizer.from_pretrained(name, **source, **adds, **args)
    if wanted is not None and wanted is not (tokenizer.bos_token_id in tokenizer("a")["input_ids"][:1]):
        what = "puts its first token before every text" if wanted is False else "puts no token before a text"
        raise PlanError(
            f"The tokenizer of {name!r} {what} with any value of add_bos_token.",
            where="--model-args add_bos_token",
            hint="Leave add_bos_token out.",
        )
    return tokenizer


def _check_no_tokenizer(settings: HfSettings) -> None:
    """Refuse settings of a tokenizer if a processor has its own, which knows the tokens of media."""
    told = [name for name in ("tokenizer", "add_bos_token") if getattr(settings, name) not in ("", None)]
    if told:
        raise PlanError(
            f"The checkpoint {settings.name!r} accepts media, so it uses the tokenizer of its processor.",
            where=f"--model-args {told[0]}",
            hint=f"Leave {told[0]} out.",
        )


def _read_processor(settings: HfSettings, args: Mapping[str, Any]) -> Any:
    from transformers import AutoProcessor

    with processor_of(repr(settings.name)), boundary(PlanError, f"Reading the processor of {settings.name!r}"):
        processor = AutoProcessor.from_pretrained(settings.name, **settings.source, **args)
    if not hasattr(processor, "tokenizer"):
        raise PlanError(
            f"The checkpoint {settings.name!r} accepts media, but it has no processor.",
            where="--model",
            hint="Add its processor_config.json or preprocessor_config.json.",
        )
    return processor


def _load_weights(settings: HfSettings, config: Any, kind: CheckpointKind) -> Any:
    import transformers

    arguments: dict[str, Any] = {**settings.source, "dtype": settings.dtype, "config": config}
    if settings.attn_implementation:
        arguments["attn_implementation"] = settings.attn_implementation
    if settings.device_map:
        arguments["device_map"] = settings.device_map
    if settings.quantization:
        arguments["quantization_config"] = _quantization(settings.quantization)
    auto_class = getattr(transformers, kind.auto_class)
    with boundary(PlanError, f"Reading the weights of {settings.name!r}"):
        network, loading = auto_class.from_pretrained(settings.name, output_loading_info=True, **arguments)
    _check_weights(loading, settings)
    without_decoding_defaults(network.generation_config)
    if kind.family == "janus":
        # Its own generate() ignores logits processors for answers in text.
        network.generate = MethodType(transformers.GenerationMixin.generate, network)
    if settings.device_map or settings.quantization:
        return network
    with boundary(PlanError, f"Moving the model to {settings.device or 'the accelerator'!r}"):
        return network.to(settings.device or best_device())


def best_device() -> str:
    """The first accelerator, else the CPU."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _quantization(fields: Mapping[str, Any]) -> Any:
    from transformers.quantizers.auto import AutoQuantizationConfig

    with boundary(PlanError, "Reading the quantisation", hint="It needs quant_method (bitsandbytes, gptq, awq, …)."):
        return AutoQuantizationConfig.from_dict(dict(fields))


def _with_adapter(network: Any, settings: HfSettings) -> Any:
    if find_spec("peft") is None:
        raise missing_package("peft", "the adapter", "lora")
    from peft import PeftModel

    with boundary(PlanError, f"Reading the adapter {settings.adapter!r}", hint="It must be a PEFT adapter's folder."):
        return PeftModel.from_pretrained(network, settings.adapter)


def _check_weights(loading: Mapping[str, Any], settings: HfSettings) -> None:
    """Refuse a network that would answer with random weights."""
    mismatched = [item[0] if isinstance(item, (tuple, list)) else item for item in loading.get("mismatched_keys", ())]
    missing = sorted({*loading.get("missing_keys", ()), *mismatched})
    if missing and not settings.allow_missing_weights:
        names = first_of(missing, _SHOWN)
        raise PlanError(
            f"The checkpoint {settings.name!r} has no values for {len(missing)} of the network's weights: {names}.",
            where="--model",
            hint="They would be random. To continue with random weights, set allow_missing_weights=true.",
        )


def _check_args(args: Mapping[str, Any], processor: Any) -> None:
    """Refuse processor arguments that nothing reads: Transformers silently ignores them."""
    import inspect

    parts = [processor, *(getattr(processor, name, None) for name in (*_PARTS, "tokenizer"))]
    known: set[str] = set()
    for part in parts:
        if part is None:
            continue
        known.update(inspect.signature(type(part).__init__).parameters)
        known.update(name for name in vars(part) if not name.startswith("_"))
        known.update(getattr(getattr(type(part), "valid_kwargs", None), "__annotations__", ()))
    for name in args:
        if name not in known:
            raise PlanError(
                f"The {type(processor).__name__} has no argument {name!r}.",
                where="--model-args processor_args",
                hint=did_you_mean(name, known),
            )


_PARTS = ("image_processor", "video_processor", "feature_extractor", "audio_processor")


def _eos_ids(network: Any, tokenizer: Any) -> tuple[int, ...]:
    eos_ids = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    if eos_ids is None:
        eos_ids = tokenizer.eos_token_id
    if eos_ids is None:
        return ()
    return tuple(eos_ids) if isinstance(eos_ids, (list, tuple)) else (int(eos_ids),)
