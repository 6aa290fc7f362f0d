"""Reads exported files with EvalScope 1.x's own code, where it is installed: ``python read_evalscope_1.py FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from evalscope.api.dataset import MemoryDataset, Sample
from evalscope.api.evaluator.cache import CacheManager
from evalscope.report import Report
from evalscope.report.data_frames import get_model_prediction, load_report_bundle, scan_report_refs
from evalscope.utils.io_utils import OutputsStructure


def main(folder: Path) -> None:
    """Print what its dashboard shows, and check what a later run takes from the files with ``use_cache``."""
    (ref,) = [ref for ref in scan_report_refs(str(folder.parent)) if ref.run_id == folder.name]
    reports, datasets, config = load_report_bundle(str(folder.parent), ref)
    assert sorted(config["datasets"]) == sorted(datasets)
    read = {}
    for report in reports:
        again = Report.from_json(str(folder / "reports" / report.model_name / f"{report.dataset_name}.json"))
        assert again.score is not None
        samples = {}
        for subset in {part.name for metric in again.metrics for group in metric.categories for part in group.subsets}:
            for row in get_model_prediction(str(folder), report.model_name, report.dataset_name, subset).to_dict(
                "records"
            ):
                answer = row["Generated"] if str(row["Pred"]).startswith("*Same") else row["Pred"]
                samples[row["Index"]] = {"answer": answer, "numbers": row["Score"]["value"]}
            cache = CacheManager(OutputsStructure(str(folder), is_make=False), report.model_name, report.dataset_name)
            rows = MemoryDataset([Sample(input="", id=number) for number in range(max(map(int, samples)) + 1)])
            states, _ = cache.filter_prediction_cache(subset, rows)
            scores, left = cache.filter_review_cache(subset, states)
            assert len(scores) == len(samples)
            assert len(left) == len(states) - len(scores)
        read[report.dataset_name] = {
            "n": again.num,
            "numbers": {metric.legacy_name or metric.identity.name: metric.score for metric in again.metrics},
            "samples": samples,
        }
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
