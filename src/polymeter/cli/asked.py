"""What the options of ``polymeter run`` come to: the arguments of ``evaluate``. Other commands take them as well."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.cli.foreign_flags import count_or_share
from polymeter.cli.options import count_or_all, number_or_auto, thresholds
from polymeter.cli.pairs import (
    parse_dialect_options,
    parse_model_args,
    parse_pairs,
    parse_places,
    parse_trackers,
    require_paths,
    split_list,
)
from polymeter.cli.roles import judge_roles
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.model import ModelSpec


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure, and how.

    Attributes:
        model: The model.
        tasks: The tasks.
        model_path: Where the model is defined.
        model_args: Its arguments.
        roles: Further models.
        options: What else was given, by the names of ``evaluate``.
    """

    model: str
    tasks: list[str]
    model_path: str
    model_args: dict[str, Any]
    roles: dict[str, str | ModelSpec | list[str | ModelSpec]]
    options: dict[str, Any]


def read_options(words: Mapping[str, Any]) -> Asked:
    """What the parameters of ``run`` come to.

    Args:
        words: The parameters by name; those that a command does not have may be absent.

    Raises:
        PlanError: if a value cannot be read, or no task is named.
    """
    given = words.get
    tasks = [name for text in words["tasks"] for name in _names(text)]
    if not tasks:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter tasks' lists them.")
    limit, max_errors = given("limit"), given("max_errors")
    mcq, media, template, panel = given("mcq"), given("media"), given("logprob_template"), given("panel")
    executor = given("executor")
    settings = {
        "limit": None if limit is None else count_or_share(limit, "--limit"),
        "seed": given("seed"),
        "generation": parse_pairs(given("gen_kwargs") or (), "--gen-kwargs"),
        "num_fewshot": given("num_fewshot"),
        "revisions": parse_places(given("revision") or (), "--revision"),
        "prompt_key": given("prompt_key"),
        "system_prompt": given("system_prompt"),
        "mcq": mcq.value if mcq else None,
        "reasoning_tags": given("reasoning_tags"),
        "panel": panel.value if panel else None,
        "panel_quorum": given("panel_quorum"),
        "parity": given("parity"),
        "data": parse_places(given("data") or (), "--data"),
        "dialect_options": parse_dialect_options(given("dialect_option") or (), "--dialect-option"),
        "weights": require_paths(parse_places(given("weights") or (), "--weights"), "--weights"),
        "include_paths": tuple(given("include_path") or ()),
        "imports": tuple(given("imports") or ()),
        "output": given("output"),
        "batch_size": number_or_auto(given("batch_size"), "--batch-size"),
        "concurrency": number_or_auto(given("concurrency"), "--concurrency"),
        "executor": executor.value if executor else None,
        "replicas": number_or_auto(given("replicas"), "--replicas"),
        "judge_replicas": given("judge_replicas"),
        "gpus_per_replica": given("gpus_per_replica"),
        "cpus_per_replica": given("cpus_per_replica"),
        "address": given("address"),
        "lease_timeout_s": given("lease_timeout"),
        "window": given("window"),
        "score_workers": given("score_workers"),
        "score_timeout_s": given("score_timeout"),
        "score_memory_mb": given("score_memory"),
        "decode_workers": given("decode_workers"),
        "max_image_pixels": given("max_image_pixels"),
        "timeout_s": given("timeout"),
        "max_wait_s": given("max_wait"),
        "max_retries": given("max_retries"),
        "max_errors": None if max_errors is None else count_or_share(max_errors, "--max-errors"),
        "media": media.value if media else None,
        "report_samples": count_or_all(given("report_samples"), "--report-samples"),
        "journal_dir": given("journal_dir"),
        "publish": given("publish") or None,
        "cache_dir": given("cache_dir"),
        "is_offline": given("offline") or None,
        "allow_generated_code": given("allow_generated_code") or None,
        "skip_unfit": given("skip_unfit") or None,
        "is_strict_resume": given("strict_resume"),
        "allow_private_urls": given("allow_private_urls") or None,
        "is_restart": given("restart") or None,
        "fail_under": thresholds(given("fail_under")),
        "log_to": parse_trackers(given("log_to") or (), "--log-to"),
        "on_end": given("on_end") or None,
    }
    model = words["model"]
    arguments = parse_model_args(model, given("model_args") or ())
    arguments |= {"base_url": given("base_url")} if given("base_url") else {}
    arguments |= {"server_args": given("server_args")} if given("server_args") else {}
    arguments |= {"start_timeout_s": given("server_timeout")} if given("server_timeout") is not None else {}
    arguments |= {"strip_prompt": True} if given("strip_prompt") else {}
    arguments |= {"logprob_template": template.value} if template else {}
    return Asked(
        model,
        tasks,
        given("model_path") or "",
        arguments,
        judge_roles(given("judge"), given("judge_args")),
        {name: value for name, value in settings.items() if value not in (None, (), {})},
    )


def with_options_of(
    other: Callable[..., Any], *, without: Collection[str]
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of another one as well; it receives them as keywords.

    Args:
        other: The function of the other command.
        without: Those of its parameters that make no sense here.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(function, eval_str=True).parameters
        parameters = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
        parameters += [
            one.replace(kind=one.KEYWORD_ONLY)
            for name, one in inspect.signature(other, eval_str=True).parameters.items()
            if name not in own and name not in without
        ]
        # What the command line reads of a function.
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {one.name: one.annotation for one in parameters}
        return function

    return decorate


def _names(text: str) -> list[str]:
    """The tasks that ``--tasks`` names; a file may have a comma in its path."""
    return [text] if "," in text and Path(text).is_file() else split_list(text, "--tasks")
