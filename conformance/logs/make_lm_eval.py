"""Runs in lm-eval's environment: its command line on the tasks, with a checkpoint of random weights."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from conformance.logs.tasks import copy_tasks

TASKS = "nature,sums,cloze,story"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    work = parser.parse_args().work
    copy_tasks(work)
    from tests.helpers.checkpoints import make_checkpoint

    make_checkpoint("qwen2", work / "tiny", has_template=False)
    os.chdir(work)
    words = ["--model", "hf", "--model_args", "pretrained=tiny,dtype=float32", "--device", "cpu", "--tasks", TASKS]
    sys.argv = ["lm_eval", *words, "--include_path", ".", "--output_path", "log", "--log_samples"]
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
