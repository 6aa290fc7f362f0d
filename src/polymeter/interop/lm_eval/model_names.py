"""lm-eval's model names: the backend that runs each, and its arguments under our names.

Every argument of a name has one fate. It becomes an argument of the backend, of its server or an option of the run; it
has no effect here, with a note of the reason; or it is refused with what to do.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.registries import MODELS
from polymeter.interop.lm_eval.models.base import LM_MODELS

_WHERE = "--model_args"
_NAME_KEYS = ("pretrained", "model")
_ENDPOINTS = ("/chat/completions", "/completions", "/messages")


@dataclass(slots=True)
class LmEvalRoute:
    """One of our models in place of one that lm-eval names.

    Attributes:
        spec: The model as Polymeter names it.
        arguments: Its arguments.
        options: Options of the run that its arguments set.
        server_words: The arguments of a server that the run starts.
        think_end: The token behind which answers begin; empty: they are whole.
        answer_length: The length of an answer in tokens where a task states none; ``None``: lm-eval's own.
        notes: What the user should know.
    """

    spec: str
    arguments: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    server_words: list[str] = field(default_factory=list)
    think_end: str = ""
    answer_length: int | None = None
    notes: list[str] = field(default_factory=list)


Rule = Callable[[LmEvalRoute, str, Any], None]
"""A rule for an argument: ``(model, name, value)``."""


def _as(name: str) -> Rule:
    """An argument of the backend of that name."""
    return lambda routed, _, value: routed.arguments.__setitem__(name, value)


def _option(name: str) -> Rule:
    """An option of the run."""
    return lambda routed, _, value: routed.options.__setitem__(name, value)


def _noted(why: str, *neutral: Any) -> Rule:
    """Without effect, which is said unless the value is one of those that mean nothing."""

    def note(routed: LmEvalRoute, name: str, value: Any) -> None:
        if value is not None and value not in neutral:
            routed.notes.append(f"The model argument {name!r} has no effect: {why}.")

    return note


def _refused(why: str, hint: str, *neutral: Any) -> Rule:
    """Refused, unless the value is one of those that mean nothing."""

    def refuse(routed: LmEvalRoute, name: str, value: Any) -> None:
        if value is not None and value not in neutral:
            raise PlanError(f"The model argument {name}={value!r} cannot be honoured: {why}.", where=_WHERE, hint=hint)

    return refuse


def _template_variable(routed: LmEvalRoute, name: str, value: Any) -> None:
    if value is not None:
        routed.arguments.setdefault("chat_template_args", {})[name] = value


def _template_variables(routed: LmEvalRoute, name: str, value: Any) -> None:
    if value:
        given = json.loads(value) if isinstance(value, str) else dict(value)
        routed.arguments.setdefault("chat_template_args", {}).update(given)


def _quantised(routed: LmEvalRoute, name: str, value: Any) -> None:
    if value:
        routed.arguments.setdefault("quantization", {"quant_method": "bitsandbytes"})[name] = value


def _think_end(routed: LmEvalRoute, name: str, value: Any) -> None:
    if isinstance(value, int) and not isinstance(value, bool):
        raise PlanError(
            f"The model argument {name}={value} is the number of a token.",
            where=_WHERE,
            hint="Write the token's text, such as think_end_token=</think>.",
        )
    routed.think_end = str(value or "")


def _answer_length(routed: LmEvalRoute, name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise PlanError(f"The model argument {name}={value!r} is not a number of tokens.", where=_WHERE)
    routed.answer_length = value


def _told(name: str) -> Rule:
    """An argument of the backend of that name, unless the value is missing."""
    return lambda routed, _, value: None if value in (None, "") else _as(name)(routed, name, value)


def _subfolder(routed: LmEvalRoute, name: str, value: Any) -> None:
    """The part of a checkpoint's folder on this machine, or of its repository on the hub."""
    if not value:
        return
    backend, _, folder = routed.spec.partition(":")
    if not Path(folder).is_dir():
        routed.arguments[name] = str(value)
        return
    if not (Path(folder) / str(value)).is_dir():
        raise PlanError(
            f"The model argument {name}={value!r} cannot be honoured: there is no folder {folder}/{value}.",
            where=_WHERE,
            hint="Check the path.",
        )
    routed.spec = f"{backend}:{Path(folder) / str(value)}"


def _flag(name: str) -> Rule:
    """An argument of the server's command line."""

    def add(routed: LmEvalRoute, _: str, value: Any) -> None:
        if value is True:
            routed.server_words.append(f"--{name}")
        elif value is not None and value is not False:
            text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
            routed.server_words += [f"--{name}", text]

    return add


def _any_flag(routed: LmEvalRoute, name: str, value: Any) -> None:
    _flag(name.replace("_", "-"))(routed, name, value)


def _address(routed: LmEvalRoute, name: str, value: Any) -> None:
    """An address up to ``/v1``; there it is that of one kind of request."""
    text = str(value or "").rstrip("/")
    for ending in _ENDPOINTS:
        text = text.removesuffix(ending)
    if text:
        routed.arguments["base_url"] = text


def _gguf_address(routed: LmEvalRoute, name: str, value: Any) -> None:
    _address(routed, name, value)
    base = routed.arguments.get("base_url", "")
    routed.arguments["base_url"] = base if base.endswith("/v1") else f"{base}/v1"


def _token(routed: LmEvalRoute, name: str, value: Any) -> None:
    if value:
        routed.arguments.setdefault("headers", {})["Authorization"] = f"Bearer {value}"


def _template_kwargs(routed: LmEvalRoute, name: str, value: Any) -> None:
    """Variables of the chat template of a server."""
    if value is not None:
        given = {name: value} if name == "enable_thinking" else dict(value)
        routed.arguments.setdefault("extra_body", {}).setdefault("chat_template_kwargs", {}).update(given)


_ENGINE = "the engine orders, batches and keeps requests itself"
_SERVER_TOKENS = "texts are sent, and the server turns them into tokens"
_SHARED: Mapping[str, Rule] = {
    "batch_size": _option("batch_size"),
    "max_batch_size": _noted(_ENGINE),
    "think_end_token": _think_end,
}
_HF: Mapping[str, Rule] = {
    **_SHARED,
    "revision": lambda routed, name, value: None if value in (None, "main") else _as("revision")(routed, name, value),
    "dtype": _as("dtype"),
    "device": _as("device"),
    "device_map": _as("device_map"),
    "max_length": _as("max_length"),
    "trust_remote_code": _as("trust_remote_code"),
    "peft": _as("adapter"),
    "attn_implementation": _as("attn_implementation"),
    "quantization": _as("quantization"),
    "load_in_4bit": _quantised,
    "load_in_8bit": _quantised,
    "bnb_4bit_compute_dtype": _quantised,
    "bnb_4bit_quant_type": _quantised,
    "parallelize": lambda routed, _, value: routed.arguments.update({"device_map": "auto"} if value else {}),
    "chat_template_args": _template_variables,
    "enable_thinking": _template_variable,
    "add_bos_token": _told("add_bos_token"),
    "min_pixels": _as("min_pixels"),
    "max_pixels": _as("max_pixels"),
    "image_token_id": _noted("the processor knows its own"),
    "image_string": _noted("the processor knows its own"),
    "interleave": _noted("images stand where the task puts them"),
    "max_images": _noted("a task shows its images"),
    "tokenizer": _told("tokenizer"),
    "truncation": _noted("what is longer than the model's window is cut on the left"),
    "logits_cache": _noted(_ENGINE),
    "offload_folder": _noted("device_map decides what is offloaded"),
    "use_fast_tokenizer": _refused("Transformers' fast tokenizer is used", "Leave it out.", True),
    "softmax_dtype": _told("softmax_dtype"),
    "backend": _refused("the checkpoint states its own type", "Leave it out.", "default", "causal", "seq2seq"),
    "subfolder": _subfolder,
    "prefix_token_id": _told("prefix_token_id"),
    "low_cpu_mem_usage": _noted("weights are read into memory once", True, False),
    "mixed_precision_dtype": _refused("weights compute in their own type", "dtype=bfloat16 loads them so.", ""),
    "delta": _refused("delta weights are not applied", "Merge them into a checkpoint first.", ""),
    "tp_plan": _refused("one process holds the model", "Use --model vllm with tensor_parallel_size, or device_map."),
    "autogptq": _refused("Transformers reads GPTQ by itself", "Leave it out.", False),
    "gptqmodel": _refused("Transformers reads GPTQ by itself", "Leave it out.", False),
    "gguf_file": _refused("llama.cpp runs GGUF files", "Use --model llamacpp:FILE.gguf."),
    "max_memory_per_gpu": _refused("device_map shares the weights out", "Leave it out."),
    "max_cpu_memory": _refused("device_map shares the weights out", "Leave it out."),
}
_VLLM: Mapping[str, Rule] = {
    **_SHARED,
    "max_length": _flag("max-model-len"),
    "data_parallel_size": lambda routed, _, value: routed.options.update({"replicas": value} if value != 1 else {}),
    "tensor_parallel_size": _flag("tensor-parallel-size"),
    "max_gen_toks": _answer_length,
    "enable_thinking": _template_kwargs,
    "chat_template_args": _template_kwargs,
    "truncation_side": _refused("the server takes what fits its window", "max_model_len=N sets it.", "left"),
    "add_bos_token": _noted(_SERVER_TOKENS),
    "prefix_token_id": _noted(_SERVER_TOKENS),
    "device": _noted("CUDA_VISIBLE_DEVICES selects the GPUs that a server sees"),
    "swap_space": _noted("vLLM has it no more"),
    "lora_local_path": _refused("the server would have to be asked for another name", "--model vllm:NAME takes "
                                "--server-args '--enable-lora --lora-modules …'."),
}  # fmt: skip
_SGLANG: Mapping[str, Rule] = {
    **_SHARED,
    "max_model_len": _flag("context-length"),
    "max_gen_toks": _answer_length,
    "add_bos_token": _noted(_SERVER_TOKENS),
    "prefix_token_id": _noted(_SERVER_TOKENS),
    "tp_size": _flag("tp-size"),
    "dp_size": lambda routed, _, value: routed.options.update({"replicas": value} if value != 1 else {}),
}
_API: Mapping[str, Rule] = {
    **_SHARED,
    "base_url": _address,
    "num_concurrent": _option("concurrency"),
    "max_retries": _option("max_retries"),
    "timeout": _option("timeout_s"),
    "header": _as("headers"),
    "auth_token": _token,
    "max_gen_toks": _answer_length,
    "enable_thinking": _template_kwargs,
    "chat_template_args": _template_kwargs,
    "seed": _noted("each request has a seed of its own", 1234),
    "max_length": _noted("the endpoint's own limit holds", 2048),
    **dict.fromkeys(
        (
            "tokenizer", "tokenizer_backend", "tokenized_requests", "add_bos_token", "custom_prefix_token_id",
            "truncate", "use_fast_tokenizer", "trust_remote_code", "revision", "eos_string",
        ),
        _noted(_SERVER_TOKENS, False, True, "main", "auto", "none", "None", "huggingface"),
    ),
    "max_images": _noted("a task shows its images"),
    "verify_certificate": _refused("certificates are verified", "Set SSL_CERT_FILE to one that you trust.", True),
    "ca_cert_path": _refused("certificates are read from the environment", "Set SSL_CERT_FILE to this file."),
}  # fmt: skip
_DUMMY: Mapping[str, Rule] = {**_SHARED, "write_out": _noted("'polymeter show RUN' shows requests", False)}

_PLAIN, _CHAT = {"api": "completions"}, {"api": "chat"}


@dataclass(frozen=True, slots=True)
class _Name:
    """One of lm-eval's names.

    Attributes:
        backend: The backend that runs it.
        rules: What becomes of its arguments.
        fixed: Further arguments of the backend.
        takes_any: What becomes of any other argument; ``None``: it is refused.
        is_served: Whether a server takes texts, or conversations where a chat template is applied.
    """

    backend: str
    rules: Mapping[str, Rule]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    takes_any: Rule | None = None
    is_served: bool = False


_HF_NAME = _Name("hf", _HF, {"cut_prompts": True})
_NAMES: Mapping[str, _Name] = {
    **dict.fromkeys(("hf", "hf-auto", "huggingface", "hf-multimodal", "hf-mistral3", "hf-audiolm-qwen"), _HF_NAME),
    "vllm": _Name("vllm", _VLLM, takes_any=_any_flag, is_served=True),
    "vllm-vlm": _Name("vllm", {**_VLLM, "max_images": _noted("a task shows its images")}, _CHAT, _any_flag),
    "sglang": _Name("sglang", _SGLANG, takes_any=_any_flag, is_served=True),
    "local-completions": _Name("openai", _API, is_served=True),
    "openai-completions": _Name("openai", _API, _PLAIN),
    "local-chat-completions": _Name("openai", _API, _CHAT),
    "openai-chat-completions": _Name("openai", _API, _CHAT),
    **dict.fromkeys(("anthropic-chat", "anthropic-chat-completions"), _Name("anthropic", _API)),
    **dict.fromkeys(("gguf", "ggml"), _Name("openai", {**_API, "base_url": _gguf_address}, _PLAIN)),
    "dummy": _Name("mock", _DUMMY, {"answer": "lol"}, _noted("the model answers the same to everything")),
}
_START = "Start its server, then use --model local-completions --model_args model=NAME,base_url=http://HOST:PORT/v1."
_WRAP = "Name the file of a subclass of LM with --model_path: lm_eval/models/{file}.py of an installed lm_eval works."
_ELSEWHERE: Mapping[str, str] = {
    "anthropic-completions": "Anthropic has no text completions any more: use --model anthropic-chat.",
    "sglang-generate": "Use --model sglang, which starts the server, or local-completions with its address.",
    **dict.fromkeys(
        ("litellm", "litellm-chat", "litellm-chat-completions"),
        "Use --model openai-chat-completions, anthropic-chat or gemini:NAME; a LiteLLM proxy is "
        "local-chat-completions with its base_url.",
    ),
    **dict.fromkeys(("nemo_lm", "megatron_lm", "trtllm", "textsynth", "watsonx_llm"), _START),
    "mamba_ssm": "Use --model hf with a checkpoint that Transformers reads (state-spaces/mamba-…-hf).",
    "ipex": _WRAP.format(file="optimum_ipex"),
    "openvino": _WRAP.format(file="optimum_lm"),
    "habana": _WRAP.format(file="optimum_habana"),
    "neuronx": _WRAP.format(file="neuron_optimum"),
    "steered": _WRAP.format(file="hf_steered"),
    "onnxruntime": _WRAP.format(file="onnxruntime_ort"),
    "onnxruntime-genai": _WRAP.format(file="onnxruntime_genai"),
    "winml": _WRAP.format(file="winml"),
}


def route(name: str, arguments: Mapping[str, Any], *, model_path: str = "", is_chat: bool = False) -> LmEvalRoute:
    """The model that a name means: a wrapper of the path or one that is registered, one of lm-eval's names, or a model
    as Polymeter names it (``hf:NAME``).

    Args:
        name: The name.
        arguments: Its arguments.
        model_path: A file with subclasses of ``LM``, or empty.
        is_chat: Whether a chat template is applied.

    Raises:
        PlanError: if there is no such model, or an argument is unknown or cannot be honoured.
    """
    if model_path or name in LM_MODELS:
        routed = LmEvalRoute(name if name.startswith("lm:") else f"lm:{name}")
        for key, value in arguments.items():
            rule = _option("batch_size") if key == "batch_size" else _as(key)
            rule(routed, key, value)
        return routed
    known = _NAMES.get(name)
    if known is not None:
        return _routed(name, known, arguments, is_chat=is_chat)
    if name in _ELSEWHERE:
        raise PlanError(f"Polymeter does not run lm-eval's model {name!r}.", where="--model", hint=_ELSEWHERE[name])
    backend, colon, _ = name.partition(":")
    if backend in MODELS:
        return _ours(name, has_name=bool(colon), arguments=arguments)
    names = [*_NAMES, *_ELSEWHERE, *LM_MODELS, *MODELS]
    more = "Name the file of a subclass of LM with --model_path; 'polymeter models' lists Polymeter's own."
    hint = f"{did_you_mean(name, names, n=2)} {more}".strip()
    raise PlanError(f"There is no model {name!r}.", where="--model", hint=hint)


def _routed(name: str, known: _Name, arguments: Mapping[str, Any], *, is_chat: bool) -> LmEvalRoute:
    given = dict(arguments)
    if name in ("gguf", "ggml") and str(given.get("pretrained", "")).endswith(".gguf"):
        return LmEvalRoute(f"llamacpp:{given.pop('pretrained')}", given)
    key = next((key for key in ("model", "pretrained") if given.get(key)), None)
    weights = str(given.pop(key)) if key is not None else ""
    for other in _NAME_KEYS:
        given.pop(other, None)
    if known.backend not in MODELS:
        raise PlanError(
            f"Model {name!r} runs on the backend {known.backend!r}, which does not exist.", where="--model", hint=_START
        )
    if not weights and known.backend not in ("mock", "openai"):
        raise PlanError(f"Model {name!r} needs a name.", where=_WHERE, hint="Give pretrained=NAME.")
    if not weights and known.backend == "openai" and name not in ("gguf", "ggml"):
        raise PlanError(f"Model {name!r} needs the endpoint's name for it.", where=_WHERE, hint="Give model=NAME.")
    spec = known.backend if known.backend == "mock" else f"{known.backend}:{weights or Path('model').name}"
    routed = LmEvalRoute(spec, dict(known.fixed))
    if known.is_served:
        routed.arguments |= _CHAT if is_chat else _PLAIN
    for argument, value in given.items():
        rule = known.rules.get(argument, known.takes_any)
        if rule is None:
            accepted = sorted({*known.rules, *_NAME_KEYS})
            hint = did_you_mean(argument, accepted, n=1) or f"It takes: {', '.join(accepted)}."
            raise PlanError(f"Model {name!r} has no argument {argument!r} here.", where=_WHERE, hint=hint)
        rule(routed, argument, value)
    if routed.server_words:
        routed.arguments["server_args"] = shlex.join(routed.server_words)
    if name in ("gguf", "ggml") and "base_url" not in routed.arguments:
        what = f"Model {name!r} needs base_url, or a file."
        raise PlanError(what, where=_WHERE, hint="Give base_url=http://HOST:PORT.")
    return routed


def _ours(name: str, *, has_name: bool, arguments: Mapping[str, Any]) -> LmEvalRoute:
    """A model as Polymeter names it, with its own arguments."""
    named = inspect.signature(MODELS.get(name.partition(":")[0])).parameters
    given = dict(arguments)
    key = next((key for key in _NAME_KEYS if key in given and key not in named), None)
    if not has_name and "name" in named and key is not None:
        name = f"{name}:{given.pop(key)}"
    return LmEvalRoute(name, given)
