"""Configurations."""

from polymeter.interop.evalscope.config import TaskConfig, parse_task_config

__all__ = ["TaskConfig", "parse_task_config"]
