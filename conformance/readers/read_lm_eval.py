"""Reads exported files with lm_eval's own code, where it is installed: ``python read_lm_eval.py FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import datasets
from lm_eval.utils import (
    get_file_datetime,
    get_file_task_name,
    get_latest_filename,
    get_results_filenames,
    get_sample_results_filenames,
    make_table,
)


def main(folder: Path) -> None:
    """Print what it reads: file names as its tracker takes them apart, tables, samples as ``datasets`` loads them."""
    files = [str(path) for path in folder.rglob("*.json*")]
    newest = get_latest_filename(get_results_filenames(files))
    results = json.loads(Path(newest).read_text(encoding="utf-8"))
    table = make_table(results)
    read = {}
    for file in get_sample_results_filenames(files):
        name = get_file_task_name(Path(file).name)
        assert get_file_datetime(Path(file).name) == get_file_datetime(Path(newest).name).replace(".json", "")
        row = results["results"][name]
        assert row["alias"] in table
        # Rows of several tasks have other columns; the Hub's viewer reads each file by itself, too.
        samples = datasets.load_dataset("json", data_files=file, split="train", cache_dir=str(folder / "cache"))
        read[name] = {
            "n": row["sample_len"],
            "numbers": {
                key.partition(",")[0]: value for key, value in row.items() if ",none" in key and "_stderr" not in key
            },
            "samples": {
                str(sample["doc_id"]): {
                    "answer": sample["filtered_resps"][0] if isinstance(sample["filtered_resps"][0], str) else None,
                    "numbers": {metric: sample[metric] for metric in sample["metrics"]},
                }
                for sample in samples
            },
        }
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
