"""Runs in lmms-eval's environment: its command line on the tasks, with the scripted wrapper."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance.logs.tasks import copy_tasks

TASKS = "shapes,nature,sums"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    copy_tasks(work, has_pictures=True)
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    scripted = ModelManifest(model_id="scripted", simple_class_path="conformance.logs.scripted.Scripted")
    MODEL_REGISTRY_V2.register_manifest(scripted, overwrite=True)
    os.chdir(work)
    words = ["--model", "scripted", "--model_args", "seed=1,as_result=true", "--batch_size", "1", "--tasks", TASKS]
    sys.argv = ["lmms_eval", *words, "--include_path", ".", "--output_path", "log", "--log_samples"]
    from lmms_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
