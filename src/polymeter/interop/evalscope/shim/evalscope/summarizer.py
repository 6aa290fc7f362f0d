"""Looking up the reports of finished evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.config import parse_task_config
from polymeter.interop.evalscope.tasks.scoring.report_tables import get_report_list

_REPORTS = "reports"


class Summarizer:
    """Reads reports."""

    @staticmethod
    def get_report(outputs_dir: str | Path) -> list[dict[str, Any]]:
        """The reports of a work folder as dictionaries, in the order of models and datasets."""
        return [report.to_dict() for report in get_report_list([Path(outputs_dir) / _REPORTS])]

    @staticmethod
    def get_report_from_cfg(task_cfg: Any) -> list[dict[str, Any]]:
        """The reports of the latest evaluation with a configuration (or of each of several).

        Raises:
            PlanError: if none exists yet.
        """
        configs = task_cfg if isinstance(task_cfg, (list, tuple)) else [task_cfg]
        return [report for config in configs for report in Summarizer.get_report(_latest(parse_task_config(config)))]


def _latest(config: Any) -> Path:
    if config.use_cache:
        return Path(config.use_cache)
    folders = sorted(path.parent for path in Path(config.work_dir).glob(f"*/{_REPORTS}"))
    if not folders:
        raise PlanError("There are no reports yet.", where=str(config.work_dir), hint="Run the configuration first.")
    return folders[-1]
