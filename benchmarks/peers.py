"""Runs in an environment in which a peer is installed: the peer's own evaluator over the rows of ``benchmarks.rows``,
with a model that costs nothing and with every sample kept.

Usage: ``python -m benchmarks.peers lmms-eval|EvalScope FOLDER OUTPUT``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def lmms_eval(folder: Path, output: Path) -> None:
    """The task YAML with Python hooks."""
    from lmms_eval import __main__ as command
    from lmms_eval.api.model import lmms
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    class Free(lmms):  # type: ignore[misc]
        """Answers every request with the same text."""

        def __init__(self, **settings: Any) -> None:
            super().__init__()

        def generate_until(self, requests: list[Any]) -> list[str]:
            return ["mock"] * len(requests)

        def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
            return [(0.0, True)] * len(requests)

        def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
            return self.generate_until(requests)

    sys.modules["free_model"] = sys.modules[__name__]
    globals()["Free"] = Free
    MODEL_REGISTRY_V2.register_manifest(ModelManifest("free", simple_class_path="free_model.Free"))
    sys.argv = [
        *("lmms_eval", "--model", "free", "--tasks", "bench_hooks", "--include_path", str(folder / "hooks")),
        *("--batch_size", "8", "--log_samples", "--output_path", str(output), "--verbosity", "ERROR"),
    ]
    os.chdir(folder / "hooks")  # the YAML names its rows relative to itself
    command.cli_evaluate()
    check_kept(folder, output, "*samples*.jsonl")


def evalscope(folder: Path, output: Path) -> None:
    """The data adapter."""
    import importlib.util

    from evalscope import TaskConfig, run_task
    from evalscope.models import CustomModel

    class Free(CustomModel):  # type: ignore[misc]
        """Answers every prompt with the same text."""

        def predict(self, prompts: list[Any], **kwargs: Any) -> list[dict[str, Any]]:
            message = {"index": 0, "message": {"content": "mock", "role": "assistant"}}
            return [{"choices": [message], "created": 0, "model": "free", "object": "chat.completion"}] * len(prompts)

    spec = importlib.util.spec_from_file_location("rows_adapter", folder / "adapter" / "bench_rows_adapter.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    run_task(
        TaskConfig(
            model=Free(config={"model_id": "free"}),
            model_id="free",
            eval_type="custom",
            datasets=["bench_rows"],
            work_dir=str(output),
            eval_batch_size=8,
        )
    )
    check_kept(folder, output, "*/reviews/**/*.jsonl")


def check_kept(folder: Path, output: Path, pattern: str) -> None:
    """Check that a peer has kept a line for every row: some of their failures end with exit code 0.

    Raises:
        SystemExit: if it has not.
    """
    n_rows = len((folder / "text.jsonl").read_text(encoding="utf-8").splitlines())
    kept = [len(file.read_text(encoding="utf-8").splitlines()) for file in output.rglob(pattern)]
    if kept != [n_rows]:
        raise SystemExit(f"{output} holds {kept} samples of {n_rows} rows")


if __name__ == "__main__":
    {"lmms-eval": lmms_eval, "EvalScope": evalscope}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
