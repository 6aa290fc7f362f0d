"""The servers that can be started, as data: command line, options, and features of their endpoints.

The command lines are those of the programs' own documentation: ``vllm serve --help`` (0.30), SGLang's *Server
Arguments*, the README of llama.cpp's ``tools/server``, and ``transformers serve --help`` (5.23).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.models.served.guided import as_grammar, as_guided, as_regex

HOST = "127.0.0.1"
"""The address where servers listen: nobody outside this machine can reach them."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A program that serves models.

    Attributes:
        backend: Its name in the model registry.
        title: The name that its authors use.
        program: The script or binary to look for; empty: a module of Python is run.
        module: That module.
        command: Words between the program and the arguments of the user, from model, port and name.
        defaults: Options that are given unless the user gives them, each with its value: they prevent the checkpoint or
            the server from choosing sampling settings that a request does not set.
        packages: Packages of its environment whose versions can change an answer; the first one is the server itself.
        install: The pip requirement that installs it; empty: it is not installed with pip, or an extra installs it.
        extra: The extra of Polymeter that installs it.
        home: The URL of its installation guide, if pip does not install it.
        needs: Further modules that must be installed if the program belongs to the Python that is running.
        reserved: Options that the run sets itself, or that would turn the server into another one.
        runtime: Options that cannot change an answer, also with ``no-`` before the name: parallelism, memory,
            scheduling, logging. All others are part of the model's identity.
        aliases: Other spellings of options, without dashes.
        gpu_options: Options whose product is the number of GPUs of one server.
        on_same_gpus: Flags with which one of these options divides the GPUs of the others, and the option.
        takes: Settings of requests that it knows besides the common ones; ``None``: any.
        guided: A function from the choices of ``guided_choice`` and the server's version to the server's own fields;
            ``None``: it has none.
        logprobs: The way to get log-probabilities: as ``logprobs`` of an endpoint.
        is_name_free: Whether the server answers to a name that the run chooses; else to the model's own.
        is_file: Whether the model is a file.
    """

    backend: str
    title: str
    command: Callable[[str, int, str], list[str]]
    packages: tuple[str, ...]
    runtime: frozenset[str]
    reserved: frozenset[str]
    program: str = ""
    module: str = ""
    install: str = ""
    extra: str = ""
    home: str = ""
    needs: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    gpu_options: tuple[str, ...] = ()
    on_same_gpus: Mapping[str, str] = field(default_factory=dict)
    takes: frozenset[str] | None = None
    guided: Callable[[Sequence[str], str], dict[str, Any]] | None = None
    logprobs: Literal["auto", "none"] = "auto"
    is_name_free: bool = True
    is_file: bool = False


VLLM = ServerKind(
    backend="vllm",
    title="vLLM",
    program="vllm",
    command=lambda model, port, name: [
        "serve", model, "--host", HOST, "--port", str(port), "--served-model-name", name,
    ],
    packages=("vllm", "torch", "transformers"),
    install="vllm",
    defaults={"generation-config": "vllm"},
    reserved=frozenset(
        {
            "api-key", "config", "grpc", "headless", "hf-token", "host", "model", "port", "root-path",
            "served-model-name", "ssl-ca-certs", "ssl-certfile", "ssl-keyfile", "uds",
        }
    ),
    runtime=frozenset(
        {
            "aggregate-engine-logging", "api-server-count", "cpu-offload-gb", "data-parallel-backend",
            "data-parallel-size", "disable-access-log-for-endpoints", "disable-custom-all-reduce",
            "disable-log-requests", "disable-log-stats", "disable-uvicorn-access-log",
            "distributed-executor-backend", "download-dir", "enable-expert-parallel", "enable-log-outputs",
            "enable-log-requests", "gpu-memory-utilization", "kv-cache-memory-bytes", "log-config-file",
            "max-log-len", "max-num-batched-tokens", "max-num-seqs", "max-parallel-loading-workers",
            "pipeline-parallel-size", "swap-space", "tensor-parallel-size", "uvicorn-log-level",
        }
    ),
    aliases={
        "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
        "q": "quantization", "ep": "enable-expert-parallel", "asc": "api-server-count",
    },
    gpu_options=("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"),
    guided=as_guided,
)  # fmt: skip

SGLANG = ServerKind(
    backend="sglang",
    title="SGLang",
    module="sglang.launch_server",
    command=lambda model, port, name: [
        "--model-path", model, "--host", HOST, "--port", str(port), "--served-model-name", name,
    ],
    packages=("sglang", "torch", "transformers"),
    install="sglang[all]",
    defaults={"sampling-defaults": "openai"},
    reserved=frozenset(
        {
            "admin-api-key", "api-key", "config", "fastapi-root-path", "grpc-mode", "host", "model", "model-path",
            "port", "served-model-name",
        }
    ),
    runtime=frozenset(
        {
            "crash-dump-folder", "data-parallel-size", "disable-cuda-graph", "download-dir",
            "enable-cache-report", "enable-metrics", "enable-p2p-check", "log-level", "log-level-http",
            "log-requests", "log-requests-level", "max-prefill-tokens", "max-queued-requests",
            "max-running-requests", "max-total-tokens", "mem-fraction-static", "nccl-port",
            "pipeline-parallel-size", "show-time-cost", "skip-server-warmup", "stream-interval",
            "tensor-parallel-size", "tokenizer-worker-num", "watchdog-timeout",
        }
    ),
    aliases={
        "tp": "tensor-parallel-size", "tp-size": "tensor-parallel-size", "dp": "data-parallel-size",
        "dp-size": "data-parallel-size", "pp-size": "pipeline-parallel-size", "pp": "pipeline-parallel-size",
    },
    gpu_options=("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"),
    on_same_gpus={"enable-dp-attention": "data-parallel-size"},
    guided=as_regex,
)  # fmt: skip

LLAMACPP = ServerKind(
    backend="llamacpp",
    title="llama.cpp",
    program="llama-server",
    command=lambda model, port, name: [
        "--model", model, "--host", HOST, "--port", str(port), "--alias", name,
    ],
    packages=(),
    home="https://github.com/ggml-org/llama.cpp/releases",
    defaults={"temp": "1", "top-k": "0", "top-p": "1", "min-p": "0"},
    reserved=frozenset(
        {
            "alias", "api-key", "api-key-file", "api-prefix", "docker-repo", "embedding", "hf-file", "hf-repo",
            "hf-token", "host", "model", "model-url", "models-dir", "path", "port", "reranking", "ssl-cert-file",
            "ssl-key-file",
        }
    ),
    runtime=frozenset(
        {
            "cont-batching", "cpu-mask", "cpu-mask-batch", "cpu-range", "cpu-range-batch", "cpu-strict",
            "cpu-strict-batch", "device", "gpu-layers", "log-colors", "log-disable", "log-file", "log-prefix",
            "log-timestamps", "log-verbosity", "main-gpu", "metrics", "mlock", "mmap", "n-cpu-moe", "cpu-moe",
            "numa", "perf", "poll", "poll-batch", "prio", "prio-batch",
            "slots", "split-mode", "tensor-split", "threads", "threads-batch", "threads-http",
            "timeout", "verbose", "webui",
        }
    ),
    aliases={
        "a": "alias", "b": "batch-size", "c": "ctx-size", "cb": "cont-batching", "cmoe": "cpu-moe",
        "ctk": "cache-type-k", "ctv": "cache-type-v", "dev": "device", "dr": "docker-repo",
        "embeddings": "embedding", "fa": "flash-attn",
        "hf": "hf-repo", "hff": "hf-file", "hfr": "hf-repo", "hft": "hf-token", "lv": "log-verbosity",
        "log-verbose": "verbose", "m": "model", "mg": "main-gpu", "mm": "mmproj", "mu": "model-url",
        "n": "predict", "n-gpu-layers": "gpu-layers", "n-predict": "predict", "ncmoe": "n-cpu-moe",
        "ngl": "gpu-layers", "np": "parallel", "rerank": "reranking", "s": "seed", "sm": "split-mode", "t": "threads",
        "tb": "threads-batch", "temperature": "temp", "to": "timeout", "ts": "tensor-split", "ub": "ubatch-size",
        "v": "verbose", "verbosity": "log-verbosity",
    },
    guided=as_grammar,
    is_file=True,
)  # fmt: skip

TRANSFORMERS = ServerKind(
    backend="transformers-serve",
    title="Transformers",
    program="transformers",
    command=lambda model, port, name: ["serve", model, "--host", HOST, "--port", str(port)],
    packages=("transformers", "torch"),
    extra="serve",
    needs=("torch", "transformers", "fastapi", "uvicorn", "openai"),
    reserved=frozenset({"enable-cors", "force-model", "host", "model-timeout", "port"}),
    runtime=frozenset(
        {
            "cb-block-size", "cb-max-batch-tokens", "cb-max-memory-percent", "cb-num-blocks", "cb-use-cuda-graph",
            "device", "log-level",
        }
    ),
    takes=frozenset({"chat_template_kwargs", "frequency_penalty", "logit_bias"}),
    logprobs="none",
    is_name_free=False,
)  # fmt: skip

KINDS = (VLLM, SGLANG, LLAMACPP, TRANSFORMERS)
"""All of them."""
