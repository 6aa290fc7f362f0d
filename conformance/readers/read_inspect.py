"""Reads exported logs with Inspect's own code, where it is installed: ``python read_inspect.py FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries


def main(folder: Path) -> None:
    """Print what it reads, from whole logs, headers, summaries and data frames."""
    read = {}
    for info in list_eval_logs(str(folder)):
        log = read_eval_log(info)
        assert log.status == "success"
        assert read_eval_log(info, header_only=True).eval.task == log.eval.task
        assert len(read_eval_log_sample_summaries(info)) == len(log.samples)
        read[log.eval.task] = {
            "n": log.results.scores[0].scored_samples,
            "numbers": {score.name: score.metrics["mean"].value for score in log.results.scores},
            "samples": {
                sample.id: {
                    "answer": sample.output.completion,
                    "numbers": {name: score.value for name, score in sample.scores.items()},
                }
                for sample in log.samples
                if sample.scores
            },
        }
    assert len(evals_df(str(folder))) == len(read)
    assert len(samples_df(str(folder))) == sum(
        len(log.samples) for log in map(read_eval_log, list_eval_logs(str(folder)))
    )
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
