"""lmms-eval's options for Weights & Biases and the Hub, as arguments of our trackers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

_DEFAULT_REPO = "lmms-eval-results"
_LONGEST_NAME = 40
_HUB_KEYS = (
    "output_path", "hub_results_org", "hub_repo_name", "details_repo_name", "results_repo_name",
    "push_results_to_hub", "push_samples_to_hub", "public_repo", "token", "leaderboard_url", "point_of_contact",
    "gated",
)  # fmt: skip


def wandb_arguments(given: Mapping[str, Any], *, name: str, has_samples: bool) -> dict[str, Any]:
    """The arguments of the tracker ``wandb`` for ``--wandb_args``.

    Args:
        given: The arguments as parsed; they are those of ``wandb.init``.
        name: The run's name, if they hold none.
        has_samples: Whether ``--wandb_log_samples`` was given.
    """
    shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}...{name[-_LONGEST_NAME // 2 :]}"
    return {"name": shown, **given, "samples": "all" if has_samples else 0}


def hub_arguments(given: Mapping[str, Any], *, has_samples: bool) -> dict[str, Any] | None:
    """The arguments of the tracker ``hub`` for ``--hf_hub_log_args``; ``None`` if nothing is to be pushed.

    Args:
        given: The arguments as parsed.
        has_samples: Whether ``--log_samples`` was given, without which no samples are pushed.

    Raises:
        PlanError: if there is no such argument.
    """
    for key in given:
        if key not in _HUB_KEYS:
            hint = did_you_mean(key, _HUB_KEYS) or f"It takes: {', '.join(_HUB_KEYS)}."
            raise PlanError(f"There is no argument {key!r}.", where="--hf_hub_log_args", hint=hint)
    results = bool(given.get("push_results_to_hub"))
    samples = bool(given.get("push_samples_to_hub")) and has_samples
    if not results and not samples:
        return None
    is_public = bool(given.get("public_repo"))
    details, numbers = _repositories(given, "" if is_public else "-private")
    passed = ("token", "leaderboard_url", "point_of_contact", "gated")
    return {
        "repo": numbers if results else details,
        "samples_repo": details if samples else "",
        "results": results,
        "samples": "all" if samples else 0,
        "private": not is_public,
        **{name: given[name] for name in passed if given.get(name)},
    }


def _repositories(given: Mapping[str, Any], suffix: str) -> tuple[str, str]:
    """The repositories for the samples and the numbers."""
    both = str(given.get("hub_repo_name") or "")
    details = both or str(given.get("details_repo_name") or "") or _DEFAULT_REPO
    numbers = both or str(given.get("results_repo_name") or "") or details
    organisation = str(given.get("hub_results_org") or "")
    before = f"{organisation}/" if organisation else ""
    return f"{before}{details}{suffix}", f"{before}{numbers}{suffix}"
