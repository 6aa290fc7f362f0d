"""Comparability of runs in a ranking, from their manifests.

``polymeter compare`` reads the requests and rows of two runs. A leaderboard of hundreds of runs does not: it compares
the settings that determine them, and reads rows only if fingerprints of data differ.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.analysis.comparison.comparability import OF_DATA, OF_REQUESTS, brief
from polymeter.analysis.leaderboards.reading import BoardRun
from polymeter.report.formatting import count, listing
from polymeter.store.exports.imported import imported_from
from polymeter.store.reading.values import has_samples, rows_digest

_OF_PROMPTS = frozenset({"lmms_eval_specific_kwargs", "model_specific_generation_kwargs"})
_OF_LOGS = {"unfinished": ("status",), "samples": ("samples",), "task": ("version", "num_fewshot")}
"""The facts that the log of another tool may contain."""
_SHOWN = 3
_SHOWING_OPTIONS = ("video", "image", "audio")
_PROMPT_OPTIONS = (
    "prompt_key",
    "system_prompt",
    "dialect_options",
    "apply_stops_to_foreign",
    "ablation",
    "permute_choices",
)


@dataclass(frozen=True)
class Terms:
    """The conditions of a score besides the model.

    Attributes:
        parts: The facts, by the word that allows them to differ, as for ``polymeter compare --allow``.
        told: Facts that may differ. Differences are reported.
        imported: The tool that the run was imported from; empty for a run of Polymeter's own.
    """

    parts: Mapping[str, Mapping[str, Any]]
    told: Mapping[str, Any]
    imported: str

    def key(self, allow: Collection[str]) -> str:
        """Return a key that is equal for scores that may be ranked together."""
        return json.dumps({word: part for word, part in self.parts.items() if word not in allow}, default=str)


def task_terms(run: BoardRun, task: str) -> Terms:
    """Return the conditions of a run's scores of a task."""
    entry = run.tasks.get(task, {})
    config: Mapping[str, Any] = entry.get("config") or {}
    options: Mapping[str, Any] = run.manifest.get("identity", {}).get("options") or {}
    has_own_prompts = bool(run.manifest.get("model", {}).get("traits", {}).get("has_own_prompts"))
    prompts: dict[str, Any] = {}
    if not has_own_prompts:
        prompts = {name: options[name] for name in _PROMPT_OPTIONS if options.get(name)}
        prompts |= {name: config[name] for name in sorted(_OF_PROMPTS) if config.get(name)}
    parts = {
        "unfinished": {} if run.is_complete else {"status": run.manifest.get("status")},
        "samples": {"samples": entry.get("n_samples"), "offset": options.get("offset") or 0},
        "data": {"data": entry.get("dataset_fingerprint")},
        "task": {
            "version": entry.get("version"),
            "num_fewshot": entry.get("num_fewshot"),
            "parity": options.get("parity") or "",
            **{key: value for key, value in sorted(config.items()) if key not in OF_DATA and key not in OF_REQUESTS},
        },
        "prompts": prompts,
        "shown": {name: options[name] for name in _SHOWING_OPTIONS if options.get(name)},
        "judge": dict(run.manifest.get("identity", {}).get("roles") or {}),
    }
    told = {
        **(options.get("generation") or {}),
        "seed": options.get("seed"),
        **(config.get("generation_kwargs") or {}),
    }
    return Terms(parts, told, imported_from(run.manifest))


def differences(terms: Terms, reference: Terms, allow: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Yield differences between the conditions of a score and of the reference: sentences, and whether each prevents a
    common ranking.
    """
    is_imported = bool(terms.imported or reference.imported)
    for word, part in terms.parts.items():
        usual = reference.parts[word]
        if is_imported:
            part, usual = _known(word, part, usual)
        if part != usual:
            yield _difference_in_words(word, part, usual), word not in allow
    if terms.told != reference.told and not is_imported:
        yield f"asked with other settings: {_values_instead(terms.told, reference.told)}", False


def with_same_rows(run: BoardRun, task: str, fingerprint: Any, digests: dict[tuple[str, str], str]) -> str:
    """Return the fingerprint of a run's rows themselves, for runs with different fingerprints of the dataset.

    Args:
        run: The run.
        task: The task.
        fingerprint: The fingerprint of the dataset.
        digests: The known fingerprints of rows, by run folder and task.
    """
    key = str(run.path), task
    if key not in digests:
        digests[key] = rows_digest(run.folder, task) if has_samples(run.folder, task) else f"{fingerprint}"
    return digests[key]


def _difference_in_words(word: str, part: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    if word == "unfinished":
        status = part.get("status") or usual.get("status")
        return f"not finished (status {status}): its number may change" if part else "finished; the others are not"
    if word == "samples":
        n, n_usual = int(part.get("samples") or 0), int(usual.get("samples") or 0)
        if n != n_usual:
            return f"{count(n, 'sample')} instead of {n_usual:,}"
        return f"other samples: offset {part.get('offset')} instead of {usual.get('offset')}"
    if word == "data":
        return "other rows of data, or rows that cannot be compared"
    if word == "task":
        return f"the task is defined differently: {_values_instead(part, usual)}"
    if word in ("prompts", "shown"):
        what = "other prompts" if word == "prompts" else "shown otherwise"
        return f"{what}: {_values_instead(part, usual)}"
    names = [name for name in {**part, **usual} if part.get(name) != usual.get(name)]
    return f"graded by another {listing(names)}"


def _values_instead(own: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """Describe different values: ``seed 1 instead of 0, temperature 0.7 instead of none``."""
    names = [name for name in {**usual, **own} if own.get(name) != usual.get(name)]
    told = [f"{name} {brief(own.get(name))} instead of {brief(usual.get(name))}" for name in names[:_SHOWN]]
    return ", ".join([*told, f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else told)


def _known(word: str, part: Mapping[str, Any], usual: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts that both contain. A log contains few: missing facts are unknown, not different."""
    names = [
        name
        for name in _OF_LOGS.get(word, ())
        if part.get(name) not in (None, "") and usual.get(name) not in (None, "")
    ]
    one, two = ({name: str(own[name]) for name in names} for own in (part, usual))
    return one, two
