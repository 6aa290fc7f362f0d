"""Reads exported files with lmms-eval's own code, where it is installed: ``python read_lmms_eval.py FOLDER``.

Its terminal interface serves results and samples, and its baselines are read from such files.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from lmms_eval.baselines.loader import load_baseline
from lmms_eval.tui import server


def main(folder: Path) -> None:
    """Print what it reads."""
    (file,) = folder.rglob("*_results.json")
    run = str(file.relative_to(folder))
    results = asyncio.run(server.get_log_run_results(run, str(folder)))
    read = {}
    for name in results["configs"]:
        page = asyncio.run(server.get_log_run_samples(run, name, str(folder), 0, 500))
        scores, whole = load_baseline(str(file).replace("_results.json", f"_samples_{name}.jsonl"), name)
        assert whole == results
        row = {
            key.removesuffix(",none"): value for key, value in results["results"][name].items() if key.endswith(",none")
        }
        numbers = {key: value for key, value in row.items() if "_stderr" not in key}
        # A baseline's score is its own reading of an answer: it must know every sample that has one.
        answered = [line for line in page.samples if line["target"] and line["filtered_resps"]]
        assert len(scores) == len(answered)
        read[name] = {
            "n": results["n-samples"][name]["scored"],
            "numbers": numbers,
            "samples": {
                str(line["doc_id"]): {
                    "answer": line["filtered_resps"],
                    "numbers": {metric: line[metric] for metric in numbers},
                }
                for line in page.samples
            },
        }
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
