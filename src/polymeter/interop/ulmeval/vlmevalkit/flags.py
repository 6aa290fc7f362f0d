"""The flags of ``polymeter vlmeval``: those of VLMEvalKit's ``run.py`` and of ``vlmutil eval``, and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.ulmeval.config import WORK_DIR, NamedObject, UlmevalConfig, read_config, work_folder
from polymeter.interop.ulmeval.flags import ALIKE, OURS, named_objects, notes_on_run

_NPROC, _RETRY, _TIMEOUT_S = 32, 6, 600
"""The values that the tool passes to ``evaluate`` unless the command sets others."""
_AUX = {"all": "all", "1": "all", "true": "all", "yes": "all", "infer": "infer", "none": "none"}
_AUX |= dict.fromkeys(("0", "false", "no"), "none")
_GENERATION = {
    "max_tokens": "max_new_tokens",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "repetition_penalty": "repetition_penalty",
}
_OF_ENDPOINT = ("key", "extra_body", "video_llm")
_THINKING = 2
_MAX_TOKENS, _REQUEST_S = 2**15, 1800
_ALIKE = "requests to endpoints are always concurrent, and runs are scored as they end"


def _aux(text: str, spelling: str) -> str:
    if text.strip().lower() not in _AUX:
        raise PlanError(f"{text!r} is not a value of {spelling}.", where=spelling, hint="Write all, infer or none.")
    return _AUX[text.strip().lower()]


_MODELS_AND_DATA = (
    Flag("data", "names", "datasets, separated by spaces", sets="datasets", convert=named_objects),
    Flag(
        "model",
        "names",
        "models, separated by spaces: names of VLMEvalKit's list or --model-path, or specs such as openai:NAME",
        sets="models",
        convert=named_objects,
    ),
    ALIKE["config"],
    Flag("data_config", "object", "class and arguments of names in --data: a JSON object"),
)
_RUNNING = (
    ALIKE["work_dir"],
    ALIKE["mode"],
    Flag("api_nproc", "int", "maximum number of requests in flight; default: adaptive. evaluate gets it, or 32"),
    Flag("retry", "int", "how many times to repeat a failed request. evaluate gets it, or 6"),
    ALIKE["verbose"],
    Flag("keep_failed", "switch", "keep failed samples of a finished run; do not repeat them", sets="ignore"),
    Flag("ignore", "switch", "failed samples are repeated, as there; --keep-failed keeps them", "noted", False),
    ALIKE["reuse"],
    Flag(
        "reuse_aux",
        "text",
        "with --reuse: all reuses the judge's answers too (the default), infer and none do not",
        convert=_aux,
    ),
    Flag("api_mode", "switch", _ALIKE, "noted", False),
    Flag("monitor_interval", "int", "progress is shown as it happens", "noted", 30),
    Flag("debug", "switch", "'polymeter --debug vlmeval …' shows tracebacks", "noted", False),
    ALIKE["use_vllm"],
)
_JUDGING = (
    Flag("judge", "text", "the judge model: a name such as gpt-4o-mini, exact_matching for rules alone, or a spec"),
    ALIKE["judge_args"],
    Flag("judge_base_url", "text", "the judge's address"),
    Flag("judge_key", "text", "the judge's key"),
    Flag("judge_api_nproc", "int", "nproc of evaluate; default: --api-nproc", sets="judge_nproc"),
    Flag("judge_retry", "int", "retry of evaluate; default: --retry"),
    Flag("judge_timeout", "int", "timeout of evaluate, in seconds; default: 600"),
    Flag(
        "use_verifier",
        "switch",
        "the verifier is a model that does not come with Polymeter",
        "refused",
        False,
        hint="Serve it, and name it as the judge: --judge NAME --judge-base-url ADDRESS.",
    ),
)
_ENDPOINT = (
    Flag("base_url", "text", "the address of an endpoint with OpenAI's protocol, at which --model is served"),
    Flag("key", "text", "the key of that endpoint"),
    Flag("max_tokens", "int", "maximum number of tokens of an answer; default with --base-url: 32768"),
    Flag("temperature", "float", "temperature; default with --base-url: 0"),
    Flag("top_k", "int", "sample from this many tokens"),
    Flag("top_p", "float", "sample from tokens with this total probability"),
    Flag("repetition_penalty", "float", "penalty of repeated tokens"),
    Flag("timeout", "int", "seconds that a request may take; default with --base-url: 1800"),
    Flag("thinker", "switch", "double --max-tokens and --timeout"),
    Flag("extra_body", "object", "further fields of every request: a JSON object"),
    Flag("video_llm", "switch", "send videos whole, for endpoints that take them"),
    Flag("stream", "switch", "answers are read whole, and are the same", "noted", False),
    Flag("local_media", "switch", "images and videos are sent with the request", "noted", False),
    Flag(
        "custom_prompt",
        "text",
        "prompts of VLMEvalKit's adapters do not come with Polymeter",
        "refused",
        hint="Run the tool's own wrapper: --model-path VLMEVALKIT, without --base-url.",
    ),
)
_OF_FILE = ("judge", "api_nproc", "retry")
RUN = FlagTable(
    "polymeter vlmeval",
    "Evaluate models on datasets, with the options of VLMEvalKit's run.py.",
    (*_MODELS_AND_DATA, *_RUNNING, *_JUDGING, *_ENDPOINT, *(flag for flag in OURS if flag.key != "base_url")),
)
_JUDGE_KEYS = ("judge_args", "judge_base_url", "judge_key")
EVAL = FlagTable(
    "polymeter vlmeval eval [DATASET] FILE",
    "Score a prediction file, as vlmutil eval does.",
    (
        *(flag for flag in (*_RUNNING, *_JUDGING) if flag.key in (*_OF_FILE, *_JUDGE_KEYS, "work_dir", "verbose")),
        *(flag for flag in OURS if flag.key not in ("base_url", "model_path")),
    ),
)


def parse(words: list[str]) -> tuple[UlmevalConfig, list[str]]:
    """Parse the words of ``run.py`` into a configuration, and notes on flags that have no effect.

    Raises:
        PlanError: if a flag is unknown (the message suggests the nearest one) or refused, or a value is invalid.
    """
    given = RUN.parse(words)
    if "config" in given and given.keys() & {"model", "data", "data_config"}:
        raise PlanError(
            "The file of --config names models and datasets.",
            where="--config",
            hint="Leave out --model, --data and --data-config.",
        )
    notes = [*RUN.notes_on(given), *_notes(given)]
    options = RUN.options(given)
    for flag in RUN.flags:
        if flag.fate != "done":
            options.pop(flag.key, None)
    file, data_config = options.pop("config", None), options.pop("data_config", None)
    if file is not None:
        options["models"], options["datasets"] = read_config(file)
    if data_config is not None:
        options["datasets"] = tuple(_configured(options.get("datasets", ()), data_config))
    return _settled(options), notes


def parse_eval(words: list[str]) -> UlmevalConfig:
    """Parse the words of ``vlmutil eval [DATASET] FILE`` into a configuration without names of models and datasets.

    Raises:
        PlanError: as ``parse``.
    """
    return _settled(EVAL.options(EVAL.parse(words)))


def reuse_aux_of(words: list[str]) -> str:
    """The value of ``--reuse-aux`` in words that ``parse`` has accepted."""
    return _AUX[str(RUN.parse(words).get("reuse_aux", "all")).strip().lower()]


def _settled(options: dict[str, Any]) -> UlmevalConfig:
    """The configuration of converted options."""
    options["judge_args"] = _judge_args(options)
    generation = {name: options.pop(key) for key, name in _GENERATION.items() if key in options}
    if options.pop("thinker", False):
        generation["max_new_tokens"] = _THINKING * generation.get("max_new_tokens", _MAX_TOKENS)
        options["timeout"] = _THINKING * options.get("timeout", _REQUEST_S)
    endpoint = {"extra_body": options.pop("extra_body")} if "extra_body" in options else {}
    if options.pop("video_llm", False):
        endpoint["video"] = "url"
    options["reuse_aux"] = options.get("reuse_aux", "all") == "all"
    config = UlmevalConfig(
        **{"work_dir": work_folder(WORK_DIR), **options, "generation": generation, "endpoint": endpoint}
    )
    return replace(
        config,
        judge_nproc=config.judge_nproc or config.api_nproc or _NPROC,
        judge_retry=_first(config.judge_retry, config.retry, _RETRY),
        judge_timeout=config.judge_timeout or _TIMEOUT_S,
    )


def _judge_args(options: dict[str, Any]) -> dict[str, Any]:
    """The judge's arguments, with the address and the key of their own flags."""
    args = dict(options.get("judge_args", {}))
    for key, name in (("judge_base_url", "api_base"), ("judge_key", "key")):
        value = options.pop(key, None)
        if value is not None:
            args[name] = value
    # Flags give way to the arguments, as there.
    for key, name in (("judge_nproc", "nproc"), ("judge_retry", "retry"), ("judge_timeout", "timeout")):
        if name in args:
            options[key] = args.pop(name)
    return args


def _configured(datasets: tuple[NamedObject, ...], configured: Mapping[str, Any]) -> Iterator[NamedObject]:
    """The datasets of ``--data``, with class and arguments from ``--data-config``."""
    names = [item.name for item in datasets]
    for name, entry in configured.items():
        if name not in names:
            hint = did_you_mean(name, names) or "Name it with --data."
            raise PlanError(f"{name!r} is not among --data.", where="--data-config", hint=hint)
        if not isinstance(entry, Mapping):
            raise PlanError(f"The entry of {name!r} must be an object, not {entry!r}.", where="--data-config")
        for key in ("class", "dataset"):
            if not isinstance(entry.get(key, ""), str):
                raise PlanError(f"{key!r} of {name!r} must be a text, not {entry[key]!r}.", where="--data-config")
    for item in datasets:
        entry = dict(configured.get(item.name, {}))
        yield NamedObject(item.name, entry.pop("class", ""), entry)


def _notes(given: Mapping[str, Any]) -> Iterator[str]:
    """Notes on flags that have no effect together with the others."""
    yield from notes_on_run(given)
    for key in _OF_ENDPOINT:
        if key in given and "base_url" not in given:
            yield f"{RUN.by_key[key].names[0]} has no effect without --base-url."


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
