"""One other value than the default for every option of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polymeter.core.systems import systems

OTHER_VALUES: dict[str, Any] = {
    "limit": 5.0,
    "offset": 2,
    "seed": 7,
    "generation": {"temperature": 0.5},
    "num_fewshot": 3,
    "prompt_key": "qwen",
    "system_prompt": "Be brief.",
    "dialect_options": {"task_yaml": {"a": 1}},
    "data": {"org/set": "/data/set"},
    "weights": {"org/model": "/weights/model"},
    "parity": next((system.parity_name for system in systems() if system.differences), ""),
    "mcq": "text",
    "panel": "majority",
    "panel_quorum": 2,
    "apply_stops_to_foreign": True,
    "include_paths": (Path("/tasks"),),
    "imports": (Path("/code/models.py"),),
    "output": Path("/runs/one"),
    "batch_size": 4,
    "concurrency": 3,
    "executor": "ray",
    "replicas": 2,
    "gpus_per_replica": 0.5,
    "cpus_per_replica": 3,
    "address": "10.0.0.1:6379",
    "lease_timeout_s": 12.5,
    "window": 9,
    "media_budget_mb": 10,
    "decode_workers": 5,
    "max_image_pixels": 4_000_000,
    "score_workers": 6,
    "score_timeout_s": 1.5,
    "score_memory_mb": 512,
    "max_retries": 1,
    "timeout_s": 2.5,
    "max_wait_s": 7.5,
    "max_errors": 0.5,
    "media": "none",
    "report_samples": "all",
    "journal_dir": Path("/local"),
    "cache_dir": Path("/cache"),
    "is_offline": True,
    "is_strict_resume": True,
    "retry_errors": True,
    "allow_private_urls": True,
    "skip_unfit": True,
    "passes_unknown_settings": True,
    "is_restart": True,
}
