"""``lmms_eval.loggers``: an evaluation's settings, and files of its results. Nothing is uploaded."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_family.shim.utils import hash_string
from polymeter.interop.lmms_eval.shim.lmms_eval.utils import (
    get_datetime_str,
    handle_non_serializable,
    sanitize_model_name,
)

_NAMES = ("peft", "delta", "pretrained", "model", "model_version", "model_name", "model_id", "path", "engine")


class GeneralConfigTracker:
    """An evaluation's settings. The clock starts when the object is made."""

    def __init__(self) -> None:
        self.model_source: str | None = None
        self.model_name: str | None = None
        self.model_name_sanitized: str | None = None
        self.system_instruction: str | None = None
        self.system_instruction_sha: str | None = None
        self.fewshot_as_multiturn: bool | None = None
        self.chat_template: str | None = None
        self.chat_template_sha: str | None = None
        self.start_time = time.perf_counter()
        self.end_time: float | None = None
        self.total_evaluation_time_seconds: str | None = None

    @staticmethod
    def _get_model_name(model_args: str) -> str:
        """The model's name in an argument string: the value of the first of the known names that occurs."""
        for name in _NAMES:
            _, separator, after = model_args.partition(f"{name}=")
            if separator:
                return after.partition(f"{name}=")[0].partition(",")[0]
        return ""

    def log_experiment_args(
        self,
        model_source: str,
        model_args: str,
        system_instruction: str | None = None,
        chat_template: str | None = None,
        fewshot_as_multiturn: bool | None = None,
    ) -> None:
        """Record the settings."""
        self.model_source = model_source
        self.model_name = self._get_model_name(model_args)
        self.model_name_sanitized = sanitize_model_name(self.model_name)
        self.system_instruction = system_instruction
        self.system_instruction_sha = hash_string(system_instruction) if system_instruction else None
        self.chat_template = chat_template
        self.chat_template_sha = hash_string(chat_template) if chat_template else None
        self.fewshot_as_multiturn = fewshot_as_multiturn

    def log_end_time(self) -> None:
        """Stop the clock."""
        self.end_time = time.perf_counter()
        self.total_evaluation_time_seconds = str(self.end_time - self.start_time)


class EvaluationTracker:
    """Writes what ``simple_evaluate`` returns to files, as the command line does.

    Args:
        output_path: The folder; it gets a subfolder for each model. Without it nothing is written.
        **further: Names of repositories on the Hub: nothing is uploaded.
    """

    def __init__(self, output_path: str | None = None, **further: Any) -> None:
        self.output_path = output_path
        self.general_config_tracker = GeneralConfigTracker()

    def save_results_aggregated(
        self, results: Mapping[str, Any], samples: Mapping[str, Any] | None = None, datetime_str: str | None = None
    ) -> None:
        """Write ``…_results.json``, without samples."""
        self.general_config_tracker.log_end_time()
        document = {name: value for name, value in results.items() if name != "samples"}
        text = json_text(document, indent=2, is_ascii=True, nan=None, default=handle_non_serializable)
        self._write("results.json", datetime_str, [text])

    def save_results_samples(
        self, task_name: str, samples: Iterable[Mapping[str, Any]], datetime_str: str | None = None
    ) -> None:
        """Write ``…_samples_<task>.jsonl``."""
        lines = (json_text(sample, nan=None, default=handle_non_serializable) for sample in samples)
        self._write(f"samples_{task_name}.jsonl", datetime_str, lines)

    def _write(self, name: str, stamp: str | None, lines: Iterable[str]) -> None:
        if not self.output_path:
            return
        folder = Path(self.output_path) / (self.general_config_tracker.model_name_sanitized or "")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{stamp or get_datetime_str()}_{name}").open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


class WandbLogger:
    """Sends results to Weights & Biases.

    Raises:
        PlanError: always.
    """

    def __init__(self, **kwargs: Any) -> None:
        raise PlanError(
            f"{type(self).__name__} does not exist here: results are written to files and sent nowhere.",
            hint="Upload what simple_evaluate returns yourself.",
        )


class SwanLabLogger(WandbLogger):
    """As ``WandbLogger``."""
