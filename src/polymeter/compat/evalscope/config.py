"""Configurations."""

from polymeter.api.evalscope_config import TaskConfig, parse_task_config

__all__ = ["TaskConfig", "parse_task_config"]
